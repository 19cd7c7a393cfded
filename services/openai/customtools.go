package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/jsonstring"
	"github.com/trident-inference/trident/services/openai/internal/toolform"
	"github.com/trident-inference/trident/services/requests"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/strictjson"
)

// customType is the type of custom tools and of their calls.
const customType = "custom"

// customTools are the custom tools of a chat by their names, nil if there are none. Models see them as
// functions, as package toolform describes.
type customTools map[string]customTool

type customTool struct {
	toolform.Tool

	param string // field of the request that has the tool
}

// readCustomTool returns the custom tool of a definition that was checked by the document, or nil for a
// function.
func readCustomTool(definition json.RawMessage) *toolform.Tool {
	if !bytes.Contains(definition, []byte(customType)) {
		return nil // most tools aren't decoded
	}
	var tool struct {
		Type   string `json:"type"`
		Custom struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			Format      struct {
				Grammar toolform.Format `json:"grammar"`
			} `json:"format"`
		} `json:"custom"`
	}
	if json.Unmarshal(definition, &tool) != nil || tool.Type != customType {
		return nil
	}
	return &toolform.Tool{Name: tool.Custom.Name, Description: tool.Custom.Description, Format: tool.Custom.Format.Grammar}
}

// readTools returns the functions that a model sees of the tools of a chat, and the custom tools.
func readTools(definitions []json.RawMessage) (functions []json.RawMessage, custom customTools) {
	for i, definition := range definitions {
		if tool := readCustomTool(definition); tool != nil {
			if custom == nil {
				custom = customTools{}
			}
			custom[tool.Name] = customTool{Tool: *tool, param: fmt.Sprintf("tools[%d].custom", i)}
			definition = tool.Function()
		}
		functions = append(functions, definition)
	}
	return functions, custom
}

// checkNames returns an error for a custom tool that has the name of another tool: a call of it would be
// ambiguous. The functions are those of [readTools].
func (c customTools) checkNames(functions []json.RawMessage) error {
	first := map[string]int{}
	for i, function := range functions {
		if len(c) == 0 {
			return nil
		}
		var tool struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		}
		_ = json.Unmarshal(function, &tool) // requests.Check refuses other tools
		name := tool.Function.Name
		before, taken := first[name]
		if custom, ok := c[name]; ok && taken {
			param := fmt.Sprintf("tools[%d].function.name", i)
			if custom.param == fmt.Sprintf("tools[%d].custom", i) {
				param = custom.param + ".name"
			}
			return inference.Invalid(param, "%s is the name of tools[%d], too: the name of a custom tool must be unique, got %s twice", param, before, strictjson.Quote(name))
		}
		first[name] = i
	}
	return nil
}

// constrain sets the format of a custom tool whose call is forced in the tool choice, if the model's engine
// enforces the format. It reports the other formats as ignored.
func (c customTools) constrain(ctx context.Context, req *inference.Request, model *catalog.Resolution) error {
	if len(c) == 0 {
		return nil
	}
	enforced := ""
	choice := &req.ToolChoice
	tool, ok := c[forcedTool(req)]
	if format := tool.Format.Structured(tool.param + ".format.grammar.definition"); ok && format != nil && new(requests.Schemas).Structured(ctx, format) == nil && serving.EnforcesInput(ctx, model, format) {
		*choice = inference.ToolChoice{Mode: inference.ToolNamed, Name: tool.Name, Input: format}
		enforced = tool.Name
	}
	return server.Ignore(ctx, c.unenforced(enforced)...)
}

// forcedTool returns the name of the custom tool that must be called, or "".
func forcedTool(req *inference.Request) string {
	switch choice := &req.ToolChoice; {
	case choice.Mode == inference.ToolNamed:
		return choice.Name
	case choice.Mode == inference.ToolRequired && len(choice.Allowed) == 1:
		return choice.Allowed[0]
	case choice.Mode == inference.ToolRequired && len(req.Tools) == 1:
		var only struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		}
		_ = json.Unmarshal(req.Tools[0], &only) // requests.Check refuses other tools
		return only.Function.Name
	}
	return ""
}

// unenforced returns the first format that isn't enforced.
func (c customTools) unenforced(enforced string) []server.IgnoredField {
	first := ""
	for name, tool := range c {
		if at := tool.param + ".format"; tool.Format.Syntax != "" && name != enforced && (first == "" || len(at) < len(first) || len(at) == len(first) && at < first) {
			first = at
		}
	}
	if first == "" {
		return nil
	}
	return []server.IgnoredField{{Name: first, Reason: first + " is not enforced: the prompt has the grammar, but the model may write other text"}}
}

// call returns a call of a non-streaming response.
func (c customTools) call(call *inference.ToolCall) api.ChatCompletionMessageToolCallOption {
	if _, custom := c[call.Name]; custom {
		return fmt.Appendf(nil, `{"custom":{"input":%s,"name":%s},"id":%s,"type":"custom"}`, jsonstring.Quoted(toolform.InputOf(call.Arguments)), jsonstring.Quoted(call.Name), jsonstring.Quoted(call.ID))
	}
	return fmt.Appendf(nil, `{"function":{"arguments":%s,"name":%s},"id":%s,"type":"function"}`, jsonstring.Quoted(string(call.Arguments)), jsonstring.Quoted(call.Name), jsonstring.Quoted(call.ID))
}

// customInput is the input of an open call of a custom tool in a stream.
type customInput struct {
	toolform.Input

	index int    // index of the call in the message
	text  []byte // buffer of decoded text
}

// appendCustomCalls appends the chunks of fragments of calls if the request has custom tools: a chunk
// for each fragment that has something to show.
func (c *chunkWriter) appendCustomCalls(dst []byte, d *inference.Delta) []byte {
	for i := range d.ToolCalls {
		piece := &d.ToolCalls[i]
		if piece.ID != "" {
			dst = c.endInput(dst, d.Index)
			if _, custom := c.custom[piece.Name]; custom {
				if c.inputs == nil {
					c.inputs = map[int]*customInput{}
				}
				c.inputs[d.Index] = &customInput{index: piece.Index}
				dst = c.appendInput(dst, d.Index, piece, nil)
			}
		}
		if input := c.inputs[d.Index]; input != nil {
			if input.text = input.Append(input.text[:0], piece.Arguments); len(input.text) > 0 {
				dst = c.appendInput(dst, d.Index, &inference.ToolCallPiece{Index: input.index}, input.text)
			}
			continue
		}
		dst = c.open(dst, d.Index)
		dst = appendCalls(dst, d.ToolCalls[i:i+1])
		dst = c.close(dst, nil, inference.FinishNone)
	}
	return dst
}

// endInput appends what is left of the input of the choice's open call.
func (c *chunkWriter) endInput(dst []byte, choice int) []byte {
	input := c.inputs[choice]
	if input == nil {
		return dst
	}
	delete(c.inputs, choice)
	if text := input.Finish(nil); len(text) > 0 {
		dst = c.appendInput(dst, choice, &inference.ToolCallPiece{Index: input.index}, text)
	}
	return dst
}

// appendInput appends a chunk with a fragment of a custom tool's input. The first one has the id and the
// name.
func (c *chunkWriter) appendInput(dst []byte, choice int, piece *inference.ToolCallPiece, text []byte) []byte {
	dst = c.open(dst, choice)
	dst = fmt.Appendf(dst, `"tool_calls":[{"index":%d`, piece.Index)
	if piece.ID != "" {
		dst = fmt.Appendf(dst, `,"id":%s,"type":"custom","custom":{"name":%s,"input":"`, jsonstring.Quoted(piece.ID), jsonstring.Quoted(piece.Name))
	} else {
		dst = append(dst, `,"custom":{"input":"`...)
	}
	dst = jsonstring.AppendEscaped(dst, text)
	dst = append(dst, `"}}]`...)
	return c.close(dst, nil, inference.FinishNone)
}
