package openai

import (
	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/requests"
)

// chatTools reads the tools and the choice among them.
func chatTools(body *api.CreateChatCompletionRequest, req *inference.Request) (err error) {
	req.Tools = body.Tools
	req.SingleCall = body.ParallelToolCalls != nil && !*body.ParallelToolCalls
	req.ToolChoice, err = decode.ToolChoice(body.ToolChoice)
	return err
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
