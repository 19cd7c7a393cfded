package tridentrpc

import (
	"context"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/services/inference"
)

// endpointService implements EndpointService.
type endpointService struct{ *Service }

// List returns the inference servers.
func (s endpointService) List(ctx context.Context, _ *tridentv1.EndpointServiceListRequest) (*tridentv1.EndpointServiceListResponse, error) {
	report, err := s.core.Endpoints(ctx)
	if err != nil {
		return nil, err
	}
	answer := &tridentv1.EndpointServiceListResponse{}
	for i := range report.Endpoints {
		answer.Endpoints = append(answer.Endpoints, endpoint(&report.Endpoints[i]))
	}
	for _, address := range report.Absent {
		answer.Endpoints = append(answer.Endpoints, &tridentv1.Endpoint{
			Address: address, State: tridentv1.EndpointState_ENDPOINT_STATE_DRAINED, Reason: "the server isn't in the list at present",
		})
	}
	return answer, nil
}

// Drain drains an inference server.
func (s endpointService) Drain(ctx context.Context, msg *tridentv1.EndpointServiceDrainRequest) (*tridentv1.EndpointServiceDrainResponse, error) {
	one, err := s.core.DrainEndpoint(ctx, msg.GetAddress(), msg.GetForce())
	if err != nil {
		return nil, err
	}
	return &tridentv1.EndpointServiceDrainResponse{Endpoint: endpoint(&one)}, nil
}

// Resume puts a drained inference server back.
func (s endpointService) Resume(ctx context.Context, msg *tridentv1.EndpointServiceResumeRequest) (*tridentv1.EndpointServiceResumeResponse, error) {
	one, err := s.core.ResumeEndpoint(ctx, msg.GetAddress())
	if err != nil {
		return nil, err
	}
	answer := &tridentv1.EndpointServiceResumeResponse{}
	if one.Address != "" {
		answer.Endpoint = endpoint(&one)
	}
	return answer, nil
}

func endpoint(e *inference.Endpoint) *tridentv1.Endpoint {
	return &tridentv1.Endpoint{
		Address: e.Address, State: endpointState(e.State), Reason: e.Reason, Weight: e.Weight, InFlight: uint32(e.InFlight),
		Requests: e.Requests, Failures: e.Failures, Repeats: e.Repeats, Outs: e.Outs,
	}
}

func endpointState(s inference.EndpointState) tridentv1.EndpointState {
	switch s {
	case inference.EndpointIn:
		return tridentv1.EndpointState_ENDPOINT_STATE_IN
	case inference.EndpointStarting:
		return tridentv1.EndpointState_ENDPOINT_STATE_STARTING
	case inference.EndpointNotReady:
		return tridentv1.EndpointState_ENDPOINT_STATE_NOT_READY
	case inference.EndpointOut:
		return tridentv1.EndpointState_ENDPOINT_STATE_OUT
	case inference.EndpointDrained:
		return tridentv1.EndpointState_ENDPOINT_STATE_DRAINED
	}
	return tridentv1.EndpointState_ENDPOINT_STATE_UNSPECIFIED
}
