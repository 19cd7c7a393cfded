package vector

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
)

// AppendJSON appends a JSON list of the components, each in the shortest form that a float32 needs.
func AppendJSON(dst []byte, v []float32) []byte {
	dst = append(dst, '[')
	for i, x := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendFloat(dst, float64(x), 'g', -1, 32)
	}
	return append(dst, ']')
}

// AppendBase64 appends a JSON string with the components as little-endian float32 values in base64.
func AppendBase64(dst []byte, v []float32) []byte {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return AppendBytes(dst, raw)
}

// AppendBytes appends a JSON string with bytes in base64.
func AppendBytes(dst, raw []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, raw)
	return append(dst, '"')
}

// Bytes returns integers as bytes, negative ones in two's complement.
func Bytes[N int8 | uint8](v []N) []byte {
	raw := make([]byte, len(v))
	for i, n := range v {
		raw[i] = byte(n)
	}
	return raw
}
