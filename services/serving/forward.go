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

// Forward runs a request of tensors on its model and yields the model's responses, as an
// [inference.Forwarder] does. Admission, deadline and cancellation are those of Generate. The message
// must live until the loop has ended.
func (s *Service) Forward(ctx context.Context, model catalog.Resolution, m *inference.InferRequest) iter.Seq2[*inference.Response, error] {
	return func(yield func(*inference.Response, error) bool) {
		f := &forwarding{model: model, message: m, yield: yield}
		if err := s.serve(ctx, &f.model, inference.OperationInfer, priorityOf(m), f); err != nil {
			yield(nil, err)
		}
	}
}

// forwarding is the work of [Service.Forward] with its result. The variables of the loop over the
// responses are fields, because each loop variable would be a separate allocation.
type forwarding struct {
	model   catalog.Resolution
	message *inference.InferRequest
	yield   func(*inference.Response, error) bool

	ticket  *admission.Ticket
	tokens  tensorTokens
	outcome metering.Outcome
	err     error
	ended   bool // reports whether an error or the caller ended the loop
}

func (f *forwarding) do(t *admission.Ticket) (metering.Outcome, *inference.Usage, error) {
	f.ticket, f.outcome = t, metering.OutcomeOK
	if err := f.tokens.reserve(t, &f.model, f.message); err != nil {
		return f.outcome, nil, err
	}
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
		settle(&f.ticket.Measure, &f.model, resp)
		f.ticket.Measure.Answer()
	}
	if resp.Err == nil {
		f.tokens.add(resp)
	} else {
		f.outcome = metering.OutcomeOf(resp.Err)
	}
	final := resp.Final
	f.ended = !f.yield(resp, nil)
	if f.ended && !final && f.outcome == metering.OutcomeOK {
		f.outcome = metering.OutcomeCanceled
	}
	return !f.ended
}

// settle records the model of a request by the name in the request if the catalog didn't know the model,
// because Triton loaded it a moment ago. A response that isn't an error shows that the name is a model's.
func settle(m *metering.Measure, model *catalog.Resolution, resp *inference.Response) {
	if resp.Err == nil {
		m.Settle(model.Name, "")
	}
}

// stream runs the request on the engine of its model. If the engine isn't a Forwarder, an error of
// the model ends the stream.
func (f *forwarding) stream(ctx context.Context) (iter.Seq2[*inference.Response, error], error) {
	engine, err := f.model.Engine(ctx)
	if err != nil {
		return nil, err
	}
	limitQueue(ctx, &f.model, f.message)
	return streamOf(ctx, engine, f.message)
}

// priorityOf returns the priority of a request of tensors.
func priorityOf(m *inference.InferRequest) int64 {
	return int64Of(m.Head().GetParameters()["priority"])
}

// int64Of returns the value of an integer parameter, or 0 for other types.
func int64Of(p *kserve.InferParameter) int64 {
	return p.GetInt64Param() + int64(min(p.GetUint64Param(), math.MaxInt64))
}

// Infer runs a request of a model that isn't decoupled and calls use with the only response. The
// response is an encoded ModelInferResponse if the engine provides that. If Infer returns an error,
// the caller must discard the result of use. Infer isn't an iterator, because each variable that a
// loop changes is an allocation, which is significant for small requests.
func (s *Service) Infer(ctx context.Context, model catalog.Resolution, m *inference.InferRequest, use func(*inference.Response) error) error {
	one := &single{model: model, message: m, handle: use}
	err := s.serve(ctx, &one.model, inference.OperationInfer, priorityOf(m), one)
	if one.handleErr != nil { // takes precedence over an error of the context
		return one.handleErr
	}
	return err
}

// single is the work of [Service.Infer] with its result.
type single struct {
	model   catalog.Resolution
	message *inference.InferRequest
	handle  func(*inference.Response) error

	ticket    *admission.Ticket
	tokens    tensorTokens
	head      *kserve.ModelInferRequest // the message's head; set if the model's responses may be empty
	count     int
	handleErr error // the error that handle returned
	err       error
}

func (one *single) do(t *admission.Ticket) (metering.Outcome, *inference.Usage, error) {
	one.ticket = t
	if err := one.tokens.reserve(t, &one.model, one.message); err != nil {
		return metering.OutcomeCanceled, nil, err
	}
	err := one.infer(t)
	if one.handleErr != nil {
		return metering.OutcomeOf(one.handleErr), nil, nil //nolint:nilerr // the caller returns one.handleErr
	}
	return metering.OutcomeOK, nil, err
}

// infer calls use with the only response of the request.
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

// stream calls the function use with the only response of a stream. The end of the stream may arrive
// as a separate response. The error for another number of responses is tritonserver's.
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
	case one.err != nil: // the error has already ended the loop
	case err != nil:
		one.err = err
	case resp.Idle || one.head != nil && resp.End(one.head):
	case resp.Err != nil:
		one.err = resp.Err
	default:
		one.count++
		if one.count == 1 {
			settle(&one.ticket.Measure, &one.model, resp)
			one.ticket.Measure.Answer()
			one.tokens.add(resp)
			one.handleErr = one.handle(resp)
			one.err = one.handleErr
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
