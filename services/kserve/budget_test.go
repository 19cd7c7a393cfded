package kserve_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/gen/go/kserve/kserveconnect"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/kserve/kservetest"
)

// manyParameters are so many, none of which the engine takes notice of.
func manyParameters(n int) kservetest.Params {
	all := make(kservetest.Params, n)
	for i := range n {
		all[fmt.Sprintf("p%d", i)] = kservetest.Text("")
	}
	return all
}

// hostile are requests with one more of something than they may have.
func hostile() map[string]*api.ModelInferRequest {
	with := func(change func(*api.ModelInferRequest)) *api.ModelInferRequest {
		r := tensor("m", "IN", "UINT8", []int64{1}, []byte{7})
		change(r)
		return r
	}
	return map[string]*api.ModelInferRequest{
		"parameters holds more than 4096": with(func(r *api.ModelInferRequest) { r.Parameters = manyParameters(budget.Keys + 1) }),
		"inputs holds more than 16384":    with(func(r *api.ModelInferRequest) { r.Inputs = repeat(budget.Tensors+1, &input{}) }),
		"outputs holds more than 16384": with(func(r *api.ModelInferRequest) {
			r.Outputs = repeat(budget.Tensors+1, &api.ModelInferRequest_InferRequestedOutputTensor{})
		}),
		"raw_input_contents holds more than 16384": with(func(r *api.ModelInferRequest) { r.RawInputContents = make([][]byte, budget.Tensors+1) }),
	}
}

func repeat[T any](n int, value T) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = value
	}
	return list
}

// TestBudgets sends more than a request may hold by each protocol of messages: it is
// refused as the client's fault, and what is at the limit is served.
func TestBudgets(t *testing.T) {
	native, shared := api.NewGRPCInferenceServiceClient(dial(t, serveNative(t, kservetest.Open(), once()))), kservetest.ServeShared(t, kservetest.Open(), once())
	by := h2c()
	t.Cleanup(by.CloseIdleConnections)
	clients := map[string]kserveconnect.GRPCInferenceServiceClient{}
	for name, options := range map[string][]connect.ClientOption{"Connect": nil, "gRPC": {connect.WithGRPC()}, "gRPC-Web": {connect.WithGRPCWeb()}, "JSON": {connect.WithProtoJSON()}} {
		clients[name] = kserveconnect.NewGRPCInferenceServiceClient(by, "http://"+shared, options...)
	}
	for want, req := range hostile() {
		t.Run(want, func(t *testing.T) {
			_, err := native.ModelInfer(t.Context(), req)
			wantRefused(t, "gRPC's port", err, want)
			stream, err := native.ModelStreamInfer(t.Context())
			if err != nil || stream.Send(req) != nil {
				t.Fatal(err)
			}
			_, err = stream.Recv()
			wantRefused(t, "gRPC's port, stream", err, want)
			for name, client := range clients {
				_, err := client.ModelInfer(t.Context(), req)
				wantRefused(t, name, err, want)
			}
		})
	}
	most := tensor("m", "IN", "UINT8", []int64{1}, []byte{7})
	most.Parameters = manyParameters(budget.Keys)
	if _, err := native.ModelInfer(t.Context(), most); err != nil {
		t.Error(err)
	}
	for name, client := range clients {
		if _, err := client.ModelInfer(t.Context(), most); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// wantRefused takes errors of gRPC and of Connect, whose codes are the same.
func wantRefused(t *testing.T, by string, err error, want string) {
	t.Helper()
	code := codes.Code(connect.CodeOf(err))
	if s, ok := status.FromError(err); ok {
		code = s.Code()
	}
	if code != codes.InvalidArgument || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v", by, err)
	}
}

// TestControlBudgets does so for messages that aren't inferences.
func TestControlBudgets(t *testing.T) {
	settings := make(map[string]*api.TraceSettingRequest_SettingValue, budget.Keys+1)
	for i := range budget.Keys + 1 {
		settings[fmt.Sprint(i)] = &api.TraceSettingRequest_SettingValue{}
	}
	req := &api.TraceSettingRequest{Settings: settings}
	const want = "settings holds more than 4096 keys: send fewer"
	_, err := api.NewGRPCInferenceServiceClient(dial(t, serveNative(t, kservetest.Open(), once()))).TraceSetting(t.Context(), req)
	wantRefused(t, "gRPC's port", err, want)
	_, err = kserveconnect.NewGRPCInferenceServiceClient(http.DefaultClient, "http://"+kservetest.ServeShared(t, kservetest.Open(), once()), connect.WithProtoJSON()).TraceSetting(t.Context(), req)
	wantRefused(t, "Connect", err, want)
}

// TestRESTBudgets sends the same by REST.
func TestRESTBudgets(t *testing.T) {
	address := kservetest.ServeShared(t, kservetest.Open(), once())
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"p%d":"",`, i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	list := func(n int, item string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	in := tensorJSON("IN", "UINT8", "[1]", "[7]")
	withParameters := func(tensor string, n int) string {
		return strings.TrimSuffix(tensor, "}") + `,"parameters":{` + members(n) + `}}`
	}
	for _, test := range []struct{ name, path, body, want string }{
		{"parameters", "infer", `{"inputs":[` + in + `],"parameters":{` + members(budget.Keys+1) + `}}`, "parameters holds more than 4096 elements: send fewer"},
		{"parameters at the limit", "infer", `{"inputs":[` + in + `],"parameters":{` + members(budget.Keys) + `}}`, ""},
		{"parameters of an input", "infer", `{"inputs":[` + withParameters(in, budget.Keys+1) + `]}`, "parameters holds more than 4096 elements: send fewer"},
		{"parameters of an input at the limit", "infer", `{"inputs":[` + withParameters(in, budget.Keys) + `]}`, ""},
		{"parameters of an output", "infer", `{"inputs":[` + in + `],"outputs":[` + withParameters(`{"name":"OUT"}`, budget.Keys+1) + `]}`, "parameters holds more than 4096 elements: send fewer"},
		{"inputs", "infer", `{"inputs":` + list(budget.Tensors+1, in) + `}`, "inputs holds more than 16384 elements: send fewer"},
		{"outputs", "infer", `{"inputs":[` + in + `],"outputs":` + list(budget.Tensors+1, `{"name":"OUT"}`) + `}`, "outputs holds more than 16384 elements: send fewer"},
		{"shape", "infer", inputs(tensorJSON("IN", "UINT8", list(budget.Dimensions+1, "1"), "[7]")), "shape holds more than 256 elements: send fewer"},
		{"members of generate", "generate", `{` + members(budget.Keys+1) + `}`, "parameters holds more than 4096 elements: send fewer"},
		{"parameters of generate", "generate", `{"parameters":{` + members(budget.Keys+1) + `}}`, "Converting keyword: 'parameters': parameters holds more than 4096 elements: send fewer"},
		{"generate at the limit", "generate", `{` + members(budget.Keys/2) + `,"parameters":{` + strings.ReplaceAll(members(budget.Keys/2), "p", "q") + `}}`, "expected a single response, got 0"}, // of the model, which answers inputs
	} {
		t.Run(test.name, func(t *testing.T) {
			answer := routeCall{method: http.MethodPost, path: "/v2/models/m/" + test.path, body: test.body}.asked(t, address)
			want := http.StatusBadRequest
			switch {
			case test.want == "":
				want = http.StatusOK
			case !strings.HasSuffix(test.want, "send fewer"):
				want = http.StatusInternalServerError
			}
			if answer.status != want || answer.message() != test.want {
				t.Errorf("got %d %.300s", answer.status, answer.message())
			}
		})
	}
}
