package responses

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/trident-inference/trident/services/strictjson"
)

// hostedCall is a kind of item with a call that isn't a call of a function, but has the same meaning
// for a model.
type hostedCall struct {
	name      string // name of the tool in the prompt
	arguments string // member of the item that has the arguments
}

// hostedCalls are the calls of tools that clients run. Their outputs are in items of the same kind with
// the suffix _output.
func hostedCalls(kind string) hostedCall {
	switch kind {
	case "apply_patch_call":
		return hostedCall{"apply_patch", "operation"}
	case "local_shell_call":
		return hostedCall{"local_shell", "action"}
	case "shell_call":
		return hostedCall{"shell", "action"}
	}
	return hostedCall{}
}

// Items that are treated in their own way.
const (
	itemSearchOutput = "tool_search_output"
	itemCompact      = "compaction_trigger"
	// itemAgent is a message that one agent of Codex sends to another.
	itemAgent = "agent_message"
)

// hostedOutputs returns the kinds of items with outputs of hostedCalls.
func hostedOutputs() []string {
	return []string{"apply_patch_call_output", "local_shell_call_output", "shell_call_output"}
}

// leftOut returns the kinds of items that are left out of the prompt. They have no text for the model,
// or have it only for OpenAI's own models. What the model needs of them is in the message after them.
func leftOut() []string {
	return []string{
		"code_interpreter_call", "compaction", "computer_call", "computer_call_output", "configuration_update", "context_compaction", "file_search_call", "image_generation_call",
		"mcp_approval_request", "mcp_approval_response", "mcp_call", "mcp_list_tools", "program", "program_output", "tool_search_call", "web_search_call",
	}
}

// hosted reports whether items of this kind belong to a tool that OpenAI's servers or its clients run.
func hosted(kind string) bool {
	return kind == itemSearchOutput || kind == itemCompact || hostedClass(kind) != kind || slices.Contains(leftOut(), kind)
}

// hostedClass returns the class of items of hosted tools, and other kinds as they are.
func hostedClass(kind string) string {
	switch {
	case hostedCalls(kind).name != "":
		return itemCall
	case slices.Contains(hostedOutputs(), kind):
		return itemOutput
	case kind == itemAgent:
		return itemMessage
	}
	return kind
}

// decodeHosted reads an item of a hosted tool. It never fails for what the item has: an item from which
// a message can't be made is left out.
func decodeHosted(object map[string]any, raw json.RawMessage, it *item) error {
	if it.kind == itemCompact {
		return &strictjson.Error{Path: "type", Message: "must not be compaction_trigger: the server does not shorten the input: send fewer items", Named: true, Unsupported: true}
	}
	it.id, _ = object["id"].(string)
	it.callID, _ = object["call_id"].(string)
	if it.callID == "" {
		it.callID = it.id
	}
	switch it.class() {
	case itemCall:
		call := hostedCalls(it.kind)
		it.name, it.text = call.name, string(member(raw, call.arguments))
		it.left = it.callID == "" || it.text == ""
	case itemOutput:
		it.text = hostedOutput(object, raw)
		it.left = it.callID == ""
	case itemMessage:
		it.role, it.text = "user", agentText(object)
		it.left = it.text == ""
	case itemSearchOutput:
		it.left = checkTools(object) != nil
	default:
		it.left = true
	}
	if !it.left {
		it.keep(raw)
	}
	if it.kind == itemSearchOutput && !it.left {
		it.keepTools()
	}
	return nil
}

// agentText returns the text of a message from another agent. Codex puts the message into a part
// encrypted_content, because OpenAI's servers encrypt the argument that has it. Here the argument is the
// text that the model wrote.
func agentText(object map[string]any) string {
	var text strings.Builder
	parts, _ := object["content"].([]any)
	for _, value := range parts {
		part, _ := value.(map[string]any)
		for _, key := range []string{"text", "encrypted_content"} {
			s, _ := part[key].(string)
			text.WriteString(s)
		}
	}
	return text.String()
}

// hostedOutput returns the text of an output: a string, or the JSON of other values. An output without
// text has its status.
func hostedOutput(object map[string]any, raw json.RawMessage) string {
	text, isText := object["output"].(string)
	switch {
	case isText:
		return text
	case object["output"] != nil:
		return string(member(raw, "output"))
	}
	status, _ := object["status"].(string)
	return status
}

// member returns the JSON of a member of an object, or nil if it is absent or null.
func member(raw json.RawMessage, key string) json.RawMessage {
	var found json.RawMessage
	_ = strictjson.ReadPart(raw, func(r *strictjson.Reader) error { // raw was read before
		return r.Object(func(name string) error {
			value, err := r.Raw()
			if name == key && string(value) != "null" {
				found = value
			}
			return err
		})
	})
	return found
}
