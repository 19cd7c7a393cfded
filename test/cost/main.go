// Command cost measures how much CPU time and memory hostile requests take in a real trident. It
// generates them from the OpenAPI documents and the proto descriptors: each repeated, map, nested
// or free-form field of each surface, filled up to the reader's limit and beyond it. The command
// fails if the CPU time of a request grows faster than its size, or if its CPU time or memory
// exceeds a bound.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/sync/errgroup"

	"github.com/trident-inference/trident/test/cost/probe"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// options are the command-line flags of the cost test.
type options struct {
	Only  string `placeholder:"PATTERN" help:"Measure only the requests whose names match this regular expression."`
	All   bool   `help:"Fill fields in all ways and, beyond the readers' limits, up to half of the maximum body size; takes an hour."`
	Steps bool   `help:"Print the cost of each size of a request."`
	List  bool   `help:"List the requests and measure nothing."`
}

func command(ctx context.Context, args []string, out io.Writer) error {
	var o options
	parser, err := kong.New(&o, kong.Name("cost"), kong.Description("Measures the CPU time and memory that hostile requests cost. Run it in the source tree, after make setup-test."))
	if err != nil {
		return err
	}
	if _, err := parser.Parse(args); err != nil {
		return err
	}
	only, err := regexp.Compile(o.Only)
	if err != nil {
		return fmt.Errorf("--only: %w", err)
	}
	s := scope{all: o.All}
	targets, err := all()
	if err != nil {
		return err
	}
	targets = slices.DeleteFunc(targets, func(t *target) bool { return !s.has(t) || !only.MatchString(t.String()) })
	if len(targets) == 0 {
		return fmt.Errorf("--only: no request's name matches %s", o.Only)
	}
	if o.List {
		return write(out, targets)
	}
	debug.SetGCPercent(gcPercent)
	f, err := launch(ctx, together)
	if err != nil {
		return err
	}
	err = errors.Join(measureAll(ctx, f, s, targets, &report{out: out, steps: o.Steps, seen: map[string]bool{}}), f.stop()) //nolint:contextcheck // the context may have ended
	if err != nil {
		return fmt.Errorf("%w\nthe logs are in %s", err, f.folder)
	}
	return f.remove()
}

func write(out io.Writer, targets []*target) error {
	for _, t := range targets {
		if _, err := fmt.Fprintln(out, t); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%d requests\n", len(targets))
	return err
}

// together is the number of tridents that are measured at the same time. Each gets its requests one
// after the other: while one reads a request, the next request of another is generated. chunk is
// the maximum number of targets that are measured with the same trident.
const (
	together = 3
	chunk    = 20
)

// gcPercent makes this program collect its garbage, mainly large bodies, less often. The program
// shares the processors with the measured processes.
const gcPercent = 400

// measureAll measures targets and writes their costs.
func measureAll(ctx context.Context, f *fleet, s scope, targets []*target, r *report) error {
	r.began, r.of = time.Now(), len(targets)
	work := make(chan []*target, len(targets))
	for part := range slices.Chunk(targets, chunk) {
		work <- part
	}
	close(work)
	all, ctx := errgroup.WithContext(ctx)
	for _, t := range f.tridents {
		all.Go(func() error {
			m := newMeter(newClient(t.shared, t.native), t.process)
			if err := m.warm(ctx, targets); err != nil {
				return err
			}
			for part := range work {
				if err := m.measureSome(ctx, s, part, r); err != nil {
					return err
				}
			}
			used, err := t.process.cpu()
			r.sum(m.sent, used)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	return r.end()
}

func (m *meter) measureSome(ctx context.Context, s scope, targets []*target, r *report) error {
	for _, t := range targets {
		began := time.Now()
		measured, err := m.measure(ctx, t, s)
		if err != nil {
			return err
		}
		t.made = nil
		r.add(t, measured, time.Since(began))
	}
	return nil
}

// warm sends each call's smallest request. The memory afterwards is the floor.
func (m *meter) warm(ctx context.Context, targets []*target) error {
	done := map[*call]bool{}
	for _, t := range targets {
		if done[t.call] {
			continue
		}
		done[t.call] = true
		if _, err := m.answered(ctx, t.call, t.base); err != nil {
			return err
		}
	}
	return m.settle(probe.Free)
}
