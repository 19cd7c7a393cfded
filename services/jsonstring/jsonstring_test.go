package jsonstring

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzAppendEscaped checks that the appended bytes are the content of a JSON
// string that decodes to the text, with invalid bytes as U+FFFD.
func FuzzAppendEscaped(f *testing.F) {
	for _, s := range []string{"", "plain", "\x00\x1f\"\\\n\r\t/", "é€😀", "\xff\xe2\x82", "a\xf0\x9f\x98", "\u2028<>&"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		out := append(AppendEscaped([]byte{'"'}, text), '"')
		if !utf8.Valid(out) {
			t.Fatalf("%q gives invalid UTF-8 %q", text, out)
		}
		var got string
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%q gives %s: %v", text, out, err)
		}
		if want := string([]rune(string(text))); got != want {
			t.Fatalf("%q comes back as %q", text, got)
		}
	})
}
