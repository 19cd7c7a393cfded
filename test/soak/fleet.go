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
	"strings"
	"syscall"
	"time"

	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/backends/burst"
)

// fleet is tritonserver, the network and Trident.
type fleet struct {
	folder  string // of the models and the logs
	triton  *tritonserver.Server
	log     *os.File // tritonserver's
	network *proxy
	trident *trident
}

const readyTimeout = 2 * time.Minute

func launch(ctx context.Context, binary string) (*fleet, error) {
	folder, err := filepath.Abs(filepath.Join(".cache", "soak"))
	if err != nil {
		return nil, err
	}
	f := &fleet{folder: folder}
	if err := f.start(ctx, binary); err != nil {
		return nil, errors.Join(err, f.stop()) //nolint:contextcheck // the context may have ended
	}
	return f, nil
}

func (f *fleet) start(ctx context.Context, binary string) error {
	if err := f.repository(ctx); err != nil {
		return err
	}
	var err error
	if f.log, err = os.Create(filepath.Join(f.folder, "tritonserver.log")); err != nil {
		return err
	}
	f.triton, err = tritonserver.Launch(ctx, tritonserver.Options{
		Repositories: []string{filepath.Join(f.folder, "models")}, Log: f.log,
		// Explicit, as a model whose process died must be unloaded and loaded again.
		Args: []string{"--model-control-mode=explicit", "--load-model=" + steady, "--load-model=" + flood, "--load-model=stream"},
	})
	if err != nil {
		return err
	}
	if f.network, err = newProxy(ctx, f.triton.GRPC()); err != nil {
		return err
	}
	f.trident, err = startTrident(ctx, binary, f.folder, f.network.address())
	return err
}

func (f *fleet) repository(ctx context.Context) error {
	if err := os.RemoveAll(f.folder); err != nil {
		return err
	}
	models := filepath.Join(f.folder, "models")
	err := burst.Repository(ctx, models, burst.Model{Name: steady, Counts: true, Pace: pace}, burst.Model{Name: flood, Counts: true, Pace: floodPace})
	if err != nil {
		return err
	}
	return os.CopyFS(filepath.Join(models, "stream"), os.DirFS(filepath.Join("test", "models", "stream")))
}

// answerLimit is for a short answer of tritonserver's.
const answerLimit = 15 * time.Second

// answers is nil when tritonserver itself does, asked without Trident.
func (f *fleet) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	c, err := newClients("", f.triton.GRPC())
	if err != nil {
		return err
	}
	return errors.Join(c.counted(ctx, steady, &request{name: "probe"}, 2), c.close())
}

// gone waits a while for the end of tritonserver.
func (f *fleet) gone(limit time.Duration) bool {
	select {
	case <-f.triton.Exited():
		return true
	case <-time.After(limit):
		return false
	}
}

// stop ends all that was started.
func (f *fleet) stop() error {
	var err error
	if f.trident != nil {
		f.trident.kill()
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

// trident is the program under test.
type trident struct {
	cmd                   *exec.Cmd
	logPath, settings     string // files
	exited                <-chan error
	url, native, profiles string
}

const shutdownTimeout = 5 * time.Second

func startTrident(ctx context.Context, binary, folder, endpoint string) (*trident, error) {
	t := &trident{logPath: filepath.Join(folder, "trident.log"), settings: filepath.Join(folder, "trident.yaml")}
	log, err := os.OpenFile(t.logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the child has its own
	if err := usual().write(t.settings); err != nil {
		return nil, err
	}
	t.cmd = exec.Command(binary, "--config="+t.settings, "--triton-endpoint="+endpoint, "--host=127.0.0.1", "--openai-port=0", "--log-format=json", //nolint:gosec,noctx // our own program, which is stopped in order
		"--enable-kserve-frontends", "--kserve-grpc-port=0", "--kserve-http-port=0", "--metrics-port=0", "--profile-address=127.0.0.1:0",
		"--first-response-timeout="+inactivity.String(), "--inactivity-timeout="+inactivity.String(), "--shutdown-timeout="+shutdownTimeout.String())
	t.cmd.Stdout, t.cmd.Stderr = log, log
	t.exited, err = tritonserver.Guarded(t.cmd, func(pid int) string { return fmt.Sprintf("trident_%d_", pid) }, shutdownTimeout)
	if err != nil {
		return nil, err
	}
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
		{"profiles", "url", &t.profiles},
	} {
		for *line.to = t.attribute(line.message, line.key); *line.to == ""; *line.to = t.attribute(line.message, line.key) {
			if err := t.wait(ctx); err != nil {
				return err
			}
		}
	}
	t.url = "http://" + t.url
	for !t.ready(ctx) {
		if err := t.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (t *trident) wait(ctx context.Context) error {
	select {
	case err := <-t.exited:
		return fmt.Errorf("trident has ended; its log is %s: %w", t.logPath, err)
	default:
	}
	if err := pause(ctx, 20*time.Millisecond); err != nil {
		return fmt.Errorf("trident isn't ready; its log is %s: %w", t.logPath, err)
	}
	return nil
}

// attribute finds a line of the log with that message, and gives one of its attributes.
func (t *trident) attribute(message, key string) string {
	text, err := os.ReadFile(t.logPath)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		var record map[string]any
		if json.Unmarshal([]byte(line), &record) == nil && record["msg"] == message {
			value, _ := record[key].(string)
			return value
		}
	}
	return ""
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

// kill ends it, if it still runs.
func (t *trident) kill() {
	if t.exited == nil {
		return
	}
	_ = t.cmd.Process.Signal(syscall.SIGKILL) // fails when it has ended
	if err := <-t.exited; err != nil {
		t.exited = nil // how is no question
	}
	t.exited = nil
}

// terminate stops it as an operator does.
func (t *trident) terminate(limit time.Duration) error {
	if err := t.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-t.exited:
		t.exited = nil
		return err
	case <-time.After(limit):
		return fmt.Errorf("trident still runs %s after SIGTERM", limit)
	}
}
