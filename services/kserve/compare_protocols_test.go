package kserve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"reflect"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/gen/go/kserve/kserveconnect"
	"github.com/trident-inference/trident/services/kserve/kservetest"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/services/triton/tritontest"
)

// protocols returns connections to the shared port for the trials: one of
// grpc-go, and Connect's client with its protocols.
func protocols(t *testing.T, address string) map[string]grpc.ClientConnInterface {
	t.Helper()
	by := h2c()
	t.Cleanup(by.CloseIdleConnections)
	all := map[string]grpc.ClientConnInterface{"gRPC": dial(t, address, metadataRecorder{shared: true}.options()...)}
	for name, options := range map[string][]connect.ClientOption{
		"Connect": nil, "Connect with JSON": {connect.WithProtoJSON()}, "gRPC-Web": {connect.WithGRPCWeb()},
	} {
		all[name] = connectConn{kserveconnect.NewGRPCInferenceServiceClient(by, "http://"+address, append(options, connect.WithInterceptors(outgoing{}))...)}
	}
	return all
}

// outgoing makes Connect's client send the metadata that grpc-go's client would
// send.
type outgoing struct{}

func (outgoing) add(ctx context.Context, header http.Header) {
	values, _ := metadata.FromOutgoingContext(ctx)
	for name, all := range values {
		for _, value := range all {
			if strings.HasSuffix(name, "-bin") {
				value = connect.EncodeBinaryHeader([]byte(value))
			}
			header.Add(name, value)
		}
	}
}

// WrapUnary implements [connect.Interceptor].
func (o outgoing) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		o.add(ctx, req.Header())
		return next(ctx, req)
	}
}

// WrapStreamingClient implements [connect.Interceptor].
func (o outgoing) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		o.add(ctx, conn.RequestHeader())
		return conn
	}
}

// WrapStreamingHandler implements [connect.Interceptor]. There is no handler.
func (outgoing) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// connectConn implements grpc-go's interface of a connection with Connect's
// client.
type connectConn struct {
	client kserveconnect.GRPCInferenceServiceClient
}

// Invoke implements [grpc.ClientConnInterface].
func (c connectConn) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	call := reflect.ValueOf(c.client).MethodByName(path.Base(method))
	if !call.IsValid() {
		return fmt.Errorf("no method %s", method)
	}
	got := call.Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(args)})
	if err, failed := reflect.TypeAssert[error](got[1]); failed {
		return statusOfConnect(err)
	}
	proto.Merge(reply.(proto.Message), got[0].Interface().(proto.Message))
	return nil
}

// NewStream implements [grpc.ClientConnInterface].
func (c connectConn) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := c.client.ModelStreamInfer(ctx)
	return connectStream{stream, ctx}, statusOfConnect(err)
}

// connectStream implements grpc-go's interface of a stream with Connect's.
type connectStream struct {
	stressed

	ctx context.Context //nolint:containedctx // the interface requires it
}

func (s connectStream) Header() (metadata.MD, error) { return nil, nil } //nolint:nilnil // the tests don't use it
func (s connectStream) Trailer() metadata.MD         { return nil }
func (s connectStream) Context() context.Context     { return s.ctx }
func (s connectStream) CloseSend() error             { return s.CloseRequest() }

func (s connectStream) SendMsg(m any) error {
	return s.Send(m.(*api.ModelInferRequest))
}

func (s connectStream) RecvMsg(m any) error {
	got, err := s.Receive()
	if err == nil {
		proto.Merge(m.(proto.Message), got)
		return nil
	}
	_ = s.CloseResponse()
	return statusOfConnect(err)
}

// statusOfConnect converts an error of Connect's client to the error that
// grpc-go's client would return.
func statusOfConnect(err error) error {
	var answer *connect.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.As(err, &answer):
		return status.Error(codes.Code(answer.Code()), answer.Message())
	}
	return err
}

// TestRestrictedCallsLikeTritonserver restricts groups of both servers with
// --grpc-restricted-protocol, and compares which calls are refused and with which
// message. The other responses aren't compared, since the engines differ.
func TestRestrictedCallsLikeTritonserver(t *testing.T) {
	kservetest.RunBesideOthers(t)
	restrictions := []string{"model-repository,inference,logging:admin-key=a:b", "health,metadata,statistics:other=1"}
	args := []string{"--model-control-mode=explicit"} // no model is loaded
	for _, r := range restrictions {
		args = append(args, "--grpc-restricted-protocol="+r)
	}
	access, err := restrict(restrictions...)
	if err != nil {
		t.Fatal(err)
	}
	service, _ := kservetest.NewService(t, kservetest.Open(), kservetest.SingleResponseEngine())
	triton := dial(t, tritontest.StartServer(t, tritonserver.Options{Args: args}).GRPC())
	ports := map[string]*grpc.ClientConn{
		"native": dial(t, serveNativeService(t, nil, kservetest.NewGate(t, access), kservetest.Open(), service)), "shared": dial(t, kservetest.ServeRestricted(t, access, kservetest.Open(), kservetest.SingleResponseEngine())),
	}
	trials := []trial{
		calling("live", client.ServerLive, &api.ServerLiveRequest{}), calling("ready", client.ServerReady, &api.ServerReadyRequest{}),
		calling("model ready", client.ModelReady, &api.ModelReadyRequest{Name: "none"}), calling("server", client.ServerMetadata, &api.ServerMetadataRequest{}),
		calling("model", client.ModelMetadata, &api.ModelMetadataRequest{Name: "none"}), calling("config", client.ModelConfig, &api.ModelConfigRequest{Name: "none"}),
		calling("statistics", client.ModelStatistics, &api.ModelStatisticsRequest{Name: "none"}), calling("index", client.RepositoryIndex, &api.RepositoryIndexRequest{}),
		calling("load", client.RepositoryModelLoad, &api.RepositoryModelLoadRequest{ModelName: "none"}), calling("unload", client.RepositoryModelUnload, &api.RepositoryModelUnloadRequest{ModelName: "none"}),
		calling("memory", client.SystemSharedMemoryStatus, &api.SystemSharedMemoryStatusRequest{}), calling("CUDA memory", client.CudaSharedMemoryStatus, &api.CudaSharedMemoryStatusRequest{}),
		calling("trace", client.TraceSetting, &api.TraceSettingRequest{}), calling("log", client.LogSettings, &api.LogSettingsRequest{}),
		calling("infer", client.ModelInfer, &api.ModelInferRequest{ModelName: "none"}), conversation("stream", false, &api.ModelInferRequest{ModelName: "none"}),
	}
	refused := 0
	for _, x := range trials {
		for _, header := range [][2]string{{}, {"admin-key", "a:b"}, {"admin-key", "a"}, {"other", "1"}, {"Other", "1"}, {"other", ""}} {
			ctx := t.Context()
			if header[0] != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "triton-grpc-protocol-"+header[0], header[1])
			}
			want := restrictedBy(x.ask(ctx, api.NewGRPCInferenceServiceClient(triton)))
			if want != "" {
				refused++
			}
			for port, conn := range ports {
				if got := restrictedBy(x.ask(ctx, api.NewGRPCInferenceServiceClient(conn))); got != want {
					t.Errorf("%s, %s with %q: got %q, want %q", port, x.name, header, got, want)
				}
			}
		}
	}
	if refused != 54 { // 4 times 6 methods, and 5 times 6
		t.Errorf("tritonserver refused %d times", refused)
	}
}

// restrictedBy returns the error of a restricted call, or an empty string for any
// other response.
func restrictedBy(o outcome) string {
	if !strings.Contains(o.text, "restricted") {
		return ""
	}
	return o.code.String() + " " + o.text
}
