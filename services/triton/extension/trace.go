package extension

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// Traces has tritonserver's trace settings, the global ones and those of models. It
// selects by them the requests to trace, and writes the traces to files in Triton's
// format. The settings' meaning and error messages are those of tritonserver 2.51
// (src/tracer.cc and src/grpc/grpc_server.cc of its sources, docs/user_guide/trace.md).
// All methods may be called concurrently.
//
// There are three differences. If neither a count nor a log frequency is set,
// tritonserver keeps all traces in memory until it ends, but Traces writes them one by
// one. The activities are Triton's own, without those of tritonserver's connections.
// There is no mode "opentelemetry": Trident's own traces go to a collector.
type Traces struct {
	log  *slog.Logger
	file traceFile
	on   atomic.Bool // reports whether any setting enables traces

	mu      sync.Mutex
	initial traceValues // fallback for cleared global values
	global  *traceSetting
	models  map[string]*traceSetting
}

// traceValues are the values of the settings that clients can change.
type traceValues struct {
	level        TraceLevel
	rate         uint32
	count        int32 // remaining number of traces to record; -1 for no limit
	logFrequency uint32
}

// traceFields marks some of the values.
type traceFields struct{ level, rate, count, logFrequency bool }

// traceSetting has the values for one model, or for all other models, and the
// state of their traces. A change replaces the whole traceSetting. Traces in
// progress keep the one that they started with.
type traceSetting struct {
	traceValues

	own traceFields // values that were set, and don't follow the fallback

	seen         uint64 // number of requests
	running      int    // number of traces in progress
	replaced     bool
	waiting      []byte // comma-separated traces for the file
	waitingCount uint32 // number of traces in waiting
}

// traceChange sets the values that are marked in set, and clears those marked in
// cleared.
type traceChange struct {
	traceValues

	set, cleared traceFields
}

// NewTraces returns the settings that a server starts with. Errors of writing
// traces are logged.
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

// Setting changes the settings of the request. It returns the resulting settings
// of the request's model, or the global settings if the request has no model. The
// caller must check that the model exists. As in tritonserver, unknown settings
// are ignored.
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

// change updates one setting. After a change of the global one, it also updates the
// models' settings, whose values may follow the global ones. change stops at the first
// invalid setting.
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

// changed returns the setting after a change. s is the previous setting and may
// be nil.
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

// invalid returns the reason why the values record no trace, or an empty string
// if they do.
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

// replace marks a setting as replaced. Its traces in progress still use it.
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

// setting returns the setting that applies to a model.
func (t *Traces) setting(model string) *traceSetting {
	if s := t.models[model]; s != nil {
		return s
	}
	return t.global
}

// On reports whether any request may be traced.
func (t *Traces) On() bool { return t.on.Load() }

// Trace is the trace of one request.
type Trace struct {
	// Level selects the data to record.
	Level TraceLevel

	traces  *Traces
	setting *traceSetting
}

// Sample counts a request to the model and returns its trace, or nil if the
// request isn't traced. The caller must end the trace.
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
	s.running++
	return &Trace{Level: s.level, traces: t, setting: s}
}

// End adds the records, sorted by time, to the traces for the file. The log
// frequency determines when they are written. Without records, End only ends the
// trace.
func (t *Trace) End(records []TraceRecord) {
	text := appendTrace(nil, records)
	t.traces.mu.Lock()
	defer t.traces.mu.Unlock()
	s := t.setting
	s.running--
	if len(text) > 0 {
		if s.waitingCount > 0 {
			s.waiting = append(s.waiting, ',')
		}
		s.waiting = append(s.waiting, text...)
		s.waitingCount++
	}
	t.traces.flush(s)
}

// flush writes the traces of a setting if they are due. If the log frequency is
// reached, or all traces of a count are complete, they go to an indexed file of
// their own. If neither value is set, tritonserver keeps all traces in memory
// until it ends, but flush adds them to the file one by one.
func (t *Traces) flush(s *traceSetting) {
	indexed := s.logFrequency != 0
	switch {
	case s.waitingCount == 0:
		return
	case s.logFrequency != 0 && s.waitingCount >= s.logFrequency:
	case s.count == 0 && s.running == 0 && !s.replaced:
		indexed = true
	case s.replaced && s.running == 0:
	case s.logFrequency == 0 && s.count < 0:
	default:
		return
	}
	traces := s.waiting
	s.waiting, s.waitingCount = nil, 0
	if err := t.file.save(traces, indexed); err != nil {
		t.log.Error("the trace file can't be written: traces are lost", "error", err)
	}
}

// Close writes the remaining traces and closes the file. Traces that end later
// are lost.
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
