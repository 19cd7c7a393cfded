package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// outcome is how a request ended.
type outcome string

const (
	answered outcome = "answered" // the response was complete and correct
	left     outcome = "left"     // the request's client disconnected, as planned
	refused  outcome = "error"    // the response was an error
	cutOff   outcome = "cut off"  // the connection failed or ended without an error response
	wrong    outcome = "wrong"    // the response had another request's data
	mixed    outcome = "mixed"    // the response was the error that Triton sent another request's response
	late     outcome = "late"     // no response arrived in the time that the slowest response takes
)

// cutAfterStart is the code of a response that was cut off after its start. Even a Trident that stops
// should send an error instead.
const cutAfterStart = "in the middle"

// ending is the outcome of a request, with the error unless the response was complete and correct.
type ending struct {
	how  outcome
	code string // code of the error response, for the statistics
	err  error
}

func (e *ending) Error() string { return fmt.Sprintf("%s: %v", e.how, e.err) }
func (e *ending) Unwrap() error { return e.err }

// failed is a request whose response was an error or was cut off, for the verdict.
type failed struct {
	kind, name string
	from, to   time.Time
	ending     *ending
}

// window is the time from the start of an injected fault to its end. The fault explains failures of
// requests in this time.
type window struct {
	fault    string
	kinds    []string // kinds of requests that the fault may affect; nil for all kinds
	cuts     bool     // connections to Trident may be refused, or end before a response begins
	breaks   bool     // connections may also end in the middle of a response
	bound    time.Duration
	from, to time.Time // start and end of the fault; to is zero during the fault
}

// allows reports whether the fault explains a failed request: they overlapped, and the request got
// its error within the fault's bound.
func (w *window) allows(f *failed) bool {
	if w.kinds != nil && !slices.Contains(w.kinds, f.kind) || f.ending.how == cutOff && (!w.cuts || f.ending.code == cutAfterStart && !w.breaks) {
		return false
	}
	return w.overlaps(f) && w.toError(f) <= w.bound+reading(f.kind)
}

func (w *window) overlaps(f *failed) bool {
	return f.to.After(w.from) && (w.to.IsZero() || f.from.Before(w.to))
}

// toError returns the time to a request's error, from the fault or from the request's start.
func (w *window) toError(f *failed) time.Duration { return f.to.Sub(later(f.from, w.from)) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// ledger records the outcome of each request of the soak test. Its methods may be called
// concurrently.
type ledger struct {
	mu             sync.Mutex
	begun          int
	running        int
	most           int // maximum number of concurrent requests
	counts         map[string]map[outcome]int
	codes          map[string]int
	longest        map[string]time.Duration // duration of the slowest request with a correct response, by kind
	failures       []*failed
	windows        []*window
	wrongResponses []string
	grown          chan struct{} // closed and replaced with each response
	lastSuccess    map[string]time.Time
}

func newLedger() *ledger {
	return &ledger{
		counts: map[string]map[outcome]int{}, codes: map[string]int{}, longest: map[string]time.Duration{},
		lastSuccess: map[string]time.Time{}, grown: make(chan struct{}),
	}
}

// begin records the start of a request. The caller must call the returned function when the request
// has ended.
func (l *ledger) begin(kind, name string) func(err error) {
	l.mu.Lock()
	l.begun++
	l.running++
	l.most = max(l.most, l.running)
	l.mu.Unlock()
	from := time.Now()
	return func(err error) { l.end(kind, name, from, err) }
}

func (l *ledger) end(kind, name string, from time.Time, err error) {
	to := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	e := endingOf(err)
	if e.how == refused && strings.Contains(e.err.Error(), logMixed) {
		e = &ending{how: mixed, err: e.err} // a fault of Triton, which may happen at any time
	}
	if l.counts[kind] == nil {
		l.counts[kind] = map[outcome]int{}
	}
	l.counts[kind][e.how]++
	switch e.how {
	case answered:
		l.longest[kind] = max(l.longest[kind], to.Sub(from))
		l.lastSuccess[kind] = later(l.lastSuccess[kind], from)
		close(l.grown)
		l.grown = make(chan struct{})
	case left, mixed:
	case wrong, late:
		l.wrongResponses = append(l.wrongResponses, fmt.Sprintf("%s %s: %s: %v", kind, name, e.how, e.err))
	default:
		l.codes[cmp.Or(e.code, string(e.how))]++
		l.failures = append(l.failures, &failed{kind: kind, name: name, from: from, to: to, ending: e})
	}
}

func endingOf(err error) *ending {
	if err == nil {
		return &ending{how: answered}
	}
	if e, ok := errors.AsType[*ending](err); ok {
		return e
	}
	return &ending{how: cutOff, err: err}
}

// open begins the window of a fault that started the given time ago.
func (l *ledger) open(w *window, since time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.from = time.Now().Add(-since)
	l.windows = append(l.windows, w)
}

// extendWindow makes a fault's window explain failures of all kinds of requests. With breaks,
// Trident itself ended, so the window also explains refused and broken connections.
func (l *ledger) extendWindow(w *window, bound time.Duration, breaks bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.kinds, w.bound = nil, bound
	w.cuts, w.breaks = w.cuts || breaks, w.breaks || breaks
}

// closeWindow sets the end of a fault's window to the recovery time from now.
func (l *ledger) closeWindow(w *window, recovery time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.to = time.Now().Add(recovery)
}

// recovered waits until a request of each kind that started after since has a complete and correct
// response. It returns an error if ctx ends first.
func (l *ledger) recovered(ctx context.Context, kinds []string, since time.Time) error {
	for {
		l.mu.Lock()
		missing := slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return l.lastSuccess[kind].After(since) })
		grown := l.grown
		l.mu.Unlock()
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return fmt.Errorf("no successful response for %s in the %s after the repair", strings.Join(missing, ", "), time.Since(since).Round(time.Second))
		}
	}
}

// effect summarizes the requests that failed because of a fault.
type effect struct {
	failed  int
	slowest time.Duration // longest time from the fault, or from the request's later start, to the request's error
	last    time.Duration // time from the repair to the start of the last failed request; negative for none
}

// effectOf summarizes the effect of a fault on requests, from the fault's window and the time of its
// repair.
func (l *ledger) effectOf(w *window, repaired time.Time) effect {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := effect{last: -1}
	for _, f := range l.failures {
		if w.overlaps(f) {
			e.failed++
			e.slowest = max(e.slowest, w.toError(f))
			e.last = max(e.last, f.from.Sub(repaired))
		}
	}
	return e
}

// verdict returns a message for each wrong response and for each group of failed requests that no
// fault explains, the most frequent groups first.
func (l *ledger) verdict() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.Clone(l.wrongResponses)
	if l.running != 0 {
		list = append(list, fmt.Sprintf("%d requests never ended", l.running))
	}
	groups := map[string][]*failed{}
	for _, f := range l.failures {
		if !slices.ContainsFunc(l.windows, func(w *window) bool { return w.allows(f) }) {
			what := fmt.Sprintf("%s: %s (%s)", f.kind, f.ending.how, f.ending.code)
			groups[what] = append(groups[what], f)
		}
	}
	for _, what := range slices.SortedFunc(maps.Keys(groups), func(a, b string) int { return len(groups[b]) - len(groups[a]) }) {
		f := groups[what][0]
		list = append(list, fmt.Sprintf("%d × %s without a fault that explains it; the first one, %s, started at %s and failed after %s: %v",
			len(groups[what]), what, f.name, f.from.Format(time.TimeOnly), f.to.Sub(f.from).Round(time.Millisecond), f.ending.err))
	}
	return list
}
