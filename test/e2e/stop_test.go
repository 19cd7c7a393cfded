package e2e

import (
	"net"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trident-inference/trident/test/tier"
)

const (
	// betweenSignals is the minimum delay after which a signal is the second one.
	betweenSignals = 200 * time.Millisecond
	// prefaceHTTP2 starts an HTTP/2 connection of a client without settings.
	prefaceHTTP2 = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
)

var (
	// secondLimit bounds the end after a second signal. On an idle machine it takes some 30 ms.
	secondLimit = tier.Size(3*time.Second, time.Second)
	// idleLimit bounds a stop without requests, in addition to the time of in-process Triton.
	idleLimit = tier.Size(3*time.Second, time.Second)
)

// stopTwice sends a signal to the process group twice, as a terminal does. The process must then
// end at once with the exit code of the signal, and leave no process or shared memory. stopTwice
// returns the log line of the first signal.
func (s *trident) stopTwice(t *testing.T, signal syscall.Signal) logLine {
	t.Helper()
	mark := s.log.len()
	s.signalGroup(t, signal)
	first, ok := s.log.await(startLimit, s.exited, func(l logLine) bool { return strings.HasPrefix(l.text("msg"), "stopping") })
	if !ok || !strings.Contains(first.text("msg"), "a second signal ends the process at once") || first.text("signal") != signal.String() {
		t.Errorf("the first signal logs %v", first)
	}
	<-time.After(betweenSignals) // the pause makes it the second signal
	s.signalGroup(t, signal)
	sent := time.Now()
	if err := s.awaitExit(secondLimit); err != nil {
		t.Fatalf("after a second signal: %v\n%s", err, s.log)
	}
	t.Logf("ended %s after the second signal", time.Since(sent))
	if code := s.cmd.ProcessState.ExitCode(); code != 128+int(signal) {
		t.Errorf("exit code %d", code)
	}
	if left := processes(t, func(p process) bool { return p.group == s.cmd.Process.Pid }); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	s.checkGone(t)
	if !slices.ContainsFunc(s.log.since(mark), func(l logLine) bool { return l.text("msg") == "second signal: ending the process at once" }) {
		t.Errorf("the second signal isn't logged:\n%s", s.log)
	}
	return first
}

func (s *trident) signalGroup(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(-s.cmd.Process.Pid, signal); err != nil {
		t.Fatal(err)
	}
}

// listeningLine matches the messages of open ports.
var listeningLine = regexp.MustCompile("^listening( for KServe v2 by (REST|gRPC))?$")

// addresses returns the addresses of all ports.
func (s *trident) addresses(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, line := range s.log.since(0) {
		if listeningLine.MatchString(line.text("msg")) {
			all = append(all, line.text("address"))
		}
	}
	if len(all) != 3 {
		t.Fatalf("ports: %v\n%s", all, s.log)
	}
	return all
}

// say opens a connection and sends only the given text on it.
func say(t *testing.T, address, text string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// TestLocalStopTwice checks that a second signal ends trident at once, in different states of
// trident, and that no process and no shared memory remain.
func TestLocalStopTwice(t *testing.T) {
	t.Parallel()
	tier.OnlySlow(t)
	begin := func(t *testing.T, variable string) *trident {
		t.Helper()
		s, err := launchWithoutWait(t, "", []string{variable}, "--model-repository="+talkModels)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.kill() })
		return s
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Run("while it starts", func(t *testing.T) {
				s := begin(t, "")
				if !poll(startLimit, func() bool { return len(s.segments(t)) > 0 }) {
					t.Fatalf("trident doesn't start:\n%s", s.log)
				}
				s.stopTwice(t, signal)
			})
			t.Run("while a model's first process starts", func(t *testing.T) {
				s := begin(t, "")
				if !poll(startLimit, func() bool { return len(s.models(t)) > 0 }) {
					t.Fatalf("no model starts:\n%s", s.log)
				}
				s.stopTwice(t, signal)
			})
			t.Run("while a model loads", func(t *testing.T) {
				startLoading(t).stopTwice(t, signal)
			})
			t.Run("while a model hangs", func(t *testing.T) {
				s := startTalk(t, "--shutdown-timeout=1ms")
				go func() {
					if response, err := client.Do(s.request(t, "POST", "/v1/chat/completions", talkRequest("hang", 1))); err == nil {
						response.Body.Close()
					}
				}()
				if !poll(startLimit, func() bool { return len(s.models(t)) == 2 }) { // the model has started a child process
					t.Fatal("the model receives no request")
				}
				s.stopTwice(t, signal)
			})
		})
	}
}

// TestLocalStopOnce checks that one signal ends trident, both while trident starts and while it is
// idle.
func TestLocalStopOnce(t *testing.T) {
	t.Parallel()
	tier.OnlySlow(t)
	t.Run("while it starts", func(t *testing.T) {
		s, err := launchWithoutWait(t, "", nil, "--model-repository="+talkModels)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.kill() })
		if !poll(startLimit, func() bool { return len(s.segments(t)) > 0 }) {
			t.Fatalf("trident doesn't start:\n%s", s.log)
		}
		s.signalGroup(t, syscall.SIGINT)
		s.checkEnded(t)
	})
	t.Run("idle", func(t *testing.T) {
		s := startTalk(t, "--log-level=debug", "--enable-kserve-frontends", "--kserve-grpc-port=0", "--kserve-http-port=0", "--metrics-port=0")
		for _, address := range s.addresses(t) {
			say(t, address, "")
			say(t, address, prefaceHTTP2)
		}
		mark := s.log.len()
		s.signalGroup(t, syscall.SIGINT) // its models get the signal too
		checkExit(t, s, endLimit)
		s.checkGone(t)
		took := map[string]time.Duration{}
		for _, line := range s.log.since(mark) {
			if nanoseconds, ok := line["after"].(float64); ok {
				took[line.text("msg")] = time.Duration(nanoseconds)
			}
		}
		t.Logf("the stop took %s, of which Triton took %s", took["stopped"], took["Triton has ended"])
		if own := took["stopped"] - took["Triton has ended"]; took["Triton has ended"] == 0 || own <= 0 || own > idleLimit {
			t.Errorf("the stop took %s in addition to Triton's time", own)
		}
	})
}
