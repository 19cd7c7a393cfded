package openai

import (
	"encoding/json"
	"fmt"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
)

// chatTools reads the tools and the choice among them. The schemas of arguments
// are checked where the answer is going to be constrained by them.
func chatTools(body *api.CreateChatCompletionRequest, req *inference.Request) (err error) {
	req.Tools = body.Tools
	req.SingleCall = body.ParallelToolCalls != nil && !*body.ParallelToolCalls
	if req.ToolChoice, err = toolChoice(body.ToolChoice); err != nil {
		return err
	}
	demanded := req.ToolChoice.Mode == inference.ToolRequired || req.ToolChoice.Mode == inference.ToolNamed
	for i, definition := range body.Tools {
		if err := checkTool(fmt.Sprintf("tools[%d]", i), definition, demanded); err != nil {
			return err
		}
	}
	return nil
}

func checkTool(param string, definition json.RawMessage, demanded bool) error {
	var tool struct {
		Type     string `json:"type"`
		Function struct {
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	if err := json.Unmarshal(definition, &tool); err != nil {
		return inference.Invalid(param, "%s must be a tool", param)
	}
	switch schema := tool.Function.Parameters; {
	case tool.Type != functionType:
		return inference.Unsupported(param+".type", "%s.type must be function: chat templates know functions only", param)
	case demanded && !neutral(schema):
		return checkSchema(&inference.Structured{Kind: "json", Value: schema, Param: param + ".function.parameters"})
	}
	return nil
}

// functionType is the type of tools that are functions, and of their calls.
const functionType = "function"

// toolChoice reads one of the words, or the tool that must be called.
func toolChoice(raw json.RawMessage) (inference.ToolChoice, error) {
	var word string
	switch {
	case neutral(raw):
		return inference.ToolChoice{}, nil
	case json.Unmarshal(raw, &word) == nil:
		modes := map[string]inference.ToolMode{"none": inference.ToolNone, "required": inference.ToolRequired}
		return inference.ToolChoice{Mode: modes[word]}, nil
	}
	var named struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	err := json.Unmarshal(raw, &named)
	switch {
	case err != nil:
		return inference.ToolChoice{}, inference.Invalid("tool_choice", "tool_choice must be none, auto, required or a function")
	case named.Type == "allowed_tools":
		return inference.ToolChoice{}, inference.Unsupported("tool_choice.allowed_tools", "tool_choice.allowed_tools is not supported: send only the tools that may be called")
	case named.Type != functionType:
		return inference.ToolChoice{}, inference.Unsupported("tool_choice.type", "tool_choice.type must be function: chat templates know functions only")
	}
	return inference.ToolChoice{Mode: inference.ToolNamed, Name: named.Function.Name}, nil
}

// gathered is the answer of one choice as far as it has come.
type gathered struct {
	text, reasoning []byte
	calls           []gatheredCall
}

type gatheredCall struct {
	id, name  string
	arguments []byte
}

func (g *gathered) add(d *inference.Delta) {
	g.text = append(g.text, d.Text...)
	g.reasoning = append(g.reasoning, d.Reasoning...)
	for _, piece := range d.ToolCalls {
		if piece.Index == len(g.calls) {
			g.calls = append(g.calls, gatheredCall{id: piece.ID, name: piece.Name})
		}
		call := &g.calls[piece.Index]
		call.arguments = append(call.arguments, piece.Arguments...)
	}
}

// message is the whole answer. Without text, one with calls has no content.
func (g *gathered) message() api.ChatCompletionResponseMessage {
	m := api.ChatCompletionResponseMessage{Role: "assistant"}
	if len(g.text) > 0 || len(g.calls) == 0 {
		m.Content = new(string(g.text))
	}
	if len(g.reasoning) > 0 {
		m.ReasoningContent = new(string(g.reasoning))
	}
	for _, c := range g.calls {
		m.ToolCalls = append(m.ToolCalls, api.ChatCompletionMessageToolCall{
			ID: c.id, Type: functionType,
			Function: api.ChatCompletionMessageToolCallFunction{Name: c.name, Arguments: string(c.arguments)},
		})
	}
	return m
}
