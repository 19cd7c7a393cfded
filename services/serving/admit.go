package serving

import (
	"context"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// Resolve looks up the model of a request for text or embeddings, by any of its names. It asks no
// engine and needs no admission. A frontend resolves a request's model once and passes the resolution
// to the method that runs the request.
func (s *Service) Resolve(name string) catalog.Resolution { return s.catalog.Resolve(name) }

// ResolveOwn looks up the model of a request of tensors, by its own name only.
func (s *Service) ResolveOwn(name string) catalog.Resolution { return s.catalog.ResolveOwn(name) }

// work is the execution of a request between its admission and its end.
type work interface {
	// do runs the request with its ticket as the context. The outcome and the usage apply only
	// without an error. The usage of requests of tensors is nil.
	do(t *admission.Ticket) (metering.Outcome, *inference.Usage, error)
}

// serve runs a request from its admission to its end. Admission gives the request a deadline, a trace
// and a meter. Then its work runs. Finally its outcome is recorded, also if the work panics. Errors
// are [*inference.Error].
func (s *Service) serve(ctx context.Context, model *catalog.Resolution, operation inference.Operation, priority int64, w work) error {
	t, err := s.admit(ctx, model, operation, priority)
	if err != nil {
		return err
	}
	outcome, usage := metering.OutcomeCanceled, (*inference.Usage)(nil) // this outcome is recorded if the work panics
	defer func() {
		t.Measure.End(outcome, usage)
		t.Leave()
	}()
	outcome, usage, err = w.do(t)
	if err != nil {
		err = inference.Cause(t, err) //nolint:contextcheck // the ticket is the context
		outcome = metering.OutcomeOf(err)
	}
	return err
}

func (s *Service) admit(ctx context.Context, model *catalog.Resolution, operation inference.Operation, priority int64) (*admission.Ticket, error) {
	t := &admission.Ticket{}
	t.Measure.Begin(ctx, s.meters, operation)
	if model.Card != nil {
		t.Measure.Settle(model.Card.Name, model.LoRA)
	}
	_, span := metering.ChildSpan(ctx, t.Measure.Span(), "admit")
	err := s.enter(ctx, t, model, priority)
	metering.EndSpan(span, err)
	if err != nil {
		t.Measure.Refuse(metering.OutcomeOf(err))
		return nil, err
	}
	return t, nil
}

// enter waits for a slot for a request, whose model may be unknown, and then renews the resolution.
func (s *Service) enter(ctx context.Context, t *admission.Ticket, model *catalog.Resolution, priority int64) error {
	if err := inference.MayUse(ctx, model.Name); err != nil {
		return err
	}
	q := admission.Ask{Model: model.Name, Priority: priority}
	if card := model.Card; card != nil {
		q.Model, q.Known, q.Priority = card.Name, true, admission.PriorityOf(card.Config, priority)
	}
	if err := s.admission.Enter(ctx, t, q); err != nil {
		return err
	}
	model.Renew()
	return nil
}
