// Package decode reads the parts of request bodies that several operations of OpenAI's
// API share: members of objects, parts and calls of messages, constraints on the
// output, and unsupported fields. The package of an operation reads the operation's own
// body. Package strictjson parses the JSON. Reading a whole body belongs to the package
// of its operation.
package decode

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/requests"
)

// Texts returns the list without empty strings, which have no effect.
func Texts(list []string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

// Unsupported is a field that no model behind Trident supports.
type Unsupported struct {
	Name string
	Used bool
	Why  string
}

// UnsupportedSampling returns the unsupported extensions of chats and completions.
func UnsupportedSampling(beamSearch *bool, lengthPenalty *float64) []Unsupported {
	return []Unsupported{
		{"use_beam_search", Value(beamSearch), "beam search is not available"},
		{"length_penalty", lengthPenalty != nil && *lengthPenalty != 1, "it applies only to beam search, which is not available"},
	}
}

// PromptLogprobs returns the number of alternatives to each token of the prompt, or nil if no log
// probabilities of the prompt are requested.
func PromptLogprobs(top *int, stream bool) (*int, error) {
	const param = "prompt_logprobs"
	if top != nil && stream {
		return nil, inference.Unsupported(param, "%s is not supported with stream", param)
	}
	return top, nil
}

// FirstUsed returns an error that names the first field that the request uses.
func FirstUsed(fields []Unsupported) error {
	for _, field := range fields {
		if field.Used {
			return inference.Unsupported(field.Name, "%s is not supported: %s", field.Name, field.Why)
		}
	}
	return nil
}

// Value returns the value that p points to, or the zero value.
func Value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// ToolChoice reads a tool choice: one of the modes, or the tool that must be called.
func ToolChoice(raw json.RawMessage) (inference.ToolChoice, error) {
	var word string
	switch {
	case requests.Neutral(raw):
		return inference.ToolChoice{}, nil
	case json.Unmarshal(raw, &word) == nil:
		modes := map[string]inference.ToolMode{"none": inference.ToolNone, "required": inference.ToolRequired}
		return inference.ToolChoice{Mode: modes[word]}, nil
	}
	var named struct {
		Type     string   `json:"type"`
		Function toolName `json:"function"`
		Custom   toolName `json:"custom"`
		Allowed  Allowed  `json:"allowed_tools"`
	}
	err := json.Unmarshal(raw, &named)
	switch {
	case err != nil:
		return inference.ToolChoice{}, inference.Invalid("tool_choice", "tool_choice must be none, auto, required or an object that names a function")
	case named.Type == "allowed_tools":
		return named.Allowed.Choice("tool_choice.allowed_tools", true)
	case named.Type == requests.FunctionType:
		return inference.ToolChoice{Mode: inference.ToolNamed, Name: named.Function.Name}, nil
	case named.Type == "custom":
		return inference.ToolChoice{Mode: inference.ToolNamed, Name: named.Custom.Name}, nil
	}
	return inference.ToolChoice{}, inference.Unsupported("tool_choice.type", "tool_choice.type must be function or custom: the server has no tools of its own")
}

// toolName is a tool in a tool choice of chats.
type toolName struct {
	Name string `json:"name"`
}

// Allowed restricts the model to some of the tools.
type Allowed struct {
	Mode  string        `json:"mode"`
	Tools []AllowedTool `json:"tools"`
}

// AllowedTool names a tool. The name is in Function or Custom in chats, and in Name in responses.
type AllowedTool struct {
	Type     string   `json:"type"`
	Name     string   `json:"name"`
	Function toolName `json:"function"`
	Custom   toolName `json:"custom"`
}

// Choice returns the tool choice. Its names still have to be checked by [requests.Allow]. The
// param is the path of the object. In chats, the names are nested below the type.
func (a *Allowed) Choice(param string, nested bool) (inference.ToolChoice, error) {
	choice := inference.ToolChoice{Mode: inference.ToolAuto}
	switch a.Mode {
	case "auto":
	case "required":
		choice.Mode = inference.ToolRequired
	default:
		return choice, inference.Invalid(param+".mode", "%s.mode must be auto or required", param)
	}
	if len(a.Tools) == 0 {
		return choice, inference.Invalid(param+".tools", "%s.tools must name at least one tool: to forbid calls, send the tool_choice none", param)
	}
	for i, tool := range a.Tools {
		path := fmt.Sprintf("%s.tools[%d]", param, i)
		named := map[string]toolName{requests.FunctionType: tool.Function, "custom": tool.Custom}
		name, known := named[tool.Type]
		switch {
		case !known:
			return choice, inference.Unsupported(path+".type", "%s.type must be function or custom: the server has no tools of its own", path)
		case !nested:
			name.Name = tool.Name
		default:
			path += "." + tool.Type
		}
		if name.Name == "" {
			return choice, inference.Invalid(path+".name", "%s.name is required", path)
		}
		choice.Allowed = append(choice.Allowed, name.Name)
	}
	return choice, nil
}
