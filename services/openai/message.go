package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/strictjson"
)

// DecodeMessages reads the messages of a chat. It accepts and refuses what
// ChatCompletionRequestMessage of openapi/openai.yaml does, and refuses two
// things more that a schema can't express: arguments of earlier calls that
// aren't JSON objects, and what no chat template can show (custom tools,
// references to spoken answers). Parts that are images, sounds or files are
// only checked for their form: what the model reads is the core's business.
//
// Errors are [*inference.Error] with params such as messages[2].content[0].text.
func DecodeMessages(raw json.RawMessage) ([]inference.Message, error) {
	var messages []inference.Message
	err := strictjson.Read(raw, func(r *strictjson.Reader) error {
		if r.Peek() != '[' {
			return mismatch(r, "a list of messages")
		}
		err := r.Array(func(i int) error {
			if i == budget.Messages {
				return errTooMany("messages")
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
			return wrong("a list of at least 1 message", []any{})
		}
		return err
	})
	if err != nil {
		return nil, strictjson.BodyError(strictjson.At("messages", err))
	}
	return messages, nil
}

// errTooMany is the error of the first message, or item, beyond the budget.
func errTooMany(what string) error {
	return &strictjson.Error{Message: fmt.Sprintf("is beyond the %d %s that a request may have", budget.Messages, what), Named: true}
}

// mismatch is the error of a value of another type than wanted.
func mismatch(r *strictjson.Reader, wanted string) error {
	value, err := r.Value(true)
	if err != nil {
		return err
	}
	return wrong(wanted, value)
}

func wrong(wanted string, got any) error {
	return &strictjson.Error{Message: fmt.Sprintf("must be %s, got %s", wanted, strictjson.Show(got)), Named: true}
}

func missing(key string) error {
	return &strictjson.Error{Path: key, Message: "is required", Named: true}
}

// roles are those a message can have.
func roles() []string {
	return []string{"developer", "system", "user", "assistant", "tool", "function"}
}

// decodeMessage reads one message. The reader that gave value goes along for its
// count: arguments of calls are values, too.
func decodeMessage(r *strictjson.Reader, value any) (inference.Message, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return inference.Message{}, wrong("an object", value)
	}
	role, err := word(object, "role", roles())
	if err != nil {
		return inference.Message{}, err
	}
	m := inference.Message{Role: role}
	if m.Name, err = text(object, "name", role == "function"); err != nil {
		return m, err
	}
	if err := decodeContent(object, &m); err != nil {
		return m, err
	}
	switch role {
	case "tool":
		m.ToolCallID, err = text(object, "tool_call_id", true)
	case "assistant":
		err = decodeAssistant(r, object, &m)
	}
	return m, err
}

// partKinds are the parts that a role's content may hold, none where it is text
// only.
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
		return missing(key)
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
		return strictjson.At(key, wrong("a string or null", value))
	}
	return strictjson.At(key, wrong("a string or a list of parts", value))
}

func decodeParts(list []any, kinds []string, m *inference.Message) error {
	if len(list) == 0 {
		if m.NoContent = m.Role == "assistant"; m.NoContent {
			return nil
		}
		return wrong("a string or a list of at least 1 part", list)
	}
	var err error
	m.Parts, err = eachPart(list, kinds, decodePart)
	return err
}

// eachPart decodes a list of objects whose type is one of kinds.
func eachPart(list []any, kinds []string, decode func(object map[string]any, kind string) (inference.Part, error)) ([]inference.Part, error) {
	parts := make([]inference.Part, len(list))
	for i, value := range list {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, strictjson.At(strictjson.Index(i), wrong("an object", value))
		}
		kind, err := word(object, "type", kinds)
		if err == nil {
			parts[i], err = decode(object, kind)
		}
		if err != nil {
			return nil, strictjson.At(strictjson.Index(i), err)
		}
	}
	return parts, nil
}

func decodePart(object map[string]any, kind string) (_ inference.Part, err error) {
	part := inference.Part{Kind: inference.PartKind(kind)}
	switch part.Kind {
	case inference.PartText, inference.PartRefusal:
		part.Text, err = text(object, kind, true)
	case inference.PartImage:
		part.URL, err = decodeImage(object)
	case inference.PartAudio:
		err = checkAudio(object)
	case inference.PartFile:
		err = checkFile(object)
	}
	if err == nil && part.Kind != inference.PartRefusal {
		err = checkCacheHint(object)
	}
	return part, err
}

func decodeImage(part map[string]any) (string, error) {
	const key = string(inference.PartImage)
	image, err := child(part, key, true)
	if err != nil {
		return "", err
	}
	if image["detail"] != nil {
		if _, err := word(image, "detail", []string{"auto", "low", "high"}); err != nil {
			return "", strictjson.At(key, err)
		}
	}
	url, err := text(image, "url", true)
	return url, strictjson.At(key, err)
}

func checkAudio(part map[string]any) error {
	const key = string(inference.PartAudio)
	audio, err := child(part, key, true)
	if err != nil {
		return err
	}
	if _, err := text(audio, "data", true); err != nil {
		return strictjson.At(key, err)
	}
	_, err = word(audio, "format", []string{"wav", "mp3"})
	return strictjson.At(key, err)
}

func checkFile(part map[string]any) error {
	const key = string(inference.PartFile)
	file, err := child(part, key, true)
	if err != nil {
		return err
	}
	for _, field := range []string{"filename", "file_data", "file_id"} {
		if _, err := text(file, field, false); err != nil {
			return strictjson.At(key, err)
		}
	}
	return nil
}

func checkCacheHint(part map[string]any) error {
	const key = "prompt_cache_breakpoint"
	hint, err := child(part, key, false)
	if err != nil || hint["mode"] == nil {
		return err
	}
	_, err = word(hint, "mode", []string{"explicit"})
	return strictjson.At(key, err)
}

// decodeAssistant reads what only the assistant's messages have.
func decodeAssistant(r *strictjson.Reader, object map[string]any, m *inference.Message) (err error) {
	if m.Refusal, err = text(object, "refusal", false); err != nil {
		return err
	}
	for _, key := range []string{"reasoning", "reasoning_content"} {
		thoughts, err := text(object, key, false)
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
	legacy, err := child(object, key, false)
	if legacy == nil || err != nil {
		return err
	}
	call, err := decodeFunction(r, legacy)
	if len(m.ToolCalls) == 0 {
		m.ToolCalls = append(m.ToolCalls, call)
	}
	return strictjson.At(key, err)
}

func checkSpoken(object map[string]any) error {
	const key = "audio"
	audio, err := child(object, key, false)
	if audio == nil || err != nil {
		return err
	}
	if _, err := text(audio, "id", true); err != nil {
		return strictjson.At(key, err)
	}
	return &strictjson.Error{
		Path: key, Message: "refers to a spoken answer, and none are kept: send its text as content",
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
		return strictjson.At(key, wrong("a list of calls", value))
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
		return inference.ToolCall{}, wrong("an object", value)
	}
	kind, err := word(object, "type", []string{"function", "custom"})
	if err != nil {
		return inference.ToolCall{}, err
	}
	id, err := text(object, "id", true)
	if err != nil {
		return inference.ToolCall{}, err
	}
	function, err := child(object, kind, true)
	if err != nil {
		return inference.ToolCall{}, err
	}
	if kind == "custom" {
		return inference.ToolCall{}, strictjson.At(kind, refuseCustom(function))
	}
	call, err := decodeFunction(r, function)
	call.ID = id
	return call, strictjson.At(kind, err)
}

func refuseCustom(call map[string]any) error {
	for _, key := range []string{"name", "input"} {
		if _, err := text(call, key, true); err != nil {
			return err
		}
	}
	return &strictjson.Error{Message: "is a call of a custom tool, and chat templates know functions only", Named: true, Unsupported: true}
}

// decodeFunction reads a call's name and arguments.
func decodeFunction(r *strictjson.Reader, function map[string]any) (inference.ToolCall, error) {
	name, err := text(function, "name", true)
	if err != nil {
		return inference.ToolCall{}, err
	}
	const key = "arguments"
	arguments, err := text(function, key, true)
	if err != nil {
		return inference.ToolCall{}, err
	}
	raw, err := r.ObjectText(arguments)
	return inference.ToolCall{Name: name, Arguments: raw}, strictjson.At(key, err)
}

// text is a string field; null and absent are empty unless it is required.
func text(object map[string]any, key string, required bool) (string, error) {
	value, there := object[key]
	if s, ok := value.(string); ok {
		return s, nil
	}
	if !required && value == nil {
		return "", nil
	}
	if !there {
		return "", missing(key)
	}
	return "", strictjson.At(key, wrong("a string", value))
}

// word is a required string field that has one of the given values.
func word(object map[string]any, key string, words []string) (string, error) {
	value, there := object[key]
	if s, ok := value.(string); ok && slices.Contains(words, s) {
		return s, nil
	}
	if !there {
		return "", missing(key)
	}
	return "", strictjson.At(key, &strictjson.Error{Message: fmt.Sprintf("must be %s, got %s", strictjson.ListWords(words), strictjson.Quote(value)), Named: true})
}

// child is an object field, nil when it isn't required and null or absent.
func child(object map[string]any, key string, required bool) (map[string]any, error) {
	value, there := object[key]
	if o, ok := value.(map[string]any); ok {
		return o, nil
	}
	if !required && value == nil {
		return nil, nil //nolint:nilnil // nil is "not there"
	}
	if !there {
		return nil, missing(key)
	}
	return nil, strictjson.At(key, wrong("an object", value))
}
