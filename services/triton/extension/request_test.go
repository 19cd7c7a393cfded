package extension_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/triton"
	"github.com/trident-inference/trident/services/triton/extension"
)

// requestCheck is a request and tritonserver's error message for it, empty if it is
// accepted.
type requestCheck struct {
	name    string
	request *kserve.ModelInferRequest
	want    string
}

// requestChecks are requests to the model types of test/models-ext.
func requestChecks() []requestCheck {
	one := func(name, datatype string, contents *kserve.InferTensorContents) *kserve.ModelInferRequest {
		return &kserve.ModelInferRequest{
			ModelName: "types",
			Inputs:    []*kserve.ModelInferRequest_InferInputTensor{{Name: name, Datatype: datatype, Shape: []int64{1}, Contents: contents}},
		}
	}
	fields := map[string]*kserve.InferTensorContents{
		"BOOL": {BoolContents: []bool{true}}, "INT32": {IntContents: []int32{1}}, "INT64": {Int64Contents: []int64{1}},
		"UINT32": {UintContents: []uint32{1}}, "UINT64": {Uint64Contents: []uint64{1}}, "FP32": {Fp32Contents: []float32{1}},
		"FP64": {Fp64Contents: []float64{1}}, "BYTES": {BytesContents: [][]byte{[]byte("x")}},
	}
	inputs := map[string]string{"INT8": "INT32", "INT16": "INT32", "UINT8": "UINT32", "UINT16": "UINT32", "STRING": "BYTES"}
	for name := range fields {
		if name != "BYTES" {
			inputs[name] = name
		}
	}
	var all []requestCheck
	for _, input := range slices.Sorted(maps.Keys(inputs)) {
		datatype := input
		if input == "STRING" {
			datatype = "BYTES"
		}
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			check := requestCheck{name: datatype + " in the contents of " + field, request: one(input, datatype, fields[field])}
			if field != inputs[input] {
				check.want = "unexpected explicit tensor data for input tensor '" + input + "' for model 'types' of type '" + field + "', expected datatype '" + datatype + "'"
			}
			all = append(all, check)
		}
	}
	raw := one("FP32", "FP32", fields["FP32"])
	raw.RawInputContents = [][]byte{{0, 0, 0, 0}}
	return append(all,
		requestCheck{"raw and typed contents", raw, "contents field must not be specified when using raw_input_contents for 'FP32' for model 'types'"},
		requestCheck{
			"contents in two fields", one("FP32", "FP32", &kserve.InferTensorContents{Fp32Contents: []float32{1}, Fp64Contents: []float64{1}}),
			"unexpected explicit tensor data for input tensor 'FP32' for model 'types', binary data was already supplied.",
		},
		requestCheck{
			"FP16, which has no typed contents", one("FP16", "FP16", fields["FP32"]),
			"unexpected explicit tensor data for input tensor 'FP16' for model 'types' of type 'FP32', expected datatype 'FP16'",
		},
		requestCheck{
			"no datatype", one("FP32", "FP99", fields["FP32"]),
			"unexpected explicit tensor data for input tensor 'FP32' for model 'types' of type 'FP32', expected datatype '<invalid>'",
		},
	)
}

// parameterChecks are requests whose parameters Triton checks.
func parameterChecks() []requestCheck {
	var all []requestCheck
	for _, check := range []struct {
		name, key string
		value     *kserve.InferParameter
		want      string
	}{
		{"a text of the model's own", "a", inferencetest.String("b"), ""},
		{"a number of the model's own", "a", inferencetest.Int64(-1), ""},
		{"an unsigned number of the model's own", "a", inferencetest.Uint64(1), "invalid value type for 'a' parameter, expected int64_param, bool_param, or string_param."},
		{"no value", "a", &kserve.InferParameter{}, "invalid value type for 'a' parameter, expected int64_param, bool_param, or string_param."},
		{"reserved", "triton_other", inferencetest.Bool(true), "parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with 'triton_' are allowed: triton_enable_empty_final_response"},
		{"empty final as text", emptyFinal, inferencetest.String("true"), "invalid value type for 'triton_enable_empty_final_response' parameter, expected bool_param."},
		{"sequence_id", "sequence_id", inferencetest.Bool(true), "invalid value type for 'sequence_id' parameter, expected int64_param or string_param."},
		{"sequence_start", "sequence_start", inferencetest.String("true"), "invalid value type for 'sequence_start' parameter, expected bool_param."},
		{"sequence_end", "sequence_end", inferencetest.Int64(1), "invalid value type for 'sequence_end' parameter, expected bool_param."},
		{"priority", "priority", inferencetest.Int64(1), ""},
		{"priority, unsigned", "priority", inferencetest.Uint64(1), ""},
		{"negative priority", "priority", inferencetest.Int64(-1), "invalid value for 'priority', expected value >= 0."},
		{"priority as text", "priority", inferencetest.String("1"), "invalid value type for 'priority' parameter, expected int64_param or uint64_param."},
		{"timeout", "timeout", inferencetest.Int64(10_000_000), ""},
		{"timeout as text", "timeout", inferencetest.String("1"), "invalid value type for 'timeout' parameter, expected int64_param."},
	} {
		req := &kserve.ModelInferRequest{
			ModelName: "types", RawInputContents: [][]byte{{1, 0, 0, 0}},
			Inputs:     []*kserve.ModelInferRequest_InferInputTensor{{Name: "INT32", Datatype: "INT32", Shape: []int64{1}}},
			Parameters: map[string]*kserve.InferParameter{check.key: check.value},
		}
		all = append(all, requestCheck{check.name, req, check.want})
	}
	return all
}

func TestCheckContents(t *testing.T) {
	for _, check := range requestChecks() {
		checkMessage(t, check, extension.CheckContents(check.request, check.request.GetInputs()[0]))
	}
}

func TestCheckParameters(t *testing.T) {
	for _, check := range parameterChecks() {
		checkMessage(t, check, extension.Parameters(check.request.GetParameters()).Check())
	}
}

// emptyFinal is the only parameter that the remote engine sets itself.
const emptyFinal = "triton_enable_empty_final_response"

// testRequests sends the same requests to tritonserver and compares the error
// messages.
func testRequests(t *testing.T, engine *triton.Engine) {
	t.Helper()
	for _, check := range append(requestChecks(), parameterChecks()...) {
		if check.request.GetParameters()[emptyFinal] != nil {
			continue
		}
		var failed error
		for _, err := range engine.Stream(t.Context(), check.request) {
			failed = err
		}
		checkMessage(t, check, failed)
	}
}

func checkMessage(t *testing.T, check requestCheck, err error) {
	t.Helper()
	got := ""
	if err != nil {
		got = inference.AsError(err).Message
	}
	if got != check.want {
		t.Errorf("%s: got %q, want %q", check.name, got, check.want)
	}
}

func TestVersion(t *testing.T) {
	for _, test := range []struct {
		given string
		want  int64
	}{{"", extension.LatestVersion}, {"1", 1}, {" +12", 12}, {"3rd", 3}, {"0", 0}} {
		if got, err := extension.Version(test.given); err != nil || got != test.want {
			t.Errorf("%q: got %d, %v, want %d", test.given, got, err, test.want)
		}
	}
	for given, want := range map[string]string{
		"latest": "failed to get model version from specified version string 'latest' (details: stol), version should be an integral value > 0",
		"-1":     "invalid model version specified '-1' , version should be an integral value > 0",
	} {
		if _, err := extension.Version(given); err == nil || inference.AsError(err).Message != want {
			t.Errorf("%q: got %v, want %s", given, err, want)
		}
	}
}
