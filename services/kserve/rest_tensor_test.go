package kserve_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/test/tier"
)

// TestNumbers reads and writes floats of all sizes and lengths as strconv does.
func TestNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) // the same ones in each run
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
		if math.IsInf(want, 0) { // rounded up
			continue
		}
		raw, err := kserve.ReadTensor("FP64", []byte(text), 1)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := math.Float64frombits(binary.LittleEndian.Uint64(raw)); got != want {
			t.Fatalf("%s is read as %v, not %v", text, got, want)
		}
		written, err := kserve.AppendData(nil, &inference.Output{Type: "FP64", Shape: []int64{1}, Raw: raw})
		var back []float64
		if err = errors.Join(err, json.Unmarshal(written, &back)); err != nil || back[0] != want {
			t.Fatalf("%v is written as %s, %v", want, written, err)
		}
	}
}

// TestAppendData has the forms that tritonserver gives numbers, and all that can be
// wrong with a tensor.
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
			got, err := kserve.AppendData(nil, &inference.Output{Name: "O", Type: test.datatype, Shape: test.shape, Raw: test.raw})
			if err != nil {
				got = []byte(inference.AsError(err).Message)
			}
			if string(got) != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestNumberLists holds lists of plain numbers, which are skipped fast, to the grammar.
func TestNumberLists(t *testing.T) {
	for text, want := range map[string]string{
		"[1,2,3]": "", "[0,10,999999999999999999]": "", "[1, 2\t,\n3,4 ]": "", "[1,-2,3.5,4e2,5]": "", "[[1,2],[3],[]]": "", `{"a":[1,2],"b":3}`: "",
		"[1234567890123456789012,1,2]": "", "[1,2,null,3]": "", `[1,"2",3]`: "",
		"[1,02,3]": "Missing a comma or ']' after an array element. at 4", "[00,1]": "Missing a comma or ']' after an array element. at 2",
		"[1,2,]": "Invalid value. at 5", "[1,,2]": "Invalid value. at 3", "[,1]": "Invalid value. at 1", "[1,2": "Missing a comma or ']' after an array element. at 4",
		"[1,2,": "Invalid value. at 5", "[1,2x,3]": "Missing a comma or ']' after an array element. at 4", "[1 2,3]": "Missing a comma or ']' after an array element. at 3",
		"[1,2}": "Missing a comma or ']' after an array element. at 4",
	} {
		_, err := kserve.ParseJSON([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestClaims sends bodies that claim more than they hold, or that could cost more
// than they are long: they cost a small multiple of their length.
func TestClaims(t *testing.T) {
	const size = 1 << 20
	repeated := func(before, part, after string) string {
		return before + strings.Repeat(part, (size-len(before)-len(after))/len(part)) + after
	}
	claim := func(datatype, shape, data string) string { return inputs(tensorJSON("X", datatype, shape, data)) }
	binaryClaim := inputs(binaryInput("X", "FP32", "[4]", 1<<31))
	tests := []struct {
		name, body, want string
		header           string
	}{
		{"2^40 elements", claim("FP64", "[1099511627776]", "[1]"), "Unable to parse 'data': Shape does not match true shape of 'data' field", ""},
		{"2^64 elements", claim("FP64", "[4294967296, 4294967296]", "[1]"), "Unable to parse 'data': Shape does not match true shape of 'data' field", ""},
		{"a dimension beyond int64", claim("INT8", "[18446744073709551615]", "[1]"), "Unable to parse 'data': Shape does not match true shape of 'data' field", ""},
		{"2 GiB behind the JSON", binaryClaim, "unexpected size for input 'X', expecting 2147483648 additional bytes for model 'm'", strconv.Itoa(len(binaryClaim))},
		{"depth", strings.Repeat("[", size), "JSON nesting depth exceeds maximum allowed limit (100)", ""},
		{"depth of objects", strings.Repeat(`{"a":`, size/5), "JSON nesting depth exceeds maximum allowed limit (100)", ""},
		{"empty inputs", repeated(`{"inputs":[`, "{},", "{}]}"), "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'. But no field is set", ""},
		{"many twins", repeated(`{"inputs":[],"parameters":{`, `"a":1,`, `"b":null}}`), "parameter 'b' has invalid type. It should be either 'int', 'bool', or 'string'.", ""},
		{"escapes", repeated(`{"inputs":[],"id":"`, `\n`, `","parameters":1}`), "failed to get request params.: attempt to get members for non-object", ""},
		{"empty lists", repeated(`{"inputs":[{"name":"X","datatype":"INT8","shape":[1],"data":[`, `[],`, "[]]}]}"), "Unable to parse 'data': Shape does not match true shape of 'data' field", ""},
		{"more than the shape", repeated(`{"inputs":[{"name":"X","datatype":"INT8","shape":[1],"data":[`, `1,`, "1]}]}"), "Unable to parse 'data': Shape does not match true shape of 'data' field", ""},
		{"dimensions", repeated(`{"inputs":[{"name":"X","datatype":"INT8","data":[],"shape":[`, `1,`, "-1]}]}"), "shape holds more than 256 elements: send fewer", ""},
		{"cut short", repeated(`{"inputs":[{"name":"X","datatype":"INT8","shape":[1],"data":[`, `1,`, "1"), "failed to parse the request JSON buffer: Missing a comma or ']' after an array element. at ", ""},
		{"a long number", repeated(`{"inputs":`, `1`, ""), "failed to parse the request JSON buffer: Number too big to be stored in double. at 10", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			header := http.Header{}
			if test.header != "" {
				header.Set("Inference-Header-Content-Length", test.header)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := kserve.ReadInfer(header, nil, mem.BufferSlice{mem.SliceBuffer(test.body)})
			runtime.ReadMemStats(&after)
			if err == nil || !strings.HasPrefix(inference.AsError(err).Message, test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 24*size {
				t.Errorf("a body of %d bytes took %d", len(test.body), used)
			}
		})
	}
}

// broken gives some bytes and an error.
type broken struct{ rest []byte }

func (b *broken) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		return 0, errors.New("the connection broke")
	}
	n := copy(p, b.rest[:min(7, len(b.rest))])
	b.rest = b.rest[n:]
	return n, nil
}

func (*broken) Close() error { return nil }

// TestReadBody reads bodies that come in any pieces, and one that claims 2 GiB.
func TestReadBody(t *testing.T) {
	want := make([]byte, 3<<20+5)
	for i := range want {
		want[i] = byte(i * 31 >> 3)
	}
	for _, length := range []int64{-1, int64(len(want)), int64(len(want)) + 100, 10} {
		body, err := kserve.ReadBody(&http.Request{Body: pieces{bytes.NewReader(want)}, ContentLength: length})
		if err != nil || !bytes.Equal(body.Materialize(), want) {
			t.Errorf("length %d: got %d bytes, %v", length, body.Len(), err)
		}
		body.Free()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := kserve.ReadBody(&http.Request{Body: &broken{make([]byte, 100)}, ContentLength: 2 << 30})
	runtime.ReadMemStats(&after)
	if err == nil || inference.AsError(err).Code != inference.CodeInvalid {
		t.Errorf("got %v", err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("100 bytes took %d", used)
	}
}

// pieces reads a few bytes at a time.
type pieces struct{ *bytes.Reader }

func (p pieces) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(len(b), 1000)]) }
func (pieces) Close() error                 { return nil }

// FuzzJSON holds the reader of JSON to encoding/json: what that takes is taken, and
// is the same.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		`{"a": [1, -0, 2.5e-7, "é\u00e9\ud83d\ude00\n", null, true, {"b": {}}], "c": []}`, "[", `"\ud800"`, "1e999", " [NaN, -Infinity] ", "\ufeff{}", "[[],[[]]]", `{"a":1,"a":2}`, `"\`, "-", "{}x",
		`[` + strings.Repeat(`"\"\\", `, 200) + `1]`, strings.Repeat("[", 101),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := kserve.ParseJSON(text)
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var want any
		if !json.Valid(text) || d.Decode(&want) != nil || bytes.ContainsRune(text, '\ufffd') {
			return // the literals of numbers, bytes that aren't UTF-8 and NUL may pass here
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

// FuzzInferBody takes any body, cut into any buffers: no error but for clients, and
// no tensor whose contents don't fill its shape, or that costs more than the body
// does.
func FuzzInferBody(f *testing.F) {
	add := func(x restTrial) { f.Add([]byte(x.body), x.header["Inference-Header-Content-Length"], 40) }
	for _, x := range slices.Concat(restPlain(), restDatatypes(), restWrong(), restRaw(), restParameters(), restOutputs()) {
		add(x)
	}
	for _, x := range restBinary() {
		if len(x.body) < 1<<16 {
			add(x)
		}
	}
	config := &api.ModelConfig{Name: "m", Input: []*api.ModelInput{{Name: "X", DataType: api.DataType_TYPE_FP32, Dims: []int64{-1, 2}}}}
	widths := map[string]int64{"BOOL": 1, "UINT8": 1, "INT8": 1, "UINT16": 2, "INT16": 2, "UINT32": 4, "INT32": 4, "FP32": 4, "UINT64": 8, "INT64": 8, "FP64": 8}
	f.Fuzz(func(t *testing.T, body []byte, length string, cut int) {
		cut = min(max(cut, 0), len(body))
		header := http.Header{}
		header.Set("Inference-Header-Content-Length", length)
		message, err := kserve.ReadInfer(header, config, mem.BufferSlice{mem.SliceBuffer(body[:cut]), mem.SliceBuffer(body[cut:])})
		if err != nil {
			if inference.AsError(err).Code != inference.CodeInvalid {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		defer message.Free()
		req, err := message.Request()
		if err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		total, contents := 0, req.GetRawInputContents()
		for _, in := range req.GetInputs() {
			if in.GetParameters() != nil { // in shared memory
				continue
			}
			raw := contents[0]
			contents, total = contents[1:], total+len(raw)
			if width := widths[in.GetDatatype()]; length == "" && width > 0 && len(raw) > 0 && int64(len(raw)) != width*product(in.GetShape()) && !bytes.Contains(body, []byte("binary_data_size")) {
				t.Errorf("%q: %v has %d bytes", body, in, len(raw))
			}
		}
		if len(contents) != 0 || total > 8*len(body)+4 {
			t.Errorf("%q: %d contents are left, of %d bytes", body, len(contents), total)
		}
	})
}

func product(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// million is how many values large tensors have.
const million = 1_000_000

// someFloats are n FP32 values as a client writes them: most with the digits of a double.
func someFloats(n int) (text, raw []byte) {
	random := rand.New(rand.NewPCG(1, 2)) // the same ones in each run
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

// BenchmarkReadTensor asks what a million values of JSON cost to read, and BenchmarkAppendData
// to write. `make bench-go` runs them; compare two runs with benchstat.
func BenchmarkReadTensor(b *testing.B) {
	n := tier.BenchSize(1000, million)
	text, raw := someFloats(n)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if got, err := kserve.ReadTensor("FP32", text, int64(n)); err != nil || len(got) != len(raw) {
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
		if to, err = kserve.AppendData(to[:0], &inference.Output{Type: "FP32", Shape: []int64{int64(n)}, Raw: raw}); err != nil {
			b.Fatal(err)
		}
	}
}
