package tokenizer_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/tokenizer"
)

// bert returns a small tokenizer with the parts of BERT's.
func bert() parts {
	vocab := map[string]int{"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3}
	for _, token := range []string{"the", "model", "##s", "##ing", "rank", "中", "é", "e", ".", "[", "]"} {
		vocab[token] = len(vocab)
	}
	item := func(kind, id string, typeID int) parts { return parts{kind: parts{"id": id, "type_id": typeID}} }
	first := []any{item("SpecialToken", "[CLS]", 0), item("Sequence", "A", 0), item("SpecialToken", "[SEP]", 0)}
	return parts{
		"model":      parts{"type": "WordPiece", "vocab": vocab, "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100},
		"normalizer": parts{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": nil, "lowercase": true}, "pre_tokenizer": parts{"type": "BertPreTokenizer"},
		"added_tokens": []any{added(0, "[PAD]", true), added(1, "[UNK]", true), added(2, "[CLS]", true), added(3, "[SEP]", true)},
		"post_processor": parts{
			"type": "TemplateProcessing", "single": first, "pair": append(slices.Clone(first), item("Sequence", "B", 1), item("SpecialToken", "[SEP]", 1)),
			"special_tokens": parts{"[CLS]": parts{"id": "[CLS]", "ids": []int{2}, "tokens": []string{"[CLS]"}}, "[SEP]": parts{"id": "[SEP]", "ids": []int{3}, "tokens": []string{"[SEP]"}}},
		},
	}
}

// The tokenizer is an encoder of sequences.
var _ inference.SequenceEncoder = (*tokenizer.Tokenizer)(nil)

// TestSequence checks the ids and types of sequences, and what is reported about their truncation.
func TestSequence(t *testing.T) {
	tok := bert().parse(t)
	cut := func(n int, by inference.TruncationStrategy, side inference.Side) inference.SequenceOptions {
		return inference.SequenceOptions{Truncation: &inference.Truncation{MaxTokens: n, Strategy: by, Side: side}}
	}
	for name, test := range map[string]struct {
		in      inference.Texts
		options inference.SequenceOptions
		want    inference.Sequence
	}{
		"a text":                    {inference.Texts{First: "The models."}, inference.SequenceOptions{}, inference.Sequence{IDs: []int32{2, 4, 5, 6, 12, 3}, Tokens: [2]int{4, 0}}},
		"without special tokens":    {inference.Texts{First: "The models."}, inference.SequenceOptions{Plain: true}, inference.Sequence{IDs: []int32{4, 5, 6, 12}, Tokens: [2]int{4, 0}}},
		"nothing":                   {inference.Texts{}, inference.SequenceOptions{Limit: 2}, inference.Sequence{IDs: []int32{2, 3}}},
		"a special token inside":    {inference.Texts{First: "the[SEP]é"}, inference.SequenceOptions{}, inference.Sequence{IDs: []int32{2, 4, 3, 11, 3}, Tokens: [2]int{3, 0}}},
		"bytes that aren't UTF-8":   {inference.Texts{First: "the\xff model"}, inference.SequenceOptions{}, inference.Sequence{IDs: []int32{2, 4, 5, 3}, Tokens: [2]int{2, 0}}},
		"a pair":                    {pairOf("the", "ranking 中"), inference.SequenceOptions{}, inference.Sequence{IDs: []int32{2, 4, 3, 8, 7, 9, 3}, TypeIDs: []int32{0, 0, 0, 1, 1, 1, 1}, Tokens: [2]int{1, 3}}},
		"a pair without its second": {pairOf("the", ""), inference.SequenceOptions{}, inference.Sequence{IDs: []int32{2, 4, 3, 3}, TypeIDs: []int32{0, 0, 0, 1}, Tokens: [2]int{1, 0}}},
		"the end removed":           {inference.Texts{First: "the models"}, cut(4, inference.LongestFirst, ""), inference.Sequence{IDs: []int32{2, 4, 5, 3}, Tokens: [2]int{3, 0}, Removed: [2]int{1, 0}}},
		"the start removed":         {inference.Texts{First: "the models"}, cut(4, inference.LongestFirst, inference.LeftSide), inference.Sequence{IDs: []int32{2, 5, 6, 3}, Tokens: [2]int{3, 0}, Removed: [2]int{1, 0}}},
		"the document truncated":    {pairOf("the", "ranking 中"), cut(5, inference.OnlySecond, inference.RightSide), inference.Sequence{IDs: []int32{2, 4, 3, 8, 3}, TypeIDs: []int32{0, 0, 0, 1, 1}, Tokens: [2]int{1, 3}, Removed: [2]int{0, 2}}},
		"the longer one truncated":  {pairOf("the models", "中"), cut(6, inference.LongestFirst, ""), inference.Sequence{IDs: []int32{2, 4, 5, 3, 9, 3}, TypeIDs: []int32{0, 0, 0, 0, 1, 1}, Tokens: [2]int{3, 1}, Removed: [2]int{1, 0}}},
		"a stride without room":     {pairOf("", ""), inference.SequenceOptions{Truncation: &inference.Truncation{MaxTokens: 5, Strategy: inference.LongestFirst, Stride: 3}}, inference.Sequence{IDs: []int32{2, 3, 3}, TypeIDs: []int32{0, 0, 1}}},
		"short enough":              {pairOf("the", "中"), cut(5, inference.OnlySecond, ""), inference.Sequence{IDs: []int32{2, 4, 3, 9, 3}, TypeIDs: []int32{0, 0, 0, 1, 1}, Tokens: [2]int{1, 1}}},
	} {
		got, err := tok.Sequence(t.Context(), test.in, test.options)
		if err != nil || !slices.Equal(got.IDs, test.want.IDs) || !slices.Equal(got.TypeIDs, test.want.TypeIDs) || got.Tokens != test.want.Tokens || got.Removed != test.want.Removed {
			t.Errorf("%s: %+v (%v), want %+v", name, got, err, test.want)
		}
		if got.Truncated() != (test.want.Removed != [2]int{}) {
			t.Errorf("%s: truncated is %v", name, got.Truncated())
		}
	}
	if one, two := tok.Added(false), tok.Added(true); one != 2 || two != 3 {
		t.Errorf("%d and %d special tokens, want 2 and 3", one, two)
	}
}

// TestSequenceErrors checks the errors of sequences that are too long or can't be truncated.
func TestSequenceErrors(t *testing.T) {
	tok := bert().parse(t)
	var long *inference.SequenceTooLongError
	_, err := tok.Sequence(t.Context(), pairOf("the models", "中"), inference.SequenceOptions{Limit: 6})
	if !errors.As(err, &long) || *long != (inference.SequenceTooLongError{Tokens: 7, Limit: 6}) || err.Error() != "the input has 7 tokens with its special tokens, but the limit is 6" {
		t.Errorf("a long pair: %v", err)
	}
	for want, test := range map[string]struct {
		in  inference.Texts
		cut inference.Truncation
	}{
		`truncation: max_length 1 has no room for 2 special tokens and a stride of 0`:                           {inference.Texts{First: "the"}, inference.Truncation{MaxTokens: 1, Strategy: inference.LongestFirst}},
		`truncation: the strategy only_second needs a pair of texts, but the input has only one text`:           {inference.Texts{First: "the models"}, inference.Truncation{MaxTokens: 3, Strategy: inference.OnlySecond}},
		`truncation: the text to truncate is too short: it has 1 tokens, but 2 tokens would have to be removed`: {pairOf("the models", "中"), inference.Truncation{MaxTokens: 5, Strategy: inference.OnlySecond}},
		`truncation: strategy "longest" is not supported`:                                                       {inference.Texts{First: "the"}, inference.Truncation{MaxTokens: 5, Strategy: "longest"}},
		`truncation: direction "Both" is not supported`:                                                         {inference.Texts{First: "the"}, inference.Truncation{MaxTokens: 5, Strategy: inference.OnlyFirst, Side: "Both"}},
		`truncation: max_length 4 has no room for 2 special tokens and a stride of 2`:                           {inference.Texts{First: "the models"}, inference.Truncation{MaxTokens: 4, Strategy: inference.LongestFirst, Stride: 2}},
		`truncation: max_length -1 or stride 0 is negative`:                                                     {inference.Texts{First: "the"}, inference.Truncation{MaxTokens: -1, Strategy: inference.OnlyFirst}},
	} {
		_, err := tok.Sequence(t.Context(), test.in, inference.SequenceOptions{Truncation: &test.cut})
		if _, refused := errors.AsType[inference.TruncationError](err); !refused || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	left := &inference.TextBudget{Bytes: 5, LongWords: 5}
	if _, err := tok.Sequence(t.Context(), pairOf("the", "中中"), inference.SequenceOptions{Left: left}); !errors.Is(err, inference.ErrTextTooLong) {
		t.Errorf("a pair longer than its budget: %v", err)
	}
}

// FuzzSequence checks that the texts of a truncated sequence are a prefix or a suffix of the
// untruncated ones, and that the numbers of tokens are those of the ids.
func FuzzSequence(f *testing.F) {
	tok := bert().parse(f)
	f.Add("the models", "ranking 中 é[SEP]", 7, 0, uint8(0))
	f.Add("the", "the model the \xff", 5, 1, uint8(7))
	f.Add("", "", 3, 0, uint8(12))
	f.Fuzz(func(t *testing.T, first, second string, most, stride int, how uint8) {
		if len(first)+len(second) > 1000 {
			return
		}
		in := inference.Texts{First: first}
		texts := []string{first}
		if how&1 == 0 {
			in.Second, texts = &second, append(texts, second)
		}
		cut := &inference.Truncation{
			MaxTokens: most, Stride: stride, Side: []inference.Side{inference.LeftSide, inference.RightSide}[how>>1&1],
			Strategy: []inference.TruncationStrategy{inference.LongestFirst, inference.OnlyFirst, inference.OnlySecond}[how>>2%3],
		}
		got, err := tok.Sequence(t.Context(), in, inference.SequenceOptions{Plain: how&128 != 0, Truncation: cut})
		if err != nil {
			if _, refused := errors.AsType[inference.TruncationError](err); !refused {
				t.Fatal(err)
			}
			return
		}
		if len(got.IDs) > most || got.TypeIDs != nil && len(got.TypeIDs) != len(got.IDs) {
			t.Fatalf("%d ids and %d types after a truncation to %d", len(got.IDs), len(got.TypeIDs), most)
		}
		rest := got.IDs
		take := func(n int) []int32 {
			part := rest[:n]
			rest = rest[n:]
			return part
		}
		special := how&128 == 0
		if special && take(1)[0] != 2 {
			t.Fatalf("%v doesn't have the prefix [CLS]", got.IDs)
		}
		for i, text := range texts {
			whole, err := tok.Encode(t.Context(), text, false, nil)
			if err != nil || len(whole) != got.Tokens[i] {
				t.Fatalf("text %d has %d tokens, want %d (%v)", i, got.Tokens[i], len(whole), err)
			}
			kept := whole[:len(whole)-got.Removed[i]]
			if cut.Side == inference.LeftSide {
				kept = whole[got.Removed[i]:]
			}
			if part := widen(take(len(kept))); !slices.Equal(part, kept) {
				t.Fatalf("text %d is %v, want %v", i, part, kept)
			}
			if special && take(1)[0] != 3 {
				t.Fatalf("%v has no [SEP] after text %d", got.IDs, i)
			}
		}
		if len(rest) > 0 {
			t.Fatalf("%v are left", rest)
		}
	})
}

// TestWordPieceLongest compares the lookup of the longest token with a search in the vocabulary.
func TestWordPieceLongest(t *testing.T) {
	vocab := map[string]int{"?": 0}
	for _, token := range []string{"a", "ab", "abcd", "##b", "##bc", "##é", "##", "é", "##a##", "#", "中a", "##中", "##中a"} {
		vocab[token] = len(vocab)
	}
	tok := parts{"model": parts{"type": "WordPiece", "vocab": vocab, "unk_token": "?", "continuing_subword_prefix": "##", "max_input_chars_per_word": 20}}.parse(t)
	for word := range strings.FieldsSeq("a ab abc abcd abcb aé éb abé 中a a中 中 a中a ##a##b #b b abcde") {
		want := []int{}
		for at := 0; at < len(word); {
			end := len(word)
			for ; end > at; end-- {
				prefix := "##"
				if at == 0 {
					prefix = ""
				}
				if id, ok := vocab[prefix+word[at:end]]; ok {
					want = append(want, id)
					break
				}
			}
			if end == at {
				want = []int{0}
				break
			}
			at = end
		}
		if got, err := tok.Encode(t.Context(), word, false, nil); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v (%v), want %v", word, got, err, want)
		}
	}
}

// FuzzBert checks that BERT's normalizer, which keeps the results of characters, normalizes as its
// steps do one after the other.
func FuzzBert(f *testing.F) {
	for i, x := range append(marked(100), oddTexts()...) {
		f.Add(x.text, uint8(i))
	}
	f.Add("x\u302e\u0301\U0001d165\u302fy \u1d165", uint8(15))
	f.Fuzz(func(t *testing.T, text string, how uint8) {
		if len(text) > 4000 {
			return
		}
		text = strings.ToValidUTF8(text, "?")
		steps, charwise, err := tokenizer.Bert(text, how&1 != 0, how&2 != 0, how&4 != 0, how&8 != 0)
		if err != nil || steps != charwise {
			t.Fatalf("%q: %q by its characters, want %q (%v)", text, charwise, steps, err)
		}
	})
}
