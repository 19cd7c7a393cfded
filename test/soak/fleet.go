package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/backends/burst"
	"github.com/trident-inference/trident/test/pause"
)

// fleet is a tritonserver, a network and a Trident, or only a Trident with in-process Triton.
type fleet struct {
	binary  string // path of the program trident
	local   bool
	folder  string               // folder of the models and the logs
	triton  *tritonserver.Server // the tritonserver; nil for in-process Triton, as are log and network
	log     *os.File             // log of tritonserver
	network *proxy
	trident *trident
	target  atomic.Pointer[clients] // the clients of the current Trident
	dismiss func()                  // disconnects all clients of the load at once
}

const readyTimeout = 2 * time.Minute

func launch(ctx context.Context, binary string, local bool) (*fleet, error) {
	folder, err := filepath.Abs(filepath.Join(".cache", "soak"))
	if err != nil {
		return nil, err
	}
	f := &fleet{binary: binary, local: local, folder: folder}
	if err := f.start(ctx); err != nil {
		return nil, errors.Join(err, f.stop()) //nolint:contextcheck // the context may have ended
	}
	return f, nil
}

func (f *fleet) start(ctx context.Context) error {
	if err := f.repository(ctx); err != nil {
		return err
	}
	if f.local {
		return f.startTrident(ctx, append(f.loading(), "--model-repository="+f.models())...)
	}
	var err error
	if f.log, err = os.Create(filepath.Join(f.folder, "tritonserver.log")); err != nil {
		return err
	}
	f.triton, err = tritonserver.Launch(ctx, tritonserver.Options{
		Repositories: []string{f.models()}, Log: f.log, Args: f.loading(),
	})
	if err != nil {
		return err
	}
	if f.network, err = newProxy(ctx, "127.0.0.1:0", f.triton.GRPC()); err != nil {
		return err
	}
	return f.startTrident(ctx, "--triton-endpoint="+f.network.address())
}

func (f *fleet) models() string { return filepath.Join(f.folder, "models") }

// loading returns flags that tritonserver and Trident share. The control mode is explicit, because
// a model whose process died must be unloaded and loaded again.
func (*fleet) loading() []string {
	return []string{"--model-control-mode=explicit", "--load-model=" + steady, "--load-model=" + flood, "--load-model=stream"}
}

func (f *fleet) startTrident(ctx context.Context, engine ...string) error {
	t, err := startTrident(ctx, f.binary, f.folder, engine)
	if err != nil {
		return err
	}
	f.trident = t
	c, err := newClients(t.url, t.native)
	if err != nil {
		return err
	}
	if before := f.target.Swap(c); before != nil {
		return before.close() // its Trident has ended
	}
	return nil
}

// ended returns a channel that is closed when the process in which Triton runs has ended.
func (f *fleet) ended() <-chan struct{} {
	if f.local {
		return f.trident.gone
	}
	return f.triton.Exited()
}

// host names the process in which Triton runs, for reports.
func (f *fleet) host() string {
	if f.local {
		return "Trident with in-process Triton"
	}
	return "tritonserver"
}

// restart starts Triton again, as a supervisor does.
func (f *fleet) restart(ctx context.Context) error {
	if !f.local {
		return f.triton.Restart(ctx)
	}
	f.trident.kill()
	return f.startTrident(ctx, f.trident.engine...)
}

func (f *fleet) repository(ctx context.Context) error {
	if err := os.RemoveAll(f.folder); err != nil {
		return err
	}
	err := burst.Repository(ctx, f.models(), burst.Model{Name: steady, Counts: true, Pace: pace}, burst.Model{Name: flood, Counts: true, Pace: floodPace})
	if err != nil {
		return err
	}
	return os.CopyFS(filepath.Join(f.models(), "stream"), os.DirFS(filepath.Join("test", "models", "stream")))
}

// answerLimit bounds a short response of Triton.
const answerLimit = 15 * time.Second

// answers returns nil if Triton responds. It calls tritonserver directly. In-process Triton has no
// other port than Trident's, so there it calls Trident.
func (f *fleet) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	c, err := newClients("", f.native())
	if err != nil {
		return err
	}
	return errors.Join(c.counted(ctx, steady, &request{name: "probe"}, 2), c.close())
}

// native returns the gRPC address of Triton: tritonserver's, or Trident's with in-process Triton.
func (f *fleet) native() string {
	if f.local {
		return f.trident.native
	}
	return f.triton.GRPC()
}

// gone reports whether the process in which Triton runs ends within the limit.
func (f *fleet) gone(limit time.Duration) bool {
	select {
	case <-f.ended():
		return true
	case <-time.After(limit):
		return false
	}
}

// stop ends everything that was started.
func (f *fleet) stop() error {
	var err error
	if f.trident != nil {
		f.trident.kill()
	}
	if c := f.target.Load(); c != nil {
		err = c.close()
	}
	if f.network != nil {
		err = errors.Join(err, f.network.close())
	}
	if f.triton != nil {
		err = errors.Join(err, f.triton.Close())
	}
	if f.log != nil {
		err = errors.Join(err, f.log.Close())
	}
	return err
}

// trident is a process of Trident, the program under test.
type trident struct {
	cmd                   *exec.Cmd
	engine                []string // flags with the address of Triton
	logPath, settings     string   // paths of the log file and of the settings file
	logStart              int64    // offset in the log file at which the process's own lines start
	gone                  chan struct{}
	how                   error // error with which the process ended, or nil; valid once gone is closed
	url, native, profiles string
}

const shutdownTimeout = 5 * time.Second

func startTrident(ctx context.Context, binary, folder string, engine []string) (*trident, error) {
	t := &trident{engine: engine, gone: make(chan struct{}), logPath: filepath.Join(folder, "trident.log"), settings: filepath.Join(folder, "trident.yaml")}
	log, err := os.OpenFile(t.logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the child has its own
	if t.logStart, err = t.logged(); err != nil {
		return nil, err
	}
	if err := usual().write(t.settings); err != nil {
		return nil, err
	}
	args := slices.Concat(engine, []string{
		"--config=" + t.settings, "--host=127.0.0.1", "--openai-port=0", "--log-format=json",
		"--enable-kserve-frontends", "--kserve-grpc-port=0", "--kserve-http-port=0", "--metrics-port=0", "--profile-address=127.0.0.1:0",
		"--first-response-timeout=" + inactivity.String(), "--inactivity-timeout=" + inactivity.String(), "--shutdown-timeout=" + shutdownTimeout.String(),
	})
	t.cmd = exec.Command(binary, args...) //nolint:gosec,noctx // our own program, which is stopped in order
	t.cmd.Stdout, t.cmd.Stderr = log, log
	exited, err := tritonserver.RunGuarded(t.cmd, func(pid int) string { return fmt.Sprintf("trident_%d_", pid) }, shutdownTimeout)
	if err != nil {
		return nil, err
	}
	go func() {
		t.how = <-exited
		close(t.gone)
	}()
	if err := t.await(ctx); err != nil {
		t.kill()
		return nil, err
	}
	return t, nil
}

func (t *trident) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for _, line := range []struct {
		message, key string
		to           *string
	}{
		{"listening", "address", &t.url},
		{"listening for KServe v2 by gRPC", "address", &t.native},
		{"serving profiles", "url", &t.profiles},
	} {
		for *line.to = t.attribute(line.message, line.key); *line.to == ""; *line.to = t.attribute(line.message, line.key) {
			if err := t.wait(ctx); err != nil {
				return err
			}
		}
	}
	t.url = "http://" + t.url
	return t.awaitReady(ctx)
}

// awaitReady waits until all of Trident's models are ready.
func (t *trident) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for !t.ready(ctx) {
		if err := t.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (t *trident) wait(ctx context.Context) error {
	select {
	case <-t.gone:
		return fmt.Errorf("trident has ended; its log is %s: %w", t.logPath, t.how)
	default:
	}
	if err := pause.For(ctx, 20*time.Millisecond); err != nil {
		return fmt.Errorf("trident isn't ready; its log is %s: %w", t.logPath, err)
	}
	return nil
}

// attribute returns an attribute of the first log line with this message.
func (t *trident) attribute(message, key string) string {
	lines, err := t.lines(t.logStart, "msg", message)
	if err != nil || len(lines) == 0 {
		return ""
	}
	var record map[string]any
	if json.Unmarshal([]byte(lines[0]), &record) != nil {
		return ""
	}
	value, _ := record[key].(string)
	return value
}

func (t *trident) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url+"/health/ready", http.NoBody)
	if err != nil {
		return false
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}

func (t *trident) pid() int { return t.cmd.Process.Pid }

// kill ends Trident with SIGKILL, if it still runs.
func (t *trident) kill() {
	_ = t.cmd.Process.Signal(syscall.SIGKILL) // fails if the process has ended
	<-t.gone
}

// terminate stops Trident with SIGTERM, as an operator does.
func (t *trident) terminate(limit time.Duration) error {
	if err := t.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-t.gone:
		return t.how
	case <-time.After(limit):
		return fmt.Errorf("trident is still running %s after SIGTERM", limit)
	}
}
