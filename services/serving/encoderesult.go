package serving

import (
	"fmt"
	"math"
	"slices"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/vector"
)

// conclude brings the results into the form that the client asked for, and counts the tokens.
func (e *encoding) conclude() error {
	for i := range e.units {
		if err := e.finish(e.units[i].item.Task, e.units[i].item.Result); err != nil {
			return err
		}
	}
	for i, pair := range e.pairs {
		first, second := e.units[pair[0]].item.Result, e.units[pair[1]].item.Result
		if len(first.Vector) != len(second.Vector) {
			return fmt.Errorf("model %s: embeddings of %d and %d dimensions can't be compared", e.card.Name, len(first.Vector), len(second.Vector))
		}
		e.answer.Results[i] = inference.Encoded{
			Score: vector.Cosine(first.Vector, second.Vector), PromptTokens: first.PromptTokens + second.PromptTokens, Truncated: first.Truncated || second.Truncated,
		}
	}
	if e.req.Task == inference.TaskClassify {
		if err := e.label(); err != nil {
			return err
		}
	}
	e.count()
	return nil
}

// finish brings the result of a unit into the form that the client asked for.
func (e *encoding) finish(task inference.Task, result *inference.Encoded) (err error) {
	switch task {
	case inference.TaskEmbed:
		if result.Vector == nil {
			return fmt.Errorf("model %s: the response ended without an embedding", e.card.Name)
		}
		result.Vector, err = e.shape(result.Vector)
	case inference.TaskTokenEmbed:
		result.Tokens, err = e.shapeTokens(result.Tokens)
	case inference.TaskScore:
		values := []float64{result.Score}
		err = e.activate(values)
		result.Score = values[0]
	case inference.TaskClassify:
		err = e.activate(result.Classes)
	case inference.TaskSparse:
		for _, w := range result.Sparse {
			if math.IsInf(float64(w.Weight), 0) { // the decoder keeps only weights above 0, which excludes NaN
				return fmt.Errorf("model %s: the weight of the token %d isn't finite", e.card.Name, w.ID)
			}
		}
	default:
	}
	return err
}

// shape truncates an embedding to the requested dimensions, and normalizes it unless the model or the
// client wants it as it is. A truncated vector no longer has unit length. The engine isn't asked to
// truncate, because only some models support that parameter, and the result is the same.
func (e *encoding) shape(v []float32) ([]float32, error) {
	if n := e.req.Dimensions; n > len(v) {
		return nil, inference.Invalid("dimensions", "the model `%s` returns embeddings of %d dimensions, but %d were requested", e.req.Model, len(v), n)
	} else if n > 0 {
		v = v[:n:n]
	}
	normalize := e.card.Encoder.Normalize
	if e.req.Normalize != nil {
		normalize = *e.req.Normalize
	}
	if !normalize {
		return v, checkFinite(e.card.Name, v)
	}
	if err := vector.Normalize(v); err != nil {
		return nil, fmt.Errorf("model %s: %w", e.card.Name, err)
	}
	return v, nil
}

// checkFinite returns an error for a vector that JSON can't represent.
func checkFinite(model string, v []float32) error {
	if sum := vector.Dot(v, v); math.IsNaN(sum) || math.IsInf(sum, 0) {
		return fmt.Errorf("model %s: the vector has components that aren't finite", model)
	}
	return nil
}

// shapeTokens is shape for the vectors of tokens.
func (e *encoding) shapeTokens(m inference.Matrix) (inference.Matrix, error) {
	columns := m.Columns
	if e.req.Dimensions > 0 {
		columns = e.req.Dimensions
	}
	shaped := inference.Matrix{Rows: m.Rows, Columns: columns, Values: make([]float32, 0, m.Rows*min(columns, m.Columns))}
	for i := range m.Rows {
		row, err := e.shape(m.Row(i))
		if err != nil {
			return m, err
		}
		shaped.Values = append(shaped.Values, row...)
	}
	return shaped, nil
}

// activate replaces logits by the values of the model's activation function, unless the client wants them as they are.
func (e *encoding) activate(logits []float64) error {
	for _, x := range logits {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("model %s: the logit %v isn't finite", e.card.Name, x)
		}
	}
	function := e.card.Encoder.Activation
	switch {
	case e.req.Raw:
		function = inference.ActivationNone
	case function == "" && e.form.Activated:
		function = inference.ActivationNone
	case function == "" && len(logits) == 1, function == inference.ActivationSoftmax && len(logits) == 1:
		function = inference.ActivationSigmoid
	case function == "":
		function = inference.ActivationSoftmax
	}
	switch function {
	case inference.ActivationSigmoid:
		for i, x := range logits {
			logits[i] = 1 / (1 + math.Exp(-x))
		}
	case inference.ActivationSoftmax:
		softmax(logits)
	case inference.ActivationNone:
	}
	return nil
}

// softmax replaces logits by probabilities.
func softmax(logits []float64) {
	if len(logits) == 0 {
		return
	}
	highest, sum := slices.Max(logits), 0.0
	for i, x := range logits {
		logits[i] = math.Exp(x - highest)
		sum += logits[i]
	}
	for i := range logits {
		logits[i] /= sum
	}
}

// label sets the names of the classes. Labels that don't match the model's classes are an error, because
// a class would have a false name.
func (e *encoding) label() error {
	labels := e.card.Encoder.Labels
	for i := range e.answer.Results {
		n := len(e.answer.Results[i].Classes)
		if labels == nil {
			for k := range n {
				labels = append(labels, fmt.Sprintf("LABEL_%d", k))
			}
		}
		if n != len(labels) {
			return &inference.Error{
				Code: inference.CodeInternal, Param: "model",
				Message: fmt.Sprintf("the model `%s` returns %d classes, but has %d labels: set the parameter %s%s in its config.pbtxt", e.req.Model, n, len(labels), inference.ParamPrefix, inference.SettingLabels),
			}
		}
	}
	e.answer.Labels = labels
	return nil
}

// count adds the tokens of the units. A text of several pairs is encoded once, and counts once. An image without a text has
// no tokens.
func (e *encoding) count() {
	usage := &e.answer.Usage
	for i := range e.units {
		n := e.units[i].item.Result.PromptTokens
		usage.PromptTokens += n
		counted := n > 0 || e.units[i].textless() && e.card.Tokenizer != nil
		usage.Unknown = usage.Unknown || !counted
	}
}
