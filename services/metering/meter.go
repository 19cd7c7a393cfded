// Package metering counts requests: [Meters] have the figures by model, surface and operation, a
// [Measure] follows one request and its trace, and the load is made of the same counts. Whatever
// is counted of requests belongs here. What the figures are named on a page is in metrics.
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

// Outcome is how a request ended: well, or by the code of its error.
type Outcome uint8

// OutcomeOK is that of a request that succeeded.
const OutcomeOK Outcome = 0

// OutcomeCanceled is that of a request whose client has disconnected.
const OutcomeCanceled = Outcome(1 + inference.CodeCanceled)

// Outcomes is the number of outcomes.
const Outcomes = 2 + int(inference.CodeForbidden)

// OutcomeOf returns the outcome of a request that ended with an error, or with nil.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return OutcomeOK
	}
	return Outcome(1 + inference.AsError(err).Code)
}

// String is ok, or the code's name.
func (o Outcome) String() string {
	if o == OutcomeOK {
		return "ok"
	}
	return inference.Code(o - 1).String()
}

// Series names what is counted together.
type Series struct {
	// Model by its own name; empty for requests whose model isn't known, or isn't one.
	Model     string
	Surface   inference.Surface
	Operation inference.Operation
}

// The times for which meters remember.
const (
	rateEpoch     = 5 * time.Second
	quantileEpoch = 30 * time.Second
)

// meter counts. Nothing in it takes a lock.
type meter struct {
	inFlight, queued     atomic.Int64
	waiting              atomic.Int64 // of the queued ones, for their turn
	ended                [Outcomes]atomic.Uint64
	prompts, completions atomic.Uint64
	completed            past[uint64] // completions as they were
	first, gaps          histogram
	succeeded, failed    histogram // whole requests
	inputs, outputs      sizes
}

func newMeter() *meter {
	m := &meter{completed: past[uint64]{period: rateEpoch}}
	m.first.scale, m.first.past.period = firstTokenScale, quantileEpoch
	m.gaps.scale, m.gaps.past.period = interTokenScale, quantileEpoch
	m.succeeded.scale, m.failed.scale = durationScale, durationScale
	return m
}

// count counts tokens of an answer.
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

// rate of tokens per second.
func (m *meter) rate(now time.Time) float64 {
	since := m.completed.since(now)
	if since == nil {
		return 0
	}
	// What has begun just now is no rate yet.
	return float64(m.completions.Load()-*since.was) / max(now.Sub(since.began), time.Second).Seconds()
}

// Meters measure all requests. A client can't add to them: their models are those that
// are known. Methods may be called concurrently.
type Meters struct {
	mu   sync.RWMutex
	all  map[Series]*meter
	gone Load // of models that are no more

	known    func(model string) bool
	adapters adapters
	refused  [Outcomes]atomic.Uint64
}

// New returns empty meters. Models for which known reports false get no further
// requests, and lose their meters.
func New(known func(model string) bool) *Meters {
	return &Meters{all: map[Series]*meter{}, known: known}
}

// Refuse counts a request that is refused before it is measured.
func (ms *Meters) Refuse(outcome Outcome) { ms.refused[outcome].Add(1) }

// enter counts a request in and gives its meter. A series' first request puts out the
// meters of models that aren't known any more.
func (ms *Meters) enter(series Series) *meter {
	ms.mu.RLock()
	m := ms.all[series]
	if m != nil {
		m.enter() // before another one can put it out
	}
	ms.mu.RUnlock()
	if m != nil {
		return m
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m = ms.all[series]; m == nil {
		ms.putOut()
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

func (ms *Meters) putOut() {
	for series, m := range ms.all {
		if series.Model == "" || m.inFlight.Load() != 0 || ms.known(series.Model) {
			continue
		}
		left := &sum{Load: ms.gone}
		left.add(m, time.Time{})
		ms.gone = Load{Requests: left.Requests, Failures: left.Failures, PromptTokens: left.PromptTokens, CompletionTokens: left.CompletionTokens}
		delete(ms.all, series)
	}
}

// Figures are what has been counted of a series since the start.
type Figures struct {
	Series

	InFlight, Queued, Waiting int
	// Ended are the requests that have, by [Outcome].
	Ended [Outcomes]uint64
	// PromptTokens of requests that have succeeded, and CompletionTokens of answers
	// so far.
	PromptTokens, CompletionTokens uint64
	// FirstToken and InterToken are times of streamed generations, Succeeded and
	// Failed those of whole requests, Inputs and Outputs the tokens of ones that have
	// succeeded.
	FirstToken, InterToken, Succeeded, Failed, Inputs, Outputs Histogram
}

// Figures gives all series that had requests, in no order.
func (ms *Meters) Figures() []Figures {
	ms.mu.RLock()
	defer ms.mu.RUnlock()
	list := make([]Figures, 0, len(ms.all))
	for series, m := range ms.all {
		f := Figures{
			Series: series, InFlight: int(m.inFlight.Load()), Queued: int(m.queued.Load()), Waiting: int(m.waiting.Load()),
			PromptTokens: m.prompts.Load(), CompletionTokens: m.completions.Load(),
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

// Measure follows one request, for the meters and for its trace. Its zero value measures
// nothing until Begin is called.
type Measure struct {
	// Streamed reports whether the client asked for a stream.
	Streamed bool

	meters   *Meters
	series   Series
	meter    *meter
	began    time.Time
	answered atomic.Bool
	lora     string     // the adapter; empty for none
	span     trace.Span // the request's; one that isn't recorded takes nothing
	stream   trace.Span // from the first token on; nil before
}

// Begin follows a request from now on. It must be ended, or refused.
func (m *Measure) Begin(ctx context.Context, ms *Meters, operation inference.Operation) {
	m.meters, m.began, m.span = ms, time.Now(), trace.SpanFromContext(ctx)
	m.series = Series{Surface: inference.SurfaceOf(ctx), Operation: operation}
	m.meter = ms.enter(m.series)
}

// Began returns the time of Begin, which is zero before it.
func (m *Measure) Began() time.Time { return m.began }

// Span returns the request's span, which is nil before Begin.
func (m *Measure) Span() trace.Span { return m.span }

// Refuse ends what has not been let in: it is counted by its outcome alone.
func (m *Measure) Refuse(outcome Outcome) {
	m.meter.queued.Add(-1)
	m.meter.inFlight.Add(-1)
	m.adapt(0, -1)
	m.meters.Refuse(outcome)
	m.endTrace(outcome, nil)
}

// Wait notes that the request begins to wait for its turn, or ends that.
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

// adapt moves a request with an adapter.
func (m *Measure) adapt(running, waiting int) {
	if m.lora != "" {
		m.meters.adapters.change(m.lora, running, waiting)
	}
}

// End counts a request out. The usage is nil for one of tensors, and of a failure.
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
	if usage != nil {
		m.meter.prompts.Add(uint64(usage.PromptTokens))
		m.meter.inputs.add(usage.PromptTokens)
		if m.series.Operation != inference.OperationEmbeddings {
			m.meter.outputs.add(usage.CompletionTokens)
		}
	}
	m.meter.ended[outcome].Add(1)
	m.meter.inFlight.Add(-1)
	m.endTrace(outcome, usage)
}

// exemplify keeps the request's trace beside what has just been counted.
func (m *Measure) exemplify(h *histogram, now time.Time) {
	if context := m.span.SpanContext(); context.IsSampled() {
		h.exemplar.Store(&Exemplar{TraceID: context.TraceID().String(), Value: now.Sub(m.began).Seconds(), At: now})
	}
}

// Answer notes that something has come of the request; it is true the first time.
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

// Pace is what has come of a choice and isn't counted yet.
type Pace struct {
	last   time.Time // when something was counted
	steps  int
	tokens int
}

// Step notes what has come of a choice. It is counted with what is already behind it,
// so that tokens which come together cost once. Where the engine tells no numbers each
// Step is a token for the times, and the tokens are counted at the end.
func (m *Measure) Step(p *Pace, tokens int, text, more bool) {
	if tokens > 0 || text {
		p.tokens += tokens
		p.steps += max(tokens, 1)
	}
	if !more {
		m.Flush(p)
	}
}

// Flush counts what hasn't been.
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

// Refused are the requests that the admission has turned away, by [Outcome].
func (ms *Meters) Refused() (counts [Outcomes]uint64) {
	for i := range counts {
		counts[i] = ms.refused[i].Load()
	}
	return counts
}

// adapters are those of requests in flight.
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

// Adapters returns the LoRA adapters of requests that are being answered, and of those that
// wait for an answer.
func (ms *Meters) Adapters() (running, waiting []string) {
	ms.adapters.mu.Lock()
	defer ms.adapters.mu.Unlock()
	return slices.Sorted(maps.Keys(ms.adapters.running)), slices.Sorted(maps.Keys(ms.adapters.waiting))
}
