package serving

import (
	"context"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// Resolve looks up the model of a request for text or embeddings, by any of its names. It asks
// no engine and needs no admission: a frontend resolves a request's model once and passes the
// resolution to whatever method runs the request.
func (s *Service) Resolve(name string) catalog.Resolution { return s.catalog.Resolve(name) }

// ResolveOwn is Resolve for a request of tensors, which knows a model by its own name alone.
func (s *Service) ResolveOwn(name string) catalog.Resolution { return s.catalog.ResolveOwn(name) }

// work is what a request does between its admission and its end.
type work interface {
	// do runs the request with its ticket as the context. The outcome and the usage, which is nil
	// of tensors, are those of a request without an error.
	do(t *admission.Ticket) (metering.Outcome, *inference.Usage, error)
}

// serve runs a request from its admission to its end: admission gives it a deadline, a trace and a
// meter; then its work runs; then its outcome is recorded, also when the work panics. Errors are
// [*inference.Error].
func (s *Service) serve(ctx context.Context, model *catalog.Resolution, operation inference.Operation, priority int64, w work) error {
	t, err := s.admit(ctx, model, operation, priority)
	if err != nil {
		return err
	}
	outcome, usage := metering.OutcomeCanceled, (*inference.Usage)(nil) // unless it turns out otherwise
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

// enter waits for a slot for a request of a model, which needn't be known, and then renews the
// resolution.
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
