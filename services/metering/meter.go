// Package metering counts requests. [Meters] have the figures by model, surface and operation. A
// [Measure] follows one request and its trace. The load is computed from the same counts. Code that
// counts requests belongs here. The package metrics names the figures on its page.
package metering

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/trident-inference/trident/services/inference"
)

// Outcome is the result of a request: success or the code of its error.
type Outcome uint8

// OutcomeOK is the outcome of a request that succeeded.
const OutcomeOK Outcome = 0

// OutcomeCanceled is the outcome of a request whose client has disconnected.
const OutcomeCanceled = Outcome(1 + inference.CodeCanceled)

// Outcomes is the number of values of Outcome.
const Outcomes = 2 + int(inference.CodeForbidden)

// OutcomeOf returns the outcome of a request that ended with an error, or with nil.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return OutcomeOK
	}
	return Outcome(1 + inference.AsError(err).Code)
}

// String returns ok or the code's name.
func (o Outcome) String() string {
	if o == OutcomeOK {
		return "ok"
	}
	return inference.Code(o - 1).String()
}

// Series is the key of figures that are counted together.
type Series struct {
	// Model is the model's own name. It is empty for requests whose model is unknown or doesn't
	// exist.
	Model     string
	Surface   inference.Surface
	Operation inference.Operation
}

// The durations of the epochs over which recent rates and recent quantiles are measured.
const (
	rateEpoch     = 5 * time.Second
	quantileEpoch = 30 * time.Second
)

// meter has the counts of a series. No method takes a lock.
type meter struct {
	inFlight, queued     atomic.Int64
	waiting              atomic.Int64 // number of queued requests in Trident's queue
	ended                [Outcomes]atomic.Uint64
	prompts, completions atomic.Uint64
	cached               atomic.Uint64 // number of prompt tokens that engines found in a cache
	completed            past[uint64]  // earlier values of completions
	first, gaps          histogram
	succeeded, failed    histogram // durations of whole requests
	inputs, outputs      sizes
}

func newMeter() *meter {
	m := &meter{completed: past[uint64]{period: rateEpoch}}
	m.first.scale, m.first.past.period = firstTokenScale, quantileEpoch
	m.gaps.scale, m.gaps.past.period = interTokenScale, quantileEpoch
	m.succeeded.scale, m.failed.scale = durationScale, durationScale
	return m
}

// count adds tokens of an answer.
func (m *meter) count(now time.Time, tokens int) {
	if tokens <= 0 {
		return
	}
	if m.completed.due(now) {
		was := m.completions.Load()
		m.completed.mark(now, &was)
	}
	m.completions.Add(uint64(tokens))
}

// rate returns the tokens per second.
func (m *meter) rate(now time.Time) float64 {
	since := m.completed.since(now)
	if since == nil {
		return 0
	}
	// A period of at least a second avoids extreme rates right after the start.
	return float64(m.completions.Load()-*since.was) / max(now.Sub(since.began), time.Second).Seconds()
}

// Meters measure all requests. A client can't create further series, because their models must be
// known. Methods may be called concurrently.
type Meters struct {
	mu      sync.RWMutex
	all     map[Series]*meter
	retired Load // totals of models that no longer exist

	known    func(model string) bool
	adapters adapters
	refused  [Outcomes]atomic.Uint64
}

// New returns empty meters. If known returns false for a model, the model no longer exists and its
// meters may be removed.
func New(known func(model string) bool) *Meters {
	return &Meters{all: map[Series]*meter{}, known: known}
}

// Refuse counts a request that is refused before it is measured.
func (ms *Meters) Refuse(outcome Outcome) { ms.refused[outcome].Add(1) }

// enter counts a new request and returns its meter. The first request of a series also removes the
// meters of models that are no longer known.
func (ms *Meters) enter(series Series) *meter {
	ms.mu.RLock()
	m := ms.all[series]
	if m != nil {
		m.enter() // this precedes the unlock, after which retire may remove the meter
	}
	ms.mu.RUnlock()
	if m != nil {
		return m
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m = ms.all[series]; m == nil {
		ms.retire()
		m = newMeter()
		ms.all[series] = m
	}
	m.enter()
	return m
}

func (m *meter) enter() {
	m.inFlight.Add(1)
	m.queued.Add(1)
}

func (ms *Meters) retire() {
	for series, m := range ms.all {
		if series.Model == "" || m.inFlight.Load() != 0 || ms.known(series.Model) {
			continue
		}
		left := &sum{Load: ms.retired}
		left.add(m, time.Time{})
		ms.retired = Load{Requests: left.Requests, Failures: left.Failures, PromptTokens: left.PromptTokens, CompletionTokens: left.CompletionTokens}
		delete(ms.all, series)
	}
}

// Figures are the counts of a series since the start.
type Figures struct {
	Series

	InFlight, Queued, Waiting int
	// Ended is the number of ended requests, by [Outcome].
	Ended [Outcomes]uint64
	// PromptTokens is the number of prompt tokens of requests that have succeeded, and
	// CompletionTokens the number of tokens of answers so far.
	PromptTokens, CompletionTokens uint64
	// CachedPromptTokens is the number of the prompt tokens that engines found in a cache, of
	// requests for which the engine reports it.
	CachedPromptTokens uint64
	// FirstToken and InterToken are times of streamed generations. Succeeded and Failed are the
	// durations of whole requests. Inputs and Outputs are the tokens of requests that have
	// succeeded.
	FirstToken, InterToken, Succeeded, Failed, Inputs, Outputs Histogram
}

// Figures returns the figures of all series with requests, in no particular order.
func (ms *Meters) Figures() []Figures {
	ms.mu.RLock()
	defer ms.mu.RUnlock()
	list := make([]Figures, 0, len(ms.all))
	for series, m := range ms.all {
		f := Figures{
			Series: series, InFlight: int(m.inFlight.Load()), Queued: int(m.queued.Load()), Waiting: int(m.waiting.Load()),
			PromptTokens: m.prompts.Load(), CompletionTokens: m.completions.Load(), CachedPromptTokens: m.cached.Load(),
			FirstToken: m.first.export(), InterToken: m.gaps.export(), Succeeded: m.succeeded.export(), Failed: m.failed.export(),
			Inputs: m.inputs.export(), Outputs: m.outputs.export(),
		}
		for i := range f.Ended {
			f.Ended[i] = m.ended[i].Load()
		}
		list = append(list, f)
	}
	return list
}

// Measure follows one request, for the meters and for its trace. The zero value measures nothing
// until Begin is called.
type Measure struct {
	// Streamed reports whether the client requested a stream.
	Streamed bool

	meters   *Meters
	series   Series
	meter    *meter
	began    time.Time
	answered atomic.Bool
	lora     string     // name of the request's LoRA adapter, or ""
	span     trace.Span // the request's span; a span that isn't recorded ignores all calls
	stream   trace.Span // span "stream", which starts with the first token; nil before the first token
}

// Begin starts to measure a request. The caller must call End or Refuse.
func (m *Measure) Begin(ctx context.Context, ms *Meters, operation inference.Operation) {
	m.meters, m.began, m.span = ms, time.Now(), trace.SpanFromContext(ctx)
	m.series = Series{Surface: inference.SurfaceOf(ctx), Operation: operation}
	m.meter = ms.enter(m.series)
}

// Began returns the time of Begin, which is zero before it.
func (m *Measure) Began() time.Time { return m.began }

// Span returns the request's span, which is nil before Begin.
func (m *Measure) Span() trace.Span { return m.span }

// Refuse ends the measurement of a request that wasn't admitted. Such a request is counted only by
// its outcome.
func (m *Measure) Refuse(outcome Outcome) {
	m.meter.queued.Add(-1)
	m.meter.inFlight.Add(-1)
	m.adapt(0, -1)
	m.meters.Refuse(outcome)
	m.endTrace(outcome, nil)
}

// Wait adds 1 when the request enters the queue, and -1 when it leaves the queue.
func (m *Measure) Wait(change int64) {
	if m.meter != nil {
		m.meter.waiting.Add(change)
	}
}

// Settle records the model by its own name, and the LoRA adapter, on m, which may be nil. It
// must be called before any answer. Later calls, and an empty model, have no effect.
func (m *Measure) Settle(model, lora string) {
	if m == nil || model == "" || m.series.Model != "" {
		return
	}
	m.lora = lora
	m.adapt(0, 1)
	before := m.meter
	m.series.Model = model
	m.meter = m.meters.enter(m.series)
	before.queued.Add(-1)
	before.inFlight.Add(-1)
	if m.span.IsRecording() {
		m.span.SetAttributes(attribute.String("gen_ai.operation.name", string(m.series.Operation)), attribute.String("gen_ai.request.model", model),
			attribute.String("trident.surface", string(m.series.Surface)))
	}
}

// adapt counts a request with an adapter as running or waiting.
func (m *Measure) adapt(running, waiting int) {
	if m.lora != "" {
		m.meters.adapters.change(m.lora, running, waiting)
	}
}

// End ends the measurement of a request. The usage is nil for requests of tensors and for failures.
func (m *Measure) End(outcome Outcome, usage *inference.Usage) {
	now := time.Now()
	whole := &m.meter.succeeded
	if outcome != OutcomeOK {
		whole = &m.meter.failed
	}
	whole.add(now.Sub(m.began), 1)
	m.exemplify(whole, now)
	if !m.answered.Load() {
		m.meter.queued.Add(-1)
		m.adapt(0, -1)
	} else {
		m.adapt(-1, 0)
	}
	if usage != nil && !usage.Unknown {
		m.meter.prompts.Add(uint64(usage.PromptTokens))
		m.meter.inputs.add(usage.PromptTokens)
		if usage.CachedTokens != nil {
			m.meter.cached.Add(uint64(*usage.CachedTokens))
		}
		if m.series.Operation.Generates() {
			m.meter.outputs.add(usage.CompletionTokens)
		}
	}
	m.meter.ended[outcome].Add(1)
	m.meter.inFlight.Add(-1)
	m.endTrace(outcome, usage)
}

// exemplify stores the request's trace as the exemplar of h.
func (m *Measure) exemplify(h *histogram, now time.Time) {
	if context := m.span.SpanContext(); context.IsSampled() {
		h.exemplar.Store(&Exemplar{TraceID: context.TraceID().String(), Value: now.Sub(m.began).Seconds(), At: now})
	}
}

// Answer records that the request has an answer. It returns true for the first call only.
func (m *Measure) Answer() bool {
	if m.answered.Load() || !m.answered.CompareAndSwap(false, true) {
		return false
	}
	m.meter.queued.Add(-1)
	m.adapt(1, -1)
	if m.span.IsRecording() {
		m.traceAnswer()
	}
	return true
}

// Pace has the steps of a choice that aren't counted yet.
type Pace struct {
	last   time.Time // time at which the steps were last counted
	steps  int
	tokens int
}

// Step records output of a choice. It is counted together with the steps that have already arrived,
// so that tokens which arrive together are counted at once. If the engine reports no token counts,
// each Step is one token for the times, and the tokens are counted at the end.
func (m *Measure) Step(p *Pace, tokens int, text, more bool) {
	if tokens > 0 || text {
		p.tokens += tokens
		p.steps += max(tokens, 1)
	}
	if !more {
		m.Flush(p)
	}
}

// Flush counts the recorded steps.
func (m *Measure) Flush(p *Pace) {
	if p.steps == 0 {
		return
	}
	now := time.Now()
	first := m.Answer()
	m.meter.count(now, p.tokens)
	switch {
	case !m.Streamed:
	case first:
		m.meter.first.observe(now, now.Sub(m.began), 1)
		m.exemplify(&m.meter.first, now)
	case !p.last.IsZero():
		m.meter.gaps.observe(now, now.Sub(p.last)/time.Duration(p.steps), uint64(p.steps))
	}
	*p = Pace{last: now}
}

// More counts tokens whose times aren't known.
func (m *Measure) More(tokens int) {
	if tokens != 0 {
		m.meter.count(time.Now(), tokens)
	}
}

// Refused returns the number of requests that the admission has refused, by [Outcome].
func (ms *Meters) Refused() (counts [Outcomes]uint64) {
	for i := range counts {
		counts[i] = ms.refused[i].Load()
	}
	return counts
}

// adapters counts the requests in flight by LoRA adapter: those that run, and those that wait.
type adapters struct {
	mu               sync.Mutex
	running, waiting map[string]int
}

func (a *adapters) change(name string, running, waiting int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running == nil {
		a.running, a.waiting = map[string]int{}, map[string]int{}
	}
	for counts, n := range map[*map[string]int]int{&a.running: running, &a.waiting: waiting} {
		if (*counts)[name] += n; (*counts)[name] <= 0 {
			delete(*counts, name)
		}
	}
}

// Adapters returns the LoRA adapters of requests that are being answered, and of those that wait
// for an answer.
func (ms *Meters) Adapters() (running, waiting []string) {
	ms.adapters.mu.Lock()
	defer ms.adapters.mu.Unlock()
	return slices.Sorted(maps.Keys(ms.adapters.running)), slices.Sorted(maps.Keys(ms.adapters.waiting))
}
