package openai

import (
	"encoding/json"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/requests"
)

// chatTools reads the tools and the choice among them.
func chatTools(body *api.CreateChatCompletionRequest, req *inference.Request) (err error) {
	req.Tools = body.Tools
	req.SingleCall = body.ParallelToolCalls != nil && !*body.ParallelToolCalls
	req.ToolChoice, err = toolChoice(body.ToolChoice)
	return err
}

// toolChoice reads one of the words, or the tool that must be called.
func toolChoice(raw json.RawMessage) (inference.ToolChoice, error) {
	var word string
	switch {
	case requests.Neutral(raw):
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
	case named.Type != requests.FunctionType:
		return inference.ToolChoice{}, inference.Unsupported("tool_choice.type", "tool_choice.type must be function: chat templates know functions only")
	}
	return inference.ToolChoice{Mode: inference.ToolNamed, Name: named.Function.Name}, nil
}

// message is the whole answer. Without text, one with calls has no content.
func message(g *inference.Choice) api.ChatCompletionResponseMessage {
	m := api.ChatCompletionResponseMessage{Role: "assistant"}
	if len(g.Text) > 0 || len(g.ToolCalls) == 0 {
		m.Content = new(string(g.Text))
	}
	if len(g.Reasoning) > 0 {
		m.ReasoningContent = new(string(g.Reasoning))
	}
	for _, c := range g.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, api.ChatCompletionMessageToolCall{
			ID: c.ID, Type: requests.FunctionType,
			Function: api.ChatCompletionMessageToolCallFunction{Name: c.Name, Arguments: string(c.Arguments)},
		})
	}
	return m
}
