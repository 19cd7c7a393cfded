package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// Limits of waits that fail a test. Conditions are usually met much earlier.
const (
	startLimit = 2 * time.Minute
	stopLimit  = 20 * time.Second
	pollEvery  = 20 * time.Millisecond
)

// raceOptions make a program exit at its first data race, with code 66.
const raceOptions = "GORACE=halt_on_error=1 atexit_sleep_ms=0"

// trident is one process of the program under test.
type trident struct {
	url    string
	server *tritonserver.Server // the tritonserver; nil for none, and with in-process Triton
	cmd    *exec.Cmd
	log    *logLines
	exited chan struct{}
}

// launch starts trident on a free loopback port and waits until it listens.
func launch(t *testing.T, flags ...string) (*trident, error) {
	t.Helper()
	return launchAt(t, "", nil, flags...)
}

// launchAt is like launch, with another working directory and additional environment variables.
func launchAt(t *testing.T, dir string, variables []string, flags ...string) (*trident, error) {
	t.Helper()
	return launchBinary(t, tridentBinary(t), dir, variables, flags...)
}

// launchBinary is like launchAt, with another build of the program.
func launchBinary(t *testing.T, binary, dir string, variables []string, flags ...string) (*trident, error) {
	t.Helper()
	s, err := startBinary(binary, dir, variables, flags...)
	if err != nil {
		return nil, err
	}
	if err := s.awaitListening(); err != nil {
		return nil, err
	}
	return s, nil
}

// launchWithoutWait is like launchAt, but doesn't wait until trident listens.
func launchWithoutWait(t *testing.T, dir string, variables []string, flags ...string) (*trident, error) {
	t.Helper()
	return startBinary(tridentBinary(t), dir, variables, flags...)
}

// startBinary starts a build of the program. The process has its own process group, as a process
// that a shell starts has.
func startBinary(binary, dir string, variables []string, flags ...string) (*trident, error) {
	flags = append([]string{"--host=127.0.0.1", "--openai-port=0", "--log-format=json"}, flags...)
	s := &trident{cmd: exec.Command(binary, flags...), log: newLogLines(), exited: make(chan struct{})}
	s.cmd.Dir, s.cmd.Env = dir, environment(slices.Concat(variables, []string{raceOptions})...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	s.cmd.WaitDelay = time.Second
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(s.exited)
		_ = s.cmd.Wait() // exitError has the result
	}()
	return s, nil
}

func (s *trident) awaitListening() error {
	line, ok := s.log.await(startLimit, s.exited, func(l logLine) bool { return l["msg"] == "listening" || listening.MatchString(l.text("raw")) })
	if !ok {
		return errors.Join(fmt.Errorf("trident does not listen:\n%s", s.log), s.kill())
	}
	address := line.text("address")
	if plain := listening.FindStringSubmatch(line.text("raw")); plain != nil {
		address = plain[1]
	}
	s.url = "http://" + address
	return nil
}

// listening matches the line of an open port in a plain log.
var listening = regexp.MustCompile(`msg=listening address=(\S+)`)

// environment returns this process's environment without trident's variables.
func environment(more ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "TRIDENT_") })
	return append(env, more...)
}

// start launches a trident of the test's own, which ends with the test.
func start(t *testing.T, flags ...string) *trident {
	t.Helper()
	s, err := launch(t, flags...)
	return owned(t, s, err)
}

// owned ends a trident with the test.
func owned(t *testing.T, s *trident, err error) *trident {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// startReady launches a trident with the shared demo models, and waits until they are ready.
func startReady(t *testing.T, flags ...string) *trident {
	t.Helper()
	s := demoModels(t).start(t, flags...)
	if err := s.awaitModels(); err != nil {
		t.Fatal(err)
	}
	return s
}

// stop ends the process as an operator does. Each run must exit with code 0, and its log must have
// no race, no panic and only log lines.
func (s *trident) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // the process may have ended
	if err := s.awaitExit(stopLimit); err != nil {
		return errors.Join(err, s.kill(), fmt.Errorf("trident's log:\n%s", s.log))
	}
	return errors.Join(s.exitError(), s.log.check(s.inProcess()))
}

// inProcess reports whether Triton and its models write to the same output.
func (s *trident) inProcess() bool {
	return slices.ContainsFunc(s.cmd.Args, func(arg string) bool { return strings.HasPrefix(arg, "--model-repository=") })
}

func (s *trident) awaitExit(limit time.Duration) error {
	select {
	case <-s.exited:
		return nil
	case <-time.After(limit):
		return fmt.Errorf("trident is still running after %s", limit)
	}
}

func (s *trident) exitError() error {
	if state := s.cmd.ProcessState; !state.Success() {
		return fmt.Errorf("trident ended with %s; trident's log:\n%s", state, s.log)
	}
	return nil
}

func (s *trident) kill() error {
	err := s.cmd.Process.Kill()
	<-s.exited
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// awaitModels waits until both demo models are listed, and Trident is ready.
func (s *trident) awaitModels() error {
	ok := poll(startLimit, func() bool {
		r, err := client.Get(s.url + "/v1/models")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		var list struct{ Data []struct{ ID string } }
		if r.StatusCode != http.StatusOK || json.NewDecoder(r.Body).Decode(&list) != nil || len(list.Data) != 2 {
			return false
		}
		ready, err := client.Get(s.url + "/health/ready") // once Trident is ready, the models have been logged
		if err != nil {
			return false
		}
		defer ready.Body.Close()
		return ready.StatusCode == http.StatusOK
	})
	if !ok {
		return fmt.Errorf("the models are not listed; trident's log:\n%s", s.log)
	}
	return nil
}

// poll calls met until it returns true or the limit has passed.
func poll(limit time.Duration, met func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !met() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return met()
		}
	}
	return true
}

// logLine is a line of the JSON log. A line that isn't JSON has only the key raw.
type logLine map[string]any

func (l logLine) text(key string) string {
	s, _ := l[key].(string)
	return s
}

// logLines collects a process's output. Its methods may be called concurrently.
type logLines struct {
	mu      sync.Mutex
	all     bytes.Buffer
	partial []byte
	lines   []logLine
	grown   chan struct{} // closed and replaced with each line
}

func newLogLines() *logLines { return &logLines{grown: make(chan struct{})} }

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.Write(p)
	l.partial = append(l.partial, p...)
	for {
		line, rest, ok := bytes.Cut(l.partial, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		parsed := logLine{}
		if json.Unmarshal(line, &parsed) != nil {
			parsed = logLine{"raw": string(line)}
		}
		l.lines, l.partial = append(l.lines, parsed), rest
		close(l.grown)
		l.grown = make(chan struct{})
	}
}

// String returns the whole output.
func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// len returns the number of lines so far, a mark for since.
func (l *logLines) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lines)
}

// since returns the lines after a mark.
func (l *logLines) since(mark int) []logLine {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines[mark:])
}

// last returns the last message with the prefix, or "".
func (l *logLines) last(prefix string) string {
	for _, line := range slices.Backward(l.since(0)) {
		if strings.HasPrefix(line.text("msg"), prefix) {
			return line.text("msg")
		}
	}
	return ""
}

// await returns the first line for which fits returns true. It waits until the limit has passed or
// the process has ended.
func (l *logLines) await(limit time.Duration, exited <-chan struct{}, fits func(logLine) bool) (logLine, bool) {
	deadline := time.After(limit)
	for last := false; ; {
		l.mu.Lock()
		lines, grown := l.lines, l.grown
		l.mu.Unlock()
		if i := slices.IndexFunc(lines, fits); i >= 0 {
			return lines[i], true
		}
		if last {
			return nil, false
		}
		select {
		case <-grown:
		case <-exited:
			last = true
		case <-deadline:
			last = true
		}
	}
}

// tritonLine matches a line of Triton's log, which in-process Triton writes to trident's standard
// error, or of a Python model's process.
var tritonLine = regexp.MustCompile(`^[IWE]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ `)

// check returns an error for lines that no log may have. others allows lines of in-process Triton.
func (l *logLines) check(others bool) error {
	for _, line := range l.since(0) {
		if raw, odd := line["raw"]; odd && !others && !tritonLine.MatchString(line.text("raw")) {
			return fmt.Errorf("not a log line: %v; the log:\n%s", raw, l)
		}
		if line["msg"] == "panic" {
			return fmt.Errorf("a panic was logged:\n%s", l)
		}
	}
	return nil
}
