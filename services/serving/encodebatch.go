package serving

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/batching"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// encoderQueues has the queues of the encoders by their models' names. A model that is loaded again gets a
// new queue.
type encoderQueues struct {
	maxValues int64 // of the results of one request

	mu     sync.Mutex
	queues map[string]*encoderQueue
}

type encoderQueue struct {
	card  *catalog.Card
	queue *batching.Queue
	// before are the counts of the model's earlier queues.
	before batching.Figures
}

// queueOf returns the queue of a model. The requests of a model that batches them itself don't share a
// queue.
func (s *Service) queueOf(card *catalog.Card, form inference.EncoderForm) *batching.Queue {
	if form.SelfBatching {
		return batching.New(s.batchConfig(card, form))
	}
	q := &s.encoders
	q.mu.Lock()
	defer q.mu.Unlock()
	known := q.queues[card.Name]
	if known != nil && known.card == card {
		return known.queue
	}
	fresh := &encoderQueue{card: card, queue: batching.New(s.batchConfig(card, form))}
	if known != nil {
		fresh.before = known.figures()
	}
	q.queues[card.Name] = fresh
	return fresh.queue
}

// figures returns the counts of a model's queues.
func (q *encoderQueue) figures() batching.Figures {
	f := q.queue.Figures()
	f.Batches += q.before.Batches
	f.Items += q.before.Items
	f.Length += q.before.Length
	f.Padded += q.before.Padded
	return f
}

// EncoderFigures calls do with the counts of the queue of each encoder that has had requests.
func (s *Service) EncoderFigures(do func(model string, f batching.Figures)) {
	s.encoders.mu.Lock()
	defer s.encoders.mu.Unlock()
	for name, q := range s.encoders.queues {
		do(name, q.figures())
	}
}

// batchConfig returns how a model takes batches.
func (s *Service) batchConfig(card *catalog.Card, form inference.EncoderForm) batching.Config {
	config := batching.Config{
		InFlight: maxParallelJobs, MaxItems: form.MaxBatch, MaxLength: card.Encoder.MaxBatchTokens,
		Preferred: card.Encoder.Preferred, Pad: card.Encoder.Padded,
		Run: func(ctx context.Context, items []*batching.Item) error { return runBatch(ctx, card, items) },
	}
	if form.SelfBatching {
		return config
	}
	config.InFlight, config.Delay, config.MaxWaiting = instances(card), s.cfg.EncoderBatchDelay, s.cfg.EncoderQueueTokens
	return config
}

// instances returns the number of instances of a model, on all servers that the engine sends requests to.
func instances(card *catalog.Card) int {
	n := 0
	for _, group := range card.Config.GetInstanceGroup() {
		n += int(max(group.GetCount(), 1)) * max(len(group.GetGpus()), 1)
	}
	n = max(n, 1)
	if several, ok := card.Engine.(inference.EndpointReporter); ok {
		n *= max(len(several.Endpoints().Endpoints), 1)
	}
	return n
}

// runBatch sends a batch to the model, and reads the results of its units.
func runBatch(ctx context.Context, card *catalog.Card, items []*batching.Item) (err error) {
	first := unitOf(items[0])
	batch := &inference.EncodeBatch{ID: first.of.req.ID, Items: make([]*inference.EncodeItem, len(items))}
	tokens := 0
	for i, item := range items {
		batch.Items[i] = &unitOf(item).item
		tokens += item.Length
	}
	ctx, span := child(ctx, "batch")
	if span.IsRecording() {
		span.SetAttributes(attribute.Int("trident.batch.inputs", len(items)), attribute.Int("trident.batch.tokens", tokens))
	}
	defer func() { metering.EndSpan(span, err) }()
	encoder := first.of.encoder
	infer, err := encoder.EncodeBatch(&card.Target, batch)
	if err != nil {
		return err
	}
	if _, several := card.Engine.(inference.Placer); several {
		ctx = inference.WithRouting(ctx, &inference.Routing{Prompt: first.input.Text, PromptTokens: tokens})
	}
	return first.of.receive(ctx, infer, batch, items)
}

func unitOf(item *batching.Item) *encodeUnit {
	return item.Value.(*encodeUnit) //nolint:forcetypeassert // itemsOf sets it
}

// hold counts the values of a result, and refuses a request whose results would need too much memory.
func (u *encodeUnit) hold() error {
	n := u.item.Result.Values()
	if u.of.values.Add(int64(n)) <= u.of.service.encoders.maxValues {
		return nil
	}
	*u.item.Result = inference.Encoded{}
	param, _, _ := strings.Cut(u.of.req.InputParam(0), "[")
	return inference.Invalid(param, "the results have more than %d numbers: send fewer or shorter inputs in one request", u.of.service.encoders.maxValues)
}

// receive reads the responses to a batch. Models of encoders send one.
func (e *encoding) receive(ctx context.Context, infer *kserve.ModelInferRequest, batch *inference.EncodeBatch, items []*batching.Item) error {
	limitText(ctx, e.card.Config, infer)
	stream := traced(ctx, func(ctx context.Context) iter.Seq2[*inference.Response, error] {
		return e.card.Engine.Stream(ctx, infer)
	})
	answered := false
	for resp, err := range stream {
		switch known, ok := errors.AsType[*inference.Error](err); {
		case ok:
			return e.encoder.ExplainBatch(e.req, known)
		case err != nil:
			return err
		case resp.Idle || len(resp.Outputs) == 0:
			continue
		}
		if err := e.encoder.DecodeBatch(&e.card.Target, batch, resp); err != nil {
			return err
		}
		answered = true
		for _, item := range items {
			u := unitOf(item)
			u.of.measure.Answer()
			if err := u.hold(); err != nil {
				return err
			}
		}
	}
	if err := ctx.Err(); err != nil || answered {
		return err
	}
	return fmt.Errorf("model %s: the response ended without a result", e.card.Name)
}
