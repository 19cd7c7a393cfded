package extension

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/trident-inference/trident/services/inference"
)

// maxClasses is the maximum number of elements that Triton sorts.
const maxClasses = 1_000_000

// Labels returns the label of a class of an output, or an empty string if it
// has none.
type Labels func(class int) string

// Classify converts an output of scores to a BYTES tensor of the n best classes,
// best first. Each class is `value:index` or `value:index:label` (KServe v2,
// Triton's classification extension). If the model batches, the first dimension
// stays, and each of its rows is sorted separately. A row with fewer than n
// scores yields fewer classes. Of equal scores the lower index comes first, and
// NaN comes last. Triton doesn't specify either order.
//
// The result is encoded as [inference.Output] specifies for raw contents. Types
// other than integers, FP32 and FP64 are an error.
func Classify(out *inference.Output, n uint32, batched bool, label Labels) (classes []byte, classShape []int64, err error) {
	width, format := scores(out.Type)
	if width == 0 {
		return nil, nil, invalid("class result not available for output due to unsupported type '%s'", out.Type)
	}
	batch := int64(0)
	row, raw := out.Shape, out.Raw
	if batched && len(row) > 0 && row[0] > 0 {
		batch, row = row[0], row[1:]
	}
	length, ok := inference.Elements(row)
	if !ok || length > maxClasses {
		return nil, nil, invalid("classification output tensor too large")
	}
	count := min(int64(n), length)
	if batch > 0 {
		classShape = append(classShape, batch)
	}
	classShape = append(classShape, count)
	for range max(batch, 1) {
		bytes := int(length) * width
		if count == 0 || bytes > len(raw) {
			break // missing data has no classes
		}
		classes = appendBest(classes, format(raw[:bytes]), int(length), int(count), label)
		raw = raw[bytes:]
	}
	return classes, classShape, nil
}

// row has the operations on a row of scores. better compares two scores and
// orders the better one first. text appends one score as std::to_string formats
// it.
type row struct {
	better func(a, b int) int
	text   func(b []byte, i int) []byte
}

// appendBest appends the best classes of a row as elements of a BYTES tensor.
func appendBest(to []byte, scores row, length, count int, label Labels) []byte {
	order := make([]int, length)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(scores.better(a, b), cmp.Compare(a, b)) })
	for _, class := range order[:count] {
		start := len(to)
		to = scores.text(append(to, 0, 0, 0, 0), class)
		to = strconv.AppendInt(append(to, ':'), int64(class), 10)
		if text := label(class); text != "" {
			to = append(append(to, ':'), text...)
		}
		binary.LittleEndian.PutUint32(to[start:], uint32(len(to)-start-4))
	}
	return to
}

// scores returns the size of one element in bytes and a function that reads a
// row of elements. The size is 0 for a type that can't be sorted.
func scores(datatype string) (width int, format func(raw []byte) row) {
	little := binary.LittleEndian
	switch datatype {
	case "UINT8":
		return 1, whole(func(raw []byte, i int) uint64 { return uint64(raw[i]) }, strconv.AppendUint)
	case "UINT16":
		return 2, whole(func(raw []byte, i int) uint64 { return uint64(little.Uint16(raw[2*i:])) }, strconv.AppendUint)
	case "UINT32":
		return 4, whole(func(raw []byte, i int) uint64 { return uint64(little.Uint32(raw[4*i:])) }, strconv.AppendUint)
	case "UINT64":
		return 8, whole(func(raw []byte, i int) uint64 { return little.Uint64(raw[8*i:]) }, strconv.AppendUint)
	case "INT8":
		return 1, whole(func(raw []byte, i int) int64 { return int64(int8(raw[i])) }, strconv.AppendInt)
	case "INT16":
		return 2, whole(func(raw []byte, i int) int64 { return int64(int16(little.Uint16(raw[2*i:]))) }, strconv.AppendInt)
	case "INT32":
		return 4, whole(func(raw []byte, i int) int64 { return int64(int32(little.Uint32(raw[4*i:]))) }, strconv.AppendInt)
	case "INT64":
		return 8, whole(func(raw []byte, i int) int64 { return int64(little.Uint64(raw[8*i:])) }, strconv.AppendInt)
	case "FP32":
		return 4, float(func(raw []byte, i int) float64 { return float64(math.Float32frombits(little.Uint32(raw[4*i:]))) })
	case "FP64":
		return 8, float(func(raw []byte, i int) float64 { return math.Float64frombits(little.Uint64(raw[8*i:])) })
	}
	return 0, nil
}

func whole[T int64 | uint64](at func([]byte, int) T, write func([]byte, T, int) []byte) func([]byte) row {
	return func(raw []byte) row {
		return row{
			better: func(a, b int) int { return cmp.Compare(at(raw, b), at(raw, a)) },
			text:   func(to []byte, i int) []byte { return write(to, at(raw, i), 10) },
		}
	}
}

func float(at func([]byte, int) float64) func([]byte) row {
	return func(raw []byte) row {
		return row{
			better: func(a, b int) int { return cmp.Compare(at(raw, b), at(raw, a)) },
			text:   func(to []byte, i int) []byte { return appendFixed(to, at(raw, i)) },
		}
	}
}

// appendFixed appends a number in printf's format %f.
func appendFixed(to []byte, v float64) []byte {
	switch {
	case math.IsNaN(v) && math.Signbit(v):
		return append(to, "-nan"...)
	case math.IsNaN(v):
		return append(to, "nan"...)
	case math.IsInf(v, 1):
		return append(to, "inf"...)
	case math.IsInf(v, -1):
		return append(to, "-inf"...)
	}
	return strconv.AppendFloat(to, v, 'f', 6, 64)
}
