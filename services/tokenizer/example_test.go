package tokenizer_test

import (
	"context"
	"fmt"

	"github.com/trident-inference/trident/services/tokenizer"
)

// words is a tokenizer.json of whole words, as Hugging Face's tokenizers library
// writes it.
const words = `{
	"version": "1.0",
	"truncation": null, "padding": null,
	"added_tokens": [{"id": 0, "content": "<s>", "special": true,
		"single_word": false, "lstrip": false, "rstrip": false, "normalized": false}],
	"normalizer": {"type": "Lowercase"},
	"pre_tokenizer": {"type": "Whitespace"},
	"post_processor": {"type": "TemplateProcessing",
		"single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
		"pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
		"special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}},
	"decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
	"model": {"type": "WordPiece", "unk_token": "<s>", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
		"vocab": {"<s>": 0, "say": 1, "hello": 2, "##s": 3, ".": 4}}
}`

// Example parses a tokenizer.json. Load reads one from a model's folder.
func Example() {
	t, err := tokenizer.Parse([]byte(words))
	if err != nil {
		fmt.Println(err)
		return
	}
	ids, err := t.Encode(context.Background(), "Say hellos.", true, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ids)
	fmt.Println(t.Decode(ids, true))
	// Output:
	// [0 1 2 3 4]
	// say hellos.
}

// ExampleTokenizer_Count counts tokens without storing ids, which suits context
// limits.
func ExampleTokenizer_Count() {
	t, err := tokenizer.Parse([]byte(words))
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := t.Count(context.Background(), "say hello", false, nil)
	fmt.Println(n, err)
	// Output: 2 <nil>
}

// ExampleTokenizer_Stream decodes token by token. A Stream holds back text that
// later tokens may still change.
func ExampleTokenizer_Stream() {
	t, err := tokenizer.Parse([]byte(words))
	if err != nil {
		fmt.Println(err)
		return
	}
	stream := t.Stream(true)
	for _, id := range []int{0, 1, 2, 3} {
		fmt.Printf("%q ", stream.Push(id))
	}
	fmt.Printf("%q\n", stream.End())
	// Output: "" "say" " hello" "s" ""
}
