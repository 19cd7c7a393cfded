package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// commit is a commit of Trident's repository.
type commit struct {
	Hash    string `json:"hash"`
	Subject string `json:"subject"`
}

func (c commit) String() string { return fmt.Sprintf("%.10s (%s)", c.Hash, c.Subject) }

// resolveCommit returns the commit that a name refers to.
func resolveCommit(ctx context.Context, name string) (commit, error) {
	if name == "" {
		return commit{}, errors.New("no commit to compare with: run make bench-compare BASE=COMMIT")
	}
	text, err := output(ctx, ".", "git", "log", "-1", "--format=%H%n%s", "--end-of-options", name+"^{commit}", "--")
	if err != nil {
		return commit{}, fmt.Errorf("BASE=%s is not a commit of this repository (in a shallow clone, fetch it first): %w", name, err)
	}
	hash, subject, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return commit{Hash: hash, Subject: subject}, nil
}

// build checks the commit out into a temporary worktree in the folder, runs `make
// build` there, and copies the binary. It removes the worktree afterwards, because Go's
// build cache makes a second build fast.
func (c commit) build(ctx context.Context, folder, binary string) (err error) {
	tree := filepath.Join(folder, "base")
	if err := os.RemoveAll(tree); err != nil { // a killed run may have left the tree
		return err
	}
	// The second --force replaces a worktree that is registered but missing.
	if _, err := output(ctx, ".", "git", "worktree", "add", "--quiet", "--force", "--force", "--detach", tree, c.Hash); err != nil {
		return err
	}
	defer func() {
		_, failed := output(context.WithoutCancel(ctx), ".", "git", "worktree", "remove", "--force", tree)
		err = errors.Join(err, failed)
	}()
	if _, err := output(ctx, tree, "make", "--no-print-directory", "build"); err != nil {
		return fmt.Errorf("%s does not build: %w", c, err)
	}
	if err := copyProgram(filepath.Join(tree, "bin", "trident"), binary); err != nil {
		return fmt.Errorf("%s: make build produced no bin/trident: %w", c, err)
	}
	return nil
}

// commandStop is the time limit for a command to end after a cancellation.
const commandStop = 5 * time.Second

// output runs a command in a folder and returns its standard output. An error has the
// last lines of standard error. When the context ends, the command and its children
// end.
func output(ctx context.Context, folder string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // git, make and Trident's binary
	cmd.Dir, cmd.SysProcAttr = folder, attributes()
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MFLAGS=") // the flags of a make that runs the bench don't apply to another tree
	cmd.Cancel = func() error { return interruptGroup(cmd.Process.Pid) }
	cmd.WaitDelay = commandStop
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		return "", err
	}
	err := cmd.Wait()
	killGroup(cmd.Process.Pid)
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: %w", args[0], ctx.Err())
	case err != nil:
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, lastLines(errs.String()))
	}
	return out.String(), nil
}

// checkFlags returns an error if the binary lacks a flag that the bench sets.
func checkFlags(ctx context.Context, c commit, binary string) error {
	help, err := output(ctx, ".", binary, "--help")
	if err != nil {
		return fmt.Errorf("%s: %w", c, err)
	}
	if missing := missingFlags(help); len(missing) > 0 {
		return fmt.Errorf("%s is too old to compare with: its trident has no %s; choose a later commit", c, strings.Join(missing, ", "))
	}
	return nil
}

// missingFlags returns the flags that the bench sets and the help text lacks.
func missingFlags(help string) []string {
	var missing []string
	known := strings.FieldsFunc(help, func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	for _, flag := range append(serverFlags(&addresses{}), "--model-repository", "--triton-endpoint") {
		name, _, _ := strings.Cut(flag, "=")
		if !slices.Contains(known, name) {
			missing = append(missing, name)
		}
	}
	return missing
}
