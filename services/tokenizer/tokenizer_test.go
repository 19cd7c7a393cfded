package tokenizer_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/tokenizer"
	"github.com/trident-inference/trident/test/tier"
)

// parts are the fields of a tokenizer.json.
type parts map[string]any

func (p parts) json(tb testing.TB) []byte {
	tb.Helper()
	whole := parts{"version": "1.0", "added_tokens": []any{}}
	maps.Copy(whole, p)
	data, err := json.Marshal(whole)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func (p parts) parse(tb testing.TB) *tokenizer.Tokenizer {
	tb.Helper()
	t, err := tokenizer.Parse(p.json(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func added(id int, content string, special bool) parts {
	return parts{
		"id": id, "content": content, "special": special,
		"single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
	}
}

// byteLevel returns a tokenizer of all bytes, a few merges and two special tokens.
// <s> is 0 and byte b is b+1.
func byteLevel() parts {
	vocab := map[string]int{"<s>": 0}
	for b := range 256 {
		vocab[tokenizer.Spell(string([]byte{byte(b)}))] = b + 1
	}
	var merges [][2]string
	for _, pair := range [][2]string{{"h", "e"}, {"l", "l"}, {"he", "ll"}, {"hell", "o"}, {" ", "w"}, {"a", "a"}, {"aa", "aa"}} {
		left, right := tokenizer.Spell(pair[0]), tokenizer.Spell(pair[1])
		vocab[left+right] = len(vocab)
		merges = append(merges, [2]string{left, right})
	}
	level := parts{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}
	return parts{
		"model": parts{"type": "BPE", "vocab": vocab, "merges": merges}, "pre_tokenizer": level, "decoder": level,
		"added_tokens": []any{added(0, "<s>", true), added(264, "<end>", true)},
		"post_processor": parts{
			"type": "TemplateProcessing", "pair": []any{},
			"single":         []any{parts{"SpecialToken": parts{"id": "<s>", "type_id": 0}}, parts{"Sequence": parts{"id": "A", "type_id": 0}}},
			"special_tokens": parts{"<s>": parts{"id": "<s>", "ids": []int{0}, "tokens": []string{"<s>"}}},
		},
	}
}

// fallback returns a tokenizer like SentencePiece's. <unk> is 0 and <0xXX> is
// XX+1.
func fallback() parts {
	vocab := map[string]int{"<unk>": 0}
	for b := range 256 {
		vocab[fmt.Sprintf("<0x%02X>", b)] = b + 1
	}
	for _, token := range []string{"▁", "a", "b", "ab", "▁ab", "é"} {
		vocab[token] = len(vocab)
	}
	return parts{
		"model": parts{
			"type": "BPE", "vocab": vocab, "merges": []string{"a b", "▁ ab"}, "unk_token": "<unk>",
			"byte_fallback": true, "fuse_unk": true,
		},
		"normalizer": parts{"type": "Sequence", "normalizers": []any{
			parts{"type": "Prepend", "prepend": "▁"},
			parts{"type": "Replace", "pattern": parts{"String": " "}, "content": "▁"},
		}},
		"decoder": parts{"type": "Sequence", "decoders": []any{
			parts{"type": "Replace", "pattern": parts{"String": "▁"}, "content": " "},
			parts{"type": "ByteFallback"},
			parts{"type": "Fuse"},
			parts{"type": "Strip", "content": " ", "start": 1, "stop": 0},
		}},
	}
}

func TestEncode(t *testing.T) {
	tests := []struct {
		name    string
		file    parts
		text    string
		special bool
		want    []int
		decoded string // text without special tokens
	}{
		{"nothing", byteLevel(), "", false, []int{}, ""},
		{"merges", byteLevel(), "hello", false, []int{260}, "hello"},
		{"the leftmost first", byteLevel(), "aaaaa", false, []int{263, 98}, "aaaaa"},
		{"with special tokens", byteLevel(), "hello", true, []int{0, 260}, "hello"},
		{"special tokens in the text", byteLevel(), "a<end>b<s>", false, []int{98, 264, 99, 0}, "ab"},
		{"bytes", byteLevel(), "é\x00", false, []int{0xc3 + 1, 0xa9 + 1, 1}, "é\x00"},
		{"no UTF-8", byteLevel(), "a\xff", false, []int{98, 0xef + 1, 0xbf + 1, 0xbd + 1}, "a\ufffd"},
		{"spaces", fallback(), "ab b", false, []int{261, 257, 259}, "ab b"},
		{"characters by bytes", fallback(), "a€", false, []int{257, 258, 0xe2 + 1, 0x82 + 1, 0xac + 1}, "a€"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tok := test.file.parse(t)
			got, err := tok.Encode(t.Context(), test.text, test.special, nil)
			if err != nil || got == nil || !slices.Equal(got, test.want) {
				t.Errorf("got %#v (%v), want %v", got, err, test.want)
			}
			if n, err := tok.Count(t.Context(), test.text, test.special, nil); err != nil || n != len(test.want) {
				t.Errorf("counted %d (%v), want %d", n, err, len(test.want))
			}
			if text := tok.Decode(got, true); text != test.decoded {
				t.Errorf("decoded %q, want %q", text, test.decoded)
			}
		})
	}
}

func TestVocabulary(t *testing.T) {
	tok := byteLevel().parse(t)
	if tok.Size() != 265 {
		t.Errorf("%d tokens, want 265", tok.Size())
	}
	if id, ok := tok.ID("<end>"); id != 264 || !ok || !tok.Special(id) || tok.Special(98) {
		t.Errorf("<end> is %d, %v", id, ok)
	}
	if token, ok := tok.Token(261); token != "Ġw" || !ok {
		t.Errorf("261 is %q, %v", token, ok)
	}
	for _, id := range []int{-1, 265, 1 << 40} {
		if token, ok := tok.Token(id); ok || tok.Bytes(id) != nil {
			t.Errorf("%d is %q, want none", id, token)
		}
	}
	for id, want := range map[int]string{261: " w", 0xe2 + 1: "\xe2", 264: "<end>"} {
		if got := string(tok.Bytes(id)); got != want {
			t.Errorf("bytes of %d are %q, want %q", id, got, want)
		}
	}
	other := fallback().parse(t)
	for id, want := range map[int]string{261: " ab", 0xe2 + 1: "\xe2"} {
		if got := string(other.Bytes(id)); got != want {
			t.Errorf("bytes of %d are %q, want %q", id, got, want)
		}
	}
}

func TestStream(t *testing.T) {
	tests := []struct {
		name string
		file parts
		ids  []int
		want []string // output for each id, and for the end
	}{
		{"words", byteLevel(), []int{260, 261, 98}, []string{"hello", " w", "a", ""}},
		{"a character in parts", byteLevel(), []int{0xe2 + 1, 0x82 + 1, 0xac + 1, 98}, []string{"", "", "€", "a", ""}},
		{"a character cut off", byteLevel(), []int{0xe2 + 1, 0x82 + 1, 98, 0xe2 + 1}, []string{"", "", "\ufffda", "", "\ufffd"}},
		{"the first space goes", fallback(), []int{261, 261}, []string{"ab", " ab", ""}},
		{"bytes are a character at once", fallback(), []int{0xc3 + 1, 0xa9 + 1, 0xe2 + 1, 258}, []string{"", "é", "", "\ufffda", ""}},
		{"unknown ids", byteLevel(), []int{999, -1, 260}, []string{"", "", "hello", ""}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := test.file.parse(t).Stream(true)
			var got []string
			for _, id := range test.ids {
				got = append(got, s.Push(id))
			}
			if got = append(got, s.End()); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	with := func(field string, part any) parts {
		p := byteLevel()
		p[field] = part
		return p
	}
	split := func(regex string) parts {
		return with("pre_tokenizer", parts{"type": "Split", "pattern": parts{"Regex": regex}, "behavior": "Isolated", "invert": false})
	}
	tests := []struct {
		name string
		file parts
		want string
	}{
		{"another model", with("model", parts{"type": "WordLevel", "vocab": parts{}}), `model "WordLevel" is not supported`},
		{"a field of Unigram", with("model", parts{"type": "Unigram", "vocab": []any{}, "magic": 1}), `Unigram: unknown field "magic"`},
		{"no tokens", with("model", parts{"type": "Unigram", "unk_id": nil}), "Unigram: vocab is missing"},
		{"a token without a score", with("model", parts{"type": "Unigram", "vocab": []any{[]any{"a"}}}), `expected a JSON list of a token and its score, got ["a"]`},
		{"an unknown token that is none", with("model", parts{"type": "Unigram", "vocab": []any{[]any{"a", 0}}, "unk_id": 1}), "unk_id 1 is not in the vocabulary of 1 tokens"},
		{"no model", with("model", parts{}), "the model has no type"},
		{"a part that is no object", with("decoder", 1), "expected a JSON object, got 1"},
		{"a field of the model", with("model", parts{"type": "BPE", "vocab": parts{}, "merges": []any{}, "magic": 1}), `BPE: unknown field "magic"`},
		{"a field of the file", with("magic", 1), `unknown field "magic"`},
		{"version", with("version", "2.0"), `version "2.0" is not supported`},
		{"normalizer", with("normalizer", parts{"type": "Other"}), `normalizer "Other" is not supported`},
		{"no charsmap", with("normalizer", parts{"type": "Precompiled"}), "precompiled_charsmap is missing"},
		{"a charsmap of nothing", with("normalizer", parts{"type": "Precompiled", "precompiled_charsmap": ""}), "shorter than the size of its trie"},
		{"a charsmap that is no base64", with("normalizer", parts{"type": "Precompiled", "precompiled_charsmap": "?"}), "precompiled_charsmap: illegal base64"},
		{"a charsmap that is cut off", with("normalizer", parts{"type": "Precompiled", "precompiled_charsmap": "CAAAAAAAAAA="}), "the trie of the charsmap has 2 units, but only 4 bytes follow"},
		{"a charsmap that is no UTF-8", with("normalizer", parts{"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAD/"}), "the replacement strings of the charsmap are not UTF-8"},
		{"truncation", with("truncation", parts{"strategy": "Random", "max_length": 1, "stride": 0}), `truncation: strategy "Random" is not supported`},
		{"a field of the truncation", with("truncation", parts{"magic": 0}), `truncation: unknown field "magic"`},
		{"padding", with("padding", parts{"strategy": "BatchLongest", "direction": "Up"}), `padding: direction "Up" is not supported`},
		{"padding by a strategy", with("padding", parts{"strategy": "Most", "direction": "Left"}), "padding: "},
		{"pre-tokenizer", with("pre_tokenizer", parts{"type": "UnicodeScripts"}), `pre-tokenizer "UnicodeScripts" is not supported`},
		{"post-processor", with("post_processor", parts{"type": "Other"}), `post-processor "Other" is not supported`},
		{"decoder", with("decoder", parts{"type": "CTC"}), `decoder "CTC" is not supported`},
		{"behavior", with("pre_tokenizer", parts{"type": "Punctuation", "behavior": "Sideways"}), `behavior "Sideways" is not supported`},
		{"a merge of nothing", with("model", parts{"type": "BPE", "vocab": parts{"a": 0}, "merges": []string{"a b"}}), `merge "a" "b" is not in the vocabulary`},
		{"unknown token", with("model", parts{"type": "BPE", "vocab": parts{"a": 0}, "merges": []string{}, "unk_token": "?"}), `unk_token "?" is not in the vocabulary`},
		{"pattern of another dialect", split(`\h+`), `"\\h" in the pattern "\\h+" is not supported`},
		{"pattern that is none", split(`(`), `the pattern "(" is not supported`},
		{"template without the text", with("post_processor", parts{"type": "TemplateProcessing", "single": []any{}, "pair": []any{}, "special_tokens": parts{}}), "the template single must contain the text once, not 0 times"},
		{"id too large", with("model", parts{"type": "BPE", "vocab": parts{"a": 1 << 30}, "merges": []string{}}), `the token "a" has the id 1073741824`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := tokenizer.Parse(test.file.json(t)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	if _, err := tokenizer.Parse([]byte(`{"version"`)); err == nil {
		t.Error("half a file is taken")
	}
}

func TestLoad(t *testing.T) {
	config := `{"bos_token":"<s>","eos_token":{"__type":"AddedToken","content":"<end>"},"unk_token":null,"add_bos_token":false,
		"add_eos_token":true,"model_max_length":4096,"tokenizer_class":"LlamaTokenizer","other":1}`
	folder := fstest.MapFS{
		"tokenizer.json":        {Data: byteLevel().json(t)},
		"tokenizer_config.json": {Data: []byte(config)},
	}
	tok, got, err := tokenizer.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	no, yes := false, true
	want := tokenizer.Config{BOS: "<s>", EOS: "<end>", AddBOS: &no, AddEOS: &yes, MaxLength: 4096, Class: "LlamaTokenizer"}
	if fmt.Sprint(got.BOS, got.EOS, got.UNK, *got.AddBOS, *got.AddEOS, got.MaxLength, got.Class) !=
		fmt.Sprint(want.BOS, want.EOS, want.UNK, *want.AddBOS, *want.AddEOS, want.MaxLength, want.Class) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	changed, err := tok.With(got)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		tok  *tokenizer.Tokenizer
		want []int
	}{"the file's": {tok, []int{0, 260}}, "the configuration's": {changed, []int{260, 264}}} {
		if ids, err := test.tok.Encode(t.Context(), "hello", true, nil); err != nil || !slices.Equal(ids, test.want) {
			t.Errorf("%s: got %v (%v), want %v", name, ids, err, test.want)
		}
	}
	if _, err := tok.With(tokenizer.Config{BOS: "<none>", AddBOS: &yes}); err == nil {
		t.Error("a token that the vocabulary lacks is added")
	}
}

func TestConfig(t *testing.T) {
	tests := []struct {
		name, data string
		want       tokenizer.Config
		fails      bool
	}{
		{"empty", `{}`, tokenizer.Config{}, false},
		{"no length", `{"model_max_length":1000000000000000019884624838656}`, tokenizer.Config{}, false},
		{"a length", `{"model_max_length":131072.0,"pad_token":"<pad>"}`, tokenizer.Config{MaxLength: 131072, PAD: "<pad>"}, false},
		{"no token", `{"bos_token":1}`, tokenizer.Config{}, true},
		{"no JSON", `{`, tokenizer.Config{}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := tokenizer.ParseConfig([]byte(test.data))
			if got != test.want || (err != nil) != test.fails {
				t.Errorf("got %+v (%v), want %+v", got, err, test.want)
			}
		})
	}
	if _, err := tokenizer.LoadConfig(fstest.MapFS{}); err != nil {
		t.Errorf("a folder without a configuration: %v", err)
	}
	if _, _, err := tokenizer.Load(fstest.MapFS{}); err == nil {
		t.Error("a folder without a tokenizer is loaded")
	}
}

// TestLong encodes texts for which naive tokenizers take quadratic time, which
// would be hours.
func TestLong(t *testing.T) {
	size := tier.Size(1<<15, 1<<18)
	for name, text := range map[string]string{
		"a letter": strings.Repeat("a", size), "spaces": strings.Repeat(" ", size), "newlines": strings.Repeat("\n", size),
		"capitals": strings.Repeat("A", size), "spaces and lines": strings.Repeat(" \n", size/2), "dashes": strings.Repeat("-", size),
		"tokens begun": strings.Repeat("<en", size/3), "marks": "x" + strings.Repeat("\u0301", size/2),
	} {
		for kind, file := range map[string]parts{"bytes": byteLevel(), "spaces": fallback()} {
			if kind == "bytes" {
				file["normalizer"] = parts{"type": "NFC"}
			}
			t.Run(name+" as "+kind, func(t *testing.T) {
				start := time.Now()
				if n, err := file.parse(t).Count(t.Context(), text, true, nil); err != nil || n == 0 {
					t.Errorf("%d tokens, %v", n, err)
				}
				if took := time.Since(start); took > 30*time.Second {
					t.Errorf("took %v", took)
				}
			})
		}
	}
}

func TestConcurrent(t *testing.T) {
	tok := byteLevel().parse(t)
	texts := corpus(t)
	want := make([][]int, len(texts))
	for i, x := range texts {
		want[i], _ = tok.Encode(t.Context(), x.text, true, nil)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i, x := range texts {
				if got, err := tok.Encode(t.Context(), x.text, true, nil); err != nil || !slices.Equal(got, want[i]) {
					t.Errorf("%s: not the same ids as alone (%v)", x.name, err)
				}
				tok.Decode(want[i], false)
			}
		})
	}
	group.Wait()
}

// patterns returns the patterns of models in use.
func patterns(tb testing.TB) []string {
	tb.Helper()
	var all []string
	for _, pattern := range []string{gpt4oPattern, qwenPattern, `\\p{N}{1,3}`, `[一-龥぀-ゟ゠-ヿ]+`, `[^\\w\\s]+|\\w+`} {
		var unescaped string
		if err := json.Unmarshal([]byte(`"`+pattern+`"`), &unescaped); err != nil {
			tb.Fatal(err)
		}
		all = append(all, unescaped)
	}
	return append(all,
		`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`,
		"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
		`[a-z]{2,3}[b-y]*z?|(?:ab|a)(?=b)|x(?!y)`,
	)
}

// FuzzPattern compares the scanner with the general engine. Their versions of
// Unicode differ, so the comparison omits characters that are newer than Go's
// tables or that fold to ASCII.
func FuzzPattern(f *testing.F) {
	for _, x := range corpus(f) {
		f.Add(x.text)
	}
	type engine func(text string) ([]string, error)
	engines := map[string][2]engine{}
	for _, expr := range patterns(f) {
		scanned, general, err := tokenizer.Engines(expr)
		if err != nil {
			f.Fatal(err)
		}
		engines[expr] = [2]engine{scanned, general}
	}
	known := tokenizer.Known()
	f.Fuzz(func(t *testing.T, text string) {
		text = known(text)
		for expr, e := range engines {
			got, gotErr := e[0](text)
			want, wantErr := e[1](text)
			if gotErr != nil || wantErr != nil || !slices.Equal(got, want) {
				t.Fatalf("%s\ngot  %q (%v)\nwant %q (%v)", expr, got, gotErr, want, wantErr)
			}
		}
	})
}

// FuzzEncode checks that decoding restores the encoded bytes, for every way to
// read the stream.
func FuzzEncode(f *testing.F) {
	for _, x := range corpus(f) {
		f.Add(x.text)
	}
	bytes, spaces := byteLevel().parse(f), fallback().parse(f)
	f.Fuzz(func(t *testing.T, text string) {
		for _, tok := range []*tokenizer.Tokenizer{bytes, spaces} {
			ids, err := tok.Encode(t.Context(), text, false, nil)
			if err != nil {
				t.Fatal(err)
			}
			whole := tok.Decode(ids, false)
			if want := perByte(text); tok == bytes && whole != want {
				t.Fatalf("decoded %q, want %q", whole, want)
			}
			if n, err := tok.Count(t.Context(), text, false, nil); n != len(ids) || err != nil {
				t.Fatalf("count %d (%v), want %d", n, err, len(ids))
			}
			checkStream(t, tok, ids, whole)
		}
	})
}

// perByte replaces each byte that isn't UTF-8.
func perByte(text string) string { return string([]rune(text)) }

func checkStream(t *testing.T, tok *tokenizer.Tokenizer, ids []int, whole string) {
	t.Helper()
	s := tok.Stream(false)
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(s.Push(id))
	}
	b.WriteString(s.End())
	if b.String() != whole {
		t.Fatalf("streamed %q, want %q", b.String(), whole)
	}
}

// FuzzDecode checks that no ids make a tokenizer panic, and that streaming them
// yields their text.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("\xe3\x83\xadhello\xff\x00\x06\xf1\x80\x80a"), false)
	bytes, spaces := byteLevel().parse(f), fallback().parse(f)
	f.Fuzz(func(t *testing.T, data []byte, skip bool) {
		ids := make([]int, len(data))
		for i, b := range data {
			ids[i] = int(b) + i%12
		}
		checkStream(t, bytes, ids, bytes.Decode(ids, false))
		bytes.Decode(ids, skip)
		if whole := spaces.Decode(ids, false); !strings.Contains(whole, "\ufffd") {
			checkStream(t, spaces, ids, whole)
		}
	})
}

// FuzzParse checks that neither the parser nor the resulting tokenizer panics on
// any file.
func FuzzParse(f *testing.F) {
	small := fallback()
	small["model"] = parts{"type": "BPE", "vocab": parts{"a": 0, "b": 1, "ab": 2, "▁": 3}, "merges": []string{"a b"}}
	f.Add(small.json(f), "ab é€")
	small["pre_tokenizer"] = parts{"type": "Split", "pattern": parts{"Regex": `[a-z]+(?!\S)|\p{L}{1,3}|(?i:'s|x)?`}, "behavior": "Isolated", "invert": false}
	f.Add(small.json(f), "hello <s>")
	small["model"] = parts{"type": "Unigram", "vocab": []any{[]any{"<unk>", 0}, []any{"a", -1}, []any{"ab", -1.5}}, "unk_id": 0, "byte_fallback": true}
	small["normalizer"] = parts{"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAABhAGIA"}
	small["pre_tokenizer"] = parts{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true}
	small["truncation"] = parts{"max_length": 3, "stride": 0, "strategy": "LongestFirst", "direction": "Left"}
	f.Add(small.json(f), "abab é\u0301")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		tok, err := tokenizer.Parse(data)
		if err != nil || len(text) > 1000 {
			return
		}
		ids, _ := tok.Encode(t.Context(), text, true, nil)
		tok.Decode(ids, true)
		s, err := tok.Sequence(t.Context(), inference.Texts{First: text, Second: &text}, inference.SequenceOptions{Truncation: tok.Truncation()})
		if s.TypeIDs != nil && len(s.IDs) != len(s.TypeIDs) {
			t.Fatalf("%d ids with %d types", len(s.IDs), len(s.TypeIDs))
		}
		if most := tok.Truncation(); err == nil && most != nil && len(s.IDs) > most.MaxTokens {
			t.Fatalf("%d ids after a truncation to %d", len(s.IDs), most.MaxTokens)
		}
	})
}

// BenchmarkParse measures the time and the memory to load a vocabulary of 128,000
// tokens.
func BenchmarkParse(b *testing.B) {
	data, err := os.ReadFile(vocabulary(b, "llama3"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tokenizer.Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCount measures the speed of counting, by text: cached words, new words,
// and a text that is a single word.
func BenchmarkCount(b *testing.B) {
	data, err := os.ReadFile(vocabulary(b, "llama3"))
	if err != nil {
		b.Fatal(err)
	}
	tok, err := tokenizer.Parse(data)
	if err != nil {
		b.Fatal(err)
	}
	var all, unmet strings.Builder
	for _, x := range corpus(b) {
		all.WriteString(x.text)
	}
	for i := range tier.BenchSize(1000, 100_000) {
		fmt.Fprintf(&unmet, "w%x ", i*2_654_435_761)
	}
	for _, test := range []text{{"corpus", all.String()}, {"words unmet", unmet.String()}, {"one run", strings.Repeat("a", tier.BenchSize(1<<10, 1<<20))}} {
		b.Run(test.name, func(b *testing.B) {
			b.SetBytes(int64(len(test.text)))
			b.ReportAllocs()
			tokens := 0
			for b.Loop() {
				n, err := tok.Count(b.Context(), test.text, false, nil)
				if err != nil {
					b.Fatal(err)
				}
				tokens += n
			}
			b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
