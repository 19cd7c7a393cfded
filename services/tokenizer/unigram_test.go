package tokenizer_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/tokenizer"
	"github.com/trident-inference/trident/test/golden"
	"github.com/trident-inference/trident/test/tier"
)

// input is one text or pair for the oracle's encode, with its truncation.
type input struct {
	First      string      `json:"first"`
	Second     *string     `json:"second,omitempty"`
	Special    bool        `json:"special"`
	Truncation *truncation `json:"truncation,omitempty"`
}

// truncation are the arguments of tokenizers' enable_truncation.
type truncation struct {
	MaxLength int    `json:"max_length"`
	Stride    int    `json:"stride"`
	Strategy  string `json:"strategy"`
	Direction string `json:"direction"`
}

// encoding is the result of an input. Both lists are nil if the input fails.
type encoding struct {
	IDs   []int `json:"ids"`
	Types []int `json:"types"`
}

// xlm has the post-processor and the added tokens of XLM-RoBERTa. The special tokens of
// bytes are omitted, so that the strings of these tokens are plain text.
const (
	xlmTemplate = `"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}],
		"pair":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}},
		{"SpecialToken":{"id":"</s>","type_id":0}},{"Sequence":{"id":"B","type_id":1}},{"SpecialToken":{"id":"</s>","type_id":1}}],
		"special_tokens":{"<s>":{"id":"<s>","ids":[0],"tokens":["<s>"]},"</s>":{"id":"</s>","ids":[2],"tokens":["</s>"]}}}`
	xlmAdded = `"added_tokens":[{"id":0,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
		{"id":2,"content":"</s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
		{"id":2500,"content":"<mask>","single_word":false,"lstrip":true,"rstrip":false,"normalized":true,"special":true}]`
	metaspaceAlone = `"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}`
)

var unigrams = []variant{
	{"XLM-RoBERTa's", "unigram", `{` + xlmTemplate + `,` + xlmAdded + `}`},
	{"as trained", "unigram", `{}`},
	{"bytes of unknown characters", "unigram", `{` + xlmAdded + `,"model":{"byte_fallback":true},"decoder":{"type":"Sequence","decoders":[
		{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]}}`},
	{"metaspace alone", "unigram", `{` + metaspaceAlone + `}`},
	{"words of a whole text", "unigram", `{` + xlmAdded + `,"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":false}}`},
	{"no space before", "unigram", `{` + xlmAdded + `,"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"never","split":true}}`},
	{"without a charsmap", "unigram", `{"normalizer":{"type":"Sequence","normalizers":[{"type":"Nmt"},{"type":"NFKC"},
		{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}]},` + metaspaceAlone + `}`},
	{"no pre-tokenizer", "unigram", `{"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},
		{"type":"Replace","pattern":{"String":" "},"content":"▁"}]},"pre_tokenizer":null}`},
	{"BERT's words", "unigram", `{"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"BertPreTokenizer"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}]},
		"post_processor":{"type":"BertProcessing","sep":["</s>",2],"cls":["<s>",0]}}`},
	{"in GPT-2's alphabet", "unigram", `{"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
		"post_processor":{"type":"RobertaProcessing","sep":["</s>",2],"cls":["<s>",0],"trim_offsets":true,"add_prefix_space":true}}`},
}

// TestUnigram compares Unigram models with Hugging Face's tokenizers. Their vocabulary is
// trained on the corpus, and their normalizer has the rules of XLM-RoBERTa.
func TestUnigram(t *testing.T) {
	t.Parallel()
	tier.Computes(t)
	texts := append(corpus(t), shuffled(1500)...)
	texts = append(texts, marked(1000)...)
	compare(t, append(trainedUnigrams(t), scoredAtRandom(20)...), texts, "testdata/unigram.golden")
}

// trainedUnigrams returns the variants of the trained vocabulary.
func trainedUnigrams(t *testing.T) []subject {
	t.Helper()
	training := unigramTraining(t)
	answers := golden.Oracle{Script: script, File: "testdata/unigram_trained.golden.gz", Varies: true, Form: form}.Answers(t, training)
	text, _ := answers[0].Text()
	base := decodeAnswer(t, text)
	subjects := make([]subject, len(unigrams))
	for i, v := range unigrams {
		subjects[i] = subject{name: v.name, json: v.build(t, base.JSON)}
	}
	return subjects
}

func unigramTraining(t *testing.T) []golden.Question {
	t.Helper()
	var texts []string
	for _, x := range corpus(t) {
		if len(x.text) < 2000 {
			texts = append(texts, x.text)
		}
	}
	return []golden.Question{{Name: "unigram", Body: request{Train: "unigram", Texts: texts}}}
}

// marked returns texts of characters with marks and of other multi-character graphemes.
func marked(n int) []text {
	random := rand.New(rand.NewPCG(5, 6))
	bits := []string{
		"a", "e", "A", "é", "ß", "Ω", "ü", "ǆ", "ﬁ", "①", "㍿", "ﾊ", "ｶ", "が", "か", "中", "ﷺ", " ", "\u00a0", "\u3000", "\r", "\n", "\r\n", "\t", "x", "▁",
		"\u0301", "\u0308", "\u0323", "\u0327", "\u0344", "\u3099", "\u309a", "ﾞ", "\u20e3", "\u200d", "\u200c", "\ufe0f", "\u0903", "\u094d", "क", "ष", "\u0e33", "ก", "\u0600",
		"\u1100", "\u1161", "\u11a8", "가", "각", "👩", "🇩", "🇪", "👍🏽", "\u00ad", "\u200b", "\ufeff", "\u2126", "\u0345", "\x00", "\u0085", "\u1ab0", "\u0d4e",
	}
	texts := make([]text, n)
	for i := range texts {
		var b strings.Builder
		for range random.IntN(16) + 1 {
			b.WriteString(bits[random.IntN(len(bits))])
		}
		texts[i] = text{fmt.Sprintf("marked %d %.60q", i, b.String()), b.String()}
	}
	return texts
}

// scoredAtRandom returns vocabularies of few characters. Their scores are often equal and
// may be positive. Unknown characters may then score better than tokens.
func scoredAtRandom(n int) []subject {
	random := rand.New(rand.NewPCG(7, 8))
	subjects := make([]subject, n)
	for i := range subjects {
		vocab := [][2]any{{"<unk>", float64(random.IntN(3))}}
		seen := map[string]bool{}
		for range random.IntN(40) + 1 {
			var b strings.Builder
			for range random.IntN(4) + 1 {
				b.WriteString([]string{"a", "e", "t", "h", "é", "中", " "}[random.IntN(7)])
			}
			if token := b.String(); !seen[token] {
				seen[token] = true
				vocab = append(vocab, [2]any{token, float64(random.IntN(5)-2) * []float64{0.1, 1, 30}[i%3]})
			}
		}
		data, err := json.Marshal(parts{
			"version": "1.0", "added_tokens": []any{}, "truncation": nil, "padding": nil, "normalizer": nil, "pre_tokenizer": nil, "post_processor": nil, "decoder": nil,
			"model": parts{"type": "Unigram", "vocab": vocab, "unk_id": 0, "byte_fallback": i%2 == 0},
		})
		if err != nil {
			panic(err)
		}
		subjects[i] = subject{name: fmt.Sprintf("scores at random %d", i), json: data}
	}
	return subjects
}

// pairSubjects returns the files whose pairs are compared.
func pairSubjects(t *testing.T) []subject {
	t.Helper()
	var subjects []subject
	for _, s := range trainedUnigrams(t) {
		if s.name == "XLM-RoBERTa's" || s.name == "BERT's words" || s.name == "in GPT-2's alphabet" || s.name == "metaspace alone" {
			subjects = append(subjects, s)
		}
	}
	withoutUnknown := variant{"no unknown token", "unigram", `{"model":{"unk_id":null}}`}
	swapped := variant{"the texts swapped", "unigram", `{"post_processor":{"type":"Sequence","processors":[{"type":"TemplateProcessing",
		"single":[{"Sequence":{"id":"A","type_id":3}},{"SpecialToken":{"id":"x","type_id":4}}],
		"pair":[{"Sequence":{"id":"B","type_id":2}},{"SpecialToken":{"id":"x","type_id":5}},{"Sequence":{"id":"A","type_id":1}}],
		"special_tokens":{"x":{"id":"x","ids":[0,1,2],"tokens":["<s>","<pad>","</s>"]}}}]}}`}
	base := trainedUnigrams(t)[1]
	for _, v := range []variant{withoutUnknown, swapped} {
		subjects = append(subjects, subject{name: v.name, json: v.build(t, base.json)})
	}
	return subjects
}

// pairInputs returns n inputs, each with a different truncation.
func pairInputs(n int) []input {
	random := rand.New(rand.NewPCG(9, 10))
	words := []string{"the", "model", " and ", "text", "中文", "é", "\U0001F600", "token izer ", "", " ", "</s>"}
	text := func() string {
		var b strings.Builder
		for range random.IntN(9) {
			b.WriteString(words[random.IntN(len(words))])
		}
		return b.String()
	}
	inputs := make([]input, n)
	for i := range inputs {
		in := input{First: text(), Special: random.IntN(3) > 0}
		if random.IntN(4) > 0 {
			second := text()
			in.Second = &second
		}
		if random.IntN(5) > 0 {
			in.Truncation = &truncation{
				MaxLength: 6 + random.IntN(14), Stride: max(0, random.IntN(8)-4),
				Strategy:  []string{"longest_first", "only_first", "only_second"}[random.IntN(3)],
				Direction: []string{"left", "right"}[random.IntN(2)],
			}
		}
		inputs[i] = in
	}
	return inputs
}

// TestPairs compares pairs of texts, their types, truncation and errors with Hugging Face's
// tokenizers.
func TestPairs(t *testing.T) {
	t.Parallel()
	tier.Computes(t)
	comparePairs(t, pairSubjects(t), pairInputs(1000), "testdata/pairs.golden")
}

// comparePairs compares texts and pairs with the oracle, by a golden file unless its name is
// empty. Some inputs must fail, in Trident as in the oracle.
func comparePairs(t *testing.T, subjects []subject, inputs []input, file string) {
	t.Helper()
	questions := make([]golden.Question, len(subjects))
	bodies := make([]any, len(subjects))
	for i, s := range subjects {
		r := request{JSON: s.json, Path: s.path, Inputs: inputs}
		questions[i], bodies[i] = s.question(t, r), r
	}
	if file == "" {
		for i, data := range (golden.Oracle{Script: script}).Ask(t, bodies...) {
			checkEncodings(t, subjects[i], inputs, encodings(t, parse(t, subjects[i]), inputs), decodeAnswer(t, string(data)).Encodings)
		}
		return
	}
	oracle := golden.Oracle{Script: script, File: file, Digests: true, Form: form}
	for i, want := range oracle.Answers(t, questions) {
		got := answer{Encodings: encodings(t, parse(t, subjects[i]), inputs)}
		if text, known := want.Text(); known {
			checkEncodings(t, subjects[i], inputs, got.Encodings, decodeAnswer(t, text).Encodings)
		}
		form, err := got.form()
		if err != nil {
			t.Fatal(err)
		}
		if differs := want.Differs(form); differs != "" && !t.Failed() {
			t.Errorf("%s: %s", subjects[i].name, differs)
		}
	}
}

// checkEncodings compares the results of inputs with the oracle's.
func checkEncodings(t *testing.T, s subject, inputs []input, got, want []encoding) {
	t.Helper()
	if len(want) != len(inputs) {
		t.Fatalf("%s: %d results for %d inputs", s.name, len(want), len(inputs))
	}
	for i, e := range want {
		if g := got[i]; !slices.Equal(g.IDs, e.IDs) || !slices.Equal(g.Types, e.Types) || (g.IDs == nil) != (e.IDs == nil) {
			t.Errorf("%s: input %+v: got %v, want %v", s.name, inputs[i], g, e)
		}
	}
}

// encodings returns Trident's results for inputs.
func encodings(t *testing.T, tok *tokenizer.Tokenizer, inputs []input) []encoding {
	t.Helper()
	all := make([]encoding, len(inputs))
	failed := 0
	for i, in := range inputs {
		options := inference.SequenceOptions{Plain: !in.Special}
		if c := in.Truncation; c != nil {
			options.Truncation = &inference.Truncation{
				MaxTokens: c.MaxLength, Stride: c.Stride,
				Strategy: map[string]inference.TruncationStrategy{"longest_first": inference.LongestFirst, "only_first": inference.OnlyFirst, "only_second": inference.OnlySecond}[c.Strategy],
				Side:     map[string]inference.Side{"left": inference.LeftSide, "right": inference.RightSide}[c.Direction],
			}
		}
		s, err := tok.Sequence(t.Context(), inference.Texts{First: in.First, Second: in.Second}, options)
		if err == nil {
			all[i] = encoding{widen(s.IDs), widen(s.TypeIDs)}
			if s.TypeIDs == nil {
				all[i].Types = make([]int, len(s.IDs))
			}
		} else {
			failed++
		}
	}
	if failed == 0 || failed > len(inputs)/2 {
		t.Errorf("%d of %d inputs fail", failed, len(inputs))
	}
	return all
}

// widen returns ids as the oracle's JSON has them, never nil.
func widen(ids []int32) []int {
	wide := make([]int, len(ids))
	for i, id := range ids {
		wide[i] = int(id)
	}
	return wide
}

// pairOf returns the input of a pair.
func pairOf(first, second string) inference.Texts {
	return inference.Texts{First: first, Second: &second}
}

// multilingual returns lines of tokens of a real vocabulary, which has words of all
// languages.
func multilingual(t *testing.T, n int) []text {
	t.Helper()
	tok := parse(t, subject{name: "llama3", path: vocabulary(t, "llama3")})
	random := rand.New(rand.NewPCG(11, 12))
	texts := make([]text, n)
	for i := range texts {
		var b strings.Builder
		for range random.IntN(20) + 5 {
			b.Write(tok.Bytes(random.IntN(tok.Size())))
		}
		line := strings.ToValidUTF8(b.String(), "")
		texts[i] = text{fmt.Sprintf("words %d %.60q", i, line), line}
	}
	return texts
}
