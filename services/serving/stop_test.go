package serving

import (
	"strings"
	"testing"
)

// stopped passes pieces of a text through stop sequences.
func stopped(pieces []string, include bool, texts ...string) (out string, hit bool) {
	s := &stopSequences{texts: texts, include: include}
	for i, piece := range pieces {
		var part []byte
		part, hit = s.add([]byte(piece), i == len(pieces)-1)
		out += string(part)
		if hit {
			break
		}
	}
	return out, hit
}

func TestStopSequences(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		stops      []string
		want       string
		stopped    bool
		included   string
	}{
		{"none", "abc", nil, "abc", false, "abc"},
		{"not there", "abc", []string{"x"}, "abc", false, "abc"},
		{"in the middle", "abc", []string{"b"}, "a", true, "ab"},
		{"at the start", "abc", []string{"ab"}, "", true, "ab"},
		{"at the end", "abc", []string{"bc"}, "a", true, "abc"},
		{"begun at the end", "abc", []string{"cd"}, "abc", false, "abc"},
		{"overlapping itself", "aaab", []string{"aab"}, "a", true, "aaab"},
		{"first of two", "one two", []string{"two", "ne"}, "o", true, "one"},
		{"the one that ends first", "abcd", []string{"abcd", "bc"}, "a", true, "abc"},
		{"two that end together", "abc", []string{"bc", "abc"}, "", true, "abc"},
		{"newlines", "a\n\nb", []string{"\n\n"}, "a", true, "a\n\n"},
		{"characters of several bytes", "für ü!", []string{"ü!"}, "für ", true, "für ü!"},
		{"NUL", "a\x00b", []string{"\x00"}, "a", true, "a\x00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i := range len(tt.text) + 1 {
				for j := i; j <= len(tt.text); j++ {
					pieces := []string{tt.text[:i], tt.text[i:j], tt.text[j:]}
					if got, hit := stopped(pieces, false, tt.stops...); got != tt.want || hit != tt.stopped {
						t.Errorf("%q: got %q, %t", pieces, got, hit)
					}
					if got, hit := stopped(pieces, true, tt.stops...); got != tt.included || hit != tt.stopped {
						t.Errorf("%q with the stop sequence: got %q, %t", pieces, got, hit)
					}
				}
			}
		})
	}
}

// FuzzStopSequences checks that the search for stop sequences loses no text and emits no stop
// sequence, wherever responses split the text.
func FuzzStopSequences(f *testing.F) {
	f.Add("aaab", "aab", "b", uint8(2), uint8(3))
	f.Add("one, two", ", ", "x", uint8(4), uint8(5))
	f.Fuzz(func(t *testing.T, text, a, b string, i, j uint8) {
		if a == "" || b == "" {
			return
		}
		x := min(int(i), len(text))
		y := min(max(int(j), x), len(text))
		got, hit := stopped([]string{text[:x], text[x:y], text[y:]}, false, a, b)
		whole, wholeHit := stopped([]string{text}, false, a, b)
		switch {
		case got != whole || hit != wholeHit:
			t.Errorf("split %q, %t; whole %q, %t", got, hit, whole, wholeHit)
		case hit != (strings.Contains(text, a) || strings.Contains(text, b)):
			t.Errorf("stopped: %t", hit)
		case !strings.HasPrefix(text, got) || !hit && got != text:
			t.Errorf("got %q", got)
		case strings.Contains(got, a) || strings.Contains(got, b):
			t.Errorf("%q contains a stop sequence", got)
		}
	})
}
