package extension

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// Traces holds tritonserver's trace settings, global ones and a model's own, and
// says by them which requests are traced; it writes their traces to files in
// Triton's format. What a setting means, and what is said of a wrong one, is as in
// tritonserver 2.51 (src/tracer.cc and src/grpc/grpc_server.cc of its sources,
// docs/user_guide/trace.md). All methods may be called concurrently.
//
// It differs in this: tritonserver keeps all traces in memory until its end when neither
// a count nor a log frequency is set, here they are written one by one. The activities
// are Triton's own, without those of tritonserver's connections. There is no mode
// "opentelemetry": Trident's own traces go to a collector.
type Traces struct {
	log  *slog.Logger
	file traceFile
	on   atomic.Bool // whether any setting traces

	mu      sync.Mutex
	initial traceValues // what a cleared global value falls back to
	global  *traceSetting
	models  map[string]*traceSetting
}

// traceValues are what can be set.
type traceValues struct {
	level        TraceLevel
	rate         uint32
	count        int32 // that are left to make
	logFrequency uint32
}

// traceFields marks some of the values.
type traceFields struct{ level, rate, count, logFrequency bool }

// traceSetting is the values for a model, or for all others, and what has been
// traced by them. A change puts another one in its place: traces under way keep
// the one that they began with.
type traceSetting struct {
	traceValues

	own traceFields // the values that were set, and don't follow the fallback

	seen     uint64 // requests
	underWay int    // traces
	replaced bool
	waiting  []byte // traces for the file, with commas between them
	waits    uint32 // how many
}

// traceChange sets the values that are marked in set, and lets go of those marked
// in cleared.
type traceChange struct {
	traceValues

	set, cleared traceFields
}

// NewTraces makes the settings that a server starts with. What can't be written
// is logged.
func NewTraces(config TraceConfig, log *slog.Logger) *Traces {
	values := traceValues{config.Level, config.Rate, config.Count, config.LogFrequency}
	t := &Traces{
		log:     log,
		file:    traceFile{path: config.File},
		initial: values,
		global:  &traceSetting{traceValues: values},
		models:  make(map[string]*traceSetting),
	}
	t.on.Store(values.level != TraceOff)
	return t
}

// Setting changes what the request names, and tells the settings of the request's
// model as they are then, or the global ones without a model. The caller knows
// that the model exists. Unknown settings mean nothing, as to tritonserver.
func (t *Traces) Setting(req *kserve.TraceSettingRequest) (*kserve.TraceSettingResponse, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(req.GetSettings()) > 0 {
		change, err := parseTraceChange(req.GetSettings())
		if err != nil {
			return nil, err
		}
		if err := t.change(req.GetModelName(), change); err != nil {
			return nil, err
		}
	}
	return t.setting(req.GetModelName()).answer(t.file.path), nil
}

// change updates one setting; after the global one also those that follow it in
// some of their values. The first that can't be ends it.
func (t *Traces) change(model string, change traceChange) error {
	defer t.updateOn()
	if err := t.update(model, change); err != nil || model != "" {
		return err
	}
	for _, model := range slices.Sorted(maps.Keys(t.models)) {
		if err := t.update(model, traceChange{}); err != nil {
			return err
		}
	}
	return nil
}

func (t *Traces) update(model string, change traceChange) error {
	current, fallback := t.global, t.initial
	if model != "" {
		current, fallback = t.models[model], t.global.traceValues
	}
	next := current.changed(change, fallback)
	if model != "" && next.own == (traceFields{}) {
		delete(t.models, model)
		t.replace(current)
		return nil
	}
	if reason := next.invalid(t.file.path); reason != "" && next.level != TraceOff {
		return invalid("Attempting to set invalid trace setting :%s", reason)
	}
	if model == "" {
		t.global = next
	} else {
		t.models[model] = next
	}
	t.replace(current)
	return nil
}

// changed is the setting after a change; the old one may be nil.
func (s *traceSetting) changed(change traceChange, fallback traceValues) *traceSetting {
	var old traceSetting
	if s != nil {
		old.traceValues, old.own = s.traceValues, s.own
	}
	next := &traceSetting{traceValues: fallback}
	field := func(own, set, cleared bool, take func(from *traceValues)) bool {
		switch {
		case cleared:
			return false
		case set:
			take(&change.traceValues)
		case own:
			take(&old.traceValues)
		}
		return own || set
	}
	set, cleared := change.set, change.cleared
	next.own = traceFields{
		level:        field(old.own.level, set.level, cleared.level, func(from *traceValues) { next.level = from.level }),
		rate:         field(old.own.rate, set.rate, cleared.rate, func(from *traceValues) { next.rate = from.rate }),
		count:        field(old.own.count, set.count, cleared.count, func(from *traceValues) { next.count = from.count }),
		logFrequency: field(old.own.logFrequency, set.logFrequency, cleared.logFrequency, func(from *traceValues) { next.logFrequency = from.logFrequency }),
	}
	return next
}

// invalid is why nothing can be traced by the values, empty if it can.
func (v *traceValues) invalid(file string) string {
	switch {
	case v.level == TraceOff:
		return "tracing is disabled"
	case v.rate == 0:
		return "sample rate must be non-zero"
	case file == "":
		return "trace file name is not given"
	}
	return ""
}

// replace is done with a setting, but for its traces under way.
func (t *Traces) replace(s *traceSetting) {
	if s == nil {
		return
	}
	s.replaced = true
	t.flush(s)
}

func (t *Traces) updateOn() {
	on := t.global.level != TraceOff
	for _, s := range t.models {
		on = on || s.level != TraceOff
	}
	t.on.Store(on)
}

// setting is the one for a model.
func (t *Traces) setting(model string) *traceSetting {
	if s := t.models[model]; s != nil {
		return s
	}
	return t.global
}

// On is whether any request may be traced.
func (t *Traces) On() bool { return t.on.Load() }

// Trace is a request that is traced.
type Trace struct {
	// Level is what to record of the request.
	Level TraceLevel

	traces  *Traces
	setting *traceSetting
}

// Sample counts a request to the model and gives its trace, if it is to be traced:
// nil otherwise. A trace must be ended.
func (t *Traces) Sample(model string) *Trace {
	if !t.On() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.setting(model)
	if s.count == 0 || s.invalid(t.file.path) != "" {
		return nil
	}
	s.seen++
	if s.seen%uint64(s.rate) != 0 {
		return nil
	}
	if s.count > 0 {
		s.count--
	}
	s.underWay++
	return &Trace{Level: s.level, traces: t, setting: s}
}

// End takes what was recorded, in the order of time, and writes it to the file by
// the log frequency. Without records it only ends the trace.
func (t *Trace) End(records []TraceRecord) {
	text := appendTrace(nil, records)
	t.traces.mu.Lock()
	defer t.traces.mu.Unlock()
	s := t.setting
	s.underWay--
	if len(text) > 0 {
		if s.waits > 0 {
			s.waiting = append(s.waiting, ',')
		}
		s.waiting = append(s.waiting, text...)
		s.waits++
	}
	t.traces.flush(s)
}

// flush writes the traces of a setting that needn't wait any longer. Those that
// are so many as the log frequency wants, or all of a count, go to a file of
// their own. Without either, tritonserver keeps all in memory until its end; here
// they go to the file one by one.
func (t *Traces) flush(s *traceSetting) {
	indexed := s.logFrequency != 0
	switch {
	case s.waits == 0:
		return
	case s.logFrequency != 0 && s.waits >= s.logFrequency:
	case s.count == 0 && s.underWay == 0 && !s.replaced:
		indexed = true
	case s.replaced && s.underWay == 0:
	case s.logFrequency == 0 && s.count < 0:
	default:
		return
	}
	traces := s.waiting
	s.waiting, s.waits = nil, 0
	if err := t.file.save(traces, indexed); err != nil {
		t.log.Error("the trace file can't be written: traces are lost", "error", err)
	}
}

// Close writes what still waits and closes the file. Traces that end later are
// lost.
func (t *Traces) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.replace(t.global)
	for _, s := range t.models {
		t.replace(s)
	}
	t.on.Store(false)
	if err := t.file.close(); err != nil {
		t.log.Error("the trace file can't be closed", "error", err)
	}
}
