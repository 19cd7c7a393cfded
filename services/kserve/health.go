package kserve

import (
	"context"

	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// healthCheck is the procedure of a probe.
const healthCheck = grpc_health_v1.Health_Check_FullMethodName

// health answers grpc.health.v1.Health as tritonserver does: ready or not, whatever
// service is asked for, and no watching.
type health struct {
	grpc_health_v1.UnimplementedHealthServer

	service *Service
}

// Check tells whether the server is ready.
func (h health) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	answer, err := h.service.ServerReady(ctx, &kserve.ServerReadyRequest{})
	if err != nil {
		return nil, err
	}
	if answer.GetReady() {
		return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
	}
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_NOT_SERVING}, nil
}
