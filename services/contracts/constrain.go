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
)

// Constrain judges a constraint by the backends of structured outputs that the model's
// engine may run. vLLM passes over keywords that its backend doesn't know, and its engine
// ends on what the backend of its first request doesn't take.
func (VLLM) Constrain(target *inference.Target, c *inference.Structured) (*inference.Structured, error) {
	return constrain(target, c)
}

// Constrain judges a constraint where it is known which backend the engine runs.
func (TensorRTLLM) Constrain(target *inference.Target, c *inference.Structured) (*inference.Structured, error) {
	return constrain(target, c)
}

// Constrain judges a constraint where it is known which backend the engine runs.
func (Python) Constrain(target *inference.Target, c *inference.Structured) (*inference.Structured, error) {
	return constrain(target, c)
}

// settingName is what operators set.
const settingName = "trident." + inference.SettingStructuredOutputs

// constrain judges by the target's setting; without one nothing is known of the engine.
func constrain(target *inference.Target, c *inference.Structured) (*inference.Structured, error) {
	switch target.StructuredOutputs {
	case "":
		return c, nil
	case structured.SettingNone:
		return nil, inference.Unsupported(c.Param, "%s is not supported: the model `%s` has no structured outputs (%s is none)", c.Param, target.Name, settingName)
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

// refused names the field, what in it can't be had, and the setting that allows it.
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
	if r.Takers == 0 {
		return inference.Unsupported(param, format+"no backend of structured outputs holds answers to it", where, r.Construct)
	}
	setting := strings.ReplaceAll(r.Takers.String(), ", ", " or ")
	if target.StructuredOutputs == structured.SettingAuto {
		return inference.Unsupported(param, format+"the engine of the model `%s` may run a backend of structured outputs that doesn't take it; if its backend is fixed, set %s to %s",
			where, r.Construct, target.Name, settingName, setting)
	}
	return inference.Unsupported(param, format+"the engine of the model `%s` runs %s (%s), but %s takes it",
		where, r.Construct, target.Name, target.StructuredOutputs, settingName, setting)
}

// ofTool finds a tool's own schema in that of a forced call.
var ofTool = regexp.MustCompile(`^(?:items\.)?anyOf\[(\d+)\]\.properties\.arguments\.?|^\$defs\.tool(\d+)\.?`)

// place is the field at fault and the path within it. The schema of a forced call is made
// of the tools' own, and that of a call or an answer of those and the client's.
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
