package e2e

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// demo is the program that `make run` starts, on a free port.
type demo struct {
	cmd    *exec.Cmd
	log    *logLines
	exited chan struct{}
	url    string
	mark   string // variable in the environment of all processes of the demo, as NAME=value
	server int    // id of trident's process; 0 while the id isn't known
}

func startDemo(t *testing.T, models string, variables ...string) *demo {
	t.Helper()
	port := freePort(t)
	d := &demo{
		log: newLogLines(), exited: make(chan struct{}), mark: "TRIDENT_E2E_DEMO=" + port,
		url: "http://127.0.0.1:" + port,
		cmd: exec.Command(demoBinary(t), "-port="+port, "-models="+models, "-trident="+tridentBinary(t)),
	}
	d.cmd.Dir = root(t) // Triton is found relative to this folder
	d.cmd.Env = environment(append(variables, raceOptions, d.mark)...)
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	d.cmd.WaitDelay = stopLimit // children may keep the pipe open until they end
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(d.exited)
		_ = d.cmd.Wait() // ProcessState has the result
	}()
	t.Cleanup(func() {
		for _, p := range d.processes(t) {
			t.Errorf("a process was left over and killed: %s", p)
			_ = syscall.Kill(p.id, syscall.SIGKILL)
		}
	})
	return d
}

func freePort(t *testing.T) string {
	t.Helper()
	port, err := tritonserver.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(port)
}

func (d *demo) processes(t *testing.T) []process {
	t.Helper()
	return processes(t, func(p process) bool { return strings.Contains(p.environment, d.mark) })
}

// trident returns the id of the serving process, which is part of the names of its models' shared memory.
// Its forked children look the same until they have become models. If such a child is killed, Triton
// waits for it.
func (d *demo) trident(t *testing.T) int {
	t.Helper()
	for _, p := range d.processes(t) {
		if p.parent == d.cmd.Process.Pid && strings.HasPrefix(p.command, tridentBinary(t)+" ") {
			d.server = p.id
		}
	}
	return d.server
}

// awaitGreeting waits for the curl line, which is printed when requests are served.
func (d *demo) awaitGreeting(t *testing.T) {
	t.Helper()
	_, ok := d.log.await(startLimit, d.exited, func(l logLine) bool {
		return strings.Contains(l.text("raw"), "curl -N "+d.url+"/v1/chat/completions")
	})
	if !ok {
		t.Fatalf("no curl line:\n%s", d.log)
	}
	if d.trident(t) == 0 {
		t.Fatalf("no trident: %v", d.processes(t))
	}
}

// awaitLoading waits until the processes of both models have started.
func (d *demo) awaitLoading(t *testing.T) {
	t.Helper()
	loading := func() bool {
		return len(processes(t, func(p process) bool {
			return strings.Contains(p.environment, d.mark) && strings.Contains(p.command, "triton_python_backend_stub")
		})) == 2
	}
	if !poll(startLimit, loading) {
		t.Fatalf("no models start:\n%s", d.log)
	}
	if d.trident(t) == 0 {
		t.Fatalf("no trident: %v", d.processes(t))
	}
}

// TestDemo runs the program of `make run`, uses it, and ends it as Ctrl-C in a terminal does and as the
// kernel's OOM killer does. No process and no shared memory may remain.
func TestDemo(t *testing.T) {
	t.Parallel()
	t.Run("Ctrl-C", func(t *testing.T) {
		t.Parallel()
		d := startDemo(t, filepath.Join(root(t), "models"))
		d.awaitGreeting(t)
		s := &trident{url: d.url}
		s.get(t, "/health/ready").want(t, http.StatusOK)
		if whole := s.chat(t, ask("Hello.", "max_tokens", 4)); whole.Choices[0].Message.Content == "" {
			t.Error("no text")
		}
		s.embed(t, "Hello.", nil)
		if n := len(d.processes(t)); n < 4 {
			t.Errorf("%d processes have the mark, want 4 (demo, trident and its two models): the checks below would test nothing", n)
		}
		if left := d.sharedMemory(t); len(left) == 0 {
			t.Error("the models have no shared memory with the name that the checks below search for")
		}
		// Few tokens: the whole response must fit into the demo's shutdown timeout, even on a busy
		// machine.
		last := watch(t, s.openChat(t, ask("Count to ten.", "max_tokens", 12, "ignore_eos", true)))
		if err := syscall.Kill(-d.cmd.Process.Pid, syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if data := <-last; string(data) != "[DONE]" {
			t.Errorf("the response in progress ended with %s", data)
		}
		d.checkStopped(t)
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		d := startDemo(t, scripted(t, "chat", "embedding").Repositories[0])
		d.awaitGreeting(t)
		_ = watch(t, (&trident{url: d.url}).openChat(t, ask("Count to ten.", "max_tokens", 50, "ignore_eos", true)))
		if err := syscall.Kill(d.cmd.Process.Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-d.exited
		d.checkGone(t, stopLimit)
	})
	t.Run("Ctrl-C while starting", func(t *testing.T) {
		t.Parallel()
		d := startDemo(t, scripted(t, "chat", "embedding").Repositories[0], scriptedLoad)
		d.awaitLoading(t)
		if err := syscall.Kill(-d.cmd.Process.Pid, syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		d.checkStopped(t)
	})
	t.Run("killed while starting", func(t *testing.T) {
		t.Parallel()
		d := startDemo(t, scripted(t, "chat", "embedding").Repositories[0], scriptedLoad)
		d.awaitLoading(t)
		if err := syscall.Kill(d.cmd.Process.Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-d.exited
		d.checkGone(t, stopLimit)
	})
	for name, await := range map[string]func(*demo, *testing.T){"serving": (*demo).awaitGreeting, "loading": (*demo).awaitLoading} {
		t.Run("trident killed while "+name, func(t *testing.T) {
			t.Parallel()
			var variables []string
			if name == "loading" {
				variables = append(variables, scriptedLoad)
			}
			d := startDemo(t, scripted(t, "chat", "embedding").Repositories[0], variables...)
			await(d, t)
			if name == "serving" {
				readUntil(t, (&trident{url: d.url}).openChat(t, longStory()).response.Body, `"content":"`)
			}
			if err := syscall.Kill(d.trident(t), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			<-d.exited
			if d.cmd.ProcessState.Success() || !strings.Contains(d.log.String(), "make run: trident: signal: killed") {
				t.Errorf("%s:\n%s", d.cmd.ProcessState, d.log)
			}
			d.checkGone(t, goneLimit)
		})
	}
	t.Run("busy port", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
		cmd := exec.Command(demoBinary(t), "-port="+port)
		out, err := cmd.CombinedOutput()
		if err == nil || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), "port "+port+" is in use") {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// goneLimit is the time that the kernel may need to remove killed processes.
const goneLimit = 5 * time.Second

// checkGone checks that no process and none of the models' shared memory remains.
func (d *demo) checkGone(t *testing.T, limit time.Duration) {
	t.Helper()
	if !poll(limit, func() bool { return len(d.processes(t)) == 0 }) {
		t.Errorf("processes left: %v", d.processes(t))
	}
	left := d.sharedMemory(t)
	if len(left) > 0 {
		t.Errorf("left in shared memory: %v", left)
	}
	for _, path := range left {
		_ = os.Remove(path)
	}
}

// sharedMemory returns the shared memory segments of trident's models.
func (d *demo) sharedMemory(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("/dev/shm/trident_" + strconv.Itoa(d.server) + "_*")
	if err != nil || d.server == 0 {
		t.Fatalf("shared memory of process %d: %v", d.server, err)
	}
	return all
}

// checkStopped checks that the demo ends by itself and leaves nothing.
func (d *demo) checkStopped(t *testing.T) {
	t.Helper()
	select {
	case <-d.exited:
	case <-time.After(stopLimit):
		t.Fatalf("the demo still runs:\n%s", d.log)
	}
	if !d.cmd.ProcessState.Success() {
		t.Errorf("%s:\n%s", d.cmd.ProcessState, d.log)
	}
	d.checkGone(t, goneLimit)
}
