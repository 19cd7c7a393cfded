package contracts

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCumulative(t *testing.T) {
	tests := []struct {
		name  string
		stops []string
		texts []string // the last is final
		want  string   // emitted parts, separated by |
	}{
		{"it grows", nil, []string{"a", "ab", "abc"}, "a|b|c"},
		{"nothing new", nil, []string{"a", "a", "ab"}, "a||b"},
		{"nothing at all", nil, []string{"", ""}, "|"},
		{"a character in pieces", nil, []string{"a\ufffd", "a\ufffd\ufffd", "aé", "aéb"}, "a||é|b"},
		{"a character that never comes", nil, []string{"a\ufffd", "a\ufffd"}, "a|\ufffd"},
		{"a replacement character that stays", nil, []string{"a\ufffd", "a\ufffdb"}, "a|\ufffdb"},
		{"a changed past goes on behind it", nil, []string{"do n", "don't", "don't go"}, "do n|t| go"},
		{"a changed past, not in a character", nil, []string{"ab", "aéc", "aécd"}, "ab|c|d"},
		{"a changed past that is shorter", nil, []string{"abcd", "xy", "xyz"}, "abcd||z"},
		{"taken back", nil, []string{"abcd", "ab", "ab"}, "abcd||"},
		{"the stop text is cut off", []string{"no", "STOP"}, []string{"a S", "a ST", "a "}, "a S|T|OP"},
		{"the stop text came at once", []string{"STOP"}, []string{"a ", "a "}, "a |"},
		{"cut, but by no stop text", []string{"STOP"}, []string{"a bc", "a "}, "a bc|"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &cumulative{stops: tt.stops}
			var parts []string
			for i, text := range tt.texts {
				parts = append(parts, string(c.add([]byte(text), i == len(tt.texts)-1)))
			}
			if got := strings.Join(parts, "|"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// grown returns each prefix of a text, cut at every byte, as a detokenizer prints it: with a
// replacement character for each byte of an incomplete character.
func grown(text string) []string {
	var all []string
	for i := range len(text) + 1 {
		cut := i
		for cut > 0 && cut < len(text) && !utf8.RuneStart(text[cut]) {
			cut--
		}
		all = append(all, text[:cut]+strings.Repeat("\ufffd", i-cut))
	}
	return all
}

// TestCumulativeSplits checks that the Deltas made from cumulative texts join to the whole text,
// wherever the responses split it.
func TestCumulativeSplits(t *testing.T) {
	for _, text := range []string{"plain", "日本語 🎉🏳️‍🌈 é\tend", "\ufffd\ufffda", "a\ufffd"} {
		all := grown(text)
		for first := range all {
			for second := first; second < len(all); second++ {
				c, got := &cumulative{}, ""
				for _, i := range []int{first, second, len(all) - 1} {
					got += string(c.add([]byte(all[i]), i == len(all)-1))
				}
				if got != text {
					t.Fatalf("%q split at %d and %d: %q", text, first, second, got)
				}
			}
		}
	}
}

// FuzzCumulative checks that the growth of a text in arbitrary steps yields the text, and that
// texts that don't grow cause no failure.
func FuzzCumulative(f *testing.F) {
	f.Add("日本語 🎉 end", []byte{1, 2, 5}, "日x")
	f.Add("a\ufffd", []byte{1}, "")
	f.Fuzz(func(t *testing.T, text string, steps []byte, odd string) {
		if !utf8.ValidString(text) {
			return
		}
		all := grown(text)
		c, got, at := &cumulative{}, "", 0
		for _, step := range steps {
			at = min(at+int(step), len(all)-1)
			got += string(c.add([]byte(all[at]), false))
		}
		if got += string(c.add([]byte(text), true)); got != text {
			t.Fatalf("got %q of %q", got, text)
		}
		c.stops = []string{odd, text}
		for _, other := range []string{odd, text, odd} {
			if out := c.add([]byte(other), false); len(out) > len(other)+len(odd)+len(text) {
				t.Errorf("got %q from %q", out, other)
			}
		}
	})
}
