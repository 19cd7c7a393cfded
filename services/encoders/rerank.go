package encoders

import (
	"context"
	"net/http"
	"slices"

	api "github.com/trident-inference/trident/gen/go/encoders"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/strictjson"
)

// ranking is a request to rank documents, of any of the APIs.
type ranking struct {
	options

	query     string
	documents []string
	texts     []string // the documents in TEI's form
	top       *int
	returns   *bool // documents are part of the response
	returnsAs *bool // texts are part of the response in the form of TEI
}

// param is the name of the documents in the request.
func (q *ranking) param() string {
	if q.texts != nil {
		return "texts"
	}
	return "documents"
}

// rank is a document's score.
type rank struct {
	index int
	score float64
	text  string
}

// rank returns the documents in the order of their scores, at most as many as the client asked for.
func (h *Handler) rank(ctx context.Context, q *ranking) ([]rank, *inference.EncodeAnswer, error) {
	documents := slices.Concat(q.documents, q.texts)
	req, err := h.request(ctx, &q.options, inference.TaskScore)
	if err != nil {
		return nil, nil, err
	}
	req.Inputs = inference.EncodePairs([]string{q.query}, documents)
	param := q.param()
	req.Param = func(i int) string { return param + strictjson.Index(i) }
	answer, err := h.score(ctx, req, q.instruction)
	if err != nil {
		return nil, nil, err
	}
	top := 0
	if q.top != nil {
		top = *q.top
	}
	order := answer.Ranking(top)
	ranks := make([]rank, len(order))
	for i, document := range order {
		ranks[i] = rank{index: document, score: answer.Results[document].Score, text: documents[document]}
	}
	return ranks, answer, nil
}

// members are the members of the request in the forms of Jina, vLLM and TEI.
func (q *ranking) members() members {
	return with(members{
		"query":              textIn(&q.query),
		"documents":          q.documentsIn(&q.documents),
		"texts":              textsIn(&q.texts),
		"top_n":              integerIn(&q.top, 0),
		"return_documents":   flagIn(&q.returns),
		"return_text":        flagIn(&q.returnsAs),
		"instruction":        anyTextIn(&q.instruction),
		"max_tokens_per_doc": integerIn(&q.documentTokens, 1),
	}, q.vllm(), q.activations(), q.tei(), q.raw())
}

// Rerank ranks documents in the form of Jina and vLLM, or texts in that of TEI.
func (h *Handler) Rerank(w http.ResponseWriter, r *http.Request) {
	var q ranking
	if err := q.members().read(r, "query"); err != nil {
		writeError(w, r, err)
		return
	}
	switch {
	case q.documents == nil && q.texts == nil:
		writeError(w, r, inference.Invalid("documents", "documents is required"))
		return
	case q.documents != nil && q.texts != nil:
		writeError(w, r, inference.Invalid("texts", "texts and documents exclude each other"))
		return
	case q.texts != nil && q.model == "":
		q.model = h.cfg.TEIModel
	}
	ranks, answer, err := h.rank(r.Context(), &q)
	if err != nil {
		writeError(w, r, err)
		return
	}
	if q.texts != nil {
		writeJSON(w, r, teiRanks(ranks, q.returnsAs != nil && *q.returnsAs || q.returns != nil && *q.returns))
		return
	}
	response := api.RerankResponse{
		ID: newID("rerank"), Object: api.RerankResponseObjectList, Model: q.model, Usage: usage(&answer.Usage),
		Results: results(ranks, q.returns == nil || *q.returns),
	}
	writeJSON(w, r, response)
}

// results returns ranks in the form of Jina, vLLM and Cohere.
func results(ranks []rank, documents bool) []api.RerankResult {
	list := make([]api.RerankResult, len(ranks))
	for i, rank := range ranks {
		list[i] = api.RerankResult{Index: rank.index, RelevanceScore: rank.score}
		if documents {
			list[i].Document = &api.DocumentText{Text: rank.text}
		}
	}
	return list
}

// Cohere's default of max_tokens_per_doc, the number of documents of a search unit, and the number of tokens of a
// query and a document beyond which they count as several.
const (
	cohereDocumentTokens = 4096
	cohereUnitDocuments  = 100
	cohereUnitTokens     = 500
)

// RerankV2 ranks documents in the form of version 2 of Cohere's API.
func (h *Handler) RerankV2(w http.ResponseWriter, r *http.Request) {
	q := ranking{options: options{documentTokens: new(cohereDocumentTokens), truncate: new(true)}}
	body := with(members{
		"query":              textIn(&q.query),
		"documents":          q.documentsIn(&q.documents),
		"top_n":              integerIn(&q.top, 1),
		"return_documents":   flagIn(&q.returns),
		"max_tokens_per_doc": integerIn(&q.documentTokens, 1),
		"priority":           priorityIn(&q.priority),
	}, q.common())
	err := body.read(r, "query", "documents")
	var ranks []rank
	var answer *inference.EncodeAnswer
	if err == nil {
		ranks, answer, err = h.rank(r.Context(), &q)
	}
	if err != nil {
		writeError(w, r, err)
		return
	}
	response := api.CohereRerankResponse{ID: newID("rerank"), Results: results(ranks, q.returns != nil && *q.returns)}
	response.Meta.APIVersion.Version = api.CohereVersionVersionN2
	response.Meta.BilledUnits.SearchUnits = searchUnits(answer)
	if !answer.Usage.Unknown {
		response.Meta.Tokens = &api.CohereTokens{InputTokens: answer.Usage.PromptTokens}
	}
	writeJSON(w, r, response)
}

// searchUnits returns the number of search units by Cohere's rule: a unit is a query with up to 100 documents, and
// a document counts once for each 500 tokens of it and the query.
func searchUnits(answer *inference.EncodeAnswer) int {
	documents := 0
	for i := range answer.Results {
		documents += max(1, ceil(answer.Results[i].PromptTokens, cohereUnitTokens))
	}
	return max(1, ceil(documents, cohereUnitDocuments))
}

func ceil(n, size int) int { return (n + size - 1) / size }

// InfinityRerank ranks documents in the form of infinity.
func (h *Handler) InfinityRerank(w http.ResponseWriter, r *http.Request) {
	var q ranking
	body := with(members{
		"query":            textIn(&q.query),
		"documents":        textsIn(&q.documents),
		"top_n":            integerIn(&q.top, 1),
		"return_documents": flagIn(&q.returns),
	}, q.common(), q.raw())
	if err := body.read(r, "query", "documents"); err != nil {
		writeError(w, r, err)
		return
	}
	q.dropDefaultModel()
	ranks, answer, err := h.rank(r.Context(), &q)
	if err != nil {
		writeError(w, r, err)
		return
	}
	response := api.InfinityRerankResponse{
		ID: newID("infinity"), Object: api.InfinityRerankResponseObjectRerank, Created: now(), Model: q.model,
		Usage: infinityUsage(&answer.Usage), Results: make([]api.InfinityRank, len(ranks)),
	}
	for i := range ranks {
		response.Results[i] = api.InfinityRank{Index: ranks[i].index, RelevanceScore: ranks[i].score}
		if q.returns != nil && *q.returns {
			response.Results[i].Document = &ranks[i].text
		}
	}
	writeJSON(w, r, response)
}

// defaultModel is the name that infinity's clients send if their user has named no model.
const defaultModel = "default/not-specified"

func (o *options) dropDefaultModel() {
	if o.model == defaultModel {
		o.model = ""
	}
}

// infinityUsage returns the counts in infinity's form, which are 0 if they aren't known.
func infinityUsage(u *inference.Usage) api.InfinityUsage {
	return api.InfinityUsage{PromptTokens: u.PromptTokens, TotalTokens: u.PromptTokens + u.CompletionTokens}
}

// teiRanks returns ranks in TEI's form.
func teiRanks(ranks []rank, texts bool) []api.TEIRank {
	list := make([]api.TEIRank, len(ranks))
	for i := range ranks {
		list[i] = api.TEIRank{Index: ranks[i].index, Score: ranks[i].score}
		if texts {
			list[i].Text = &ranks[i].text
		}
	}
	return list
}
