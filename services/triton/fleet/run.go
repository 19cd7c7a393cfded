package fleet

import (
	"context"
	"iter"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/mem"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/balance"
	"github.com/trident-inference/trident/services/inference"
)

// maxRepeats is the maximum number of times that a request is repeated on another endpoint.
const maxRepeats = 2

// target is the model of a request, and the version if the request names one.
type target struct{ model, version string }

// run is one request with its attempts.
type run struct {
	target

	engine   *Engine
	ctx      context.Context //nolint:containedctx // the context of the request, which lives as long
	sequence string          // id of the sequence that the request belongs to, or empty
	// starts and ends are set for the first and the last request of a sequence.
	starts, ends bool
	// generates is set for generations and embeddings, which may be repeated until their first
	// response.
	generates bool
	// asks is set for calls other than inferences, which change nothing and aren't counted.
	asks bool

	routing    *inference.Routing // from the core; nil if it doesn't describe the request
	request    balance.Request    // for the choice of an endpoint
	assignment balance.Assignment // of the present attempt

	attempts  int
	listed    bool             // an endpoint lists the model
	encoded   *inference.Model // what the present attempt's request is encoded for; nil if no endpoint lists the model
	sent      bool             // the present attempt was handed to its endpoint
	responses int              // number of responses that were passed on
}

// Stream implements [inference.Engine] for generations and embeddings. See the package comment for
// the repeats.
func (e *Engine) Stream(ctx context.Context, req *kserve.ModelInferRequest) iter.Seq2[*inference.Response, error] {
	r := e.run(req)
	r.generates = true
	r.route(inference.RoutingOf(ctx), req)
	return r.stream(ctx, func(ctx context.Context, m *member) iter.Seq2[*inference.Response, error] {
		return m.engine.Stream(ctx, req)
	})
}

// Forward implements [inference.Forwarder] for requests of tensors.
func (e *Engine) Forward(ctx context.Context, req *inference.InferRequest) iter.Seq2[*inference.Response, error] {
	r := e.tensors(req)
	return r.stream(ctx, func(ctx context.Context, m *member) iter.Seq2[*inference.Response, error] {
		return m.engine.Forward(ctx, req)
	})
}

// Call implements [inference.Caller] for requests of tensors.
func (e *Engine) Call(ctx context.Context, req *inference.InferRequest) (response mem.BufferSlice, err error) {
	r := e.tensors(req)
	r.ctx = ctx
	err = r.do(func(ctx context.Context, m *member) error { //nolint:contextcheck // the context of the attempt is derived from r.ctx
		response, err = m.engine.Call(ctx, req)
		if err == nil {
			r.arrived(m)
		}
		return err
	})
	return response, err
}

func (e *Engine) tensors(req *inference.InferRequest) *run {
	r := e.run(req.Head())
	r.request.PromptTokens = 1 + req.Size()/bytesPerToken
	return r
}

// run returns a request before its first attempt.
func (e *Engine) run(head *kserve.ModelInferRequest) *run {
	r := &run{engine: e, target: target{head.GetModelName(), head.GetModelVersion()}, sequence: sequenceOf(head)}
	r.starts, r.ends = isSet(head, "sequence_start"), isSet(head, "sequence_end")
	r.request = balance.Request{Model: r.model, AnswerTokens: usualAnswer}
	return r
}

// The choice of an endpoint assumes these numbers for requests that the core doesn't describe.
const (
	bytesPerToken = 4  // size of a token in the inputs of a request
	usualAnswer   = 64 // number of tokens of an answer
)

// tokensIn estimates the number of tokens in the inputs of a request.
func tokensIn(req *kserve.ModelInferRequest) int {
	size := 0
	for _, raw := range req.GetRawInputContents() {
		size += len(raw)
	}
	return 1 + size/bytesPerToken
}

// stream runs a request whose attempts are streams.
func (r *run) stream(ctx context.Context, attempt func(context.Context, *member) iter.Seq2[*inference.Response, error]) iter.Seq2[*inference.Response, error] {
	return func(yield func(*inference.Response, error) bool) {
		r.ctx = ctx
		left := false                                            // the consumer has stopped reading
		err := r.do(func(ctx context.Context, m *member) error { //nolint:contextcheck // the context of the attempt is derived from r.ctx
			for response, err := range attempt(ctx, m) {
				if err != nil {
					return err
				}
				if !response.Idle {
					r.arrived(m)
				}
				if left = !yield(response, nil); left {
					return nil
				}
			}
			return nil
		})
		if err != nil && !left {
			yield(nil, err)
		}
	}
}

// arrived records a response. The first one ends the time in which the request may be repeated.
func (r *run) arrived(m *member) {
	m.responses.Add(1)
	if r.responses%balance.PaceResponses == 0 {
		r.engine.balancer.Progress(&r.assignment, r.engine.elapsed())
	}
	r.responses++
	if r.responses > 1 {
		return
	}
	m.arrived(r)
	r.engine.balancer.FirstToken(&r.assignment)
	inference.Sent(r.ctx)
}

// do makes attempts until one succeeds, or until the request may not be repeated.
func (r *run) do(attempt func(context.Context, *member) error) error {
	if !r.asks {
		r.engine.budget.request(time.Now())
	}
	var failed error
	for {
		m, err := r.engine.choose(r)
		if err != nil {
			if failed != nil {
				return failed // no further endpoint can serve the request
			}
			return err
		}
		if failed != nil && !r.engine.budget.take(time.Now()) {
			r.engine.balancer.Ended(&r.assignment)
			return r.engine.refuse(failed)
		}
		if r.routing != nil {
			r.routing.Server = m.address
		}
		if !m.enter() {
			r.engine.balancer.Ended(&r.assignment)
			continue // the endpoint left the list in this instant
		}
		m.countAttempt(r, failed != nil)
		r.trace(m)
		failed = r.attempt(m, attempt)
		r.engine.record(m, r, failed)
		r.request.Tried = append(r.request.Tried, m.endpoint)
		r.attempts++
		if failed == nil || r.attempts > maxRepeats || !r.mayRepeat(m, failed) {
			return failed
		}
	}
}

// countAttempt counts an attempt at an endpoint.
func (m *member) countAttempt(r *run, repeat bool) {
	if r.asks {
		return
	}
	m.count.requests.Add(1)
	if repeat {
		m.count.repeats.Add(1)
	}
}

// trace records the attempt in the span of the request.
func (r *run) trace(m *member) {
	if span := trace.SpanFromContext(r.ctx); span.IsRecording() {
		span.AddEvent("endpoint", trace.WithAttributes(
			attribute.String("server.address", m.address), attribute.String("trident.choice", r.assignment.Reason.String()),
			attribute.Int("trident.cached_tokens", r.assignment.Cached), attribute.Int("trident.attempt", r.attempts+1),
		))
	}
}

// attempt makes one attempt.
func (r *run) attempt(m *member, attempt func(context.Context, *member) error) error {
	defer m.leave()
	defer r.engine.balancer.Ended(&r.assignment)
	r.sent = false
	ctx := inference.WhenSent(r.ctx, func() { r.sent = true })
	if !r.generates || r.sequence != "" {
		return attempt(ctx, m)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m.await(r, cancel)
	defer m.arrived(r)
	return attempt(ctx, m)
}

// mayRepeat reports whether a request that has failed at an endpoint may be repeated on another one.
func (r *run) mayRepeat(m *member, failed error) bool {
	if r.responses > 0 || r.sequence != "" || r.ctx.Err() != nil || r.engine.ctx.Err() != nil {
		return false
	}
	e := inference.AsError(failed)
	switch e.Code {
	case inference.CodeUnavailable:
		return !r.sent || r.generates && e.Reason != inference.ReasonInactive
	case inference.CodeOverloaded: // the queue of the server is full
		return !r.sent || r.generates
	case inference.CodeNotFound: // the server has unloaded the model
		return r.listed && !r.asks && (!r.sent || r.generates)
	case inference.CodeInvalid: // the model may have got other inputs since it was listed
		return r.generates && !r.asks && m.differs(r.ctx, r.encoded)
	default:
		return false
	}
}

// record records the end of an attempt for the health of the endpoint.
func (e *Engine) record(m *member, r *run, err error) {
	failed, counts := judge(err)
	if r.asks || !counts || e.ctx.Err() != nil || r.ctx.Err() != nil {
		return
	}
	if failed {
		m.count.failures.Add(1)
	}
	if err != nil {
		switch known := inference.AsError(err); {
		case known.Reason == inference.ReasonEngineGone && refused(err):
			m.refuses()
		case known.Reason == inference.ReasonEngineGone:
			m.health.askNow()
		case r.listed && (known.Code == inference.CodeNotFound || known.Reason == inference.ReasonModelNotReady):
			m.health.relistNow()
		}
	}
	if r.listed && !m.health.out.Load() && m.health.models.record(r.model, failed, time.Now()) {
		e.shift()
		m.log.Warn("model of an endpoint is out", "endpoint", m.address, "model", r.model, "reason", "half of its last requests failed", "error", err)
	}
}

// sequenceOf returns the id of the sequence of a request, or "" if it belongs to none.
func sequenceOf(req *kserve.ModelInferRequest) string {
	p := req.GetParameters()["sequence_id"]
	switch v := p.GetParameterChoice().(type) {
	case *kserve.InferParameter_StringParam:
		return v.StringParam
	case *kserve.InferParameter_Int64Param:
		if v.Int64Param != 0 {
			return strconv.FormatInt(v.Int64Param, 10)
		}
	case *kserve.InferParameter_Uint64Param:
		if v.Uint64Param != 0 {
			return strconv.FormatUint(v.Uint64Param, 10)
		}
	}
	return ""
}
