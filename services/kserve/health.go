package kserve

import (
	"context"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc/health/grpc_health_v1"

	health1connect "github.com/trident-inference/trident/gen/go/health/grpc_health_v1connect"
	"github.com/trident-inference/trident/gen/go/kserve/kserveconnect"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/serving"
)

// sharedServices returns the services of the shared port, for reflection and for
// health checks.
func sharedServices() []string {
	return []string{
		kserveconnect.GRPCInferenceServiceName, health1connect.HealthName,
		tridentv1connect.ChatServiceName, tridentv1connect.CompletionServiceName, tridentv1connect.EmbeddingServiceName, tridentv1connect.EncoderServiceName,
		tridentv1connect.InferServiceName, tridentv1connect.ModelServiceName, tridentv1connect.ServerServiceName, tridentv1connect.EndpointServiceName,
	}
}

// nativeHealth implements grpc.health.v1.Health on KServe's own port as tritonserver
// does. All services have the same status, and Watch isn't implemented.
type nativeHealth struct {
	grpc_health_v1.UnimplementedHealthServer

	core *serving.Service
}

// Check reports whether the server is ready.
func (h nativeHealth) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	return &grpc_health_v1.HealthCheckResponse{Status: servingStatus(h.core.Ready(ctx))}, nil
}

func servingStatus(notReady error) grpc_health_v1.HealthCheckResponse_ServingStatus {
	if notReady != nil {
		return grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	return grpc_health_v1.HealthCheckResponse_SERVING
}

// sharedHealth implements gRPC's health protocol on the shared port. It has the status
// of the server, whose name is empty, and of each service. The server and all services
// are serving when the server is ready
// (https://github.com/grpc/grpc/blob/master/doc/health-checking.md).
type sharedHealth struct{ core *serving.Service }

func served(service string) bool {
	return service == "" || slices.Contains(sharedServices(), service)
}

// Check reports whether the server is ready. An unknown service is NOT_FOUND.
func (h sharedHealth) Check(ctx context.Context, req *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if !served(req.GetService()) {
		return nil, &inference.Error{Code: inference.CodeNotFound, Message: fmt.Sprintf("unknown service %q", req.GetService())}
	}
	return &grpc_health_v1.HealthCheckResponse{Status: servingStatus(h.core.Ready(ctx))}, nil
}

// watchInterval is the interval of the readiness checks for watchers.
const watchInterval = time.Second

// Watch sends changes of the status until the shutdown, which is the last change.
func (h sharedHealth) Watch(ctx context.Context, req *grpc_health_v1.HealthCheckRequest, stream *connect.ServerStream[grpc_health_v1.HealthCheckResponse]) error {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	told, leaving := grpc_health_v1.HealthCheckResponse_UNKNOWN, h.core.Admission().Leaving()
	for {
		now := grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN // permanent: no services are added later
		if served(req.GetService()) {
			now = servingStatus(h.core.Ready(ctx))
		}
		if ctx.Err() == nil && now != told {
			if err := stream.Send(&grpc_health_v1.HealthCheckResponse{Status: now}); err != nil {
				return err
			}
			told = now
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-h.core.Admission().Draining():
			if told != grpc_health_v1.HealthCheckResponse_SERVING {
				return h.core.Ready(ctx)
			}
		case <-leaving:
			leaving = nil // the loop sends the change, once
		case <-tick.C:
		}
	}
}
