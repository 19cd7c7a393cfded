package serving

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/toolparser"
)

// planFreeCalls constrains the calls that the model may make: to the tools that it may call, and to
// the schemas of strict tools.
func (r *textRun) planFreeCalls(asked *inference.Request) error {
	if asked.ToolChoice.Mode != inference.ToolAuto {
		return nil
	}
	calls := r.newFreeCalls(asked)
	var err error
	switch {
	case asked.Sampling.Structured != nil:
		calls.missed, calls.reason = calls.strict, "the response is constrained by "+asked.Sampling.Structured.Param
	case len(calls.strict) > 0:
		asked.Sampling.Structured, err = calls.constrainStrict()
	}
	if err == nil && asked.Sampling.Structured == nil && asked.ToolChoice.Allowed != nil {
		asked.Sampling.Structured, err = calls.constrainNames()
	}
	if err != nil || len(calls.missed) == 0 || asked.Unenforced == nil {
		return err
	}
	field := strictField(calls.missed[0])
	return asked.Unenforced(field, fmt.Sprintf("%s has no effect: %s. Calls that tool_choice forces match their schemas", field, calls.reason))
}

// strictField returns the path of the field that makes a tool strict.
func strictField(tool int) string { return fmt.Sprintf("tools[%d].function.strict", tool) }

// freeCalls is the plan of the constraint of calls that the model may make.
type freeCalls struct {
	target           *inference.Target
	tagger           inference.Tagger // nil if the engine takes no structural tags
	tools, reasoning string           // dialects of the model
	choice           inference.ToolChoice
	definitions      []json.RawMessage
	strict           []int // indices of the strict tools
	// missed are the indices of the strict tools whose schemas can't be enforced, for the reason.
	missed []int
	reason string
}

func (r *textRun) newFreeCalls(asked *inference.Request) *freeCalls {
	f := &freeCalls{
		target: &r.card.Target, tools: r.card.ToolParser, reasoning: r.card.ReasoningParser, choice: asked.ToolChoice, definitions: asked.Tools,
		strict: toolparser.Dialects{}.Strict(asked.ToolChoice, asked.Tools),
	}
	if tagger, ok := r.card.Backend.(inference.Tagger); ok && tagger.Tags(f.target) {
		f.tagger = tagger
	}
	return f
}

// constrainNames returns a regular expression for calls of the allowed tools, or a structural tag
// where the engine takes only that for the model's format. The length of the expression has the limit
// of a client's own regular expression.
func (f *freeCalls) constrainNames() (*inference.Structured, error) {
	c, err := toolparser.Dialects{}.ConstrainNames(f.tools, f.reasoning, f.choice)
	if err == nil && len(c.Value) > budget.PatternBytes {
		return nil, inference.Invalid(c.Param, "%s allows too many tools: the regular expression with their names must not be longer than %d bytes, got %d. Allow fewer tools, or use the mode required", c.Param, budget.PatternBytes, len(c.Value))
	}
	if err != nil || f.tagger == nil {
		return c, err
	}
	if _, refusal := f.tagger.Constrain(f.target, c); refusal == nil {
		return c, nil
	}
	tag, err := f.tag(f.definitions, nil, c.Param)
	return cmp.Or(tag, c), err // the error for the expression is that of planConstraint
}

// constrainStrict returns a structural tag for the strict tools, or nil.
func (f *freeCalls) constrainStrict() (*inference.Structured, error) {
	if f.tagger == nil {
		f.missed, f.reason = f.strict, fmt.Sprintf("the engine of the model `%s` isn't known to enforce structural tags, for which the model's parameter %s must be xgrammar", f.target.Name, inference.ParamPrefix+inference.SettingStructuredOutputs)
		return nil, nil //nolint:nilnil // no constraint
	}
	var held []int
	for _, i := range f.strict {
		tag, err := f.tag(f.definitions[i:i+1], []int{0}, strictField(i))
		if err != nil {
			return nil, err
		}
		if tag == nil {
			f.missed = append(f.missed, i)
		} else {
			held = append(held, i)
		}
	}
	if len(held) == 0 {
		return nil, nil //nolint:nilnil // no constraint
	}
	first := f.reason
	f.reason = ""
	tag, err := f.tag(f.definitions, held, strictField(held[0]))
	if tag == nil {
		f.missed = f.strict
	}
	f.reason = cmp.Or(f.reason, first)
	return tag, err
}

// tag returns the structural tag of some tools, or nil. It records the first reason for nil. The
// reason and errors name the field param.
func (f *freeCalls) tag(definitions []json.RawMessage, strict []int, param string) (*inference.Structured, error) {
	tag, err := toolparser.Dialects{}.ConstrainStrict(f.tools, f.reasoning, f.choice, definitions, strict)
	if err != nil {
		return nil, err
	}
	if tag == nil {
		f.reason = cmp.Or(f.reason, fmt.Sprintf("calls in the format %s can't be constrained in the middle of a text", f.tools))
		return nil, nil //nolint:nilnil // no constraint
	}
	tag.Param = param
	if _, err := f.tagger.Constrain(f.target, tag); err != nil {
		if refused, ok := errors.AsType[*inference.Error](err); ok {
			f.reason = cmp.Or(f.reason, refused.Message)
			return nil, nil //nolint:nilnil // no constraint
		}
		return nil, err
	}
	return tag, nil
}
