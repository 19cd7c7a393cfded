package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// repositoryOf makes the working directory a git repository with one commit per
// Makefile, and returns the commits.
func repositoryOf(t *testing.T, makefiles ...string) []commit {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
	} {
		t.Setenv(name, value)
	}
	git(t, "init", "--quiet")
	var commits []commit
	for _, text := range makefiles {
		if err := os.WriteFile("Makefile", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		git(t, "add", "Makefile")
		git(t, "commit", "--quiet", "--message", "a subject")
		c, err := resolveCommit(t.Context(), "HEAD")
		if err != nil {
			t.Fatal(err)
		}
		commits = append(commits, c)
	}
	return commits
}

func git(t *testing.T, args ...string) string {
	t.Helper()
	out, err := output(t.Context(), ".", append([]string{"git"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// expectNoWorktree fails if the build of a base has left a worktree.
func expectNoWorktree(t *testing.T, folder string) {
	t.Helper()
	if list := git(t, "worktree", "list"); strings.Count(list, "\n") != 1 {
		t.Errorf("worktrees: %s", list)
	}
	if _, err := os.Stat(filepath.Join(folder, "base")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the worktree: %v", err)
	}
}

func TestResolveCommit(t *testing.T) {
	commits := repositoryOf(t, "# one", "# two")
	for _, name := range []string{"HEAD~1", commits[0].Hash, commits[0].Hash[:10]} {
		if got, err := resolveCommit(t.Context(), name); err != nil || got != commits[0] || got.Subject != "a subject" || len(got.Hash) != 40 {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	for name, want := range map[string]string{
		"":              "make bench-compare BASE=COMMIT",
		"nothing":       "BASE=nothing is not a commit of this repository",
		"--all":         "BASE=--all is not a commit",
		"HEAD:Makefile": "is not a commit",
	} {
		if got, err := resolveCommit(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v", name, got, err)
		}
	}
}

// TestBuildBase checks that the bench builds the base commit and not the working tree, and that no
// worktree remains, even after a killed run.
func TestBuildBase(t *testing.T) {
	commits := repositoryOf(t,
		"build:\n\tmkdir bin && echo 'echo the first' >bin/trident\n",
		"build:\n\t@echo a failure of the compiler >&2; exit 1\n",
		"build:\n\ttrue\n",
		"# no such target\n",
	)
	folder := t.TempDir()
	binary := filepath.Join(folder, "trident-base")
	git(t, "worktree", "add", "--quiet", "--lock", filepath.Join(folder, "base"), "HEAD") // a killed run leaves such a worktree
	if err := os.WriteFile(binary, []byte("an old one"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "does not build: make --no-print-directory build: exit status 2\na failure of the compiler", "produced no bin/trident", "No rule to make target"} {
		err := commits[i].build(t.Context(), folder, binary)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), commits[i].Hash[:10]+" (a subject)")) {
			t.Errorf("want %q, got %v", want, err)
		}
		expectNoWorktree(t, folder)
	}
	if got, err := output(t.Context(), ".", "sh", binary); err != nil || got != "the first\n" {
		t.Errorf("built %q, %v", got, err)
	}
}

// TestBuildStops checks that a cancelled build of a base commit ends with its child processes, and
// removes its worktree.
func TestBuildStops(t *testing.T) {
	commits := repositoryOf(t, "build:\n\techo $$$$ >building; sleep 1000\n")
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error, 1)
	go func() { failed <- commits[0].build(ctx, folder, filepath.Join(folder, "trident-base")) }()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for building := filepath.Join(folder, "base", "building"); ; {
		if _, err := os.Stat(building); err == nil {
			break
		}
		select {
		case <-poll.C:
		case err := <-failed:
			t.Fatalf("the build ended: %v", err)
		}
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	expectNoWorktree(t, folder)
}

func TestCheckFlags(t *testing.T) {
	folder := t.TempDir()
	help := "Usage: trident [flags]\n  -H, --host=HOST  text about --profile-address-of-something\n      --[no-]other\n"
	for _, flag := range append(serverFlags(&addresses{}), "--model-repository=", "--triton-endpoint=") {
		if name, _, _ := strings.Cut(flag, "="); name != "--profile-address" && name != "--host" {
			help += "  " + name + "=VALUE  text\n"
		}
	}
	for name, tt := range map[string]struct{ script, want string }{
		"current":   {"cat <<'END'\n" + help + "  --profile-address=HOST:PORT\nEND\n", ""},
		"too old":   {"cat <<'END'\n" + help + "END\n", "is too old to compare with: its trident has no --profile-address; choose a later commit"},
		"very old":  {"echo usage\n", "--host, --openai-port, --log-format"},
		"no binary": {"echo broken >&2; exit 3\n", "exit status 3\nbroken"},
	} {
		binary := filepath.Join(folder, strings.ReplaceAll(name, " ", "-"))
		if err := os.WriteFile(binary, []byte("#!/bin/sh\n"+tt.script), 0o700); err != nil {
			t.Fatal(err)
		}
		err := checkFlags(t.Context(), commit{Hash: "abc", Subject: "a subject"}, binary)
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "abc (a subject)")) {
			t.Errorf("%s: want %q, got %v", name, tt.want, err)
		}
	}
}
