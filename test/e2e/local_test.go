package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// talkModels is the repository of the model talk, which uses almost no CPU time.
const talkModels = "testdata/models"

// endLimit bounds the end of a trident with in-process Triton. A part of it is for models that
// don't stop.
const endLimit = 15 * time.Second

// startLocal launches a trident of the test's own with in-process Triton. The test ends it and
// checks that nothing remains.
func startLocal(t *testing.T, repository, variable string, flags ...string) *trident {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real Triton")
	}
	s, err := launchAt(t, "", []string{variable}, append([]string{"--model-repository=" + repository}, flags...)...)
	return localOwned(t, s, err)
}

// startLoading launches a trident with in-process Triton and a model that takes ten minutes to load.
// trident logs no address then, so the test chooses its port.
func startLoading(t *testing.T) *trident {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real Triton")
	}
	port := freePort(t)
	s, err := launchWithoutWait(t, "", []string{"TALK_LOAD_SECONDS=600"}, "--model-repository="+talkModels, "--openai-port="+port)
	localOwned(t, s, err).url = "http://127.0.0.1:" + port
	loading := func() bool { // the name excludes the process that only reads the configuration
		all := s.models(t)
		return len(all) == 1 && strings.Contains(all[0].command, " talk_0_0 ")
	}
	if !poll(startLimit, loading) {
		t.Fatalf("no model starts:\n%s", s.log)
	}
	return s
}

// localOwned ends a trident with in-process Triton and all that belongs to it with the test.
func localOwned(t *testing.T, s *trident, err error) *trident {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.kill()
		for _, p := range s.models(t) {
			_ = syscall.Kill(p.id, syscall.SIGKILL)
		}
		for _, path := range s.segments(t) {
			_ = os.Remove(path)
		}
	})
	return s
}

// startTalk starts a trident with in-process Triton and the model talk, and waits until the model is
// ready.
func startTalk(t *testing.T, flags ...string) *trident {
	t.Helper()
	s := startLocal(t, talkModels, "", flags...)
	s.awaitReady(t)
	return s
}

func (s *trident) awaitReady(t *testing.T) {
	t.Helper()
	if !poll(startLimit, func() bool { return s.get(t, "/health/ready").status == http.StatusOK }) {
		t.Fatalf("trident isn't ready: %s\n%s", s.get(t, "/health/ready").body, s.log)
	}
}

// prefix returns the prefix of the names of its shared memory.
func (s *trident) prefix() string { return fmt.Sprintf("trident_%d_", s.cmd.Process.Pid) }

// models returns the processes of its Python models and their children.
func (s *trident) models(t *testing.T) []process {
	t.Helper()
	return processes(t, func(p process) bool { return strings.Contains(p.command, " "+s.prefix()) })
}

// segments returns its shared memory segments.
func (s *trident) segments(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("/dev/shm/" + s.prefix() + "*")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// checkEnded checks for exit code 0 and that nothing remains.
func (s *trident) checkEnded(t *testing.T) {
	t.Helper()
	checkExit(t, s, endLimit)
	s.checkGone(t)
	if err := s.log.check(false); err != nil {
		t.Error(err)
	}
}

func (s *trident) checkGone(t *testing.T) {
	t.Helper()
	if left := s.models(t); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	if left := s.segments(t); len(left) > 0 {
		t.Errorf("left in shared memory: %v", left)
	}
}

func talkRequest(text string, words int) object {
	return ask(text, "model", "talk", "max_tokens", words)
}

func (s *trident) killModel(t *testing.T) {
	t.Helper()
	all := s.models(t)
	if len(all) != 1 {
		t.Fatalf("processes of the model: %v", all)
	}
	if err := syscall.Kill(all[0].id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// endlessWords is more words than any test waits for.
const endlessWords = 100_000

// TestLocalStop checks the stop of a trident with in-process Triton in different states of its
// models.
func TestLocalStop(t *testing.T) {
	t.Parallel()
	t.Run("streams that end in time", func(t *testing.T) {
		t.Parallel()
		s := startTalk(t)
		if len(s.models(t)) != 1 || len(s.segments(t)) < 2 {
			t.Errorf("the model has the processes %v and the shared memory %v: the checks below would test nothing", s.models(t), s.segments(t))
		}
		var all []chunk
		mark := 0
		for c := range s.openChat(t, talkRequest("Hello.", 60)).chunks(t) {
			if all = append(all, c); len(all) == 3 {
				mark = s.log.len() // earlier lines may be about leftovers of another test's trident
				signalStop(t, s, syscall.SIGTERM)
				awaitRefused(t, s)
			}
		}
		if finish := all[len(all)-1].Choices[0].FinishReason; len(all) < 60 || text(finish) != "stop" {
			t.Errorf("%d chunks, finish_reason %s", len(all), text(finish))
		}
		s.checkEnded(t)
		for _, line := range s.log.since(mark) {
			if level := line.text("level"); level == "ERROR" || level == "WARN" {
				t.Errorf("a normal stop logs a warning or an error: %v\n%s", line, s.log)
			}
		}
	})
	t.Run("streams that don't", func(t *testing.T) {
		t.Parallel()
		s := startTalk(t, "--shutdown-timeout=300ms")
		last := watch(t, s.openChat(t, talkRequest("Hello.", endlessWords)))
		signalStop(t, s, syscall.SIGINT)
		if e := parseError(t, <-last); text(e.Code) != "shutting_down" {
			t.Errorf("the stream ended with code %s: %s", text(e.Code), text(e.Message))
		}
		s.checkEnded(t)
	})
	t.Run("a model that hangs", func(t *testing.T) {
		t.Parallel()
		s := startTalk(t, "--shutdown-timeout=300ms")
		answers := make(chan answer, 1)
		go func() { answers <- s.post(t, "/v1/chat/completions", talkRequest("hang", 1)) }()
		if !poll(startLimit, func() bool { return len(s.models(t)) == 2 }) { // the model has started a child process
			t.Fatal("the model receives no request")
		}
		signalStop(t, s, syscall.SIGTERM)
		a := (<-answers).want(t, http.StatusServiceUnavailable)
		if e := a.failure(t); text(e.Code) != "shutting_down" {
			t.Errorf("code %s: %s", text(e.Code), text(e.Message))
		}
		s.checkEnded(t)
	})
	t.Run("a model that is loading", func(t *testing.T) {
		t.Parallel()
		s := startLoading(t)
		a := s.get(t, "/health/ready").want(t, http.StatusServiceUnavailable)
		a.failure(t)
		if _, ok := s.log.await(startLimit, s.exited, func(l logLine) bool {
			return strings.HasPrefix(l.text("msg"), "in-process Triton is loading its models")
		}); !ok || addressLine.MatchString(s.log.String()) {
			t.Errorf("an address, or no line about the models that load, in\n%s", s.log)
		}
		signalStop(t, s, syscall.SIGTERM)
		s.checkEnded(t)
	})
	t.Run("a second signal", func(t *testing.T) {
		t.Parallel()
		s := startTalk(t)
		events := s.openChat(t, talkRequest("Hello.", endlessWords))
		readUntil(t, events.response.Body, `"content":"`)
		line := s.stopTwice(t, syscall.SIGINT)
		_, _ = io.Copy(io.Discard, events.response.Body) // cut off at any point
		if line["requests_in_flight"] != 1.0 || line.text("requests") != "1 openai chat of model talk" || line.text("models_to_unload") != "talk" || line["unload_timeout"] == nil {
			t.Errorf("the first signal logs %v", line)
		}
	})
	t.Run("sudden death", func(t *testing.T) {
		t.Parallel()
		s := startTalk(t)
		events := s.openChat(t, talkRequest("Hello.", endlessWords))
		readUntil(t, events.response.Body, `"content":"`)
		if err := s.kill(); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, events.response.Body) // cut off at any point
		if len(s.segments(t)) == 0 {
			t.Log("another trident on this machine has already removed the leftovers")
		}
		next := startTalk(t)
		s.checkGone(t)
		signalStop(t, next, syscall.SIGTERM)
		next.checkEnded(t)
	})
}

// TestLocalModelDies checks the effect when the process of a model of in-process Triton is killed.
// The model's streams end at once, clients and probes get errors, and the model is restarted without
// a request.
func TestLocalModelDies(t *testing.T) {
	t.Parallel()
	s := startTalk(t)
	last := watch(t, s.openChat(t, talkRequest("Hello.", endlessWords)))
	died := time.Now()
	s.killModel(t)
	if e := parseError(t, <-last); text(e.Code) != "engine_unavailable" || !strings.Contains(text(e.Message), "`talk`") {
		t.Errorf("the stream ended with code %s: %s", text(e.Code), text(e.Message))
	}
	if took := time.Since(died); took > failLimit {
		t.Errorf("the stream ended %s after the model's process", took)
	}
	a := s.get(t, "/health/ready").want(t, http.StatusServiceUnavailable)
	if e := a.failure(t); !strings.Contains(text(e.Message), "`talk`") || !strings.Contains(text(e.Message), "the model's process ended by signal: killed") {
		t.Errorf("the probe says %s", text(e.Message))
	}
	a = s.post(t, "/v1/chat/completions", talkRequest("Hello.", 1)).want(t, http.StatusServiceUnavailable)
	if e := a.failure(t); text(e.Code) != "model_not_ready" || a.header.Get("Retry-After") == "" {
		t.Errorf("code %s: %s", text(e.Code), text(e.Message))
	}
	s.get(t, "/health/live").want(t, http.StatusOK)
	s.awaitReady(t)
	t.Logf("the model is ready again after %s", time.Since(died))
	if whole := s.chat(t, talkRequest("Hello.", 3)); strings.Count(whole.Choices[0].Message.Content, "word") != 3 {
		t.Errorf("the answer is %q", whole.Choices[0].Message.Content)
	}
	// Trident is stopped while the model is restarted a second time.
	s.killModel(t)
	if !poll(startLimit, func() bool { return s.get(t, "/health/ready").status != http.StatusOK }) {
		t.Error("the server is still ready although its model has crashed")
	}
	signalStop(t, s, syscall.SIGTERM)
	s.checkEnded(t)
}
