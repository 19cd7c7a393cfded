package kserve

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/gen/go/kserve/kserveconnect"
	"github.com/trident-inference/trident/services/admission"
)

// The names of the methods that need special treatment.
const (
	inferName  = "ModelInfer"
	streamName = "ModelStreamInfer"
)

// method describes a gRPC method of KServe's service for grpc-go and for Connect.
type method struct {
	name    string
	native  grpc.MethodDesc // empty for the stream
	connect func(options ...connect.HandlerOption) http.Handler
}

// methods returns the methods of the service.
func (s *Service) methods() []method {
	return []method{
		unary("ServerLive", s.ServerLive),
		unary("ServerReady", s.ServerReady),
		unary("ModelReady", s.ModelReady),
		unary("ServerMetadata", s.ServerMetadata),
		unary("ModelMetadata", s.ModelMetadata),
		unary(inferName, s.infer),
		{name: streamName, connect: s.connectStream},
		unary("ModelConfig", s.ModelConfig),
		unary("ModelStatistics", s.ModelStatistics),
		unary("RepositoryIndex", s.RepositoryIndex),
		unary("RepositoryModelLoad", s.RepositoryModelLoad),
		unary("RepositoryModelUnload", s.RepositoryModelUnload),
		unary("SystemSharedMemoryStatus", s.SystemSharedMemoryStatus),
		unary("SystemSharedMemoryRegister", s.SystemSharedMemoryRegister),
		unary("SystemSharedMemoryUnregister", s.SystemSharedMemoryUnregister),
		unary("CudaSharedMemoryStatus", s.CudaSharedMemoryStatus),
		unary("CudaSharedMemoryRegister", s.CudaSharedMemoryRegister),
		unary("CudaSharedMemoryUnregister", s.CudaSharedMemoryUnregister),
		unary("TraceSetting", s.TraceSetting),
		unary("LogSettings", s.LogSettings),
	}
}

func procedure(name string) string {
	return "/" + kserveconnect.GRPCInferenceServiceName + "/" + name
}

// schema returns the descriptor of a method, for interceptors and reflection.
func schema(name string) protoreflect.MethodDescriptor {
	service := kserve.File_kserve_grpc_service_proto.Services().ByName("GRPCInferenceService")
	return service.Methods().ByName(protoreflect.Name(name))
}

func unary[Req, Res any](name string, call func(context.Context, *Req) (*Res, error)) method {
	info := &grpc.UnaryServerInfo{FullMethod: procedure(name)}
	handle := func(ctx context.Context, req any) (any, error) {
		return call(ctx, req.(*Req)) //nolint:forcetypeassert // the code below creates it
	}
	return method{
		name: name,
		native: grpc.MethodDesc{MethodName: name, Handler: func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			req := new(Req)
			d := decoding{message: req, arrival: admission.ArrivalOf(ctx)}
			if err := decode(&d); err != nil {
				return nil, err
			}
			if d.err != nil {
				return nil, d.err
			}
			return intercept(ctx, req, info, handle)
		}},
		connect: func(options ...connect.HandlerOption) http.Handler {
			return connect.NewUnaryHandlerSimple(procedure(name), call, append(options, connect.WithSchema(schema(name)))...)
		},
	}
}
