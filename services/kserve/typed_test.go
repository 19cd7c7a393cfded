package kserve_test

import (
	"context"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve/kservetest"
)

// typedProtocols are the protocols of browsers and of programs.
var typedProtocols = map[string][]connect.ClientOption{
	"Connect": nil, "Connect with JSON": {connect.WithProtoJSON()}, "gRPC": {connect.WithGRPC()}, "gRPC-Web": {connect.WithGRPCWeb()},
}

func typedClient(t *testing.T, address string, options ...connect.ClientOption) tridentv1connect.InferServiceClient {
	t.Helper()
	plain := h2c()
	t.Cleanup(plain.CloseIdleConnections)
	return tridentv1connect.NewInferServiceClient(plain, "http://"+address, options...)
}

func words(texts ...string) *api.ModelInferRequest {
	req := &api.ModelInferRequest{ModelName: "m", Id: "7"}
	for _, text := range texts {
		req.Inputs = append(req.Inputs, &api.ModelInferRequest_InferInputTensor{Name: text, Datatype: "UINT8", Shape: []int64{int64(len(text))}})
		req.RawInputContents = append(req.RawInputContents, []byte(text))
	}
	return req
}

// TestTypedStream tests that one request returns all responses of a decoupled
// model.
func TestTypedStream(t *testing.T) {
	address := kservetest.ServeShared(t, kservetest.Open(), kservetest.StreamEngine())
	for name, options := range typedProtocols {
		t.Run(name, func(t *testing.T) {
			client := typedClient(t, address, options...)
			stream, err := client.InferStream(t.Context(), words("one", "two", "three"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for stream.Receive() {
				answer := stream.Msg().GetInferResponse()
				if answer.GetId() != "7" || stream.Msg().GetErrorMessage() != "" {
					t.Errorf("%v", stream.Msg())
				}
				for _, raw := range answer.GetRawOutputContents() {
					got = append(got, string(raw))
				}
			}
			if stream.Err() != nil || strings.Join(got, " ") != "one two three" {
				t.Errorf("%q, %v", got, stream.Err())
			}
			if _, err := client.Infer(t.Context(), words("one")); connect.CodeOf(err) != connect.CodeUnimplemented {
				t.Errorf("a decoupled model by Infer: %v", err)
			}
			unknown := proto.CloneOf(words("one"))
			unknown.ModelName = "none"
			if _, err := client.Infer(t.Context(), unknown); connect.CodeOf(err) != connect.CodeNotFound {
				t.Errorf("an unknown model: %v", err)
			}
			ctx, call := connect.NewClientContext(t.Context())
			call.RequestHeader().Set("triton_grpc_error", "true")
			if stream, err = client.InferStream(ctx, unknown); err != nil {
				t.Fatal(err)
			}
			if stream.Receive() || connect.CodeOf(stream.Err()) != connect.CodeNotFound {
				t.Errorf("as a status: %v, %v", stream.Msg(), stream.Err())
			}
		})
	}
}

// TestTypedStreamLeaves checks that the typed inference stream cancels the model's request when its
// client disconnects.
func TestTypedStreamLeaves(t *testing.T) {
	stopped := make(chan struct{})
	engine := kservetest.Decoupled(func(ctx context.Context, _ *api.ModelInferRequest, send kservetest.SendFunc) error {
		send(&inference.Response{Version: "1", Outputs: []inference.Output{{Name: "a", Type: "UINT8", Shape: []int64{1}, Raw: []byte{1}}}})
		<-ctx.Done()
		stopped <- struct{}{}
		return ctx.Err()
	})
	address := kservetest.ServeShared(t, kservetest.Open(), engine)
	for name, options := range typedProtocols {
		t.Run(name, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			stream, err := typedClient(t, address, options...).InferStream(ctx, words("one"))
			if err != nil || !stream.Receive() {
				t.Fatal(err, stream.Err())
			}
			leave()
			<-stopped // the test times out if the model isn't stopped
			_ = stream.Close()
		})
	}
}

// TestTypedRestricted checks that the restriction of KServe's inference group also applies to the
// typed Infer procedure.
func TestTypedRestricted(t *testing.T) {
	access := auth.Config{GRPCRestricted: []auth.KServeRestriction{{Groups: []auth.KServeGroup{auth.KServeInference}, Key: "key", Value: "a"}}}
	client := typedClient(t, kservetest.ServeRestricted(t, access, kservetest.Open(), kservetest.StreamEngine()))
	if _, err := client.Infer(t.Context(), words("one")); connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "restricted") {
		t.Errorf("%v", err)
	}
	ctx, call := connect.NewClientContext(t.Context())
	call.RequestHeader().Set("triton-grpc-protocol-key", "a")
	if _, err := client.Infer(ctx, words("one")); connect.CodeOf(err) != connect.CodeUnimplemented {
		t.Errorf("with the key: %v", err)
	}
}
