package contracts

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/structured"
)

var (
	_ inference.Constrainer = VLLM{}
	_ inference.Constrainer = TensorRTLLM{}
	_ inference.Constrainer = Python{}
	_ inference.Tagger      = VLLM{}
)

// Tags reports whether the engine runs xgrammar, which alone enforces structural tags. The backend
// of Triton 25.01 to 25.10 has versions of vLLM that don't know them all.
func (VLLM) Tags(target *inference.Target) bool {
	return target.StructuredOutputs == structured.XGrammar.String() && !vllmGuides(target.Config)
}

// Constrain checks a constraint against the structured outputs backends that the model's engine may
// run. vLLM ignores keywords that its backend doesn't know. vLLM's engine terminates on constraints
// that the backend of the engine's first request doesn't support.
func (VLLM) Constrain(target *inference.Target, c *inference.Structured) (*inference.Structured, error) {
	return constrain(target, c)
}

// Constrain checks a constraint if the engine's structured outputs backend is known.
func (TensorRTLLM) Constrain(target *inference.Target, c *inference.Structured) (*inference.Structured, error) {
	return constrain(target, c)
}

// Constrain checks a constraint if the engine's structured outputs backend is known.
func (Python) Constrain(target *inference.Target, c *inference.Structured) (*inference.Structured, error) {
	return constrain(target, c)
}

// settingName is the name of the setting in a model's config.pbtxt.
const settingName = "trident." + inference.SettingStructuredOutputs

// constrain checks a constraint by the target's setting. Without a setting, any constraint passes.
func constrain(target *inference.Target, c *inference.Structured) (*inference.Structured, error) {
	switch target.StructuredOutputs {
	case "":
		return c, nil
	case structured.SettingNone:
		return nil, inference.Unsupported(c.Param, "%s is not supported: the model `%s` has no structured outputs (its parameter %s is none)", c.Param, target.Name, settingName)
	}
	backends, err := structured.Of(target.StructuredOutputs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", settingName, err)
	}
	kind, value, err := backends.Judge(c.Kind, c.Value)
	if refusal, ok := errors.AsType[*structured.RefusalError](err); ok {
		return nil, refused(target, c, refusal)
	}
	if err != nil {
		return nil, err
	}
	return &inference.Structured{Kind: kind, Value: value, Param: c.Param}, nil
}

// refused returns an error that names the field, the unsupported part and the setting that allows
// it.
func refused(target *inference.Target, c *inference.Structured, r *structured.RefusalError) *inference.Error {
	param, path := place(c, r.Path)
	where := param
	if path != "" {
		where += ": " + path
	}
	if r.Wrong != "" {
		return inference.Invalid(param, "%s: %s", where, r.Wrong)
	}
	const format = "%s: %s is not supported: "
	if r.SupportedBy == 0 {
		return inference.Unsupported(param, format+"no structured outputs backend enforces it", where, r.Construct)
	}
	setting := strings.ReplaceAll(r.SupportedBy.String(), ", ", " or ")
	if target.StructuredOutputs == structured.SettingAuto {
		return inference.Unsupported(param, format+"the engine of the model `%s` may run a structured outputs backend that doesn't support it; if the engine always runs %s, set the model's parameter %s to that backend",
			where, r.Construct, target.Name, setting, settingName)
	}
	return inference.Unsupported(param, format+"the engine of the model `%s` runs %s (the model's parameter %s), but only %s supports it",
		where, r.Construct, target.Name, target.StructuredOutputs, settingName, setting)
}

// ofTool matches the path of a tool's own schema within the schema of a forced tool call.
var ofTool = regexp.MustCompile(`^(?:items\.)?anyOf\[(\d+)\]\.properties\.arguments\.?|^\$defs\.tool(\d+)\.?`)

// place returns the field at fault and the path within it. The schema of a forced tool call is
// built from the tools' own schemas. The schema of a call or an answer also has the client's schema.
func place(c *inference.Structured, path string) (field, within string) {
	if c.Calls > 0 {
		if rest, ok := strings.CutPrefix(path, fmt.Sprintf("anyOf[%d]", c.Calls)); ok {
			return c.Param, strings.TrimPrefix(rest, ".")
		}
		if rest, ok := strings.CutPrefix(path, "$defs.response"); ok {
			return c.Param, strings.TrimPrefix(rest, ".")
		}
	}
	m := ofTool.FindStringSubmatchIndex(path)
	if c.Param != "tool_choice" && c.Calls == 0 || m == nil {
		return c.Param, path
	}
	group := 2
	if m[group] < 0 {
		group = 4
	}
	return fmt.Sprintf("tools[%s].function.parameters", path[m[group]:m[group+1]]), path[m[1]:]
}
