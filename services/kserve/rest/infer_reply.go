package rest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve/tensorjson"
)

// reply is a response to send: JSON, and the tensors after it.
type reply struct {
	json    []byte
	tensors [][]byte
	held    mem.Buffer // the memory of the tensors; may be nil
}

func (a *reply) free() {
	if a != nil && a.held != nil {
		a.held.Free()
	}
}

func (a *reply) write(w http.ResponseWriter) {
	size := len(a.json)
	contentType := "application/json"
	if len(a.tensors) > 0 {
		contentType = "application/octet-stream"
		w.Header().Set(headerLength, strconv.Itoa(size))
	}
	for _, tensor := range a.tensors {
		size += len(tensor)
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(size))
	_, err := w.Write(a.json) //nolint:gosec // browsers don't render this content type
	for _, tensor := range a.tensors {
		if err == nil { // the client may have disconnected
			_, err = w.Write(tensor) //nolint:gosec // browsers don't render this content type
		}
	}
}

// reply returns the reply for an engine's response. Tensors of an encoded
// response stay in its memory. Other tensors are copied, since their memory is
// valid only as long as the response.
func (q *request) reply(resp *inference.Response) (*reply, error) {
	a := &reply{}
	if resp.Encoded != nil {
		a.held = resp.Encoded.MaterializeToBuffer(mem.DefaultBufferPool())
		decoded, err := decodeInfer(a.held.ReadOnlyData())
		if err != nil {
			return a, err
		}
		resp = decoded
	}
	if err := q.appendAnswer(a, resp); err != nil {
		return a, err
	}
	if a.held == nil && len(a.tensors) > 0 {
		a.keep()
	}
	return a, nil
}

// keep copies the tensors.
func (a *reply) keep() {
	size := 0
	for _, tensor := range a.tensors {
		size += len(tensor)
	}
	pool := mem.DefaultBufferPool()
	whole := pool.Get(size)
	at := 0
	for _, tensor := range a.tensors {
		at += copy((*whole)[at:], tensor)
	}
	a.held = mem.NewBuffer(whole, pool)
	a.tensors = [][]byte{*whole}
}

func (q *request) appendAnswer(a *reply, resp *inference.Response) error {
	b := []byte{'{'}
	if id := q.head.GetId(); id != "" {
		b = append(tensorjson.AppendQuoted(append(b, `"id":`...), id), ',')
	}
	b = tensorjson.AppendQuoted(append(b, `"model_name":`...), q.head.GetModelName())
	b = tensorjson.AppendQuoted(append(b, `,"model_version":`...), resp.Version)
	if len(resp.Parameters) > 0 {
		b = appendParameters(append(b, `,"parameters":`...), resp.Parameters)
	}
	b = append(b, `,"outputs":[`...)
	for i := range resp.Outputs {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = q.appendOutput(b, a, &resp.Outputs[i]); err != nil {
			return err
		}
	}
	b = append(b, ']', '}')
	a.json = b
	return nil
}

func (q *request) appendOutput(b []byte, a *reply, out *inference.Output) ([]byte, error) {
	b = tensorjson.AppendQuoted(append(b, `{"name":`...), out.Name)
	b = tensorjson.AppendQuoted(append(b, `,"datatype":`...), out.Type)
	b = append(b, `,"shape":[`...)
	for i, d := range out.Shape {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, d, 10)
	}
	b = append(b, ']')
	form, asked := q.forms[out.Name]
	if !asked {
		form = q.form
	}
	switch form {
	case formBinary:
		b = strconv.AppendInt(append(b, `,"parameters":{"binary_data_size":`...), int64(len(out.Raw)), 10)
		b = append(b, '}')
		if len(out.Raw) > 0 {
			a.tensors = append(a.tensors, out.Raw)
		}
	case formJSON:
		var err *inference.Error
		if b, err = tensorjson.AppendData(append(b, `,"data":`...), out, false); err != nil {
			return b, err
		}
	case formShared:
	}
	return append(b, '}'), nil
}

// appendParameters appends the parameters of a response, sorted by name.
func appendParameters(b []byte, parameters map[string]*api.InferParameter) []byte {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(parameters)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendParameter(append(tensorjson.AppendQuoted(b, name), ':'), parameters[name])
	}
	return append(b, '}')
}

func appendParameter(b []byte, p *api.InferParameter) []byte {
	switch choice := p.GetParameterChoice().(type) {
	case *api.InferParameter_BoolParam:
		return strconv.AppendBool(b, choice.BoolParam)
	case *api.InferParameter_Int64Param:
		return strconv.AppendInt(b, choice.Int64Param, 10)
	case *api.InferParameter_Uint64Param:
		return strconv.AppendUint(b, choice.Uint64Param, 10)
	case *api.InferParameter_StringParam:
		return tensorjson.AppendQuoted(b, choice.StringParam)
	case *api.InferParameter_DoubleParam:
		return tensorjson.AppendFloat(b, choice.DoubleParam)
	}
	return append(b, "null"...)
}

const fieldRawOutput = 6 // raw_output_contents of ModelInferResponse

// decodeInfer decodes a ModelInferResponse. Its tensors are views of the message.
func decodeInfer(message []byte) (*inference.Response, error) {
	var fields []byte // all fields except the tensors
	var raws [][]byte
	for rest := message; len(rest) > 0; {
		number, wire, n := protowire.ConsumeField(rest)
		if n < 0 {
			return nil, fmt.Errorf("decode the ModelInferResponse: %w", protowire.ParseError(n))
		}
		if number == fieldRawOutput && wire == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(rest)
			raw, _ := protowire.ConsumeBytes(rest[tag:])
			raws = append(raws, raw)
		} else {
			fields = append(fields, rest[:n]...)
		}
		rest = rest[n:]
	}
	decoded := &api.ModelInferResponse{}
	if err := proto.Unmarshal(fields, decoded); err != nil {
		return nil, fmt.Errorf("decode the ModelInferResponse: %w", err)
	}
	if len(raws) != len(decoded.GetOutputs()) {
		return nil, fmt.Errorf("decode the ModelInferResponse: %d outputs have %d raw contents", len(decoded.GetOutputs()), len(raws))
	}
	resp := &inference.Response{Version: decoded.GetModelVersion(), Parameters: decoded.GetParameters(), Final: true}
	for i, out := range decoded.GetOutputs() {
		resp.Outputs = append(resp.Outputs, inference.Output{Name: out.GetName(), Type: out.GetDatatype(), Shape: out.GetShape(), Raw: raws[i]})
	}
	return resp, nil
}
