package kserve_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/kserve/kservetest"
)

// describing returns trials that describe the server and its models.
func describing() []trial {
	var all []trial
	for _, m := range []struct{ name, version string }{
		{"types", ""},
		{"types", "1"},
		{"rows", ""},
		{"echo", "1"},
		{"stream", ""},
		{"sequence", ""},
		{"script", ""},
		{"types", "2"},
		{"none", ""},
		{"none", "1"},
		{"", ""},
		{"types", "x"},
		{"types", "-1"},
		{"types", "1x"},
	} {
		label := fmt.Sprintf("%q %q", m.name, m.version)
		all = append(all,
			calling("ModelReady "+label, client.ModelReady, &api.ModelReadyRequest{Name: m.name, Version: m.version}),
			calling("ModelMetadata "+label, client.ModelMetadata, &api.ModelMetadataRequest{Name: m.name, Version: m.version}),
			calling("ModelConfig "+label, client.ModelConfig, &api.ModelConfigRequest{Name: m.name, Version: m.version}),
			calling("ModelStatistics "+label, client.ModelStatistics, &api.ModelStatisticsRequest{Name: m.name, Version: m.version}, onlyShape),
		)
	}
	return append(all,
		calling("ServerLive", client.ServerLive, &api.ServerLiveRequest{}),
		calling("ServerReady", client.ServerReady, &api.ServerReadyRequest{}),
		calling("ServerMetadata", client.ServerMetadata, &api.ServerMetadataRequest{}),
		calling("RepositoryIndex", client.RepositoryIndex, &api.RepositoryIndexRequest{}, sortIndex),
		calling("RepositoryIndex ready", client.RepositoryIndex, &api.RepositoryIndexRequest{Ready: true}, sortIndex),
		calling("RepositoryIndex of a repository", client.RepositoryIndex, &api.RepositoryIndexRequest{RepositoryName: "r"}),
	)
}

// onlyShape removes counts and times from statistics.
func onlyShape(m *api.ModelStatisticsResponse) {
	for _, row := range m.GetModelStats() {
		row.LastInference, row.InferenceCount, row.ExecutionCount = 0, 0, 0
		row.InferenceStats, row.BatchStats, row.ResponseStats = nil, nil, nil
	}
	slices.SortFunc(m.GetModelStats(), func(a, b *api.ModelStatistics) int { return strings.Compare(a.GetName(), b.GetName()) })
}

func sortIndex(m *api.RepositoryIndexResponse) {
	slices.SortFunc(m.GetModels(), func(a, b *api.RepositoryIndexResponse_ModelIndex) int {
		return strings.Compare(a.GetName(), b.GetName())
	})
}

type (
	input  = api.ModelInferRequest_InferInputTensor
	output = api.ModelInferRequest_InferRequestedOutputTensor
	typed  = api.InferTensorContents
)

// tensor returns a request with one input.
func tensor(model, name, datatype string, shape []int64, raw []byte) *api.ModelInferRequest {
	return &api.ModelInferRequest{
		ModelName: model, Id: "id of " + name,
		Inputs:           []*input{{Name: name, Datatype: datatype, Shape: shape}},
		RawInputContents: [][]byte{raw},
	}
}

func echo(texts ...string) *api.ModelInferRequest {
	return tensor("echo", "TEXT", "BYTES", []int64{int64(len(texts))}, kservetest.Bytes(texts...))
}

func script(id, letters string) *api.ModelInferRequest {
	return copied(tensor("script", "SCRIPT", "BYTES", []int64{1}, kservetest.Bytes(letters)), func(r *api.ModelInferRequest) { r.Id = id })
}

// failing returns a request that makes the echo model fail.
func failing(id, how string) *api.ModelInferRequest {
	return copied(echo("x"), func(r *api.ModelInferRequest) {
		r.Id = id
		r.Inputs = append(r.GetInputs(), &input{Name: "FAIL", Datatype: "BYTES", Shape: []int64{1}})
		r.RawInputContents = append(r.GetRawInputContents(), kservetest.Bytes(how))
	})
}

func infer(name string, req *api.ModelInferRequest) trial {
	return calling(name, client.ModelInfer, req)
}

// both returns the request as a call and as a stream.
func both(name string, req *api.ModelInferRequest) []trial {
	return []trial{infer(name, req), conversation(name+", in a stream", false, req)}
}

// inferring returns plain inferences.
func inferring() []trial {
	large := make([]byte, 1<<20)
	for i := range large {
		large[i] = byte(i * 7)
	}
	two := copied(echo("a", "b"), func(r *api.ModelInferRequest) {
		r.Inputs = append(r.GetInputs(), &input{Name: "DATA", Datatype: "FP32", Shape: []int64{1, 4}})
		r.RawInputContents = append(r.GetRawInputContents(), kservetest.Floats(1, 2, 3, 4))
	})
	all := slices.Concat(
		both("text", echo("hällo")), both("texts", echo("", "b", strings.Repeat("c", 300))), both("two inputs", two),
		both("large", tensor("types", "UINT8", "UINT8", []int64{1 << 20}, large)),
		both("no elements", tensor("types", "FP32", "FP32", []int64{0}, nil)),
		both("batch", tensor("rows", "FP32", "FP32", []int64{2, 3}, kservetest.Floats(1, 2, 3, 4, 5, 6))),
		both("version", copied(echo("x"), func(r *api.ModelInferRequest) { r.ModelVersion = "1" })),
		both("no id", copied(echo("x"), func(r *api.ModelInferRequest) { r.Id = "" })),
		both("id with odd letters", copied(echo("x"), func(r *api.ModelInferRequest) { r.Id = "ä /?&\n" })),
		both("requested output", copied(two, func(r *api.ModelInferRequest) { r.Outputs = []*output{{Name: "DATA"}} })),
		both("outputs in another order", copied(two, func(r *api.ModelInferRequest) { r.Outputs = []*output{{Name: "DATA"}, {Name: "TEXT"}} })),
		both("no inputs that are needed", &api.ModelInferRequest{ModelName: "types", Id: "i"}),
	)
	for _, code := range []string{"UNKNOWN", "INTERNAL", "NOT_FOUND", "INVALID_ARG", "UNAVAILABLE", "UNSUPPORTED", "ALREADY_EXISTS", "CANCELLED"} {
		all = append(all, both("model fails with "+code, failing("f", code+": this failed"))...)
	}
	return append(all, infer("exception in the model", failing("f", "no code")).unlike("Trident shows no stack of Triton's host"))
}

// datatypes returns a trial of raw contents for each datatype, there and back.
func datatypes() []trial {
	var all []trial
	for name, width := range map[string]int{
		"BOOL": 1, "UINT8": 1, "UINT16": 2, "UINT32": 4, "UINT64": 8, "INT8": 1, "INT16": 2, "INT32": 4, "INT64": 8, "FP16": 2, "FP32": 4, "FP64": 8,
	} {
		raw := []byte{1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0}
		all = append(all, infer("raw "+name, tensor("types", name, name, []int64{int64(16 / width)}, raw)))
	}
	return append(all, infer("raw BYTES", tensor("types", "STRING", "BYTES", []int64{3}, kservetest.Bytes("a", "", "\xff\x00"))))
}

// contents returns trials of typed contents.
func contents() []trial {
	all := map[string]*typed{
		"BOOL": {BoolContents: []bool{true, false}}, "INT8": {IntContents: []int32{-128, 127}}, "INT16": {IntContents: []int32{-32768, 5}},
		"INT32": {IntContents: []int32{math.MinInt32, 1}}, "INT64": {Int64Contents: []int64{math.MinInt64, 1}},
		"UINT8": {UintContents: []uint32{255, 0}}, "UINT16": {UintContents: []uint32{65535, 0}}, "UINT32": {UintContents: []uint32{math.MaxUint32, 0}},
		"UINT64": {Uint64Contents: []uint64{math.MaxUint64, 0}}, "FP32": {Fp32Contents: []float32{1.5, -2}}, "FP64": {Fp64Contents: []float64{1.5, -2}},
		"STRING": {BytesContents: [][]byte{[]byte("a"), {}}},
	}
	typedAs := func(name, datatype string, c *typed) *api.ModelInferRequest {
		return &api.ModelInferRequest{ModelName: "types", Id: "t", Inputs: []*input{{Name: name, Datatype: datatype, Shape: []int64{2}, Contents: c}}}
	}
	var trials []trial
	for name, c := range all {
		datatype := strings.Replace(name, "STRING", "BYTES", 1)
		trials = append(trials, infer("typed "+name, typedAs(name, datatype, c)))
	}
	rawToo := copied(typedAs("FP32", "FP32", all["FP32"]), func(r *api.ModelInferRequest) { r.RawInputContents = [][]byte{kservetest.Floats(1, 2)} })
	mixed := copied(rawToo, func(r *api.ModelInferRequest) {
		r.Inputs = append(r.GetInputs(), &input{Name: "INT32", Datatype: "INT32", Shape: []int64{2}})
	})
	return append(trials,
		infer("typed of another type", typedAs("FP32", "FP32", all["INT32"])),
		infer("typed and declared otherwise", typedAs("FP32", "INT32", all["INT32"])),
		infer("typed FP16", typedAs("FP16", "FP16", all["FP32"])),
		infer("typed BOOL as INT32", typedAs("INT32", "INT32", all["BOOL"])),
		infer("typed too short", typedAs("FP32", "FP32", &typed{Fp32Contents: []float32{1}})),
		infer("typed too long", typedAs("FP32", "FP32", &typed{Fp32Contents: []float32{1, 2, 3}})),
		infer("typed in two fields", typedAs("INT32", "INT32", &typed{IntContents: []int32{1, 2}, Fp32Contents: []float32{1, 2}})),
		infer("typed and empty", typedAs("FP32", "FP32", &typed{})),
		infer("typed and raw", rawToo),
		infer("typed for one and raw for another", mixed),
	)
}

// invalidTrials returns requests that are refused.
func invalidTrials() []trial {
	change := func(do func(*api.ModelInferRequest)) *api.ModelInferRequest { return copied(echo("x"), do) }
	in := func(r *api.ModelInferRequest) *input { return r.GetInputs()[0] }
	all := map[string]*api.ModelInferRequest{
		"nothing":                {},
		"unknown model":          change(func(r *api.ModelInferRequest) { r.ModelName = "none" }),
		"no model":               change(func(r *api.ModelInferRequest) { r.ModelName = "" }),
		"unknown version":        change(func(r *api.ModelInferRequest) { r.ModelVersion = "7" }),
		"version is no number":   change(func(r *api.ModelInferRequest) { r.ModelVersion = "one" }),
		"version beyond numbers": change(func(r *api.ModelInferRequest) { r.ModelVersion = "99999999999999999999" }),
		"negative version":       change(func(r *api.ModelInferRequest) { r.ModelVersion = "-5" }),
		"unknown input":          change(func(r *api.ModelInferRequest) { in(r).Name = "NONE" }),
		"input without a name":   change(func(r *api.ModelInferRequest) { in(r).Name = "" }),
		"input missing":          change(func(r *api.ModelInferRequest) { r.Inputs, r.RawInputContents = nil, nil }),
		"input twice": change(func(r *api.ModelInferRequest) {
			r.Inputs, r.RawInputContents = append(r.GetInputs(), in(r)), append(r.GetRawInputContents(), kservetest.Bytes("y"))
		}),
		"unknown output":               change(func(r *api.ModelInferRequest) { r.Outputs = []*output{{Name: "NONE"}} }),
		"output twice":                 change(func(r *api.ModelInferRequest) { r.Outputs = []*output{{Name: "TEXT"}, {Name: "TEXT"}} }),
		"wrong datatype":               change(func(r *api.ModelInferRequest) { in(r).Datatype = "INT32" }),
		"unknown datatype":             change(func(r *api.ModelInferRequest) { in(r).Datatype = "COMPLEX" }),
		"no datatype":                  change(func(r *api.ModelInferRequest) { in(r).Datatype = "" }),
		"shape too large":              change(func(r *api.ModelInferRequest) { in(r).Shape = []int64{2} }),
		"shape too small":              change(func(r *api.ModelInferRequest) { r.RawInputContents[0] = kservetest.Bytes("a", "b") }),
		"shape of too many dimensions": change(func(r *api.ModelInferRequest) { in(r).Shape = []int64{1, 1} }),
		"no shape":                     change(func(r *api.ModelInferRequest) { in(r).Shape = nil }),
		"negative shape":               change(func(r *api.ModelInferRequest) { in(r).Shape = []int64{-1} }),
		"no contents":                  change(func(r *api.ModelInferRequest) { r.RawInputContents = nil }),
		"too many contents":            change(func(r *api.ModelInferRequest) { r.RawInputContents = append(r.GetRawInputContents(), []byte{1}) }),
		"text that lies of its length": change(func(r *api.ModelInferRequest) { r.RawInputContents[0] = []byte{255, 255, 255, 255, 1} }),
		"text cut short":               change(func(r *api.ModelInferRequest) { r.RawInputContents[0] = []byte{1, 0} }),
		"numbers cut short":            tensor("types", "FP32", "FP32", []int64{2}, []byte{1, 2, 3, 4, 5}),
		"wrong fixed dimension":        tensor("types", "PAIR", "INT32", []int64{3}, make([]byte, 12)),
		"batch too large":              tensor("rows", "FP32", "FP32", []int64{9, 1}, make([]byte, 36)),
		"batch of nothing":             tensor("rows", "FP32", "FP32", []int64{0, 1}, nil),
		"batch missing":                tensor("rows", "FP32", "FP32", []int64{4}, kservetest.Floats(1, 2, 3, 4)),
		"decoupled model":              script("d", "o"),
	}
	var trials []trial
	for name, req := range all {
		if name == "decoupled model" {
			trials = append(trials, infer(name, req))
			continue
		}
		trials = append(trials, both(name, req)...)
	}
	return trials
}

// parametrised returns requests with parameters, which the model returns, and with
// classification.
func parametrised() []trial {
	shows := copied(tensor("types", "STRING", "BYTES", []int64{1}, kservetest.Bytes("x")), func(r *api.ModelInferRequest) {
		r.Outputs = []*output{{Name: "PARAMETERS"}}
	})
	var all []trial
	for name, p := range map[string]inferencetest.Params{
		"text":                       {"a": inferencetest.String("ä")},
		"numbers":                    {"a": inferencetest.Int64(-7), "b": inferencetest.Float64(2.5), "c": inferencetest.Bool(true)},
		"unsigned number":            {"a": inferencetest.Uint64(7)},
		"without a value":            {"a": {}},
		"priority":                   {"priority": inferencetest.Int64(1)},
		"priority unsigned":          {"priority": inferencetest.Uint64(1)},
		"priority negative":          {"priority": inferencetest.Int64(-1)},
		"priority as text":           {"priority": inferencetest.String("1")},
		"timeout":                    {"timeout": inferencetest.Int64(10_000_000)},
		"timeout as text":            {"timeout": inferencetest.String("1")},
		"reserved":                   {"triton_other": inferencetest.Bool(true)},
		"empty final":                {"triton_enable_empty_final_response": inferencetest.Bool(true)},
		"empty final as text":        {"triton_enable_empty_final_response": inferencetest.String("true")},
		"sequence id wrong":          {"sequence_id": inferencetest.Bool(true)},
		"sequence start wrong":       {"sequence_start": inferencetest.String("true")},
		"sequence end wrong":         {"sequence_end": inferencetest.Int64(1)},
		"sequence of a model's none": {"sequence_id": inferencetest.Int64(3), "sequence_start": inferencetest.Bool(true), "sequence_end": inferencetest.Bool(true)},
	} {
		all = append(all, both("parameter "+name, with(shows, p))...)
	}
	classes := func(name string, p inferencetest.Params, datatype string) trial {
		width := map[string]int{"FP32": 4, "INT64": 8, "UINT8": 1, "BOOL": 1}[datatype]
		return infer("classification "+name, copied(tensor("types", datatype, datatype, []int64{int64(16 / width)}, kservetest.Floats(4, 3, 2, 1)), func(r *api.ModelInferRequest) {
			r.Outputs = []*output{{Name: datatype, Parameters: p}}
		}))
	}
	return append(all,
		classes("2", inferencetest.Params{"classification": inferencetest.Int64(2)}, "FP32"), classes("9", inferencetest.Params{"classification": inferencetest.Int64(9)}, "FP32"),
		classes("of INT64", inferencetest.Params{"classification": inferencetest.Int64(1)}, "INT64"), classes("of BOOL", inferencetest.Params{"classification": inferencetest.Int64(1)}, "BOOL"),
		classes("0", inferencetest.Params{"classification": inferencetest.Int64(0)}, "FP32"), classes("as text", inferencetest.Params{"classification": inferencetest.String("2")}, "FP32"),
		conversation("classification in a stream", false, copied(tensor("rows", "FP32", "FP32", []int64{2, 2}, kservetest.Floats(4, 3, 2, 1)), func(r *api.ModelInferRequest) {
			r.Outputs = []*output{{Name: "FP32", Parameters: inferencetest.Params{"classification": inferencetest.Int64(1)}}}
		})),
	)
}

// streams returns trials of streams. They don't request errors as status, since
// tritonserver 2.51 crashes on those; TestErrorsInStream tests them.
func streams() []trial {
	empty := inferencetest.Params{"triton_enable_empty_final_response": inferencetest.Bool(true)}
	numbered := func(id string) *api.ModelInferRequest {
		return copied(echo(id), func(r *api.ModelInferRequest) { r.Id = id })
	}
	unknown := copied(echo("x"), func(r *api.ModelInferRequest) { r.ModelName, r.Id = "none", "u" })
	refusedDecoupled := copied(script("r", "o"), func(r *api.ModelInferRequest) { r.Inputs[0].Name = "NONE" })
	all := []trial{conversation("nothing sent", false)}
	for _, letters := range []string{"", "o", "ooo", "oF", "ooF", "z", "zF", "zzo", "e", "eF", "oeo", "oeF", "eee"} {
		for _, asked := range []bool{false, true} {
			req := script("s", letters)
			if asked {
				req = with(req, empty)
			}
			all = append(all, conversation(fmt.Sprintf("script %q, empty final %t", letters, asked), false, req))
		}
	}
	return append(all,
		conversation("script of a version", false, with(copied(script("s", "o"), func(r *api.ModelInferRequest) { r.ModelVersion = "1" }), empty)),
		conversation("script without an id", false, with(script("", "oeo"), empty)),
		conversation("many answers in order", false, numbered("1"), numbered("2"), numbered("3"), numbered("4"), numbered("5"), numbered("6")),
		conversation("failures in order", false, numbered("1"), failing("2", "INTERNAL: x"), numbered("3"), unknown, numbered("5")),
		conversation("the same id twice", false, numbered("1"), numbered("1")),
		conversation("empty final of a plain model", false, with(numbered("1"), empty)),
		conversation("decoupled and refused", false, refusedDecoupled, refusedDecoupled),
		byRequest(conversation("interleaved", false, with(script("a", "o1o1o"), empty), with(script("b", "1o1o"), empty), numbered("c"), script("d", "oF"))),
		byRequest(conversation("interleaved with failures", false, script("a", "o1e1o"), unknown, script("b", "1o1e"), refusedDecoupled)),
	)
}

// sequences returns requests to a model that adds up its inputs.
func sequences() []trial {
	step := func(id string, value byte, sequence *api.InferParameter, start, end bool) *api.ModelInferRequest {
		req := tensor("sequence", "VALUE", "INT32", []int64{1, 1}, []byte{value, 0, 0, 0})
		req.Id = id
		p := inferencetest.Params{"sequence_start": inferencetest.Bool(start), "sequence_end": inferencetest.Bool(end)}
		if sequence != nil {
			p["sequence_id"] = sequence
		}
		return with(req, p)
	}
	long := []*api.ModelInferRequest{step("0", 1, inferencetest.Int64(7), true, false)}
	for i := range 8 {
		long = append(long, step(fmt.Sprint(i+1), 2, inferencetest.Int64(7), false, i == 7))
	}
	return []trial{
		conversation("a sequence in one stream", false, long...),
		conversation("two sequences in one stream", false,
			step("a", 1, inferencetest.Int64(1), true, false), step("b", 10, inferencetest.Int64(2), true, false), step("a", 2, inferencetest.Int64(1), false, false),
			step("b", 20, inferencetest.Int64(2), false, true), step("a", 3, inferencetest.Int64(1), false, true)),
		steps("a sequence by calls", infer("1", step("1", 1, inferencetest.Int64(9), true, false)), infer("2", step("2", 2, inferencetest.Int64(9), false, false)), infer("3", step("3", 3, inferencetest.Int64(9), false, true))),
		steps("a sequence with a name", infer("1", step("1", 1, inferencetest.String("nine"), true, false)), infer("2", step("2", 2, inferencetest.String("nine"), false, true))),
		steps("the same name again", infer("1", step("1", 5, inferencetest.Int64(9), true, true)), infer("2", step("2", 6, inferencetest.Int64(9), true, true))),
		infer("a sequence that wasn't begun", step("1", 1, inferencetest.Int64(77), false, false)),
		infer("no sequence", step("1", 1, nil, false, false)),
		infer("sequence 0", step("1", 1, inferencetest.Int64(0), true, true)),
	}
}

// shared returns trials of system shared memory.
func shared(t *testing.T) []trial {
	t.Helper()
	key := kservetest.SharedObject(t)
	size := uint64(os.Getpagesize())
	register := func(name, key string, offset, size uint64) trial {
		return calling("register "+name, client.SystemSharedMemoryRegister, &api.SystemSharedMemoryRegisterRequest{Name: name, Key: key, Offset: offset, ByteSize: size})
	}
	status := func(name string) trial {
		return calling("status "+name, client.SystemSharedMemoryStatus, &api.SystemSharedMemoryStatusRequest{Name: name})
	}
	unregister := func(name string) trial {
		return calling("unregister "+name, client.SystemSharedMemoryUnregister, &api.SystemSharedMemoryUnregisterRequest{Name: name})
	}
	in := func(region string, offset, size int64) inferencetest.Params {
		return inferencetest.Params{"shared_memory_region": inferencetest.String(region), "shared_memory_offset": inferencetest.Int64(offset), "shared_memory_byte_size": inferencetest.Int64(size)}
	}
	uses := func(input, out inferencetest.Params) trial {
		return infer("infer", copied(tensor("types", "FP32", "FP32", []int64{4}, kservetest.Floats(1, 2, 3, 4)), func(r *api.ModelInferRequest) {
			r.Outputs = []*output{{Name: "FP32", Parameters: out}}
			if r.Inputs[0].Parameters = input; input != nil {
				r.RawInputContents = nil
			}
		}))
	}
	return []trial{
		steps("shared memory", status(""), register("r", key, 0, size), status(""), status("r"),
			uses(in("r", 0, 16), nil), uses(nil, in("r", 64, 16)), uses(in("r", 64, 16), in("r", 128, 16)), uses(in("r", 0, 8), nil),
			uses(in("q", 0, 16), nil), uses(in("r", 5000, 16), nil), uses(nil, in("r", 0, 4)), awaitUnregistered("r"), status(""), status("r")),
		steps("shared memory twice", register("r", key, 0, size), register("r", key, 0, size), awaitUnregistered("r")),
		register("far", key, size, size), register("none", "/trident-test-none", 0, 1), unregister("none"), unregister(""), status("none"),
		calling("CUDA status", client.CudaSharedMemoryStatus, &api.CudaSharedMemoryStatusRequest{}),
		calling("CUDA status of none", client.CudaSharedMemoryStatus, &api.CudaSharedMemoryStatusRequest{Name: "none"}),
		calling("CUDA unregister", client.CudaSharedMemoryUnregister, &api.CudaSharedMemoryUnregisterRequest{}),
		calling("CUDA unregister of none", client.CudaSharedMemoryUnregister, &api.CudaSharedMemoryUnregisterRequest{Name: "none"}),
		calling("CUDA register of no handle", client.CudaSharedMemoryRegister, &api.CudaSharedMemoryRegisterRequest{Name: "c", RawHandle: []byte("x"), ByteSize: 1}),
		calling("CUDA register of nothing", client.CudaSharedMemoryRegister, &api.CudaSharedMemoryRegisterRequest{}),
	}
}

// awaitUnregistered returns a trial that unregisters a region. A busy tritonserver
// sends a response before it releases the region, and the number of its refusals
// varies. The metadata of these calls thus isn't compared.
func awaitUnregistered(name string) trial {
	return trial{name: "unregister " + name, ask: func(ctx context.Context, c api.GRPCInferenceServiceClient) outcome {
		ctx = withoutRecordedMetadata(ctx)
		for ; ; kservetest.Pause(ctx) {
			m, err := c.SystemSharedMemoryUnregister(ctx, &api.SystemSharedMemoryUnregisterRequest{Name: name})
			if err == nil || status.Code(err) == codes.Canceled || !strings.Contains(err.Error(), "in use") {
				return result(m, err)
			}
		}
	}}
}

// controlling returns trials that load and unload models, and restore the previous
// state.
func controlling() []trial {
	type parameter = api.ModelRepositoryParameter
	load := func(name string, p map[string]*parameter) trial {
		return calling("load "+name, client.RepositoryModelLoad, &api.RepositoryModelLoadRequest{ModelName: name, Parameters: p})
	}
	unload := func(name string) trial {
		return calling("unload "+name, client.RepositoryModelUnload, &api.RepositoryModelUnloadRequest{ModelName: name})
	}
	ready := calling("ready", client.ModelReady, &api.ModelReadyRequest{Name: "echo"})
	words := func(s string) map[string]*parameter {
		return map[string]*parameter{"config": {ParameterChoice: &api.ModelRepositoryParameter_StringParam{StringParam: s}}}
	}
	number := &parameter{ParameterChoice: &api.ModelRepositoryParameter_Int64Param{Int64Param: 1}}
	return []trial{
		steps("unload and load", unload("echo"), unloaded("echo"), ready, infer("infer", echo("x")), load("echo", nil), ready, infer("again", echo("x"))).loading(),
		load("of none", nil), load("none", nil), load("", nil), load("../models/none", nil), load("a/b", nil), unload("none"), unload(""),
		steps("load what is loaded", load("echo", nil), ready, infer("infer", echo("x"))),
		steps("load with a configuration", load("echo", words(kservetest.EchoConfig)),
			calling("config", client.ModelConfig, &api.ModelConfigRequest{Name: "echo"}), unload("echo"), unloaded("echo"), load("echo", nil),
			calling("config", client.ModelConfig, &api.ModelConfigRequest{Name: "echo"})).loading(),
		load("echo with no configuration at all", words("{")),
		load("echo with a number", map[string]*parameter{"config": number}), load("echo with an odd parameter", map[string]*parameter{"odd": number}),
		load("echo with a file as a number", map[string]*parameter{"file:1/model.py": number}),
		calling("load in a repository", client.RepositoryModelLoad, &api.RepositoryModelLoadRequest{RepositoryName: "r", ModelName: "echo"}),
		calling("unload in a repository", client.RepositoryModelUnload, &api.RepositoryModelUnloadRequest{RepositoryName: "r", ModelName: "echo"}),
	}
}

// settings returns trials that read, change and restore settings.
func settings() []trial {
	type (
		traced = api.TraceSettingRequest_SettingValue
		logged = api.LogSettingsRequest_SettingValue
	)
	trace := func(name, model string, set map[string]*traced) trial {
		return calling("trace "+name, client.TraceSetting, &api.TraceSettingRequest{ModelName: model, Settings: set})
	}
	logs := func(name string, set map[string]*logged) trial {
		return calling("log "+name, client.LogSettings, &api.LogSettingsRequest{Settings: set})
	}
	verbose := func(n uint32) map[string]*logged {
		return map[string]*logged{"log_verbose_level": {ParameterChoice: &api.LogSettingsRequest_SettingValue_Uint32Param{Uint32Param: n}}}
	}
	return []trial{
		trace("settings", "", nil), trace("settings of a model", "echo", nil), trace("settings of none", "none", nil),
		steps("trace rate", trace("set", "echo", map[string]*traced{"trace_rate": {Value: []string{"7"}}}), trace("back", "echo", map[string]*traced{"trace_rate": {}})),
		trace("of nonsense", "", map[string]*traced{"trace_rate": {Value: []string{"x"}}}), trace("unknown", "", map[string]*traced{"odd": {Value: []string{"x"}}}),
		logs("settings", nil), steps("log level", logs("set", verbose(1)), logs("back", verbose(0))),
		logs("wrong type", map[string]*logged{"log_info": {ParameterChoice: &api.LogSettingsRequest_SettingValue_Uint32Param{Uint32Param: 1}}}),
		logs("file", map[string]*logged{"log_file": {ParameterChoice: &api.LogSettingsRequest_SettingValue_StringParam{StringParam: "x"}}}),
		logs("format", map[string]*logged{"log_format": {ParameterChoice: &api.LogSettingsRequest_SettingValue_StringParam{StringParam: "x"}}}),
	}
}

// unloaded returns a trial that calls the server until a model has been unloaded.
func unloaded(name string) trial {
	return trial{name: "wait", ask: func(ctx context.Context, c api.GRPCInferenceServiceClient) outcome {
		for ; ; kservetest.Pause(ctx) {
			index, err := c.RepositoryIndex(ctx, &api.RepositoryIndexRequest{})
			if err != nil {
				return result(nil, err)
			}
			if slices.ContainsFunc(index.GetModels(), func(row *api.RepositoryIndexResponse_ModelIndex) bool {
				return row.GetName() == name && row.GetState() == "UNAVAILABLE"
			}) {
				return outcome{}
			}
		}
	}}
}
