package rest

import (
	"slices"
	"strings"

	"google.golang.org/grpc/mem"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve/tensorjson"
)

// readGenerate reads the JSON of Triton's generate extension. Members that are named
// as inputs of the model become tensors, also those inside "parameters". All other
// members become request parameters; "id" is also the request's id. A tensor's value
// is one element or a list. The shape of the tensor follows from the model's
// configuration: the innermost free dimension takes the remaining elements.
//
// Parameters that have a meaning in KServe, such as "sequence_id" or "priority",
// take effect. tritonserver passes such parameters of a generate request to the
// model without interpreting the parameters.
func (q *request) readGenerate(config *api.ModelConfig, root tensorjson.Value) error {
	if err := q.readID(root); err != nil {
		return err
	}
	q.head.Parameters = map[string]*api.InferParameter{}
	return q.readMembers(config, root, true)
}

// readMembers reads the members of an object. The first of several members with the
// same name takes precedence.
func (q *request) readMembers(config *api.ModelConfig, object tensorjson.Value, outer bool) error {
	if object.Kind() != '{' {
		return tensorjson.Internal("attempt to get members for non-object")
	}
	read := map[string]bool{}
	for key, value := range object.Members {
		name := string(key.AppendUnquoted(nil))
		input := slices.IndexFunc(config.GetInput(), func(in *api.ModelInput) bool { return in.GetName() == name })
		var err error
		switch {
		case outer && name == keyParameters && input >= 0:
			return tensorjson.Invalid("Keyword '%s' for nested schema also given as input tensor name", name)
		case input >= 0:
			err = q.readGenerateInput(config, config.GetInput()[input], value)
		case read[name]:
		case outer && name == keyParameters:
			err = q.readNested(config, value)
		case len(q.head.GetParameters()) == budget.Keys:
			return overBudget(keyParameters, budget.Keys)
		default:
			var parameter *api.InferParameter
			var wrong *inference.Error
			if parameter, wrong = parameterOf(name, value); wrong != nil {
				return wrong
			}
			q.head.Parameters[name] = parameter
		}
		if err != nil {
			return err
		}
		read[name] = true
	}
	return nil
}

// readNested reads "parameters", whose members are read as the body's.
func (q *request) readNested(config *api.ModelConfig, object tensorjson.Value) error {
	if object.Kind() != '{' {
		return tensorjson.Internal("Expected JSON object for keyword: '%s': attempt to access JSON non-object as object", keyParameters)
	}
	if err := q.readMembers(config, object, false); err != nil {
		return tensorjson.Within("Converting keyword: '"+keyParameters+"'", inference.AsError(err))
	}
	return nil
}

func (q *request) readGenerateInput(config *api.ModelConfig, input *api.ModelInput, value tensorjson.Value) error {
	name, datatype := input.GetName(), datatypeOf(input.GetDataType())
	if datatype == tensorjson.TypeBytes { // tritonserver checks strings first
		for element := range value.Flat {
			if element.Kind() != '"' {
				return tensorjson.Internal("Unable to parse JSON bytes array: attempt to access JSON non-string as string")
			}
		}
	}
	var declared []int64
	if config.GetMaxBatchSize() > 0 {
		declared = append(declared, -1)
	}
	length := value.Len()
	shape, ok := fit(append(declared, input.GetDims()...), length)
	if !ok {
		return tensorjson.Invalid("The schema can not convert input '%s' to tensor with proper shape", name)
	}
	raw, err := tensorjson.ReadTensor(name, datatype, value, length)
	if err != nil {
		return err
	}
	for _, other := range q.head.GetInputs() {
		if other.GetName() == name {
			return tensorjson.Invalid("%sinput '%s' already exists in request", requestPrefix(q.head.GetId()), name)
		}
	}
	q.head.Inputs = append(q.head.Inputs, &api.ModelInferRequest_InferInputTensor{Name: name, Datatype: datatype, Shape: shape})
	q.contents = append(q.contents, mem.BufferSlice{mem.SliceBuffer(raw)})
	return nil
}

// fit returns a shape for this number of elements: the innermost free dimension
// takes what the fixed dimensions leave.
func fit(shape []int64, elements int64) ([]int64, bool) {
	for _, d := range shape {
		if d == -1 {
			continue
		}
		if d <= 0 || elements%d != 0 {
			return nil, false
		}
		elements /= d
	}
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] == -1 {
			shape[i], elements = elements, 1
		}
	}
	return shape, elements == 1
}

// whole returns the message of a request whose contents come from JSON.
func (q *request) whole() *api.ModelInferRequest {
	for _, content := range q.contents {
		q.head.RawInputContents = append(q.head.RawInputContents, content[0].ReadOnlyData())
	}
	return q.head
}

// generated is a member of a response's JSON: a parameter, an output, or one of the
// strings that every response has.
type generated struct {
	name      string
	text      string
	parameter *api.InferParameter
	output    *inference.Output
}

// appendGenerated appends the JSON object of a response. It has the id, the model's
// name and version, the response's parameters, and the outputs, sorted by name. An
// output with one element is that element, any other output a list. If names are
// equal, the first in this order takes precedence.
func (e *events) appendGenerated(to []byte, resp *inference.Response) ([]byte, error) {
	all := e.members[:0]
	if id := e.req.head.GetId(); id != "" {
		all = append(all, generated{name: keyID, text: id})
	}
	all = append(all, generated{name: "model_name", text: e.req.head.GetModelName()}, generated{name: "model_version", text: resp.Version})
	for name, p := range resp.Parameters {
		all = append(all, generated{name: name, parameter: p})
	}
	for i := range resp.Outputs {
		all = append(all, generated{name: resp.Outputs[i].Name, output: &resp.Outputs[i]})
	}
	slices.SortStableFunc(all, func(a, b generated) int { return strings.Compare(a.name, b.name) })
	e.members = all
	to = append(to, '{')
	for i := range all {
		m := &all[i]
		if i > 0 && all[i-1].name == m.name {
			continue
		}
		if i > 0 {
			to = append(to, ',')
		}
		to = append(tensorjson.AppendQuoted(to, m.name), ':')
		switch {
		case m.parameter != nil:
			to = appendParameter(to, m.parameter)
		case m.output != nil:
			var err *inference.Error
			if to, err = tensorjson.AppendData(to, m.output, true); err != nil {
				return to, err
			}
		default:
			to = tensorjson.AppendQuoted(to, m.text)
		}
	}
	return append(to, '}'), nil
}
