package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/strictjson"
)

// DecodeInput reads the input of an embedding: a text, a list of token ids, or a list of
// either. DecodeInput accepts and refuses the same values as EmbeddingInput of
// openapi/openai.yaml, except for the number of inputs, which [inference.Request.Validate]
// limits. Errors are [*inference.Error] with params such as input[3].
func DecodeInput(raw json.RawMessage) ([]inference.Input, error) {
	return decodeTexts("input", raw, inputText)
}

// DecodePrompt reads the prompts of a completion. It works as [DecodeInput] but accepts
// empty texts. It accepts and refuses the same values as CompletionPrompt of
// openapi/openai.yaml, except for the number of prompts, which [inference.Request.Validate]
// limits.
func DecodePrompt(raw json.RawMessage) ([]inference.Input, error) {
	return decodeTexts("prompt", raw, decode.AnyText)
}

func decodeTexts(param string, raw json.RawMessage, text func(*strictjson.Reader) (string, error)) ([]inference.Input, error) {
	var inputs []inference.Input
	err := strictjson.Read(raw, func(r *strictjson.Reader) error {
		var err error
		switch r.Peek() {
		case '"':
			inputs = make([]inference.Input, 1)
			inputs[0].Text, err = text(r)
		case '[':
			inputs, err = inputList(r, text)
		default:
			err = decode.Mismatch(r, "a string, a list of strings, a list of token ids or a list of token id lists")
		}
		return err
	})
	if err != nil {
		return nil, strictjson.BodyError(strictjson.At(param, err))
	}
	return inputs, nil
}

// errTooManyEntries is returned for a list with more texts or more lists than the budget
// allows.
var errTooManyEntries = errors.New("the field input has too many entries")

// inputList reads a list. The first item determines the type of all items.
func inputList(r *strictjson.Reader, text func(*strictjson.Reader) (string, error)) ([]inference.Input, error) {
	var inputs []inference.Input
	var ids []int
	var first byte
	err := r.Array(func(i int) (err error) {
		if i == 0 {
			first = r.Peek()
		}
		if i >= budget.Embedded && (first == '"' || first == '[') {
			return errTooManyEntries
		}
		var input inference.Input
		switch first {
		case '"':
			input.Text, err = text(r)
		case '[':
			input.TokenIDs, err = inputIDs(r)
		default:
			ids, err = appendID(r, ids)
			return err
		}
		inputs = append(inputs, input)
		return err
	})
	if errors.Is(err, errTooManyEntries) {
		return nil, &strictjson.Error{Message: fmt.Sprintf("holds more than %d entries: send fewer", budget.Embedded), Named: true}
	}
	if ids != nil {
		inputs = []inference.Input{{TokenIDs: ids}}
	}
	if err == nil && inputs == nil {
		err = &strictjson.Error{Message: "must not be empty", Named: true}
	}
	return inputs, err
}

func inputText(r *strictjson.Reader) (string, error) {
	s, err := decode.AnyText(r)
	if err == nil && s == "" {
		err = &strictjson.Error{Message: "must not be empty", Named: true}
	}
	return s, err
}

func inputIDs(r *strictjson.Reader) ([]int, error) {
	if r.Peek() != '[' {
		return nil, decode.Mismatch(r, "a list of token ids")
	}
	var ids []int
	err := r.Array(func(int) (err error) {
		ids, err = appendID(r, ids)
		return err
	})
	if err == nil && ids == nil {
		err = &strictjson.Error{Message: "must not be empty", Named: true}
	}
	return ids, err
}

// appendID reads one id. Ids don't count as values: they need little more memory than their
// JSON, and a batch of long inputs has many.
func appendID(r *strictjson.Reader, ids []int) ([]int, error) {
	if c := r.Peek(); c != '-' && !strictjson.IsDigit(c) {
		return ids, decode.Mismatch(r, "a token id")
	}
	value, err := r.FreeNumber()
	if err != nil {
		return ids, err
	}
	id, ok := value.(int64)
	if !ok || id < 0 || id > math.MaxInt32 {
		return ids, decode.Wrong("a token id", value)
	}
	return append(ids, int(id)), nil
}
