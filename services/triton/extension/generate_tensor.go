package extension

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// encode gives the elements of an input's value in their raw form. The outermost
// list must be as long as all the lists hold in all.
func encode(name, datatype string, elements []value, length int) ([]byte, error) {
	add, err := encoder(datatype)
	switch {
	case datatype == "FP16", datatype == "BF16":
		return nil, invalid("receiving %s data via JSON is not supported. Please use the binary data format for input %s", datatype, name)
	case err != nil:
		return nil, invalid("input '%s' has unsupported datatype %s", name, datatype)
	}
	what := "Unable to parse 'data'"
	if datatype == "BYTES" {
		what = "Unable to parse JSON bytes array"
	}
	var raw []byte
	for _, e := range elements {
		if raw, err = add(raw, e); err != nil {
			return nil, because(what, err)
		}
	}
	switch {
	case datatype == "BYTES": // each has its length: Triton finds out
	case len(elements) > length:
		return nil, invalid("Unable to parse 'data': Shape does not match true shape of 'data' field")
	case len(elements) < length:
		return nil, invalid("Failed to parse 'data' field: shape does not match true shape")
	}
	return raw, nil
}

// encoder gives what adds one element of a type.
func encoder(datatype string) (func([]byte, value) ([]byte, error), error) {
	little := binary.LittleEndian
	switch datatype {
	case "BOOL":
		return adding(value.truth, appendBool), nil
	case "UINT8":
		return adding(bits(value.unsigned, 8), func(b []byte, n uint64) []byte { return append(b, byte(n)) }), nil
	case "UINT16":
		return adding(bits(value.unsigned, 16), func(b []byte, n uint64) []byte { return little.AppendUint16(b, uint16(n)) }), nil
	case "UINT32":
		return adding(bits(value.unsigned, 32), func(b []byte, n uint64) []byte { return little.AppendUint32(b, uint32(n)) }), nil
	case "UINT64":
		return adding(bits(value.unsigned, 64), little.AppendUint64), nil
	case "INT8":
		return adding(bits(value.signed, 8), func(b []byte, n int64) []byte { return append(b, byte(n)) }), nil
	case "INT16":
		return adding(bits(value.signed, 16), func(b []byte, n int64) []byte { return little.AppendUint16(b, uint16(n)) }), nil
	case "INT32":
		return adding(bits(value.signed, 32), func(b []byte, n int64) []byte { return little.AppendUint32(b, uint32(n)) }), nil
	case "INT64":
		return adding(bits(value.signed, 64), func(b []byte, n int64) []byte { return little.AppendUint64(b, uint64(n)) }), nil
	case "FP32":
		return adding(value.double, func(b []byte, f float64) []byte { return little.AppendUint32(b, math.Float32bits(float32(f))) }), nil
	case "FP64":
		return adding(value.double, func(b []byte, f float64) []byte { return little.AppendUint64(b, math.Float64bits(f)) }), nil
	case "BYTES":
		return adding(value.text, func(b []byte, s string) []byte { return append(little.AppendUint32(b, uint32(len(s))), s...) }), nil
	}
	return nil, failed(inference.CodeUnsupported, "no such type")
}

func bits[T any](read func(value, int) (T, error), width int) func(value) (T, error) {
	return func(v value) (T, error) { return read(v, width) }
}

func adding[T any](read func(value) (T, error), write func([]byte, T) []byte) func([]byte, value) ([]byte, error) {
	return func(b []byte, v value) ([]byte, error) {
		t, err := read(v)
		if err != nil {
			return nil, err
		}
		return write(b, t), nil
	}
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// AppendResponse adds the JSON object of a response: its id, the model's name and
// version, the response's parameters and the outputs, sorted by name. An output of
// one element is that element, any other a list. Of equal names the former of
// these counts. As with tritonserver, floats that aren't numbers are NaN and
// Infinity, and FP16 and BF16 are an error.
func (g *Generate) AppendResponse(to []byte, response *inference.Response) ([]byte, error) {
	fields := map[string]func([]byte) ([]byte, error){}
	for i := range response.Outputs {
		out := &response.Outputs[i]
		fields[out.Name] = func(b []byte) ([]byte, error) { return appendOutput(b, out) }
	}
	for name, p := range response.Parameters {
		fields[name] = func(b []byte) ([]byte, error) { return appendParameter(b, name, p) }
	}
	fixed := func(s string) func([]byte) ([]byte, error) {
		return func(b []byte) ([]byte, error) { return appendString(b, s), nil }
	}
	fields["model_name"], fields["model_version"] = fixed(g.model), fixed(response.Version)
	if response.ID != "" {
		fields["id"] = fixed(response.ID)
	}
	to = append(to, '{')
	var err error
	for i, name := range slices.Sorted(maps.Keys(fields)) {
		if i > 0 {
			to = append(to, ',')
		}
		if to, err = fields[name](append(appendString(to, name), ':')); err != nil {
			return nil, err
		}
	}
	return append(to, '}'), nil
}

func appendParameter(to []byte, name string, p *kserve.InferParameter) ([]byte, error) {
	switch choice := p.GetParameterChoice().(type) {
	case *kserve.InferParameter_BoolParam:
		return strconv.AppendBool(to, choice.BoolParam), nil
	case *kserve.InferParameter_Int64Param:
		return strconv.AppendInt(to, choice.Int64Param, 10), nil
	case *kserve.InferParameter_Uint64Param:
		return strconv.AppendUint(to, choice.Uint64Param, 10), nil
	case *kserve.InferParameter_StringParam:
		return appendString(to, choice.StringParam), nil
	case *kserve.InferParameter_DoubleParam:
		return appendFloat(to, choice.DoubleParam), nil
	}
	return nil, failed(inference.CodeUnsupported, "Response parameter '%s' has no value", name)
}

func appendOutput(to []byte, out *inference.Output) ([]byte, error) {
	count, ok := elements(out.Shape)
	write, width := decoder(out.Type)
	switch {
	case out.Type == "FP16", out.Type == "BF16":
		return nil, invalid("sending %s data via JSON is not supported. Please use the binary data format for output", out.Type)
	case out.Type == "BYTES":
		return appendStrings(to, out, count, ok)
	case write == nil:
		return nil, invalid("Invalid data type for output tensor")
	case !ok || count > math.MaxInt64/int64(width) || count*int64(width) != int64(len(out.Raw)):
		return nil, failed(inference.CodeInternal, "Failed to write 'data' field: output tensor shape does not match size of output for '%s'", out.Name)
	}
	raw := out.Raw
	return appendList(to, count, func(to []byte) ([]byte, error) {
		to = write(to, raw)
		raw = raw[width:]
		return to, nil
	})
}

func appendStrings(to []byte, out *inference.Output, count int64, ok bool) ([]byte, error) {
	wrong := failed(inference.CodeInternal, "output tensor shape does not match size of output for '%s'", out.Name)
	if !ok {
		return nil, wrong
	}
	raw := out.Raw
	return appendList(to, count, func(to []byte) ([]byte, error) {
		if len(raw) < 4 {
			return nil, wrong
		}
		length := int64(binary.LittleEndian.Uint32(raw))
		raw = raw[4:]
		if length > int64(len(raw)) {
			return nil, wrong
		}
		to = appendString(to, string(raw[:length]))
		raw = raw[length:]
		return to, nil
	})
}

// appendList adds so many values, which follow one another: in a list, or one
// without.
func appendList(to []byte, count int64, next func([]byte) ([]byte, error)) (_ []byte, err error) {
	if count == 1 {
		return next(to)
	}
	to = append(to, '[')
	for i := range count {
		if i > 0 {
			to = append(to, ',')
		}
		if to, err = next(to); err != nil {
			return nil, err
		}
	}
	return append(to, ']'), nil
}

// decoder gives what writes the first element of a type as JSON, and its bytes.
func decoder(datatype string) (write func(to, raw []byte) []byte, width int) {
	if width, format := scores(datatype); width > 0 && datatype[0] != 'F' {
		return func(to, raw []byte) []byte { return format(raw).text(to, 0) }, width
	}
	switch datatype {
	case "BOOL":
		return func(to, raw []byte) []byte { return strconv.AppendBool(to, raw[0] != 0) }, 1
	case "FP32":
		return func(to, raw []byte) []byte {
			return appendFloat(to, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))))
		}, 4
	case "FP64":
		return func(to, raw []byte) []byte {
			return appendFloat(to, math.Float64frombits(binary.LittleEndian.Uint64(raw)))
		}, 8
	}
	return nil, 0
}

// appendFloat writes the shortest number that reads back the same, so that it can
// be told from an integer.
func appendFloat(to []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(to, "NaN"...)
	case math.IsInf(f, 1):
		return append(to, "Infinity"...)
	case math.IsInf(f, -1):
		return append(to, "-Infinity"...)
	}
	if size := math.Abs(f); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.AppendFloat(to, f, 'e', -1, 64)
	}
	start := len(to)
	to = strconv.AppendFloat(to, f, 'f', -1, 64)
	if bytes.IndexByte(to[start:], '.') < 0 {
		to = append(to, ".0"...)
	}
	return to
}

// appendString writes a JSON string. What isn't UTF-8 is replaced.
func appendString(to []byte, s string) []byte {
	plain := func(r rune) bool { return r >= ' ' && r != '"' && r != '\\' && r != utf8.RuneError }
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return append(append(append(to, '"'), s...), '"')
	}
	quoted, err := json.Marshal(s)
	if err != nil {
		return append(to, `""`...) // strings have no such error
	}
	return append(to, quoted...)
}
