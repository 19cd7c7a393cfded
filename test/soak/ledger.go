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
	answered outcome = "answered" // whole and right
	left     outcome = "left"     // its client went, as planned
	refused  outcome = "error"    // with an error that says so
	cutOff   outcome = "cut off"  // its connection ended without a word, or none could be had
	wrong    outcome = "wrong"    // with what isn't its own
	mixed    outcome = "mixed"    // with the error that says that Triton sent another's response
	late     outcome = "late"     // not at all, in the time that the longest way takes
)

// inTheMiddle is the code of what was cut off after its answer had begun: even a
// Trident that stops has a word for that.
const inTheMiddle = "in the middle"

// ending is what a request that wasn't answered came to.
type ending struct {
	how  outcome
	code string // of an error, for its count
	err  error
}

func (e *ending) Error() string { return fmt.Sprintf("%s: %v", e.how, e.err) }
func (e *ending) Unwrap() error { return e.err }

// failed is a request that wasn't answered, for the verdict.
type failed struct {
	kind, name string
	from, to   time.Time
	ending     *ending
}

// window is the time of a fault, in which requests may fail.
type window struct {
	fault    string
	kinds    []string // that it may concern; nil for all
	cuts     bool     // connections to Trident may be refused, or end before an answer begins
	breaks   bool     // they may end in the middle of one, too
	bound    time.Duration
	from, to time.Time // to is zero while it lasts
}

// allows tells whether a request may have failed by the fault: they met, and it
// learnt of it within the fault's bound.
func (w *window) allows(f *failed) bool {
	if w.kinds != nil && !slices.Contains(w.kinds, f.kind) || f.ending.how == cutOff && (!w.cuts || f.ending.code == inTheMiddle && !w.breaks) {
		return false
	}
	return w.meets(f) && f.to.Sub(later(f.from, w.from)) <= w.bound+reading(f.kind)
}

func (w *window) meets(f *failed) bool {
	return f.to.After(w.from) && (w.to.IsZero() || f.from.Before(w.to))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// ledger knows of every request how it ended. Its methods may be called
// concurrently.
type ledger struct {
	mu       sync.Mutex
	begun    int
	running  int
	most     int // of those at once
	counts   map[string]map[outcome]int
	codes    map[string]int
	longest  map[string]time.Duration // of those answered
	failures []*failed
	windows  []*window
	wrongs   []string
	grown    chan struct{} // closed and renewed with each answer
	lastGood map[string]time.Time
}

func newLedger() *ledger {
	return &ledger{
		counts: map[string]map[outcome]int{}, codes: map[string]int{}, longest: map[string]time.Duration{},
		lastGood: map[string]time.Time{}, grown: make(chan struct{}),
	}
}

// begin counts a request; the function that it gives must be told how it ended.
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
	if e.how == refused && strings.Contains(e.err.Error(), saysMixed) {
		e = &ending{how: mixed, err: e.err} // Triton's doing, at any time
	}
	if l.counts[kind] == nil {
		l.counts[kind] = map[outcome]int{}
	}
	l.counts[kind][e.how]++
	switch e.how {
	case answered:
		l.longest[kind] = max(l.longest[kind], to.Sub(from))
		l.lastGood[kind] = later(l.lastGood[kind], from)
		close(l.grown)
		l.grown = make(chan struct{})
	case left, mixed:
	case wrong, late:
		l.wrongs = append(l.wrongs, fmt.Sprintf("%s %s: %s: %v", kind, name, e.how, e.err))
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

// open begins a window, as of so long ago.
func (l *ledger) open(w *window, since time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.from = time.Now().Add(-since)
	l.windows = append(l.windows, w)
}

// widen lets a window concern all requests, and the connections if Trident itself broke.
func (l *ledger) widen(w *window, bound time.Duration, breaks bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.kinds, w.bound = nil, bound
	w.cuts, w.breaks = w.cuts || breaks, w.breaks || breaks
}

// shut ends it, after what it takes to recover.
func (l *ledger) shut(w *window, recovery time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.to = time.Now().Add(recovery)
}

// recovered waits until of each kind a request was answered that began after the
// moment, and tells how long after that the last of the first ones began.
func (l *ledger) recovered(ctx context.Context, kinds []string, since time.Time) error {
	for {
		l.mu.Lock()
		missing := slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return l.lastGood[kind].After(since) })
		grown := l.grown
		l.mu.Unlock()
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return fmt.Errorf("no answer for %s %s after it was over", strings.Join(missing, ", "), time.Since(since).Round(time.Second))
		}
	}
}

// effect is what a fault did to requests.
type effect struct {
	failed  int
	slowest time.Duration // from the fault, or the request's begin, to its error
	last    time.Duration // after the repair a request that failed began; negative for none
}

// effectOf sums a window up, which was repaired at that time.
func (l *ledger) effectOf(w *window, repaired time.Time) effect {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := effect{last: -1}
	for _, f := range l.failures {
		if w.meets(f) {
			e.failed++
			e.slowest = max(e.slowest, f.to.Sub(later(f.from, w.from)))
			e.last = max(e.last, f.from.Sub(repaired))
		}
	}
	return e
}

// verdict lists what must not have been, the commonest kinds of it first.
func (l *ledger) verdict() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.Clone(l.wrongs)
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
		list = append(list, fmt.Sprintf("%d × %s that no fault explains in time; the first, %s, began %s, after %s: %v",
			len(groups[what]), what, f.name, f.from.Format(time.TimeOnly), f.to.Sub(f.from).Round(time.Millisecond), f.ending.err))
	}
	return list
}
