package inference

import "errors"

// LoRA is an adapter that a job is to be answered with.
type LoRA struct {
	// Name that the model has for it.
	Name string
	// ID by which engines know adapters that are given by number: the same at each
	// start, and no other's of any model.
	ID uint64
	// Path of its folder, as the engine sees it; empty where that isn't known.
	Path string
	// Weights to send along; nil when the engine is taken to have them.
	Weights *LoRAWeights
}

// LoRAWeights are the tensors of an adapter as TensorRT-LLM takes them, little-endian
// and row by row.
type LoRAWeights struct {
	// Rows: one for each module of each layer that is adapted.
	Rows int64
	// Width of a row of Weights, in values, and Columns of one of Config.
	Width, Columns int64
	// Weights are FP16 [Rows, Width].
	Weights []byte
	// Config is INT32 [Rows, Columns]: the module, the layer and the rank.
	Config []byte
}

// LoRAForm is how a kind of model is told of an adapter.
type LoRAForm uint8

// The forms.
const (
	LoRANone   LoRAForm = iota // it takes none
	LoRAByName                 // by the name alone
	LoRAByID                   // by a number, and by the weights while the engine lacks them
	LoRAByPath                 // by a number, a name and the path of a folder
)

// ErrNoLoRA is in the errors of engines that don't have an adapter which they were
// asked for by its number: they never had it, or have put others in its place.
var ErrNoLoRA = errors.New("the engine doesn't have the weights of the LoRA adapter")
