package triton

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// decodeFrame decodes a message that is split into buffers of at most size
// bytes. A size of 0 means one buffer.
func decodeFrame(f *frame, message []byte, size int) error {
	var data mem.BufferSlice
	if size == 0 {
		data = append(data, mem.SliceBuffer(message))
	} else {
		for part := range slices.Chunk(message, size) {
			data = append(data, mem.SliceBuffer(part))
		}
	}
	return newCodec().Unmarshal(data, f)
}

func newFrame() *frame { return &frame{names: &names{request: "id"}} }

func marshal(tb testing.TB, message proto.Message) []byte {
	tb.Helper()
	b, err := proto.Marshal(message)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func final(v bool) map[string]*kserve.InferParameter {
	return map[string]*kserve.InferParameter{
		finalResponse: {ParameterChoice: &kserve.InferParameter_BoolParam{BoolParam: v}},
		"other":       {ParameterChoice: &kserve.InferParameter_Int64Param{Int64Param: 1}},
	}
}

type outputTensor = kserve.ModelInferResponse_InferOutputTensor

// tokenMessage returns the message that a chat model sends for each token.
func tokenMessage() *kserve.ModelStreamInferResponse {
	return &kserve.ModelStreamInferResponse{InferResponse: &kserve.ModelInferResponse{
		ModelName: "chat", ModelVersion: "1", Id: "request",
		Parameters: map[string]*kserve.InferParameter{finalResponse: {ParameterChoice: &kserve.InferParameter_BoolParam{}}},
		Outputs: []*outputTensor{
			{Name: "text_output", Datatype: "BYTES", Shape: []int64{1}},
			{Name: "num_output_tokens", Datatype: "UINT32", Shape: []int64{1, 2}},
		},
		RawOutputContents: [][]byte{[]byte("\x06\x00\x00\x00 hello"), {1, 0, 0, 0, 2, 0, 0, 0}},
	}}
}

func TestDecode(t *testing.T) {
	tests := []struct {
		name    string
		message *kserve.ModelStreamInferResponse
		want    inference.Response
		failure string
		flagged bool
	}{
		{
			name: "nothing", message: &kserve.ModelStreamInferResponse{},
		},
		{
			name: "outputs", message: tokenMessage(), flagged: true,
			want: inference.Response{ID: "request", Version: "1", Outputs: []inference.Output{
				{Name: "text_output", Type: "BYTES", Shape: []int64{1}, Raw: []byte("\x06\x00\x00\x00 hello")},
				{Name: "num_output_tokens", Type: "UINT32", Shape: []int64{1, 2}, Raw: []byte{1, 0, 0, 0, 2, 0, 0, 0}},
			}},
		},
		{
			name: "empty final", flagged: true,
			message: &kserve.ModelStreamInferResponse{InferResponse: &kserve.ModelInferResponse{Id: "other", Parameters: final(true)}},
			want: inference.Response{ID: "other", Final: true, Parameters: map[string]*kserve.InferParameter{
				"other": {ParameterChoice: &kserve.InferParameter_Int64Param{Int64Param: 1}},
			}},
		},
		{
			name: "error", failure: "Request for unknown model",
			message: &kserve.ModelStreamInferResponse{ErrorMessage: "Request for unknown model", InferResponse: &kserve.ModelInferResponse{Id: "id"}},
			want:    inference.Response{ID: "id"},
		},
		{
			name: "scalar without contents",
			message: &kserve.ModelStreamInferResponse{InferResponse: &kserve.ModelInferResponse{
				Outputs: []*outputTensor{{Name: "S", Datatype: "FP32"}},
			}},
			want: inference.Response{Outputs: []inference.Output{{Name: "S", Type: "FP32"}}},
		},
		{
			name: "typed contents",
			message: &kserve.ModelStreamInferResponse{InferResponse: &kserve.ModelInferResponse{Outputs: []*outputTensor{
				{Name: "A", Datatype: "FP32", Shape: []int64{1}, Contents: &kserve.InferTensorContents{Fp32Contents: []float32{1}}},
				{Name: "B", Datatype: "BYTES", Shape: []int64{2}, Contents: &kserve.InferTensorContents{BytesContents: [][]byte{[]byte("ab"), nil}}},
			}}},
			want: inference.Response{Outputs: []inference.Output{
				{Name: "A", Type: "FP32", Shape: []int64{1}, Raw: []byte{0, 0, 0x80, 0x3f}},
				{Name: "B", Type: "BYTES", Shape: []int64{2}, Raw: []byte("\x02\x00\x00\x00ab\x00\x00\x00\x00")},
			}},
		},
	}
	f := newFrame() // the frame is reused, as in a stream
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			message := marshal(t, test.message)
			for size := range len(message) + 1 {
				if err := decodeFrame(f, message, size); err != nil {
					t.Fatal(err)
				}
				if !equalResponses(f.response, test.want) || f.failure != test.failure || f.flagged != test.flagged {
					t.Fatalf("in buffers of %d: got %+v, error %q, flagged %t", size, f.response, f.failure, f.flagged)
				}
			}
		})
	}
}

func equalResponses(a, b inference.Response) bool {
	parameters := maps.EqualFunc(a.Parameters, b.Parameters, func(a, b *kserve.InferParameter) bool { return proto.Equal(a, b) })
	return a.ID == b.ID && a.Version == b.Version && parameters && a.Final == b.Final && slices.EqualFunc(a.Outputs, b.Outputs, func(a, b inference.Output) bool {
		return a.Name == b.Name && a.Type == b.Type && slices.Equal(a.Shape, b.Shape) && bytes.Equal(a.Raw, b.Raw)
	})
}

func TestDecodeRefuses(t *testing.T) {
	whole := marshal(t, tokenMessage())
	tests := []struct {
		name    string
		message []byte
	}{
		{"no field number", []byte{0x00}},
		{"an end without a group", []byte{0x0c}},
		{"a reserved wire type", []byte{0x0f}},
		{"a length beyond the end", []byte{0x12, 0x05, 0x00}},
		{"a huge length", []byte{0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}},
		{"a name that isn't UTF-8", marshalOutput(t, protowire.AppendBytes([]byte{0x0a}, []byte{0xff}))},
		{"a shape cut off", marshalOutput(t, protowire.AppendBytes([]byte{0x1a}, []byte{0x80}))},
		{"more contents than outputs", marshal(t, &kserve.ModelStreamInferResponse{InferResponse: &kserve.ModelInferResponse{RawOutputContents: [][]byte{{1}}}})},
		{"fewer contents than outputs", marshal(t, &kserve.ModelStreamInferResponse{InferResponse: &kserve.ModelInferResponse{
			Outputs: []*outputTensor{{Name: "A"}, {Name: "B"}}, RawOutputContents: [][]byte{{1}},
		}})},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := decodeFrame(newFrame(), test.message, 0); err == nil {
				t.Error("it was taken")
			}
		})
	}
	for n := 1; n < len(whole); n++ {
		if err := decodeFrame(newFrame(), whole[:n], 0); err == nil {
			t.Errorf("cut after %d bytes it was taken", n)
		}
	}
}

func marshalOutput(t *testing.T, output []byte) []byte {
	t.Helper()
	response := protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), output)
	return protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), response)
}

// FuzzDecode compares codec.Unmarshal with generated code. The codec must accept what generated
// code accepts, with the same content, and must never panic.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add(marshal(f, tokenMessage()))
	f.Add(marshal(f, &kserve.ModelStreamInferResponse{ErrorMessage: "text", InferResponse: &kserve.ModelInferResponse{Parameters: final(true)}}))
	f.Add(marshal(f, &kserve.ModelStreamInferResponse{InferResponse: &kserve.ModelInferResponse{Outputs: []*outputTensor{
		{Datatype: "INT8", Contents: &kserve.InferTensorContents{IntContents: []int32{-1, 300}}},
	}}}))
	twice := marshal(f, tokenMessage())
	f.Add(append(twice, twice...))
	f.Fuzz(func(t *testing.T, b []byte) {
		got := newFrame()
		first, err := decodeFrame(got, b, 0), decodeFrame(got, b, 0) // the second call uses the cache of the first one
		if (first == nil) != (err == nil) {
			t.Errorf("first %v, then %v", first, err)
		}
		var want kserve.ModelStreamInferResponse
		if proto.Unmarshal(b, &want) != nil {
			return
		}
		response, ok := viewOf(want.GetInferResponse())
		switch {
		case !ok:
			if err == nil {
				t.Error("contents that don't match the outputs were taken")
			}
		case err != nil:
			t.Errorf("refused: %v", err)
		case !equalResponses(got.response, response) || got.failure != want.GetErrorMessage():
			t.Errorf("got %+v, want %+v", got.response, response)
		}
	})
}

// FuzzDecodeNext checks that a message is decoded alike whatever message precedes it in its stream.
func FuzzDecodeNext(f *testing.F) {
	token := marshal(f, tokenMessage())
	head := bytes.LastIndex(token, []byte{6<<3 | 2, 8, 1})
	f.Add(token, token)
	f.Add(token, marshal(f, &kserve.ModelStreamInferResponse{ErrorMessage: "text"}))
	for _, cut := range []int{1, 2, head, len(token) - 1} {
		f.Add(token, token[:cut])
	}
	f.Fuzz(func(t *testing.T, first, next []byte) {
		got, want := newFrame(), newFrame()
		_ = decodeFrame(got, first, 0) // it may be refused
		err, wanted := decodeFrame(got, next, 0), decodeFrame(want, next, 0)
		switch {
		case (err == nil) != (wanted == nil):
			t.Errorf("%v, and after the other message %v", wanted, err)
		case err == nil && (!equalResponses(got.response, want.response) || got.failure != want.failure || got.flagged != want.flagged):
			t.Errorf("got %+v, want %+v", got.response, want.response)
		}
	})
}

// TestDecodeKnown checks messages that begin as the stream's previous one, and what follows.
func TestDecodeKnown(t *testing.T) {
	field := func(b []byte, number protowire.Number, content string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), content)
	}
	head := field(field(nil, 2, "1"), 3, "id")
	for _, name := range []string{"text", "count"} {
		head = field(head, 5, string(field(field(nil, 1, name), 2, "UINT8")))
	}
	raws := func(contents ...string) []byte {
		b := slices.Clone(head)
		for _, content := range contents {
			b = field(b, 6, content)
		}
		return b
	}
	token := raws("a", "b")
	for name, next := range map[string]struct {
		body  []byte
		known bool
	}{
		"the same":              {token, true},
		"other contents":        {raws("", "long"), true},
		"a long content":        {raws(strings.Repeat("x", 1000), "b"), true},
		"one content":           {raws("a"), false},
		"three contents":        {raws("a", "b", "c"), false},
		"no contents":           {head, false},
		"another id after it":   {field(raws("a", "b"), 3, "id2"), false},
		"a version between":     {field(field(field(slices.Clone(head), 6, "a"), 2, "7"), 6, "b"), false},
		"another output":        {field(field(field(field(slices.Clone(head), 5, ""), 6, "a"), 6, "b"), 6, "c"), false},
		"contents cut off":      {token[:len(token)-1], false},
		"contents of no length": {append(slices.Clone(head), 6<<3|2), false},
	} {
		t.Run(name, func(t *testing.T) {
			f, fresh := newFrame(), newFrame()
			if err := decodeFrame(f, field(nil, 2, string(token)), 0); err != nil {
				t.Fatal(err)
			}
			f.free()
			message := field(nil, 2, string(next.body))
			if got := f.decodeKnown(message); got != next.known {
				t.Errorf("known: %t", got)
			}
			err, wanted := decodeFrame(f, message, 0), decodeFrame(fresh, message, 0)
			if (err == nil) != (wanted == nil) || !equalResponses(f.response, fresh.response) || f.flagged != fresh.flagged {
				t.Errorf("got %+v %v, want %+v %v", f.response, err, fresh.response, wanted)
			}
			if err := decodeFrame(f, field(nil, 2, string(token)), 0); err != nil || string(f.response.Outputs[1].Raw) != "b" || f.response.ID != "id" {
				t.Errorf("afterwards %+v, %v", f.response, err)
			}
		})
	}
}

// TestDecodeForgets checks that a response with the final flag, or with parameters, is never the
// known one.
func TestDecodeForgets(t *testing.T) {
	for name, parameters := range map[string]map[string]*kserve.InferParameter{
		"last":       {finalResponse: {ParameterChoice: &kserve.InferParameter_BoolParam{BoolParam: true}}},
		"parameters": final(false),
	} {
		message := tokenMessage()
		message.InferResponse.Parameters = parameters
		encoded, f := marshal(t, message), newFrame()
		if err := decodeFrame(f, encoded, 0); err != nil {
			t.Fatal(err)
		}
		f.free()
		if f.decodeKnown(encoded) {
			t.Errorf("%s: it is known", name)
		}
	}
}

// viewOf returns the expected view of a response. It returns false if the codec
// must reject it.
func viewOf(r *kserve.ModelInferResponse) (inference.Response, bool) {
	view := inference.Response{
		ID: r.GetId(), Version: r.GetModelVersion(), Final: r.GetParameters()[finalResponse].GetBoolParam(),
		Parameters: maps.Clone(r.GetParameters()),
	}
	delete(view.Parameters, finalResponse)
	raws := r.GetRawOutputContents()
	if len(raws) != 0 && len(raws) != len(r.GetOutputs()) {
		return view, false
	}
	for i, o := range r.GetOutputs() {
		raw := Flatten(o.GetDatatype(), o.GetContents())
		if len(raws) > 0 {
			raw = raws[i]
		}
		view.Outputs = append(view.Outputs, inference.Output{Name: o.GetName(), Type: o.GetDatatype(), Shape: o.GetShape(), Raw: raw})
	}
	return view, true
}

func TestFlatten(t *testing.T) {
	u16, u32, u64 := binary.LittleEndian.AppendUint16, binary.LittleEndian.AppendUint32, binary.LittleEndian.AppendUint64
	tests := []struct {
		datatype string
		contents *kserve.InferTensorContents
		want     []byte
	}{
		{"BOOL", &kserve.InferTensorContents{BoolContents: []bool{true, false}}, []byte{1, 0}},
		{"INT8", &kserve.InferTensorContents{IntContents: []int32{-1, 2}}, []byte{255, 2}},
		{"INT16", &kserve.InferTensorContents{IntContents: []int32{-2}}, u16(nil, 0xfffe)},
		{"INT32", &kserve.InferTensorContents{IntContents: []int32{math.MinInt32}}, u32(nil, 1<<31)},
		{"INT64", &kserve.InferTensorContents{Int64Contents: []int64{math.MinInt64}}, u64(nil, 1<<63)},
		{"UINT8", &kserve.InferTensorContents{UintContents: []uint32{255}}, []byte{255}},
		{"UINT16", &kserve.InferTensorContents{UintContents: []uint32{65535}}, u16(nil, 65535)},
		{"UINT32", &kserve.InferTensorContents{UintContents: []uint32{math.MaxUint32}}, u32(nil, math.MaxUint32)},
		{"UINT64", &kserve.InferTensorContents{Uint64Contents: []uint64{math.MaxUint64}}, u64(nil, math.MaxUint64)},
		{"FP32", &kserve.InferTensorContents{Fp32Contents: []float32{-1.5}}, u32(nil, math.Float32bits(-1.5))},
		{"FP64", &kserve.InferTensorContents{Fp64Contents: []float64{-1.5}}, u64(nil, math.Float64bits(-1.5))},
		{"BYTES", &kserve.InferTensorContents{BytesContents: [][]byte{[]byte("a"), {}}}, []byte{1, 0, 0, 0, 'a', 0, 0, 0, 0}},
		{"FP16", &kserve.InferTensorContents{Fp32Contents: []float32{1}}, nil},
	}
	for _, test := range tests {
		t.Run(test.datatype, func(t *testing.T) {
			if got := Flatten(test.datatype, test.contents); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestMarshalAsksForFinal(t *testing.T) {
	for name, parameters := range map[string]map[string]*kserve.InferParameter{
		"no parameters":   nil,
		"asked otherwise": {enableEmptyFinal: {ParameterChoice: &kserve.InferParameter_BoolParam{}}, "seed": {}},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := newCodec().Marshal(&kserve.ModelInferRequest{ModelName: "m", Parameters: parameters})
			if err != nil {
				t.Fatal(err)
			}
			var got kserve.ModelInferRequest
			if err := proto.Unmarshal(data.Materialize(), &got); err != nil {
				t.Fatal(err)
			}
			if got.GetModelName() != "m" || !got.GetParameters()[enableEmptyFinal].GetBoolParam() || len(got.GetParameters()) != max(1, len(parameters)) {
				t.Errorf("got %v", &got)
			}
		})
	}
}

// TestDecodeAllocates checks that codec.Unmarshal decodes a token's response without a heap
// allocation. The codec exists for this reason.
func TestDecodeAllocates(t *testing.T) {
	codec, f := newCodec(), newFrame()
	data := mem.BufferSlice{mem.SliceBuffer(marshal(t, tokenMessage()))}
	allocations := testing.AllocsPerRun(100, func() {
		if err := codec.Unmarshal(data, f); err != nil {
			t.Fatal(err)
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations a response", allocations)
	}
}

// BenchmarkDecode measures the cost of decoding one token's response. Compare
// lean (this codec) with proto (the generated code).
func BenchmarkDecode(b *testing.B) {
	data := mem.BufferSlice{mem.SliceBuffer(marshal(b, tokenMessage()))}
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		codec, f := newCodec(), newFrame()
		for b.Loop() {
			f.names.known.head = f.names.known.head[:0]
			if err := codec.Unmarshal(data, f); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("lean", func(b *testing.B) {
		b.ReportAllocs()
		codec, f := newCodec(), newFrame()
		for b.Loop() {
			if err := codec.Unmarshal(data, f); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("proto", func(b *testing.B) {
		b.ReportAllocs()
		codec := newCodec().proto
		for b.Loop() {
			if err := codec.Unmarshal(data, &kserve.ModelStreamInferResponse{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
