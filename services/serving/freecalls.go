package serving

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/toolparser"
)

// planFreeCalls constrains the calls that the model may make: to the tools that it may call, and to
// the schemas of strict tools.
func (r *textRun) planFreeCalls(asked *inference.Request) error {
	if asked.ToolChoice.Mode != inference.ToolAuto {
		return nil
	}
	calls, dialects := r.newFreeCalls(asked), toolparser.Dialects{}
	var err error
	switch {
	case asked.Sampling.Structured != nil:
		calls.missed, calls.reason = calls.strict, "the response is constrained by "+asked.Sampling.Structured.Param
	case len(calls.strict) > 0:
		asked.Sampling.Structured, err = calls.constrainStrict()
	}
	if err == nil && asked.Sampling.Structured == nil && asked.ToolChoice.Allowed != nil {
		asked.Sampling.Structured, err = dialects.ConstrainNames(calls.tools, calls.reasoning, asked.ToolChoice)
	}
	if err != nil || len(calls.missed) == 0 || asked.Unenforced == nil {
		return err
	}
	field := fmt.Sprintf("tools[%d].function.strict", calls.missed[0])
	return asked.Unenforced(field, fmt.Sprintf("%s has no effect: %s. Calls that tool_choice forces match their schemas", field, calls.reason))
}

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

// constrainStrict returns a structural tag for the strict tools, or nil.
func (f *freeCalls) constrainStrict() (*inference.Structured, error) {
	if f.tagger == nil {
		f.missed, f.reason = f.strict, fmt.Sprintf("the engine of the model `%s` isn't known to enforce structural tags, for which the model's parameter %s must be xgrammar", f.target.Name, inference.ParamPrefix+inference.SettingStructuredOutputs)
		return nil, nil //nolint:nilnil // no constraint
	}
	var held []int
	for _, i := range f.strict {
		tag, err := f.tag(f.definitions[i:i+1], []int{0})
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
	tag, err := f.tag(f.definitions, held)
	if tag == nil {
		f.missed = f.strict
	}
	return tag, err
}

// tag returns the structural tag of some tools, or nil with the reason.
func (f *freeCalls) tag(definitions []json.RawMessage, strict []int) (*inference.Structured, error) {
	tag, err := toolparser.Dialects{}.ConstrainStrict(f.tools, f.reasoning, f.choice, definitions, strict)
	if err != nil {
		return nil, err
	}
	if tag == nil {
		f.reason = fmt.Sprintf("calls in the format %s can't be constrained in the middle of a text", f.tools)
		return nil, nil //nolint:nilnil // no constraint
	}
	if _, err := f.tagger.Constrain(f.target, tag); err != nil {
		if refused, ok := errors.AsType[*inference.Error](err); ok {
			f.reason = refused.Message
			return nil, nil //nolint:nilnil // no constraint
		}
		return nil, err
	}
	return tag, nil
}
