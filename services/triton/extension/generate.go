package extension

import (
	"iter"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Generate maps the JSON of Triton's generate extension to a model's tensors and
// back: POST /v2/models/{model}/generate and generate_stream. Its methods may be
// called concurrently.
//
// What the client did wrong is [inference.CodeInvalid] here, where tritonserver
// calls some of it internal.
type Generate struct {
	model  string
	inputs map[string]input
}

// input is a tensor that the model takes.
type input struct {
	datatype string
	shape    []int64 // with the batch dimension; -1 for any length
}

// NewGenerate gives the mapping for the model of the configuration.
func NewGenerate(config *kserve.ModelConfig) *Generate {
	g := &Generate{model: config.GetName(), inputs: make(map[string]input)}
	for _, in := range config.GetInput() {
		var shape []int64
		if config.GetMaxBatchSize() > 0 {
			shape = append(shape, -1)
		}
		g.inputs[in.GetName()] = input{datatype: datatype(in.GetDataType()), shape: append(shape, in.GetDims()...)}
	}
	return g
}

// datatype is the KServe v2 name of a configuration's type.
func datatype(t kserve.DataType) string {
	if t == kserve.DataType_TYPE_STRING {
		return "BYTES"
	}
	return t.String()[len("TYPE_"):]
}

// Request reads a request's body. Members that are named as inputs become tensors,
// and so do those inside of "parameters"; all others become request parameters,
// "id" too, which also is the request's id. A tensor's value is one element or a
// list; its shape follows from the model's, whose innermost free dimension takes
// what is left.
//
// Parameters that KServe gives a meaning, as "sequence_id" or "priority", get it;
// tritonserver hands those of generate to the model unread. The literals NaN and
// Infinity, which aren't JSON, and integers beyond the tensor's type are refused.
func (g *Generate) Request(body []byte) (*kserve.ModelInferRequest, error) {
	root, err := parse(body)
	if err != nil {
		return nil, err
	}
	members, err := root.object()
	if err != nil {
		return nil, invalid("attempt to get members for non-object")
	}
	b := builder{inputs: g.inputs, req: &kserve.ModelInferRequest{ModelName: g.model}}
	if id, ok := members.find("id"); ok {
		if b.req.Id, err = id.text(); err != nil {
			return nil, because("Unable to parse 'id'", err)
		}
	}
	if err := b.addAll(members); err != nil {
		return nil, err
	}
	return b.req, nil
}

// builder fills a request.
type builder struct {
	inputs map[string]input
	req    *kserve.ModelInferRequest
}

// nested is the member whose own members count as the body's.
const nested = "parameters"

func (b *builder) addAll(all members) error {
	for _, m := range all {
		if m.name != nested {
			if err := b.add(m.name, all); err != nil {
				return err
			}
			continue
		}
		if _, taken := b.inputs[nested]; taken {
			return invalid("Keyword '%s' for nested schema also given as input tensor name", nested)
		}
		inner, _ := all.find(nested)
		object, err := inner.object()
		if err != nil {
			return because("Expected JSON object for keyword: '"+nested+"'", err)
		}
		for _, m := range object {
			if err := b.add(m.name, object); err != nil {
				return because("Converting keyword: '"+nested+"'", err)
			}
		}
	}
	return nil
}

// add turns a member into a tensor or a parameter. Of members of one name the
// first counts.
func (b *builder) add(name string, all members) error {
	v, _ := all.find(name)
	if in, tensor := b.inputs[name]; tensor {
		return b.addTensor(name, in, v)
	}
	parameter, err := parameterOf(name, v)
	if err != nil {
		return err
	}
	if b.req.Parameters == nil {
		b.req.Parameters = make(map[string]*kserve.InferParameter)
	}
	b.req.Parameters[name] = parameter
	return nil
}

func parameterOf(name string, v value) (*kserve.InferParameter, error) {
	switch v := v.decoded().(type) {
	case string:
		return &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_StringParam{StringParam: v}}, nil
	case int64:
		return &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_Int64Param{Int64Param: v}}, nil
	case bool:
		return &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_BoolParam{BoolParam: v}}, nil
	case float64:
		return &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_DoubleParam{DoubleParam: v}}, nil
	}
	return nil, invalid("parameter '%s' has invalid type. It should be either 'int', 'bool', or 'string'.", name)
}

func (b *builder) addTensor(name string, in input, v value) error {
	for _, other := range b.req.GetInputs() {
		if other.GetName() == name {
			return invalid("input '%s' already exists in request", name)
		}
	}
	length, elements, err := v.elements()
	if err != nil {
		return err
	}
	var shape []int64
	if len(elements) > 0 {
		if shape, err = fit(name, in.shape, int64(length)); err != nil {
			return err
		}
	}
	raw, err := encode(name, in.datatype, elements, length)
	if err != nil {
		return err
	}
	b.req.Inputs = append(b.req.Inputs, &kserve.ModelInferRequest_InferInputTensor{Name: name, Datatype: in.datatype, Shape: shape})
	b.req.RawInputContents = append(b.req.RawInputContents, raw)
	return nil
}

// fit gives the shape of so many elements: fixed dimensions take their share, the
// innermost free one the rest.
func fit(name string, declared []int64, elements int64) ([]int64, error) {
	shape := append([]int64(nil), declared...)
	wrong := invalid("The schema can not convert input '%s' to tensor with proper shape", name)
	for _, d := range shape {
		if d == -1 {
			continue
		}
		if d <= 0 || elements%d != 0 {
			return nil, wrong
		}
		elements /= d
	}
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] == -1 {
			shape[i], elements = elements, 1
		}
	}
	if elements != 1 {
		return nil, wrong
	}
	return shape, nil
}

// errNotOne is the answer of a model that doesn't give generate its one response.
func errNotOne() error {
	return failed(inference.CodeInternal, "generate expects model to produce exactly 1 response, "+
		"use generate stream for model that generates various number of responses")
}

// Single gives the body of the answer to generate: of a stream with exactly one
// response, which it reads to its end.
func (g *Generate) Single(responses iter.Seq2[*inference.Response, error]) ([]byte, error) {
	var body []byte
	count := 0
	for response, err := range responses {
		if err != nil {
			return nil, err
		}
		if response.Idle || len(response.Outputs) == 0 && response.Final {
			continue
		}
		count++
		if count > 1 {
			continue
		}
		if body, err = g.AppendResponse(nil, response); err != nil {
			return nil, err
		}
	}
	if count != 1 {
		return nil, errNotOne()
	}
	return body, nil
}
