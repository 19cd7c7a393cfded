package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// failLimit is the time in which a client must get the error of an interrupted response.
const failLimit = 5 * time.Second

// TestTritonDies checks what clients get when tritonserver is killed during their streams, including
// one stream of each SDK, while tritonserver is down, and after it is started again.
func TestTritonDies(t *testing.T) {
	t.Parallel()
	needsServer(t)
	models := ownEngine(t, scripted(t, "chat", "embedding"))
	s := models.startReady(t)
	sdks := interruptedSDKs(t, s.url)
	events := s.openChat(t, longStory())
	last := watch(t, events)
	awaitRunning(t, s, float64(1+len(sdks)))
	for _, sdk := range sdks {
		sdk.awaitStreaming(t)
	}
	mark := s.log.len()
	killed := time.Now()
	models.server.Kill()
	data := <-last
	if took := time.Since(killed); took > failLimit {
		t.Errorf("the stream ended %s after the tritonserver", took)
	}
	if e := parseError(t, data); text(e.Type) != "server_error" || text(e.Code) != "engine_unavailable" {
		t.Errorf("type %s, code %s", text(e.Type), text(e.Code))
	}
	for _, sdk := range sdks {
		sdk.awaitSuccess(t)
	}
	checkDown(t, s)
	for _, line := range s.log.since(mark) {
		if line["msg"] == "request" && line["path"] == "/v1/chat/completions" && line["error"] == nil {
			t.Errorf("the log line of a failed request has no error: %v", line)
		}
	}

	if err := models.server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The first request after that must succeed.
	if whole := s.chat(t, ask("Hello.", "max_tokens", 4)); whole.Usage.Completion == 0 {
		t.Errorf("usage %+v", whole.Usage)
	}
	s.get(t, "/health/ready").want(t, http.StatusOK)
	s.embed(t, "Hello.", nil)
	// Trident logs once each that the server is unreachable and that it is back, at its next check.
	if !poll(startLimit, func() bool { return !strings.Contains(s.log.last("Triton "), "doesn't answer") }) {
		t.Error("trident doesn't reconnect to the tritonserver")
	}
}

// watch reads a stream to its end in the background and sends its last event. When watch returns,
// the stream has had some text.
func watch(t *testing.T, events *stream) <-chan []byte {
	t.Helper()
	began, last := make(chan struct{}), make(chan []byte, 1)
	go func() {
		var data []byte
		count := 0
		for data = range events.events(t) {
			count++
			if count == 3 {
				close(began)
			}
		}
		last <- data
	}()
	select {
	case <-began:
	case data := <-last:
		t.Fatalf("the stream has ended with %s", data)
	case <-time.After(startLimit):
		t.Fatal("the stream doesn't start")
	}
	return last
}

// checkDown checks the responses that clients and probes get from a trident without Triton.
func checkDown(t *testing.T, s *trident) {
	t.Helper()
	for _, body := range []object{ask("Hello."), ask("Hello.", "stream", true)} {
		began := time.Now()
		a := s.post(t, "/v1/chat/completions", body).want(t, http.StatusServiceUnavailable)
		if took := time.Since(began); took > failLimit {
			t.Errorf("the refusal took %s", took)
		}
		e := a.failure(t)
		if text(e.Type) != "server_error" || text(e.Code) != "engine_unavailable" {
			t.Errorf("type %s, code %s", text(e.Type), text(e.Code))
		}
		if strings.Contains(string(a.body), "127.0.0.1") {
			t.Errorf("the message contains an address: %s", a.body)
		}
		if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || seconds < 1 {
			t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
		}
	}
	a := s.get(t, "/health/ready").want(t, http.StatusServiceUnavailable)
	a.failure(t)
	s.get(t, "/health/live").want(t, http.StatusOK)
}

// TestWithoutTriton checks that trident starts without its tritonserver: it refuses chats, lists no
// models and reports that it isn't ready.
func TestWithoutTriton(t *testing.T) {
	t.Parallel()
	s := start(t, "--triton-endpoint=127.0.0.1:1")
	checkDown(t, s)
	if list := decode[struct{ Data []model }](t, s.get(t, "/v1/models").want(t, http.StatusOK)); len(list.Data) != 0 {
		t.Errorf("models %v", list.Data)
	}
}

// TestModelDies kills the process in which the model runs. Triton reports nothing then, neither in
// the streams nor by the model's state, so the idle timeout must end the streams.
//
// On a busy machine, once in some sixteen runs, the killed process holds a lock in shared memory.
// The Python backend of tritonserver 2.51 doesn't catch Boost's exception for such a lock, so that
// tritonserver ends, too. The requests must then fail as those to a server that can't be reached.
func TestModelDies(t *testing.T) {
	t.Parallel()
	needsServer(t)
	models := ownEngine(t, scripted(t, "chat", "embedding"))
	t.Cleanup(models.server.Kill) // a stop may wait for the dead model, so the server is killed
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of tritonserver ends with:\n%s", models.server.LogTail(40))
		}
	})
	s := models.startReady(t, "--inactivity-timeout=2s", "--first-response-timeout=8s")
	last := watch(t, s.openChat(t, longStory()))
	answers := make(chan answer, 1)
	go func() { answers <- s.post(t, "/v1/chat/completions", longStory()) }()
	awaitRunning(t, s, 2)
	killStub(t, models.server)
	killed := time.Now()
	bodies := map[string][]byte{"stream": <-last, "whole": (<-answers).want(t, http.StatusServiceUnavailable).body}
	if took := time.Since(killed); took > 8*time.Second+failLimit {
		t.Errorf("the responses ended %s after the model's process", took)
	}
	next := s.post(t, "/v1/chat/completions", ask("Hello.")).want(t, http.StatusServiceUnavailable)
	after := text(next.failure(t).Code)
	code, serves := "engine_inactive", after != "engine_unavailable"
	if !serves {
		awaitLockCrash(t, models.server)
		code = "engine_unavailable"
	}
	for name, body := range bodies {
		if e := parseError(t, body); text(e.Type) != "server_error" || text(e.Code) != code {
			t.Errorf("%s: type %s, code %s: %s", name, text(e.Type), text(e.Code), text(e.Message))
		}
	}
	if serves {
		if after != "model_not_ready" && after != "engine_inactive" {
			t.Errorf("the next request got code %s", after)
		}
		s.embed(t, "Hello.", nil) // the other model still serves
	}
}

// awaitLockCrash waits for the end of a tritonserver that a lock of a killed process ends. It fails
// the test if the server keeps running or ended for another reason.
func awaitLockCrash(t *testing.T, server *tritonserver.Server) {
	t.Helper()
	select {
	case <-server.Exited():
	case <-time.After(10 * time.Second):
		t.Fatal("trident can't reach tritonserver, which runs")
	}
	if !strings.Contains(server.LogTail(100), "boost::interprocess::lock_exception") {
		t.Error("tritonserver has ended, but not because of a lock of the killed process")
	}
}

// killStub kills the process of a tritonserver's chat model.
func killStub(t *testing.T, server *tritonserver.Server) {
	t.Helper()
	pids := processes(t, func(p process) bool {
		return strings.Contains(p.command, "triton_python_backend_stub") && strings.Contains(p.command, "/chat/") &&
			p.parent == server.Pid()
	})
	if len(pids) != 1 {
		t.Fatalf("processes of the chat model: %v", pids)
	}
	if err := syscall.Kill(pids[0].id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// process is the information of /proc on a process.
type process struct {
	id, parent  int
	group       int
	command     string // arguments of the process, separated by spaces
	environment string // environment variables of the process, separated by NULs
}

// String omits the environment, which may contain secrets.
func (p process) String() string { return fmt.Sprintf("%d %s", p.id, p.command) }

// processes returns the processes of this machine for which fits returns true. Zombies are omitted;
// processes that start or end meanwhile may be missed.
func processes(t *testing.T, fits func(process) bool) []process {
	t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var all []process
	for _, folder := range folders {
		stat, err := os.ReadFile(filepath.Join(folder, "stat"))
		if err != nil {
			continue
		}
		// The name in parentheses may contain any character.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		command, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
		environ, _ := os.ReadFile(filepath.Join(folder, "environ"))
		p := process{command: strings.ReplaceAll(string(command), "\x00", " "), environment: string(environ)}
		p.id, _ = strconv.Atoi(filepath.Base(folder))
		p.parent, _ = strconv.Atoi(fields[1])
		p.group, _ = strconv.Atoi(fields[2])
		if fields[0] != "Z" {
			all = append(all, p)
		}
	}
	return slices.DeleteFunc(all, func(p process) bool { return !fits(p) })
}
