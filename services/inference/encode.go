package inference

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/trident-inference/trident/services/budget"
)

// taskNames has the tasks with their names in settings, and their descriptions.
var taskNames = []struct { //nolint:gochecknoglobals // a constant table
	task       Task
	name, what string
}{
	{TaskGenerate, "generate", "text generation"},
	{TaskEmbed, "embed", "embeddings"},
	{TaskTokenEmbed, "token_embed", "embeddings of tokens"},
	{TaskSparse, "sparse", "sparse vectors"},
	{TaskScore, "score", "scores of pairs"},
	{TaskClassify, "classify", "classification"},
}

// ParseTask returns the task with a name of [SettingTask].
func ParseTask(name string) (Task, bool) {
	for _, t := range taskNames {
		if t.name == name {
			return t.task, true
		}
	}
	return 0, false
}

// Names returns the names of tasks, in a fixed order.
func (t Task) Names() []string {
	var names []string
	for _, known := range taskNames {
		if t&known.task != 0 {
			names = append(names, known.name)
		}
	}
	return names
}

// what describes a task for errors.
func (t Task) what() string {
	for _, known := range taskNames {
		if t&known.task != 0 {
			return known.what
		}
	}
	return "this task"
}

// EncodeRequest is one request to an encoder, independent of any frontend's wire format and of any
// backend's tensors. Each of its inputs gets one result. An EncodeRequest is read-only once it has
// been passed to the service.
type EncodeRequest struct {
	// ID identifies the request in logs and in Triton's request id.
	ID string
	// Model is the name that the client used.
	Model string
	// Task is the only task of all inputs: [TaskEmbed], [TaskTokenEmbed], [TaskSparse], [TaskScore] or
	// [TaskClassify].
	Task Task
	// Inputs are the texts, lists of token ids or pairs to encode. The results have their order.
	Inputs []EncodeInput
	// Param returns the request field that has an input, for errors. Nil means input for the only
	// input, and input[i] for one of several.
	Param func(input int) string

	// Type selects the prompt that is put before the inputs without a type of their own.
	Type InputType
	// PromptName is the name of one of the model's prompts, which takes precedence over the type. A
	// name that the model doesn't have is an error.
	PromptName string
	// PromptParam is the request field that has PromptName, for errors. Empty means prompt_name.
	PromptParam string

	// Truncate shortens inputs that exceed the model's maximum length. With the zero value they are
	// refused.
	Truncate TruncateSide
	// MaxTokens is the maximum number of tokens of an input with its special tokens, if it is lower
	// than the model's. 0 means the model's.
	MaxTokens int
	// MaxSecond is the maximum number of tokens of the second text of a pair, which is always
	// shortened to it. 0 means no maximum.
	MaxSecond int

	// Dimensions truncates vectors to their first n components, before they are normalized. 0 keeps
	// all components.
	Dimensions int
	// Normalize scales vectors to unit length. Nil means the model's setting.
	Normalize *bool
	// Raw returns scores and classes as the model's logits, without its activation function.
	Raw bool

	// Priority is the scheduling priority that the client requested. It is nil for the model's
	// default.
	Priority *int
}

// EncodeInput is one text, one list of token ids, or one pair of texts.
type EncodeInput struct {
	Input

	// Second is the second text of a pair, such as the document that is scored for the query. It is
	// nil for a single text. Pairs have no token ids.
	Second *string
	// Image is the image of the input, alone or with its text. It is nil if there is none. Inputs with an
	// image have no token ids and no second text.
	Image *ImageRef
	// Type replaces the type of the request if it isn't empty.
	Type InputType
}

// ImageRefs lists the images of the inputs.
func (r *EncodeRequest) ImageRefs() []ImageRef {
	var refs []ImageRef
	for i := range r.Inputs {
		if image := r.Inputs[i].Image; image != nil {
			refs = append(refs, *image)
		}
	}
	return refs
}

// EncodeInputs returns inputs without second texts and types of their own.
func EncodeInputs(inputs []Input) []EncodeInput {
	list := make([]EncodeInput, len(inputs))
	for i := range inputs {
		list[i].Input = inputs[i]
	}
	return list
}

// EncodePairs returns pairs of texts: each first text with the second one at its index, or the only first
// text with all second texts. The pairs refer to second.
func EncodePairs(first, second []string) []EncodeInput {
	list := make([]EncodeInput, len(second))
	for i := range second {
		list[i].Text, list[i].Second = first[min(i, len(first)-1)], &second[i]
	}
	return list
}

// InputType is the role of a text, by which a model may have a prompt for it.
type InputType string

// The types of inputs. The empty type has the model's default prompt.
const (
	InputAny      InputType = ""
	InputQuery    InputType = "query"
	InputDocument InputType = "document"
)

// TruncateSide is the side of a text from which tokens are removed if it is too long.
type TruncateSide string

// The sides of a truncation.
const (
	TruncateNever TruncateSide = ""      // a text that is too long is an error
	TruncateRight TruncateSide = "right" // the start of the text remains
	TruncateLeft  TruncateSide = "left"  // the end of the text remains
)

// InputParam returns the request field that has an input, for errors.
func (r *EncodeRequest) InputParam(input int) string {
	switch {
	case r.Param != nil:
		return r.Param(input)
	case len(r.Inputs) == 1:
		return "input"
	}
	return fmt.Sprintf("input[%d]", input)
}

// Validate returns an error that names the first field out of range, for frontends whose wire format
// has no schema.
func (r *EncodeRequest) Validate() error {
	most := budget.EncodeInputs
	if r.Task == TaskEmbed && r.Param == nil {
		most = maxInputs
	}
	switch {
	case len(r.Inputs) > most:
		param, _, _ := strings.Cut(r.InputParam(0), "[")
		return Invalid(param, "%s takes at most %d entries, got %d", param, most, len(r.Inputs))
	case r.Dimensions < 0:
		return Invalid("dimensions", "dimensions must be at least 1, got %d", r.Dimensions)
	case r.MaxTokens < 0:
		return Invalid("max_tokens", "max_tokens must be at least 1, got %d", r.MaxTokens)
	}
	return nil
}

// Operation returns the operation that the request asks for.
func (r *EncodeRequest) Operation() Operation {
	switch r.Task {
	case TaskScore:
		return OperationScore
	case TaskClassify:
		return OperationClassify
	default:
		return OperationEmbeddings
	}
}

// EncodeAnswer is the answer of an encoder.
type EncodeAnswer struct {
	// Results have the order of the request's inputs.
	Results []Encoded
	// Labels are the names of the classes, in the order of [Encoded.Classes]. A model without names has
	// LABEL_0, LABEL_1 and so on.
	Labels []string
	Usage  Usage
}

// Ranking returns the indices of the results in the descending order of their scores. Results with the
// same score keep their order. If top is above 0, it is the maximum number of indices.
func (a *EncodeAnswer) Ranking(top int) []int {
	order := make([]int, len(a.Results))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(a.Results[j].Score, a.Results[i].Score) })
	if top > 0 && top < len(order) {
		order = order[:top]
	}
	return order
}

// Encoded is the result of one input. The request's task determines the field that is set.
type Encoded struct {
	// Vector is the result of [TaskEmbed].
	Vector []float32
	// Tokens are the vectors of the input's tokens, one for each row, special tokens included: the
	// result of [TaskTokenEmbed].
	Tokens Matrix
	// Sparse are the weights of tokens above 0, by ascending id: the result of [TaskSparse].
	Sparse []TokenWeight
	// Score is the result of [TaskScore]: a higher score means a better match.
	Score float64
	// Classes are the probabilities of the classes, or their logits if the request is Raw: the
	// result of [TaskClassify].
	Classes []float64
	// PromptTokens is the number of tokens of the input as the model reads it. It is 0 if nothing
	// counts them.
	PromptTokens int
	// Truncated reports whether tokens of the input were removed.
	Truncated bool
}

// Likeliest returns the index of the class with the highest number, the first one of several.
func (e *Encoded) Likeliest() int {
	best := 0
	for i := range e.Classes {
		if e.Classes[i] > e.Classes[best] {
			best = i
		}
	}
	return best
}

// Values returns the number of values of the result, by which its memory is limited.
func (e *Encoded) Values() int {
	return len(e.Vector) + len(e.Tokens.Values) + 3*len(e.Sparse) + 2*len(e.Classes)
}

// Matrix has rows of equal length, one after the other.
type Matrix struct {
	Rows, Columns int
	Values        []float32
}

// Row returns a row as a view.
func (m *Matrix) Row(i int) []float32 { return m.Values[i*m.Columns:][:m.Columns:m.Columns] }

// TokenWeight is the weight of a token in a sparse vector.
type TokenWeight struct {
	ID     int
	Weight float32
}
