package chat

import (
	"strings"

	"github.com/trident-inference/trident/services/chat/jinja"
	"github.com/trident-inference/trident/services/inference"
)

// Template variables with which chat templates instruct their models how much to think.
const (
	effortVariable   = "reasoning_effort" // template variable with an effort as a word, as in gpt-oss
	thinkingVariable = "enable_thinking"  // template variable that is true or false, as in Qwen 3
)

// efforts reports which of the variables a template reads.
type efforts struct{ word, thinking bool }

func effortsOf(source string) efforts {
	return efforts{word: strings.Contains(source, effortVariable), thinking: strings.Contains(source, thinkingVariable)}
}

// effort returns the effort of a request, which is [inference.EffortNone] for a request without reasoning
// if the template has a variable for that.
func (e efforts) effort(req *inference.Request) string {
	if req.NoReasoning && (e.word || e.thinking) {
		return inference.EffortNone
	}
	return req.ReasoningEffort
}

// set sets the template's variable for the request's effort. It rejects an
// effort that the template can't express. OpenAI's default effort changes
// nothing.
func (e efforts) set(vars *jinja.Dict, effort string) error {
	switch {
	case effort == "":
	case e.word:
		vars.Set(effortVariable, effort)
	case effort == inference.EffortDefault:
	case effort == inference.EffortNone && e.thinking:
		vars.Set(thinkingVariable, false)
	default:
		return inference.Unsupported(effortVariable, "this model's chat template does not support the reasoning effort %s: omit %s", effort, effortVariable)
	}
	return nil
}
