package tensorjson

import (
	"encoding/binary"
	"math"

	"github.com/trident-inference/trident/services/inference"
)

// TypeBytes is the datatype of strings. Its elements have no fixed width.
const TypeBytes = "BYTES"

// The datatypes that can't be sent as JSON.
const (
	typeFP16 = "FP16"
	typeBF16 = "BF16"
)

// Width returns the size in bytes of an element of a datatype. It returns 0 for BYTES
// and for unknown datatypes.
func Width(datatype string) int {
	switch datatype {
	case "BOOL", "UINT8", "INT8":
		return 1
	case "UINT16", "INT16", typeFP16, typeBF16:
		return 2
	case "UINT32", "INT32", "FP32":
		return 4
	case "UINT64", "INT64", "FP64":
		return 8
	}
	return 0
}

// ReadTensor returns the raw form of a tensor with count elements, which may be in
// nested JSON lists. For strings it doesn't check count; the engine does. Integers
// outside the range of the datatype are refused, while tritonserver keeps their low
// bits.
//
// The allocated memory depends on the size of data, not on the claimed shape.
func ReadTensor(name, datatype string, data Value, count int64) ([]byte, *inference.Error) {
	switch datatype {
	case typeFP16, typeBF16:
		return nil, Invalid("receiving %s data via JSON is not supported. Please use the binary data format for input %s", datatype, name)
	case TypeBytes:
		return readTexts(data)
	}
	width, read := Width(datatype), elementReader(datatype)
	if read == nil {
		return nil, Invalid("invalid datatype for input %s", name)
	}
	const shortest = 2 // minimum bytes of a list element: a digit and a comma
	raw := make([]byte, 0, max(0, min(count, int64(len(data.Raw())/shortest+1)))*int64(width))
	n := int64(0)
	for element := range data.Flat {
		if n >= count {
			return nil, errTensorShape()
		}
		var err *inference.Error
		if raw, err = read(raw, element); err != nil {
			return nil, Within("Unable to parse 'data'", err)
		}
		n++
	}
	if n != count {
		return nil, errTensorShape()
	}
	return raw, nil
}

func errTensorShape() *inference.Error {
	return Internal("Unable to parse 'data': Shape does not match true shape of 'data' field")
}

func readTexts(data Value) ([]byte, *inference.Error) {
	raw := make([]byte, 0, len(data.Raw()))
	for element := range data.Flat {
		if element.Kind() != '"' {
			return nil, Within("Unable to parse JSON bytes array", Internal("attempt to access JSON non-string as string"))
		}
		start := len(raw)
		raw = element.AppendUnquoted(append(raw, 0, 0, 0, 0))
		binary.LittleEndian.PutUint32(raw[start:], uint32(len(raw)-start-4))
	}
	return raw, nil
}

// elementReader returns the function that appends an element of a datatype in its raw
// form, or nil for an unknown datatype.
func elementReader(datatype string) func(to []byte, v Value) ([]byte, *inference.Error) {
	little := binary.LittleEndian
	switch datatype {
	case "BOOL":
		return func(to []byte, v Value) ([]byte, *inference.Error) {
			b, err := v.Bool()
			if b {
				return append(to, 1), err
			}
			return append(to, 0), err
		}
	case "UINT8":
		return unsignedReader(8, func(to []byte, n uint64) []byte { return append(to, byte(n)) })
	case "UINT16":
		return unsignedReader(16, func(to []byte, n uint64) []byte { return little.AppendUint16(to, uint16(n)) })
	case "UINT32":
		return unsignedReader(32, func(to []byte, n uint64) []byte { return little.AppendUint32(to, uint32(n)) })
	case "UINT64":
		return unsignedReader(64, little.AppendUint64)
	case "INT8":
		return signedReader(8, func(to []byte, n uint64) []byte { return append(to, byte(n)) })
	case "INT16":
		return signedReader(16, func(to []byte, n uint64) []byte { return little.AppendUint16(to, uint16(n)) })
	case "INT32":
		return signedReader(32, func(to []byte, n uint64) []byte { return little.AppendUint32(to, uint32(n)) })
	case "INT64":
		return signedReader(64, little.AppendUint64)
	case "FP32":
		return func(to []byte, v Value) ([]byte, *inference.Error) {
			f, err := v.Float64()
			return little.AppendUint32(to, math.Float32bits(float32(f))), err
		}
	case "FP64":
		return func(to []byte, v Value) ([]byte, *inference.Error) {
			f, err := v.Float64()
			return little.AppendUint64(to, math.Float64bits(f)), err
		}
	}
	return nil
}

func unsignedReader(bits int, add func([]byte, uint64) []byte) func([]byte, Value) ([]byte, *inference.Error) {
	return func(to []byte, v Value) ([]byte, *inference.Error) {
		n, err := v.Uint64()
		if err == nil && bits < 64 && n>>bits != 0 {
			err = Invalid("%d is beyond the range of UINT%d", n, bits)
		}
		return add(to, n), err
	}
}

func signedReader(bits int, add func([]byte, uint64) []byte) func([]byte, Value) ([]byte, *inference.Error) {
	return func(to []byte, v Value) ([]byte, *inference.Error) {
		n, err := v.Int64()
		if shift := 64 - bits; err == nil && n<<shift>>shift != n {
			err = Invalid("%d is beyond the range of INT%d", n, bits)
		}
		return add(to, uint64(n)), err
	}
}
