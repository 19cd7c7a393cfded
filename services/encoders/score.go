package encoders

import (
	"net/http"

	api "github.com/trident-inference/trident/gen/go/encoders"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/strictjson"
)

// pairSides are the first and the second texts of pairs, with the names that the client used.
type pairSides struct {
	first, second         []string
	firstName, secondName string
	one                   bool // the first side is one text, without a list
}

// side returns a reader of one side of the pairs, which has a name.
func (p *pairSides) side(name string, second bool) func(*strictjson.Reader) error {
	return func(r *strictjson.Reader) error {
		if second {
			if p.second != nil {
				return named("excludes %s", p.secondName)
			}
			p.secondName = name
			return oneOrMoreIn(&p.second, nil)(r)
		}
		if p.first != nil {
			return named("excludes %s", p.firstName)
		}
		p.firstName = name
		return oneOrMoreIn(&p.first, &p.one)(r)
	}
}

// inputs returns the pairs: each text of a side with that of the other side, or the only first text with all.
func (p *pairSides) inputs() ([]inference.EncodeInput, error) {
	switch {
	case p.first == nil && p.second == nil:
		return nil, inference.Invalid("text_1", "text_1 is required, and text_2")
	case p.first == nil:
		name := map[string]string{"text_2": "text_1", "documents": "queries", "data_2": "data_1"}[p.secondName]
		return nil, inference.Invalid(name, "%s is required", name)
	case p.second == nil:
		name := map[string]string{"text_1": "text_2", "queries": "documents", "data_1": "data_2"}[p.firstName]
		return nil, inference.Invalid(name, "%s is required", name)
	case len(p.first) > 1 && len(p.first) != len(p.second):
		return nil, inference.Invalid(p.secondName, "%s must have as many texts as %s, which has %d, but it has %d", p.secondName, p.firstName, len(p.first), len(p.second))
	}
	return inference.EncodePairs(p.first, p.second), nil
}

// param returns the name of the second text of a pair in the request.
func (p *pairSides) param(i int) string { return p.secondName + strictjson.Index(i) }

// Score scores pairs of texts in the form of vLLM.
func (h *Handler) Score(w http.ResponseWriter, r *http.Request) {
	var o options
	var sides pairSides
	body := with(members{
		"text_1": sides.side("text_1", false), "queries": sides.side("queries", false), "data_1": sides.side("data_1", false),
		"text_2": sides.side("text_2", true), "documents": sides.side("documents", true), "data_2": sides.side("data_2", true),
		"instruction": anyTextIn(&o.instruction),
	}, o.vllm(), o.activations())
	err := body.read(r)
	var inputs []inference.EncodeInput
	if err == nil {
		inputs, err = sides.inputs()
	}
	var req *inference.EncodeRequest
	if err == nil {
		req, err = h.request(r.Context(), &o, inference.TaskScore)
	}
	if err != nil {
		writeError(w, r, err)
		return
	}
	req.Inputs, req.Param = inputs, sides.param
	answer, err := h.score(r.Context(), req, o.instruction)
	if err != nil {
		writeError(w, r, err)
		return
	}
	response := api.ScoreResponse{
		ID: newID("score"), Object: api.ScoreResponseObjectList, Created: now(), Model: req.Model,
		Usage: usage(&answer.Usage), Data: make([]api.Score, len(answer.Results)),
	}
	for i := range answer.Results {
		response.Data[i] = api.Score{Index: i, Object: api.ScoreObjectScore, Score: answer.Results[i].Score}
	}
	writeJSON(w, r, response)
}
