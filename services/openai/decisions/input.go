package decisions

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/openai/internal/toolform"
	"github.com/trident-inference/trident/services/strictjson"
)

// The roles of messages.
const (
	user      = "user"
	assistant = "assistant"
)

// The kinds of content parts.
const (
	partText   = "input_text"
	partImage  = "input_image"
	partJSON   = "input_json"
	partOutput = "output_text"
)

func userParts() []string { return []string{partText, partImage, partJSON} }

// inputReader converts the items of an input to messages.
type inputReader struct {
	messages []inference.Message
	calls    map[string]bool // the calls so far by their ids; true for calls of custom tools
}

// decodeInput reads the input of a request: a text, or a list of items. It accepts and refuses the same
// values as DecisionInput of openapi/openai.yaml. It also refuses outputs without a call, and addresses of
// images.
//
// Errors are [*inference.Error] with params such as input[2].content[0].text.
func decodeInput(raw json.RawMessage) ([]inference.Message, error) {
	in := &inputReader{calls: map[string]bool{}}
	err := strictjson.Read(raw, func(r *strictjson.Reader) error {
		switch r.Peek() {
		case '"':
			text, err := r.Text()
			in.messages = []inference.Message{{Role: user, Text: text}}
			return err
		case '[':
			return in.list(r)
		}
		return r.Mismatch("a string or a list of items")
	})
	if err != nil {
		return nil, strictjson.BodyError(strictjson.At("input", err))
	}
	for i := range in.messages {
		m := &in.messages[i]
		if m.Parts != nil {
			m.Text, m.Parts = inference.JoinTexts(m.Parts) // each question's prompt has the input again
		}
	}
	return in.messages, nil
}

func (in *inputReader) list(r *strictjson.Reader) error {
	err := r.Array(func(i int) error {
		if i == budget.Messages {
			return decode.TooMany("items")
		}
		return in.item(r, "input"+strictjson.Index(i))
	})
	if err == nil && len(in.messages) == 0 {
		err = strictjson.Wrong("a string or a list of at least 1 item", []any{})
	}
	return err
}

// item reads the item at the path. The bytes of its content are kept, because the order of keys reaches
// the prompt.
func (in *inputReader) item(r *strictjson.Reader, path string) error {
	if r.Peek() != '{' {
		return r.Mismatch("an object")
	}
	object, raw := map[string]any{}, map[string]json.RawMessage{}
	err := r.Object(func(key string) (err error) {
		start := r.Offset()
		object[key], err = r.Value(key != "content" && key != "output")
		raw[key] = r.Since(start)
		return err
	})
	if err != nil {
		return err
	}
	kind, err := itemKind(object)
	if err != nil {
		return err
	}
	if kind == "message" {
		return in.message(object, raw["content"], path)
	}
	if err := checkItem(object); err != nil {
		return err
	}
	if strings.HasSuffix(kind, "_output") {
		return in.output(object, raw["output"], path, kind)
	}
	return in.call(r, object, kind)
}

// itemKind returns the type of an item. Messages may have none.
func itemKind(object map[string]any) (string, error) {
	if object["type"] == nil && object["role"] != nil {
		return "message", nil
	}
	return decode.Word(object, "type", []string{"message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"})
}

// checkItem checks the members of calls and outputs that have no effect.
func checkItem(object map[string]any) error {
	if _, err := decode.Text(object, "id", false); err != nil {
		return err
	}
	if object["status"] == nil {
		return nil
	}
	_, err := decode.Word(object, "status", []string{"in_progress", "completed", "incomplete"})
	return err
}

// message adds a message. Many chat templates refuse two user messages in a row, so those become one.
func (in *inputReader) message(object map[string]any, content json.RawMessage, path string) error {
	role, err := decode.Word(object, "role", []string{user, "system", "developer", assistant})
	if err != nil {
		return err
	}
	kinds := []string{partText}
	switch role {
	case user:
		kinds = userParts()
	case assistant:
		kinds = []string{partOutput, string(inference.PartRefusal)}
		if object["phase"] != nil {
			if _, err := decode.Word(object, "phase", []string{"commentary", "final_answer"}); err != nil {
				return err
			}
		}
	}
	parts, err := requiredContent(content, "content", path, kinds)
	if err != nil {
		return err
	}
	if last := len(in.messages) - 1; role == user && last >= 0 && in.messages[last].Role == user {
		earlier := &in.messages[last]
		earlier.Parts = append(append(earlier.Parts, inference.Part{Kind: inference.PartText, Text: "\n\n"}), parts...)
		return nil
	}
	in.messages = append(in.messages, inference.Message{Role: role, Parts: parts})
	return nil
}

// call adds a call to the message of the assistant before it, or to a new one.
func (in *inputReader) call(r *strictjson.Reader, object map[string]any, kind string) error {
	id, err := decode.Text(object, "call_id", true)
	if err != nil {
		return err
	}
	namespace, err := decode.Text(object, "namespace", false)
	if err != nil {
		return err
	}
	custom := kind == "custom_tool_call"
	var call inference.ToolCall
	if custom {
		call, err = decode.CustomCall(object)
	} else {
		call, err = decode.Function(r, object)
	}
	if err != nil {
		return err
	}
	call.ID, call.Name = id, toolform.Flatten(namespace, call.Name)
	in.calls[id] = custom
	if last := len(in.messages) - 1; last < 0 || in.messages[last].Role != assistant {
		in.messages = append(in.messages, inference.Message{Role: assistant, NoContent: true})
	}
	last := &in.messages[len(in.messages)-1]
	last.ToolCalls = append(last.ToolCalls, call)
	return nil
}

// output adds the output of a call.
func (in *inputReader) output(object map[string]any, output json.RawMessage, path, kind string) error {
	id, err := decode.Text(object, "call_id", true)
	if err != nil {
		return err
	}
	if custom, known := in.calls[id]; !known || custom != (kind == "custom_tool_call_output") {
		return &strictjson.Error{Path: "call_id", Message: "is the id of no earlier call of this kind: an output needs its call before it", Named: true, Unsupported: true}
	}
	if len(output) > 0 && output[0] == '[' && len(bytes.TrimSpace(output[1:len(output)-1])) == 0 { // tools return nothing at times
		output = json.RawMessage(`""`)
	}
	parts, err := requiredContent(output, "output", path, []string{partText, partImage})
	if err != nil {
		return err
	}
	in.messages = append(in.messages, inference.Message{Role: "tool", ToolCallID: id, Parts: parts})
	return nil
}

func requiredContent(raw json.RawMessage, key, path string, kinds []string) ([]inference.Part, error) {
	if raw == nil {
		return nil, strictjson.Missing(key)
	}
	parts, err := decodeContent(raw, path+"."+key, kinds)
	return parts, strictjson.At(key, err)
}

// decodeContent reads a text, or a list of parts of the given kinds. The path is that of the content in
// the request.
func decodeContent(raw json.RawMessage, path string, kinds []string) (parts []inference.Part, err error) {
	err = strictjson.ReadPart(raw, func(r *strictjson.Reader) error {
		switch r.Peek() {
		case '"':
			text, err := r.Text()
			parts = []inference.Part{{Kind: inference.PartText, Text: text}}
			return err
		case '[':
			err := r.Array(func(i int) error {
				part, err := decodePart(r, path+strictjson.Index(i), kinds)
				parts = append(parts, part)
				return err
			})
			if err == nil && len(parts) == 0 {
				err = strictjson.Wrong("a string or a list of at least 1 part", []any{})
			}
			return err
		}
		return r.Mismatch("a string or a list of parts")
	})
	return parts, err
}

func decodePart(r *strictjson.Reader, path string, kinds []string) (part inference.Part, err error) {
	if r.Peek() != '{' {
		return part, r.Mismatch("an object")
	}
	object := map[string]any{}
	var data json.RawMessage
	err = r.Object(func(key string) (err error) {
		start := r.Offset()
		object[key], err = r.Value(key != "data")
		if key == "data" {
			data = r.Since(start)
		}
		return err
	})
	if err != nil {
		return part, err
	}
	kind, err := decode.Word(object, "type", kinds)
	if err != nil {
		return part, err
	}
	part.Kind = inference.PartText
	switch kind {
	case partImage:
		part.Kind, part.Param = inference.PartImage, path+".image_url"
		part.URL, err = decodeImage(object)
	case partJSON:
		part.Text, err = decodeData(data)
	case string(inference.PartRefusal):
		part.Kind = inference.PartRefusal
		part.Text, err = decode.Text(object, kind, true)
	default:
		part.Text, err = decode.Text(object, "text", true)
	}
	if err == nil && slices.Contains([]string{partText, partImage}, kind) {
		err = decode.CheckCacheHint(object)
	}
	return part, err
}

func decodeImage(object map[string]any) (string, error) {
	const key = "image_url"
	if object["detail"] != nil {
		if _, err := decode.Word(object, "detail", []string{"low", "high", "auto", "original"}); err != nil {
			return "", err
		}
	}
	url, err := decode.Text(object, key, true)
	if err == nil && !strings.HasPrefix(strings.ToLower(url[:min(len(url), len("data:"))]), "data:") {
		err = &strictjson.Error{Path: key, Message: "must be a data: URI that contains the image in base64: other addresses aren't supported here", Named: true, Unsupported: true}
	}
	return url, err
}

// decodeData returns an object or a list of objects as compact JSON, with the order of its keys.
func decodeData(data json.RawMessage) (string, error) {
	const key = "data"
	if data == nil {
		return "", strictjson.Missing(key)
	}
	err := strictjson.ReadPart(data, func(r *strictjson.Reader) error {
		if r.Peek() == '[' {
			return r.Array(func(int) error {
				if r.Peek() != '{' {
					return r.Mismatch("an object")
				}
				_, err := r.Value(false)
				return err
			})
		}
		if r.Peek() != '{' {
			return r.Mismatch("an object or a list of objects")
		}
		_, err := r.Value(false)
		return err
	})
	if err != nil {
		return "", strictjson.At(key, err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return "", strictjson.At(key, strictjson.Wrong("valid JSON", nil))
	}
	return compact.String(), nil
}
