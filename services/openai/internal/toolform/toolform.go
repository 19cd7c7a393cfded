// Package toolform shows tools that aren't functions to models, and reads their calls. Chat templates
// and engines know only functions. A custom tool takes one text of any form: a model sees a function
// with one string argument. Tools of a namespace become functions whose names have the namespace. This
// package has the definitions of these functions, the names and arguments of their calls, the decoding
// of a custom tool's text while a call is streamed, and the texts that models read about them. The
// fields of requests and responses belong to the packages of the operations.
package toolform

import (
	"encoding/json"
	"fmt"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/jsonstring"
)

// Argument is the name of the function's only argument, which is the input of the custom tool.
const Argument = inference.InputArgument

// The syntaxes of grammars in [Format].
const (
	Lark  = "lark"
	Regex = "regex"
)

// Tool is the definition of a custom tool.
type Tool struct {
	Name        string
	Description string
	Format      Format
}

// Format is the form of a custom tool's input. The zero value is any text.
type Format struct {
	Syntax     string `json:"syntax"`     // [Lark] or [Regex], or "" for any text
	Definition string `json:"definition"` // the grammar or the regular expression
}

// Function returns the definition of the tool's function in the form of chats.
func (t *Tool) Function() json.RawMessage {
	return fmt.Appendf(nil, `{"type":"function","function":{"name":%s,"description":%s,"parameters":{"type":"object","properties":{"%s":{"type":"string","description":%s}},"required":["%s"],"additionalProperties":false}}}`,
		jsonstring.Quoted(t.Name), jsonstring.Quoted(description(t)), Argument, jsonstring.Quoted(argumentDescription), Argument)
}

// Structured returns the format as a constraint on the input, or nil for any text. The param is the
// field of the request that has the format.
func (f Format) Structured(param string) *inference.Structured {
	switch f.Syntax {
	case Lark:
		return &inference.Structured{Kind: "grammar", Value: jsonstring.Quoted(f.Definition), Param: param}
	case Regex:
		return &inference.Structured{Kind: "regex", Value: jsonstring.Quoted(f.Definition), Param: param}
	}
	return nil
}

// Arguments returns the arguments of a call with this input.
func Arguments(input string) json.RawMessage {
	return fmt.Appendf(nil, `{"%s":%s}`, Argument, jsonstring.Quoted(input))
}
