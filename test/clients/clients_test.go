// Package clients runs published programs, unmodified, against the trident program on a real Triton.
// rows_test.go has the table of the programs. Each row has a page in docs/recipes. The page's section Connect has
// at most ten lines to copy, its section "Try it" the rest of the task. The test runs the page's code as a child
// process. One row runs in the check tier, all rows in the suite clients. `make clients` installs the programs
// and runs the suite.
package clients

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/logbuffer"
)

// allRows is the environment variable that runs all rows, by any value. Without it only the rows of the check
// tier run.
const allRows = "TRIDENT_TEST_CLIENTS"

// Time limits of a program. A program that a mutation keeps waiting has failed.
const (
	taskLimit    = 4 * time.Minute
	mutatedLimit = 2 * time.Minute
)

// TestClients runs the task of each row twice: against Trident, where the task must succeed, and against
// responses that lack a part, where the same task must fail.
func TestClients(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real tritonserver")
	}
	f := newFleet(t)
	for _, r := range rows() {
		if !r.Check && os.Getenv(allRows) == "" {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			t.Run("package", func(t *testing.T) { r.checkPackage(t, f.root) })
			t.Run("task", func(t *testing.T) { r.succeeds(t, f) })
			for _, more := range r.more() {
				t.Run(more.Name, func(t *testing.T) { more.succeeds(t, f) })
			}
			t.Run("mutation", func(t *testing.T) {
				done := r.run(t, f, r.Mutation, mutatedLimit)
				if done.wire.removed() == 0 {
					t.Errorf("no response has the part that %+v removes", r.Mutation)
				}
				if len(r.effectFlaws(done)) == 0 {
					t.Errorf("the task succeeds without the part that %+v removes", r.Mutation)
				}
				if t.Failed() {
					t.Log(done.describe())
				}
			})
		})
	}
}

// succeeds fails the test unless a run against Trident has the effect, the requests and the prompts of the row.
func (r *row) succeeds(t *testing.T, f *fleet) {
	t.Helper()
	done := r.run(t, f, mutation{}, taskLimit)
	for _, flaw := range slices.Concat(r.effectFlaws(done), r.wireFlaws(done), r.promptFlaws(done.prompts)) {
		t.Error(flaw)
	}
	if t.Failed() {
		t.Log(done.describe())
	}
}

// outcome is the result of a run.
type outcome struct {
	dir    string // working directory
	stdout string
	stderr string
	err    error // error of the program's end, nil for exit code 0
	wire   *recorder
	hosts  []string // other hosts that the program tried to reach
	// prompts has what the scripted model got.
	prompts []string
}

func (o *outcome) describe() string {
	return fmt.Sprintf("end: %v\nstdout:\n%s\nstderr:\n%s\nrequests:\n%s", o.err, o.stdout, o.stderr, o.wire.describe())
}

// run writes the page's files into an empty folder and runs its commands there. The program has an empty home and
// reaches only this machine.
func (r *row) run(t *testing.T, f *fleet, change mutation, limit time.Duration) *outcome {
	t.Helper()
	p, err := r.code()
	if err != nil {
		t.Fatal(err)
	}
	server := f.server(t, r.setup(p))
	before := len(promptsOf(t, server.prompts, 0))
	done := &outcome{dir: t.TempDir(), wire: record(t, server.address, change)}
	outside := block(t)
	if err := r.prepare(t, f.root, p, done); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", runFile)
	cmd.Dir, cmd.Env = done.dir, r.environment(t, f.root, outside.address)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var stdout, stderr logbuffer.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	done.err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // servers that the commands started in the background
	}
	if errors.Is(done.err, exec.ErrWaitDelay) {
		done.err = nil // such a server held the output open
	}
	done.stdout, done.stderr, done.hosts = stdout.String(), stderr.String(), outside.tried()
	done.prompts = promptsOf(t, server.prompts, before)
	return done
}

// prepare fills the working directory.
func (r *row) prepare(t *testing.T, root string, p page, done *outcome) error {
	t.Helper()
	pairs := []string{served, done.wire.address}
	for _, port := range r.Ports {
		free, err := tritonserver.FreePort(t.Context())
		if err != nil {
			return err
		}
		pairs = append(pairs, port, strconv.Itoa(free))
	}
	if err := p.write(done.dir, strings.NewReplacer(pairs...)); err != nil {
		return err
	}
	for name, text := range r.Given {
		if err := os.MkdirAll(filepath.Join(done.dir, filepath.Dir(name)), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(done.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if modules := r.List.modules(root); modules != "" {
		return os.Symlink(modules, filepath.Join(done.dir, "node_modules"))
	}
	return nil
}

// environment returns the whole environment of the program.
func (r *row) environment(t *testing.T, root, proxy string) []string {
	t.Helper()
	home, commands := t.TempDir(), t.TempDir()
	for name, file := range r.Commands {
		if err := os.Symlink(filepath.Join(r.List.modules(root), file), filepath.Join(commands, name)); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{
		"HOME=" + home, "TMPDIR=" + t.TempDir(), "LANG=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1",
		"PATH=" + strings.Join([]string{commands, r.List.bin(root), filepath.Join(root, ".venv-test", "bin"), "/usr/bin", "/bin"}, ":"),
	}
	for _, name := range []string{"CONFIG", "CACHE", "DATA", "STATE"} {
		env = append(env, fmt.Sprintf("XDG_%s_HOME=%s", name, filepath.Join(home, strings.ToLower(name))))
	}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"=http://"+proxy, strings.ToLower(name)+"=http://"+proxy)
	}
	return append(env, "NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost")
}

// effectFlaws returns how the effect of a task differs from the row's.
func (r *row) effectFlaws(done *outcome) (flaws []string) {
	if done.err != nil {
		flaws = append(flaws, fmt.Sprintf("the program ended with: %v", done.err))
	}
	for _, text := range r.Prints {
		if !strings.Contains(done.stdout, text) {
			flaws = append(flaws, fmt.Sprintf("the program doesn't print %q", text))
		}
	}
	for name, want := range r.Files {
		if got, err := os.ReadFile(filepath.Join(done.dir, name)); err != nil || string(got) != want {
			flaws = append(flaws, fmt.Sprintf("%s has %q, want %q: %v", name, got, want, err))
		}
	}
	return flaws
}

// wireFlaws returns how the requests of a task differ from the row's.
func (r *row) wireFlaws(done *outcome) (flaws []string) {
	got := done.wire.wire()
	for _, line := range r.Startup {
		if got[line] == 0 {
			flaws = append(flaws, "no request "+line)
		}
		delete(got, line)
	}
	if !maps.Equal(got, r.Wire) {
		flaws = append(flaws, fmt.Sprintf("requests %v, want %v", got, r.Wire))
	}
	for text, want := range r.Sent {
		if got := done.wire.sent(text); got != want {
			flaws = append(flaws, fmt.Sprintf("%d requests contain %q, want %d", got, text, want))
		}
	}
	retried, early := done.wire.retried()
	if flaws = append(flaws, early...); !maps.Equal(retried, r.Retries) {
		flaws = append(flaws, fmt.Sprintf("repeated requests %v, want %v", retried, r.Retries))
	}
	if got := done.wire.ignored(); !slices.Equal(got, r.Ignored) {
		flaws = append(flaws, fmt.Sprintf("ignored fields %q, want %q", got, r.Ignored))
	}
	if len(done.hosts) > 0 {
		flaws = append(flaws, fmt.Sprintf("the program tried to reach other hosts: %q", done.hosts))
	}
	return flaws
}
