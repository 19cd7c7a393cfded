package encoders

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"runtime"
	"strconv"

	api "github.com/trident-inference/trident/gen/go/encoders"
	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/strictjson"
	"github.com/trident-inference/trident/services/vector"
)

// teiRequest is a request for vectors in TEI's form.
type teiRequest struct {
	options

	inputs []inference.Input
	one    bool
}

// checkTEIModel returns an error for a path without a model if the setting is missing.
func (h *Handler) checkTEIModel(model string) error {
	if model == noTEIModel {
		return inference.Invalid("model", "the path has no model: use /tei/{model}/ before it, or set %s", h.cfg.Names.Of("encoders.TEIModel"))
	}
	return nil
}

// teiEncode reads a request for vectors and runs it.
func (h *Handler) teiEncode(r *http.Request, model string, task inference.Task) (*inference.EncodeAnswer, error) {
	t := &teiRequest{}
	own := members{"inputs": inputsIn(&t.inputs, &t.one), "prompt_name": anyTextIn(&t.promptName)}
	if task == inference.TaskEmbed {
		own["normalize"], own["dimensions"] = flagIn(&t.normalize), integerIn(&t.dimensions, 1)
		t.normalize = new(true)
	}
	if err := h.teiRead(r, with(own, t.tei()), &t.options, model, "inputs"); err != nil {
		return nil, err
	}
	req, err := h.request(r.Context(), &t.options, task)
	if err != nil {
		return nil, err
	}
	req.Inputs, req.Param = inference.EncodeInputs(t.inputs), teiParam(t.one)
	return h.encode(r.Context(), req)
}

// teiRead reads the body of a request to the model of the path.
func (h *Handler) teiRead(r *http.Request, m members, o *options, model string, required ...string) error {
	if err := h.checkTEIModel(model); err != nil {
		return err
	}
	o.model = model
	server.RecordOf(r.Context()).Model = model
	if err := inference.MayUse(r.Context(), model); err != nil {
		return err
	}
	return m.read(r, required...)
}

// teiParam returns the names of inputs in the request.
func teiParam(one bool) func(int) string {
	return func(i int) string {
		if one {
			return "inputs"
		}
		return "inputs" + strictjson.Index(i)
	}
}

// TeiEmbed returns the vectors of texts.
func (h *Handler) TeiEmbed(w http.ResponseWriter, r *http.Request, model string) {
	h.teiVectors(w, r, model, inference.TaskEmbed)
}

// TeiEmbedAll returns the vectors of the tokens of texts.
func (h *Handler) TeiEmbedAll(w http.ResponseWriter, r *http.Request, model string) {
	h.teiVectors(w, r, model, inference.TaskTokenEmbed)
}

// TeiEmbedSparse returns the sparse vectors of texts.
func (h *Handler) TeiEmbedSparse(w http.ResponseWriter, r *http.Request, model string) {
	h.teiVectors(w, r, model, inference.TaskSparse)
}

// teiVectors responds with a list that has a vector, or a list of vectors, for each text.
func (h *Handler) teiVectors(w http.ResponseWriter, r *http.Request, model string, task inference.Task) {
	answer, err := h.teiEncode(r, model, task)
	if err != nil {
		writeError(w, r, err)
		return
	}
	body := []byte{'['}
	for i := range answer.Results {
		if i > 0 {
			body = append(body, ',')
		}
		switch e := &answer.Results[i]; task {
		case inference.TaskTokenEmbed:
			body = appendRows(body, &e.Tokens)
		case inference.TaskSparse:
			body = appendSparse(body, e.Sparse)
		default:
			body = vector.AppendJSON(body, e.Vector)
		}
	}
	w.Header().Set("X-Compute-Tokens", strconv.Itoa(answer.Usage.PromptTokens))
	writeBody(w, append(body, ']'))
}

// prediction is a request for classes in TEI's form.
type prediction struct {
	options

	inputs []inference.EncodeInput
	one    bool // the response is one list
}

// input reads one text, a pair of texts, or a list of both.
func (p *prediction) input(r *strictjson.Reader) error {
	const wanted = "a string, a pair of strings, or a list of lists of one or two strings"
	switch r.Peek() {
	case '"':
		s, err := text(r)
		p.inputs, p.one = []inference.EncodeInput{{Input: inference.Input{Text: s}}}, true
		return err
	case '[':
	default:
		return r.Mismatch(wanted)
	}
	var pair []string
	err := list(r, wanted, func(int) error {
		if r.Peek() == '"' && p.inputs == nil {
			s, err := text(r)
			pair = append(pair, s)
			if err == nil && len(pair) > 2 {
				err = named("is one too many: a pair has two strings. Send a list of texts as a list of lists of one string")
			}
			return err
		}
		if pair != nil {
			return r.Mismatch("a string")
		}
		entry, err := teiEntry(r)
		p.inputs = append(p.inputs, entry)
		return err
	})
	if err == nil && pair != nil {
		p.one = true
		if len(pair) != 2 {
			return named("must be a pair of strings, got a list of 1")
		}
		p.inputs = []inference.EncodeInput{{Input: inference.Input{Text: pair[0]}, Second: &pair[1]}}
	}
	return err
}

// teiEntry reads a list of one or two strings.
func teiEntry(r *strictjson.Reader) (in inference.EncodeInput, err error) {
	if r.Peek() != '[' {
		return in, r.Mismatch("a list of one or two strings")
	}
	var texts []string
	err = textsIn(&texts)(r)
	switch {
	case err != nil:
		return in, err
	case len(texts) > 2:
		return in, named("must be a list of one or two strings, got a list of %d", len(texts))
	case len(texts) == 2:
		in.Second = &texts[1]
	}
	in.Text = texts[0]
	return in, nil
}

// TeiPredict classifies texts or pairs of texts.
func (h *Handler) TeiPredict(w http.ResponseWriter, r *http.Request, model string) {
	var p prediction
	err := h.teiRead(r, with(members{"inputs": p.input}, p.raw(), p.tei()), &p.options, model, "inputs")
	var req *inference.EncodeRequest
	if err == nil {
		req, err = h.request(r.Context(), &p.options, inference.TaskClassify)
	}
	if err != nil {
		writeError(w, r, err)
		return
	}
	req.Inputs, req.Param = p.inputs, teiParam(p.one)
	answer, err := h.encode(r.Context(), req)
	if err != nil {
		writeError(w, r, err)
		return
	}
	lists := make([]api.TEIPredictions, len(answer.Results))
	for i := range answer.Results {
		lists[i] = predictions(answer.Labels, answer.Results[i].Classes)
	}
	if p.one {
		writeJSON(w, r, lists[0])
		return
	}
	writeJSON(w, r, lists)
}

// TeiRerank ranks texts by their relevance to a query.
func (h *Handler) TeiRerank(w http.ResponseWriter, r *http.Request, model string) {
	var q ranking
	body := with(members{"query": textIn(&q.query), "texts": textsIn(&q.texts), "return_text": flagIn(&q.returnsAs)}, q.raw(), q.tei())
	err := h.teiRead(r, body, &q.options, model, "query", "texts")
	var ranks []rank
	if err == nil {
		ranks, _, err = h.rank(r.Context(), &q)
	}
	if err != nil {
		writeError(w, r, err)
		return
	}
	writeJSON(w, r, teiRanks(ranks, q.returnsAs != nil && *q.returnsAs))
}

// TeiSimilarity compares a sentence with others.
func (h *Handler) TeiSimilarity(w http.ResponseWriter, r *http.Request, model string) {
	var o options
	var source string
	var sentences []string
	inputs := members{"source_sentence": textIn(&source), "sentences": textsIn(&sentences)}
	parameters := with(members{"prompt_name": anyTextIn(&o.promptName)}, o.tei())
	body := members{
		"inputs":     func(r *strictjson.Reader) error { return o.object(r, inputs, "inputs", "source_sentence", "sentences") },
		"parameters": func(r *strictjson.Reader) error { return o.object(r, parameters, "parameters") },
	}
	err := h.teiRead(r, body, &o, model, "inputs")
	var answer *inference.EncodeAnswer
	if err == nil {
		answer, err = h.similarity(r.Context(), &o, append([]string{source}, sentences...))
	}
	if err != nil {
		writeError(w, r, err)
		return
	}
	cosines := make([]float32, len(sentences))
	for i := range cosines {
		cosines[i] = float32(vector.Dot(answer.Results[0].Vector, answer.Results[i+1].Vector))
	}
	writeBody(w, vector.AppendJSON(nil, cosines))
}

// similarity returns the vectors of unit length of a sentence and of others.
func (h *Handler) similarity(ctx context.Context, o *options, texts []string) (*inference.EncodeAnswer, error) {
	o.normalize = new(true)
	req, err := h.request(ctx, o, inference.TaskEmbed)
	if err != nil {
		return nil, err
	}
	req.Inputs = textInputs(texts)
	req.Param = func(i int) string {
		if i == 0 {
			return "inputs.source_sentence"
		}
		return "inputs.sentences" + strictjson.Index(i-1)
	}
	return h.encode(ctx, req)
}

// TeiRun does what the model is for.
func (h *Handler) TeiRun(w http.ResponseWriter, r *http.Request, model string) {
	raw, err := server.ReadBody(r)
	var named catalog.Named
	if err == nil {
		err = inference.MayUse(r.Context(), model)
	}
	if err == nil {
		named, err = h.service.Catalog().Model(r.Context(), model)
	}
	if err != nil {
		writeError(w, r, err)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	tasks, form := named.Card.Tasks, formOf(raw)
	switch {
	case form == formTexts:
		h.TeiRerank(w, r, model)
	case form == formSentences:
		h.TeiSimilarity(w, r, model)
	case tasks&inference.TaskEmbed != 0:
		h.TeiEmbed(w, r, model)
	case tasks&inference.TaskClassify != 0:
		h.TeiPredict(w, r, model)
	case tasks&inference.TaskSparse != 0:
		h.TeiEmbedSparse(w, r, model)
	default:
		h.TeiEmbed(w, r, model) // the core names what the model lacks
	}
}

// The forms of TEI's requests that differ in their members.
const (
	formInputs = iota
	formTexts
	formSentences
)

// formOf returns the form of a body, which may be any text.
func formOf(raw []byte) (form int) {
	_ = strictjson.Read(raw, func(r *strictjson.Reader) error { // the operation reports errors
		return r.Object(func(key string) error {
			switch {
			case key == "texts":
				form = formTexts
			case key == "inputs" && r.Peek() == '{':
				form = formSentences
			}
			_, err := r.Value(false)
			return err
		})
	})
	return form
}

// TeiInfo describes a model.
func (h *Handler) TeiInfo(w http.ResponseWriter, r *http.Request, model string) {
	err := h.checkTEIModel(model)
	var named catalog.Named
	if err == nil {
		server.RecordOf(r.Context()).Model = model
		err = inference.MayUse(r.Context(), model)
	}
	if err == nil {
		named, err = h.service.Catalog().Model(r.Context(), model)
	}
	if err != nil {
		writeError(w, r, err)
		return
	}
	card := named.Card
	info := api.TEIInfo{
		ModelID: card.Name, ServedModelName: named.Name, ModelDtype: dtype(card), ModelType: modelType(card),
		MaxInputLength: card.ContextLength, MaxClientBatchSize: budget.EncodeInputs, TokenizationWorkers: runtime.GOMAXPROCS(0),
		MaxConcurrentRequests: h.service.Admission().MaxInFlight(), Version: h.cfg.Version,
	}
	if s := card.Encoder; s != nil {
		info.MaxBatchTokens = s.MaxBatchTokens
	}
	if n := int(card.Config.GetMaxBatchSize()); n > 0 {
		info.MaxBatchRequests = &n
	}
	writeJSON(w, r, info)
}

// dtype returns the type of a model's first output, in TEI's words.
func dtype(card *catalog.Card) string {
	if outputs := card.Config.GetOutput(); len(outputs) > 0 {
		switch outputs[0].GetDataType() { //nolint:exhaustive // other types are converted
		case kserve.DataType_TYPE_FP16:
			return "float16"
		case kserve.DataType_TYPE_BF16:
			return "bfloat16"
		}
	}
	return "float32"
}

// modelType returns the kind of a model.
func modelType(card *catalog.Card) api.TEIModelType {
	labels := &api.TEIClassifierModel{Id2Label: map[string]string{}, Label2ID: map[string]int{}}
	pooling := "model"
	if s := card.Encoder; s != nil {
		for i, label := range s.Labels {
			labels.Id2Label[strconv.Itoa(i)], labels.Label2ID[label] = label, i
		}
		if s.Pooling != "" {
			pooling = s.Pooling
		}
	}
	switch {
	case card.Tasks&(inference.TaskScore|inference.TaskGenerate) != 0 && card.Tasks&inference.TaskEmbed == 0:
		return api.TEIModelType{Reranker: labels}
	case card.Tasks&inference.TaskClassify != 0:
		return api.TEIModelType{Classifier: labels}
	}
	if pooling == "last" {
		pooling = "last_token"
	}
	return api.TEIModelType{Embedding: &api.TEIEmbeddingModel{Pooling: pooling}}
}
