package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// compareCommand compares the trident of a commit with that of the working tree.
type compareCommand struct {
	Base     string   `arg:"" help:"Commit to compare with, such as HEAD, a branch or a hash."`
	Rounds   int      `default:"9" help:"Number of rounds. With fewer than 6 there is no 95% interval, so that every verdict is unknown."`
	Scenario []string `placeholder:"NAME" help:"Measure only this scenario, such as flat-64; repeatable."`
	Trident  string   `default:"bin/trident" help:"Path of the trident binary of the working tree."`
	JSON     string   `name:"json" placeholder:"FILE" help:"File to write the report to, as JSON with the figures of each round."`
}

// Run builds the base, measures both binaries, and prints the report. It returns an
// error if a figure is worse.
func (c *compareCommand) Run(ctx context.Context) error {
	runtime.LockOSThread() // the kernel ends the children with the thread that started them
	cmp, err := newComparison(c, os.Stderr)
	if err != nil {
		return err
	}
	if err := cmp.prepare(ctx); err != nil {
		return err
	}
	if err := cmp.run(ctx); err != nil {
		return err
	}
	return cmp.write(os.Stdout)
}

// compareFolder is the folder of all files of a comparison, relative to the working
// directory.
const compareFolder = ".cache/bench-compare"

// The two sides of a comparison.
const (
	sideBase = iota
	sideTree
	sides
)

// comparison measures two binaries with the same driver and the same models.
type comparison struct {
	options  *compareCommand
	progress io.Writer
	trials   []trial
	binaries [sides]string
	report   comparisonReport

	shared *fleet // the models, tritonserver and the drivers
	fleets [sides]*fleet

	began       time.Time
	done, steps int // finished steps, and number of all steps: a step is a trial or a start
}

func newComparison(c *compareCommand, progress io.Writer) (*comparison, error) {
	b := &comparison{options: c, progress: progress}
	for _, t := range trials() {
		if len(c.Scenario) == 0 || slices.Contains(c.Scenario, t.scenario) {
			b.trials = append(b.trials, t)
		}
	}
	if c.Rounds < 1 {
		return nil, fmt.Errorf("--rounds: must be at least 1, not %d", c.Rounds)
	}
	for _, name := range c.Scenario {
		if !slices.ContainsFunc(b.trials, func(t trial) bool { return t.scenario == name }) {
			return nil, fmt.Errorf("--scenario: unknown scenario %q: use one of %q", name, comparedScenarios())
		}
	}
	if _, err := os.Stat(c.Trident); err != nil {
		return nil, fmt.Errorf("--trident: %w: run make build", err)
	}
	b.steps = c.Rounds * (len(b.trials) + 1)
	return b, nil
}

// prepare puts both binaries into the comparison's folder. It copies the working tree's
// binary, so that a later build doesn't change the measured one.
func (b *comparison) prepare(ctx context.Context) error {
	base, err := resolveCommit(ctx, b.options.Base)
	if err != nil {
		return err
	}
	folder, err := filepath.Abs(compareFolder)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	for side := range sides {
		b.binaries[side] = filepath.Join(folder, "trident-"+sideName(side))
	}
	if err := copyProgram(b.options.Trident, b.binaries[sideTree]); err != nil {
		return err
	}
	b.printf("Building %s in a temporary worktree.\n", base)
	if err := base.build(ctx, folder, b.binaries[sideBase]); err != nil {
		return err
	}
	if err := checkFlags(ctx, base, b.binaries[sideBase]); err != nil {
		return err
	}
	b.report.Base = base
	for side, binary := range b.binaries {
		if b.report.Versions[side], err = versionOf(ctx, binary); err != nil {
			return err
		}
	}
	return nil
}

func copyProgram(from, to string) error {
	all, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.WriteFile(to, all, 0o700) //nolint:gosec // an executable file
}

// run measures all rounds. All processes have ended when it returns.
func (b *comparison) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, b.stop()) }() //nolint:contextcheck // it runs after the context has ended
	b.began = time.Now()
	b.report.begin(b)
	for i := range b.options.Rounds {
		if err := b.round(ctx, i); err != nil {
			return err
		}
	}
	b.report.finish(time.Since(b.began))
	return nil
}

// pairs is the number of measurements of each side, base and tree, in a round of a comparison.
const pairs = 3

// turnsOf returns the order in which a round measures the two sides: AB BA AB in even rounds, BA AB
// BA in odd rounds. A drift of the machine then affects both sides equally.
func turnsOf(round int) []int {
	var turns []int
	for i := range pairs {
		if (round+i)%2 == 0 {
			turns = append(turns, sideBase, sideTree)
		} else {
			turns = append(turns, sideTree, sideBase)
		}
	}
	return turns
}

// round restarts all processes, so that rounds are independent, and measures each trial.
func (b *comparison) round(ctx context.Context, number int) error {
	if err := b.stop(); err != nil { //nolint:contextcheck // the stop must complete even after the context ends
		return err
	}
	turns := turnsOf(number)
	if err := b.launch(ctx, turns[:sides]); err != nil {
		return err
	}
	b.step(number, "started")
	for i := range b.trials {
		t := &b.trials[i]
		got, err := b.turns(ctx, t, turns)
		if err != nil {
			return err
		}
		b.report.add(i, got)
		b.step(number, t.scenario+" "+t.engine)
	}
	return nil
}

func sideName(side int) string { return [sides]string{"base", "tree"}[side] }

// turns measures the work of a trial on both sides, in the order of the argument turns. Each side
// does the work once before that, because the first requests of a process are slower.
func (b *comparison) turns(ctx context.Context, t *trial, turns []int) (got [sides][]sample, err error) {
	for i, side := range slices.Concat(turns[:sides], turns) {
		c := b.fleets[side].column(t.column)
		j := t.job
		j.Address, j.Path = c.address, c.path
		s, err := c.measure(ctx, &j)
		if err != nil {
			return got, fmt.Errorf("%s, %s %s: %w", sideName(side), t.scenario, t.engine, err)
		}
		if i >= sides {
			got[side] = append(got[side], s)
		}
	}
	return got, nil
}

// step prints the finished step and an estimate of the remaining time.
func (b *comparison) step(round int, what string) {
	b.done++
	left := remaining(time.Since(b.began), b.done, b.steps)
	b.printf("round %d of %d, %s: %s left\n", round+1, b.options.Rounds, what, left)
}

// remaining extrapolates from the steps done.
func remaining(took time.Duration, done, steps int) time.Duration {
	return (took * time.Duration(steps-done) / time.Duration(done)).Round(time.Second)
}

func (b *comparison) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(b.progress, format, args...) // progress output only
}

// launch starts all processes and waits until they are ready. It must be called on a thread
// that lives as long as the comparison.
func (b *comparison) launch(ctx context.Context, first []int) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	b.shared = &fleet{folder: filepath.Join(compareFolder, "run")}
	repository, err := b.shared.repository(ctx, false)
	if err != nil {
		return err
	}
	if err := b.shared.startTriton(ctx, repository); err != nil {
		return err
	}
	driver, err := b.shared.startSelf("driver", "driver")
	if err != nil {
		return err
	}
	caller, err := b.shared.startSelf("bare", "bare", b.shared.triton.GRPC())
	if err != nil {
		return err
	}
	for _, side := range first {
		f := &fleet{folder: filepath.Join(b.shared.folder, sideName(side))}
		b.fleets[side] = f
		if err := f.startPair(ctx, callers{&worker{driver}, &worker{caller}}, b.binaries[side], repository, b.shared.triton.GRPC()); err != nil {
			return fmt.Errorf("%s: %w", sideName(side), err)
		}
	}
	return nil
}

// callers are the processes that call a server: the HTTP driver and the bare gRPC client.
type callers struct{ driver, bare *worker }

// startPair starts a binary with both engines.
func (f *fleet) startPair(ctx context.Context, c callers, binary, repository, triton string) error {
	if err := os.MkdirAll(f.folder, 0o750); err != nil {
		return err
	}
	inProcess, err := f.trident(ctx, c.driver, binary, colLocal, "--model-repository="+repository)
	if err != nil {
		return err
	}
	remote, err := f.trident(ctx, c.driver, binary, colRemote, "--triton-endpoint="+triton)
	if err != nil {
		return err
	}
	f.columns = []*column{inProcess, remote, inProcess.calledBy(c.bare, colLocalRPC), remote.calledBy(c.bare, colRemoteRPC)}
	return nil
}

// stop ends all processes, and tritonserver after its clients.
func (b *comparison) stop() error {
	var err error
	for _, f := range append(b.fleets[:], b.shared) {
		if f != nil {
			err = errors.Join(err, f.stop())
		}
	}
	b.shared, b.fleets = nil, [sides]*fleet{}
	return err
}
