package responses

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/openai/internal/toolform"
	"github.com/trident-inference/trident/services/requests"
	"github.com/trident-inference/trident/services/strictjson"
)

// The types of tools that models can call, besides functions.
const (
	toolCustom    = "custom"
	toolNamespace = "namespace"
)

// hostedTools returns the types of tools that only OpenAI's servers or their clients run.
func hostedTools() []string {
	return []string{
		"apply_patch", "code_interpreter", "computer", "computer_use_preview", "file_search", "image_generation", "local_shell", toolMCP,
		"programmatic_tool_calling", "shell", "tool_search", "web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11",
	}
}

// toolMCP is the type of tools of an MCP server that OpenAI's servers connect to.
const toolMCP = "mcp"

// toolParam has the members of all types of tools that have an effect.
type toolParam struct {
	kind, name     string
	description    *string
	parameters     json.RawMessage
	strict         *bool
	outputSchema   json.RawMessage
	deferLoading   *bool
	allowedCallers []string
	format         toolform.Format
	tools          []json.RawMessage
}

// readTool reads a definition that was checked by the document or by [checkTool]. Unlike
// encoding/json, it distinguishes the letter case of keys.
func readTool(raw json.RawMessage) (*toolParam, error) {
	t := &toolParam{}
	fields := map[string]any{
		"type": &t.kind, "name": &t.name, "description": &t.description, "parameters": &t.parameters, "strict": &t.strict, "output_schema": &t.outputSchema,
		"defer_loading": &t.deferLoading, "allowed_callers": &t.allowedCallers, "format": &t.format, "tools": &t.tools,
	}
	hosted := slices.Contains(hostedTools(), kindOf(raw))
	err := strictjson.ReadPart(raw, func(r *strictjson.Reader) error {
		return r.Object(func(key string) error {
			value, err := r.Raw()
			field, known := fields[key]
			if err != nil || !known || hosted && key != "type" {
				return err
			}
			return json.Unmarshal(value, field)
		})
	})
	if err != nil {
		return nil, strictjson.BodyError(err)
	}
	return t, nil
}

// kindOf returns the type of a tool.
func kindOf(raw json.RawMessage) string {
	var kind string
	_ = json.Unmarshal(member(raw, "type"), &kind) // the type was checked
	return kind
}

// checkTools checks the tools of an item, as the validator checks those of the request by the
// document.
func checkTools(object map[string]any) error {
	const key = "tools"
	value, there := object[key]
	if !there {
		return strictjson.Missing(key)
	}
	kinds := append([]string{requests.FunctionType, toolCustom, toolNamespace}, hostedTools()...)
	return strictjson.At(key, eachObject(value, kinds, checkTool))
}

// eachObject checks a list of objects with one of the types.
func eachObject(value any, kinds []string, check func(object map[string]any, kind string) error) error {
	list, ok := value.([]any)
	switch {
	case !ok:
		return strictjson.Wrong("a list of tools", value)
	case len(list) > budget.Tools:
		return &strictjson.Error{Message: fmt.Sprintf("must be a list of at most %d items", budget.Tools), Named: true}
	}
	for i, value := range list {
		object, ok := value.(map[string]any)
		if !ok {
			return strictjson.At(strictjson.Index(i), strictjson.Wrong("an object", value))
		}
		kind, err := decode.Word(object, "type", kinds)
		if err == nil {
			err = check(object, kind)
		}
		if err != nil {
			return strictjson.At(strictjson.Index(i), err)
		}
	}
	return nil
}

func checkTool(object map[string]any, kind string) error {
	switch kind {
	case requests.FunctionType, toolCustom:
		return checkCallable(object, kind)
	case toolNamespace:
		if err := checkNamed(object, kind); err != nil {
			return err
		}
		const key = "tools"
		value, there := object[key]
		if !there {
			return strictjson.Missing(key)
		}
		return strictjson.At(key, eachObject(value, []string{requests.FunctionType, toolCustom}, checkCallable))
	}
	return nil
}

// checkNamed checks the name and the description.
func checkNamed(object map[string]any, kind string) error {
	name, err := decode.Text(object, "name", true)
	if err == nil && name == "" && kind != requests.FunctionType {
		err = &strictjson.Error{Path: "name", Message: "must not be empty", Named: true}
	}
	if err == nil {
		_, err = decode.Text(object, "description", false)
	}
	return err
}

// checkCallable checks a function or a custom tool.
func checkCallable(object map[string]any, kind string) error {
	if err := checkNamed(object, kind); err != nil {
		return err
	}
	flags := []string{"defer_loading"}
	if kind == requests.FunctionType {
		flags = append(flags, "strict")
		for _, key := range []string{"parameters", "output_schema"} {
			if _, err := decode.Child(object, key, false); err != nil {
				return err
			}
		}
	} else if err := checkFormat(object); err != nil {
		return err
	}
	for _, key := range flags {
		if _, ok := object[key].(bool); !ok && object[key] != nil {
			return strictjson.At(key, strictjson.Wrong("true or false", object[key]))
		}
	}
	return checkCallers(object)
}

func checkFormat(object map[string]any) error {
	const key, grammar = "format", "grammar"
	format, err := decode.Child(object, key, false)
	if format == nil || err != nil {
		return err
	}
	kind, err := decode.Word(format, "type", []string{"text", grammar})
	if err == nil && kind == grammar {
		if _, err = decode.Word(format, "syntax", []string{toolform.Lark, toolform.Regex}); err == nil {
			_, err = decode.Text(format, "definition", true)
		}
	}
	return strictjson.At(key, err)
}

func checkCallers(object map[string]any) error {
	const key = "allowed_callers"
	list, ok := object[key].([]any)
	if !ok && object[key] != nil {
		return strictjson.At(key, strictjson.Wrong("a list of callers", object[key]))
	}
	for i, caller := range list {
		if caller != "direct" && caller != "programmatic" {
			return strictjson.At(key, strictjson.At(strictjson.Index(i), strictjson.Wrong("direct or programmatic", caller)))
		}
	}
	return nil
}
