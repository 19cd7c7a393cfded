package tokenizer_test

import (
	"os"
	"testing"

	"github.com/trident-inference/trident/services/tokenizer"
	"github.com/trident-inference/trident/test/golden"
)

// TestUnicode compares the properties of every character with Hugging Face's
// tokenizers. With -update it also rewrites unicode_tables.go.
func TestUnicode(t *testing.T) {
	oracle := golden.Oracle{Script: script, File: "testdata/unicode.golden.gz", Form: form}
	text, _ := oracle.Answers(t, []golden.Question{{Name: "properties", Body: request{Properties: tokenizer.Properties()}}})[0].Text()
	got := decodeAnswer(t, text)
	sets := got.Sets
	sets["old C"], sets["old Mn"], sets["norm M"] = dropped(got.Maps["clean"]), dropped(got.Maps["accents"]), dropped(got.Maps["marks"])
	source := tokenizer.Tables(sets, got.Maps)
	const file = "unicode_tables.go"
	if golden.Update() {
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if is, err := os.ReadFile(file); err != nil || string(is) != source {
		t.Errorf("%s is not what tokenizers does (%v): run this test with -update", file, err)
	}
}

// dropped returns the ranges of characters that are removed.
func dropped(changed map[rune]string) [][2]rune {
	var ranges [][2]rune
	for r := rune(1); r < 0x33000; r++ {
		if to, ok := changed[r]; !ok || to != "" {
			continue
		}
		if n := len(ranges); n > 0 && ranges[n-1][1] == r-1 {
			ranges[n-1][1] = r
		} else {
			ranges = append(ranges, [2]rune{r, r})
		}
	}
	return ranges
}
