package contracts

import (
	"encoding/json"
	"strings"

	"github.com/trident-inference/trident/services/inference"
)

// guide sends a constraint on the form of the answer.
func (e *separate) guide(c *inference.Structured) {
	switch {
	case c == nil:
		return
	case !e.has(inGuideType) || !e.has(inGuide):
		e.refuse(c.Param, inGuide)
		return
	}
	kind, guide, err := guideOf(c)
	if err != nil {
		e.fail(err)
		return
	}
	e.text(inGuideType, kind)
	if guide != "" {
		e.text(inGuide, guide)
	}
}

// guideOf returns a constraint in TensorRT-LLM's terms. A choice becomes a grammar.
func guideOf(c *inference.Structured) (kind, guide string, err error) {
	switch c.Kind {
	case "json":
		return "json_schema", string(c.Value), nil
	case "json_object":
		return "json", "", nil
	case "regex":
		kind, err = "regex", json.Unmarshal(c.Value, &guide)
	case "grammar":
		kind, err = "ebnf_grammar", json.Unmarshal(c.Value, &guide)
	case "choice":
		kind = "ebnf_grammar"
		guide, err = choiceGrammar(c.Value)
	default:
		return "", "", inference.Unsupported(c.Param, "%s is not supported by TensorRT-LLM models", c.Param)
	}
	if err != nil || guide == "" {
		return "", "", inference.Invalid(c.Param, "%s is not a valid %s", c.Param, c.Kind)
	}
	return kind, guide, nil
}

// choiceGrammar returns the EBNF grammar of a list of texts.
func choiceGrammar(list json.RawMessage) (string, error) {
	var choices []string
	if err := json.Unmarshal(list, &choices); err != nil || len(choices) == 0 {
		return "", err
	}
	for i, choice := range choices {
		quoted, err := marshal(choice) // EBNF strings use JSON's escapes
		if err != nil {
			return "", err
		}
		choices[i] = quoted
	}
	return "root ::= " + strings.Join(choices, " | "), nil
}
