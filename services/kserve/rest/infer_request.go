package rest

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve/tensorjson"
)

// outputForm is the form in which a response's tensor is sent.
type outputForm int

const (
	formJSON outputForm = iota
	formBinary
	formShared // the output isn't in the response: Triton writes it to the client's shared memory
)

// request is a request as read from a body. Its checks, their order and their messages are
// those of tritonserver's HTTP endpoint. The engine checks the rest.
type request struct {
	head *api.ModelInferRequest // the request without the contents of its inputs
	// contents are those of the inputs that aren't in shared memory.
	contents []mem.BufferSlice
	// forms are the forms of the requested outputs. form is that of all outputs if none is
	// requested.
	forms map[string]outputForm
	form  outputForm
}

func newRequest(model, version string) *request {
	return &request{head: &api.ModelInferRequest{ModelName: model, ModelVersion: version}}
}

func (q *request) free() {
	for _, content := range q.contents {
		content.Free()
	}
	q.contents = nil
}

const fieldRawInput = 7 // raw_input_contents of ModelInferRequest

// encode returns the message for the engine. Its tensors are views of the request's memory. The
// caller frees the message.
func (q *request) encode() (*inference.InferRequest, error) {
	head, err := proto.Marshal(q.head)
	if err != nil {
		wrong := tensorjson.Invalid("a name, an id or a parameter of the request isn't valid UTF-8")
		wrong.Err = err
		return nil, wrong
	}
	encoded := mem.BufferSlice{mem.SliceBuffer(head)}
	for _, content := range q.contents {
		prefix := protowire.AppendTag(nil, fieldRawInput, protowire.BytesType)
		encoded = append(encoded, mem.SliceBuffer(protowire.AppendVarint(prefix, uint64(content.Len()))))
		content.Ref()
		encoded = append(encoded, content...)
	}
	return inference.NewInferRequest(encoded)
}

// The JSON members of an inference request's objects.
const (
	keyID         = "id"
	keyParameters = "parameters"
	keyOutputs    = "outputs"
	keyData       = "data"
	keyBinarySize = "binary_data_size"
	keyBinary     = "binary_data"
	keyRegion     = "shared_memory_region"
	keyOffset     = "shared_memory_offset"
	keySize       = "shared_memory_byte_size"
	keyClasses    = "classification"
)

// read reads the JSON of a body, and the tensors after it.
func (q *request) read(root tensorjson.Value, tensors *tensorData) error {
	if err := q.readID(root); err != nil {
		return err
	}
	if err := q.readParameters(root.Member(keyParameters)); err != nil {
		return err
	}
	inputs, err := root.ListMember("inputs")
	if err != nil {
		return tensorjson.Within("Unable to parse 'inputs'", err)
	}
	for input := range inputs.Items {
		if len(q.head.GetInputs()) == budget.Tensors {
			return overBudget("inputs", budget.Tensors)
		}
		if err := q.readInput(input, tensors); err != nil {
			return err
		}
	}
	if tensors.more() {
		return tensorjson.Invalid("unexpected additional input data for model '%s'", q.head.GetModelName())
	}
	if root.Member(keyOutputs).None() {
		return nil
	}
	outputs, err := root.ListMember(keyOutputs)
	if err != nil {
		return tensorjson.Within("Unable to parse 'outputs'", err)
	}
	q.forms = map[string]outputForm{}
	for output := range outputs.Items {
		if len(q.head.GetOutputs()) == budget.Tensors {
			return overBudget("outputs", budget.Tensors)
		}
		if err := q.readOutput(output); err != nil {
			return err
		}
	}
	return nil
}

// overBudget returns the error of a request with more elements in a field than allowed.
func overBudget(field string, most int) error {
	return tensorjson.Invalid("%s", (&budget.Error{Field: field, Most: most, What: "elements"}).Error())
}

func (q *request) readID(root tensorjson.Value) error {
	id := root.Member(keyID)
	if id.None() {
		return nil
	}
	text, err := id.Text()
	if err != nil {
		return tensorjson.Within("Unable to parse 'id'", err)
	}
	q.head.Id = text
	return nil
}

// readParameters reads the parameters of the request. The first of several parameters with the
// same name takes precedence.
func (q *request) readParameters(all tensorjson.Value) error {
	switch all.Kind() {
	case 0:
		return nil
	case '{':
	default:
		return tensorjson.Internal("failed to get request params.: attempt to get members for non-object")
	}
	q.head.Parameters = map[string]*api.InferParameter{}
	read := map[string]bool{}
	for key, value := range all.Members {
		name := string(key.AppendUnquoted(nil))
		if read[name] {
			continue
		}
		if len(read) == budget.Keys {
			return overBudget(keyParameters, budget.Keys)
		}
		read[name] = true
		if err := q.readParameter(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (q *request) readParameter(name string, value tensorjson.Value) error {
	var parameter *api.InferParameter
	var err *inference.Error
	switch name {
	case "sequence_id":
		if parameter, err = unsignedParameter(value); err != nil {
			parameter, err = stringParameter(value)
		}
	case "sequence_start", "sequence_end":
		parameter, err = boolParameter(value)
	case "priority":
		var n uint64
		n, err = value.Uint64()
		parameter = &api.InferParameter{ParameterChoice: &api.InferParameter_Uint64Param{Uint64Param: n}}
	case "timeout":
		parameter, err = unsignedParameter(value)
	case "binary_data_output":
		var is bool
		if is, err = value.Bool(); is {
			q.form = formBinary
		}
	default:
		if strings.HasPrefix(name, "triton_") {
			return tensorjson.Invalid("parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.")
		}
		if parameter, err = parameterOf(name, value); err != nil {
			return err
		}
	}
	if err != nil {
		return tensorjson.Within("Unable to parse '"+name+"'", err)
	}
	if parameter != nil {
		q.head.Parameters[name] = parameter
	}
	return nil
}

// unsignedParameter returns a number of up to 2^64-1 as the bits of KServe's int64_param, as
// Triton reads it.
func unsignedParameter(v tensorjson.Value) (*api.InferParameter, *inference.Error) {
	n, err := v.Uint64()
	return intParameter(int64(n)), err
}

func intParameter(n int64) *api.InferParameter {
	return &api.InferParameter{ParameterChoice: &api.InferParameter_Int64Param{Int64Param: n}}
}

func stringParameter(v tensorjson.Value) (*api.InferParameter, *inference.Error) {
	s, err := v.Text()
	return &api.InferParameter{ParameterChoice: &api.InferParameter_StringParam{StringParam: s}}, err
}

func boolParameter(v tensorjson.Value) (*api.InferParameter, *inference.Error) {
	b, err := v.Bool()
	return &api.InferParameter{ParameterChoice: &api.InferParameter_BoolParam{BoolParam: b}}, err
}

// parameterOf returns a parameter of the model with the type that it has in JSON.
func parameterOf(name string, v tensorjson.Value) (*api.InferParameter, *inference.Error) {
	if n, err := v.Int64(); err == nil {
		return intParameter(n), nil
	}
	switch {
	case v.Kind() == '"':
		return stringParameter(v)
	case v.Kind() == 't', v.Kind() == 'f':
		return boolParameter(v)
	case v.IsNumber():
		f, err := v.Float64()
		return &api.InferParameter{ParameterChoice: &api.InferParameter_DoubleParam{DoubleParam: f}}, err
	}
	return nil, tensorjson.Invalid("parameter '%s' has invalid type. It should be either 'int', 'bool', or 'string'.", name)
}

// fewParameters checks that a tensor's parameters are within their budget, since each lookup
// walks all of them.
func fewParameters(parameters tensorjson.Value) error {
	if parameters.Kind() != '{' {
		return nil
	}
	n := 0
	for range parameters.Members {
		n++
		if n > budget.Keys {
			return overBudget(keyParameters, budget.Keys)
		}
	}
	return nil
}

func (q *request) readInput(input tensorjson.Value, tensors *tensorData) error {
	data, parameters := input.Member(keyData), input.Member(keyParameters)
	if err := fewParameters(parameters); err != nil {
		return err
	}
	binarySize := parameters.Member(keyBinarySize)
	if err := checkSources(data, binarySize, parameters.Member(keyRegion)); err != nil {
		return err
	}
	tensor, err := describeInput(input)
	if err != nil {
		return err
	}
	q.head.Inputs = append(q.head.Inputs, tensor)
	if !binarySize.None() {
		size, err := binarySize.Uint64()
		if err != nil {
			return tensorjson.Within("Unable to parse 'binary_data_size'", err)
		}
		content, missing := tensors.take(size)
		q.contents = append(q.contents, content)
		if missing > 0 {
			return tensorjson.Invalid("unexpected size for input '%s', expecting %d additional bytes for model '%s'", tensor.GetName(), missing, q.head.GetModelName())
		}
		return nil
	}
	shared, err := sharedParameters(parameters)
	if err != nil {
		return err
	}
	if shared != nil {
		tensor.Parameters = shared
		return nil
	}
	raw, err := readData(tensor, data)
	if err != nil {
		return err
	}
	q.contents = append(q.contents, mem.BufferSlice{mem.SliceBuffer(raw)})
	return nil
}

// checkSources checks that an input has exactly one of the three sources of contents.
func checkSources(data, binarySize, region tensorjson.Value) error {
	set := ""
	count := 0
	for _, source := range []struct {
		given tensorjson.Value
		name  string
	}{{data, "'data'"}, {binarySize, "'binary_data_size'"}, {region, "'shared_memory_region'"}} {
		if !source.given.None() {
			set += " " + source.name
			count++
		}
	}
	switch count {
	case 1:
		return nil
	case 0:
		set = " no field is"
	}
	const rule = "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'. But"
	if count == 0 {
		return tensorjson.Invalid("%s%s set", rule, set)
	}
	return tensorjson.Invalid("%s set%s", rule, set)
}

func describeInput(input tensorjson.Value) (*api.ModelInferRequest_InferInputTensor, error) {
	name, err := input.StringMember("name")
	if err != nil {
		return nil, tensorjson.Within("Unable to parse 'name'", err)
	}
	datatype, err := input.StringMember("datatype")
	if err != nil {
		return nil, tensorjson.Within("Unable to parse 'datatype'", err)
	}
	dimensions, err := input.ListMember("shape")
	if err != nil {
		return nil, tensorjson.Within("Unable to parse 'shape'", err)
	}
	var shape []int64
	for dimension := range dimensions.Items {
		if len(shape) == budget.Dimensions {
			return nil, overBudget("shape", budget.Dimensions)
		}
		d, err := dimension.Uint64()
		if err != nil {
			return nil, tensorjson.Within("Unable to parse 'shape'", err)
		}
		shape = append(shape, int64(d))
	}
	return &api.ModelInferRequest_InferInputTensor{Name: name, Datatype: datatype, Shape: shape}, nil
}

// readData reads an input's contents from JSON. A shape without elements has no contents, and
// data is ignored.
func readData(tensor *api.ModelInferRequest_InferInputTensor, data tensorjson.Value) ([]byte, error) {
	count, ok := inference.Elements(tensor.GetShape())
	if ok && count == 0 || len(tensor.GetShape()) == 0 {
		return nil, nil
	}
	if data.Kind() != '[' {
		return nil, tensorjson.Internal("Unable to parse 'data': attempt to access JSON non-array as array")
	}
	if !ok {
		count = math.MaxInt64 // more than any data has
	}
	raw, err := tensorjson.ReadTensor(tensor.GetName(), tensor.GetDatatype(), data, count)
	if err != nil {
		return nil, err
	}
	return raw, nil
}

// sharedParameters returns the shared memory that the parameters of a tensor name, in the form
// of KServe's messages. It returns nil if they name none.
func sharedParameters(parameters tensorjson.Value) (map[string]*api.InferParameter, error) {
	all := map[string]*api.InferParameter{keyOffset: intParameter(0), keySize: intParameter(0)}
	region := parameters.Member(keyRegion)
	if !region.None() {
		name, err := stringParameter(region)
		if err != nil {
			return nil, tensorjson.Within("Unable to parse '"+keyRegion+"'", err)
		}
		all[keyRegion] = name
	}
	for _, key := range []string{keyOffset, keySize} {
		number := parameters.Member(key)
		if number.None() {
			continue
		}
		var err *inference.Error
		if all[key], err = unsignedParameter(number); err != nil {
			return nil, tensorjson.Within("Unable to parse '"+key+"'", err)
		}
	}
	if region.None() {
		return nil, nil //nolint:nilnil // not shared
	}
	return all, nil
}

func (q *request) readOutput(output tensorjson.Value) error {
	parameters := output.Member(keyParameters)
	if err := fewParameters(parameters); err != nil {
		return err
	}
	if err := checkForm(parameters); err != nil {
		return err
	}
	name, err := output.StringMember("name")
	if err != nil {
		return tensorjson.Within("Unable to parse 'name'", err)
	}
	tensor := &api.ModelInferRequest_InferRequestedOutputTensor{Name: name}
	q.head.Outputs = append(q.head.Outputs, tensor)
	classes := uint64(0)
	if asked := parameters.Member(keyClasses); !asked.None() {
		if classes, err = asked.Uint64(); err != nil {
			return tensorjson.Within("Unable to set 'classification'", err)
		}
	}
	shared, wrong := sharedParameters(parameters)
	if wrong != nil {
		return wrong
	}
	form := formJSON
	switch binaryAsked := parameters.Member(keyBinary); {
	case shared != nil:
		tensor.Parameters, form = shared, formShared
	case !binaryAsked.None():
		is, err := binaryAsked.Bool()
		if err != nil {
			return tensorjson.Within("Unable to parse 'binary_data'", err)
		}
		if is {
			form = formBinary
		}
	}
	if classes > 0 {
		tensor.Parameters = map[string]*api.InferParameter{keyClasses: intParameter(int64(min(classes, math.MaxUint32)))}
	}
	if _, twice := q.forms[name]; !twice {
		q.forms[name] = form
	}
	return nil
}

// checkForm refuses options that an output in shared memory can't have.
func checkForm(parameters tensorjson.Value) error {
	if parameters.Member(keyRegion).None() {
		return nil
	}
	if !parameters.Member(keyClasses).None() {
		return tensorjson.Invalid("Output can't set both 'shared_memory_region' and 'classification'")
	}
	asked := parameters.Member(keyBinary)
	if asked.None() {
		return nil
	}
	is, err := asked.Bool()
	switch {
	case err != nil:
		return tensorjson.Within("Unable to set 'binary_data'", err)
	case is:
		return tensorjson.Invalid("Output can't set both 'shared_memory_region' and 'binary_data'")
	}
	return nil
}

// readRaw reads a body that is only the model's one input. The response is binary. The shape
// follows from the configuration.
func (q *request) readRaw(config *api.ModelConfig, body mem.BufferSlice) error {
	refuse := func(format string, args ...any) error {
		return tensorjson.Invalid("%s%s", requestPrefix(""), fmt.Sprintf(format, args...))
	}
	if n := len(config.GetInput()); n != 1 {
		return refuse("Raw request must only have 1 input (found 1) to be deduced but got %d inputs in '%s' model configuration", n, config.GetName())
	}
	input := config.GetInput()[0]
	tensor := &api.ModelInferRequest_InferInputTensor{Name: input.GetName(), Datatype: datatypeOf(input.GetDataType())}
	if config.GetMaxBatchSize() != 0 {
		tensor.Shape = append(tensor.Shape, 1)
	}
	free, elements := -1, int64(1)
	for _, d := range input.GetDims() {
		switch {
		case d != -1:
			elements *= d
		case free >= 0:
			return refuse("The shape of the raw input '%s' can not be deduced because there are more than one variable-sized dimension", input.GetName())
		default:
			free = len(tensor.GetShape())
		}
		tensor.Shape = append(tensor.Shape, d)
	}
	size := int64(body.Len())
	var content mem.BufferSlice
	if width := int64(tensorjson.Width(tensor.GetDatatype())); width == 0 {
		if free >= 0 || elements != 1 {
			return refuse("For BYTE datatype raw input '%s', the model must have input shape [1]", input.GetName())
		}
		content = append(content, mem.SliceBuffer(binary.LittleEndian.AppendUint32(nil, uint32(size))))
	} else {
		if free >= 0 && elements > 0 {
			tensor.Shape[free] = size / elements / width
		}
		if count, _ := inference.Elements(tensor.GetShape()); count*width != size {
			return refuse("input byte size mismatch for input 'raw_input' for model '%s'. Expected %d, got %d", config.GetName(), count*width, size)
		}
	}
	body.Ref()
	q.contents = append(q.contents, append(content, body...))
	q.head.Inputs = append(q.head.Inputs, tensor)
	q.form = formBinary
	return nil
}

// requestPrefix returns the prefix of messages of Triton's core about a request.
func requestPrefix(id string) string {
	if id == "" {
		id = "<id_unknown>"
	}
	return "[request id: " + id + "] "
}

// datatypeOf returns KServe's name of a data type in a configuration.
func datatypeOf(t api.DataType) string {
	if t == api.DataType_TYPE_STRING {
		return tensorjson.TypeBytes
	}
	return strings.TrimPrefix(t.String(), "TYPE_")
}
