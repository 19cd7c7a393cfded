package triton

import (
	"encoding/binary"
	"math"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// Flatten converts typed contents, which some KServe servers send, to raw
// contents. The datatype determines the field that has the values (KServe v2,
// "Tensor Data").
func Flatten(datatype string, c *kserve.InferTensorContents) []byte {
	switch datatype {
	case "BOOL":
		return packed(c.GetBoolContents(), func(b []byte, v bool) []byte {
			if v {
				return append(b, 1)
			}
			return append(b, 0)
		})
	case "INT8":
		return packed(c.GetIntContents(), func(b []byte, v int32) []byte { return append(b, byte(v)) })
	case "INT16":
		return packed(c.GetIntContents(), func(b []byte, v int32) []byte { return binary.LittleEndian.AppendUint16(b, uint16(v)) })
	case "INT32":
		return packed(c.GetIntContents(), func(b []byte, v int32) []byte { return binary.LittleEndian.AppendUint32(b, uint32(v)) })
	case "INT64":
		return packed(c.GetInt64Contents(), func(b []byte, v int64) []byte { return binary.LittleEndian.AppendUint64(b, uint64(v)) })
	case "UINT8":
		return packed(c.GetUintContents(), func(b []byte, v uint32) []byte { return append(b, byte(v)) })
	case "UINT16":
		return packed(c.GetUintContents(), func(b []byte, v uint32) []byte { return binary.LittleEndian.AppendUint16(b, uint16(v)) })
	case "UINT32":
		return packed(c.GetUintContents(), binary.LittleEndian.AppendUint32)
	case "UINT64":
		return packed(c.GetUint64Contents(), binary.LittleEndian.AppendUint64)
	case "FP32":
		return packed(c.GetFp32Contents(), func(b []byte, v float32) []byte {
			return binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		})
	case "FP64":
		return packed(c.GetFp64Contents(), func(b []byte, v float64) []byte {
			return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		})
	case "BYTES":
		return packed(c.GetBytesContents(), func(b, v []byte) []byte {
			return append(binary.LittleEndian.AppendUint32(b, uint32(len(v))), v...)
		})
	}
	// Other types, such as FP16 and BF16, have no typed contents.
	return nil
}

func packed[T any](values []T, add func([]byte, T) []byte) []byte {
	var b []byte
	for _, v := range values {
		b = add(b, v)
	}
	return b
}
