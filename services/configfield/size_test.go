package configfield_test

import (
	"math"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/configfield"
)

// TestSizes checks that sizes are read with and without units, and that SizeText returns a short
// text that is read as the same size.
func TestSizes(t *testing.T) {
	for text, want := range map[string]struct {
		bytes int64
		shown string
	}{
		"0": {0, "0"}, "7": {7, "7"}, "67108864": {64 << 20, "64MiB"}, "64MiB": {64 << 20, "64MiB"}, "64Mi": {64 << 20, "64MiB"},
		"1.5GiB": {3 << 29, "1536MiB"}, "2 GB": {2e9, "2GB"}, "3k": {3000, "3KB"}, "1KiB": {1024, "1KiB"}, "1TiB": {1 << 40, "1TiB"},
		"9223372036854775807": {math.MaxInt64, "9223372036854775807"}, "1025": {1025, "1025"},
	} {
		got, err := configfield.ParseSize(text)
		if err != nil || got != want.bytes {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want.bytes)
		}
		shown := configfield.SizeText(got)
		if shown != want.shown {
			t.Errorf("%d is shown as %s, want %s", got, shown, want.shown)
		}
		if again, err := configfield.ParseSize(shown); err != nil || again != got {
			t.Errorf("%s is read as %d, %v", shown, again, err)
		}
	}
	for _, text := range []string{"", "-1", "GiB", "4 gigs", "9EiB", "1e400", "0x10"} {
		if n, err := configfield.ParseSize(text); err == nil || !strings.Contains(err.Error(), "isn't a size: write a number of bytes") {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
}
