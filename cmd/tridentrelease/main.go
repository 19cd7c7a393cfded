// Command tridentrelease builds the archives of a release, one for each
// platform, and their checksums. The same source yields the same bytes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tridentrelease:", err)
		os.Exit(1)
	}
}

// options are the command-line flags of tridentrelease.
type options struct {
	Version string `required:"" help:"Version that trident version prints and that the archives' names contain."`
	Zig     string `default:".venv-release/bin/python -m ziglang" help:"Command of the Zig compiler, which links C code against an old glibc for each architecture."`
	Out     string `default:"dist" help:"Folder to write the archives and their checksums to."`
	Epoch   int64  `env:"SOURCE_DATE_EPOCH" help:"Modification time of all files in the archives, in seconds since 1970. Default: the time of the last commit."`
}

// target is a platform, by its names in Go and in Zig.
type target struct{ goarch, zig string }

func targets() []target { return []target{{"amd64", "x86_64"}, {"arm64", "aarch64"}} }

// newestGLIBC is the newest glibc that the binaries may need. Triton's
// containers have it from 24.07 (Ubuntu 22.04) on.
const newestGLIBC = "2.34"

func command(ctx context.Context, args []string, out io.Writer) error {
	var o options
	parser, err := kong.New(&o, kong.Name("tridentrelease"), kong.Description("Builds the archives of a release. Run it in the root of the source tree, with make release."))
	if err != nil {
		return err
	}
	if _, err := parser.Parse(args); err != nil {
		return err
	}
	if o.Epoch == 0 {
		if o.Epoch, err = lastCommit(ctx); err != nil {
			return err
		}
	}
	if err := errors.Join(os.RemoveAll(o.Out), os.MkdirAll(o.Out, 0o750)); err != nil {
		return err
	}
	compiler, err := toolchain(ctx)
	if err != nil {
		return err
	}
	files, err := shipped(ctx)
	if err != nil {
		return err
	}
	r := &release{options: &o, compiler: compiler, files: files}
	for _, t := range targets() {
		if err := r.make(ctx, t, out); err != nil {
			return fmt.Errorf("linux/%s: %w", t.goarch, err)
		}
	}
	return sums(o.Out)
}

// release is the common data of all archives.
type release struct {
	*options

	compiler string
	files    []string // files in each archive besides the program
}

// make builds one archive.
func (r *release) make(ctx context.Context, t target, out io.Writer) error {
	o, compiler := r.options, r.compiler
	binary := filepath.Join(o.Out, "trident")
	defer os.Remove(binary) //nolint:errcheck // the archive contains it
	if err := build(ctx, o, t, compiler, binary); err != nil {
		return err
	}
	if err := builtBy(binary, compiler); err != nil {
		return err
	}
	glibc, err := check(binary, t.goarch, newestGLIBC)
	if err != nil {
		return err
	}
	found, err := stamp(ctx, binary, t.goarch, o.Version)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("trident_%s_linux_%s", o.Version, t.goarch)
	all := []file{{from: binary, to: name + "/trident", mode: 0o755}}
	for _, path := range r.files {
		all = append(all, file{from: path, to: name + "/" + path, mode: 0o644})
	}
	path := filepath.Join(o.Out, name+".tar.gz")
	if err := archive(path, all, time.Unix(o.Epoch, 0).UTC()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: built by %s, needs glibc %s, %s\n", path, compiler, glibc, found)
	return err
}

func build(ctx context.Context, o *options, t target, compiler, binary string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w -X main.version="+o.Version, "-o", binary, "./cmd/trident") //nolint:gosec // the operator of the release chooses the command
	cc := fmt.Sprintf("%s cc -target %s-linux-gnu.%s", o.Zig, t.zig, newestGLIBC)
	cache, err := filepath.Abs(filepath.Join(".cache", "zig"))
	if err != nil {
		return err
	}
	zig, err := filepath.Abs(strings.Fields(o.Zig)[0])
	if err != nil {
		return err
	}
	// cgo runs the compiler in other folders, so its path must be absolute.
	cc = zig + strings.TrimPrefix(cc, strings.Fields(o.Zig)[0])
	cmd.Env = append(environment(compiler), "CGO_ENABLED=1", "GOOS=linux", "GOARCH="+t.goarch, "GOFLAGS=", "CC="+cc, "CXX=false", "ZIG_GLOBAL_CACHE_DIR="+cache)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build trident: %w\n%s", err, text)
	}
	return nil
}

// shipped returns the files in an archive besides the binary, in order.
func shipped(ctx context.Context) ([]string, error) {
	text, err := exec.CommandContext(ctx, "git", "ls-files", "CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md", "THIRD_PARTY_NOTICES", "deploy", "docs").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	return strings.Fields(string(text)), nil
}

func lastCommit(ctx context.Context) (int64, error) {
	text, err := exec.CommandContext(ctx, "git", "log", "-1", "--format=%ct").Output()
	if err != nil {
		return 0, fmt.Errorf("git log: %w", err)
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}
