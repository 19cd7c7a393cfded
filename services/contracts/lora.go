package contracts

import (
	"encoding/binary"
	"slices"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// loraForm returns the way in which a model with a separate input for each parameter receives an
// adapter. The inputs that the model declares determine the way.
func loraForm(config *kserve.ModelConfig) inference.LoRAForm {
	inputs := declared(config)
	all := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return inputs[name] == nil })
	}
	switch {
	case all(inLoRATask, inLoRAWeights, inLoRAConfig):
		return inference.LoRAByID
	case all(inLoRAID, inLoRAName, inLoRAPath):
		return inference.LoRAByPath
	case all(inLoRAName) && inputs[inLoRAPath] == nil:
		return inference.LoRAByName
	}
	return inference.LoRANone
}

// lora sends the name or number of an adapter, and its weights if the engine needs them.
func (e *separate) lora(adapter *inference.LoRA) {
	if adapter == nil {
		return
	}
	switch loraForm(e.target.Config) {
	case inference.LoRANone:
		e.fail(inference.Unsupported("model", "LoRA adapters are not supported by the model `%s`: it declares no inputs for them", e.target.Name))
	case inference.LoRAByID:
		e.add(inLoRATask, "UINT64", binary.LittleEndian.AppendUint64(nil, adapter.ID))
		if w := adapter.Weights; w != nil {
			e.matrix(inLoRAWeights, "FP16", w.Weights, w.Rows, w.Width)
			e.matrix(inLoRAConfig, "INT32", w.Config, w.Rows, w.Columns)
		}
	case inference.LoRAByPath:
		e.add(inLoRAID, "UINT64", binary.LittleEndian.AppendUint64(nil, adapter.ID))
		e.text(inLoRAPath, adapter.Path)
		e.text(inLoRAName, adapter.Name)
	case inference.LoRAByName:
		e.text(inLoRAName, adapter.Name)
	}
}

// matrix sends a tensor of two dimensions after the batch dimension. A tensor that doesn't fit the
// declared shape is refused here, because Triton's error would reveal the model's inputs to the
// client.
func (e *separate) matrix(name, datatype string, raw []byte, rows, columns int64) {
	in := e.inputs[name]
	fits := func(i int, n int64) bool { return in.GetDims()[i] < 0 || in.GetDims()[i] == n }
	if in.GetDataType().String() != "TYPE_"+datatype || len(in.GetDims()) != 2 || !fits(0, rows) || !fits(1, columns) {
		e.fail(&inference.Error{
			Code: inference.CodeInternal, Param: "model",
			Message: "the weights of this LoRA adapter don't have the shape and the datatype that the model `" + e.target.Name + "` declares for its input " + name,
		})
		return
	}
	e.send(name, datatype, raw, append(slices.Clone(e.shape[:len(e.shape)-1]), rows, columns))
}
