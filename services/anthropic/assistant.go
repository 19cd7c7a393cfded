package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/strictjson"
)

// assistant adds a message of the assistant.
func (d *decoder) assistant(o object, list []any) error {
	m := inference.Message{Role: roleAssistant, NoContent: true}
	var texts, thoughts []string
	for i, value := range list {
		b, kind, err := block(o.at("content"), i, value)
		if err != nil {
			return err
		}
		var text string
		switch kind {
		case blockText:
			text, err = d.text(b)
			texts = append(texts, text)
		case blockThinking, blockRedacted:
			if text, err = d.reasoning(b, kind); text != "" {
				thoughts = append(thoughts, text)
			}
		case blockToolUse:
			err = d.toolUse(b, &m)
		case blockToolResult, blockImage, blockDocument:
			err = inference.Invalid(b.path, "%s is a block of the type %s, which only messages of the user have", b.path, kind)
		default:
			d.add(b.path, "is a block of the type "+strictjson.Quote(kind)+", which the model can't read: it is left out of the prompt")
		}
		if err != nil {
			return err
		}
	}
	m.Text, m.Reasoning = strings.Join(texts, ""), strings.Join(thoughts, "\n")
	m.NoContent = m.Text == "" && len(m.ToolCalls) > 0
	if m.Text != "" || m.Reasoning != "" || len(m.ToolCalls) > 0 {
		d.push(m, o.path)
	}
	return nil
}

// reasoning returns the reasoning of a block. The reasoning that this server sealed is used also if the block
// has another text, as Anthropic's API allows no changes. A seal that can't be opened is ignored: another server
// sealed it, or this one with a key that is gone. The text of the block is used then.
func (d *decoder) reasoning(o object, kind string) (text string, err error) {
	key := "data"
	if kind == blockThinking {
		key = "signature"
		d.unknown(o, "type", "thinking", key)
		if text, err = o.text("thinking", true); err != nil {
			return "", err
		}
	} else {
		d.unknown(o, "type", key)
	}
	sealed, err := o.text(key, kind == blockRedacted)
	if err != nil || sealed == "" {
		return text, err
	}
	if d.sealed += len(sealed); d.sealed > budget.SealedBytes {
		return "", inference.Invalid(o.at(key), "the messages have more than %d MiB of sealed reasoning: send fewer messages", budget.SealedBytes>>20)
	}
	opened, err := d.open(sealed)
	switch {
	case err != nil && text == "":
		d.add(o.at(key), err.Error()+": send the reasoning as thinking, or leave the block out")
	case err != nil:
		d.add(o.at(key), err.Error()+": the text of the block is used")
	case text != "" && text != opened:
		d.add(o.at("thinking"), "isn't the reasoning that this server sealed in "+o.at(key)+", which is used")
		return opened, nil
	default:
		return opened, nil
	}
	return text, nil
}

// invalidKey is the only key of arguments that aren't a JSON object, as clients of Anthropic's API send them.
const invalidKey = "INVALID_JSON"

// toolUse adds a call.
func (d *decoder) toolUse(o object, m *inference.Message) error {
	d.unknown(o, "type", "id", "name", "input", "cache_control", "caller")
	call := inference.ToolCall{}
	var err error
	if call.ID, err = o.text("id", true); err != nil {
		return err
	}
	if call.Name, err = o.text("name", true); err != nil {
		return err
	}
	if call.Arguments, err = o.raw("input"); err != nil {
		return err
	}
	if text, malformed := malformedArguments(call.Arguments); malformed {
		call.Arguments, call.Malformed = json.RawMessage(text), true
	}
	m.ToolCalls = append(m.ToolCalls, call)
	return nil
}

// malformedArguments returns the text of arguments that aren't a JSON object.
func malformedArguments(input json.RawMessage) (text string, malformed bool) {
	if len(input) > len(invalidKey) && strings.Contains(string(input[:min(len(input), 2*len(invalidKey))]), invalidKey) {
		var members map[string]any
		if json.Unmarshal(input, &members) == nil && len(members) == 1 {
			text, malformed = members[invalidKey].(string)
		}
	}
	return text, malformed
}
