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
// else the first that lists it. For a model that none has it is the first.
func (s *Service) EngineOf(ctx context.Context, model string) Engine {
	return s.catalog.engineOf(ctx, model)
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
	if card := s.catalog.known.Load().cards[model]; card != nil && card.State == ModelReady {
		return card.Config, nil
	}
	describer, ok := s.EngineOf(ctx, model).(Describer)
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
	return admitted(ctx, s, func(ctx context.Context, yield func(*Response, error) bool) {
		for resp, err := range s.stream(ctx, m) {
			if err != nil {
				yield(nil, cause(ctx, err))
				return
			}
			if !yield(resp, nil) {
				return
			}
		}
	})
}

// Infer runs a request of a model that isn't decoupled, and yields its one
// response: encoded, as a ModelInferResponse, where the engine gives that. An error
// may follow the response, which then doesn't count.
func (s *Service) Infer(ctx context.Context, m *InferRequest) iter.Seq2[*Response, error] {
	return admitted(ctx, s, func(ctx context.Context, yield func(*Response, error) bool) {
		if caller, ok := s.EngineOf(ctx, m.Head().GetModelName()).(Caller); ok && m.Encoded() != nil {
			answer, err := caller.Call(ctx, m)
			if err != nil {
				yield(nil, cause(ctx, err))
				return
			}
			defer answer.Free()
			yield(&Response{Encoded: answer, Final: true}, nil)
			return
		}
		if err := s.single(ctx, m, yield); err != nil {
			yield(nil, cause(ctx, err))
		}
	})
}

// admitted runs what yields several values within the admission.
func admitted[T any](ctx context.Context, s *Service, run func(context.Context, func(T, error) bool)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, leave, err := s.admission.enter(ctx, s.cfg.RequestTimeout)
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		defer leave()
		run(ctx, yield)
	}
}

// single yields the one response of a stream, whose end may come by itself. What
// is wrong with their number it says as tritonserver does.
func (s *Service) single(ctx context.Context, m *InferRequest, yield func(*Response, error) bool) error {
	if s.Decoupled(ctx, m.Head().GetModelName()) {
		return &Error{
			Code: CodeUnsupported, Reason: ReasonNotImplemented, Triton: TritonUnsupported,
			Message: "ModelInfer RPC doesn't support models with decoupled transaction policy",
		}
	}
	responses := 0
	for resp, err := range s.stream(ctx, m) {
		switch {
		case err != nil:
			return err
		case resp.Idle || resp.End(m.Head()):
			continue
		case resp.Err != nil:
			return resp.Err
		}
		responses++
		if responses == 1 && !yield(resp, nil) {
			return nil
		}
	}
	if responses != 1 {
		return &Error{Code: CodeInternal, Triton: TritonInternal, Message: fmt.Sprintf("expected a single response, got %d", responses)}
	}
	return nil
}

// stream runs a request on the engine of its model. Of one that is no Forwarder an
// error of the model's is the last.
func (s *Service) stream(ctx context.Context, m *InferRequest) iter.Seq2[*Response, error] {
	engine := s.EngineOf(ctx, m.Head().GetModelName())
	if forwarder, ok := engine.(Forwarder); ok {
		return forwarder.Forward(ctx, m)
	}
	req, err := m.Request()
	if err != nil {
		return func(yield func(*Response, error) bool) { yield(nil, err) }
	}
	return engine.Stream(ctx, req)
}

// End tells whether this is no response of a model's but only the end of the
// request's, which tritonserver sends to clients that ask for it. It then names the
// version that the request does, as a response without outputs may.
func (r *Response) End(req *kserve.ModelInferRequest) bool {
	return r.Final && r.Err == nil && len(r.Outputs) == 0 && len(r.Parameters) == 0 &&
		(r.Version == "" || r.Encoded != nil && r.Version == req.GetModelVersion())
}

// Control has a change made in the repository that holds a model. Changes of one
// model take turns; they have no limit and no deadline, as [Service.LoadModel].
// Without any repository it is [CodeUnsupported].
func (s *Service) Control(ctx context.Context, model string, change func(context.Context, Repository) error) error {
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
	repository, err := s.catalog.repositoryOf(ctx, model)
	if err == nil {
		err = change(ctx, repository)
	}
	if err != nil {
		return cause(ctx, err)
	}
	s.catalog.refresh(ctx, 0) // requests are told at once
	return nil
}

// repositoryOf finds the repository that holds a model; a single engine's isn't
// asked.
func (c *Catalog) repositoryOf(ctx context.Context, model string) (Repository, error) {
	if len(c.engines) == 1 {
		if repository, ok := c.engines[0].(Repository); ok {
			return repository, nil
		}
	}
	held, err := c.hold(ctx, model)
	if err != nil {
		return nil, err
	}
	return held.repository, nil
}
