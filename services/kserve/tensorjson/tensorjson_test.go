package tensorjson_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve/tensorjson"
	"github.com/trident-inference/trident/test/tier"
)

// readTensor reads the elements of a JSON text as a tensor.
func readTensor(datatype string, text []byte, count int64) ([]byte, error) {
	d, err := tensorjson.Parse(text)
	if err != nil {
		return nil, err
	}
	raw, wrong := tensorjson.ReadTensor("T", datatype, d.Root(), count)
	if wrong != nil { // a nil pointer in an error isn't nil
		return nil, wrong
	}
	return raw, nil
}

// appendData writes a tensor's elements as JSON.
func appendData(to []byte, out *inference.Output) ([]byte, error) {
	b, err := tensorjson.AppendData(to, out, false)
	if err != nil { // a nil pointer in an error isn't nil
		return nil, err
	}
	return b, nil
}

// parseJSON returns the same as encoding/json for a text, with numbers as their digits.
func parseJSON(text []byte) (any, error) {
	d, err := tensorjson.Parse(text)
	if err != nil {
		return nil, err
	}
	return parsed(d.Root()), nil
}

func parsed(v tensorjson.Value) any {
	switch v.Kind() {
	case '"':
		return string(v.AppendUnquoted(nil))
	case '[':
		list := []any{}
		for item := range v.Items {
			list = append(list, parsed(item))
		}
		return list
	case '{':
		object := map[string]any{}
		for name, value := range v.Members {
			object[string(name.AppendUnquoted(nil))] = parsed(value)
		}
		return object
	case 't':
		return true
	case 'f':
		return false
	case 'n':
		return nil
	}
	return json.Number(v.Raw())
}

func bytesOf(texts ...string) (raw []byte) {
	for _, s := range texts {
		raw = append(binary.LittleEndian.AppendUint32(raw, uint32(len(s))), s...)
	}
	return raw
}

func floats(values ...float32) (raw []byte) {
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return raw
}

// TestNumbers tests that floats of all sizes and lengths are read and written as by strconv.
func TestNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) // the fixed seed yields the same values in each run
	for range 200_000 {
		f := math.Float64frombits(random.Uint64())
		if random.IntN(2) == 0 {
			f = float64(random.IntN(2_000_000)-1_000_000) / math.Pow10(random.IntN(12))
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		format := []byte("efg")[random.IntN(3)]
		text := strconv.FormatFloat(f, format, random.IntN(22)-1, 64)
		want, _ := strconv.ParseFloat(text, 64)
		if math.IsInf(want, 0) { // the number was rounded up to infinity
			continue
		}
		raw, err := readTensor("FP64", []byte(text), 1)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := math.Float64frombits(binary.LittleEndian.Uint64(raw)); got != want {
			t.Fatalf("%s is read as %v, not %v", text, got, want)
		}
		written, err := appendData(nil, &inference.Output{Type: "FP64", Shape: []int64{1}, Raw: raw})
		var back []float64
		if err = errors.Join(err, json.Unmarshal(written, &back)); err != nil || back[0] != want {
			t.Fatalf("%v is written as %s, %v", want, written, err)
		}
	}
}

// TestAppendData checks that AppendData writes numbers as tritonserver does, and checks its error
// for each invalid tensor.
func TestAppendData(t *testing.T) {
	tests := []struct {
		name, datatype string
		shape          []int64
		raw            []byte
		want           string
	}{
		{"floats", "FP32", []int64{7}, floats(1, 0.5, -1e-6, 1e-7, 1e21, 16777216, float32(math.Inf(-1))), "[1.0,0.5,-9.999999974752427e-7,1.0000000116860974e-7,1.0000000200408773e21,16777216.0,-Infinity]"},
		{"scalar", "BOOL", nil, []byte{7}, "[true]"},
		{"none", "INT64", []int64{0, 5}, nil, "[]"},
		{"signed", "INT8", []int64{2, 1}, []byte{255, 1}, "[-1,1]"},
		{"texts", "BYTES", []int64{3}, bytesOf("a\"\\/", "", "\x01\x7f\xffé\u2028"), "[\"a\\\"\\\\/\",\"\",\"\\u0001\x7f\xffé\u2028\"]"},
		{"too short", "INT16", []int64{2}, []byte{1, 2}, "output tensor shape does not match size of output for 'O'"},
		{"ragged", "INT16", []int64{1}, []byte{1, 2, 3}, "output tensor shape does not match size of output for 'O'"},
		{"negative", "INT8", []int64{-1}, nil, "output tensor shape does not match size of output for 'O'"},
		{"overflowing", "INT8", []int64{1 << 32, 1 << 32}, nil, "output tensor shape does not match size of output for 'O'"},
		{"too few texts", "BYTES", []int64{1 << 40}, bytesOf("a"), "output tensor shape does not match size of output for 'O'"},
		{"lying text", "BYTES", []int64{1}, []byte{255, 255, 255, 255, 1}, "output tensor shape does not match size of output for 'O'"},
		{"half floats", "BF16", []int64{1}, []byte{1, 2}, "sending BF16 data via JSON is not supported. Please use the binary data format for output"},
		{"no type", "X", []int64{1}, []byte{1}, "Invalid data type for output tensor"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := appendData(nil, &inference.Output{Name: "O", Type: test.datatype, Shape: test.shape, Raw: test.raw})
			if err != nil {
				got = []byte(inference.AsError(err).Message)
			}
			if string(got) != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestNumberLists checks which JSON lists of plain numbers the reader of tensors accepts. It has a
// fast path for them.
func TestNumberLists(t *testing.T) {
	for text, want := range map[string]string{
		"[1,2,3]": "", "[0,10,999999999999999999]": "", "[1, 2\t,\n3,4 ]": "", "[1,-2,3.5,4e2,5]": "", "[[1,2],[3],[]]": "", `{"a":[1,2],"b":3}`: "",
		"[1234567890123456789012,1,2]": "", "[1,2,null,3]": "", `[1,"2",3]`: "",
		"[1,02,3]": "Missing a comma or ']' after an array element. at 4", "[00,1]": "Missing a comma or ']' after an array element. at 2",
		"[1,2,]": "Invalid value. at 5", "[1,,2]": "Invalid value. at 3", "[,1]": "Invalid value. at 1", "[1,2": "Missing a comma or ']' after an array element. at 4",
		"[1,2,": "Invalid value. at 5", "[1,2x,3]": "Missing a comma or ']' after an array element. at 4", "[1 2,3]": "Missing a comma or ']' after an array element. at 3",
		"[1,2}": "Missing a comma or ']' after an array element. at 4",
	} {
		_, err := parseJSON([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// FuzzJSON compares the parser with encoding/json: what encoding/json accepts must be accepted
// with the same values.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		`{"a": [1, -0, 2.5e-7, "é\u00e9\ud83d\ude00\n", null, true, {"b": {}}], "c": []}`, "[", `"\ud800"`, "1e999", " [NaN, -Infinity] ", "\ufeff{}", "[[],[[]]]", `{"a":1,"a":2}`, `"\`, "-", "{}x",
		`[` + strings.Repeat(`"\"\\", `, 200) + `1]`, strings.Repeat("[", 101),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := parseJSON(text)
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var want any
		if !json.Valid(text) || d.Decode(&want) != nil || bytes.ContainsRune(text, '\ufffd') {
			return // this parser also accepts NaN, Inf and Infinity, bytes that aren't UTF-8, and NUL
		}
		if err != nil {
			message := inference.AsError(err).Message
			for _, limit := range []string{"nesting depth", "too big", "surrogate"} {
				if strings.Contains(message, limit) {
					return
				}
			}
			t.Fatalf("%q: %v", text, err)
		}
		if !slices.ContainsFunc([]string{"\xff", `\ud`, `\uD`}, func(odd string) bool { return bytes.Contains(text, []byte(odd)) }) &&
			bytes.Equal(text, bytes.ToValidUTF8(text, nil)) && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %#v, want %#v", text, got, want)
		}
	})
}

// million is the number of values of large tensors.
const million = 1_000_000

// someFloats returns n FP32 values as a client writes them: most with the digits of a double.
func someFloats(n int) (text, raw []byte) {
	random := rand.New(rand.NewPCG(1, 2)) // the fixed seed yields the same values in each run
	text = append(text, '[')
	for i := range n {
		if i > 0 {
			text = append(text, ',')
		}
		f := float32(random.NormFloat64())
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
		text = strconv.AppendFloat(text, float64(f), 'g', -1, 64)
	}
	return append(text, ']'), raw
}

// BenchmarkReadTensor measures reading a million values from JSON, and BenchmarkAppendData
// writing them. `make bench-go` runs both; compare two runs with benchstat.
func BenchmarkReadTensor(b *testing.B) {
	n := tier.BenchSize(1000, million)
	text, raw := someFloats(n)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if got, err := readTensor("FP32", text, int64(n)); err != nil || len(got) != len(raw) {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendData(b *testing.B) {
	n := tier.BenchSize(1000, million)
	_, raw := someFloats(n)
	b.SetBytes(int64(len(raw)))
	var to []byte
	for b.Loop() {
		var err error
		if to, err = appendData(to[:0], &inference.Output{Type: "FP32", Shape: []int64{int64(n)}, Raw: raw}); err != nil {
			b.Fatal(err)
		}
	}
}
