package inference

import "errors"

// LoRA is a LoRA adapter that a job uses.
type LoRA struct {
	// Name is the adapter's name in the model.
	Name string
	// ID is the number by which engines identify an adapter, where adapters are given by number.
	// It is the same after each start, and unique among the adapters of all models.
	ID uint64
	// Path is the adapter's folder as the engine sees it. It is empty if the path isn't known.
	Path string
	// Weights are sent with the request. Weights is nil if the engine is assumed to have the
	// weights.
	Weights *LoRAWeights
}

// LoRAWeights are the tensors of an adapter in the layout of TensorRT-LLM: little-endian and
// row-major.
type LoRAWeights struct {
	// Rows has one row for each adapted module of each layer.
	Rows int64
	// Width is the number of values in a row of Weights, and Columns that in a row of Config.
	Width, Columns int64
	// Weights are the adapter's weights: FP16 values of the shape [Rows, Width].
	Weights []byte
	// Config describes the adapted modules: INT32 values of the shape [Rows, Columns]. Its columns
	// are the module, the layer and the rank.
	Config []byte
}

// LoRAForm is the way in which a kind of model receives an adapter.
type LoRAForm uint8

// The forms in which an engine expects a LoRA adapter in a request.
const (
	LoRANone   LoRAForm = iota // the model takes no adapters
	LoRAByName                 // the request has the adapter's name
	LoRAByID                   // the request has the adapter's number, and its weights while the engine lacks them
	LoRAByPath                 // the request has the adapter's number, its name and the path of its folder
)

// ErrNoLoRA is in the error of an engine that lacks an adapter which a request named by number.
// The engine never had the adapter, or has replaced it by another one.
var ErrNoLoRA = errors.New("the engine doesn't have the weights of the LoRA adapter")
