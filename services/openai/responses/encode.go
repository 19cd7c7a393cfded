package responses

import (
	"crypto/rand"
	"encoding/json"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/jsonstring"
)

// newItemID returns a new id for an item of this kind.
func newItemID(kind string) string {
	prefix := map[string]string{itemMessage: "msg_", itemCall: "fc_", itemOutput: "fco_", itemCustomCall: "ctc_", itemCustomOutput: "ctco_", itemReasoning: "rs_"}[kind]
	if prefix == "" {
		prefix = "item_"
	}
	return prefix + rand.Text()
}

// encode returns the item in the API's form.
func (it *item) encode() json.RawMessage { return encoded(it.wire()) }

func (it *item) wire() any {
	if it.raw != nil {
		return it.wireRaw()
	}
	switch it.kind {
	case itemCall:
		return api.FunctionToolCall{ID: it.id, Type: it.kind, Status: it.status, CallID: it.callID, Name: it.name, Namespace: it.wireNamespace(), Arguments: it.text}
	case itemCustomCall:
		return api.CustomToolCallItem{ID: it.id, Type: it.kind, Status: it.status, CallID: it.callID, Name: it.name, Namespace: it.wireNamespace(), Input: it.text}
	case itemCustomOutput:
		return api.CustomToolCallOutput{ID: it.id, Type: it.kind, Status: it.status, CallID: it.callID, Output: it.wireOutput()}
	case itemOutput:
		return api.FunctionToolCallOutput{ID: it.id, Type: it.kind, Status: it.status, CallID: it.callID, Output: it.wireOutput()}
	case itemReasoning:
		return it.wireReasoning()
	}
	if it.role == assistant {
		return api.OutputMessage{ID: it.id, Type: it.kind, Role: it.role, Status: it.status, Content: it.wireAnswer()}
	}
	return api.InputMessage{ID: it.id, Type: it.kind, Role: it.role, Status: it.status, Content: it.wireInput()}
}

// begun returns the item in the API's form before it has any content.
func (it *item) begun() json.RawMessage {
	empty := item{kind: it.kind, id: it.id, role: it.role, callID: it.callID, name: it.name, namespace: it.namespace, status: statusInProgress}
	if it.kind == itemMessage {
		return encoded(api.OutputMessage{ID: it.id, Type: it.kind, Role: it.role, Status: statusInProgress, Content: []api.OutputMessageContent{}})
	}
	return empty.encode()
}

// wireRaw returns an item without a form of its own as the client sent it, with its id.
func (it *item) wireRaw() any {
	var members map[string]json.RawMessage
	if json.Unmarshal(it.raw, &members) != nil {
		return it.raw
	}
	members["id"] = encoded(it.id)
	return members
}

// wireNamespace returns nil for tools without a namespace.
func (it *item) wireNamespace() *string {
	if it.namespace == "" {
		return nil
	}
	return &it.namespace
}

func (it *item) wireOutput() api.FunctionToolCallOutputResult {
	if it.parts == nil {
		return encoded(it.text)
	}
	return encoded(it.wireInput())
}

// content returns the parts of the item. A single text becomes one part.
func (it *item) content() []inference.Part {
	if it.parts == nil {
		return []inference.Part{{Kind: inference.PartText, Text: it.text}}
	}
	return it.parts
}

func (it *item) wireInput() []api.InputMessageContent {
	list := make([]api.InputMessageContent, len(it.content()))
	for i, p := range it.content() {
		if p.Kind == inference.PartImage {
			_ = list[i].FromInputImageContent(api.InputImageContent{Type: partInputImage, Detail: "auto", ImageURL: p.URL}) // strings
		} else {
			_ = list[i].FromInputTextContent(api.InputTextContent{Type: partInputText, Text: p.Text}) // strings
		}
	}
	return list
}

func (it *item) wireAnswer() []api.OutputMessageContent {
	list := make([]api.OutputMessageContent, len(it.content()))
	for i, p := range it.content() {
		if p.Kind == inference.PartRefusal {
			_ = list[i].FromRefusalPart(api.RefusalPart{Type: string(p.Kind), Refusal: p.Text}) // strings
		} else {
			_ = list[i].UnmarshalJSON(outputText(p.Text, encodedLogprobs(it.logprobs)))
		}
	}
	return list
}

// outputText returns the part with the text of a message.
func outputText(text string, logprobs json.RawMessage) json.RawMessage {
	part := append([]byte(`{"type":"output_text","text":`), jsonstring.Quoted(text)...)
	part = append(part, `,"annotations":[],"logprobs":`...)
	part = append(part, logprobs...)
	return append(part, '}')
}

// encodedLogprobs returns the JSON list of tokens, which may be empty.
func encodedLogprobs(tokens []api.ChatCompletionTokenLogprob) json.RawMessage {
	if len(tokens) == 0 {
		return json.RawMessage("[]")
	}
	raw, err := json.Marshal(tokens)
	if err != nil { // the adapters replace infinities
		return json.RawMessage("[]")
	}
	return raw
}

// encoded encodes values of strings, numbers and JSON, which can't fail.
func encoded(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}
