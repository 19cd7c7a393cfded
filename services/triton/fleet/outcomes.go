package fleet

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

// The rule that takes a model of an endpoint out: half of its last answers failed. The pause
// doubles each time.
const (
	outcomeLeast = 10 // minimum number of answers
	firstPause   = 2 * time.Second
	lastPause    = time.Minute
)

// Counts of the window of a model's answers.
const (
	succeeded = iota
	failures
)

// outcomes are the answers of one endpoint by model. Its methods may be called concurrently.
type outcomes struct {
	// blocked is the number of models that have been taken out at some time. Each request checks
	// it first.
	blocked atomic.Int32

	mu     sync.Mutex
	models map[string]*outcome
}

// outcome has the last answers of one model at one endpoint.
type outcome struct {
	answers window
	until   time.Time     // the model is out until then
	pause   time.Duration // duration of the last time out
	out     bool          // takeBack hasn't reported the end of the time out
}

// record counts an answer, and reports whether it takes the model out. Only a failure does. Answers
// that come while the model is out don't count: their requests were sent before.
func (o *outcomes) record(model string, failed bool, now time.Time) (out bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.models[model]
	if m != nil && now.Before(m.until) {
		return false
	}
	if m == nil {
		if !failed {
			return false // a model without failures needs no record
		}
		if o.models == nil {
			o.models = map[string]*outcome{}
		}
		m = &outcome{}
		o.models[model] = m
	}
	count := succeeded
	if failed {
		count = failures
	}
	m.answers.add(count, now)
	ok, bad := m.answers.sum(now)
	if bad == 0 && now.Sub(m.until) > lastPause {
		if m.pause > 0 {
			o.blocked.Add(-1)
		}
		delete(o.models, model)
		return false
	}
	if !failed || ok+bad < outcomeLeast || 2*bad < ok+bad {
		return false
	}
	if m.pause == 0 {
		o.blocked.Add(1)
	}
	m.pause = min(max(2*m.pause, firstPause), lastPause)
	m.until, m.out = now.Add(m.pause), true
	m.answers = window{}
	return true
}

// forgive forgets all failures, and takes all models in. An endpoint that is back may have other
// models, and the failures were its own.
func (o *outcomes) forgive() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.models)
	o.blocked.Store(0)
}

// outUntil returns the time until which a model is out, or the zero time if it is in.
func (o *outcomes) outUntil(model string, now time.Time) time.Time {
	if o.blocked.Load() == 0 {
		return time.Time{}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if m := o.models[model]; m != nil && now.Before(m.until) {
		return m.until
	}
	return time.Time{}
}

// takeBack reports whether a time out of a model has ended since the last call.
func (o *outcomes) takeBack(now time.Time) (back bool) {
	if o.blocked.Load() == 0 {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.models {
		if m.out && !now.Before(m.until) {
			m.out, back = false, true
		}
	}
	return back
}

// judge reports whether an error counts as a failed answer, and whether it counts at all. Errors
// of the request and of the client don't.
func judge(err error) (failed, counts bool) {
	if err == nil {
		return false, true
	}
	switch e := inference.AsError(err); e.Code {
	case inference.CodeUnavailable, inference.CodeInternal:
		return true, true
	case inference.CodeInvalid, inference.CodeUnsupported, inference.CodeNotFound:
		return false, true
	default: // a limit, the client or its deadline
		return false, false
	}
}
