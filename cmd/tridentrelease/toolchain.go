package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"strings"
)

// pinned is the Go version that releases are built with, whichever Go runs. Its
// standard library must have all published fixes, including those of HTTP/2 in net/http
// (1.26.9) and of trusted certificates in crypto/x509 (1.26.10). docs/security.md has
// the list. The same compiler also produces the same bytes on every machine.
const pinned = "go1.26.11"

// pinnedNext is the pinned version's counterpart in the next release line. For example,
// 1.27.1 is newer than the pinned version but lacks fixes that the pinned version has.
const pinnedNext = "go1.27.4"

// toolchain returns the Go version to build with, and makes sure that it is installed.
// The go command downloads it and verifies it with the checksum database.
func toolchain(ctx context.Context) (string, error) {
	running, err := goversion(exec.CommandContext(ctx, "go", "env", "GOVERSION"))
	if err != nil {
		return "", err
	}
	chosen := choose(running)
	if chosen == running {
		return running, nil
	}
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION")
	cmd.Env = environment(chosen)
	got, err := goversion(cmd)
	if err != nil {
		return "", fmt.Errorf("releases are built with %s, for its fixes, but %s can't fetch it: set GOPROXY to a module proxy, or install that Go: %w", chosen, running, err)
	}
	if got != chosen {
		return "", fmt.Errorf("releases are built with %s, for its fixes, but the go command uses %s", chosen, got)
	}
	return chosen, nil
}

// choose returns the running Go version if it has all fixes of the pinned one. A Go of
// an unknown version, such as a development build, counts as older.
func choose(running string) string {
	if version.Lang(running) == version.Lang(pinned) && version.Compare(running, pinned) >= 0 || version.Compare(running, pinnedNext) >= 0 {
		return running
	}
	return pinned
}

// environment returns this process's environment, with a toolchain that go must not
// replace.
func environment(compiler string) []string {
	return append(os.Environ(), "GOTOOLCHAIN="+compiler)
}

func goversion(cmd *exec.Cmd) (string, error) {
	text, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, failed.Stderr)
	} else if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(text)), nil
}

// builtBy checks that a binary's build information names the compiler.
func builtBy(path, compiler string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	if info.GoVersion != compiler {
		return fmt.Errorf("%s was built by %s, not %s", path, info.GoVersion, compiler)
	}
	return nil
}
