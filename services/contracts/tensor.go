package contracts

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// declared returns a model's inputs by name.
func declared(config *kserve.ModelConfig) map[string]*kserve.ModelInput {
	inputs := make(map[string]*kserve.ModelInput, len(config.GetInput()))
	for _, in := range config.GetInput() {
		inputs[in.GetName()] = in
	}
	return inputs
}

// declares reports whether a model has an output of this name.
func declares(config *kserve.ModelConfig, output string) bool {
	return slices.ContainsFunc(config.GetOutput(), func(o *kserve.ModelOutput) bool { return o.GetName() == output })
}

// tensors builds a request from inputs that the model declares: Triton refuses a request with an
// undeclared input. Inputs have one element, in the shape [1], or [1, 1] if the model has a batch
// dimension. Lists have their own shapes.
type tensors struct {
	inputs map[string]*kserve.ModelInput
	shape  []int64
	req    *kserve.ModelInferRequest
}

func newTensors(target *inference.Target) *tensors {
	t := &tensors{
		inputs: declared(target.Config),
		shape:  []int64{1},
		req:    &kserve.ModelInferRequest{ModelName: target.Name},
	}
	if target.Config.GetMaxBatchSize() > 0 {
		t.shape = []int64{1, 1}
	}
	return t
}

// require returns an error if a needed input isn't declared.
func (t *tensors) require(needed bool, input, param string) error {
	if needed && t.inputs[input] == nil {
		return inference.Unsupported(param, "this model does not return %s: it does not declare the input %s", param, input)
	}
	return nil
}

func (t *tensors) text(name, value string) {
	t.add(name, "BYTES", appendText(make([]byte, 0, 4+len(value)), value))
}

func appendText(raw []byte, value string) []byte {
	return append(binary.LittleEndian.AppendUint32(raw, uint32(len(value))), value...)
}

// list sends n elements. It returns false if the model's shape doesn't allow that number.
func (t *tensors) list(name, datatype string, raw []byte, n int) bool {
	shape, ok := listShape(t.inputs[name], t.shape[:len(t.shape)-1], n)
	if ok {
		t.send(name, datatype, raw, shape)
	}
	return ok
}

// listShape returns a shape with n elements in the last variable dimension, after the batch
// dimensions.
func listShape(in *kserve.ModelInput, batch []int64, n int) ([]int64, bool) {
	shape, size, open := append([]int64(nil), batch...), int64(1), -1
	for _, d := range in.GetDims() {
		if d < 0 {
			d, open = 1, len(shape)
		}
		shape, size = append(shape, d), size*d
	}
	if open >= 0 {
		shape[open], size = int64(n), size*int64(n)
	}
	return shape, size == int64(n)
}

func (t *tensors) bool(name string, value bool) {
	raw := []byte{0}
	if value {
		raw[0] = 1
	}
	t.add(name, "BOOL", raw)
}

// priority sets Triton's scheduling priority if the model has priority levels. For other models,
// the priority applies only in Trident's own queue.
func (t *tensors) priority(target *inference.Target, p *int) error {
	if p == nil {
		return nil
	}
	levels := target.Config.GetDynamicBatching().GetPriorityLevels()
	if levels == 0 {
		return nil
	}
	if *p < 1 || uint64(*p) > levels {
		return inference.Invalid("priority", "priority must be from 1 to %d", levels)
	}
	t.req.Parameters = map[string]*kserve.InferParameter{
		"priority": {ParameterChoice: &kserve.InferParameter_Uint64Param{Uint64Param: uint64(*p)}},
	}
	return nil
}

func (t *tensors) add(name, datatype string, raw []byte) {
	in := t.inputs[name]
	if in == nil {
		return
	}
	shape := t.shape
	if len(in.GetDims()) > 1 {
		shape, _ = listShape(in, t.shape[:len(t.shape)-1], 1)
	}
	t.send(name, datatype, raw, shape)
}

func (t *tensors) send(name, datatype string, raw []byte, shape []int64) {
	t.req.Inputs = append(t.req.Inputs, &kserve.ModelInferRequest_InferInputTensor{Name: name, Datatype: datatype, Shape: shape})
	t.req.RawInputContents = append(t.req.RawInputContents, raw)
}

// number encodes a value in the datatype that a model declares. It returns nil if the datatype
// can't represent the value. Negative integers are encoded in UINT64 as two's complement, which is
// sufficient for seeds.
func number[T int64 | float64](declared kserve.DataType, value T) (datatype string, raw []byte) {
	switch declared {
	case kserve.DataType_TYPE_FP32:
		return "FP32", binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(value)))
	case kserve.DataType_TYPE_FP64:
		return "FP64", binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(value)))
	case kserve.DataType_TYPE_INT32:
		if T(int32(value)) == value {
			return "INT32", binary.LittleEndian.AppendUint32(nil, uint32(int32(value)))
		}
	case kserve.DataType_TYPE_UINT32:
		if T(uint32(value)) == value {
			return "UINT32", binary.LittleEndian.AppendUint32(nil, uint32(value))
		}
	case kserve.DataType_TYPE_INT64:
		if T(int64(value)) == value {
			return "INT64", binary.LittleEndian.AppendUint64(nil, uint64(int64(value)))
		}
	case kserve.DataType_TYPE_UINT64:
		if T(int64(value)) == value {
			return "UINT64", binary.LittleEndian.AppendUint64(nil, uint64(int64(value)))
		}
	default:
	}
	return "", nil
}

// firstBytes returns the first element of a BYTES tensor as a view. An empty tensor is an empty
// text.
func firstBytes(out *inference.Output) ([]byte, error) {
	if out.Type != "BYTES" {
		return nil, fmt.Errorf("the output tensor has datatype %s instead of BYTES", out.Type)
	}
	element, _, err := nextBytes(out.Raw)
	return element, err
}

// nextBytes returns the first element of a BYTES tensor as a view, and the rest. Both are nil for
// an empty tensor.
func nextBytes(raw []byte) (element, rest []byte, err error) {
	if len(raw) == 0 {
		return nil, nil, nil
	}
	if len(raw) < 4 {
		return nil, nil, errors.New("an element of a BYTES tensor is shorter than its 4-byte length prefix")
	}
	n := uint64(binary.LittleEndian.Uint32(raw))
	if n > uint64(len(raw)-4) {
		return nil, nil, fmt.Errorf("an element of a BYTES tensor has a length prefix of %d bytes, but only %d bytes follow", n, len(raw)-4)
	}
	return raw[4 : 4+n], raw[4+n:], nil
}

// firstInt returns the first element of a tensor of integers, or 0 for an empty tensor.
func firstInt(out *inference.Output) (int, error) {
	size := 4
	switch out.Type {
	case "INT64", "UINT64":
		size = 8
	case "INT32", "UINT32":
	default:
		return 0, fmt.Errorf("the output tensor has datatype %s instead of integers", out.Type)
	}
	switch {
	case len(out.Raw) == 0:
		return 0, nil
	case len(out.Raw) < size:
		return 0, errors.New("the output tensor is shorter than one element")
	case size == 8:
		return int(binary.LittleEndian.Uint64(out.Raw)), nil
	case out.Type == "INT32":
		return int(int32(binary.LittleEndian.Uint32(out.Raw))), nil
	}
	return int(binary.LittleEndian.Uint32(out.Raw)), nil
}

type entry struct {
	key   string
	value json.RawMessage
}

// orderedObject returns a JSON object's members in their order.
func orderedObject(data []byte) ([]entry, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if tok, err := dec.Token(); err != nil {
		return nil, err
	} else if tok != json.Delim('{') {
		return nil, fmt.Errorf("expected a JSON object, got %v", tok)
	}
	var entries []entry
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		e := entry{key: key.(string)} //nolint:forcetypeassert // an object's key is a string, or Token fails
		if err := dec.Decode(&e.value); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}
