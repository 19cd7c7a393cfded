package inference

import (
	"context"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// SetBounds changes what is taken at once, for all requests from now on. Requests that
// are in flight or wait stay, whatever the new bounds are.
func (s *Service) SetBounds(b Bounds) error {
	if err := b.Validate(); err != nil {
		return err
	}
	s.admission.set(b)
	s.ledger.set(b.intake())
	return nil
}

// Rate tells how many requests may begin now, by the rate of the client under the
// context or of the server, whichever leaves less; ok is false where there is none.
func (s *Service) Rate(ctx context.Context) (left Rate, ok bool) { return s.admission.rate(ctx) }

// finish ends what admitText and admitTensors began.
func (t *ticket) finish(outcome Outcome, usage *Usage) {
	t.measure.end(outcome, usage)
	t.leave()
}

// admitText admits a generation or an embedding, and follows it from now on.
func (s *Service) admitText(ctx context.Context, req *Request) (context.Context, *ticket, error) {
	var priority int64
	if req.Priority != nil {
		priority = int64(*req.Priority)
	}
	return s.admit(ctx, operationOf(req), s.catalog.known.Load().find(req.Model, s.cfg.LoRASeparator), priority)
}

// admitTensors does so for a request of a model by its tensors.
func (s *Service) admitTensors(ctx context.Context, m *InferRequest) (context.Context, *ticket, error) {
	name := m.Head().GetModelName()
	named := Named{Name: name, Card: s.catalog.known.Load().cards[name]}
	ctx, t, err := s.admit(ctx, OperationInfer, named, wholeOf(m.Head().GetParameters()["priority"]))
	if err == nil && named.Card != nil {
		limitQueue(ctx, named.Card.Config, m)
	}
	return ctx, t, err
}

// wholeOf is a parameter that is a whole number, 0 for any other.
func wholeOf(p *kserve.InferParameter) int64 {
	return p.GetInt64Param() + int64(min(p.GetUint64Param(), prioritySteps))
}

func (s *Service) admit(ctx context.Context, operation Operation, named Named, priority int64) (context.Context, *ticket, error) {
	t := &ticket{}
	t.measure.begin(ctx, s, operation)
	t.measure.settle(named.Card, named.LoRA)
	_, span := childOf(ctx, t.measure.span, "admit")
	err := s.enter(ctx, t, named, priority)
	endSpan(span, err)
	if err != nil {
		t.measure.refuse(outcomeOf(err))
		return nil, nil, err
	}
	return t, t, nil
}

// enter waits for a place for a request of a model, which needn't be known.
func (s *Service) enter(ctx context.Context, t *ticket, named Named, priority int64) error {
	if err := MayUse(ctx, named.Name); err != nil {
		return err
	}
	q := ask{now: t.measure.began, model: named.Name, priority: priority, arrived: ArrivalOf(ctx).enter()}
	if q.now.IsZero() {
		q.now = time.Now()
	}
	if card := named.Card; card != nil {
		q.model, q.known, q.priority = card.Name, true, priorityOf(card.Config, priority)
	}
	return s.admission.enter(ctx, t, q)
}
