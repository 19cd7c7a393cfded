package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/trident-inference/trident/test/pause"
)

// manySoak is the state of a run of the soak test of several servers.
type manySoak struct {
	options options
	many    *many
	ledger  *ledger
	out     io.Writer
	began   time.Time
	load    *load
	rows    []*manyRow
	uneven  []string // results of the measurements of the servers' shares
	crashes int      // number of servers that ended without a fault
	broken  []string

	mu      sync.Mutex
	failed  []sample // requests that ended with an error
	slowest []sample // requests with a late first token
	down    []*window
}

// manyRow is the effect of a fault.
type manyRow struct {
	fault              string
	server             int           // 0 for all
	stays              bool          // the server must stay in
	out, back          time.Duration // time until Trident took the server out (0 if it mustn't), and in again after it was ready
	begun, unbegun     int           // failed requests of generations, with and without a response
	tensors            int           // failed requests of tensors
	repeats            float64
	toError, firstText time.Duration // longest time to an error, and to a first token while the server was out (0 if all were fast)
}

func (s *manySoak) sayf(format string, args ...any) {
	fmt.Fprintf(s.out, "%6.0f s  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...)) //nolint:errcheck // a terminal
}

func (s *manySoak) breakf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.broken = append(s.broken, text)
	s.sayf("FAILED: %s", text)
}

// note records a request that failed or whose first token was late.
func (s *manySoak) note(r sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.ending.how == refused || r.ending.how == cutOff {
		s.failed = append(s.failed, r)
	}
	if r.kind.shows() && !r.first.IsZero() && r.first.Sub(r.from) > firstLimit/4 {
		s.slowest = append(s.slowest, r)
	}
}

// run runs the test. It prints the report even if the test fails early.
func (s *manySoak) run(ctx context.Context) error {
	s.load = &load{ledger: s.ledger, target: &s.many.target, note: s.note}
	s.load.start(ctx, manyKinds(), s.options.Streams)
	err := s.all(ctx)
	s.load.stop()
	return errors.Join(err, s.report(ctx))
}

func (s *manySoak) all(ctx context.Context) error {
	s.sayf("started %d servers and Trident, %d streams", serverCount, s.options.Streams)
	if err := s.even(ctx, "before the faults"); err != nil {
		return err
	}
	began := time.Now()
	for round := 0; round == 0 || time.Since(began) < s.options.Duration; round++ {
		if err := s.round(ctx, round); err != nil {
			return err
		}
	}
	return s.even(ctx, "after the faults")
}

// round injects each fault at some servers in turn, and stops all servers at the end.
func (s *manySoak) round(ctx context.Context, round int) error {
	for each := range min(s.options.Each, serverCount) {
		for i, f := range manyFaults() {
			if !s.options.wants(f.name) {
				continue
			}
			if err := s.fault(ctx, &f, s.many.servers[(i+each+round)%serverCount]); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			if err := pause.For(ctx, s.options.Calm); err != nil {
				return err
			}
		}
	}
	if !s.options.wants(allDown) {
		return nil
	}
	return s.allDown(ctx)
}

// attempts is the number of times that a fault is injected if a server ends by itself meanwhile, as
// Triton 2.51 does sometimes when requests are cancelled.
const attempts = 3

// fault injects a fault.
func (s *manySoak) fault(ctx context.Context, f *manyFault, at *server) error {
	for attempt := 1; ; attempt++ {
		w := &window{fault: f.name, kinds: f.kinds, bound: f.bound}
		if f.bound == 0 {
			w.kinds = []string{} // must not affect any request
		}
		broken, rows := len(s.broken), len(s.rows)
		err := s.inject(ctx, f, at, w)
		crashed, reviveErr := s.reviveCrashed(ctx, w)
		if !crashed || reviveErr != nil || attempt == attempts {
			return errors.Join(err, reviveErr)
		}
		s.broken, s.rows = s.broken[:broken], s.rows[:rows]
		s.sayf("%s is injected again", f.name)
		if err := s.allServe(ctx); err != nil {
			return err
		}
	}
}

// allServe waits until all servers get requests, and for the calm after it.
func (s *manySoak) allServe(ctx context.Context) error {
	for _, one := range s.many.servers {
		if _, ok, err := s.many.until(ctx, one, readyTimeout, (*seen).serves); err != nil || !ok {
			return cmp.Or(err, fmt.Errorf("%s isn't in", one))
		}
	}
	return pause.For(ctx, s.options.Calm)
}

// inject injects a fault, holds it, repairs it, and checks that Trident takes the server out and in.
func (s *manySoak) inject(ctx context.Context, f *manyFault, at *server, w *window) error {
	row := &manyRow{fault: f.name, server: at.number, stays: f.stays}
	before, err := s.many.endpoints(ctx)
	if err != nil {
		return err
	}
	s.ledger.open(w, 0)
	began := time.Now()
	if err := f.apply(ctx, s.many, at); err != nil {
		return err
	}
	if err := s.hold(ctx, f, at, row, began); err != nil {
		return err
	}
	if err := f.repair(ctx, s.many, at); err != nil {
		return err
	}
	repaired := time.Now()
	if err := s.back(ctx, f, at, row); err != nil {
		return err
	}
	s.ledger.closeWindow(w, 0)
	after, err := s.many.endpoints(ctx)
	if err != nil {
		return err
	}
	for address, one := range after {
		row.repeats += max(one.repeats-before[address].repeats, 0)
	}
	if !f.out {
		s.served(f, at, row, began)
	}
	if address := at.address(); f.stays && after[address].out > before[address].out {
		s.breakf("%s %s: it was taken out", at, f.name)
	}
	s.rows = append(s.rows, row)
	if err := s.recovered(ctx, repaired); err != nil {
		return err
	}
	s.judge(row, w)
	s.sayf("%s", row)
	return nil
}

// hold waits until the server is out as the fault demands, and then until the end of the fault. While
// the server is out it must get no request.
func (s *manySoak) hold(ctx context.Context, f *manyFault, at *server, row *manyRow, began time.Time) error {
	limit, what, met := outLimit, "out", func(e *seen) bool { return e.state == "out" }
	if f.gone {
		limit, what, met = nameLimit, "gone", func(e *seen) bool { return e.state == "" }
	}
	if !f.out && !f.gone {
		return pause.For(ctx, f.hold)
	}
	_, ok, err := s.many.until(ctx, at, limit+10*time.Second, met)
	if row.out = time.Since(began); err != nil || !ok {
		return cmp.Or(err, fmt.Errorf("%s isn't %s", at, what))
	}
	if row.out > limit {
		s.breakf("%s %s: %s after %.1f s, not within %s", at, f.name, what, row.out.Seconds(), limit)
	}
	if err := pause.For(ctx, 2*lookPause); err != nil { // for requests that chose before
		return err
	}
	from := time.Now()
	first, err := s.many.endpoints(ctx)
	if err != nil {
		return err
	}
	if err := pause.For(ctx, f.hold-time.Since(began)); err != nil {
		return err
	}
	last, err := s.many.endpoints(ctx)
	if err != nil {
		return err
	}
	to := time.Now()
	if n := last[at.address()].requests - first[at.address()].requests; n > 0 {
		s.breakf("%s %s: %g requests were sent to it while it was out", at, f.name, n)
	}
	if row.firstText = s.slowestBetween(from, to); row.firstText > firstLimit {
		s.breakf("%s %s: a request that started while it was out got its first token after %.1f s", at, f.name, row.firstText.Seconds())
	}
	return nil
}

// served checks that the requests of a fault without a time out were served in time.
func (s *manySoak) served(f *manyFault, at *server, row *manyRow, began time.Time) {
	if row.firstText = s.slowestBetween(began, time.Now()); row.firstText > firstLimit {
		s.breakf("%s %s: a request got its first token after %.1f s", at, f.name, row.firstText.Seconds())
	}
}

// slowestBetween returns the longest time to a first token of requests that started in a time. It is
// 0 if all were fast.
func (s *manySoak) slowestBetween(from, to time.Time) (slowest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.slowest {
		if r.from.After(from) && r.from.Before(to) {
			slowest = max(slowest, r.first.Sub(r.from))
		}
	}
	return slowest
}

// back waits until the server gets requests again.
func (s *manySoak) back(ctx context.Context, f *manyFault, at *server, row *manyRow) error {
	limit := backLimit
	if f.gone {
		limit = nameLimit
	}
	if f.model != "" {
		return s.modelBack(ctx, f, at, row)
	}
	all, err := s.many.endpoints(ctx)
	if err != nil {
		return err
	}
	had := all[at.address()].requests
	took, ok, err := s.many.until(ctx, at, limit+10*time.Second, func(e *seen) bool { return e.serves() && e.requests > had })
	if row.back = took; err != nil || !ok {
		return cmp.Or(err, fmt.Errorf("%s gets no requests %s after it was ready", at, took.Round(time.Second)))
	}
	if took > limit {
		s.breakf("%s %s: back %.1f s after it was ready, not within %s", at, f.name, took.Seconds(), limit)
	}
	return nil
}

// modelBack waits until the server has completed a request of the model that was away. The time
// until it got the request is shorter by the length of a response.
func (s *manySoak) modelBack(ctx context.Context, f *manyFault, at *server, row *manyRow) error {
	began := time.Now()
	had, err := at.served(ctx, f.model)
	if err != nil {
		return err
	}
	for n := had; n <= had; {
		if row.back = time.Since(began) - manyLength; row.back > 3*backLimit {
			return fmt.Errorf("%s got no request of %s for %s after it was ready", at, f.model, row.back.Round(time.Second))
		}
		if err := pause.For(ctx, lookPause); err != nil {
			return err
		}
		if n, err = at.served(ctx, f.model); err != nil {
			return err
		}
	}
	if row.back > backLimit {
		s.breakf("%s %s: back %.1f s after it was ready, not within %s", at, f.name, row.back.Seconds(), backLimit)
	}
	return nil
}

// recovered waits until a request of each kind that started after a repair has succeeded.
func (s *manySoak) recovered(ctx context.Context, since time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, recoveryLimit)
	defer cancel()
	var kinds []string
	for _, k := range manyKinds() {
		kinds = append(kinds, k.name)
	}
	return s.ledger.recovered(ctx, kinds, since)
}

// judge counts the requests that failed in a window.
func (s *manySoak) judge(row *manyRow, w *window) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.failed {
		f := r.failure()
		if !w.overlaps(f) {
			continue
		}
		row.toError = max(row.toError, w.toError(f))
		switch {
		case r.kind.name == kindKServe:
			row.tensors++
		case r.kind.shows() && r.first.IsZero():
			row.unbegun++
		default:
			row.begun++
		}
	}
}

// reviveCrashed starts servers again that have ended without a fault. That explains all failures since
// the fault before the one of the window.
func (s *manySoak) reviveCrashed(ctx context.Context, w *window) (crashed bool, err error) {
	gone := &window{fault: "ended without a fault", bound: inactivityBound}
	for _, one := range s.many.servers {
		if !one.crashed() {
			continue
		}
		if !crashed {
			crashed = true
			s.ledger.open(gone, time.Since(w.from)+s.options.Calm+inactivityBound)
			s.explain(gone)
		}
		s.crashes++
		s.sayf("%s has ended without a fault and is started again", one)
		err = errors.Join(err, one.triton.Restart(ctx))
	}
	if crashed {
		s.ledger.closeWindow(gone, shortRecovery)
	}
	return crashed, err
}

// explain makes a window explain failures of generations without a response.
func (s *manySoak) explain(w *window) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = append(s.down, w)
}

// allDown is the name of the fault that stops all servers.
const allDown = "killed at once"

// downTime is the time for which all servers are down.
const downTime = 6 * time.Second

// allDown kills all servers and starts them again.
func (s *manySoak) allDown(ctx context.Context) error {
	w, row := &window{fault: allDown, bound: atOnce}, &manyRow{fault: allDown}
	s.explain(w)
	s.ledger.open(w, 0)
	for _, one := range s.many.servers {
		if err := one.kill(); err != nil {
			return err
		}
	}
	began := time.Now()
	for _, one := range s.many.servers {
		_, ok, err := s.many.until(ctx, one, 10*time.Second, func(e *seen) bool { return e.state == "out" })
		if err != nil || !ok {
			return cmp.Or(err, fmt.Errorf("%s isn't out", one))
		}
	}
	if row.out = time.Since(began); row.out > outLimit {
		s.breakf("all servers killed: out after %.1f s, not within %s", row.out.Seconds(), outLimit)
	}
	if err := pause.For(ctx, downTime-time.Since(began)); err != nil {
		return err
	}
	var starts errgroup.Group
	backs := make([]time.Duration, serverCount)
	for i, one := range s.many.servers {
		starts.Go(func() error {
			if err := one.revive(ctx); err != nil {
				return err
			}
			took, ok, err := s.many.until(ctx, one, 2*backLimit, (*seen).serves)
			if backs[i] = took; !ok && err == nil {
				err = fmt.Errorf("%s isn't in", one)
			}
			return err
		})
	}
	if err := starts.Wait(); err != nil {
		return err
	}
	repaired := time.Now()
	if row.back = slices.Max(backs); row.back > backLimit {
		s.breakf("all servers killed: one is back %.1f s after it was ready, not within %s", row.back.Seconds(), backLimit)
	}
	s.ledger.closeWindow(w, 0)
	if err := s.recovered(ctx, repaired); err != nil {
		return err
	}
	s.judge(row, w)
	s.rows = append(s.rows, row)
	s.sayf("%s", row)
	return nil
}

// evenTime is the time in which the servers' shares are measured.
const evenTime = 15 * time.Second

// even checks that the servers have even shares of the requests while all are in.
func (s *manySoak) even(ctx context.Context, when string) error {
	for _, one := range s.many.servers {
		if _, ok, err := s.many.until(ctx, one, readyTimeout, func(e *seen) bool { return e.state == "in" }); err != nil || !ok {
			return cmp.Or(err, fmt.Errorf("%s isn't in %s", one, when))
		}
	}
	if err := pause.For(ctx, 2*manyLength); err != nil {
		return err
	}
	before, err := s.many.endpoints(ctx)
	if err != nil {
		return err
	}
	if err := pause.For(ctx, evenTime); err != nil {
		return err
	}
	after, err := s.many.endpoints(ctx)
	if err != nil {
		return err
	}
	sum, parts := 0.0, make([]float64, serverCount)
	for i, one := range s.many.servers {
		parts[i] = after[one.address()].requests - before[one.address()].requests
		sum += parts[i]
	}
	worst := 0.0
	for _, part := range parts {
		worst = max(worst, part*serverCount/sum-1, 1-part*serverCount/sum)
	}
	text := fmt.Sprintf("%s, the servers got %.0f requests in %s: at most %.1f %% from an even share", when, parts, evenTime, 100*worst)
	s.uneven = append(s.uneven, text)
	s.sayf("%s", text)
	if worst > evenLimit || sum == 0 {
		s.breakf("%s: more than %.0f %%", text, 100*evenLimit)
	}
	return nil
}

// cells are the columns of the row in the report, after the fault and the server.
func (r *manyRow) cells() []any {
	out, first := "not checked", "< 0.5 s"
	if r.stays {
		out = "stays in"
	}
	if r.out > 0 {
		out = fmt.Sprintf("%.1f s", r.out.Seconds())
	}
	if r.firstText > 0 {
		first = fmt.Sprintf("%.1f s", r.firstText.Seconds())
	}
	return []any{out, r.back.Seconds(), r.unbegun, r.begun, r.tensors, r.toError.Seconds(), r.repeats, first}
}

func (r *manyRow) where() string {
	if r.server == 0 {
		return "all servers"
	}
	return fmt.Sprintf("server %d", r.server)
}

func (r *manyRow) String() string {
	return fmt.Sprintf("%s %s: ", r.where(), r.fault) + fmt.Sprintf("out: %s, back %.1f s after it was ready; failed generations without a response: %d, with one: %d, requests of tensors: %d, at most %.1f s after the fault or their start; repeats: %.0f; longest time to a first token: %s", r.cells()...)
}

// lost returns a message for each generation that failed without a response while another server
// served its model.
func (s *manySoak) lost() (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.failed {
		if !r.kind.shows() || !r.first.IsZero() || slices.ContainsFunc(s.down, func(w *window) bool { return w.overlaps(r.failure()) }) {
			continue
		}
		list = append(list, fmt.Sprintf("%s %s failed without a response although another server served its model: it started at %s and failed after %s: %v",
			r.kind.name, r.name, r.from.Format(time.TimeOnly), r.to.Sub(r.from).Round(time.Millisecond), r.ending))
	}
	return list
}

// report prints the tables, and returns an error if a check failed.
func (s *manySoak) report(ctx context.Context) error {
	s.broken = append(s.broken, s.ledger.verdict()...)
	s.broken = append(s.broken, s.lost()...)
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nfault\tserver\tout after\tback after\tfailed generations without a response\twith one\tfailed requests of tensors\tmax time to error\trepeats\tmax time to first token\n") //nolint:errcheck // shown at the end
	for _, r := range s.rows {
		fmt.Fprintf(table, "%s\t%s\t", r.fault, r.where())                             //nolint:errcheck // shown at the end
		fmt.Fprintf(table, "%s\t%.1f s\t%d\t%d\t%d\t%.1f s\t%.0f\t%s\n", r.cells()...) //nolint:errcheck // shown at the end
	}
	fmt.Fprintf(table, "\nrequests\tanswered\terror\tcut off\twrong\tmixed\tlate\tlongest response\n") //nolint:errcheck // shown at the end
	for _, k := range manyKinds() {
		c := s.ledger.counts[k.name]
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f s\n", k.name, c[answered], c[refused], c[cutOff], c[wrong], c[mixed], c[late], s.ledger.longest[k.name].Seconds()) //nolint:errcheck // shown at the end
	}
	if err := table.Flush(); err != nil {
		return err
	}
	page, err := get(ctx, s.many.trident.url+"/metrics")
	if err != nil {
		return err
	}
	budget, err := figure(page, "trident_endpoint_repeats_refused_total")
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "\n%d requests, at most %d concurrent; errors by code: %v\n%s\n%d servers ended without a fault; the budget of repeats refused %g\n", //nolint:errcheck // a terminal
		s.ledger.begun, s.ledger.most, s.ledger.codes, strings.Join(s.uneven, "\n"), s.crashes, budget)
	if len(s.broken) > 0 {
		return fmt.Errorf("%d checks failed:\n%s", len(s.broken), strings.Join(s.broken, "\n"))
	}
	_, err = fmt.Fprintf(s.out, "all checks passed in %s\n", time.Since(s.began).Round(time.Second))
	return err
}
