package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/strictjson"
)

// DecodeInput reads the input of an embedding: a text, an image, a list of token ids, or a list of
// them. DecodeInput accepts and refuses the same values as EmbeddingInput of
// openapi/openai.yaml, except for the number of inputs, which [inference.EncodeRequest.Validate]
// limits. Errors are [*inference.Error] with params such as input[3].
func DecodeInput(raw json.RawMessage) ([]inference.EncodeInput, error) {
	return decodeEmbedded(raw, false)
}

// decodeEmbedded reads the input of an embedding. Its strings may be images.
func decodeEmbedded(raw json.RawMessage, images bool) ([]inference.EncodeInput, error) {
	inputs, err := decodeInputs("input", raw, inputForm{
		text: inputText, object: inputObject, images: images, wanted: "a string, a list of strings, a list of token ids, a list of token id lists, or objects with text or image",
	})
	for i := range inputs {
		if image := inputs[i].Image; image != nil {
			at := "input"
			if raw[0] == '[' {
				at = fmt.Sprintf("input[%d]", i)
			}
			image.Param = at + image.Param
		}
	}
	return inputs, err
}

// DecodePrompt reads the prompts of a completion. It works as [DecodeInput] but accepts
// empty texts. It accepts and refuses the same values as CompletionPrompt of
// openapi/openai.yaml, except for the number of prompts, which [inference.Request.Validate]
// limits.
func DecodePrompt(raw json.RawMessage) ([]inference.Input, error) {
	inputs, err := decodeInputs("prompt", raw, inputForm{text: (*strictjson.Reader).Text, wanted: "a string, a list of strings, a list of token ids or a list of token id lists"})
	if err != nil {
		return nil, err
	}
	prompts := make([]inference.Input, len(inputs))
	for i := range inputs {
		prompts[i] = inputs[i].Input
	}
	return prompts, nil
}

// inputForm is the form of the inputs of a field.
type inputForm struct {
	text   func(*strictjson.Reader) (string, error)
	object func(*strictjson.Reader) (inference.EncodeInput, error) // nil if the field takes no objects
	images bool                                                    // the texts are images
	wanted string                                                  // names all forms, for errors
}

// one reads a text or an object.
func (f *inputForm) one(r *strictjson.Reader) (input inference.EncodeInput, err error) {
	if f.object != nil && r.Peek() == '{' {
		return f.object(r)
	}
	input.Text, err = f.text(r)
	if f.images && err == nil {
		input.Image, input.Text = &inference.ImageRef{URL: imageAddress(input.Text)}, ""
	}
	return input, err
}

func decodeInputs(param string, raw json.RawMessage, form inputForm) ([]inference.EncodeInput, error) {
	var inputs []inference.EncodeInput
	err := strictjson.Read(raw, func(r *strictjson.Reader) error {
		var err error
		switch first := r.Peek(); {
		case first == '"', first == '{' && form.object != nil:
			inputs = make([]inference.EncodeInput, 1)
			inputs[0], err = form.one(r)
		case first == '[':
			inputs, err = form.list(r)
		default:
			err = r.Mismatch(form.wanted)
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

// list reads a list. The first item determines the type of all items.
func (f *inputForm) list(r *strictjson.Reader) ([]inference.EncodeInput, error) {
	var inputs []inference.EncodeInput
	var ids []int
	var first byte
	err := r.Array(func(i int) (err error) {
		if i == 0 {
			first = r.Peek()
		}
		texts := first == '"' || first == '{' && f.object != nil
		if i >= budget.Embedded && (texts || first == '[') {
			return errTooManyEntries
		}
		var input inference.EncodeInput
		switch {
		case texts:
			input, err = f.one(r)
		case first == '[':
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
		inputs = []inference.EncodeInput{{Input: inference.Input{TokenIDs: ids}}}
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

// inputObject reads an object with a text or an image, whose Param is the path in the object. Its other members are
// ignored.
func inputObject(r *strictjson.Reader) (input inference.EncodeInput, err error) {
	const text, image = "text", "image"
	values := map[string]string{}
	err = r.Object(func(key string) error {
		if key != text && key != image || r.Peek() == 'n' {
			_, err := r.Value(false)
			return err
		}
		var err error
		values[key], err = r.Text()
		return err
	})
	switch {
	case err != nil:
	case values[text] == "" && values[image] == "":
		err = &strictjson.Error{Message: "must have a text or an image", Named: true}
	case values[text] != "" && values[image] != "":
		err = &strictjson.Error{Message: "must have either a text or an image: send both as messages", Named: true}
	case values[image] != "":
		input.Image = &inference.ImageRef{URL: imageAddress(values[image]), Param: "." + image}
	}
	input.Text = values[text]
	return input, err
}

// imageAddress returns the address of an image, which may be given in base64 alone.
func imageAddress(image string) string {
	if strings.Contains(image[:min(len(image), schemeLength)], ":") {
		return image
	}
	return "data:;base64," + image
}

// schemeLength is the number of bytes in which the scheme of an address ends. Base64 has no colon.
const schemeLength = 32

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
