// Package requests checks the parts of a chat or a completion that all text surfaces share:
// tools, JSON Schemas, structured outputs, and fields whose text is a JSON object. The
// checks find errors before a model is called. [Check] is the whole check of a translated
// request. [Schemas] and [Objects] are its parts, for surfaces that need them earlier.
// Rules of one surface belong to its frontend.
//
// Each surface checks the wire format of its requests. The core checks ranges of sampling
// parameters ([inference.Request.Validate]). services/structured has the formats that an
// engine constrains answers to. The package is pure.
package requests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/strictjson"
)

// Check finds errors in a chat or a completion before a model is called: tools of a type
// that chat templates don't support, invalid schemas, and values out of range. Check is for
// every surface that serves chats or completions, whatever the wire format. Errors are
// [*inference.Error] that name fields as OpenAI's chats do, or the error of ctx, which ends
// the check.
func Check(ctx context.Context, req *inference.Request) error {
	var checked Schemas
	for i, definition := range req.Tools {
		constrains := ConstrainsCalls(req) || req.ToolChoice.Mode == inference.ToolAuto && isStrict(definition)
		if err := checked.Tool(ctx, fmt.Sprintf("tools[%d]", i), definition, constrains); err != nil {
			return err
		}
	}
	if err := checked.Structured(ctx, req.Sampling.Structured); err != nil {
		return err
	}
	return req.Validate()
}

// ConstrainsCalls reports whether the answer is constrained by the schemas of the tools: it
// has to call one, or it may call one in the place of JSON of the client's schema.
func ConstrainsCalls(req *inference.Request) bool {
	switch c := req.Sampling.Structured; req.ToolChoice.Mode {
	case inference.ToolRequired, inference.ToolNamed:
		return true
	case inference.ToolAuto:
		return c != nil && (c.Kind == "json" || c.Kind == "json_object")
	case inference.ToolNone:
	}
	return false
}

// isStrict reports whether the arguments of a function must match its schema.
func isStrict(definition json.RawMessage) bool {
	var tool struct {
		Function struct {
			Strict bool `json:"strict"`
		} `json:"function"`
	}
	return json.Unmarshal(definition, &tool) == nil && tool.Function.Strict
}

// Allow checks the tools that the tool choice allows: each must be one of the request's tools. A
// choice that allows all tools is no restriction. The param is the format of the path of a name,
// with the verb %d for its index.
func Allow(req *inference.Request, param string) error {
	allowed := req.ToolChoice.Allowed
	if allowed == nil {
		return nil
	}
	offered := make(map[string]bool, len(req.Tools))
	for _, definition := range req.Tools {
		var tool struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		}
		if json.Unmarshal(definition, &tool) == nil { // Check refuses other definitions
			offered[tool.Function.Name] = true
		}
	}
	for i, name := range allowed {
		if !offered[name] {
			path := fmt.Sprintf(param, i)
			return inference.Invalid(path, "%s names the tool %s, which is not in tools", path, strictjson.Quote(name))
		}
	}
	slices.Sort(allowed)
	if allowed = slices.Compact(allowed); len(allowed) == len(offered) {
		allowed = nil
	}
	req.ToolChoice.Allowed = allowed
	return nil
}

// Structured checks the schema of a format that has one, and the size of every format.
func (s *Schemas) Structured(ctx context.Context, c *inference.Structured) error {
	if c == nil {
		return nil
	}
	switch c.Kind {
	case "json":
		return s.Check(ctx, c)
	case "regex":
		return limitText(c, budget.PatternBytes)
	case "grammar", "structural_tag":
		return limitText(c, budget.GrammarBytes)
	}
	return nil
}

// limitText limits the size in bytes of a format that is one string.
func limitText(c *inference.Structured, most int) error {
	if len(c.Value) <= most {
		return nil
	}
	text := string(c.Value)
	if c.Value[0] == '"' {
		_ = json.Unmarshal(c.Value, &text) // a value that isn't a string is too long anyway
	}
	if len(text) > most {
		return inference.Invalid(c.Param, "%s must not be longer than %d bytes, got %d", c.Param, most, len(text))
	}
	return nil
}

// Objects reads the fields of one request whose text is a JSON object. All fields together
// hold at most [budget.Values] values. The zero value is ready to use.
type Objects struct{ reader strictjson.Reader }

// Arguments reads the arguments of an earlier tool call, as [strictjson.Reader.Arguments]
// does. Errors are [*inference.Error].
func (o *Objects) Arguments(param, text string) (raw json.RawMessage, malformed bool, err error) {
	raw, malformed, err = o.reader.Arguments(text)
	if err != nil {
		return nil, false, strictjson.BodyError(strictjson.At(param, err))
	}
	return raw, malformed, nil
}

// Decode checks that a field's text is a JSON object. It returns the original bytes, because
// the order of keys reaches the prompt. An empty text stands for an object without keys.
// Errors are [*inference.Error].
func (o *Objects) Decode(param, text string) (json.RawMessage, error) {
	raw, err := o.reader.ObjectText(text)
	if err != nil {
		return nil, strictjson.BodyError(strictjson.At(param, err))
	}
	return raw, nil
}

// DecodeMap is like Decode, for an object with at most [budget.Keys] keys.
func (o *Objects) DecodeMap(param, text string) (json.RawMessage, error) {
	raw, err := o.Decode(param, text)
	if err != nil {
		return nil, err
	}
	keys := 0
	err = strictjson.Read(raw, func(r *strictjson.Reader) error {
		return r.Object(func(string) error {
			keys++
			if keys > budget.Keys {
				return strictjson.ErrFieldFull
			}
			_, err := r.Value(false)
			return err
		})
	})
	if errors.Is(err, strictjson.ErrFieldFull) {
		return nil, inference.Invalid(param, "%s must be an object of at most %d keys", param, budget.Keys)
	}
	return raw, err
}

// Tool checks the schema of the arguments where the answer is going to be constrained by
// it.
func (s *Schemas) Tool(ctx context.Context, param string, definition json.RawMessage, constrains bool) error {
	var tool struct {
		Type     string `json:"type"`
		Function struct {
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	if err := json.Unmarshal(definition, &tool); err != nil {
		return inference.Invalid(param, "%s must be a tool: an object with type and function", param)
	}
	switch schema := tool.Function.Parameters; {
	case tool.Type != FunctionType:
		return inference.Unsupported(param+".type", "%s.type must be function: chat templates support only functions", param)
	case constrains && !Neutral(schema):
		return s.Check(ctx, &inference.Structured{Kind: "json", Value: schema, Param: param + ".function.parameters"})
	}
	return nil
}

// CompletionNames renames the field of an error to the name that completions have for it.
func CompletionNames(err error) error {
	e, ok := err.(*inference.Error) //nolint:errorlint // the core returns it unwrapped
	if !ok || e.Param != "top_logprobs" {
		return err
	}
	renamed := *e
	renamed.Param = "logprobs"
	return &renamed
}

// FunctionType is the type of function tools and of their calls.
const FunctionType = "function"

// Neutral reports whether a value has no effect: it is absent, null or empty.
func Neutral(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "{}", "[]", `""`:
		return true
	}
	return false
}
