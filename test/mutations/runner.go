package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// verdict is the result of the tests with a mutation, a deliberate defect in the code.
type verdict string

const (
	caughtByTest   verdict = "caught"
	survived       verdict = "survived"
	notApplicable  verdict = "does not apply"
	notBuilt       verdict = "does not build"
	timedOut       verdict = "timed out"
	noTest         verdict = "no test runs"
	allSkipped     verdict = "tests are skipped"
	failedOutside  verdict = "failed outside of a test"
	passedBaseline verdict = "tests pass"
	failedBaseline verdict = "tests fail without a mutation"
	interrupted    verdict = "interrupted"
)

// result reports whether the tests caught one mutation, and how.
type result struct {
	mutation *mutation
	verdict  verdict
	failed   []string // names of the tests that caught the mutation
	took     time.Duration
	detail   string // reason why no test caught the mutation
}

// String returns lines for the log.
func (res *result) String() string {
	by := ""
	if res.verdict == caughtByTest {
		by = " by " + res.failed[0]
	}
	return fmt.Sprintf("%s: %s%s (%.1f s)\n%s", res.mutation.name, res.verdict, by, res.took.Seconds(), indented(res.detail))
}

// runner runs tests with and without mutations. Its methods may be called concurrently.
type runner struct {
	root    string // absolute path of the source tree
	timeout time.Duration
	env     []string // environment of the go command, without GOFLAGS
	goflags string
	scratch string // the folder for all files of a run

	mu  sync.Mutex // guards log
	log io.Writer
}

func newRunner(ctx context.Context, root string, timeout time.Duration, log io.Writer) (*runner, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	goflags, err := exec.CommandContext(ctx, "go", "env", "GOFLAGS").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOFLAGS: %w", err)
	}
	scratch, err := os.MkdirTemp("", "mutations-")
	if err != nil {
		return nil, err
	}
	// The temporary files of a killed test are removed with the folder.
	env := append(slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "TRIDENT_TEST_") }), "TMPDIR="+scratch)
	return &runner{
		root: root, timeout: timeout, env: env, goflags: strings.TrimSpace(string(goflags)), scratch: scratch, log: log,
	}, nil
}

// close removes all files of the runs.
func (r *runner) close() error { return os.RemoveAll(r.scratch) }

// run checks that the tests detect the mutations, jobs of them at a time. It returns a result for each mutation, in the
// order of the mutations. The tests must first pass without a mutation.
func (r *runner) run(ctx context.Context, all []*mutation, jobs int) []result {
	var packages []string
	for _, m := range all {
		if !slices.Contains(packages, m.pkg) {
			packages = append(packages, m.pkg)
		}
	}
	baselines := make([]verdict, len(packages))
	parallel(len(packages), jobs, func(i int) { baselines[i] = r.baseline(ctx, packages[i], all) })
	results := make([]result, len(all))
	var done atomic.Int64
	parallel(len(all), jobs, func(i int) {
		m := all[i]
		if v := baselines[slices.Index(packages, m.pkg)]; v != passedBaseline {
			results[i] = result{mutation: m, verdict: v}
			return
		}
		began := time.Now()
		results[i] = r.try(ctx, m)
		results[i].took = time.Since(began)
		if results[i].verdict != interrupted {
			r.logf("%d of %d: %s", done.Add(1), len(all), results[i].String())
		}
	})
	return results
}

// parallel calls the function do with the numbers 0 to n-1, at most jobs calls at the same time.
func parallel(n, jobs int, do func(i int)) {
	var running sync.WaitGroup
	slots := make(chan struct{}, jobs)
	for i := range n {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
	running.Wait()
}

// baseline runs the tests of all mutations that name the package, without a mutation.
func (r *runner) baseline(ctx context.Context, pkg string, all []*mutation) verdict {
	var expressions []string
	for _, m := range all {
		if m.pkg == pkg && !slices.Contains(expressions, m.run) {
			expressions = append(expressions, m.run)
		}
	}
	began := time.Now()
	report := r.test(ctx, "", pkg, strings.Join(expressions, "|"))
	v, outcome := failedBaseline, "tests fail"
	switch got := report.verdict(ctx); got {
	case survived:
		v, outcome, report.output = passedBaseline, "tests pass", ""
	case caughtByTest:
	case interrupted:
		return got
	default:
		outcome = string(got)
	}
	r.logf("%s without a mutation: %s (%.1f s)\n%s", pkg, outcome, time.Since(began).Seconds(), indented(report.output))
	return v
}

// try tests one mutation.
func (r *runner) try(ctx context.Context, m *mutation) result {
	overlay, err := r.overlay(m)
	if err != nil {
		return result{mutation: m, verdict: notApplicable, detail: err.Error()}
	}
	// A test in test/e2e builds the binary itself. A failure of that build must not count as a failed test.
	build := r.command(ctx, overlay, "build", "-o", os.DevNull, "./"+path.Dir(m.file))
	if out, err := build.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return result{mutation: m, verdict: interrupted}
		}
		return result{mutation: m, verdict: notBuilt, detail: string(out)}
	}
	report := r.test(ctx, overlay, m.pkg, m.run)
	res := result{mutation: m, verdict: report.verdict(ctx), failed: report.failed}
	switch res.verdict {
	case survived, caughtByTest, interrupted: // these need no explanation
	default:
		res.detail = report.output
	}
	return res
}

// overlay writes the mutated file and returns the path of the go command's overlay with it.
func (r *runner) overlay(m *mutation) (string, error) {
	content, err := m.apply(r.root)
	if err != nil {
		return "", err
	}
	mutated, overlay := filepath.Join(r.scratch, m.name+".go"), filepath.Join(r.scratch, m.name+".json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(r.root, m.file): mutated}})
	if err != nil {
		return "", err
	}
	return overlay, errors.Join(os.WriteFile(mutated, []byte(content), 0o600), os.WriteFile(overlay, replace, 0o600))
}

// killDelay is the time that the go command and its tests have to end after an interrupt.
const killDelay = 10 * time.Second

// command returns a go command that uses the overlay; "" means no overlay. The commands that its tests run use the
// overlay too. The end of the context interrupts the command and all its children.
func (r *runner) command(ctx context.Context, overlay string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // our own arguments
	goflags := r.goflags
	if overlay != "" {
		goflags += " '-overlay=" + overlay + "'"
	}
	cmd.Dir, cmd.Env = r.root, append(slices.Clone(r.env), "GOFLAGS="+goflags)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = killDelay
	return cmd
}

// report is the parsed output of go test.
type report struct {
	ran, passed int
	failed      []string // the failed tests, except those that failed because of a subtest
	notBuilt    bool
	timedOut    bool
	err         error  // error of the go command
	output      string // output of the tests and of the go command
}

// event has the fields of a line of go test -json that the report needs.
type event struct {
	Action string `json:"Action"`
	Test   string `json:"Test"`
	Output string `json:"Output"`
}

// test runs the tests of a package.
func (r *runner) test(ctx context.Context, overlay, pkg, run string) report {
	cmd := r.command(ctx, overlay, "test", "-json", "-vet=off", "-count=1", "-timeout="+r.timeout.String(), "-run="+run, pkg)
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	rep := report{err: cmd.Run()}
	if ctx.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // kills what ignored the interrupt
	}
	rep.read(&out)
	rep.output += messages.String()
	return rep
}

func (rep *report) read(out io.Reader) {
	var output strings.Builder
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) != nil {
			output.Write(line)
		}
		output.WriteString(e.Output)
		switch {
		case e.Action == "build-fail":
			rep.notBuilt = true
		case strings.HasPrefix(e.Output, "panic: test timed out after "):
			rep.timedOut = true
		case e.Test == "":
		case e.Action == "run":
			rep.ran++
		case e.Action == "pass":
			rep.passed++
		case e.Action == "fail":
			rep.failed = append(rep.failed, e.Test)
		}
		if err != nil {
			break
		}
	}
	rep.output = output.String()
	all := slices.Clone(rep.failed)
	rep.failed = slices.DeleteFunc(rep.failed, func(name string) bool {
		return slices.ContainsFunc(all, func(other string) bool { return strings.HasPrefix(other, name+"/") })
	})
}

func (rep *report) verdict(ctx context.Context) verdict {
	switch {
	case ctx.Err() != nil:
		return interrupted
	case rep.notBuilt:
		return notBuilt
	case rep.timedOut:
		return timedOut
	case len(rep.failed) > 0:
		return caughtByTest
	case rep.err != nil:
		return failedOutside
	case rep.ran == 0:
		return noTest
	case rep.passed == 0:
		return allSkipped
	}
	return survived
}

// maxDetail is the maximum length of logged output, in bytes.
const maxDetail = 4 << 10

// indented returns the first lines of an output.
func indented(output string) string {
	if len(output) > maxDetail {
		output = output[:maxDetail] + "..."
	}
	var b strings.Builder
	for line := range strings.Lines(output) {
		b.WriteString("    " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}

func (r *runner) logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.log, format, args...) //nolint:errcheck // progress: the table has all that matters
}
