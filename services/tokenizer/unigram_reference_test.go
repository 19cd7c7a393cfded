package tokenizer_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/tokenizer"
)

// reference is a Unigram model by its definition. Its token 0 is the unknown token.
type reference struct {
	tokens []string
	scores []float64
}

// file returns the model's file.
func (r reference) file() parts {
	vocab := make([]any, len(r.tokens))
	for i, token := range r.tokens {
		vocab[i] = []any{token, r.scores[i]}
	}
	return parts{"model": parts{"type": "Unigram", "vocab": vocab, "unk_id": 0}}
}

// best returns the highest sum of scores of all segmentations of a text.
func (r reference) best(text string) float64 {
	ids := map[string]int{}
	for id, token := range r.tokens {
		ids[token] = id
	}
	best := make([]float64, len(text)+1)
	for end := 1; end <= len(text); end++ {
		best[end] = math.Inf(-1)
		for start := range end {
			if id, ok := ids[text[start:end]]; ok {
				best[end] = max(best[end], best[start]+r.scores[id])
			} else if utf8.RuneCountInString(text[start:end]) == 1 && utf8.ValidString(text[start:end]) {
				best[end] = max(best[end], best[start]+r.unknown())
			}
		}
	}
	return best[len(text)]
}

func (r reference) unknown() float64 { return slices.Min(r.scores) - 10 }

// sum returns the sum of scores of ids that segment a text, and fails if they don't. The rest
// of the text is unknown characters.
func (r reference) sum(t *testing.T, text string, ids []int) (sum float64) {
	t.Helper()
	var pattern strings.Builder
	unknown := utf8.RuneCountInString(text)
	for _, id := range ids {
		if id == 0 {
			pattern.WriteString("(?s:.+)")
			continue
		}
		pattern.WriteString(regexp.QuoteMeta(r.tokens[id]))
		sum += r.scores[id]
		unknown -= utf8.RuneCountInString(r.tokens[id])
	}
	if !regexp.MustCompile("^" + pattern.String() + "$").MatchString(text) {
		t.Fatalf("%q is not divided by %v", text, ids)
	}
	return sum + float64(unknown)*r.unknown()
}

// FuzzUnigram compares the sum of scores with the highest possible one, found by trying all
// segmentations. The vocabulary is built from words, with distinct scores.
func FuzzUnigram(f *testing.F) {
	f.Add("a b ab abc bc é éa 中", "abcéa中bx", uint64(1))
	f.Add("aa aaa aaaaa", "aaaaaaaaaaaaaaaaaaab", uint64(2))
	f.Add("", "x", uint64(3))
	f.Fuzz(func(t *testing.T, words, text string, seed uint64) {
		if len(words) > 200 || len(text) > 60 || !utf8.ValidString(words) || !utf8.ValidString(text) || strings.ContainsRune(words, '?') {
			return
		}
		random := rand.New(rand.NewPCG(seed, 0))
		r := reference{[]string{"?"}, []float64{-20}}
		set := map[string]bool{}
		for word := range strings.FieldsSeq(words) {
			set[word] = true
		}
		for _, word := range slices.Sorted(maps.Keys(set)) {
			r.tokens, r.scores = append(r.tokens, word), append(r.scores, -10*random.Float64())
		}
		text = strings.ReplaceAll(text, "?", "")
		ids, err := r.file().parse(t).Encode(t.Context(), text, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := r.sum(t, text, ids), r.best(text); math.Abs(got-want) > 1e-6 {
			t.Fatalf("%q of %q: %v has the score %v, want %v", text, r.tokens, ids, got, want)
		}
	})
}

// TestLargeVocabulary checks that each token of a vocabulary of 20,000 tokens is encoded as its own
// id.
func TestLargeVocabulary(t *testing.T) {
	r := reference{[]string{"?"}, []float64{-20}}
	for i := range 20_000 {
		r.tokens, r.scores = append(r.tokens, fmt.Sprintf("%x中%d", i*i, i%7)), append(r.scores, -1)
	}
	tok := r.file().parse(t)
	for id := 1; id < len(r.tokens); id++ {
		if got, err := tok.Encode(t.Context(), r.tokens[id], false, nil); err != nil || len(got) != 1 || r.tokens[got[0]] != r.tokens[id] {
			t.Fatalf("%q: %v, %v", r.tokens[id], got, err)
		}
		if text := r.tokens[id] + "8"; id%100 == 0 {
			if got, err := tok.Encode(t.Context(), text, false, nil); err != nil || len(got) != 2 || got[1] != 0 {
				t.Fatalf("%q: %v, %v", text, got, err)
			}
		}
	}
}

// TestLoneRunes checks that adjacent lone characters are separate graphemes. This avoids the
// search for graphemes in most texts.
func TestLoneRunes(t *testing.T) {
	lone := tokenizer.LoneRunes()
	if len(lone) < 50_000 {
		t.Fatalf("%d characters", len(lone))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i, r := range lone {
		for _, other := range []rune{r, 'x', 'क', '가', lone[max(i-1, 0)], lone[random.IntN(len(lone))]} {
			g := graphemes.FromString(string([]rune{r, other}))
			g.Next()
			if g.Value() != string(r) {
				t.Fatalf("%U and %U are one grapheme", r, other)
			}
		}
	}
}

// charsmap returns a charsmap with rules for single ASCII characters.
func charsmap(rules map[byte]string) []byte {
	const base, leaf = 256, 1 << 8
	units := make([]uint32, 3*base)
	units[0] = base << 10
	var texts []byte
	for c, text := range rules {
		units[base^int(c)] = uint32(c) | leaf | uint32(base^int(c)^(2*base|int(c)))<<10
		units[2*base|int(c)] = uint32(len(texts)) | 1<<31
		texts = append(append(texts, text...), 0)
	}
	data := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
	for _, unit := range units {
		data = binary.LittleEndian.AppendUint32(data, unit)
	}
	return append(data, texts...)
}

// FuzzCharsmap checks that no charsmap makes the normalizer panic, and that texts stay UTF-8.
func FuzzCharsmap(f *testing.F) {
	f.Add(charsmap(map[byte]string{'a': "é"}), "banana a\u0301")
	f.Add([]byte{4, 0, 0, 0, 0, 0, 0, 0}, "x")
	normalize := tokenizer.Normalizer()
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		if got, err := normalize(data, strings.ToValidUTF8(text, "")); err == nil && !utf8.ValidString(got) {
			t.Fatalf("%q", got)
		}
	})
}

// TestCharsmap checks the normalizer's replacements by a precompiled charsmap, whose rules apply to
// whole graphemes or to single characters.
func TestCharsmap(t *testing.T) {
	normalize := tokenizer.Normalizer()
	rules := charsmap(map[byte]string{'a': "ALPHA", 'b': "", '\r': " "})
	for text, want := range map[string]string{
		"":                    "",
		"xyz":                 "xyz",
		"xaz":                 "xALPHAz",
		"abba":                "ALPHAALPHA",
		"é中a👍a":               "é中ALPHA👍ALPHA",
		"a\u0301x":            "ALPHAx",                  // the rule for a prefix applies to the grapheme
		"a\u0301\u0301x":      "ALPHAx",                  // five bytes
		"a\u0301\u0301\u0301": "ALPHA\u0301\u0301\u0301", // seven bytes: each character is replaced separately
		"\r\nx":               " x",
		"a\x00":               "ALPHA\x00",
	} {
		if got, err := normalize(rules, text); got != want || err != nil {
			t.Errorf("%q: %q (%v), want %q", text, got, err, want)
		}
	}
}

// TestTruncationOfFile checks that the truncation and the padding of a tokenizer.json are parsed.
func TestTruncationOfFile(t *testing.T) {
	file := byteLevel()
	file["truncation"] = parts{"direction": "Left", "max_length": 5, "strategy": "OnlySecond", "stride": 1}
	file["padding"] = parts{"strategy": parts{"Fixed": 7}, "direction": "Right", "pad_to_multiple_of": 8, "pad_id": 1, "pad_type_id": 2, "pad_token": "<pad>"}
	tok := file.parse(t)
	if got, want := *tok.Truncation(), (inference.Truncation{Side: inference.LeftSide, MaxTokens: 5, Strategy: inference.OnlySecond, Stride: 1}); got != want {
		t.Errorf("truncation %v, want %v", got, want)
	}
	if got, want := *tok.Padding(), (inference.Padding{Fixed: 7, Side: inference.RightSide, Multiple: 8, ID: 1, TypeID: 2, Token: "<pad>"}); got != want {
		t.Errorf("padding %v, want %v", got, want)
	}
	file["padding"] = parts{"strategy": "BatchLongest", "direction": "Left", "pad_to_multiple_of": nil, "pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>"}
	if got, want := *file.parse(t).Padding(), (inference.Padding{Side: inference.LeftSide, Token: "<pad>"}); got != want {
		t.Errorf("padding %v, want %v", got, want)
	}
	if tok := fallback().parse(t); tok.Truncation() != nil || tok.Padding() != nil {
		t.Error("a file without truncation and padding has some")
	}
	if _, err := tok.Sequence(t.Context(), pairOf("a", "b"), inference.SequenceOptions{}); err == nil || !strings.Contains(err.Error(), "the template pair must contain the texts A and B") {
		t.Errorf("a template without pairs: %v", err)
	}
}

// TestPairWithConfig checks that the special tokens of tokenizer_config.json surround each
// text, as in transformers.
func TestPairWithConfig(t *testing.T) {
	yes := true
	tok, err := byteLevel().parse(t).With(tokenizer.Config{BOS: "<s>", EOS: "<end>", AddBOS: &yes, AddEOS: &yes})
	if err != nil {
		t.Fatal(err)
	}
	got, err := tok.Sequence(t.Context(), pairOf("a", "hello"), inference.SequenceOptions{})
	if want := []int32{0, 98, 264, 0, 260, 264}; err != nil || !slices.Equal(got.IDs, want) || !slices.Equal(got.TypeIDs, []int32{0, 0, 0, 1, 1, 1}) {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
	got, err = tok.Sequence(t.Context(), inference.Texts{First: "aaa"}, inference.SequenceOptions{Truncation: &inference.Truncation{MaxTokens: 3, Strategy: inference.LongestFirst}})
	if want := []int32{0, 262, 264}; err != nil || !got.Truncated() || !slices.Equal(got.IDs, want) {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
}

// TestParseScore has numbers that serde_json doesn't round to the nearest float64. Ties
// between sums of scores depend on it.
func TestParseScore(t *testing.T) {
	for number, want := range map[string]float64{
		"0": 0, "-0.0": 0, "-1": -1, "12.5": 12.5, "-2.5e2": -250, "1E-2": 0.01, "1e-400": 0, "0e999999999999": 0,
		"-7.123456789012345":        -7.123456789012345,
		"18446744073709551616":      18446744073709551610,
		"0.1234567890123456789999":  1234567890123456789 / 1e19,
		"123456789012345678901.5e1": 1234567890123456789000,
		"-3.8633005438261322":       -3.863300543826132, // the nearest float64 is -3.8633005438261323
	} {
		if got, err := tokenizer.ParseScore(number); got != want || err != nil {
			t.Errorf("%s: %v (%v), want %v", number, got, err, want)
		}
	}
	for _, number := range []string{"1e309", "-1e999999999999", "10e308"} {
		if got, err := tokenizer.ParseScore(number); err == nil {
			t.Errorf("%s is %v", number, got)
		}
	}
}
