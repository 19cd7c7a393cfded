package backend

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// declared indexes a model's inputs by name.
func declared(config *kserve.ModelConfig) map[string]*kserve.ModelInput {
	inputs := make(map[string]*kserve.ModelInput, len(config.GetInput()))
	for _, in := range config.GetInput() {
		inputs[in.GetName()] = in
	}
	return inputs
}

// tensors builds a request from inputs that the model declares: Triton refuses
// the whole request for one input too many. Every input has one element, in the
// shape [1], or [1, 1] where the model has a batch dimension.
type tensors struct {
	inputs map[string]*kserve.ModelInput
	shape  []int64
	req    *kserve.ModelInferRequest
}

func newTensors(card *inference.Card) *tensors {
	t := &tensors{
		inputs: declared(card.Config),
		shape:  []int64{1},
		req:    &kserve.ModelInferRequest{ModelName: card.Name},
	}
	if card.Config.GetMaxBatchSize() > 0 {
		t.shape = []int64{1, 1}
	}
	return t
}

// require refuses a request that needs an input which the model doesn't have.
func (t *tensors) require(needed bool, input, param string) error {
	if needed && t.inputs[input] == nil {
		return inference.Unsupported(param, "this model gives no %s: it declares no input %s", param, input)
	}
	return nil
}

func (t *tensors) text(name, value string) {
	raw := make([]byte, 4, 4+len(value))
	binary.LittleEndian.PutUint32(raw, uint32(len(value)))
	t.add(name, "BYTES", append(raw, value...))
}

func (t *tensors) bool(name string, value bool) {
	raw := []byte{0}
	if value {
		raw[0] = 1
	}
	t.add(name, "BOOL", raw)
}

// priority sets Triton's scheduling priority where the model has levels of it:
// elsewhere it would be dropped in silence.
func (t *tensors) priority(card *inference.Card, p *int) error {
	if p == nil {
		return nil
	}
	levels := card.Config.GetDynamicBatching().GetPriorityLevels()
	if levels == 0 {
		return inference.Unsupported("priority", "this model has no priority levels")
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
	if t.inputs[name] == nil {
		return
	}
	t.req.Inputs = append(t.req.Inputs, &kserve.ModelInferRequest_InferInputTensor{Name: name, Datatype: datatype, Shape: t.shape})
	t.req.RawInputContents = append(t.req.RawInputContents, raw)
}

// firstBytes views the first element of a BYTES tensor; an empty tensor is an
// empty text.
func firstBytes(out *inference.Output) ([]byte, error) {
	if out.Type != "BYTES" {
		return nil, fmt.Errorf("datatype %s instead of BYTES", out.Type)
	}
	if len(out.Raw) == 0 {
		return nil, nil
	}
	if len(out.Raw) < 4 {
		return nil, errors.New("tensor shorter than its length prefix")
	}
	n := binary.LittleEndian.Uint32(out.Raw)
	if uint64(n) > uint64(len(out.Raw)-4) {
		return nil, fmt.Errorf("element of %d bytes in a tensor of %d", n, len(out.Raw))
	}
	return out.Raw[4 : 4+n], nil
}

// firstUint32 reads the first element of a UINT32 tensor; 0 for an empty one.
func firstUint32(out *inference.Output) (int, error) {
	switch {
	case out.Type != "UINT32":
		return 0, fmt.Errorf("datatype %s instead of UINT32", out.Type)
	case len(out.Raw) == 0:
		return 0, nil
	case len(out.Raw) < 4:
		return 0, errors.New("tensor shorter than one element")
	}
	return int(binary.LittleEndian.Uint32(out.Raw)), nil
}

type entry struct {
	key   string
	value json.RawMessage
}

// orderedObject reads a JSON object's members in their order.
func orderedObject(data []byte) ([]entry, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if tok, err := dec.Token(); err != nil {
		return nil, err
	} else if tok != json.Delim('{') {
		return nil, fmt.Errorf("%v where an object should begin", tok)
	}
	var entries []entry
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		e := entry{key: key.(string)} //nolint:forcetypeassert // a key is a string, or Token fails
		if err := dec.Decode(&e.value); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}
