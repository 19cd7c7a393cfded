package tridentrpc

import (
	"encoding/json"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/services/inference"
)

// sampled has the sampling options that chats and completions share.
type sampled interface {
	GetStop() []string
	GetStopTokenIds() []uint32
	GetBadWords() []string
	GetAllowedTokenIds() []uint32
	GetLogitBias() map[uint32]float32
	GetResponseFormat() *tridentv1.ResponseFormat
}

// commonSampling reads the options that aren't numbers or flags.
func commonSampling(s *inference.Sampling, msg sampled) {
	s.Stop, s.BadWords = msg.GetStop(), msg.GetBadWords()
	s.StopTokenIDs, s.AllowedTokenIDs = toInts(msg.GetStopTokenIds()), toInts(msg.GetAllowedTokenIds())
	s.Structured = structured(msg.GetResponseFormat())
	if bias := msg.GetLogitBias(); len(bias) > 0 {
		s.LogitBias = make(map[int]float64, len(bias))
		for id, b := range bias {
			s.LogitBias[int(id)] = float64(b)
		}
	}
}

// structured returns the structured output that a format requests, or nil.
func structured(f *tridentv1.ResponseFormat) *inference.Structured {
	const param = "response_format."
	switch f := f.GetFormat().(type) {
	case *tridentv1.ResponseFormat_JsonObject:
		return &inference.Structured{Kind: "json_object", Value: json.RawMessage("true"), Param: param + "json_object"}
	case *tridentv1.ResponseFormat_JsonSchema:
		schema := json.RawMessage(f.JsonSchema.GetSchema())
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		return &inference.Structured{Kind: "json", Value: schema, Param: param + "json_schema.schema"}
	case *tridentv1.ResponseFormat_Regex:
		return &inference.Structured{Kind: "regex", Value: quoted(f.Regex), Param: param + "regex"}
	case *tridentv1.ResponseFormat_Choice:
		return &inference.Structured{Kind: "choice", Value: quoted(f.Choice.GetChoices()), Param: param + "choice"}
	case *tridentv1.ResponseFormat_Grammar:
		return &inference.Structured{Kind: "grammar", Value: quoted(f.Grammar), Param: param + "grammar"}
	case *tridentv1.ResponseFormat_StructuralTag:
		return &inference.Structured{Kind: "structural_tag", Value: json.RawMessage(f.StructuralTag), Param: param + "structural_tag"}
	}
	return nil
}

// quoted returns a string or a list of strings as JSON.
func quoted[T string | []string](v T) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil { // strings always encode
		return nil
	}
	return raw
}

// priority returns nil for 0, which means the model's default.
func priority(p uint32) *int {
	if p == 0 {
		return nil
	}
	return toInt(&p)
}

// textInputs returns the inputs, each of which is a text or token ids.
func textInputs(list []*tridentv1.TextInput) []inference.Input {
	inputs := make([]inference.Input, len(list))
	for i, in := range list {
		inputs[i].Text = in.GetText()
		if ids := in.GetTokenIds(); ids != nil {
			inputs[i].TokenIDs = toInts(ids.GetIds())
		}
	}
	return inputs
}

func toInt[N uint32 | int32](p *N) *int {
	if p == nil {
		return nil
	}
	return new(int(*p))
}

// toInts returns nil for an empty list, which means an unset option.
func toInts(list []uint32) []int {
	if len(list) == 0 {
		return nil
	}
	ints := make([]int, len(list))
	for i, n := range list {
		ints[i] = int(n)
	}
	return ints
}
