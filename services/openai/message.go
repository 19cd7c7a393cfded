package openai

import (
	"cmp"
	"encoding/json"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/requests"
	"github.com/trident-inference/trident/services/strictjson"
)

// DecodeMessages reads the messages of a chat. It accepts and refuses the same
// values as ChatCompletionRequestMessage of openapi/openai.yaml. It also refuses
// references to audio responses, which no chat template can show. For images, sounds and files it only checks the
// form: the core checks which of them the model reads.
//
// Errors are [*inference.Error] with params such as messages[2].content[0].text.
func DecodeMessages(raw json.RawMessage) ([]inference.Message, error) {
	var messages []inference.Message
	err := strictjson.Read(raw, func(r *strictjson.Reader) error {
		if r.Peek() != '[' {
			return r.Mismatch("a list of messages")
		}
		err := r.Array(func(i int) error {
			if i == budget.Messages {
				return decode.TooMany("messages")
			}
			value, err := r.Value(true)
			if err != nil {
				return err
			}
			message, err := decodeMessage(r, value)
			messages = append(messages, message)
			return err
		})
		if err == nil && len(messages) == 0 {
			return strictjson.Wrong("a list of at least 1 message", []any{})
		}
		return err
	})
	if err != nil {
		return nil, strictjson.BodyError(strictjson.At("messages", err))
	}
	return messages, nil
}

// roles returns the roles that a message can have.
func roles() []string {
	return []string{"developer", "system", "user", "assistant", "tool", "function"}
}

// decodeMessage reads one message from value. r counts the values inside the
// arguments of calls, too.
func decodeMessage(r *strictjson.Reader, value any) (inference.Message, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return inference.Message{}, strictjson.Wrong("an object", value)
	}
	role, err := decode.Word(object, "role", roles())
	if err != nil {
		return inference.Message{}, err
	}
	m := inference.Message{Role: role}
	if m.Name, err = decode.Text(object, "name", role == "function"); err != nil {
		return m, err
	}
	if err := decodeContent(object, &m); err != nil {
		return m, err
	}
	switch role {
	case "tool":
		m.ToolCallID, err = decode.Text(object, "tool_call_id", true)
	case "assistant":
		err = decodeAssistant(r, object, &m)
	}
	return m, err
}

// partKinds returns the kinds of parts that the content of a role may have, or nil
// if it must be text.
func partKinds(role string) []string {
	switch role {
	case "function":
		return nil
	case "user":
		return []string{string(inference.PartText), string(inference.PartImage), string(inference.PartAudio), string(inference.PartFile)}
	case "assistant":
		return []string{string(inference.PartText), string(inference.PartRefusal)}
	}
	return []string{string(inference.PartText)}
}

func decodeContent(object map[string]any, m *inference.Message) error {
	const key = "content"
	value, there := object[key]
	if !there && m.Role != "assistant" {
		return strictjson.Missing(key)
	}
	kinds := partKinds(m.Role)
	switch value := value.(type) {
	case string:
		m.Text = value
		return nil
	case nil:
		if m.Role == "assistant" || m.Role == "function" {
			m.NoContent = true
			return nil
		}
	case []any:
		if len(kinds) > 0 {
			return strictjson.At(key, decodeParts(value, kinds, m))
		}
	}
	if len(kinds) == 0 {
		return strictjson.At(key, strictjson.Wrong("a string or null", value))
	}
	return strictjson.At(key, strictjson.Wrong("a string or a list of parts", value))
}

func decodeParts(list []any, kinds []string, m *inference.Message) error {
	if len(list) == 0 {
		if m.NoContent = m.Role == "assistant"; m.NoContent {
			return nil
		}
		return strictjson.Wrong("a string or a list of at least 1 part", list)
	}
	var err error
	m.Parts, err = decode.EachPart(list, kinds, decodePart)
	return err
}

func decodePart(object map[string]any, kind string) (_ inference.Part, err error) {
	part := inference.Part{Kind: inference.PartKind(kind)}
	switch part.Kind {
	case inference.PartText, inference.PartRefusal:
		part.Text, err = decode.Text(object, kind, true)
	case inference.PartImage:
		part.URL, err = decodeImage(object)
	case inference.PartAudio:
		err = checkAudio(object)
	case inference.PartFile:
		err = checkFile(object)
	}
	if err == nil && part.Kind != inference.PartRefusal {
		err = decode.CheckCacheHint(object)
	}
	return part, err
}

func decodeImage(part map[string]any) (string, error) {
	const key = string(inference.PartImage)
	image, err := decode.Child(part, key, true)
	if err != nil {
		return "", err
	}
	if image["detail"] != nil {
		if _, err := decode.Word(image, "detail", []string{"auto", "low", "high"}); err != nil {
			return "", strictjson.At(key, err)
		}
	}
	url, err := decode.Text(image, "url", true)
	return url, strictjson.At(key, err)
}

func checkAudio(part map[string]any) error {
	const key = string(inference.PartAudio)
	audio, err := decode.Child(part, key, true)
	if err != nil {
		return err
	}
	if _, err := decode.Text(audio, "data", true); err != nil {
		return strictjson.At(key, err)
	}
	_, err = decode.Word(audio, "format", []string{"wav", "mp3"})
	return strictjson.At(key, err)
}

func checkFile(part map[string]any) error {
	const key = string(inference.PartFile)
	file, err := decode.Child(part, key, true)
	if err != nil {
		return err
	}
	for _, field := range []string{"filename", "file_data", "file_id"} {
		if _, err := decode.Text(file, field, false); err != nil {
			return strictjson.At(key, err)
		}
	}
	return nil
}

// decodeAssistant reads the fields that only the assistant's messages have.
func decodeAssistant(r *strictjson.Reader, object map[string]any, m *inference.Message) (err error) {
	if m.Refusal, err = decode.Text(object, "refusal", false); err != nil {
		return err
	}
	for _, key := range []string{"reasoning", "reasoning_content"} {
		thoughts, err := decode.Text(object, key, false)
		if err != nil {
			return err
		}
		m.Reasoning = cmp.Or(thoughts, m.Reasoning)
	}
	if err := checkSpoken(object); err != nil {
		return err
	}
	if err := decodeToolCalls(r, object, m); err != nil {
		return err
	}
	const key = "function_call"
	legacy, err := decode.Child(object, key, false)
	if legacy == nil || err != nil {
		return err
	}
	call, err := decode.Function(r, legacy)
	if len(m.ToolCalls) == 0 {
		m.ToolCalls = append(m.ToolCalls, call)
	}
	return strictjson.At(key, err)
}

func checkSpoken(object map[string]any) error {
	const key = "audio"
	audio, err := decode.Child(object, key, false)
	if audio == nil || err != nil {
		return err
	}
	if _, err := decode.Text(audio, "id", true); err != nil {
		return strictjson.At(key, err)
	}
	return &strictjson.Error{
		Path: key, Message: "refers to an earlier audio response, but audio is not stored: send its transcript as content",
		Named: true, Unsupported: true,
	}
}

func decodeToolCalls(r *strictjson.Reader, object map[string]any, m *inference.Message) error {
	const key = "tool_calls"
	var list []any
	switch value := object[key].(type) {
	case nil:
	case []any:
		list = value
	default:
		return strictjson.At(key, strictjson.Wrong("a list of tool calls", value))
	}
	for i, value := range list {
		call, err := decodeToolCall(r, value)
		if err != nil {
			return strictjson.At(key, strictjson.At(strictjson.Index(i), err))
		}
		m.ToolCalls = append(m.ToolCalls, call)
	}
	return nil
}

func decodeToolCall(r *strictjson.Reader, value any) (inference.ToolCall, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return inference.ToolCall{}, strictjson.Wrong("an object", value)
	}
	kind, err := decode.Word(object, "type", []string{requests.FunctionType, customType})
	if err != nil {
		return inference.ToolCall{}, err
	}
	id, err := decode.Text(object, "id", true)
	if err != nil {
		return inference.ToolCall{}, err
	}
	function, err := decode.Child(object, kind, true)
	if err != nil {
		return inference.ToolCall{}, err
	}
	if kind == customType {
		call, err := decode.CustomCall(function)
		call.ID = id
		return call, strictjson.At(kind, err)
	}
	call, err := decode.Function(r, function)
	call.ID = id
	return call, strictjson.At(kind, err)
}
