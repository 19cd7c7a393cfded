package extension

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

func floats(values ...float32) []byte {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return raw
}

// texts returns the elements of a BYTES tensor.
func texts(tb testing.TB, raw []byte) []string {
	tb.Helper()
	var all []string
	for len(raw) > 0 {
		n := binary.LittleEndian.Uint32(raw)
		all = append(all, string(raw[4:4+n]))
		raw = raw[4+n:]
	}
	return all
}

func TestClassify(t *testing.T) {
	animals := func(class int) string { return append([]string{"cat", "dog"}, make([]string, 9)...)[class] }
	nan := float32(math.NaN())
	tests := []struct {
		name      string
		datatype  string
		shape     []int64
		raw       []byte
		n         uint32
		batched   bool
		want      []string
		wantShape []int64
	}{
		{"labels", "FP32", []int64{3}, floats(0.1, 7, -2.5), 3, false, []string{"7.000000:1:dog", "0.100000:0:cat", "-2.500000:2"}, []int64{3}},
		{"best", "FP32", []int64{3}, floats(1, 2, 3), 1, false, []string{"3.000000:2"}, []int64{1}},
		{"more than there are", "INT8", []int64{2}, []byte{0xff, 1}, 9, false, []string{"1:1:dog", "-1:0:cat"}, []int64{2}},
		{"not batched", "UINT8", []int64{2, 2}, []byte{1, 2, 4, 3}, 1, false, []string{"4:2"}, []int64{1}},
		{"batched", "UINT8", []int64{2, 2}, []byte{1, 2, 4, 3}, 1, true, []string{"2:1:dog", "4:0:cat"}, []int64{2, 1}},
		{"batch of scalars", "UINT8", []int64{2}, []byte{1, 2}, 5, true, []string{"1:0:cat", "2:0:cat"}, []int64{2, 1}},
		{"scalar", "UINT64", nil, binary.LittleEndian.AppendUint64(nil, 1<<63), 1, false, []string{"9223372036854775808:0:cat"}, []int64{1}},
		{"ties", "UINT16", []int64{3}, []byte{1, 0, 1, 0, 2, 0}, 3, false, []string{"2:2", "1:0:cat", "1:1:dog"}, []int64{3}},
		{"no numbers", "FP32", []int64{4}, floats(nan, float32(math.Inf(-1)), 1, float32(math.Inf(1))), 4, false, []string{"inf:3", "1.000000:2", "-inf:1:dog", "nan:0:cat"}, []int64{4}},
		{"empty", "FP64", []int64{0}, nil, 2, false, nil, []int64{0}},
		{"empty batch", "FP64", []int64{0, 3}, nil, 2, true, nil, []int64{0}},
		{"less than it says", "UINT8", []int64{2, 2}, []byte{1, 2, 3}, 1, true, []string{"2:1:dog"}, []int64{2, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			raw, shape, err := Classify(&inference.Output{Type: test.datatype, Shape: test.shape, Raw: test.raw}, test.n, test.batched, animals)
			if err != nil {
				t.Fatal(err)
			}
			if got := texts(t, raw); !slices.Equal(got, test.want) || !slices.Equal(shape, test.wantShape) {
				t.Errorf("got %q %v, want %q %v", got, shape, test.want, test.wantShape)
			}
		})
	}
}

func TestClassifyRefuses(t *testing.T) {
	for _, datatype := range []string{"BOOL", "FP16", "BF16", "BYTES", ""} {
		_, _, err := Classify(&inference.Output{Type: datatype, Shape: []int64{1}, Raw: []byte{0}}, 1, false, nil)
		wantError(t, err, inference.CodeInvalid, "class result not available for output due to unsupported type '"+datatype+"'")
	}
	_, _, err := Classify(&inference.Output{Type: "UINT8", Shape: []int64{maxClasses + 1}, Raw: make([]byte, maxClasses+1)}, 1, false, nil)
	wantError(t, err, inference.CodeInvalid, "classification output tensor too large")
}

// FuzzClassify checks that Classify never panics. For a tensor of the correct size, it checks that
// the number of classes agrees with the shape of the result.
func FuzzClassify(f *testing.F) {
	f.Add(uint8(11), int64(2), int64(3), floats(1, 2, 3, 4, 5, 6), uint32(2), true)
	f.Add(uint8(1), int64(-1), int64(1<<62), []byte{1}, uint32(1), false)
	types := []string{"BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP32", "FP64", "BYTES"}
	f.Fuzz(func(t *testing.T, kind uint8, rows, columns int64, raw []byte, n uint32, batched bool) {
		datatype := types[int(kind)%len(types)]
		got, shape, err := Classify(&inference.Output{Type: datatype, Shape: []int64{rows, columns}, Raw: raw}, n, batched, func(int) string { return "label" })
		if err != nil {
			return
		}
		width, _ := scores(datatype)
		if count, ok := inference.Elements([]int64{rows, columns}); !ok || count*int64(width) != int64(len(raw)) {
			return
		}
		if want, _ := inference.Elements(shape); int64(len(texts(t, got))) != want {
			t.Errorf("%q for the shape %v", texts(t, got), shape)
		}
	})
}
