package chat

import (
	"strings"

	"github.com/trident-inference/trident/services/chat/jinja"
	"github.com/trident-inference/trident/services/inference"
)

// Variables by which templates tell their models how much to think.
const (
	effortVariable   = "reasoning_effort" // a word, as gpt-oss takes it
	thinkingVariable = "enable_thinking"  // true or false, as Qwen 3 takes it
)

// efforts says which of them a template reads.
type efforts struct{ word, thinking bool }

func effortsOf(source string) efforts {
	return efforts{word: strings.Contains(source, effortVariable), thinking: strings.Contains(source, thinkingVariable)}
}

// set gives the template the request's effort, or refuses one that it has no way
// to tell its model of. OpenAI's default changes nothing.
func (e efforts) set(vars *jinja.Dict, effort string) error {
	switch {
	case effort == "":
	case e.word:
		vars.Set(effortVariable, effort)
	case effort == inference.EffortDefault:
	case effort == inference.EffortNone && e.thinking:
		vars.Set(thinkingVariable, false)
	default:
		return inference.Unsupported(effortVariable, "this model's chat template can't ask for the reasoning effort %s: leave %s out", effort, effortVariable)
	}
	return nil
}
