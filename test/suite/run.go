package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// stateDir is the folder of the files that runs leave for later runs, below the top of the source
// tree.
const stateDir = ".cache/suite"

// reportEvery is the interval of the lines that list the running packages.
const reportEvery = 30 * time.Second

// stopGrace is the time that an interrupted `go test` has to end.
const stopGrace = 20 * time.Second

// goTest runs a suite of Go tests and reports packages as they end. Its results are valid even if
// tests failed. Failed tests are not an error.
func goTest(ctx context.Context, s suite, out io.Writer) (*results, error) {
	packages, err := expand(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(stateDir, 0o750); err != nil {
		return nil, err
	}
	shown := &progress{out: out, running: map[testKey]time.Time{}}
	stop := shown.start()
	parts := s.parts(packages)
	each := make([]*results, len(parts))
	running, until := errgroup.WithContext(ctx)
	for i, part := range parts {
		each[i] = newResults()
		running.Go(func() error { return goTestPart(until, s, part, i, each[i], shown) })
	}
	err = errors.Join(running.Wait(), ctx.Err())
	stop()
	r := newResults()
	for i, part := range parts {
		r.add(each[i], part.again)
	}
	return r, err
}

// part is one call of `go test` for some packages of a suite.
type part struct {
	packages []string
	flags    []string
	again    bool // most of its tests have run in another part
}

// parallelParts is the number of parts that packages with benchmarks are divided into. With
// benchmarks `go test` runs one package after the other, and most tests wait.
const parallelParts = 3

// parts divides a suite's run into parts that run at the same time. Packages with computing tests
// run twice: with the race detector, and without it for their coverage, their benchmarks and the
// tests that skip the race detector (tier.Computes).
func (s suite) parts(packages []string) []part {
	if len(s.Computes) == 0 {
		return []part{{packages: packages, flags: s.Flags}}
	}
	var computing []string
	others := make([]part, parallelParts)
	next := 0
	for _, p := range packages {
		if slices.Contains(s.Computes, shortPackage(p)) {
			computing = append(computing, p)
			continue
		}
		lane := &others[next%parallelParts]
		lane.packages, lane.flags = append(lane.packages, p), s.Flags
		next++
	}
	return append(others[:min(next, parallelParts)],
		part{packages: computing, flags: s.without(measuring...)},
		part{packages: computing, flags: s.without("-race"), again: true},
	)
}

// measuring contains the flags of `go test` that add benchmarks and coverage to the tests.
var measuring = []string{"-cover", "-bench=.", "-benchtime=1x"} //nolint:gochecknoglobals // a constant

// without returns the suite's flags without the given ones.
func (s suite) without(flags ...string) []string {
	return slices.DeleteFunc(slices.Clone(s.Flags), func(f string) bool { return slices.Contains(flags, f) })
}

// unmeasured returns the suite with only its tests: no benchmarks and no coverage.
func (s suite) unmeasured() suite {
	s.Flags = s.without(measuring...)
	return s
}

// goTestPart runs one part and adds its results to r. The events of the first part are stored in
// the file SUITE.json, those of other parts in SUITE-2.json and so on.
func goTestPart(ctx context.Context, s suite, p part, number int, r *results, shown *progress) error {
	name := s.Name
	if number > 0 {
		name += fmt.Sprintf("-%d", number+1)
	}
	raw, err := os.Create(filepath.Join(stateDir, name+".json"))
	if err != nil {
		return err
	}
	defer raw.Close() //nolint:errcheck // a copy for people
	args := slices.Concat([]string{"test", "-json", "-count=1", fmt.Sprintf("-timeout=%s", s.Limit)}, p.flags, p.packages)
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the arguments are in suites.go
	cmd.Env = append(os.Environ(), s.Env...)
	cmd.Stderr = shown
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = stopGrace
	output, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = r.read(io.TeeReader(output, raw), func(e event) { shown.take(e, r) }, func(line string) { sayf(shown, "%s", line) })
	if ended := cmd.Wait(); ended != nil && !isExit(ended) {
		err = errors.Join(err, ended)
	} else if ended != nil && len(r.failed) == 0 {
		err = errors.Join(err, fmt.Errorf("go test failed, but no test failed: %w", ended))
	}
	return err
}

func isExit(err error) bool {
	_, is := errors.AsType[*exec.ExitError](err)
	return is
}

// expand lists a suite's packages.
func expand(ctx context.Context, s suite) ([]string, error) {
	if s.Without == "" {
		return s.Packages, nil
	}
	list, err := exec.CommandContext(ctx, "go", append([]string{"list"}, s.Packages...)...).Output() //nolint:gosec // the arguments are in suites.go
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return slices.DeleteFunc(strings.Fields(string(list)), func(p string) bool { return shortPackage(p) == s.Without }), nil
}

// progress prints a line for each package that has ended, and regularly the running packages.
// Several parts may use it concurrently.
type progress struct {
	out io.Writer

	mu      sync.Mutex
	running map[testKey]time.Time
}

// Write implements [io.Writer] for lines that aren't events.
func (p *progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(text)
}

// start prints the running packages until stop is called.
func (p *progress) start() (stop func()) {
	done := make(chan struct{})
	var printer sync.WaitGroup
	printer.Go(func() {
		tick := time.NewTicker(reportEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.printRunning()
			case <-done:
				return
			}
		}
	})
	return func() { close(done); printer.Wait() }
}

func (p *progress) printRunning() {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for key, since := range p.running {
		if took := time.Since(since); took > reportEvery/2 {
			list = append(list, fmt.Sprintf("%s %s (%.0f s)", key.Package, key.Test, took.Seconds()))
		}
	}
	if len(list) > 0 {
		slices.Sort(list)
		sayf(p.out, "...  running: %s\n", strings.Join(list, ", "))
	}
}

func (p *progress) take(e event, r *results) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := testKey{e.Package, e.Test}
	switch e.Action {
	case "run", "cont":
		// Benchmarks have no end event.
		if e.Test != "" && !strings.Contains(e.Test, "/") && !strings.HasPrefix(e.Test, "Benchmark") {
			p.running[key] = time.Now()
		}
	case "pause":
		delete(p.running, key)
	case "pass", "fail", "skip":
		delete(p.running, key)
		if e.Test == "" {
			p.printPackage(e, r)
		} else if e.Action == "fail" {
			sayf(p.out, "FAIL %s %s\n", e.Package, e.Test)
		}
	}
}

func (p *progress) printPackage(e event, r *results) {
	c := r.counts(e.Package)
	if c == (counts{}) && e.Action != "fail" {
		return // the package has no tests
	}
	covered := ""
	if percent, ok := r.Coverage[e.Package]; ok {
		covered = fmt.Sprintf(", coverage %.1f %%", percent)
	}
	word := map[string]string{"pass": "ok  ", "fail": "FAIL", "skip": "skip"}[e.Action]
	sayf(p.out, "%s %-36s %6.1f s  %s%s\n", word, e.Package, e.Elapsed, c, covered)
}

// report prints failures, the slowest tests and the counts, the counts last: `N passed,
// N failed, N skipped`.
func report(out io.Writer, r *results, took time.Duration) {
	for _, failure := range r.failures() {
		sayf(out, "\n%s", failure)
	}
	sayf(out, "\nThe ten slowest tests:\n")
	for _, key := range r.slowest(10) {
		sayf(out, "%7.1f s  %s %s\n", r.Tests[key].Elapsed.Seconds(), key.Package, key.Test)
	}
	sayf(out, "\ntests with subtests, in %s:\n%s\n", took.Round(time.Second), r.counts(""))
}
