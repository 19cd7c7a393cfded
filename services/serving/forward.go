package serving

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// Forward runs a request on the model that its name stands for, and yields the model's
// responses, as a [inference.Forwarder] does. Admission, deadline and cancellation are those of
// Generate. The message must live until the loop has ended.
func (s *Service) Forward(ctx context.Context, model catalog.Resolution, m *inference.InferRequest) iter.Seq2[*inference.Response, error] {
	return func(yield func(*inference.Response, error) bool) {
		f := &forwarding{model: model, message: m, yield: yield}
		if err := s.serve(ctx, &f.model, inference.OperationInfer, priorityOf(m), f); err != nil {
			yield(nil, err)
		}
	}
}

// forwarding is the work of [Service.Forward], and what has come of it. It has the variables of
// the loop over the responses: in a loop each of them would be an allocation of its own.
type forwarding struct {
	model   catalog.Resolution
	message *inference.InferRequest
	yield   func(*inference.Response, error) bool

	ticket  *admission.Ticket
	outcome metering.Outcome
	err     error
	ended   bool // by an error, or by the caller
}

func (f *forwarding) do(t *admission.Ticket) (metering.Outcome, *inference.Usage, error) {
	f.ticket, f.outcome = t, metering.OutcomeOK
	stream, err := f.stream(t)
	if err != nil {
		return f.outcome, nil, err
	}
	stream(f.take)
	return f.outcome, nil, f.err
}

// take is the body of the loop over the responses.
func (f *forwarding) take(resp *inference.Response, err error) bool {
	switch {
	case f.ended:
		return false
	case err != nil:
		f.err, f.ended = err, true
		return false
	case !resp.Idle:
		f.ticket.Measure.Answer()
	}
	if resp.Err != nil {
		f.outcome = metering.OutcomeOf(resp.Err)
	}
	final := resp.Final
	f.ended = !f.yield(resp, nil)
	if f.ended && !final && f.outcome == metering.OutcomeOK {
		f.outcome = metering.OutcomeCanceled
	}
	return !f.ended
}

// stream runs the request on the engine of its model. Of an engine that is no Forwarder an
// error of the model's is the last.
func (f *forwarding) stream(ctx context.Context) (iter.Seq2[*inference.Response, error], error) {
	engine, err := f.model.Engine(ctx)
	if err != nil {
		return nil, err
	}
	limitQueue(ctx, &f.model, f.message)
	return streamOf(ctx, engine, f.message)
}

// priorityOf is that of a request of tensors.
func priorityOf(m *inference.InferRequest) int64 {
	return wholeOf(m.Head().GetParameters()["priority"])
}

// wholeOf is a parameter that is a whole number, 0 for any other.
func wholeOf(p *kserve.InferParameter) int64 {
	return p.GetInt64Param() + int64(min(p.GetUint64Param(), math.MaxInt64))
}

// Infer runs a request of a model that isn't decoupled, and has its one response used:
// encoded, as a ModelInferResponse, where the engine gives that. What has been used
// doesn't count when there is an error. It is no iterator, as each variable that a loop
// over one changes is an allocation, which small requests feel.
func (s *Service) Infer(ctx context.Context, model catalog.Resolution, m *inference.InferRequest, use func(*inference.Response) error) error {
	one := &single{model: model, message: m, use: use}
	err := s.serve(ctx, &one.model, inference.OperationInfer, priorityOf(m), one)
	if one.unused != nil { // whatever has become of the context
		return one.unused
	}
	return err
}

// single is the work of [Service.Infer], and what has come of it.
type single struct {
	model   catalog.Resolution
	message *inference.InferRequest
	use     func(*inference.Response) error

	ticket *admission.Ticket
	head   *kserve.ModelInferRequest // of a request whose responses may be empty
	count  int
	unused error // of use
	err    error
}

func (one *single) do(t *admission.Ticket) (metering.Outcome, *inference.Usage, error) {
	one.ticket = t
	err := one.infer(t)
	if one.unused != nil {
		return metering.OutcomeOf(one.unused), nil, nil //nolint:nilerr // the caller returns one.unused
	}
	return metering.OutcomeOK, nil, err
}

// infer has the one response of the request used.
func (one *single) infer(ctx context.Context) error {
	engine, err := one.model.Engine(ctx)
	if err != nil {
		return err
	}
	limitQueue(ctx, &one.model, one.message)
	caller, ok := engine.(inference.Caller)
	if !ok || one.message.Encoded() == nil {
		return one.stream(ctx, engine)
	}
	ctx, span := child(ctx, "engine")
	answer, err := caller.Call(ctx, one.message)
	metering.EndSpan(span, err)
	if err != nil {
		return err
	}
	defer answer.Free()
	one.take(&inference.Response{Encoded: answer, Final: true}, nil)
	return one.err
}

// stream has the one response of a stream used, whose end may come by itself. What is
// wrong with their number it says as tritonserver does.
func (one *single) stream(ctx context.Context, engine inference.Engine) error {
	if one.model.Decoupled(ctx) {
		return &inference.Error{
			Code: inference.CodeUnsupported, Reason: inference.ReasonNotImplemented, Triton: inference.TritonUnsupported,
			Message: "ModelInfer RPC doesn't support models with decoupled transaction policy",
		}
	}
	one.head = one.message.Head()
	responses, err := streamOf(ctx, engine, one.message)
	if err != nil {
		return err
	}
	responses(one.take)
	if one.err == nil && one.count != 1 {
		return &inference.Error{Code: inference.CodeInternal, Triton: inference.TritonInternal, Message: fmt.Sprintf("expected a single response, got %d", one.count)}
	}
	return one.err
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

// streamOf runs a request of tensors on an engine.
func streamOf(ctx context.Context, engine inference.Engine, m *inference.InferRequest) (iter.Seq2[*inference.Response, error], error) {
	if forwarder, ok := engine.(inference.Forwarder); ok {
		return traced(ctx, func(ctx context.Context) iter.Seq2[*inference.Response, error] { return forwarder.Forward(ctx, m) }), nil
	}
	req, err := m.Request()
	if err != nil {
		return nil, err
	}
	return traced(ctx, func(ctx context.Context) iter.Seq2[*inference.Response, error] { return engine.Stream(ctx, req) }), nil
}
