package rest_test

import (
	"bytes"
	"errors"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve/rest"
)

// TestAnnouncedSizes tests that bodies that announce more than they contain, or that could
// need much memory, allocate only a small multiple of their length.
func TestAnnouncedSizes(t *testing.T) {
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
			_, err := rest.ReadInfer(header, nil, mem.BufferSlice{mem.SliceBuffer(test.body)})
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

// broken yields some bytes and then an error.
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

// TestReadBody checks that a body is read completely whatever its pieces and its announced length
// are, and that a body which announces 2 GiB but breaks off allocates little memory.
func TestReadBody(t *testing.T) {
	want := make([]byte, 3<<20+5)
	for i := range want {
		want[i] = byte(i * 31 >> 3)
	}
	for _, length := range []int64{-1, int64(len(want)), int64(len(want)) + 100, 10} {
		body, err := rest.ReadBody(&http.Request{Body: pieces{bytes.NewReader(want)}, ContentLength: length})
		if err != nil || !bytes.Equal(body.Materialize(), want) {
			t.Errorf("length %d: got %d bytes, %v", length, body.Len(), err)
		}
		body.Free()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := rest.ReadBody(&http.Request{Body: &broken{make([]byte, 100)}, ContentLength: 2 << 30})
	runtime.ReadMemStats(&after)
	if err == nil || inference.AsError(err).Code != inference.CodeInvalid {
		t.Errorf("got %v", err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("100 bytes took %d", used)
	}
}

// pieces reads at most 1000 bytes at a time.
type pieces struct{ *bytes.Reader }

func (p pieces) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(len(b), 1000)]) }
func (pieces) Close() error                 { return nil }

// FuzzInferBody reads any body, split into two buffers at any position. It allows
// only client errors. The contents of a tensor must fill its shape and may need
// only a small multiple of the body's size.
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
		message, err := rest.ReadInfer(header, config, mem.BufferSlice{mem.SliceBuffer(body[:cut]), mem.SliceBuffer(body[cut:])})
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
			if in.GetParameters() != nil { // the contents of this input are in shared memory
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
