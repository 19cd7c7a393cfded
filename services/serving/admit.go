package serving

import (
	"context"
	"math"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// finish ends what admitText and admitTensors began.
func finish(t *admission.Ticket, outcome metering.Outcome, usage *inference.Usage) {
	t.Measure.End(outcome, usage)
	t.Leave()
}

// admitText admits a generation or an embedding, and follows it from now on.
func (s *Service) admitText(ctx context.Context, req *inference.Request) (context.Context, *admission.Ticket, error) {
	var priority int64
	if req.Priority != nil {
		priority = int64(*req.Priority)
	}
	return s.admit(ctx, req.Operation(), s.catalog.Named(req.Model), priority)
}

// admitTensors does so for a request of a model by its tensors.
func (s *Service) admitTensors(ctx context.Context, m *inference.InferRequest) (context.Context, *admission.Ticket, error) {
	name := m.Head().GetModelName()
	named := catalog.Named{Name: name, Card: s.catalog.Card(name)}
	ctx, t, err := s.admit(ctx, inference.OperationInfer, named, wholeOf(m.Head().GetParameters()["priority"]))
	if err == nil && named.Card != nil {
		limitQueue(ctx, named.Card.Config, m)
	}
	return ctx, t, err
}

// wholeOf is a parameter that is a whole number, 0 for any other.
func wholeOf(p *kserve.InferParameter) int64 {
	return p.GetInt64Param() + int64(min(p.GetUint64Param(), math.MaxInt64))
}

func (s *Service) admit(ctx context.Context, operation inference.Operation, named catalog.Named, priority int64) (context.Context, *admission.Ticket, error) {
	t := &admission.Ticket{}
	t.Measure.Begin(ctx, s.meters, operation)
	if named.Card != nil {
		t.Measure.Settle(named.Card.Name, named.LoRA)
	}
	_, span := metering.ChildSpan(ctx, t.Measure.Span(), "admit")
	err := s.enter(ctx, t, named, priority)
	metering.EndSpan(span, err)
	if err != nil {
		t.Measure.Refuse(metering.OutcomeOf(err))
		return nil, nil, err
	}
	return t, t, nil
}

// enter waits for a slot for a request of a model, which needn't be known.
func (s *Service) enter(ctx context.Context, t *admission.Ticket, named catalog.Named, priority int64) error {
	if err := inference.MayUse(ctx, named.Name); err != nil {
		return err
	}
	q := admission.Ask{Model: named.Name, Priority: priority}
	if card := named.Card; card != nil {
		q.Model, q.Known, q.Priority = card.Name, true, admission.PriorityOf(card.Config, priority)
	}
	return s.admission.Enter(ctx, t, q)
}
