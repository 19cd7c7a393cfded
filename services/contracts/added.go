package contracts

import (
	"strings"

	"github.com/trident-inference/trident/services/inference"
)

// explainAdded explains an engine's refusal of a sampling parameter that Trident added to the
// request, or derived from another field. The explanation names the field that the client sent, or
// the setting of the operator. The explanation is nil for a parameter that the client sent under
// this name. If the engine refuses only the parameter's value, unsupported is false and why is the
// reason.
func (v VLLM) explainAdded(req *inference.Request, parameter, why string, unsupported bool) *inference.Error {
	s := &req.Sampling
	switch parameter {
	case "structured_outputs", "guided_decoding":
		if s.Structured != nil {
			return explainConstraint(req.Model, s.Structured.Param, why, unsupported)
		}
	case "skip_special_tokens":
		if sent := s.SkipSpecialTokens != nil && !*s.SkipSpecialTokens; !sent && s.KeepSpecialTokens != "" {
			return v.explainSpecialTokens(req.Model, s.KeepSpecialTokens)
		}
	case "max_tokens":
		if s.MaxTokens == nil {
			return inference.Unsupported("model", "the engine of the model `%s` refuses the output limit that the server added to the request: send max_tokens, or set %s or the model's parameter %s",
				req.Model, v.Names.Of("serving.DefaultMaxTokens"), inference.ParamPrefix+inference.SettingDefaultMaxTokens)
		}
	case "top_k":
		if s.TopP != nil && *s.TopP == 0 {
			return inference.Unsupported("top_p", "top_p of 0 is not supported by the model `%s`: send a temperature of 0", req.Model)
		}
	}
	return nil
}

// explainConstraint explains the refusal of a constraint. The engine's message names a field that
// the client possibly hasn't sent.
func explainConstraint(model, param, why string, unsupported bool) *inference.Error {
	if unsupported {
		return inference.Unsupported(param, "%s is not supported by the model `%s`: its engine refuses this structured output (set the model's parameter %s to the backend that the engine runs)", param, model, settingName)
	}
	return inference.Invalid(param, "%s %s", param, strings.TrimSpace(why))
}

// explainSpecialTokens explains the refusal of special tokens that the model's parser needs in the
// answer.
func (v VLLM) explainSpecialTokens(model, setting string) *inference.Error {
	const format = "%s the model `%s`: its %s needs special tokens in the output, but its engine always removes them (it refuses skip_special_tokens). Set %s or the model's parameter %s to a parser that needs no special tokens, or to none"
	name := inference.ParamPrefix + setting
	if setting == inference.SettingReasoningParser {
		return inference.Unsupported("model", format, "responses can't be parsed for", model, "reasoning parser", v.Names.Of("inference.SettingReasoningParser"), name)
	}
	return inference.Unsupported("tools", format, "tools are not supported by", model, "tool-call parser", v.Names.Of("inference.SettingToolParser"), name)
}
