package responses

import (
	"encoding/json"
	"fmt"
	"slices"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/strictjson"
)

// The kinds of items of the Responses API, except those of hosted.go.
const (
	itemMessage      = "message"
	itemCall         = "function_call"
	itemOutput       = "function_call_output"
	itemCustomCall   = "custom_tool_call"
	itemCustomOutput = "custom_tool_call_output"
	itemTools        = "additional_tools"
	itemReasoning    = "reasoning"
	itemReference    = "item_reference"
)

// The statuses of items and of responses.
const (
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusFailed     = "failed"
)

// The kinds of content parts of an item.
const (
	partInputText  = "input_text"
	partInputImage = "input_image"
	partInputFile  = "input_file"
	partOutputText = "output_text"
	partReasoning  = "reasoning_text"
	partSummary    = "summary_text"
)

const assistant = "assistant"

// item is one step of a conversation: a message, a call, the output of a call, or
// reasoning. A stored item is read-only.
type item struct {
	kind, id, status string
	role             string // role of a message; empty for other items
	// text is the content of a message or an output that is a single text, or the
	// reasoning, or the arguments of a call. For a call of a custom tool it is the input.
	text string
	// parts are the content of messages and outputs with several parts; else nil.
	parts   []inference.Part
	summary []string // summary of a reasoning item; nil for other items
	// sealed is the encrypted_content of a reasoning item, and opened the reasoning in it if the item has
	// no content. The item in the API's form has only sealed.
	sealed, opened string
	callID, name   string // id and name of a call; an output of a call has only callID
	namespace      string // namespace of the called tool; empty if there is none
	tools          []json.RawMessage
	raw            json.RawMessage // the client's JSON of an item without a form of its own; else nil
	left           bool            // the item is left out of the prompt
	logprobs       []api.ChatCompletionTokenLogprob
	key            string // where a shared store has the item; empty if it doesn't
}

// decodeItems reads the input of a response: a text, or a list of items. It accepts
// and refuses the same values as ResponseInput of openapi/openai.yaml. It also
// refuses items that the schema can't exclude or that can't be supported, such as content
// stored elsewhere. Without input it returns nil.
//
// Errors are [*inference.Error] with params such as input[2].content[0].text.
func decodeItems(raw json.RawMessage) ([]*item, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var items []*item
	err := strictjson.Read(raw, func(r *strictjson.Reader) error {
		switch r.Peek() {
		case '"':
			text, err := r.Text()
			items = []*item{{kind: itemMessage, role: "user", text: text, status: statusCompleted}}
			return err
		case '[':
			return r.Array(func(i int) error {
				if i == budget.Messages {
					return decode.TooMany("items")
				}
				start := r.Offset()
				value, err := r.Value(true)
				if err != nil {
					return err
				}
				it, err := decodeItem(r, value, r.Since(start))
				items = append(items, it)
				return err
			})
		}
		return r.Mismatch("a string or a list of items")
	})
	if err != nil {
		return nil, strictjson.BodyError(strictjson.At("input", err))
	}
	return items, nil
}

func decodeItem(r *strictjson.Reader, value any, raw json.RawMessage) (*item, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, strictjson.Wrong("an object", value)
	}
	it := &item{status: statusCompleted}
	var err error
	if it.kind, err = itemKind(object); err != nil {
		return nil, err
	}
	if hosted(it.kind) {
		return it, decodeHosted(object, raw, it)
	}
	if it.id, err = decode.Text(object, "id", it.kind == itemReference); err != nil {
		return nil, err
	}
	if it.kind == itemReference {
		return it, checkReference(object, it.id)
	}
	if object["status"] != nil {
		if it.status, err = decode.Word(object, "status", []string{statusInProgress, statusCompleted, statusIncomplete}); err != nil {
			return nil, err
		}
	}
	switch it.kind {
	case itemMessage:
		err = decodeItemMessage(object, it)
	case itemCall, itemCustomCall:
		err = decodeItemCall(r, object, it)
	case itemOutput, itemCustomOutput:
		err = decodeItemOutput(object, it)
	case itemTools:
		err = decodeItemTools(object, raw, it)
	case itemReasoning:
		err = decodeItemReasoning(object, it)
	}
	return it, err
}

// itemKind infers the type of an item without one: messages have a role, references
// have only an id.
func itemKind(object map[string]any) (string, error) {
	const key = "type"
	kinds := []string{itemMessage, itemCall, itemOutput, itemCustomCall, itemCustomOutput, itemTools, itemReasoning, itemReference}
	switch kind := object[key].(type) {
	case string:
		if !slices.Contains(kinds, kind) && !hosted(kind) {
			return "", &strictjson.Error{Path: key, Message: fmt.Sprintf("must be %s: %s is not supported", strictjson.ListWords(kinds), strictjson.Quote(kind)), Named: true, Unsupported: true}
		}
		return kind, nil
	case nil:
		if _, there := object["role"]; there {
			return itemMessage, nil
		}
		if _, there := object["id"]; there {
			return itemReference, nil
		}
		return "", strictjson.Missing(key)
	default:
		return "", strictjson.At(key, strictjson.Wrong("a string", kind))
	}
}

func checkReference(object map[string]any, id string) error {
	if id == "" {
		return &strictjson.Error{Path: "id", Message: "must not be empty", Named: true}
	}
	if _, there := object["role"]; there {
		return &strictjson.Error{Path: "role", Message: "is not part of an item_reference", Named: true}
	}
	return nil
}

func decodeItemMessage(object map[string]any, it *item) (err error) {
	if it.role, err = decode.Word(object, "role", []string{"user", "system", "developer", assistant}); err != nil {
		return err
	}
	kinds := inputParts()
	if it.role == assistant {
		kinds = []string{partOutputText, string(inference.PartRefusal), partInputText}
		if object["phase"] != nil {
			if _, err := decode.Word(object, "phase", []string{"commentary", "final_answer"}); err != nil {
				return err
			}
		}
	}
	return decodeItemContent(object, "content", kinds, it)
}

func inputParts() []string { return []string{partInputText, partInputImage, partInputFile} }

// decodeItemContent reads a text or parts. A single text part is stored as a text, so
// that templates see no difference. Only outputs may have no parts: tools return nothing at times.
func decodeItemContent(object map[string]any, key string, kinds []string, it *item) error {
	value, there := object[key]
	if !there {
		return strictjson.Missing(key)
	}
	if s, ok := value.(string); ok {
		it.text = s
		return nil
	}
	list, ok := value.([]any)
	switch {
	case !ok:
		return strictjson.At(key, strictjson.Wrong("a string or a list of parts", value))
	case len(list) == 0 && key == "output":
		return nil
	case len(list) == 0:
		return strictjson.At(key, strictjson.Wrong("a string or a list of at least 1 part", value))
	}
	var err error
	if it.parts, err = decode.EachPart(list, kinds, decodeItemPart); err != nil {
		return strictjson.At(key, err)
	}
	if len(list) == 1 && it.parts[0].Kind == inference.PartText {
		it.text, it.parts = it.parts[0].Text, nil
	}
	return nil
}

func decodeItemPart(object map[string]any, kind string) (_ inference.Part, err error) {
	part := inference.Part{Kind: inference.PartText}
	switch kind {
	case partInputText, partOutputText:
		part.Text, err = decode.Text(object, "text", true)
	case string(inference.PartRefusal):
		part.Kind = inference.PartRefusal
		part.Text, err = decode.Text(object, kind, true)
	case partInputImage:
		part.Kind = inference.PartImage
		part.URL, err = decodeItemImage(object)
	case partInputFile:
		err = refuseFile(object)
	}
	switch {
	case err != nil:
	case kind == partOutputText:
		err = checkExtras(object)
	case part.Kind != inference.PartRefusal:
		err = decode.CheckCacheHint(object)
	}
	return part, err
}

// checkExtras checks the form of members that an earlier response added.
func checkExtras(object map[string]any) error {
	for _, key := range []string{"annotations", "logprobs"} {
		list, ok := object[key].([]any)
		if object[key] != nil && !ok {
			return strictjson.At(key, strictjson.Wrong("a list of objects", object[key]))
		}
		for i, value := range list {
			if _, ok := value.(map[string]any); !ok {
				return strictjson.At(key, strictjson.At(strictjson.Index(i), strictjson.Wrong("an object", value)))
			}
		}
	}
	return nil
}

func decodeItemImage(object map[string]any) (string, error) {
	if err := checkDetail(object, "low", "high", "auto", "original"); err != nil {
		return "", err
	}
	id, err := decode.Text(object, "file_id", false)
	if err != nil {
		return "", err
	}
	url, err := decode.Text(object, "image_url", false)
	switch {
	case err != nil:
		return "", err
	case id != "" || url == "":
		return "", &strictjson.Error{Path: "image_url", Message: "is required: the server stores no files, so send the image in this field", Named: true, Unsupported: true}
	}
	return url, nil
}

func checkDetail(object map[string]any, words ...string) error {
	if object["detail"] == nil {
		return nil
	}
	_, err := decode.Word(object, "detail", words)
	return err
}

func refuseFile(object map[string]any) error {
	if err := checkDetail(object, "low", "high", "auto"); err != nil {
		return err
	}
	for _, key := range []string{"filename", "file_data", "file_url", "file_id"} {
		if _, err := decode.Text(object, key, false); err != nil {
			return err
		}
	}
	if err := decode.CheckCacheHint(object); err != nil {
		return err
	}
	return &strictjson.Error{Message: "is a file, which models can't read: send its text as an input_text part", Named: true, Unsupported: true}
}

// decodeTextParts reads a list of text parts of one kind.
func decodeTextParts(object map[string]any, key, kind string) ([]string, error) {
	list, ok := object[key].([]any)
	if object[key] != nil && !ok {
		return nil, strictjson.At(key, strictjson.Wrong("a list of parts", object[key]))
	}
	var texts []string
	for i, value := range list {
		part, ok := value.(map[string]any)
		if !ok {
			return nil, strictjson.At(key, strictjson.At(strictjson.Index(i), strictjson.Wrong("an object", value)))
		}
		if _, err := decode.Word(part, "type", []string{kind}); err != nil {
			return nil, strictjson.At(key, strictjson.At(strictjson.Index(i), err))
		}
		s, err := decode.Text(part, "text", true)
		if err != nil {
			return nil, strictjson.At(key, strictjson.At(strictjson.Index(i), err))
		}
		texts = append(texts, s)
	}
	return texts, nil
}
