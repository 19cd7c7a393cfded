// Command tridentrelease builds the files of a release: archives, a Python wheel, packages of Debian and RPM,
// the npm client, the Helm chart, SBOMs, the provenance and the checksums. The same source yields the same bytes.
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
	Version   string   `required:"" help:"Version that trident version prints and that the names of the files contain."`
	Zig       string   `default:".venv-release/bin/python -m ziglang" help:"Command of the Zig compiler, which links C code against an old glibc for each architecture."`
	Out       string   `default:"dist" help:"Folder to write the files to. The files of a previous release are removed from it."`
	Platforms []string `default:"amd64,arm64" enum:"amd64,arm64" help:"Architectures to build for."`
	Epoch     int64    `env:"SOURCE_DATE_EPOCH" help:"Modification time of all files in the archives and packages, in seconds since 1970. Default: the time of the last commit."`
}

// target is a platform, by its names in Go, in Zig and in Python's tags, and in RPM's packages.
type target struct{ goarch, machine string }

func (o *options) targets() []target {
	machines := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}
	var all []target
	for _, goarch := range o.Platforms {
		all = append(all, target{goarch, machines[goarch]})
	}
	return all
}

// release is the common data of all files of a release.
type release struct {
	*options

	compiler string    // version of Go
	files    []string  // files in each archive besides the program
	work     string    // temporary folder
	out      io.Writer // for a line about each file
}

func command(ctx context.Context, args []string, out io.Writer) error {
	var o options
	parser, err := kong.New(&o, kong.Name("tridentrelease"), kong.Description("Builds the files of a release. Run it in the root of the source tree, with make release."))
	if err != nil {
		return err
	}
	if _, err := parser.Parse(args); err != nil {
		return err
	}
	r, err := prepare(ctx, &o, out)
	if err != nil {
		return err
	}
	err = r.make(ctx)
	return errors.Join(err, os.RemoveAll(r.work))
}

// prepare removes a previous release from the folder and finds out what all files need.
func prepare(ctx context.Context, o *options, out io.Writer) (*release, error) {
	var err error
	if o.Epoch == 0 {
		if o.Epoch, err = lastCommit(ctx); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(os.MkdirAll(o.Out, 0o750), removeRelease(o.Out)); err != nil {
		return nil, err
	}
	r := &release{options: o, out: out}
	if r.compiler, err = toolchain(ctx); err != nil {
		return nil, err
	}
	if r.files, err = tracked(ctx, "CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md", "THIRD_PARTY_NOTICES", "deploy", "docs"); err != nil {
		return nil, err
	}
	r.work, err = os.MkdirTemp("", "tridentrelease-")
	return r, err
}

func (r *release) make(ctx context.Context) error {
	for _, t := range r.targets() {
		if err := r.platform(ctx, t); err != nil {
			return fmt.Errorf("linux/%s: %w", t.goarch, err)
		}
	}
	for _, step := range []func(context.Context) error{r.client, r.chart, r.provenance} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return sums(r.Out)
}

// platform builds the files for one architecture.
func (r *release) platform(ctx context.Context, t target) error {
	static, err := r.build(ctx, t, remoteOnly)
	if err != nil {
		return err
	}
	both, err := r.build(ctx, t, bothEngines)
	if err != nil {
		return err
	}
	if err := r.sbom(ctx, both); err != nil {
		return err
	}
	for _, p := range []*program{both, static} {
		if err := r.archive(p); err != nil {
			return err
		}
	}
	if err := r.wheel(both); err != nil {
		return err
	}
	return r.packages(ctx, both)
}

// time is the modification time of all files in archives and packages.
func (r *release) time() time.Time { return time.Unix(r.Epoch, 0).UTC() }

// path returns the path of a file of the release.
func (r *release) path(name string) string { return filepath.Join(r.Out, name) }

// made reports a file of the release on its own line.
func (r *release) made(name string, facts ...string) error {
	_, err := fmt.Fprintln(r.out, strings.Join(append([]string{r.path(name)}, facts...), ": "))
	return err
}

// tracked returns the files of the source tree below some paths, in order.
func tracked(ctx context.Context, paths ...string) ([]string, error) {
	text, err := exec.CommandContext(ctx, "git", append([]string{"ls-files", "--"}, paths...)...).Output() //nolint:gosec // constant paths
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
