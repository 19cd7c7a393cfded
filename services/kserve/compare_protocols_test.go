package kserve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/gen/go/kserve/kserveconnect"
)

// protocols are those of the shared port by which the trials are asked too: by
// grpc-go, and by Connect's client.
func protocols(t *testing.T, address string) map[string]grpc.ClientConnInterface {
	t.Helper()
	by := h2c()
	t.Cleanup(by.CloseIdleConnections)
	all := map[string]grpc.ClientConnInterface{"gRPC": dial(t, address)}
	for name, options := range map[string][]connect.ClientOption{
		"Connect": nil, "Connect with JSON": {connect.WithProtoJSON()}, "gRPC-Web": {connect.WithGRPCWeb()},
	} {
		all[name] = connectConn{kserveconnect.NewGRPCInferenceServiceClient(by, "http://"+address, options...)}
	}
	return all
}

// connectConn calls by Connect's client what is asked by grpc-go's interface.
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

// NewStream implements it.
func (c connectConn) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := c.client.ModelStreamInfer(ctx)
	return connectStream{stream, ctx}, statusOfConnect(err)
}

// connectStream is Connect's stream to grpc-go's interface.
type connectStream struct {
	stressed

	ctx context.Context //nolint:containedctx // the interface gives it
}

func (s connectStream) Header() (metadata.MD, error) { return nil, nil } //nolint:nilnil // nobody asks
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

// statusOfConnect is an error of Connect's client as grpc-go's would have it.
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
