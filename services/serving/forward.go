package serving

import (
	"context"
	"fmt"
	"iter"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// Forward runs a request and yields the model's responses, as a [inference.Forwarder] does.
// Admission, deadline and cancellation are those of Generate. The message must
// live until the loop has ended.
func (s *Service) Forward(ctx context.Context, m *inference.InferRequest) iter.Seq2[*inference.Response, error] {
	return func(yield func(*inference.Response, error) bool) {
		ctx, t, err := s.admitTensors(ctx, m)
		if err != nil {
			yield(nil, err)
			return
		}
		outcome, wrong := metering.OutcomeCanceled, metering.OutcomeOK
		defer func() { finish(t, outcome, nil) }()
		for resp, err := range s.stream(ctx, m) {
			if err != nil {
				e := inference.Cause(ctx, err)
				outcome = metering.OutcomeOf(e)
				yield(nil, e)
				return
			}
			if !resp.Idle {
				t.Measure.Answer()
			}
			if resp.Err != nil {
				wrong = metering.OutcomeOf(resp.Err)
			}
			final := resp.Final
			if !yield(resp, nil) {
				if final || wrong != metering.OutcomeOK {
					outcome = wrong
				}
				return
			}
		}
		outcome = wrong
	}
}

// Infer runs a request of a model that isn't decoupled, and has its one response used:
// encoded, as a ModelInferResponse, where the engine gives that. What has been used
// doesn't count when there is an error. It is no iterator, as each variable that a loop
// over one changes is an allocation, which small requests feel.
func (s *Service) Infer(ctx context.Context, m *inference.InferRequest, use func(*inference.Response) error) error {
	ctx, t, err := s.admitTensors(ctx, m)
	if err != nil {
		return err
	}
	outcome := metering.OutcomeCanceled
	defer func() { finish(t, outcome, nil) }() // also when use panics
	one := &single{ticket: t, use: use}
	err = s.infer(ctx, m, one)
	switch {
	case one.unused != nil: // whatever has become of the context
		err = one.unused
	case err != nil:
		err = inference.Cause(ctx, err)
	}
	outcome = metering.OutcomeOf(err)
	return err
}

// infer has the one response of a request used.
func (s *Service) infer(ctx context.Context, m *inference.InferRequest, one *single) error {
	engine, err := s.catalog.EngineOf(ctx, m.Head().GetModelName())
	if err != nil {
		return err
	}
	caller, ok := engine.(inference.Caller)
	if !ok || m.Encoded() == nil {
		return s.single(ctx, engine, m, one)
	}
	ctx, span := child(ctx, "engine")
	answer, err := caller.Call(ctx, m)
	metering.EndSpan(span, err)
	if err != nil {
		return err
	}
	defer answer.Free()
	one.take(&inference.Response{Encoded: answer, Final: true}, nil)
	return one.err
}

// single has the one response of a stream used, whose end may come by itself. What is
// wrong with their number it says as tritonserver does.
func (s *Service) single(ctx context.Context, engine inference.Engine, m *inference.InferRequest, one *single) error {
	if s.catalog.Decoupled(ctx, m.Head().GetModelName()) {
		return &inference.Error{
			Code: inference.CodeUnsupported, Reason: inference.ReasonNotImplemented, Triton: inference.TritonUnsupported,
			Message: "ModelInfer RPC doesn't support models with decoupled transaction policy",
		}
	}
	one.head = m.Head()
	streamOf(ctx, engine, m)(one.take)
	if one.err == nil && one.count != 1 {
		return &inference.Error{Code: inference.CodeInternal, Triton: inference.TritonInternal, Message: fmt.Sprintf("expected a single response, got %d", one.count)}
	}
	return one.err
}

// single is what has come of a request that gets one response.
type single struct {
	ticket *admission.Ticket
	use    func(*inference.Response) error
	head   *kserve.ModelInferRequest
	count  int
	unused error // of use
	err    error
}

// take is the body of the loop over a stream.
func (one *single) take(resp *inference.Response, err error) bool {
	switch {
	case one.err != nil: // whoever yields has been told
	case err != nil:
		one.err = err
	case resp.Idle || one.head != nil && resp.End(one.head):
	case resp.Err != nil:
		one.err = resp.Err
	default:
		one.count++
		if one.count == 1 {
			one.ticket.Measure.Answer()
			one.unused = one.use(resp)
			one.err = one.unused
		}
	}
	return one.err == nil
}

// stream runs a request on the engine of its model. Of one that is no Forwarder an
// error of the model's is the last.
func (s *Service) stream(ctx context.Context, m *inference.InferRequest) iter.Seq2[*inference.Response, error] {
	engine, err := s.catalog.EngineOf(ctx, m.Head().GetModelName())
	if err != nil {
		return func(yield func(*inference.Response, error) bool) { yield(nil, err) }
	}
	return streamOf(ctx, engine, m)
}

func streamOf(ctx context.Context, engine inference.Engine, m *inference.InferRequest) iter.Seq2[*inference.Response, error] {
	if forwarder, ok := engine.(inference.Forwarder); ok {
		return traced(ctx, func(ctx context.Context) iter.Seq2[*inference.Response, error] { return forwarder.Forward(ctx, m) })
	}
	req, err := m.Request()
	if err != nil {
		return func(yield func(*inference.Response, error) bool) { yield(nil, err) }
	}
	return traced(ctx, func(ctx context.Context) iter.Seq2[*inference.Response, error] { return engine.Stream(ctx, req) })
}
