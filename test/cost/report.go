package main

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// report writes the costs of requests as they are measured, and a table at the end. Its methods may
// be called concurrently.
type report struct {
	out   io.Writer
	steps bool // writes each step
	began time.Time
	of    int // number of targets that are measured

	mu       sync.Mutex
	done     int
	sent     int           // number of requests sent so far
	used     time.Duration // CPU time used by the trident processes
	seen     map[string]bool
	measured []*series
	found    []string // exceeded bounds
	failed   error    // the first error of a write of the report
}

func (r *report) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(r.out, format, args...); err != nil {
		r.failed = err
	}
}

// sum adds the requests of one trident and the CPU time that it used.
func (r *report) sum(sent int, used time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent += sent
	r.used += used
}

func (r *report) add(t *target, measured []*series, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name := t.call.String(); !r.seen[name] {
		r.seen[name] = true
		r.printf("%4.0f s  %4d of %d  %s\n", time.Since(r.began).Seconds(), r.done, r.of, name)
	}
	r.done++
	if r.steps {
		r.printf("%s took %s\n", t, took.Round(time.Millisecond))
	}
	for _, c := range measured {
		for _, step := range c.steps {
			if r.steps {
				r.printf("%s: %s, mean of %d\n", c, step, step.runs)
			}
		}
		for _, what := range judge(c.steps) {
			r.found = append(r.found, fmt.Sprintf("%s %s", c, what))
			r.printf("BEYOND  %s\n", r.found[len(r.found)-1])
		}
	}
	r.measured = append(r.measured, measured...)
}

// costliest is the number of series in the table.
const costliest = 10

// end writes the table and returns an error if a bound was exceeded.
func (r *report) end() error {
	steps := 0
	for _, c := range r.measured {
		steps += len(c.steps)
	}
	r.printf("%.0f s: %d kinds of requests, %d sizes and encodings, %d requests; CPU time of all trident processes: %.0f s\n\nThe most CPU time:\n", time.Since(r.began).Seconds(), r.of, steps, r.sent, r.used.Seconds())
	slices.SortFunc(r.measured, func(a, b *series) int { return int(b.worst().cpu - a.worst().cpu) })
	for _, c := range r.measured[:min(costliest, len(r.measured))] {
		r.printf("%8s  %s: %s\n", c.worst().cpu.Round(100*time.Microsecond), c, c.worst())
	}
	r.printf("\nThe most memory beyond ten times the body size:\n")
	slices.SortFunc(r.measured, func(a, b *series) int { return int(b.excess() - a.excess()) })
	for _, c := range r.measured[:min(costliest, len(r.measured))] {
		r.printf("%10s  %s: %s\n", size(c.excess()), c, c.largest())
	}
	if r.failed != nil {
		return r.failed
	}
	if len(r.found) > 0 {
		return fmt.Errorf("%d costs exceed their bounds; the first one: %s", len(r.found), r.found[0])
	}
	return nil
}
