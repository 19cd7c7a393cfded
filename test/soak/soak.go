package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/trident-inference/trident/test/pause"
)

// soak is the state of a run of the soak test.
type soak struct {
	options options
	fleet   *fleet
	ledger  *ledger
	out     io.Writer
	began   time.Time
	rows    []*row
	crashes int // number of crashes of the process in which Triton runs, without an injected fault
	hangs   int
	mixed   float64 // number of responses that belonged to another request, as Trident counts them
	before  footprint
	after   footprint
	stopped time.Duration // duration of the stop under load
	broken  []string
}

// row is the total effect of all faults of one kind.
type row struct {
	fault  fault
	times  int
	failed int
	effect effect
	repair time.Duration
}

func (s *soak) sayf(format string, args ...any) {
	fmt.Fprintf(s.out, "%6.0f s  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...)) //nolint:errcheck // a terminal
}

// run runs the test. It prints the report even if the test fails early.
func (s *soak) run(ctx context.Context) error {
	err := s.all(ctx)
	return errors.Join(err, s.report())
}

func (s *soak) all(ctx context.Context) error {
	// Buffers, pools and connections of the first requests are not growth, so a load warms Trident
	// up first.
	warm := startLoad(ctx, s.ledger, &s.fleet.target, s.options.Streams)
	if err := s.wait(ctx, tokens*pace+s.options.Calm); err != nil {
		return err
	}
	warm.stop()
	var err error
	if s.before, err = s.idle(ctx); err != nil {
		return err
	}
	s.sayf("warm: %s", s.before)
	if err := s.under(ctx); err != nil {
		return err
	}
	if s.after, err = s.idle(ctx); err != nil {
		return err
	}
	s.sayf("after: %s", s.after)
	if s.mixed, err = s.fleet.trident.mixed(ctx); err != nil {
		return err
	}
	s.broken = append(s.broken, s.after.grown(s.before, s.died())...)
	return s.terminate(ctx)
}

// died returns the number of Python model processes that died in in-process Triton.
func (s *soak) died() (all int) {
	for _, r := range s.rows {
		if s.fleet.local && slices.Contains(r.fault.kinds, kindPython) {
			all += r.times
		}
	}
	return all
}

// under injects one fault after the other under load.
func (s *soak) under(ctx context.Context) error {
	load := startLoad(ctx, s.ledger, &s.fleet.target, s.options.Streams)
	defer load.stop()
	s.fleet.dismiss = load.dismiss
	if err := s.wait(ctx, tokens*pace); err != nil {
		return err
	}
	list := s.list()
	if len(list) == 0 {
		return errors.New("--only: no fault's name contains any of the strings")
	}
	began := time.Now()
	for i := 0; i < len(list) || time.Since(began) < s.options.Duration; i++ {
		if err := s.fault(ctx, &list[i%len(list)]); err != nil {
			return err
		}
		if err := s.wait(ctx, s.options.Calm); err != nil {
			return err
		}
	}
	return nil
}

func (s *soak) list() []fault {
	all := faults()
	if s.fleet.local {
		all = localFaults()
	}
	return slices.DeleteFunc(all, func(f fault) bool { return !s.options.wants(f.name) })
}

// recoveryLimit bounds the time until a response of each kind after a repair. All failed requests
// start again together, the slowest ones too, on a busy machine.
const recoveryLimit = longest + slack

// fault injects a fault, holds it, repairs it, and waits until all requests succeed again.
func (s *soak) fault(ctx context.Context, f *fault) error {
	w := &window{fault: f.name, kinds: f.kinds, bound: f.bound, cuts: f.breaks, breaks: f.breaks}
	if f.bound == 0 {
		w.kinds = []string{} // must not affect any request
	}
	s.ledger.open(w, f.since)
	if err := f.apply(ctx, s.fleet); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	if err := pause.For(ctx, f.hold); err != nil {
		return err
	}
	mending := time.Now()
	if f.repair != nil {
		if err := s.repair(ctx, f, w); err != nil {
			return fmt.Errorf("after %s: %w", f.name, err)
		}
	}
	if err := s.revive(ctx, w); err != nil {
		return err
	}
	repaired := time.Now()
	s.ledger.closeWindow(w, f.recovery)
	if err := s.recover(ctx, repaired); err != nil {
		if err := s.revive(ctx, w); err != nil { // if Triton hung before the fault, the fault was not the only cause
			return err
		}
		repaired = time.Now()
		s.ledger.closeWindow(w, f.recovery)
		if err := s.recover(ctx, repaired); err != nil {
			s.broken = append(s.broken, fmt.Sprintf("%s: %v", f.name, err))
		}
	}
	e := s.ledger.effectOf(w, repaired)
	s.note(f, e, repaired.Sub(mending))
	s.sayf("%s: %d requests failed, at most %.1f s after the fault or the request's start; %s; requests of all kinds succeeded again %.1f s after the repair",
		f.name, e.failed, e.slowest.Seconds(), e.text(), time.Since(repaired).Seconds())
	return ctx.Err()
}

// repair repairs a fault. If Triton ended or hung meanwhile, it revives Triton and repairs the fault
// again.
func (s *soak) repair(ctx context.Context, f *fault, w *window) error {
	err := f.repair(ctx, s.fleet)
	if err == nil {
		return nil
	}
	before := s.crashes + s.hangs
	if gone := s.revive(ctx, w); gone != nil {
		return gone
	}
	if s.crashes+s.hangs == before {
		return err
	}
	return f.repair(ctx, s.fleet)
}

func (s *soak) recover(ctx context.Context, since time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, recoveryLimit)
	defer cancel()
	return s.ledger.recovered(ctx, names(), since)
}

func (e effect) text() string {
	if e.last < 0 {
		return "none of them started after the repair"
	}
	return fmt.Sprintf("the last of them started %.1f s after the repair", e.last.Seconds())
}

// note adds a fault to its row.
func (s *soak) note(f *fault, e effect, repair time.Duration) {
	i := slices.IndexFunc(s.rows, func(r *row) bool { return r.fault.name == f.name })
	if i < 0 {
		s.rows = append(s.rows, &row{fault: *f, effect: effect{last: -1}})
		i = len(s.rows) - 1
	}
	r := s.rows[i]
	r.times++
	r.failed += e.failed
	r.repair = max(r.repair, repair)
	r.effect.slowest, r.effect.last = max(r.effect.slowest, e.slowest), max(r.effect.last, e.last)
}

// revive restarts a Triton that has ended or hangs without a fault, as 2.51 does sometimes when
// many requests are cancelled at once. The fault's window is then extended to all requests until
// Triton is back.
func (s *soak) revive(ctx context.Context, w *window) error {
	what := "has ended"
	select {
	case <-s.fleet.ended():
		s.crashes++
	default:
		err := s.fleet.answers(ctx)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if s.fleet.gone(time.Second) {
			s.crashes++
		} else {
			s.hangs++
			what = fmt.Sprintf("hangs (%v)", err)
		}
	}
	s.sayf("%s %s without a fault and is restarted", s.fleet.host(), what)
	s.ledger.extendWindow(w, inactivityBound, s.fleet.local)
	return s.fleet.restart(ctx)
}

// wait waits without a fault. If Triton ends by itself, as 2.51 does sometimes when requests are
// cancelled, this is recorded as a separate fault.
func (s *soak) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.fleet.ended():
	}
	s.crashes++
	return s.fault(ctx, &fault{
		name: s.fleet.host() + " ended without a fault", breaks: s.fleet.local, since: inactivityBound, bound: 2 * inactivityBound, recovery: shortRecovery, // Triton may hang before it ends
		apply:  func(context.Context, *fleet) error { return nil },
		repair: func(ctx context.Context, f *fleet) error { return f.restart(ctx) },
	})
}

// settle is the time that connections have to end after the last request.
const settle = 5 * time.Second

// idle waits until Trident is idle, and measures its footprint.
func (s *soak) idle(ctx context.Context) (footprint, error) {
	s.fleet.target.Load().http.CloseIdleConnections()
	if err := pause.For(ctx, settle); err != nil {
		return footprint{}, err
	}
	return s.fleet.trident.footprint(ctx)
}

// terminate stops Trident under load. Requests that can end in time do; all others get an error.
func (s *soak) terminate(ctx context.Context) error {
	load := startLoad(ctx, s.ledger, &s.fleet.target, s.options.Streams)
	if err := s.wait(ctx, tokens*pace); err != nil {
		load.stop()
		return err
	}
	w := &window{fault: "SIGTERM", cuts: true, bound: shutdownTimeout + atOnce}
	s.ledger.open(w, 0)
	began := time.Now()
	err := s.fleet.trident.terminate(shutdownTimeout + atOnce)
	s.stopped = time.Since(began)
	load.stop()
	if err != nil {
		s.broken = append(s.broken, err.Error())
	}
	e := s.ledger.effectOf(w, began)
	s.sayf("SIGTERM: Trident ended after %.1f s, and %d requests failed", s.stopped.Seconds(), e.failed)
	return nil
}

// report prints the tables, and returns an error if there are unexplained failures.
func (s *soak) report() error {
	s.broken = append(s.broken, s.ledger.verdict()...)
	if s.fleet.local && s.crashes+s.hangs > 0 {
		s.broken = append(s.broken, "Trident ended or hung without a fault: see its log "+s.fleet.trident.logPath)
	}
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nfault\ttimes\tfailed requests\tmax time to error\tstart of last failed request after repair\ttime to repair\n") //nolint:errcheck // shown at the end
	for _, r := range s.rows {
		last := "none"
		if r.effect.last >= 0 {
			last = fmt.Sprintf("%.1f s", r.effect.last.Seconds())
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%.1f s\t%s\t%.1f s\n", r.fault.name, r.times, r.failed, r.effect.slowest.Seconds(), last, r.repair.Seconds()) //nolint:errcheck // shown at the end
	}
	fmt.Fprintf(table, "\nrequests\tanswered\tdisconnected\terror\tcut off\twrong\tmixed\tlate\tlongest response\n") //nolint:errcheck // shown at the end
	for _, k := range kinds() {
		c := s.ledger.counts[k.name]
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f s\n", k.name, c[answered], c[left], c[refused], c[cutOff], c[wrong], c[mixed], c[late], s.ledger.longest[k.name].Seconds()) //nolint:errcheck // shown at the end
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "\n%d requests, at most %d concurrent; errors by code: %v\n", s.ledger.begun, s.ledger.most, s.ledger.codes)                                          //nolint:errcheck // a terminal
	fmt.Fprintf(s.out, "before: %s\nafter:  %s\n", s.before, s.after)                                                                                                        //nolint:errcheck // a terminal
	fmt.Fprintf(s.out, "%s ended %d times and hung %d times without a fault; Trident ended %.1f s after SIGTERM\n", s.fleet.host(), s.crashes, s.hangs, s.stopped.Seconds()) //nolint:errcheck // a terminal
	if err := s.reportMixed(); err != nil {
		return err
	}
	if len(s.broken) > 0 {
		return fmt.Errorf("%d checks failed:\n%s", len(s.broken), strings.Join(s.broken, "\n"))
	}
	_, err := fmt.Fprintf(s.out, "all checks passed in %s\n", time.Since(s.began).Round(time.Second))
	return err
}

// shownMixed is the maximum number of log lines in the report about responses to another request.
const shownMixed = 20

// reportMixed reports how many responses Triton sent to another request, and to which requests they
// belonged. Trident withholds them from the client, so this is not Trident's failure.
func (s *soak) reportMixed() error {
	lines, err := s.fleet.trident.lines(0, "msg", logMixed)
	if err != nil {
		return err
	}
	told := 0
	for _, counts := range s.ledger.counts {
		told += counts[mixed]
	}
	fmt.Fprintf(s.out, "responses that Triton sent to another request: %g by Trident's metric before the stop, %d in Trident's log, %d reported to clients\n", s.mixed, len(lines), told) //nolint:errcheck // a terminal
	for _, line := range lines[:min(len(lines), shownMixed)] {
		fmt.Fprint(s.out, line) //nolint:errcheck // a terminal
	}
	return nil
}

// mixed returns the number of responses that Triton sent to another request, as Trident counts them.
func (t *trident) mixed(ctx context.Context) (float64, error) {
	page, err := get(ctx, t.url+"/metrics")
	if err != nil {
		return 0, err
	}
	return figure(page, "trident_triton_responses_mixed_total")
}
