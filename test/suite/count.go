package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// countCommand runs Go tests that aren't in the inventory, because some of them need a program or a
// file that not every machine has.
type countCommand struct {
	Needs []string `sep:"," placeholder:"VARIABLE" help:"Environment variables that provide what tests need; if all of them are set, a skipped test fails the run. Default: none, so skipped tests don't fail it."`
	In    string   `placeholder:"FOLDER" help:"Folder in which go test runs, such as that of another module."`
	Args  []string `arg:"" help:"Flags of go test and packages, after --."`
}

// errCounted is returned if a run fails whose reason and counts are printed. The counts are the last
// line of the output, so main prints no error.
var errCounted = errors.New("a counted run failed")

// Run prints the output of the tests, the reason of a failure, and at last the counts.
func (c *countCommand) Run(ctx context.Context) error {
	r := newResults()
	if err := c.goTest(ctx, r); err != nil {
		return err
	}
	reason := c.problem(r)
	if reason != "" {
		sayf(os.Stdout, "FAIL: %s\n", reason)
	}
	sayf(os.Stdout, "%s\n", r.counts(""))
	if reason != "" {
		return errCounted
	}
	return nil
}

// problem returns the reason why the run fails, or an empty string.
func (c *countCommand) problem(r *results) string {
	total := r.counts("")
	switch {
	case len(r.failed) > 0:
		return "tests failed"
	case total == counts{}:
		return "no test ran"
	case total.Skipped > 0 && c.provided():
		return fmt.Sprintf("tests were skipped, although what they need is set: %s", strings.Join(c.Needs, ", "))
	}
	return ""
}

// provided reports whether all variables that the tests need are set.
func (c *countCommand) provided() bool {
	unset := func(name string) bool { return os.Getenv(name) == "" }
	return len(c.Needs) > 0 && !slices.ContainsFunc(c.Needs, unset)
}

// goTest runs `go test` and prints what the tests print.
func (c *countCommand) goTest(ctx context.Context, r *results) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json", "-count=1"}, c.Args...)...) //nolint:gosec // the arguments are in the Makefile
	cmd.Dir, cmd.Stderr = c.In, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = stopGrace
	output, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = r.read(output, func(e event) { sayf(os.Stdout, "%s", e.Output) }, func(line string) { sayf(os.Stdout, "%s", line) })
	if ended := cmd.Wait(); ended != nil && (!isExit(ended) || len(r.failed) == 0) {
		err = errors.Join(err, fmt.Errorf("go test: %w", ended))
	}
	return errors.Join(err, ctx.Err())
}
