package inference

import (
	"context"
	"fmt"
	"iter"

	"google.golang.org/grpc/mem"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// Forwarder is an [Engine] that runs requests as clients have encoded them, and
// tells all that models answer. Its methods are as those of Engine.
type Forwarder interface {
	// Forward is [Engine.Stream] for clients of Triton's own protocol: a model's
	// error is a response with Err, which others may follow. An error that ends the
	// stream is one of the request or of the engine.
	Forward(ctx context.Context, m *InferRequest) iter.Seq2[*Response, error]
}

// Caller is an engine whose server speaks KServe v2 itself, so that a call can be
// passed on.
type Caller interface {
	// Call runs a request of a model that isn't decoupled and gives the encoded
	// ModelInferResponse, which the caller frees.
	Call(ctx context.Context, m *InferRequest) (mem.BufferSlice, error)
}

// Engines are all, the preferred ones first.
func (s *Service) Engines() []Engine { return s.catalog.engines }

// EngineOf is the engine whose answers on a model count: where it is ready, or
// else the first that lists it. For a model that none has it is the first. A model
// that the client may not use is [CodeNotFound].
func (s *Service) EngineOf(ctx context.Context, model string) (Engine, error) {
	if err := MayUse(ctx, model); err != nil {
		return nil, err
	}
	return s.catalog.engineOf(ctx, model), nil
}

func (c *Catalog) engineOf(ctx context.Context, model string) Engine {
	if len(c.engines) == 1 {
		return c.engines[0]
	}
	card := c.known.Load().cards[model]
	if card == nil || card.State != ModelReady {
		c.refresh(ctx, lookupInterval)
		card = c.known.Load().cards[model]
	}
	if card == nil {
		return c.engines[0]
	}
	return card.Engine
}

// Decoupled tells whether a model answers a request with any number of responses,
// as its configuration says; a model that isn't ready doesn't.
func (s *Service) Decoupled(ctx context.Context, model string) bool {
	config, err := s.ConfigOf(ctx, model)
	return err == nil && config.GetModelTransactionPolicy().GetDecoupled()
}

// ConfigOf is a model's configuration: the one of its card, which must not be
// changed, or of a model that has none, what its engine says.
func (s *Service) ConfigOf(ctx context.Context, model string) (*kserve.ModelConfig, error) {
	engine, err := s.EngineOf(ctx, model)
	if err != nil {
		return nil, err
	}
	if card := s.catalog.known.Load().cards[model]; card != nil && card.State == ModelReady {
		return card.Config, nil
	}
	describer, ok := engine.(Describer)
	if !ok {
		named, err := s.catalog.Find(ctx, model, s.cfg.LoRASeparator)
		if err != nil {
			return nil, err
		}
		return named.Card.Config, nil
	}
	answer, err := describer.ModelConfig(ctx, &kserve.ModelConfigRequest{Name: model})
	return answer.GetConfig(), err
}

// Draining is closed when no more requests are taken.
func (s *Service) Draining() <-chan struct{} { return s.admission.draining }

// Forward runs a request and yields the model's responses, as a [Forwarder] does.
// Admission, deadline and cancellation are those of Generate. The message must
// live until the loop has ended.
func (s *Service) Forward(ctx context.Context, m *InferRequest) iter.Seq2[*Response, error] {
	return func(yield func(*Response, error) bool) {
		ctx, t, err := s.admitTensors(ctx, m)
		if err != nil {
			yield(nil, err)
			return
		}
		outcome, wrong := canceled, OutcomeOK
		defer func() { t.finish(outcome, nil) }()
		for resp, err := range s.stream(ctx, m) {
			if err != nil {
				e := cause(ctx, err)
				outcome = outcomeOf(e)
				yield(nil, e)
				return
			}
			if !resp.Idle {
				t.measure.answer()
			}
			if resp.Err != nil {
				wrong = outcomeOf(resp.Err)
			}
			final := resp.Final
			if !yield(resp, nil) {
				if final || wrong != OutcomeOK {
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
func (s *Service) Infer(ctx context.Context, m *InferRequest, use func(*Response) error) error {
	ctx, t, err := s.admitTensors(ctx, m)
	if err != nil {
		return err
	}
	outcome := canceled
	defer func() { t.finish(outcome, nil) }() // also when use panics
	one := &single{ticket: t, use: use}
	err = s.infer(ctx, m, one)
	switch {
	case one.unused != nil: // whatever has become of the context
		err = one.unused
	case err != nil:
		err = cause(ctx, err)
	}
	outcome = outcomeOf(err)
	return err
}

// infer has the one response of a request used.
func (s *Service) infer(ctx context.Context, m *InferRequest, one *single) error {
	engine, err := s.EngineOf(ctx, m.Head().GetModelName())
	if err != nil {
		return err
	}
	caller, ok := engine.(Caller)
	if !ok || m.Encoded() == nil {
		return s.single(ctx, engine, m, one)
	}
	ctx, span := child(ctx, "engine")
	answer, err := caller.Call(ctx, m)
	endSpan(span, err)
	if err != nil {
		return err
	}
	defer answer.Free()
	one.take(&Response{Encoded: answer, Final: true}, nil)
	return one.err
}

// single has the one response of a stream used, whose end may come by itself. What is
// wrong with their number it says as tritonserver does.
func (s *Service) single(ctx context.Context, engine Engine, m *InferRequest, one *single) error {
	if s.Decoupled(ctx, m.Head().GetModelName()) {
		return &Error{
			Code: CodeUnsupported, Reason: ReasonNotImplemented, Triton: TritonUnsupported,
			Message: "ModelInfer RPC doesn't support models with decoupled transaction policy",
		}
	}
	one.head = m.Head()
	streamOf(ctx, engine, m)(one.take)
	if one.err == nil && one.count != 1 {
		return &Error{Code: CodeInternal, Triton: TritonInternal, Message: fmt.Sprintf("expected a single response, got %d", one.count)}
	}
	return one.err
}

// single is what has come of a request that gets one response.
type single struct {
	ticket *ticket
	use    func(*Response) error
	head   *kserve.ModelInferRequest
	count  int
	unused error // of use
	err    error
}

// take is the body of the loop over a stream.
func (one *single) take(resp *Response, err error) bool {
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
			one.ticket.measure.answer()
			one.unused = one.use(resp)
			one.err = one.unused
		}
	}
	return one.err == nil
}

// stream runs a request on the engine of its model. Of one that is no Forwarder an
// error of the model's is the last.
func (s *Service) stream(ctx context.Context, m *InferRequest) iter.Seq2[*Response, error] {
	engine, err := s.EngineOf(ctx, m.Head().GetModelName())
	if err != nil {
		return func(yield func(*Response, error) bool) { yield(nil, err) }
	}
	return streamOf(ctx, engine, m)
}

func streamOf(ctx context.Context, engine Engine, m *InferRequest) iter.Seq2[*Response, error] {
	if forwarder, ok := engine.(Forwarder); ok {
		return traced(ctx, func(ctx context.Context) iter.Seq2[*Response, error] { return forwarder.Forward(ctx, m) })
	}
	req, err := m.Request()
	if err != nil {
		return func(yield func(*Response, error) bool) { yield(nil, err) }
	}
	return traced(ctx, func(ctx context.Context) iter.Seq2[*Response, error] { return engine.Stream(ctx, req) })
}

// End tells whether this is no response of a model's but only the end of the
// request's, which tritonserver sends to clients that ask for it. It then names the
// version that the request does, as a response without outputs may.
func (r *Response) End(req *kserve.ModelInferRequest) bool {
	return r.Final && r.Err == nil && len(r.Outputs) == 0 && len(r.Parameters) == 0 &&
		(r.Version == "" || r.Encoded != nil && r.Version == req.GetModelVersion())
}

// Control has a change made in the repository that holds a model: a load or an unload,
// by the state that it is in meanwhile. Changes of one model take turns; they have no
// limit and no deadline, as [Service.LoadModel]. Without any repository it is
// [CodeUnsupported].
func (s *Service) Control(ctx context.Context, model string, meanwhile ModelState, change func(context.Context, Repository) error) error {
	if err := MayUse(ctx, model); err != nil {
		return err
	}
	ctx, leave, err := s.admission.enterControl(ctx)
	if err != nil {
		return err
	}
	defer leave()
	done, err := s.catalog.turns.take(ctx, model)
	if err != nil {
		return cause(ctx, err)
	}
	defer done()
	held, err := s.catalog.holder(ctx, model)
	if err != nil {
		return cause(ctx, err)
	}
	changed := s.catalog.changing(ctx, held.engine, model, meanwhile)
	err = change(ctx, held.repository)
	changed()
	s.catalog.refresh(ctx, 0) // requests are told at once
	if err != nil {
		return cause(ctx, err)
	}
	return nil
}

// holder finds the repository that holds a model; a single engine's isn't asked.
func (c *Catalog) holder(ctx context.Context, model string) (*holding, error) {
	if len(c.engines) == 1 {
		if repository, ok := c.engines[0].(Repository); ok {
			return &holding{name: model, engine: c.engines[0], repository: repository}, nil
		}
	}
	return c.hold(ctx, model)
}
