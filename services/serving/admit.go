package serving

import (
	"context"

	"google.golang.org/protobuf/proto"

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
	defer func() {                                                      //nolint:contextcheck // the ticket is the context
		spendUsage(t, usage)
		if t.Err() != nil { // the client has disconnected or the time is over, and the model may have worked
			t.SpendReserved()
		}
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

// The tokens of a client's minute: a request reserves what it may use once that is known, before its
// model gets it, and has used what its usage says. Tokens that can't be counted are estimated from bytes.

// spendUsage records the tokens of a request that has succeeded.
func spendUsage(t *admission.Ticket, usage *inference.Usage) {
	switch {
	case usage == nil:
	case usage.Unknown:
		t.SpendReserved()
	default:
		t.Spend(usage.PromptTokens + usage.CompletionTokens)
	}
}

// reserve reserves the tokens of prompts and of the answers to them. The answers have the maximum that
// the client set, or else the number that is expected.
func (r *textRun) reserve(t *admission.Ticket, prompts, tokens, maxTokens int) error {
	if r.req.Sampling.MaxTokens == nil {
		maxTokens = min(maxTokens, expectedAnswer)
	}
	return t.Reserve(tokens + prompts*candidates(r.req)*maxTokens)
}

// spendUntilNow records the tokens of a generation that ended early: the prompt, and the answer until
// then. If the model failed before it answered, the client has used none.
func (g *generation) spendUntilNow(t *admission.Ticket, run *textRun) {
	if t.Reserved() && (g.err == nil || t.Err() != nil || run.tokens > 0) {
		spendUsage(t, run.usage())
	}
}

// estimate returns the estimated number of tokens of a text.
func estimate(bytes int) int { return max(1, (bytes+bytesPerToken-1)/bytesPerToken) }

// reserve reserves the estimated tokens of the inputs, since they are tokenized while the first ones are
// encoded already. Images have their tokens of a batch, since they are fetched later.
func (e *encoding) reserve(t *admission.Ticket) error {
	tokens := 0
	for i := range e.req.Inputs {
		in := &e.req.Inputs[i]
		if in.Image != nil {
			tokens += imageTokens
		}
		switch {
		case in.Image != nil && in.Text == "":
		case in.TokenIDs != nil:
			tokens += len(in.TokenIDs)
		case in.Second != nil:
			tokens += estimate(len(in.Text) + len(*in.Second))
		default:
			tokens += estimate(len(in.Text))
		}
	}
	return t.Reserve(tokens)
}

// tensorTokens has the estimated number of tokens of a request of tensors, which is 0 for a model that
// isn't one of text.
type tensorTokens struct {
	ticket *admission.Ticket
	texts  bool // the model answers with text
	bytes  int
}

// reserve reserves the tokens of a request's message.
func (k *tensorTokens) reserve(t *admission.Ticket, model *catalog.Resolution, m *inference.InferRequest) error {
	client := inference.ClientOf(t)
	if client == nil || client.Limits.TokensPerMinute == 0 || model.Card == nil || model.Card.Tasks == 0 {
		return nil
	}
	k.texts, k.bytes = model.Card.Tasks&inference.TaskGenerate != 0, m.Size()
	if m.Encoded() == nil {
		k.bytes = proto.Size(m.Head())
	}
	if err := t.Reserve(estimate(k.bytes)); err != nil {
		return err
	}
	k.ticket = t
	return nil
}

// add adds the tokens of a response.
func (k *tensorTokens) add(resp *inference.Response) {
	if k.ticket == nil || resp.Idle {
		return
	}
	if k.texts {
		k.bytes += resp.Encoded.Len()
		for i := 0; resp.Encoded == nil && i < len(resp.Outputs); i++ {
			k.bytes += len(resp.Outputs[i].Raw)
		}
	}
	k.ticket.Spend(estimate(k.bytes))
}
