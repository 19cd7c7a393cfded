package tokenizer_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/trident-inference/trident/test/golden"
	"github.com/trident-inference/trident/test/tier"
)

// variant is a small tokenizer that the oracle trains, with some parts replaced.
type variant struct {
	name  string
	base  string // training method of the oracle
	parts string // JSON of the parts that replace the base's; the fields of model are replaced one by one
}

const (
	gpt4oPattern = `[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`
	qwenPattern  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`
	cl100k       = `'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+`
	kimiPattern  = `[\\p{Han}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]+|\\p{N}{1,3}|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`
	bytesAfter   = `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}`
)

// splitBytes returns a pre-tokenizer: a Split followed by ByteLevel.
func splitBytes(pattern, behavior, invert string) string {
	return `{"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":` + pattern + `,"behavior":"` + behavior +
		`","invert":` + invert + `},` + bytesAfter + `]}}`
}

func regex(r string) string { return `{"Regex":"` + r + `"}` }

var variants = []variant{
	{"bytes as trained", "bytes", `{}`},
	{"bytes with a space before", "bytes", `{"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}}`},
	{"gpt-4o's pattern", "bytes", splitBytes(regex(gpt4oPattern), "Removed", "true")},
	{"qwen's pattern", "bytes", splitBytes(regex(qwenPattern), "Isolated", "false")},
	{"cl100k's pattern", "bytes", splitBytes(regex(cl100k), "Isolated", "false")},
	{"kimi's pattern", "bytes", splitBytes(regex(kimiPattern), "Isolated", "false")},
	{"a lookahead", "bytes", splitBytes(regex(`\\d{1,3}(?=(?:\\d{3})*\\b)`), "Isolated", "false")},
	{"a lookahead of nothing", "bytes", splitBytes(regex(`(?=[A-Z])`), "Isolated", "false")},
	{"a lookbehind", "bytes", splitBytes(regex(`(?<=[.!?])\\s`), "MergedWithPrevious", "false")},
	{"a lazy repetition", "bytes", splitBytes(regex(`<[^ ]+?>`), "Isolated", "false")},
	{"dots and lines", "bytes", splitBytes(regex(`^.|.$`), "Isolated", "false")},
	{"no letters", "bytes", splitBytes(regex(`\\p{^L}+`), "Removed", "false")},
	{"word characters", "bytes", splitBytes(regex(`\\w+|[^\\w\\s]+`), "Removed", "true")},
	{"borders of words", "bytes", splitBytes(regex(`\\b[\\w']+?\\b`), "Isolated", "false")},
	{"long repetition", "bytes", splitBytes(regex(`[a-z]{2,}[0-9]{0,2}|[^a-z ]{3}`), "Isolated", "false")},
	{"removed", "bytes", splitBytes(`{"String":" "}`, "Removed", "false")},
	{"isolated", "bytes", splitBytes(`{"String":"e"}`, "Isolated", "false")},
	{"merged with previous", "bytes", splitBytes(regex(`[\\s-]`), "MergedWithPrevious", "false")},
	{"merged with next", "bytes", splitBytes(regex(`[\\s-]`), "MergedWithNext", "false")},
	{"merged with next, inverted", "bytes", splitBytes(regex(`[\\s-]`), "MergedWithNext", "true")},
	{"contiguous", "bytes", splitBytes(regex(`[\\s-]`), "Contiguous", "false")},
	{"contiguous, inverted", "bytes", splitBytes(regex(`[\\s-]`), "Contiguous", "true")},
	{"falcon's sequence", "bytes", `{"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Punctuation","behavior":"Contiguous"},
		{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},{"type":"Digits","individual_digits":false},
		{"type":"Split","pattern":{"Regex":"[0-9][0-9][0-9]"},"behavior":"Isolated","invert":false}]}}`},
	{"single digits", "bytes", `{"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},` + bytesAfter + `]}}`},
	{"words whole", "bytes", `{"model":{"ignore_merges":true}}`},
	{"NFC", "bytes", `{"normalizer":{"type":"NFC"}}`},
	{"NFD", "bytes", `{"normalizer":{"type":"NFD"}}`},
	{"NFKC", "bytes", `{"normalizer":{"type":"NFKC"}}`},
	{"NFKD and no marks", "bytes", `{"normalizer":{"type":"Sequence","normalizers":[{"type":"NFKD"},{"type":"StripAccents"},{"type":"Lowercase"}]}}`},
	{"replace by pattern", "bytes", `{"normalizer":{"type":"Replace","pattern":{"Regex":"\\s+"},"content":" "}}`},
	{"strip and Nmt", "bytes", `{"normalizer":{"type":"Sequence","normalizers":[{"type":"Nmt"},{"type":"Strip","strip_left":true,"strip_right":true}]}}`},
	{"strip left", "bytes", `{"normalizer":{"type":"Strip","strip_left":true,"strip_right":false}}`},
	{"bytes by the normalizer", "bytes", `{"normalizer":{"type":"ByteLevel"},"pre_tokenizer":null}`},
	{"roberta", "bytes", `{"post_processor":{"type":"RobertaProcessing","sep":["</s>",1],"cls":["<s>",0],"trim_offsets":true,"add_prefix_space":true}}`},
	{"a template in a sequence", "bytes", `{"post_processor":{"type":"Sequence","processors":[{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false,"use_regex":true},
		{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
		"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],
		"special_tokens":{"<s>":{"id":"<s>","ids":[0,1],"tokens":["<s>","</s>"]}}}]}}`},
	{"added tokens of all kinds", "bytes", `{"added_tokens":[
		{"id":0,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
		{"id":1,"content":"</s>","single_word":false,"lstrip":true,"rstrip":true,"normalized":false,"special":true},
		{"id":3000,"content":"you","single_word":true,"lstrip":false,"rstrip":false,"normalized":false,"special":false},
		{"id":3001,"content":"the","single_word":false,"lstrip":true,"rstrip":false,"normalized":true,"special":false},
		{"id":3002,"content":"thermal","single_word":false,"lstrip":false,"rstrip":true,"normalized":true,"special":true},
		{"id":3003,"content":"\n","single_word":false,"lstrip":false,"rstrip":true,"normalized":false,"special":false},
		{"id":3004,"content":"中文","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":false},
		{"id":3005,"content":"----","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":false},
		{"id":3006,"content":"--","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":false}]}`},
	{"added tokens, normalized", "bytes", `{"normalizer":{"type":"Lowercase"},"added_tokens":[
		{"id":0,"content":"<S>","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":true},
		{"id":3000,"content":"DON'T","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":false},
		{"id":3001,"content":"CLASS","single_word":true,"lstrip":false,"rstrip":false,"normalized":true,"special":true}]}`},
	{"no decoder", "bytes", `{"decoder":null}`},

	{"spaces as trained", "spaces", `{}`},
	{"llama's old way", "spaces", `{"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},
		{"type":"Replace","pattern":{"String":" "},"content":"▁"}]},"pre_tokenizer":null,"model":{"byte_fallback":true,"fuse_unk":true},
		"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},
		{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]}}`},
	{"mistral's new way", "spaces", `{"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":false},
		"model":{"byte_fallback":true},"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},
		{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]}}`},
	{"gemma's way", "spaces", `{"normalizer":{"type":"Replace","pattern":{"String":" "},"content":"▁"},
		"pre_tokenizer":{"type":"Split","pattern":{"String":" "},"behavior":"MergedWithPrevious","invert":false},"model":{"byte_fallback":true,"fuse_unk":true}}`},
	{"first, with tokens inside", "spaces", `{"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true}}`},
	{"never", "spaces", `{"pre_tokenizer":{"type":"Metaspace","replacement":"▁","add_prefix_space":false,"prepend_scheme":"never"},
		"decoder":{"type":"Metaspace","replacement":"▁","prepend_scheme":"never"}}`},
	{"unknown fused", "spaces", `{"model":{"fuse_unk":true}}`},
	{"unknown dropped", "spaces", `{"model":{"unk_token":null}}`},
	{"fused and stripped", "spaces", `{"decoder":{"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"always"}]}}`},
	{"stripped each", "spaces", `{"decoder":{"type":"Sequence","decoders":[{"type":"Strip","content":"▁","start":1,"stop":0},{"type":"ByteFallback"}]}}`},
	{"replaced when fused", "spaces", `{"decoder":{"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Replace","pattern":{"String":"▁t"},"content":" T"}]}}`},

	{"words as trained", "words", `{}`},
	{"words and spaces", "words", `{"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Whitespace"},{"type":"Punctuation","behavior":"MergedWithNext"}]}}`},
	{"words by a letter", "words", `{"pre_tokenizer":{"type":"CharDelimiterSplit","delimiter":"e"}}`},

	{"word pieces as trained", "wordpiece", `{}`},
	{"word pieces, cased", "wordpiece", `{"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":false}}`},
	{"word pieces, accents on", "wordpiece", `{"normalizer":{"type":"BertNormalizer","clean_text":false,"handle_chinese_chars":false,"strip_accents":false,"lowercase":true}}`},
	{"word pieces, short words", "wordpiece", `{"model":{"max_input_chars_per_word":5},"decoder":{"type":"WordPiece","prefix":"##","cleanup":false},
		"post_processor":{"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",1]}}`},
}

// TestVariants checks that the tokenizer encodes texts as Hugging Face's tokenizers do, with small
// vocabularies and each kind of component of a tokenizer.json. The slow tier also uses newly
// trained vocabularies.
func TestVariants(t *testing.T) {
	t.Parallel()
	tier.Computes(t)
	questions := training(t)
	var bases []string
	for _, a := range (golden.Oracle{Script: script, File: "testdata/trained.golden.gz", Varies: true, Form: form}).Answers(t, questions) {
		text, _ := a.Text()
		bases = append(bases, text)
	}
	texts := append(corpus(t), shuffled(300)...)
	compare(t, variantsOf(t, questions, bases), texts, "testdata/variants.golden")
	if tier.Slow() {
		t.Run("newly trained", func(t *testing.T) {
			var bases []string
			for _, a := range (golden.Oracle{Script: script}).Ask(t, bodies(questions)...) {
				bases = append(bases, string(a))
			}
			compareUnrecorded(t, variantsOf(t, questions, bases), texts)
		})
	}
}

// training returns the oracle's questions for a vocabulary of each kind, trained on
// the corpus. The answers differ from run to run.
func training(t *testing.T) []golden.Question {
	t.Helper()
	var texts []string
	for _, x := range corpus(t) {
		if len(x.text) < 2000 {
			texts = append(texts, x.text)
		}
	}
	var all []golden.Question
	for _, kind := range []string{"bytes", "spaces", "words", "wordpiece"} {
		all = append(all, golden.Question{Name: kind, Body: request{Train: kind, Texts: texts}})
	}
	return all
}

func bodies(questions []golden.Question) (all []any) {
	for _, q := range questions {
		all = append(all, q.Body)
	}
	return all
}

// variantsOf applies the variants to the answers to training's questions.
func variantsOf(t *testing.T, training []golden.Question, answers []string) []subject {
	t.Helper()
	bases := map[string]json.RawMessage{}
	for i, text := range answers {
		a := decodeAnswer(t, text)
		if a.Error != "" {
			t.Fatal(a.Error)
		}
		bases[training[i].Name] = a.JSON
	}
	subjects := make([]subject, len(variants))
	for i, v := range variants {
		subjects[i] = subject{name: v.name, json: v.build(t, bases[v.base])}
	}
	return subjects
}

func (v variant) build(t *testing.T, base json.RawMessage) []byte {
	t.Helper()
	var whole, parts, model, fields map[string]json.RawMessage
	decode := func(from json.RawMessage, to *map[string]json.RawMessage) {
		if err := json.Unmarshal(from, to); err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
	}
	decode(base, &whole)
	decode(json.RawMessage(v.parts), &parts)
	if parts["model"] != nil {
		decode(whole["model"], &model)
		decode(parts["model"], &fields)
		maps.Copy(model, fields)
		changed, err := json.Marshal(model)
		if err != nil {
			t.Fatal(err)
		}
		parts["model"] = changed
	}
	maps.Copy(whole, parts)
	data, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
