package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// outcome is the result of a step. It is stored as JSON, so that a run can be resumed.
type outcome struct {
	Name    string        `json:"name"`
	Passed  bool          `json:"passed"`
	Commit  string        `json:"commit"`  // id of the commit, with the suffix -dirty if the tree differs from it
	Took    time.Duration `json:"took"`    // wall time, in nanoseconds
	Found   string        `json:"found"`   // result of the step: counts, or the last line that the step printed
	Counts  counts        `json:"counts"`  // numbers of Go tests by outcome
	Slowest []slowTest    `json:"slowest"` // the slowest Go tests
	Wrong   []string      `json:"wrong"`   // names of failed tests, and differences from the inventory
}

type slowTest struct {
	Name string        `json:"name"`
	Took time.Duration `json:"took"`
}

// runSuite runs a suite or Make target. A failure is part of the outcome; an error means that the
// suite couldn't run.
func runSuite(ctx context.Context, s suite, out io.Writer) (outcome, error) {
	commit, err := commitName(ctx)
	if err != nil {
		return outcome{}, err
	}
	began := time.Now()
	o := outcome{Name: s.Name, Commit: commit}
	if len(s.Packages) > 0 {
		err = runTests(ctx, s, out, &o)
	} else {
		err = runTarget(ctx, s.Name, out, &o)
	}
	o.Took = time.Since(began)
	return o, err
}

func runTests(ctx context.Context, s suite, out io.Writer, o *outcome) error {
	began := time.Now()
	r, err := goTest(ctx, s, out)
	if err != nil {
		return err
	}
	seen := observed(s.Name, r)
	if err := saveObserved(s.Name, seen); err != nil {
		return err
	}
	differs := compareWithFile(ctx, seen, out)
	report(out, r, time.Since(began))
	o.Counts = r.counts("")
	o.Passed, o.Found = len(r.failed) == 0 && differs == nil, o.Counts.String()
	if differs != nil {
		o.Found += "; " + differs.Error()
	}
	o.Wrong = wrong(r, differs)
	for _, key := range r.slowest(10) {
		o.Slowest = append(o.Slowest, slowTest{key.Package + " " + key.Test, r.Tests[key].Elapsed})
	}
	return nil
}

// wrong returns the names of failures, for the end of the log.
func wrong(r *results, differs error) []string {
	var list []string
	for _, key := range r.failed {
		list = append(list, strings.TrimSpace("FAIL "+key.Package+" "+key.Test))
	}
	if d, ok := errors.AsType[inventoryError](differs); ok {
		return append(list, d...)
	}
	return list
}

// runTarget runs `make NAME`. The outcome's Found is the last line that it printed.
func runTarget(ctx context.Context, name string, out io.Writer, o *outcome) error {
	last := &lastLine{}
	cmd := exec.CommandContext(ctx, "make", "--no-print-directory", name) //nolint:gosec // the names are in suites.go
	cmd.Stdout, cmd.Stderr = io.MultiWriter(out, last), io.MultiWriter(out, last)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = stopGrace
	err := cmd.Run()
	o.Passed, o.Found = err == nil, last.text
	if isExit(err) && ctx.Err() == nil {
		return nil
	}
	return errors.Join(err, ctx.Err())
}

// lastLine keeps the last non-empty line that was written.
type lastLine struct {
	text    string
	partial []byte
}

func (l *lastLine) Write(p []byte) (int, error) {
	l.partial = append(l.partial, p...)
	for {
		line, rest, ok := bytes.Cut(l.partial, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		if text := strings.TrimSpace(string(line)); text != "" {
			l.text = text
		}
		l.partial = rest
	}
}

// commitName returns the short name of the working tree's commit.
func commitName(ctx context.Context) (string, error) {
	name, err := git(ctx, "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12")
	return strings.TrimSpace(name), err
}

// treeHash identifies the content of the working tree, including uncommitted files. Equal content
// has the same hash. The inventory is excluded, because it changes after a run that has found new
// tests.
func treeHash(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "suite-index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	index := "GIT_INDEX_FILE=" + filepath.Join(dir, "index")
	if _, err := gitWith(ctx, index, "add", "--all"); err != nil {
		return "", err
	}
	if _, err := gitWith(ctx, index, "rm", "--cached", "--quiet", "--ignore-unmatch", inventoryFile, renamesFile); err != nil {
		return "", err
	}
	hash, err := gitWith(ctx, index, "write-tree")
	return strings.TrimSpace(hash), err
}

func git(ctx context.Context, args ...string) (string, error) { return gitWith(ctx, "", args...) }

func gitWith(ctx context.Context, variable string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // no argument is a user's
	cmd.Env = os.Environ()
	if variable != "" {
		cmd.Env = append(cmd.Env, variable)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, &stderr)
	}
	return string(out), nil
}

// store stores the outcomes of one tree in a folder.
type store struct{ dir string }

func openStore(ctx context.Context, kind string) (store, error) {
	hash, err := treeHash(ctx)
	if err != nil {
		return store{}, err
	}
	s := store{filepath.Join(stateDir, kind, hash)}
	return s, os.MkdirAll(s.dir, 0o750)
}

func (s store) path(name string) string { return filepath.Join(s.dir, name+".json") }

// load reads an outcome; ok is false if there is none.
func (s store) load(name string) (o outcome, ok bool) {
	text, err := os.ReadFile(s.path(name))
	return o, err == nil && json.Unmarshal(text, &o) == nil
}

func (s store) save(name string, o outcome) error {
	text, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(s.path(name), append(text, '\n'), 0o600)
}

// sayf prints to a person. A failure to print is ignored.
func sayf(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }

// printTable prints the steps that ran, with commit, duration and result.
func printTable(out io.Writer, list []outcome) {
	sayf(out, "\n%-18s %-6s %-20s %9s  %s\n", "suite", "result", "commit", "seconds", "found")
	total := time.Duration(0)
	for _, o := range list {
		word := "passed"
		if !o.Passed {
			word = "FAILED"
		}
		found := o.Found
		if len(found) > 120 {
			found = found[:117] + "..."
		}
		sayf(out, "%-18s %-6s %-20s %9.0f  %s\n", o.Name, word, o.Commit, o.Took.Seconds(), found)
		total += o.Took
	}
	sayf(out, "%-46s %9.0f\n", "all", total.Seconds())
	printWrong(out, list)
}

// maxWrong is the maximum number of lines that a suite may add to the end of the log.
const maxWrong = 20

// printWrong repeats the failures below the table, because logs are often cut to their end.
func printWrong(out io.Writer, list []outcome) {
	for _, o := range list {
		for i, line := range o.Wrong {
			if i == maxWrong {
				sayf(out, "%s: %d more\n", o.Name, len(o.Wrong)-maxWrong)
				break
			}
			sayf(out, "%s: %s\n", o.Name, line)
		}
	}
}
