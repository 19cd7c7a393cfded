package kserve

import (
	"context"
	"io"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/server"
)

// typedRoutes returns the routes of trident.v1.InferService, which is ModelInfer, and
// ModelStreamInfer with a single request. It handles the messages as those methods do.
func typedRoutes(s *Service, options []connect.HandlerOption) []server.Route {
	schema := func(name protoreflect.Name) connect.HandlerOption {
		return connect.WithSchema(tridentv1.File_trident_v1_infer_proto.Services().ByName("InferService").Methods().ByName(name))
	}
	return []server.Route{
		{
			Pattern: tridentv1connect.InferServiceInferProcedure, Refuse: server.CallErrors(connectError).Refuse,
			Handler: asSent(connect.NewUnaryHandlerSimple(tridentv1connect.InferServiceInferProcedure, s.infer, append(options, schema("Infer"))...)),
		},
		{
			Pattern: tridentv1connect.InferServiceInferStreamProcedure, Refuse: server.CallErrors(connectError).Refuse,
			Handler: asSent(withAbort(connect.NewServerStreamHandler(tridentv1connect.InferServiceInferStreamProcedure,
				func(ctx context.Context, req *connect.Request[request], stream *connect.ServerStream[reply]) error {
					server.RecordOf(ctx).Model = modelOf(req.Msg.decoded())
					return s.streamInfer(ctx, &singleExchange{request: req.Msg, stream: stream, end: abortOf(ctx)}, s.optionsOf(req.Header()))
				}, append(options, schema("InferStream"))...))),
		},
	}
}

// singleExchange is a stream with one request.
type singleExchange struct {
	request *request // nil once the request has been received
	stream  *connect.ServerStream[reply]
	end     func()
}

func (x *singleExchange) receive() (*request, error) {
	req := x.request
	if req == nil {
		return nil, io.EOF
	}
	x.request = nil
	return req, nil
}

func (x *singleExchange) send(r *reply) error { return x.stream.Send(r) }

func (*singleExchange) joins() bool { return false }

func (x *singleExchange) abort() bool {
	x.end()
	return true
}
