package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDrain checks the stop of trident while it serves streams. Streams that end in time are
// complete, the others get an error, and new requests are refused.
func TestDrain(t *testing.T) {
	t.Parallel()
	models := ownEngine(t, scripted(t, "chat"))
	t.Run("streams that end in time", func(t *testing.T) {
		s := models.startReady(t)
		events := s.openChat(t, ask("Count from one to a hundred in words.", "max_tokens", 60, "ignore_eos", true))
		var all []chunk
		for c := range events.chunks(t) {
			if all = append(all, c); len(all) == 3 {
				signalStop(t, s, syscall.SIGTERM)
				signalStop(t, s, syscall.SIGTERM) // a supervisor's signal at the same time doesn't count as a second one
				awaitRefused(t, s)
			}
		}
		checkChunks(t, all, 1)
		if finish := all[len(all)-1].Choices[0].FinishReason; text(finish) != "length" {
			t.Errorf("finish_reason %s", text(finish))
		}
		checkExit(t, s, stopLimit)
		if strings.Contains(s.log.String(), "ERROR") {
			t.Errorf("a normal stop logs an error:\n%s", s.log)
		}
	})
	t.Run("a second signal kills", func(t *testing.T) {
		needsServer(t) // TestLocalStop covers in-process Triton
		s, err := models.launch(t, "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.kill() })
		s.awaitReady(t)
		events := s.openChat(t, longStory())
		awaitRunning(t, s, 1)
		line := s.stopTwice(t, syscall.SIGTERM)
		if line["requests_in_flight"] != 1.0 || line.text("requests") != "1 openai chat of model chat" || line["in_flight_timeout"] == nil || line["models_to_unload"] != nil {
			t.Errorf("the first signal logs %v", line)
		}
		_, _ = io.Copy(io.Discard, events.response.Body) // cut off at any point
		awaitRunning(t, s, 0)
	})
	t.Run("idle", func(t *testing.T) {
		needsServer(t)
		s, err := models.launch(t, "", "--enable-kserve-frontends", "--kserve-grpc-port=0", "--kserve-http-port=0", "--metrics-port=0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.kill() })
		s.awaitReady(t) // its connection stays open
		for _, address := range s.addresses(t) {
			for _, said := range []string{"", "GET / HTTP/1.1\r\nHost: loc", prefaceHTTP2} {
				say(t, address, said)
			}
		}
		signalStop(t, s, syscall.SIGTERM)
		checkExit(t, s, idleLimit)
	})
	t.Run("drain delay", func(t *testing.T) { testDrainDelay(t, models) })
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run("streams that don't: "+signal.String(), func(t *testing.T) {
			s := models.startReady(t, "--shutdown-timeout=500ms")
			last := watch(t, s.openChat(t, longStory("n", slots-1)))
			answers := make(chan answer, 1)
			go func() { answers <- s.post(t, "/v1/chat/completions", longStory()) }()
			awaitRunning(t, s, slots)
			signalStop(t, s, signal)
			checkExit(t, s, 5*time.Second)
			if e := parseError(t, <-last); text(e.Code) != "shutting_down" {
				t.Errorf("the stream ended with code %s: %s", text(e.Code), text(e.Message))
			}
			a := (<-answers).want(t, http.StatusServiceUnavailable)
			if e := a.failure(t); text(e.Code) != "shutting_down" || a.header.Get("Retry-After") == "" {
				t.Errorf("code %s, Retry-After %q", text(e.Code), a.header.Get("Retry-After"))
			}
			awaitRunning(t, s, 0)
		})
	}
}

func signalStop(t *testing.T, s *trident, signal syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// awaitRefused waits until the port is closed.
func awaitRefused(t *testing.T, s *trident) {
	t.Helper()
	if !poll(stopLimit, func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err == nil {
			conn.Close()
		}
		return err != nil
	}) {
		t.Error("trident still listens")
	}
}

func checkExit(t *testing.T, s *trident, limit time.Duration) {
	t.Helper()
	began := time.Now()
	if err := s.awaitExit(limit); err != nil {
		t.Error(err)
		return
	}
	t.Logf("ended after %s", time.Since(began))
	if err := s.exitError(); err != nil {
		t.Error(err)
	}
}

// TestRefusesToStart checks that each mistake on the command line is reported in one line.
func TestRefusesToStart(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	port := strconv.Itoa(busy.Addr().(*net.TCPAddr).Port)
	for _, test := range []struct {
		name  string
		flags []string
		env   string
		words []string
	}{
		{"busy port", []string{"--host=127.0.0.1", "--openai-port=" + port}, "", []string{"port " + port, "in use", "--openai-port"}},
		{"busy port by environment", []string{"--host=127.0.0.1"}, "TRIDENT_OPENAI_PORT=" + port, []string{"port " + port, "in use"}},
		{"unknown flag", []string{"--no-such-flag"}, "", []string{"--no-such-flag", "--help"}},
		{"unknown command", []string{"fly"}, "", []string{"fly", "--help"}},
		{"no number", []string{"--openai-port=many"}, "", []string{"--openai-port", "many"}},
		{"no port", []string{"--openai-port=70000"}, "", []string{"--openai-port", "70000"}},
		{"no duration", []string{"--inactivity-timeout=soon"}, "", []string{"--inactivity-timeout", "soon"}},
		{"negative duration", []string{"--shutdown-timeout=-1s"}, "", []string{"--shutdown-timeout", "-1s"}},
		{"negative delay", []string{"--drain-delay=-2s"}, "", []string{"--drain-delay", "-2s"}},
		{"bad endpoint", []string{"--triton-endpoint=ftp://triton"}, "", []string{"--triton-endpoint", "ftp"}},
		{"bad origin", []string{"--cors-origin=example.com"}, "", []string{"--cors-origin", "example.com"}},
		{"bad host", []string{"--host=not a host", "--openai-port=0"}, "", []string{"--host", "not a host"}},
		{"bad log level", []string{"--log-level=loud"}, "", []string{"--log-level", "loud"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			cmd := exec.CommandContext(t.Context(), tridentBinary(t), test.flags...)
			cmd.Env = environment(test.env)
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			timer := time.AfterFunc(startLimit, func() { _ = cmd.Process.Kill() })
			defer timer.Stop()
			_ = cmd.Run() // the exit code is checked below
			if code := cmd.ProcessState.ExitCode(); code != 1 {
				t.Errorf("exit code %d", code)
			}
			line := stderr.String()
			if strings.Count(line, "\n") != 1 || !strings.HasPrefix(line, "trident: ") || stdout.Len() > 0 {
				t.Errorf("standard error isn't one line: %q; standard output: %q", line, stdout.String())
			}
			for _, words := range test.words {
				if !strings.Contains(line, words) {
					t.Errorf("%q doesn't say %q", line, words)
				}
			}
		})
	}
}

// addressLine matches what trident logs and prints about its addresses.
var addressLine = regexp.MustCompile(`listening|serving profiles|address=|https?://|OpenAI API`)

// TestFailedStart starts in-process Triton with something missing, and checks that the last line has the cause and
// that no address is logged.
func TestFailedStart(t *testing.T) {
	t.Parallel()
	models, missing := filepath.Join(root(t), "test", "models"), filepath.Join(t.TempDir(), "missing")
	for _, test := range []struct {
		name  string
		flags []string
		words []string
	}{
		{"no model repository", []string{"--model-repository=" + missing}, []string{missing}},
		{"no model", []string{"--model-repository=" + models, "--model-control-mode=explicit", "--load-model=nobody"}, []string{"nobody", "--exit-on-error=false"}},
		{"no libtritonserver", []string{"--model-repository=" + models, "--triton-library=" + missing}, []string{"libtritonserver", missing, "--triton-library"}},
		{"no TLS certificate", []string{"--model-repository=" + models, "--tls-cert=" + missing}, []string{missing, "--tls-cert"}},
		{"a TLS certificate that is none", []string{"--model-repository=" + models, "--tls-cert=process_test.go"}, []string{"process_test.go", "--tls-cert"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), tridentBinary(t), append(test.flags, "--host=127.0.0.1", "--openai-port=0", "--enable-kserve-frontends", "--kserve-http-port=0", "--kserve-grpc-port=0",
				"--metrics-port=0", "--profile-address=127.0.0.1:0")...)
			cmd.Env = environment(raceOptions)
			timer := time.AfterFunc(startLimit, func() { _ = cmd.Process.Kill() })
			defer timer.Stop()
			out, _ := cmd.CombinedOutput() // the exit code is checked below
			if code := cmd.ProcessState.ExitCode(); code != 1 {
				t.Errorf("exit code %d", code)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			last := lines[len(lines)-1]
			if !strings.HasPrefix(last, "trident: ") || strings.Count(string(out), "trident: ") != 1 || addressLine.Match(out) {
				t.Errorf("the last line isn't the only cause, or an address is shown:\n%s", out)
			}
			for _, words := range test.words {
				if !strings.Contains(last, words) {
					t.Errorf("%q doesn't say %q", last, words)
				}
			}
		})
	}
}

// TestOtherNames starts trident as tritonserver with a command line of tritonserver, and checks that it serves KServe v2
// on tritonserver's ports and names the flag that has no effect.
func TestOtherNames(t *testing.T) {
	t.Parallel()
	link := filepath.Join(t.TempDir(), "tritonserver")
	if err := os.Symlink(tridentBinary(t), link); err != nil {
		t.Fatal(err)
	}
	launched, err := launchBinary(t, link, root(t), nil, "--model-repository="+filepath.Join(root(t), "test", "models"), "--model-control-mode=explicit", "--load-model", "echo",
		"--http-port=0", "--grpc-port", "0", "--metrics-port=0", "--exit-on-error=1", "--log-verbose=0", "--strict-readiness=true", "--http-thread-count=4")
	s := owned(t, launched, err)
	line, ok := s.log.await(startLimit, s.exited, func(l logLine) bool { return l["msg"] == "listening for KServe v2 by REST" })
	if !ok {
		t.Fatalf("no port of KServe v2:\n%s", s.log)
	}
	ready := func() bool {
		r, err := client.Get("http://" + line.text("address") + "/v2/models/echo/ready")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK
	}
	if !poll(startLimit, ready) {
		t.Errorf("the model isn't ready:\n%s", s.log)
	}
	if _, ok := s.log.await(startLimit, s.exited, func(l logLine) bool {
		return l["msg"] == "a flag has no effect" && l["flag"] == "--http-thread-count" && l["level"] == "WARN"
	}); !ok {
		t.Errorf("the flag isn't logged:\n%s", s.log)
	}
	for _, program := range [][]string{{link}, {tridentBinary(t), "tritonserver"}, {tridentBinary(t), "/opt/tritonserver/bin/tritonserver"}} { // an image runs the last two
		out, err := exec.Command(program[0], append(program[1:], "--id=a", "--model-repository=b")...).CombinedOutput()
		if want := "trident: --id: Trident doesn't have this flag of tritonserver: start tritonserver with it"; err == nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("%q: %q, %v", program, out, err)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(tridentBinary(t), "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "trident "+testVersion+" ") && !strings.HasPrefix(string(out), "trident "+testVersion+"\n") || !strings.Contains(string(out), "remote") {
		t.Errorf("%q: %v", out, err)
	}
	out, err = exec.Command(tridentBinary(t), "--help=all").Output()
	for _, flag := range []string{"--triton-endpoint", "--openai-port", "--strict"} {
		if err != nil || !strings.Contains(string(out), flag) {
			t.Errorf("--help=all doesn't contain %s: %v", flag, err)
		}
	}
}

// TestOverload checks that POST /v1/chat/completions returns status 503 above --max-in-flight, and
// that a client that disconnects frees its slot.
func TestOverload(t *testing.T) {
	t.Parallel()
	s := ownEngine(t, scripted(t, "chat")).startReady(t, "--max-in-flight=1", "--max-queued=0")
	ctx, leave := context.WithCancel(withTestName(t.Context(), t))
	defer leave()
	r := s.request(t, http.MethodPost, "/v1/chat/completions", longStory("stream", true)).WithContext(ctx)
	readUntil(t, s.open(t, client, r).response.Body, `"content":"`)
	a := s.post(t, "/v1/chat/completions", ask("Hello.")).want(t, http.StatusServiceUnavailable)
	if e := a.failure(t); text(e.Type) != "server_error" || text(e.Code) != "server_is_overloaded" || a.header.Get("Retry-After") == "" {
		t.Errorf("type %s, code %s, Retry-After %q", text(e.Type), text(e.Code), a.header.Get("Retry-After"))
	}
	leave()
	if !poll(lateLimit, func() bool {
		return s.post(t, "/v1/chat/completions", ask("Hello.", "max_tokens", 1)).status == http.StatusOK
	}) {
		t.Error("the slot of a disconnected client isn't released for the next request")
	}
}

// TestRequestTimeout checks the response to a request that exceeds the request timeout.
func TestRequestTimeout(t *testing.T) {
	t.Parallel()
	s := ownEngine(t, scripted(t, "chat")).startReady(t, "--request-timeout=1500ms")
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream=%v", stream), func(t *testing.T) {
			var body []byte
			if stream {
				body = <-watch(t, s.openChat(t, longStory()))
			} else {
				body = s.post(t, "/v1/chat/completions", longStory()).want(t, http.StatusGatewayTimeout).body
			}
			if e := parseError(t, body); text(e.Code) != "timeout" || text(e.Type) != "server_error" {
				t.Errorf("type %s, code %s", text(e.Type), text(e.Code))
			}
			awaitRunning(t, s, 0)
		})
	}
}
