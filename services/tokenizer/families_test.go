package tokenizer_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trident-inference/trident/test/cputime"
	"github.com/trident-inference/trident/test/golden"
	"github.com/trident-inference/trident/test/tier"
)

// family is a family of encoder models: how their tokenizer.json normalizes, splits and arranges
// texts, as Hugging Face's converters write it. The vocabulary is that of a trained tokenizer.
type family struct {
	variant

	// tokens are the first tokens of the vocabulary, instead of those of the base.
	tokens []string
}

// CHARSMAP in a family's parts stands for the normalizer of the base, which has SentencePiece's
// compiled rules.
const (
	xlmPlainTemplate = `"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}],
		"pair":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}},
		{"SpecialToken":{"id":"</s>","type_id":0}},{"Sequence":{"id":"B","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}],
		"special_tokens":{"<s>":{"id":"<s>","ids":[0],"tokens":["<s>"]},"</s>":{"id":"</s>","ids":[2],"tokens":["</s>"]}}}`
	metaspaceDecoder = `"decoder":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}`
	splitMetaspace   = `"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}]}`
	clsTemplate      = `"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[SEP]","type_id":0}}],
		"pair":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[SEP]","type_id":0}},{"Sequence":{"id":"B","type_id":1}},{"SpecialToken":{"id":"[SEP]","type_id":1}}],
		"special_tokens":{"[CLS]":{"id":"[CLS]","ids":[1],"tokens":["[CLS]"]},"[SEP]":{"id":"[SEP]","ids":[2],"tokens":["[SEP]"]}}}`
)

// addedTokens returns the field added_tokens. A token with a leading space takes the white space
// before it.
func addedTokens(tokens ...string) string {
	type object map[string]any
	var all []object
	for i, token := range tokens {
		content := strings.TrimPrefix(token, " ")
		all = append(all, object{"id": i, "content": content, "single_word": false, "lstrip": content != token, "rstrip": false, "normalized": false, "special": true})
	}
	data, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return `"added_tokens":` + string(data)
}

// families returns the families, with the tokens of their vocabularies.
func families() []family {
	xlm := []string{"<s>", "<pad>", "</s>", "<unk>"}
	bert := []string{"[UNK]", "[CLS]", "[SEP]"}
	deberta := []string{"[PAD]", "[CLS]", "[SEP]", "[UNK]"}
	xlmTokens := addedTokens("<s>", "<pad>", "</s>", "<unk>", " <mask>")
	bertTokens := addedTokens("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]")
	debertaTokens := addedTokens("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
	padding := func(token string) string {
		return `"padding":{"strategy":"BatchLongest","direction":"Right","pad_to_multiple_of":null,"pad_id":1,"pad_type_id":0,"pad_token":"` + token + `"}`
	}
	const truncation512 = `"truncation":{"direction":"Right","max_length":512,"strategy":"LongestFirst","stride":0}`
	return []family{
		{variant{"XLM-RoBERTa", "unigram", `{` + xlmTokens + `,"normalizer":CHARSMAP,` + splitMetaspace + `,` + xlmPlainTemplate + `,` + metaspaceDecoder + `}`}, xlm},
		{variant{"bge-m3", "unigram", `{` + xlmTokens + `,` + padding("<pad>") + `,"normalizer":{"type":"Sequence","normalizers":[CHARSMAP]},
			"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},` + xlmPlainTemplate + `,` + metaspaceDecoder + `}`}, xlm},
		{variant{"multilingual-e5", "unigram", `{` + xlmTokens + `,` + truncation512 + `,"normalizer":{"type":"Sequence","normalizers":[CHARSMAP,{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}]},
			"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},` + xlmPlainTemplate + `,` + metaspaceDecoder + `}`}, xlm},
		{variant{"gte-multilingual", "unigram", `{` + xlmTokens + `,"normalizer":{"type":"Sequence","normalizers":[CHARSMAP,{"type":"Strip","strip_left":false,"strip_right":true},
			{"type":"Replace","pattern":{"Regex":" {2,}"},"content":"▁"}]},
			"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},` + xlmPlainTemplate + `,` + metaspaceDecoder + `}`}, xlm},
		{variant{"bert-uncased, mxbai, gte", "wordpiece", `{` + bertTokens + `,` + truncation512 + `,` + padding("[PAD]") + `,
			"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},"pre_tokenizer":{"type":"BertPreTokenizer"},` + clsTemplate + `}`}, bert},
		{variant{"bert-multilingual-cased", "wordpiece", `{` + bertTokens + `,"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":false},
			"pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":{"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",1]}}`}, bert},
		{variant{"roberta", "bytes", `{` + addedTokens("<s>", "</s>", "<pad>", "<unk>", " <mask>") + `,"normalizer":null,
			"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
			"post_processor":{"type":"RobertaProcessing","sep":["</s>",1],"cls":["<s>",0],"trim_offsets":true,"add_prefix_space":false}}`}, []string{"<s>", "</s>"}},
		{variant{"modernbert", "bytes", `{` + addedTokens("<s>", "</s>", "[UNK]", "[PAD]", " [MASK]", "                ", "        ", "    ") + `,"normalizer":{"type":"NFC"},
			"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
			"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}],
			"pair":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}},{"Sequence":{"id":"B","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}],
			"special_tokens":{"<s>":{"id":"<s>","ids":[0],"tokens":["<s>"]},"</s>":{"id":"</s>","ids":[1],"tokens":["</s>"]}}}}`}, []string{"<s>", "</s>"}},
		{variant{"deberta-v2", "unigram", `{` + debertaTokens + `,"normalizer":{"type":"Sequence","normalizers":[{"type":"Strip","strip_left":true,"strip_right":true},CHARSMAP,
			{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}]},
			"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}]},` + clsTemplate + `,` + metaspaceDecoder + `}`}, deberta},
		{variant{"deberta-v2, lower case, punctuation apart", "unigram", `{` + debertaTokens + `,"normalizer":{"type":"Sequence","normalizers":[{"type":"Lowercase"},
			{"type":"Replace","pattern":{"Regex":"\\s{2,}|[\\n\\r\\t]"},"content":" "},{"type":"NFC"},{"type":"Strip","strip_left":false,"strip_right":true}]},
			"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Punctuation","behavior":"Isolated"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}]},` + clsTemplate + `,` + metaspaceDecoder + `}`}, deberta},
	}
}

// of returns the family's tokenizer.json with the vocabulary of a base.
func (f family) of(t *testing.T, base json.RawMessage) subject {
	t.Helper()
	var whole struct {
		Normalizer json.RawMessage `json:"normalizer"`
		Model      struct {
			Vocab json.RawMessage `json:"vocab"`
		} `json:"model"`
	}
	if err := json.Unmarshal(base, &whole); err != nil {
		t.Fatal(err)
	}
	if f.base == "unigram" {
		var vocab [][2]json.RawMessage
		if err := json.Unmarshal(whole.Model.Vocab, &vocab); err != nil {
			t.Fatal(err)
		}
		for i, token := range f.tokens {
			vocab[i][0] = json.RawMessage(`"` + token + `"`)
		}
		changed, err := json.Marshal(vocab)
		if err != nil {
			t.Fatal(err)
		}
		f.parts = strings.TrimSuffix(strings.ReplaceAll(f.parts, "CHARSMAP", string(whole.Normalizer)), "}") + `,"model":{"vocab":` + string(changed) + `}}`
	}
	return subject{name: f.name, json: f.build(t, base)}
}

// smallFamilies returns the families with small vocabularies, whose training is recorded.
func smallFamilies(t *testing.T) []subject {
	t.Helper()
	bases := map[string]json.RawMessage{}
	for file, questions := range map[string][]golden.Question{"testdata/trained.golden.gz": training(t), "testdata/unigram_trained.golden.gz": unigramTraining(t)} {
		for i, a := range (golden.Oracle{Script: script, File: file, Varies: true, Form: form}).Answers(t, questions) {
			text, _ := a.Text()
			bases[questions[i].Name] = decodeAnswer(t, text).JSON
		}
	}
	var all []subject
	for _, f := range families() {
		all = append(all, f.of(t, bases[f.base]))
	}
	return all
}

// trained has the families with newly trained vocabularies.
var trained struct {
	once     sync.Once
	subjects []subject
}

// trainedFamilies returns the families with vocabularies of 16,000 tokens, which are newly trained
// on lines. The first family of each kind of model trains the vocabulary of all.
func trainedFamilies(t *testing.T) []subject {
	t.Helper()
	trained.once.Do(func() {
		var texts []string
		for _, x := range slices.Concat(sentences(15_000, 1), names(5000), corpus(t)) {
			texts = append(texts, x.text)
		}
		var requests []any
		at := map[string]int{} // index of the request that trains a base
		small := smallFamilies(t)
		for i, f := range families() {
			if _, ok := at[f.base]; !ok {
				at[f.base] = len(requests)
				requests = append(requests, request{Train: "again", JSON: small[i].json, Tokens: f.tokens, Size: 16_000, Texts: texts})
			}
		}
		answers := (golden.Oracle{Script: script}).Ask(t, requests...)
		for _, f := range families() {
			a := decodeAnswer(t, string(answers[at[f.base]]))
			if a.Error != "" {
				t.Fatalf("%s: %s", f.name, a.Error)
			}
			trained.subjects = append(trained.subjects, f.of(t, a.JSON))
		}
	})
	if len(trained.subjects) == 0 {
		t.Fatal("training has failed")
	}
	return trained.subjects
}

// TestFamilies compares the families of encoder models with Hugging Face's tokenizers, with small
// vocabularies: ids of texts, and pairs with their types, truncations and errors.
func TestFamilies(t *testing.T) {
	t.Parallel()
	tier.Computes(t)
	subjects := smallFamilies(t)
	texts := slices.Concat(corpus(t), shuffled(300), marked(200), sentences(500, 2), names(100))
	compare(t, subjects, texts, "testdata/families.golden")
	comparePairs(t, subjects, pairInputs(500), "testdata/families_pairs.golden")
}

// TestManyLines compares more than 100,000 lines with Hugging Face's tokenizers, for each family
// with a newly trained vocabulary and for real vocabularies. The lines are generated, or
// belong to installed packages.
func TestManyLines(t *testing.T) {
	tier.OnlySlow(t)
	subjects := append(trainedFamilies(t), subject{name: "all-MiniLM-L6-v2", path: demoEmbedding(t)})
	texts := slices.Concat(shuffled(20_000), marked(15_000), sentences(30_000, 3), names(15_000), multilingual(t, 15_000), installedLines(t))
	if len(texts) < 100_000 {
		t.Fatalf("only %d lines", len(texts))
	}
	t.Logf("%d lines", len(texts))
	inputs := slices.Concat(pairInputs(10_000), linePairs(10_000))
	for _, s := range subjects { // one by one, because the answers to all of them need gigabytes
		t.Run(s.name, func(t *testing.T) {
			compareUnrecorded(t, []subject{s}, texts)
			comparePairs(t, []subject{s}, inputs, "")
		})
	}
}

// linePairs returns pairs of lines, which are truncated to realistic lengths.
func linePairs(n int) []input {
	inputs := pairInputs(n)
	first, second := sentences(n, 4), names(n)
	for i := range inputs {
		inputs[i].First = first[i].text
		if inputs[i].Second != nil {
			inputs[i].Second = &second[i].text
		}
		if c := inputs[i].Truncation; c != nil {
			c.MaxLength *= 4
			c.Stride *= 4
		}
	}
	return inputs
}

// TestSpeed compares the CPU time of one goroutine, including garbage collection, with that of one
// thread of Hugging Face's tokenizers, for the same texts: lines, and texts of 400 KB.
func TestSpeed(t *testing.T) {
	tier.OnlySlow(t)
	if tier.Race {
		t.Skip("the race detector makes Go code slower: make bench-tokenizer")
	}
	var lines []string
	for _, x := range slices.Concat(sentences(20_000, 5), names(5000), multilingual(t, 5000), installedLines(t)) {
		lines = append(lines, strings.ToValidUTF8(x.text, "?"))
	}
	for _, s := range append(trainedFamilies(t), subject{name: "all-MiniLM-L6-v2", path: demoEmbedding(t)}) {
		for name, texts := range map[string][]string{"lines": lines, "400 KB": longTextsOf(lines)} {
			t.Run(s.name+"/"+name, func(t *testing.T) { compareSpeed(t, s, texts) })
		}
	}
}

// longTextsOf joins lines to texts of 400 KB.
func longTextsOf(lines []string) (texts []string) {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line + "\n")
		if b.Len() >= 400_000 {
			texts = append(texts, b.String())
			b.Reset()
		}
	}
	return texts
}

// leastSpeed is the least ratio of tokenizers' CPU time to this package's CPU time.
const leastSpeed = 2

func compareSpeed(t *testing.T, s subject, texts []string) {
	t.Helper()
	const rounds = 5
	tok := parse(t, s)
	here := time.Hour
	for range rounds {
		start := cputime.Process(t)
		for _, text := range texts {
			if _, err := tok.Encode(t.Context(), text, true, nil); err != nil {
				t.Fatal(err)
			}
		}
		here = min(here, cputime.Process(t)-start)
	}
	var there answer
	if err := json.Unmarshal((golden.Oracle{Script: script}).Ask(t, request{JSON: s.json, Path: s.path, Texts: texts, Rounds: rounds})[0], &there); err != nil || there.Seconds == 0 {
		t.Fatal(err, there.Error)
	}
	ratio := there.Seconds / here.Seconds()
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	report := fmt.Sprintf("%d texts: %.1f MB per second of CPU time, tokenizers %.1f, %.1f times as fast", len(texts), float64(size)/1e6/here.Seconds(), float64(size)/1e6/there.Seconds, ratio)
	t.Log(report)
	if ratio < leastSpeed {
		t.Errorf("%s, want %d", report, leastSpeed)
	}
}
