package responses

import (
	"bytes"
	"encoding/json"

	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/strictjson"
)

// class returns the kind of item that the item is for the model: calls of all kinds are calls of
// functions, and their outputs are outputs of functions.
func (it *item) class() string {
	switch it.kind {
	case itemCustomCall:
		return itemCall
	case itemCustomOutput:
		return itemOutput
	}
	return hostedClass(it.kind)
}

// decodeItemCall reads a call of a function or of a custom tool.
func decodeItemCall(r *strictjson.Reader, object map[string]any, it *item) (err error) {
	if it.callID, err = decode.Text(object, "call_id", true); err != nil {
		return err
	}
	if err := decodeCalled(object, it); err != nil {
		return err
	}
	if it.kind == itemCustomCall {
		if it.name, err = decode.Text(object, "name", true); err != nil {
			return err
		}
		it.text, err = decode.Text(object, "input", true)
		return err
	}
	call, err := decode.Function(r, object)
	it.name, it.text = call.Name, string(call.Arguments)
	return err
}

// decodeCalled reads the optional members that calls and their outputs have.
func decodeCalled(object map[string]any, it *item) (err error) {
	if it.namespace, err = decode.Text(object, "namespace", false); err != nil {
		return err
	}
	_, err = decode.Child(object, "caller", false)
	return err
}

// decodeItemOutput reads the output of a function or of a custom tool.
func decodeItemOutput(object map[string]any, it *item) (err error) {
	if it.callID, err = decode.Text(object, "call_id", true); err != nil {
		return err
	}
	if err := decodeCalled(object, it); err != nil {
		return err
	}
	if _, err := decode.Text(object, "name", false); err != nil {
		return err
	}
	return decodeItemContent(object, "output", inputParts(), it)
}

// decodeItemTools reads an item that adds tools.
func decodeItemTools(object map[string]any, raw json.RawMessage, it *item) error {
	if object["role"] != nil {
		if _, err := decode.Word(object, "role", []string{"developer", "system"}); err != nil {
			return err
		}
	}
	if err := checkTools(object); err != nil {
		return err
	}
	it.keep(raw)
	it.keepTools()
	return nil
}

// keep stores the client's JSON of an item, for lists of a response's items. It copies the JSON, because
// stored items must not keep whole requests in memory.
func (it *item) keep(raw json.RawMessage) { it.raw = bytes.Clone(raw) }

// keepTools stores the definitions of an item's tools, which checkTools has checked.
func (it *item) keepTools() {
	_ = json.Unmarshal(member(it.raw, "tools"), &it.tools) // a list of objects
}
