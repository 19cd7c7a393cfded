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

// pinned is the Go that releases are built with, whichever one runs: their standard
// library must have the fixes that are published, those of HTTP/2 in net/http (1.26.9)
// and of trusted certificates in crypto/x509 (1.26.10) among them. docs/security.md has
// the list. The same compiler also makes the same bytes on every machine.
const pinned = "go1.26.11"

// pinnedNext is the pinned one's counterpart of the next line: 1.27.1 is newer than
// the pinned one, and lacks its fixes.
const pinnedNext = "go1.27.4"

// toolchain gives the Go to build with, and sees to it that it is there: the go command
// fetches it, and checks it against the checksum database.
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
		return "", fmt.Errorf("releases are built with %s, for its fixes, and %s could not fetch it: let GOPROXY reach a module proxy, or install that Go: %w", chosen, running, err)
	}
	if got != chosen {
		return "", fmt.Errorf("releases are built with %s, for its fixes, and the go command took %s", chosen, got)
	}
	return chosen, nil
}

// choose takes the running Go if it has all fixes of the pinned one. One of an
// unknown version, such as a development tree's, is older than all.
func choose(running string) string {
	if version.Lang(running) == version.Lang(pinned) && version.Compare(running, pinned) >= 0 || version.Compare(running, pinnedNext) >= 0 {
		return running
	}
	return pinned
}

// environment is this process's, with a toolchain that go may not exchange.
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

// builtBy reads a binary's build information: it must name the compiler.
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
