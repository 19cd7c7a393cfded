package extension

import (
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

func mapping() *Generate {
	return NewGenerate(&kserve.ModelConfig{
		Name: "m", MaxBatchSize: 4,
		Input: []*kserve.ModelInput{
			{Name: "TEXT", DataType: kserve.DataType_TYPE_STRING, Dims: []int64{1}},
			{Name: "INTS", DataType: kserve.DataType_TYPE_INT64, Dims: []int64{-1}},
			{Name: "HALF", DataType: kserve.DataType_TYPE_BF16, Dims: []int64{-1}},
			{Name: "GRID", DataType: kserve.DataType_TYPE_UINT8, Dims: []int64{-1, 2}},
		},
	})
}

func TestRequest(t *testing.T) {
	req, err := mapping().Request([]byte(`{"id": "7", "TEXT": "hi", "parameters": {"GRID": [1, 2, 3, 4], "f": 18446744073709551615}, "INTS": []}`))
	if err != nil {
		t.Fatal(err)
	}
	if req.GetModelName() != "m" || req.GetId() != "7" || len(req.GetParameters()) != 2 ||
		req.GetParameters()["id"].GetStringParam() != "7" || req.GetParameters()["f"].GetDoubleParam() != 1<<64 {
		t.Errorf("got %v", req)
	}
	want := []struct {
		name, datatype string
		shape          []int64
		raw            string
	}{
		{"TEXT", "BYTES", []int64{1, 1}, "\x02\x00\x00\x00hi"},
		{"GRID", "UINT8", []int64{1, 2, 2}, "\x01\x02\x03\x04"},
		{"INTS", "INT64", nil, ""},
	}
	for i, in := range req.GetInputs() {
		w := want[i]
		if in.GetName() != w.name || in.GetDatatype() != w.datatype || !slices.Equal(in.GetShape(), w.shape) || string(req.GetRawInputContents()[i]) != w.raw {
			t.Errorf("input %d is %v with %q, want %v", i, in, req.GetRawInputContents()[i], w)
		}
	}
}

func TestRequestRefuses(t *testing.T) {
	deep := strings.Repeat("[", 200) + "1" + strings.Repeat("]", 200)
	tests := []struct{ name, body, want string }{
		{"empty", " ", "failed to parse the request JSON buffer: The document is empty. at 0"},
		{"no UTF-8", "{\"a\": \"\xff\"}", "failed to parse the request JSON buffer: Invalid encoding in string."},
		{"NaN", `{"a": NaN}`, "failed to parse the request JSON buffer: invalid character 'N' looking for beginning of value at 7"},
		{"two documents", `{} {}`, "failed to parse the request JSON buffer: invalid character '{' after top-level value at 4"},
		{"huge number", `{"a": 1e999}`, "parameter 'a' has invalid type. It should be either 'int', 'bool', or 'string'."},
		{"BF16", `{"HALF": 1}`, "receiving BF16 data via JSON is not supported. Please use the binary data format for input HALF"},
		{"depth", `{"INTS": ` + deep + `}`, "JSON nesting depth exceeds maximum allowed limit (100)"},
		{"odd grid", `{"GRID": [1]}`, "The schema can not convert input 'GRID' to tensor with proper shape"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := mapping().Request([]byte(test.body))
			wantError(t, err, inference.CodeInvalid, test.want)
		})
	}
}

func TestNestedKeywordIsInput(t *testing.T) {
	g := NewGenerate(&kserve.ModelConfig{Input: []*kserve.ModelInput{{Name: "parameters", DataType: kserve.DataType_TYPE_INT8, Dims: []int64{1}}}})
	_, err := g.Request([]byte(`{"parameters": 1}`))
	wantError(t, err, inference.CodeInvalid, "Keyword 'parameters' for nested schema also given as input tensor name")
}

func TestAppendResponse(t *testing.T) {
	double := func(v float64) *kserve.InferParameter {
		return &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_DoubleParam{DoubleParam: v}}
	}
	response := &inference.Response{
		ID: "7", Version: "3",
		Parameters: map[string]*kserve.InferParameter{
			"d": double(0.5), "model_name": double(1),
			"b": {ParameterChoice: &kserve.InferParameter_BoolParam{BoolParam: true}},
			"i": {ParameterChoice: &kserve.InferParameter_Int64Param{Int64Param: -1}},
			"s": {ParameterChoice: &kserve.InferParameter_StringParam{StringParam: "\"x"}},
		},
		Outputs: []inference.Output{
			{Name: "scalar", Type: "BOOL", Raw: []byte{1}},
			{Name: "one", Type: "INT16", Shape: []int64{1, 1}, Raw: []byte{0xff, 0xff}},
			{Name: "none", Type: "FP32", Shape: []int64{0}},
			{Name: "floats", Type: "FP32", Shape: []int64{2, 3}, Raw: floats(1, 0.1, float32(math.NaN()), float32(math.Inf(-1)), 1e30, 1e-9)},
			{Name: "texts", Type: "BYTES", Shape: []int64{2}, Raw: []byte("\x02\x00\x00\x00hi\x01\x00\x00\x00\xff")},
			{Name: "d", Type: "INT8", Shape: []int64{1}, Raw: []byte{1}},
		},
	}
	const want = `{"b":true,"d":0.5,"floats":[1.0,0.10000000149011612,NaN,-Infinity,1.0000000150474662e+30,9.999999717180685e-10],` +
		`"i":-1,"id":"7","model_name":"m","model_version":"3","none":[],"one":-1,"s":"\"x","scalar":true,"texts":["hi","` + "\\ufffd" + `"]}`
	got, err := mapping().AppendResponse(nil, response)
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestAppendResponseRefuses(t *testing.T) {
	tests := []struct {
		name string
		out  inference.Output
		code inference.Code
		want string
	}{
		{"FP16", inference.Output{Type: "FP16", Shape: []int64{1}, Raw: []byte{0, 0}}, inference.CodeInvalid, "sending FP16 data via JSON is not supported. Please use the binary data format for output"},
		{"no type", inference.Output{}, inference.CodeInvalid, "Invalid data type for output tensor"},
		{"too short", inference.Output{Name: "O", Type: "INT8", Shape: []int64{2}, Raw: []byte{1}}, inference.CodeInternal, "Failed to write 'data' field: output tensor shape does not match size of output for 'O'"},
		{"too short text", inference.Output{Name: "O", Type: "BYTES", Shape: []int64{1}, Raw: []byte{1, 0, 0, 0}}, inference.CodeInternal, "output tensor shape does not match size of output for 'O'"},
		{"too few texts", inference.Output{Name: "O", Type: "BYTES", Shape: []int64{1 << 40}}, inference.CodeInternal, "output tensor shape does not match size of output for 'O'"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := mapping().AppendResponse(nil, &inference.Response{Outputs: []inference.Output{test.out}})
			wantError(t, err, test.code, test.want)
		})
	}
}

func TestSingle(t *testing.T) {
	answer := &inference.Response{Version: "1", Outputs: []inference.Output{{Name: "O", Type: "INT8", Raw: []byte{1}}}}
	end := &inference.Response{Final: true}
	failure := errors.New("model failed")
	const want = `{"O":1,"model_name":"m","model_version":"1"}`
	tests := []struct {
		name      string
		responses []*inference.Response
		failure   error
		want      string
	}{
		{"one", []*inference.Response{answer}, nil, want},
		{"one of a stream", []*inference.Response{{Idle: true}, answer, end}, nil, want},
		{"none", []*inference.Response{end}, nil, ""},
		{"two", []*inference.Response{answer, answer, end}, nil, ""},
		{"failed", []*inference.Response{answer}, failure, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := mapping().Single(stream(test.responses, test.failure))
			switch {
			case string(got) != test.want:
				t.Errorf("got %s, %v", got, err)
			case test.failure != nil && !errors.Is(err, test.failure):
				t.Errorf("got %v", err)
			case test.want == "" && test.failure == nil:
				wantError(t, err, inference.CodeInternal, errNotOne().Error())
			}
		})
	}
}

func stream(responses []*inference.Response, failure error) iter.Seq2[*inference.Response, error] {
	return func(yield func(*inference.Response, error) bool) {
		for _, r := range responses {
			if !yield(r, nil) {
				return
			}
		}
		if failure != nil {
			yield(nil, failure)
		}
	}
}

// FuzzRequest finds no body that makes the mapping panic, or give a tensor whose
// contents don't fill its shape.
func FuzzRequest(f *testing.F) {
	for _, body := range []string{
		"", "{", `{"TEXT": "a", "INTS": [1, 2], "GRID": [[1, 2], [3, 4]], "parameters": {"x": 1e3}}`, `[{}]`, `{"INTS": [[[]]]}`, `{"GRID": -0}`,
	} {
		f.Add([]byte(body))
	}
	g := mapping()
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := g.Request(body)
		if err != nil {
			if e := (*inference.Error)(nil); !errors.As(err, &e) {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		for i, in := range req.GetInputs() {
			width, _ := scores(in.GetDatatype())
			count, ok := elements(in.GetShape())
			raw := req.GetRawInputContents()[i]
			if len(raw) > 0 && width > 0 && (!ok || count*int64(width) != int64(len(raw))) {
				t.Errorf("%q: %v has %d bytes", body, in, len(raw))
			}
		}
	})
}

// FuzzAppendResponse finds no tensor that makes the mapping panic.
func FuzzAppendResponse(f *testing.F) {
	f.Add("BYTES", int64(2), []byte("\x01\x00\x00\x00a"))
	f.Add("INT64", int64(1), binary.LittleEndian.AppendUint64(nil, 1))
	g := mapping()
	f.Fuzz(func(_ *testing.T, datatype string, length int64, raw []byte) {
		outputs := []inference.Output{{Name: "O", Type: datatype, Shape: []int64{length}, Raw: raw}}
		_, _ = g.AppendResponse(nil, &inference.Response{Outputs: outputs}) // only a panic matters
	})
}
