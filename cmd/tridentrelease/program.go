package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// engines is the set of engines in a program.
type engines string

const (
	// bothEngines needs cgo and glibc.
	bothEngines engines = "trident"
	// remoteOnly is static.
	remoteOnly engines = "trident-remote"
)

// program is a built trident.
type program struct {
	target

	engines engines
	path    string
	facts   string // how it was checked
}

// oldestGLIBC is the oldest glibc that programs with both engines run with: they are linked against it.
// It is the first one for arm64. RHEL 7 has it; Triton's containers have 2.35 from 24.07 on.
const oldestGLIBC = "2.17"

// build builds and checks a program.
func (r *release) build(ctx context.Context, t target, e engines) (*program, error) {
	p := &program{target: t, engines: e, path: filepath.Join(r.work, t.goarch, string(e))}
	environment, err := r.buildEnvironment(p)
	if err != nil {
		return nil, err
	}
	flags := "-ldflags=-s -w -X main.version=" + r.Version
	if e == bothEngines {
		// Zig compiles glibc's startup code with debugging information, which has the path of the source tree.
		flags += " -extldflags=-Wl,--strip-all"
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", flags, "-o", p.path, "./cmd/trident") //nolint:gosec // the operator of the release chooses the version
	cmd.Env = environment
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", e, err, text)
	}
	if err := builtBy(p.path, r.compiler); err != nil {
		return nil, err
	}
	return p, r.check(ctx, p)
}

func (r *release) buildEnvironment(p *program) ([]string, error) {
	all := append(environment(r.compiler), "GOOS=linux", "GOARCH="+p.goarch, "GOFLAGS=")
	if p.engines == remoteOnly {
		return append(all, "CGO_ENABLED=0"), nil
	}
	cache, err := filepath.Abs(filepath.Join(".cache", "zig"))
	if err != nil {
		return nil, err
	}
	// cgo runs the compiler in other folders, so its path must be absolute.
	words := strings.Fields(r.Zig)
	if words[0], err = filepath.Abs(words[0]); err != nil {
		return nil, err
	}
	cc := fmt.Sprintf("%s cc -target %s-linux-gnu.%s", strings.Join(words, " "), p.machine, oldestGLIBC)
	return append(all, "CGO_ENABLED=1", "CC="+cc, "CXX=false", "ZIG_GLOBAL_CACHE_DIR="+cache), nil
}

// check checks a program's ELF and its version.
func (r *release) check(ctx context.Context, p *program) error {
	needs := "no library"
	var err error
	if p.engines == remoteOnly {
		err = checkStatic(p.path, p.goarch)
	} else {
		var glibc string
		glibc, err = check(p.path, p.goarch, oldestGLIBC)
		needs = "symbols of glibc " + glibc
	}
	if err != nil {
		return err
	}
	found, err := stamp(ctx, p, r.Version)
	if err != nil {
		return err
	}
	p.facts = "built by " + r.compiler + ", needs " + needs + ", " + found
	return nil
}

// archive writes the archive of a program.
func (r *release) archive(p *program) error {
	name := fmt.Sprintf("%s_%s_linux_%s", p.engines, r.Version, p.goarch)
	all := []file{{from: p.path, to: name + "/trident", mode: 0o755}}
	for _, path := range r.files {
		all = append(all, file{from: path, to: name + "/" + path, mode: 0o644})
	}
	if err := archive(r.path(name+".tar.gz"), all, r.time()); err != nil {
		return err
	}
	return r.made(name+".tar.gz", p.facts)
}
