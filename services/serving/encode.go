package serving

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync"
	"sync/atomic"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// Encode runs a request on an encoder and returns one result for each input. Errors are
// [*inference.Error]; the Param of an error about an input is that of [inference.EncodeRequest.InputParam].
// Admission, deadline and cancellation are those of Generate: the request is one request, and the end
// of ctx ends all its inputs. When Encode returns, nothing of the request is still running.
func (s *Service) Encode(ctx context.Context, model *catalog.Resolution, req *inference.EncodeRequest) (*inference.EncodeAnswer, error) {
	var priority int64
	if req.Priority != nil {
		priority = int64(*req.Priority)
	}
	e := &encoding{service: s, model: model, req: req}
	if err := s.serve(ctx, model, req.Operation(), priority, e); err != nil {
		return nil, err
	}
	return e.answer, nil
}

// encoding is the work of [Service.Encode] with its result.
type encoding struct {
	service *Service
	model   *catalog.Resolution
	req     *inference.EncodeRequest

	card    *catalog.Card
	encoder inference.Encoder
	measure *metering.Measure
	answer  *inference.EncodeAnswer
}

func (e *encoding) do(t *admission.Ticket) (metering.Outcome, *inference.Usage, error) {
	e.measure = &t.Measure
	if err := e.plan(t); err != nil {
		return metering.OutcomeCanceled, nil, err
	}
	if err := e.run(t); err != nil {
		return metering.OutcomeCanceled, nil, err
	}
	for i := range e.answer.Results {
		if err := e.finish(i); err != nil {
			return metering.OutcomeCanceled, nil, err
		}
	}
	e.count()
	return metering.OutcomeOK, &e.answer.Usage, nil
}

// plan confirms the model and checks the inputs.
func (e *encoding) plan(ctx context.Context) error {
	if err := e.req.Validate(); err != nil {
		return err
	}
	if err := e.model.Confirm(ctx); err != nil {
		return err
	}
	e.card = e.model.Card
	e.measure.Settle(e.card.Name, e.model.LoRA)
	encoder, ok := e.card.Backend.(inference.Encoder)
	if !ok || e.card.Tasks&e.req.Task == 0 {
		return inference.NoTask(e.req.Model, e.req.Task)
	}
	if e.model.LoRA != "" {
		return inference.Unsupported("model", "the model `%s` is a LoRA adapter, which doesn't support embeddings", e.req.Model)
	}
	e.encoder = encoder
	e.answer = &inference.EncodeAnswer{Results: make([]inference.Encoded, len(e.req.Inputs))}
	return checkInputs(ctx, e.card, e.req)
}

// run encodes the inputs, at most maxParallelJobs at once. The first error cancels the others.
func (e *encoding) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	var next atomic.Int64
	for range min(len(e.req.Inputs), maxParallelJobs) {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(e.req.Inputs) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := e.infer(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// infer encodes one input.
func (e *encoding) infer(ctx context.Context, i int) error {
	input := &e.req.Inputs[i]
	batch := &inference.EncodeBatch{ID: e.req.ID, Items: []*inference.EncodeItem{{Task: e.req.Task, Input: input, Result: &e.answer.Results[i]}}}
	infer, err := e.encoder.EncodeBatch(&e.card.Target, batch)
	if err != nil {
		return err
	}
	if _, several := e.card.Engine.(inference.Placer); several {
		ctx = inference.WithRouting(ctx, &inference.Routing{Prompt: input.Text, PromptTokens: len(input.TokenIDs)})
	}
	limitText(ctx, e.card.Config, infer)
	stream := traced(ctx, func(ctx context.Context) iter.Seq2[*inference.Response, error] {
		return e.card.Engine.Stream(ctx, infer)
	})
	for resp, err := range stream {
		switch known, ok := errors.AsType[*inference.Error](err); {
		case ok:
			return e.encoder.ExplainBatch(e.req, known)
		case err != nil:
			return err
		case !resp.Idle:
			e.measure.Answer()
			if err := e.encoder.DecodeBatch(&e.card.Target, batch, resp); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// finish brings the result of an input into the form that the client asked for.
func (e *encoding) finish(i int) error {
	result := &e.answer.Results[i]
	if result.Vector == nil {
		return fmt.Errorf("model %s: the response ended without an embedding", e.card.Name)
	}
	var err error
	result.Vector, err = e.vector(result.Vector)
	return err
}

// vector truncates an embedding to the requested dimensions and normalizes it to unit length.
// OpenAI's embeddings have unit length, and a truncated vector no longer has it. The engine isn't
// asked to truncate, because only some models support that parameter, and the result is the same.
func (e *encoding) vector(v []float32) ([]float32, error) {
	if n := e.req.Dimensions; n > len(v) {
		return nil, inference.Invalid("dimensions", "the model `%s` returns embeddings of %d dimensions, but %d were requested", e.req.Model, len(v), n)
	} else if n > 0 {
		v = v[:n]
	}
	if e.req.Normalize != nil && !*e.req.Normalize {
		return v, nil
	}
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil, fmt.Errorf("model %s: the embedding can't be normalized: its squared length is %v", e.card.Name, sum)
	}
	if scale := float32(1 / math.Sqrt(sum)); scale != 1 {
		for i := range v {
			v[i] *= scale
		}
	}
	return v, nil
}

// count adds the tokens of the inputs.
func (e *encoding) count() {
	usage := &e.answer.Usage
	for i := range e.answer.Results {
		n := e.answer.Results[i].PromptTokens
		usage.PromptTokens += n
		usage.Unknown = usage.Unknown || n == 0
	}
}
