package openai

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
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
	return decodeTexts("prompt", raw, (*strictjson.Reader).Text)
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
			err = r.Mismatch("a string, a list of strings, a list of token ids or a list of token id lists")
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
			ids, err = r.AppendTokenID(ids)
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
	s, err := r.Text()
	if err == nil && s == "" {
		err = &strictjson.Error{Message: "must not be empty", Named: true}
	}
	return s, err
}

func inputIDs(r *strictjson.Reader) ([]int, error) {
	if r.Peek() != '[' {
		return nil, r.Mismatch("a list of token ids")
	}
	var ids []int
	err := r.Array(func(int) (err error) {
		ids, err = r.AppendTokenID(ids)
		return err
	})
	if err == nil && ids == nil {
		err = &strictjson.Error{Message: "must not be empty", Named: true}
	}
	return ids, err
}
