package serving

import (
	"context"
	"fmt"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// Endpoints returns the state of the inference servers, for a client that may use all models. It is
// [inference.CodeUnsupported] without an engine over several servers, as are the other methods of
// endpoints.
func (s *Service) Endpoints(ctx context.Context) (inference.EndpointReport, error) {
	several, err := s.drainer(ctx)
	if err != nil {
		return inference.EndpointReport{}, err
	}
	return several.Endpoints(), nil
}

// DrainEndpoint is [inference.Drainer.Drain] for a client that may use all models.
func (s *Service) DrainEndpoint(ctx context.Context, address string, force bool) (inference.Endpoint, error) {
	return s.changeEndpoint(ctx, "drain endpoint", func(ctx context.Context, several inference.Drainer) (inference.Endpoint, error) {
		return several.Drain(ctx, address, force)
	})
}

// ResumeEndpoint is [inference.Drainer.Resume] for a client that may use all models.
func (s *Service) ResumeEndpoint(ctx context.Context, address string) (inference.Endpoint, error) {
	return s.changeEndpoint(ctx, "resume endpoint", func(ctx context.Context, several inference.Drainer) (inference.Endpoint, error) {
		return several.Resume(ctx, address)
	})
}

// changeEndpoint changes an endpoint within the admission of changes, which the shutdown ends.
func (s *Service) changeEndpoint(ctx context.Context, span string, change func(context.Context, inference.Drainer) (inference.Endpoint, error)) (_ inference.Endpoint, err error) {
	several, err := s.drainer(ctx)
	if err != nil {
		return inference.Endpoint{}, err
	}
	ctx, leave, err := s.admission.EnterControl(ctx)
	if err != nil {
		return inference.Endpoint{}, err
	}
	defer leave()
	ctx, step := child(ctx, span)
	defer func() { metering.EndSpan(step, err) }()
	one, err := change(ctx, several)
	if err != nil {
		return inference.Endpoint{}, inference.Cause(ctx, err)
	}
	return one, nil
}

// drainer returns the engine over several servers.
func (s *Service) drainer(ctx context.Context) (inference.Drainer, error) {
	if err := inference.MayAll(ctx); err != nil {
		return nil, err
	}
	for _, e := range s.catalog.Engines() {
		if several, ok := e.(inference.Drainer); ok {
			return several, nil
		}
	}
	return nil, &inference.Error{
		Code: inference.CodeUnsupported, Reason: inference.ReasonNotImplemented,
		Message: fmt.Sprintf("this server has no list of inference servers: %s must have several addresses, a DNS name or an address with a weight", s.cfg.Names.Of("triton.Endpoint")),
	}
}
