// Package tridentrpc is the frontend of the typed services in api/trident: Connect,
// gRPC and gRPC-Web on the shared port. It only translates. What a request may be
// it leaves to services/requests, which checks the same requests of other surfaces.
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

// Service answers the services of trident.v1 from the shared service, but for
// InferService, which passes KServe's messages on. It may be used concurrently.
type Service struct {
	core    *serving.Service
	version string
	started time.Time
}

// New makes the frontend of a server of that version.
func New(core *serving.Service, version Version) *Service {
	return &Service{core: core, version: string(version), started: time.Now()}
}

// Version of the program.
type Version string

// NewRoutes mounts the services. Messages are bounded as the other surfaces' bodies
// are, also when they come compressed.
func NewRoutes(s *Service, cfg server.Config) ([]server.Route, error) {
	validator, err := protovalidate.New(protovalidate.WithMessages(
		&tridentv1.ChatRequest{}, &tridentv1.ChatStreamRequest{}, &tridentv1.CompleteRequest{}, &tridentv1.CompleteStreamRequest{},
		&tridentv1.EmbedRequest{}, &tridentv1.ModelServiceListRequest{}, &tridentv1.ModelServiceGetRequest{}, &tridentv1.ModelServiceWatchRequest{},
		&tridentv1.ModelServiceLoadRequest{}, &tridentv1.ModelServiceUnloadRequest{}, &tridentv1.ServerServiceWatchRequest{},
	))
	if err != nil {
		return nil, fmt.Errorf("rules of the schema: %w", err)
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
	mount(tridentv1connect.NewModelServiceHandler(modelService{s}, options...))
	mount(tridentv1connect.NewServerServiceHandler(serverService{s}, options...))
	return routes, err
}

// services are those that this package answers.
func services() []protoreflect.ServiceDescriptor {
	var all []protoreflect.ServiceDescriptor
	for _, file := range []protoreflect.FileDescriptor{
		tridentv1.File_trident_v1_chat_proto, tridentv1.File_trident_v1_completion_proto, tridentv1.File_trident_v1_embedding_proto,
		tridentv1.File_trident_v1_model_proto, tridentv1.File_trident_v1_server_proto,
	} {
		for i := range file.Services().Len() {
			all = append(all, file.Services().Get(i))
		}
	}
	return all
}

// now is in whole seconds, as OpenAI's created is.
func now() *timestamppb.Timestamp { return &timestamppb.Timestamp{Seconds: time.Now().Unix()} }

// send is false with the error of a client that has gone.
func send[T any](stream *connect.ServerStream[T], msg *T) error {
	if err := stream.Send(msg); err != nil {
		return &inference.Error{Code: inference.CodeCanceled, Message: "the client closed the request", Err: err}
	}
	return nil
}

// silence is how long a stream of changes goes without a sign of life.
const silence = 15 * time.Second

// stopped is why a stream of changes ends: the client left, or the server stops.
func (s *Service) stopped(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.core.Ready(ctx)
}

// fresh empties a message that is sent again and again.
func fresh[M proto.Message](m M) M {
	proto.Reset(m)
	return m
}
