package tensorjson

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/trident-inference/trident/services/inference"
)

// AppendData appends a tensor's elements as a JSON list, in row-major order. With
// single, a tensor of one element is appended as that element. Numbers have
// tritonserver's form.
func AppendData(to []byte, out *inference.Output, single bool) ([]byte, *inference.Error) {
	count, ok := inference.Elements(out.Shape)
	width, write := Width(out.Type), elementWriter(out.Type)
	switch {
	case out.Type == typeFP16, out.Type == typeBF16:
		return to, Invalid("sending %s data via JSON is not supported. Please use the binary data format for output", out.Type)
	case !ok:
		return to, errOutputShape(out)
	case out.Type == TypeBytes:
	case write == nil:
		return to, Invalid("Invalid data type for output tensor")
	case count != int64(len(out.Raw)/width) || len(out.Raw)%width != 0:
		return to, errOutputShape(out)
	}
	single = single && count == 1
	if !single {
		to = append(to, '[')
	}
	if out.Type == TypeBytes {
		if to, ok = appendTexts(to, out.Raw, count); !ok {
			return to, errOutputShape(out)
		}
	} else {
		digits := 5*width/2 + 1 // maximum length of an integer with its comma
		if out.Type[0] == 'F' {
			digits = 20
		}
		to = appendElements(slices.Grow(to, int(count)*digits), out.Raw, width, write)
	}
	if !single {
		to = append(to, ']')
	}
	return to, nil
}

func errOutputShape(out *inference.Output) *inference.Error {
	return &inference.Error{
		Code: inference.CodeInternal, Triton: inference.TritonInternal,
		Message: "output tensor shape does not match size of output for '" + out.Name + "'",
	}
}

func appendElements(to, raw []byte, width int, write func(to, raw []byte) []byte) []byte {
	for i := 0; i < len(raw); i += width {
		if i > 0 {
			to = append(to, ',')
		}
		to = write(to, raw[i:])
	}
	return to
}

// appendTexts reports false if the raw form has fewer strings than count.
func appendTexts(to, raw []byte, count int64) ([]byte, bool) {
	const prefix = 4
	to = slices.Grow(to, len(raw))
	for i := range count {
		if len(raw) < prefix {
			return to, false
		}
		length := int64(binary.LittleEndian.Uint32(raw))
		if raw = raw[prefix:]; length > int64(len(raw)) {
			return to, false
		}
		if i > 0 {
			to = append(to, ',')
		}
		to = AppendQuoted(to, raw[:length])
		raw = raw[length:]
	}
	return to, true
}

// elementWriter returns the function that appends the first element of a datatype as
// JSON. It returns nil for datatypes without a fixed width.
func elementWriter(datatype string) func(to, raw []byte) []byte {
	little := binary.LittleEndian
	switch datatype {
	case "BOOL":
		return func(to, raw []byte) []byte { return strconv.AppendBool(to, raw[0] != 0) }
	case "UINT8":
		return func(to, raw []byte) []byte { return strconv.AppendUint(to, uint64(raw[0]), 10) }
	case "UINT16":
		return func(to, raw []byte) []byte { return strconv.AppendUint(to, uint64(little.Uint16(raw)), 10) }
	case "UINT32":
		return func(to, raw []byte) []byte { return strconv.AppendUint(to, uint64(little.Uint32(raw)), 10) }
	case "UINT64":
		return func(to, raw []byte) []byte { return strconv.AppendUint(to, little.Uint64(raw), 10) }
	case "INT8":
		return func(to, raw []byte) []byte { return strconv.AppendInt(to, int64(int8(raw[0])), 10) }
	case "INT16":
		return func(to, raw []byte) []byte { return strconv.AppendInt(to, int64(int16(little.Uint16(raw))), 10) }
	case "INT32":
		return func(to, raw []byte) []byte { return strconv.AppendInt(to, int64(int32(little.Uint32(raw))), 10) }
	case "INT64":
		return func(to, raw []byte) []byte { return strconv.AppendInt(to, int64(little.Uint64(raw)), 10) }
	case "FP32":
		return func(to, raw []byte) []byte { return AppendFloat(to, float64(math.Float32frombits(little.Uint32(raw)))) }
	case "FP64":
		return func(to, raw []byte) []byte { return AppendFloat(to, math.Float64frombits(little.Uint64(raw))) }
	}
	return nil
}

// AppendFloat appends the shortest number that parses to the same value, in
// RapidJSON's form, which differs from that of integers.
func AppendFloat(to []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(to, "NaN"...)
	case math.IsInf(f, 1):
		return append(to, "Infinity"...)
	case math.IsInf(f, -1):
		return append(to, "-Infinity"...)
	}
	const plainFrom, plainTo = 1e-6, 1e21
	start := len(to)
	if size := math.Abs(f); size != 0 && (size < plainFrom || size >= plainTo) {
		return shortenExponent(strconv.AppendFloat(to, f, 'e', -1, 64), start)
	}
	to = strconv.AppendFloat(to, f, 'f', -1, 64)
	if bytes.IndexByte(to[start:], '.') < 0 {
		to = append(to, ".0"...)
	}
	return to
}

// shortenExponent removes the plus sign and a leading zero from the exponent of the
// number at start.
func shortenExponent(to []byte, start int) []byte {
	digits := start + bytes.IndexByte(to[start:], 'e') + 1
	keep := digits
	if to[digits] == '-' {
		keep++
	}
	digits++
	if to[digits] == '0' {
		digits++
	}
	return append(to[:keep], to[digits:]...)
}

const hexDigits = "0123456789ABCDEF"

// AppendQuoted appends text as a JSON string. Bytes that aren't UTF-8 are kept, as in
// tritonserver: BYTES tensors may contain any bytes.
func AppendQuoted[T string | []byte](to []byte, text T) []byte {
	to = append(to, '"')
	start := 0
	for i := range len(text) {
		b := text[i]
		if b >= ' ' && b != '"' && b != '\\' {
			continue
		}
		to = append(to, text[start:i]...)
		start = i + 1
		switch b {
		case '"', '\\':
			to = append(to, '\\', b)
		case '\b':
			to = append(to, '\\', 'b')
		case '\f':
			to = append(to, '\\', 'f')
		case '\n':
			to = append(to, '\\', 'n')
		case '\r':
			to = append(to, '\\', 'r')
		case '\t':
			to = append(to, '\\', 't')
		default:
			to = append(to, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&0xf])
		}
	}
	return append(append(to, text[start:]...), '"')
}
