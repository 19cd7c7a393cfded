package decode

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/requests"
)

// Constrain reads the fields that constrain the output of the model.
func Constrain(s *inference.Sampling, stop json.RawMessage, bias map[string]int, fields Constraints) (err error) {
	if s.Stop, err = stopSequences(stop); err != nil {
		return err
	}
	if s.LogitBias, err = logitBias(bias); err != nil {
		return err
	}
	s.Structured, err = structured(fields)
	return err
}

// Constraints are all fields that can hold a structured output.
type Constraints struct {
	Text                        *inference.Structured // the decoded structured output of text.format
	Format, Outputs, GuidedJSON json.RawMessage
	GuidedRegex, GuidedGrammar  *string
	GuidedChoice                []string
}

// stopSequences reads a stop sequence or a list of them. It drops empty ones.
func stopSequences(raw json.RawMessage) ([]string, error) {
	if requests.Neutral(raw) {
		return nil, nil
	}
	var list []string
	var one string
	if json.Unmarshal(raw, &one) == nil {
		list = []string{one}
	} else if err := json.Unmarshal(raw, &list); err != nil {
		return nil, inference.Invalid("stop", "stop must be a string or a list of at most 4 strings")
	}
	return Texts(list), nil
}

func logitBias(body map[string]int) (map[int]float64, error) {
	if len(body) == 0 {
		return nil, nil //nolint:nilnil // no bias
	}
	biases := make(map[int]float64, len(body))
	for _, key := range slices.Sorted(maps.Keys(body)) { // the order makes the error the same each time
		id, err := strconv.Atoi(key)
		if err != nil || id < 0 {
			return nil, inference.Invalid("logit_bias", "logit_bias must map token ids to biases; %q is not a token id", key)
		}
		biases[id] = float64(body[key])
	}
	return biases, nil
}

// structured returns the structured output of a request from any of the fields. It
// returns an error if there are several.
func structured(fields Constraints) (*inference.Structured, error) {
	found, err := constraints(fields)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, nil //nolint:nilnil // unconstrained
	case len(found) > 1:
		return nil, inference.Invalid(found[1].Param, "%s and %s can't be used together", found[0].Param, found[1].Param)
	}
	return found[0], nil
}

func constraints(fields Constraints) ([]*inference.Structured, error) {
	var found []*inference.Structured
	if fields.Text != nil {
		found = append(found, fields.Text)
	}
	if c, err := responseFormat(fields.Format); err != nil {
		return nil, err
	} else if c != nil {
		found = append(found, c)
	}
	if !requests.Neutral(fields.GuidedJSON) {
		found = append(found, &inference.Structured{Kind: "json", Value: unquoted(fields.GuidedJSON), Param: "guided_json"})
	}
	for _, c := range []struct {
		kind, param string
		used        bool
		value       any
	}{
		{"regex", "guided_regex", Value(fields.GuidedRegex) != "", fields.GuidedRegex},
		{"choice", "guided_choice", len(fields.GuidedChoice) > 0, fields.GuidedChoice},
		{"grammar", "guided_grammar", Value(fields.GuidedGrammar) != "", fields.GuidedGrammar},
	} {
		if !c.used {
			continue
		}
		raw, err := json.Marshal(c.value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", c.param, err)
		}
		found = append(found, &inference.Structured{Kind: c.kind, Value: raw, Param: c.param})
	}
	more, err := structuredOutputs(fields.Outputs)
	return append(found, more...), err
}

// responseFormat reads the format in OpenAI's own form.
func responseFormat(raw json.RawMessage) (*inference.Structured, error) {
	if requests.Neutral(raw) {
		return nil, nil //nolint:nilnil // unconstrained
	}
	const param = "response_format"
	var format struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	if err := json.Unmarshal(raw, &format); err != nil {
		return nil, inference.Invalid(param, "response_format must be an object with the field type")
	}
	return FormatConstraint(format.Type, format.JSONSchema.Schema, param, param+".json_schema.schema"), nil
}

// FormatConstraint returns the structured output that a format of this type requires, or
// nil for text. The params are those of the format and of its schema.
func FormatConstraint(kind string, schema json.RawMessage, param, schemaParam string) *inference.Structured {
	switch kind {
	case "json_object":
		return &inference.Structured{Kind: kind, Value: json.RawMessage("true"), Param: param}
	case "json_schema":
		if requests.Neutral(schema) {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		return &inference.Structured{Kind: "json", Value: schema, Param: schemaParam}
	}
	return nil
}

// structuredKinds are the kinds of vLLM's structured outputs. If a request has several,
// the error names the first two in this order.
var structuredKinds = []string{"json", "json_object", "regex", "choice", "grammar", "structural_tag"} //nolint:gochecknoglobals // a constant list

// structuredOutputs reads vLLM's extension. It returns an entry for each kind that is
// used.
func structuredOutputs(raw json.RawMessage) ([]*inference.Structured, error) {
	if requests.Neutral(raw) {
		return nil, nil
	}
	const param = "structured_outputs"
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, inference.Invalid(param, "structured_outputs must be an object")
	}
	used := func(kind string) bool { return !requests.Neutral(members[kind]) && string(members[kind]) != "false" }
	for _, kind := range slices.Sorted(maps.Keys(members)) {
		if used(kind) && !slices.Contains(structuredKinds, kind) {
			// vLLM would ignore an unknown key and generate without a constraint.
			return nil, inference.Unsupported(param, "structured_outputs.%s is not supported: use one of %s", kind, strings.Join(structuredKinds, ", "))
		}
	}
	var found []*inference.Structured
	for _, kind := range structuredKinds {
		if !used(kind) {
			continue
		}
		v := members[kind]
		if kind == "json" {
			v = unquoted(v)
		}
		found = append(found, &inference.Structured{Kind: kind, Value: v, Param: param + "." + kind})
	}
	return found, nil
}

// unquoted returns a schema that may be JSON inside a string.
func unquoted(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return json.RawMessage(text)
	}
	return raw
}
