package responses

import (
	"errors"
	"fmt"
	"strings"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai/internal/toolform"
	"github.com/trident-inference/trident/services/strictjson"
)

// conversation has the messages that the items are converted to.
type conversation struct {
	messages []inference.Message
	// origins has the request's field of each message, for errors.
	origins []string
	// reasoning is pending until the message or the calls that follow it.
	reasoning string
	// tools are the tools of the request, for the names in calls.
	tools toolbox
	// arguments reads the arguments of all calls, which share one budget.
	arguments strictjson.Reader
}

// add appends an item. Calls join the preceding message of the assistant;
// reasoning joins the item that follows.
func (c *conversation) add(it *item, origin string) error {
	switch it.class() {
	case itemReasoning:
		c.flush(origin)
		c.reasoning = it.reasoning()
	case itemCall:
		return c.addCall(it, origin)
	case itemOutput:
		c.flush(origin)
		c.push(inference.Message{Role: "tool", ToolCallID: it.callID, Text: it.text, Parts: it.parts}, origin)
	case itemMessage:
		m := inference.Message{Role: it.role, Text: it.text, Parts: it.parts}
		if it.role == assistant {
			m.Reasoning, c.reasoning = c.reasoning, ""
		}
		c.flush(origin)
		c.push(m, origin)
	}
	return nil
}

func (c *conversation) addCall(it *item, origin string) error {
	text := it.text
	if it.kind == itemCustomCall {
		text = string(toolform.Arguments(text))
	}
	arguments, malformed, err := c.arguments.Arguments(text)
	if err != nil {
		return strictjson.BodyError(err)
	}
	last := len(c.messages) - 1
	if last < 0 || c.messages[last].Role != assistant || c.reasoning != "" {
		c.push(inference.Message{Role: assistant, Reasoning: c.reasoning}, origin)
		c.reasoning = ""
		last = len(c.messages) - 1
	}
	m := &c.messages[last]
	m.ToolCalls = append(m.ToolCalls, inference.ToolCall{ID: it.callID, Name: c.tools.flat(toolKey{it.namespace, it.name}), Arguments: arguments, Malformed: malformed})
	return nil
}

// flush turns pending reasoning into a message of its own: the response was
// truncated during the reasoning.
func (c *conversation) flush(origin string) {
	if c.reasoning != "" {
		c.push(inference.Message{Role: assistant, Reasoning: c.reasoning}, origin)
		c.reasoning = ""
	}
}

func (c *conversation) push(m inference.Message, origin string) {
	c.messages = append(c.messages, m)
	c.origins = append(c.origins, origin)
}

// clientsNames renames the fields in the core's errors to those of the Responses
// API.
func (c *conversation) clientsNames(err error) error {
	e, ok := errors.AsType[*inference.Error](err)
	if !ok {
		return err
	}
	param, message := e.Param, e.Message
	rename := func(from, to string) {
		param, message = strings.Replace(param, from, to, 1), strings.ReplaceAll(message, from, to)
	}
	switch {
	case param == "messages":
		param = "input"
		if e.Reason == inference.ReasonContextLength {
			message = strings.ReplaceAll(message, "messages", "input")
		}
	case strings.HasPrefix(param, "messages["):
		for i, origin := range c.origins {
			if from := fmt.Sprintf("messages[%d]", i); strings.HasPrefix(param, from) {
				if c.messages[i].Role == "tool" {
					rename(".content", ".output")
				}
				rename(from, origin)
				rename(".image_url.url", ".image_url")
				break
			}
		}
	case strings.HasPrefix(param, "tools["):
		rename(param, c.clientsTool(param))
	case param == "reasoning_effort":
		rename(param, "reasoning.effort")
	case param == "max_tokens", param == "min_tokens":
		message = strings.ReplaceAll(message, "max_tokens", "max_output_tokens")
		param = strings.ReplaceAll(param, "max_tokens", "max_output_tokens")
	}
	renamed := *e
	renamed.Param, renamed.Message = param, message
	return &renamed
}

// clientsTool returns the path of the client for one of the core's functions or a member of it.
func (c *conversation) clientsTool(path string) string {
	for i, t := range c.tools.tools {
		core := fmt.Sprintf("tools[%d]", i)
		if path == core {
			return t.param
		}
		if member, ok := strings.CutPrefix(path, core+".function"); ok {
			return t.param + member
		}
	}
	return path
}
