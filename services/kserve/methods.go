package kserve

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/gen/go/kserve/kserveconnect"
)

// Names of what isn't like the other methods.
const (
	inferName  = "ModelInfer"
	streamName = "ModelStreamInfer"
)

// method is one of the service's, for both transports.
type method struct {
	name    string
	group   string
	native  grpc.MethodDesc // empty for the stream
	connect func(options ...connect.HandlerOption) http.Handler
}

// methods are the service's, each with the group by which it is restricted, as in
// tritonserver.
func (s *Service) methods() []method {
	return []method{
		unary("ServerLive", groupHealth, s.ServerLive),
		unary("ServerReady", groupHealth, s.ServerReady),
		unary("ModelReady", groupHealth, s.ModelReady),
		unary("ServerMetadata", GroupMetadata, s.ServerMetadata),
		unary("ModelMetadata", GroupMetadata, s.ModelMetadata),
		unary(inferName, GroupInference, s.infer),
		{name: streamName, group: GroupInference, connect: s.connectStream},
		unary("ModelConfig", groupModelConfig, s.ModelConfig),
		unary("ModelStatistics", GroupStatistics, s.ModelStatistics),
		unary("RepositoryIndex", GroupModelRepository, s.RepositoryIndex),
		unary("RepositoryModelLoad", GroupModelRepository, s.RepositoryModelLoad),
		unary("RepositoryModelUnload", GroupModelRepository, s.RepositoryModelUnload),
		unary("SystemSharedMemoryStatus", groupSharedMemory, s.SystemSharedMemoryStatus),
		unary("SystemSharedMemoryRegister", groupSharedMemory, s.SystemSharedMemoryRegister),
		unary("SystemSharedMemoryUnregister", groupSharedMemory, s.SystemSharedMemoryUnregister),
		unary("CudaSharedMemoryStatus", groupSharedMemory, s.CudaSharedMemoryStatus),
		unary("CudaSharedMemoryRegister", groupSharedMemory, s.CudaSharedMemoryRegister),
		unary("CudaSharedMemoryUnregister", groupSharedMemory, s.CudaSharedMemoryUnregister),
		unary("TraceSetting", groupTrace, s.TraceSetting),
		unary("LogSettings", groupLogging, s.LogSettings),
	}
}

func procedure(name string) string {
	return "/" + kserveconnect.GRPCInferenceServiceName + "/" + name
}

// schema is what interceptors and reflection know of a method.
func schema(name string) protoreflect.MethodDescriptor {
	service := kserve.File_kserve_grpc_service_proto.Services().ByName("GRPCInferenceService")
	return service.Methods().ByName(protoreflect.Name(name))
}

func unary[Req, Res any](name, group string, call func(context.Context, *Req) (*Res, error)) method {
	info := &grpc.UnaryServerInfo{FullMethod: procedure(name)}
	handle := func(ctx context.Context, req any) (any, error) {
		return call(ctx, req.(*Req)) //nolint:forcetypeassert // it is made below
	}
	return method{
		name: name, group: group,
		native: grpc.MethodDesc{MethodName: name, Handler: func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			req := new(Req)
			d := decoding{message: req}
			if err := decode(&d); err != nil {
				return nil, err
			}
			if d.wrong != nil { // for who may call
				if r, ok := any(req).(*request); ok {
					r.decoded()
				}
				return intercept(ctx, req, info, func(context.Context, any) (any, error) { return nil, d.wrong })
			}
			return intercept(ctx, req, info, handle)
		}},
		connect: func(options ...connect.HandlerOption) http.Handler {
			return connect.NewUnaryHandlerSimple(procedure(name), call, append(options, connect.WithSchema(schema(name)))...)
		},
	}
}
