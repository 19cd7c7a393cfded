package contracts

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// bias sends the biases of tokens as TensorRT-LLM takes them: as words. Its preprocessing converts
// each word to token ids, including the prefix that the tokenizer adds to a text. Therefore only
// tokens whose text is tokenized to the same single token are supported. The prefix gets the bias
// too, which is harmless only if the bias is negative.
func (e *separate) bias(biases map[int]float64) {
	const param = "logit_bias"
	switch {
	case len(biases) == 0:
		return
	case !e.has(inBiasWords) || !e.has(inBiasWeights):
		e.refuse(param, inBiasWords)
		return
	case e.target.Tokenizer == nil:
		e.fail(inference.Unsupported(param, "logit_bias needs the tokenizer of the model `%s`: set the parameter trident.tokenizer in the model's config.pbtxt", e.model))
		return
	}
	var words, weights []byte
	count := 0
	for _, id := range slices.Sorted(maps.Keys(biases)) {
		word, err := wordOf(e.target.Tokenizer, id, biases[id])
		if err != nil {
			e.fail(err)
			return
		}
		_, weight := number(kserve.DataType_TYPE_FP32, biases[id])
		words, weights, count = appendText(words, word), append(weights, weight...), count+1
	}
	if !e.list(inBiasWords, "BYTES", words, count) || !e.list(inBiasWeights, "FP32", weights, count) {
		e.fail(inference.Unsupported(param, "logit_bias has %d tokens, which is more than the inputs of the model `%s` accept", count, e.model))
	}
}

// wordOf returns the text that is tokenized to this token.
func wordOf(tokenizer inference.Tokenizer, id int, bias float64) (string, error) {
	const param = "logit_bias"
	if id >= tokenizer.Size() {
		return "", inference.Invalid(param, "logit_bias has the token id %d, but the model has only %d tokens", id, tokenizer.Size())
	}
	word := tokenizer.Decode([]int{id}, false)
	ids, err := tokenizer.Encode(context.Background(), word, true, nil) // the string is short, because it is the text of one token
	if err != nil {
		return "", fmt.Errorf("check that the text of the token id %d in logit_bias is tokenized to this id: %w", id, err)
	}
	around, err := tokenizer.Encode(context.Background(), "", true, nil)
	if err != nil {
		return "", fmt.Errorf("tokenize an empty text: %w", err)
	}
	if len(around) > 0 && bias > 0 || !slices.Equal(ids, append(around, id)) {
		return "", inference.Unsupported(param, "logit_bias is not supported for the token %d: this model's backend accepts words, and the tokenizer doesn't convert this token's text to the token alone", id)
	}
	return word, nil
}
