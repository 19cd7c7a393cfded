package encoders

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/jsonstring"
	"github.com/trident-inference/trident/services/strictjson"
	"github.com/trident-inference/trident/services/vector"
)

// The tasks of /pooling.
const (
	poolEmbed         = "embed"
	poolTokenEmbed    = "token_embed"
	poolClassify      = "classify"
	poolScore         = "score"
	poolTokenClassify = "token_classify"
)

// pooling is a request for vectors in vLLM's form.
type pooling struct {
	options

	inputs []inference.Input
	one    bool
	task   string
	format string
}

// Pool returns vectors in the form of vLLM.
func (h *Handler) Pool(w http.ResponseWriter, r *http.Request) {
	p := pooling{format: "float"}
	body := with(members{
		"input":           inputsIn(&p.inputs, &p.one),
		"task":            wordIn(&p.task, poolEmbed, poolClassify, poolScore, poolTokenEmbed, poolTokenClassify),
		"encoding_format": wordIn(&p.format, "float", "base64"),
		"dimensions":      integerIn(&p.dimensions, 1),
		"normalize":       flagIn(&p.normalize),
		"input_type":      anyTextIn(&p.inputType),
	}, p.vllm(), p.activations())
	err := body.read(r, "input")
	var req *inference.EncodeRequest
	if err == nil {
		req, err = h.request(r.Context(), &p.options, 0)
	}
	if err == nil {
		req.Task, err = h.poolingTask(r.Context(), &p)
	}
	if err == nil && req.Task == inference.TaskSparse && p.format == "base64" {
		err = inference.Unsupported("encoding_format", "encoding_format must be float for sparse vectors: base64 has no token ids")
	}
	if err != nil {
		writeError(w, r, err)
		return
	}
	req.Inputs = inference.EncodeInputs(p.inputs)
	req.Param = p.param // without it, the limit of OpenAI's embeddings would apply
	answer, err := h.encode(r.Context(), req)
	if err != nil {
		writeError(w, r, err)
		return
	}
	writeBody(w, p.response(answer))
}

// param returns the path of an input in the request.
func (p *pooling) param(i int) string {
	if len(p.inputs) == 1 {
		return "input"
	}
	return "input" + strictjson.Index(i)
}

// poolingTask returns the core's task. Without a task of the client it is what the model is for.
func (h *Handler) poolingTask(ctx context.Context, p *pooling) (inference.Task, error) {
	switch p.task {
	case poolEmbed:
		return inference.TaskEmbed, nil
	case poolClassify, poolScore:
		return inference.TaskClassify, nil
	case poolTokenClassify:
		return inference.TaskSparse, nil
	case poolTokenEmbed:
		return inference.TaskTokenEmbed, nil
	}
	named, err := h.service.Catalog().Model(ctx, p.model)
	if err != nil {
		return 0, err
	}
	for _, task := range []inference.Task{inference.TaskTokenEmbed, inference.TaskClassify, inference.TaskEmbed, inference.TaskSparse} {
		if named.Card.Tasks&task != 0 {
			return task, nil
		}
	}
	return inference.TaskTokenEmbed, nil // the core refuses it
}

// response returns the body of the response. It is appended, because vectors of tokens are large.
func (p *pooling) response(answer *inference.EncodeAnswer) []byte {
	b := fmt.Appendf(nil, `{"id":"%s","object":"list","created":%d,"model":%s,"data":[`, newID("pool"), now(), jsonstring.Quoted(p.model))
	for i := range answer.Results {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"index":%d,"object":"pooling","data":`, i)
		b = append(p.appendData(b, &answer.Results[i]), '}')
	}
	b = append(b, ']')
	if u := usage(&answer.Usage); u != nil {
		b = fmt.Appendf(b, `,"usage":{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d}`, u.PromptTokens, u.TotalTokens, u.CompletionTokens)
	}
	return append(b, '}')
}

// appendData appends the result of an input: a list, a list of lists, or the base64 of their numbers.
func (p *pooling) appendData(b []byte, e *inference.Encoded) []byte {
	if p.format == "base64" {
		return vector.AppendBase64(b, values(e))
	}
	if e.Tokens.Rows > 0 {
		return appendRows(b, &e.Tokens)
	}
	if e.Sparse != nil {
		return appendSparse(b, e.Sparse)
	}
	return vector.AppendJSON(b, values(e))
}

// values returns the numbers of a result that isn't a sparse vector.
func values(e *inference.Encoded) []float32 {
	switch {
	case e.Vector != nil:
		return e.Vector
	case e.Tokens.Rows > 0:
		return e.Tokens.Values
	}
	numbers := make([]float32, 0, len(e.Classes))
	for _, class := range e.Classes {
		numbers = append(numbers, float32(class))
	}
	return numbers
}

// appendRows appends the rows of a matrix.
func appendRows(b []byte, m *inference.Matrix) []byte {
	b = append(b, '[')
	for i := range m.Rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = vector.AppendJSON(b, m.Row(i))
	}
	return append(b, ']')
}

// appendSparse appends weights as objects with the token id and the weight.
func appendSparse(b []byte, weights []inference.TokenWeight) []byte {
	b = append(b, '[')
	for i, w := range weights {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"index":%d,"value":`, w.ID)
		b = append(strconv.AppendFloat(b, float64(w.Weight), 'g', -1, 32), '}')
	}
	return append(b, ']')
}
