// Package tridentrpc is the frontend of the typed services in api/trident: Connect,
// gRPC and gRPC-Web on the shared port. The package only translates.
// services/requests validates requests for all surfaces. Checks that OpenAI's API
// shares belong to package requests.
package tridentrpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"buf.build/go/protovalidate"
	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/protocodec"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
)

// Service implements the services of trident.v1 over the shared service, except
// InferService, which forwards KServe's messages. It may be used concurrently.
type Service struct {
	core    *serving.Service
	version string
	started time.Time
}

// New returns the frontend of a server of the given version.
func New(core *serving.Service, version Version) *Service {
	return &Service{core: core, version: string(version), started: time.Now()}
}

// Version is the version of the program.
type Version string

// NewRoutes returns the routes of the services. Messages have the size limit of
// other surfaces' bodies, both compressed and decompressed.
func NewRoutes(s *Service, cfg server.Config) ([]server.Route, error) {
	validator, err := protovalidate.New(protovalidate.WithMessages(
		&tridentv1.ChatRequest{}, &tridentv1.ChatStreamRequest{}, &tridentv1.CompleteRequest{}, &tridentv1.CompleteStreamRequest{},
		&tridentv1.EmbedRequest{}, &tridentv1.RerankRequest{}, &tridentv1.ScoreRequest{}, &tridentv1.ClassifyRequest{}, &tridentv1.EmbedTokensRequest{}, &tridentv1.EmbedSparseRequest{},
		&tridentv1.ModelServiceListRequest{}, &tridentv1.ModelServiceGetRequest{}, &tridentv1.ModelServiceWatchRequest{},
		&tridentv1.ModelServiceLoadRequest{}, &tridentv1.ModelServiceUnloadRequest{}, &tridentv1.ServerServiceWatchRequest{},
		&tridentv1.EndpointServiceListRequest{}, &tridentv1.EndpointServiceDrainRequest{}, &tridentv1.EndpointServiceResumeRequest{},
	))
	if err != nil {
		return nil, fmt.Errorf("compile the validation rules of the API schema: %w", err)
	}
	options := append(protocodec.Options(budget.Inputs(services()...)),
		connect.WithReadMaxBytes(int(cfg.MaxBody)), server.Gzip(cfg.MaxBody), connect.WithCompressMinBytes(server.CompressFrom),
		connect.WithInterceptors(interceptor{validator}),
	)
	routes := []server.Route{newPackageRoute()}
	mount := func(path string, handler http.Handler) {
		methods, failure := server.Procedures(path, handler, typedError)
		routes, err = append(routes, methods...), errors.Join(err, failure)
	}
	mount(tridentv1connect.NewChatServiceHandler(s, options...))
	mount(tridentv1connect.NewCompletionServiceHandler(s, options...))
	mount(tridentv1connect.NewEmbeddingServiceHandler(s, options...))
	mount(tridentv1connect.NewEncoderServiceHandler(s, options...))
	mount(tridentv1connect.NewModelServiceHandler(modelService{s}, options...))
	mount(tridentv1connect.NewServerServiceHandler(serverService{s}, options...))
	mount(tridentv1connect.NewEndpointServiceHandler(endpointService{s}, options...))
	return routes, err
}

// services returns the services that this package implements.
func services() []protoreflect.ServiceDescriptor {
	var all []protoreflect.ServiceDescriptor
	for _, file := range []protoreflect.FileDescriptor{
		tridentv1.File_trident_v1_chat_proto, tridentv1.File_trident_v1_completion_proto, tridentv1.File_trident_v1_embedding_proto,
		tridentv1.File_trident_v1_encoder_proto,
		tridentv1.File_trident_v1_model_proto, tridentv1.File_trident_v1_server_proto, tridentv1.File_trident_v1_endpoint_proto,
	} {
		for i := range file.Services().Len() {
			all = append(all, file.Services().Get(i))
		}
	}
	return all
}

// now returns the time in whole seconds, as OpenAI's created is.
func now() *timestamppb.Timestamp { return &timestamppb.Timestamp{Seconds: time.Now().Unix()} }

// send sends a message. It returns a canceled error if the client has disconnected.
func send[T any](stream *connect.ServerStream[T], msg *T) error {
	if err := stream.Send(msg); err != nil {
		return &inference.Error{Code: inference.CodeCanceled, Message: "the client canceled the request or disconnected", Err: err}
	}
	return nil
}

// keepAliveInterval is the interval of keep-alives in a stream without changes.
const keepAliveInterval = 15 * time.Second

// stopped returns the error that ends a stream of changes: the client disconnected,
// or the server stops.
func (s *Service) stopped(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.core.Ready(ctx)
}

// fresh resets a message that is reused.
func fresh[M proto.Message](m M) M {
	proto.Reset(m)
	return m
}
