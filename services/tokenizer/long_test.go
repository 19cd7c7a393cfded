package tokenizer_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/tokenizer"
	"github.com/trident-inference/trident/test/tier"
)

// TestManyParts checks that the parts of a text are the same if the text has more parts than are
// searched at a time. The text repeats a unit. No part of a unit continues into the next unit.
func TestManyParts(t *testing.T) {
	for name, unit := range map[string]string{"literal": "--ab--", "each": " ab é ", "words": "ab é!", "scanner": " ab 12!?", "inverse": " ab 12!?"} {
		once, err := tokenizer.Spans(name, unit)
		if err != nil {
			t.Fatal(err)
		}
		const n = tokenizer.FewSpans + 1
		got, err := tokenizer.Spans(name, strings.Repeat(unit, n))
		if err != nil || len(got) != n*len(once) {
			t.Fatalf("%s: %d parts, %v", name, len(got), err)
		}
		for i, s := range got {
			want := once[i%len(once)]
			want[0] += i / len(once) * len(unit)
			want[1] += i / len(once) * len(unit)
			if s != want {
				t.Fatalf("%s: part %d is %v, want %v", name, i, s, want)
			}
		}
	}
}

// TestJoin checks how each behavior of a splitter joins matches and the bytes between them. In the
// cases, x is a matching byte, . is another byte, and a part ends at |.
func TestJoin(t *testing.T) {
	for behavior, want := range map[string]string{
		"Removed": ".|.|x|x|.|x|.|", "Isolated": ".|.|x|x|.|x|.|", "Contiguous": "..|xx|.|x|.|", "MergedWithPrevious": ".|.x|x|.x|.|", "MergedWithNext": ".|.|x|x.|x.|",
	} {
		var matches []bool
		var ends []int
		for _, c := range want {
			switch c {
			case '|':
				ends = append(ends, len(matches))
			default:
				matches = append(matches, c == 'x')
			}
		}
		if got := tokenizer.Joined(behavior, matches); !slices.Equal(got, ends) {
			t.Errorf("%s: %v, want %v", behavior, got, ends)
		}
	}
}

// countingContext is a context that ends after `left` calls of Err.
type countingContext struct {
	context.Context //nolint:containedctx // the type is itself a context

	left, n int
}

func (l *countingContext) Err() error {
	l.n++
	if l.n > l.left {
		return context.Canceled
	}
	return nil
}

// longTexts are texts that take long in different ways.
var longTexts = map[string]string{
	"one word":    strings.Repeat("a", 400_000),
	"many words":  strings.Repeat("he llo ", 50_000),
	"no word":     strings.Repeat("\n\n", 150_000),
	"added":       strings.Repeat("<end>", 80_000),
	"one mark":    strings.Repeat("ab", 200_000),
	"many marks":  strings.Repeat("ab ", 120_000),
	"whitespaces": strings.Repeat(" ", 400_000),
}

// longKinds returns tokenizers of all models that accept whole texts.
func longKinds(t *testing.T) map[string]*tokenizer.Tokenizer {
	t.Helper()
	kinds := map[string]*tokenizer.Tokenizer{"byte level": byteLevel().parse(t), "SentencePiece": fallback().parse(t)}
	for _, s := range trainedUnigrams(t) {
		if s.name == "metaspace alone" || s.name == "words of a whole text" {
			kinds["Unigram, "+s.name] = parse(t, s)
		}
	}
	return kinds
}

// TestEncodeEndsWithItsContext counts the checks of the context: at least one per 64 KiB
// of text, and none after it has ended.
func TestEncodeEndsWithItsContext(t *testing.T) {
	tier.Computes(t)
	for kind, tok := range longKinds(t) {
		for name, text := range longTexts {
			all := &countingContext{Context: t.Context(), left: 1 << 30}
			if _, err := tok.Count(all, text, false, nil); err != nil || all.n < len(text)/(64<<10)-1 {
				t.Errorf("%s, %s: %d looks, %v", kind, name, all.n, err)
			}
			ended := &countingContext{Context: t.Context(), left: 2}
			if _, err := tok.Encode(ended, text, false, nil); !errors.Is(err, context.Canceled) || ended.n > 3 {
				t.Errorf("%s, %s: %d looks, %v", kind, name, ended.n, err)
			}
			if n, err := tok.Count(t.Context(), "he", false, nil); err != nil || n == 0 {
				t.Errorf("%s, after %s: %d, %v", kind, name, n, err)
			}
		}
	}
}

// TestTextBudget checks that Tokenizer.Count subtracts the bytes of a text from the TextBudget that
// the request has left.
func TestTextBudget(t *testing.T) {
	tok := byteLevel().parse(t)
	left := &inference.TextBudget{Bytes: 10, LongWords: 10}
	for _, test := range []struct {
		text string
		ok   bool
	}{{"hello", true}, {"hello", true}, {"h", false}} {
		if _, err := tok.Count(t.Context(), test.text, false, left); (err == nil) != test.ok || err != nil && !errors.Is(err, inference.ErrTextTooLong) {
			t.Errorf("%q: %v", test.text, err)
		}
	}
	long := strings.Repeat("a", budget.LongWord+1)
	left = &inference.TextBudget{Bytes: 1 << 20, LongWords: 2 * len(long)}
	for i, ok := range []bool{true, true, false} {
		if _, err := tok.Encode(t.Context(), "x "+long[:budget.LongWord-1]+" "+long[1:], false, left); (err == nil) != ok {
			t.Errorf("text %d: %v", i, err)
		}
	}
	file := byteLevel()
	file["normalizer"] = parts{"type": "NFKC"}
	const ligature = "\ufdfa" // three bytes, and 33 in its normal form
	left = &inference.TextBudget{Bytes: 32, LongWords: 32}
	if _, err := file.parse(t).Encode(t.Context(), ligature, false, left); !errors.Is(err, inference.ErrTextTooLong) {
		t.Errorf("a text that grows: %v", err)
	}
}

// TestLongTextsMemory checks that a text needs memory in proportion to its length, and
// that this memory isn't kept.
func TestLongTextsMemory(t *testing.T) {
	tier.Computes(t)
	// The race detector drops a part of the objects in pools.
	most := uint64(80)
	if tier.Race {
		most = 240
	}
	for kind, tok := range longKinds(t) {
		for name, text := range longTexts {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := tok.Encode(t.Context(), text, false, nil); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if each := (after.TotalAlloc - before.TotalAlloc) / uint64(len(text)); each > most {
				t.Errorf("%s, %s: %d bytes for each of the text", kind, name, each)
			}
			if kept := tokenizer.Kept(tok); kept > 4<<20 {
				t.Errorf("%s, %s: %d bytes are kept", kind, name, kept)
			}
		}
	}
}

// TestWordPieceWork checks that the WordPiece tokenizer looks up no part of a word that is longer
// than the longest token.
func TestWordPieceWork(t *testing.T) {
	file := parts{"model": parts{
		"type": "WordPiece", "vocab": parts{"[UNK]": 0, "x": 1, "##x": 2, "##xé": 3}, "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
	}}
	tok := file.parse(t)
	for text, want := range map[string][]int{"xxx": {1, 2, 2}, "xxé": {1, 3}, "xé": {0}, "éx": {0}, strings.Repeat("x", 101): {0}} {
		if got, err := tok.Encode(t.Context(), text, false, nil); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
