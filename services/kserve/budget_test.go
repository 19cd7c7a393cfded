package kserve_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/gen/go/kserve/kserveconnect"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/kserve/kservetest"
)

// manyParameters returns n parameters that the engine ignores.
func manyParameters(n int) inferencetest.Params {
	all := make(inferencetest.Params, n)
	for i := range n {
		all[fmt.Sprintf("p%d", i)] = inferencetest.String("")
	}
	return all
}

// hostile returns ModelInferRequests with one element more than the maximum, by a part of the
// expected error.
func hostile() map[string]*api.ModelInferRequest {
	with := func(change func(*api.ModelInferRequest)) *api.ModelInferRequest {
		r := tensor("m", "IN", "UINT8", []int64{1}, []byte{7})
		change(r)
		return r
	}
	return map[string]*api.ModelInferRequest{
		"parameters holds more than 4096": with(func(r *api.ModelInferRequest) { r.Parameters = manyParameters(budget.Keys + 1) }),
		"inputs holds more than 16384":    with(func(r *api.ModelInferRequest) { r.Inputs = slices.Repeat([]*input{{}}, budget.Tensors+1) }),
		"outputs holds more than 16384": with(func(r *api.ModelInferRequest) {
			r.Outputs = slices.Repeat([]*api.ModelInferRequest_InferRequestedOutputTensor{{}}, budget.Tensors+1)
		}),
		"raw_input_contents holds more than 16384": with(func(r *api.ModelInferRequest) { r.RawInputContents = make([][]byte, budget.Tensors+1) }),
	}
}

// TestBudgets checks the maximum numbers of tensors, parameters and other elements of a
// ModelInferRequest with each protocol. A request above a maximum is refused as a client error. A
// request at the maximum is served.
func TestBudgets(t *testing.T) {
	native, shared := api.NewGRPCInferenceServiceClient(dial(t, serveNative(t, kservetest.Open(), kservetest.SingleResponseEngine()))), kservetest.ServeShared(t, kservetest.Open(), kservetest.SingleResponseEngine())
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

// wantRefused accepts errors of gRPC and of Connect, whose codes are the same.
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

// TestControlBudgets checks that TraceSetting refuses a request with more than budget.Keys
// settings. The maximum applies to all messages, not only to inference requests.
func TestControlBudgets(t *testing.T) {
	settings := make(map[string]*api.TraceSettingRequest_SettingValue, budget.Keys+1)
	for i := range budget.Keys + 1 {
		settings[fmt.Sprint(i)] = &api.TraceSettingRequest_SettingValue{}
	}
	req := &api.TraceSettingRequest{Settings: settings}
	const want = "settings holds more than 4096 keys: send fewer"
	_, err := api.NewGRPCInferenceServiceClient(dial(t, serveNative(t, kservetest.Open(), kservetest.SingleResponseEngine()))).TraceSetting(t.Context(), req)
	wantRefused(t, "gRPC's port", err, want)
	_, err = kserveconnect.NewGRPCInferenceServiceClient(http.DefaultClient, "http://"+kservetest.ServeShared(t, kservetest.Open(), kservetest.SingleResponseEngine()), connect.WithProtoJSON()).TraceSetting(t.Context(), req)
	wantRefused(t, "Connect", err, want)
}
