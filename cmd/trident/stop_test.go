package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// TestLoadedModels checks that loaded waits at most listTime for a Triton that doesn't respond, so
// that the stop of trident isn't prevented.
func TestLoadedModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		models := []inference.Model{{Name: "b", State: inference.ModelReady}, {Name: "c"}, {Name: "a", State: inference.ModelLoading}}
		if got := loaded(func(context.Context) ([]inference.Model, error) { return models, nil }); strings.Join(got, " ") != "a b" {
			t.Errorf("got %q", got)
		}
		hangs, began := make(chan struct{}), time.Now()
		got := loaded(func(context.Context) ([]inference.Model, error) { <-hangs; return models, nil })
		if strings.Join(got, " ") != "unknown, because Triton doesn't respond" || time.Since(began) != listTime {
			t.Errorf("got %q after %s", got, time.Since(began))
		}
		close(hangs)
	})
}

// logOf is a log that tests can read and wait for while it is written.
type logOf struct{ lines chan string }

func newLogOf() (*logOf, *slog.Logger) {
	l := &logOf{lines: make(chan string, 1000)}
	return l, slog.New(slog.NewTextHandler(l, nil))
}

// Write implements [io.Writer].
func (l *logOf) Write(p []byte) (int, error) {
	l.lines <- string(p)
	return len(p), nil
}

// await returns the next line that has the text.
func (l *logOf) await(t *testing.T, text string) string {
	t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case line := <-l.lines:
			if strings.Contains(line, text) {
				return line
			}
		case <-late:
			t.Fatalf("no line has %q", text)
		}
	}
}

// newServing returns an application whose tritonserver doesn't exist.
func newServing(t *testing.T, more ...fx.Option) (*execution, *logOf) {
	t.Helper()
	cfg, err := parse("--host=127.0.0.1", "--openai-port=0", "--triton-endpoint=127.0.0.1:1", "--shutdown-timeout=7s", "--no-playground")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Table = io.Discard
	lines, log := newLogOf()
	s := &execution{config: cfg, log: log}
	s.app = application(&flags{}, cfg, log, func(err error) { t.Error(err) }, append(more, fx.Populate(&s.parts))...)
	if err := s.app.Err(); err != nil {
		t.Fatal(err)
	}
	return s, lines
}

// TestFirstSignal checks that the first signal stops the server in order, and that the log
// names the pending work.
func TestFirstSignal(t *testing.T) {
	s, log := newServing(t)
	first, ended := make(chan os.Signal, 1), make(chan error, 1)
	go func() { ended <- s.run(first, nil) }()
	log.await(t, "msg=listening")
	first <- syscall.SIGINT
	line := log.await(t, "msg=\"stopping;") // the first line may have waited for the end of the start
	for _, part := range []string{"a second signal ends the process at once", "requests_in_flight=0", "in_flight_timeout=7s", "signal=interrupt"} {
		if !strings.Contains(line, part) {
			t.Errorf("%q isn't logged: %s", part, line)
		}
	}
	log.await(t, "msg=stopped after=")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestStopReports checks that a stop that waits logs what it waits for and for how long at most.
func TestStopReports(t *testing.T) {
	slow := make(chan struct{})
	s, log := newServing(t, fx.Invoke(func(lc fx.Lifecycle) {
		lc.Append(fx.StopHook(func() { <-slow }))
	}))
	s.report = 10 * time.Millisecond
	first, ended := make(chan os.Signal, 1), make(chan error, 1)
	go func() { ended <- s.run(first, nil) }()
	log.await(t, "msg=listening")
	first <- syscall.SIGINT
	line := log.await(t, "msg=\"still stopping;")
	if !strings.Contains(line, `waits_for="the components of the server"`) || !strings.Contains(line, "at_most=17s") {
		t.Errorf("logged: %s", line)
	}
	close(slow)
	log.await(t, "msg=stopped after=")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	requests := func(elapsed time.Duration, want ...string) {
		t.Helper()
		text := fmt.Sprint(s.remaining(elapsed)...)
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("after %s: no %q in %q", elapsed, part, text)
			}
		}
	}
	var measure metering.Measure
	measure.Begin(inference.WithOrigin(t.Context(), &inference.Origin{Surface: inference.SurfaceOpenAI}), s.parts.Service.Meters(), inference.OperationChat)
	measure.Settle("chat", "")
	requests(2*time.Second, "requests in flight", "1 openai chat of model chat", "5s")
	requests(8*time.Second, "cancelled requests", "1 openai chat of model chat", "9s")
}

// TestFirstSignalDuringStart checks that trident stops the components that it has started, if a
// signal arrives during the start.
func TestFirstSignalDuringStart(t *testing.T) {
	slow, begun := make(chan struct{}), make(chan struct{})
	s, log := newServing(t, fx.Invoke(func(lc fx.Lifecycle) {
		lc.Append(fx.StartHook(func() { close(begun); <-slow }))
	}))
	first, ended := make(chan os.Signal, 1), make(chan error, 1)
	go func() { ended <- s.run(first, nil) }()
	<-begun
	first <- syscall.SIGTERM
	if line := log.await(t, "msg=\"stopping"); !strings.Contains(line, "once the start has finished; a second signal ends the process at once") || !strings.Contains(line, "signal=terminated") {
		t.Errorf("logged: %s", line)
	}
	close(slow)
	log.await(t, "msg=\"stopping;")
	log.await(t, "msg=stopped after=")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestFailureStops checks that trident stops in the usual order when a component fails, and that
// run returns the failure.
func TestFailureStops(t *testing.T) {
	s, log := newServing(t)
	failures, ended, failed := make(chan error, 1), make(chan error, 1), errors.New("serve: gone")
	go func() { ended <- s.run(nil, failures) }()
	log.await(t, "msg=listening")
	failures <- failed
	if line := log.await(t, "msg=\"stopping after a failure"); !strings.Contains(line, `error="serve: gone"`) || !strings.Contains(line, "requests_in_flight=0") {
		t.Errorf("logged: %s", line)
	}
	if err := <-ended; !errors.Is(err, failed) {
		t.Errorf("the run's error is %v", err)
	}
}

// TestSecondSignal checks that the error of a second signal has the exit code that shells report.
// Tests that start the whole program check the other effects of a second signal.
func TestSecondSignal(t *testing.T) {
	s, log := newServing(t)
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		err, ok := errors.AsType[secondSignalError](s.end(signal))
		if !ok || err.exitCode() != code || !strings.Contains(err.Error(), signal.String()) {
			t.Errorf("%s: %v, exit code %d", signal, err, err.exitCode())
		}
		if line := log.await(t, "second signal: ending the process at once"); !strings.Contains(line, "signal="+signal.String()) || !strings.Contains(line, "requests_cut=0") {
			t.Errorf("logged: %s", line)
		}
	}
	first := make(chan os.Signal, 1)
	first <- syscall.SIGINT
	if err := s.run(first, nil); err != nil {
		t.Error(err)
	}
}

// TestSignalsAtOnce checks that signals which arrive shortly after the first signal are treated as
// the same stop.
func TestSignalsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, first, second := make(chan os.Signal), make(chan os.Signal, 1), make(chan os.Signal, 1)
		go sortSignals(all, first, second)
		all <- syscall.SIGINT
		<-time.After(duplicateSignalWindow / 2)
		all <- syscall.SIGINT
		<-time.After(duplicateSignalWindow/2 - 1)
		all <- syscall.SIGHUP
		synctest.Wait()
		if len(first) != 1 || len(second) != 0 {
			t.Errorf("%d first signals, %d second ones", len(first), len(second))
		}
		<-time.After(1)
		all <- syscall.SIGTERM
		if got := <-second; got != syscall.SIGTERM {
			t.Errorf("the second signal is %s", got)
		}
	})
}

// TestInFlight checks that the log line about trident's stop has the number of requests in flight
// by API, operation and model.
func TestInFlight(t *testing.T) {
	figures := func(surface inference.Surface, operation inference.Operation, model string, n int) metering.Figures {
		return metering.Figures{Series: metering.Series{Surface: surface, Operation: operation, Model: model}, InFlight: n}
	}
	requests := inFlight([]metering.Figures{
		figures(inference.SurfaceOpenAI, inference.OperationChat, "chat", 2),
		figures(inference.SurfaceKServe, inference.OperationInfer, "", 1),
		figures(inference.SurfaceConnect, inference.OperationEmbeddings, "embedding", 0),
	})
	if got := strings.Join(summary(requests), ", "); len(requests) != 3 || got != "1 kserve infer, 2 openai chat of model chat" {
		t.Errorf("%d requests: %s", len(requests), got)
	}
}

// TestDrainDelay checks that SIGTERM makes a server not ready for the drain delay, in which it doesn't
// drain, that SIGINT doesn't wait, and that a failure ends the delay.
func TestDrainDelay(t *testing.T) {
	failed := errors.New("serve: gone")
	for name, test := range map[string]struct {
		signal  os.Signal
		delay   time.Duration
		failure error
		waits   bool
	}{
		"SIGTERM":   {syscall.SIGTERM, 100 * time.Millisecond, nil, true},
		"SIGINT":    {syscall.SIGINT, time.Hour, nil, false},
		"no delay":  {syscall.SIGTERM, 0, nil, false},
		"a failure": {syscall.SIGTERM, time.Hour, failed, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, log := newServing(t)
			s.config.Server.DrainDelay = test.delay
			failures, ended, began := make(chan error, 1), make(chan error, 1), time.Now()
			go func() { ended <- s.leave(test.signal, failures) }()
			admission := s.parts.Service.Admission()
			if test.waits {
				if line := log.await(t, "msg=\"not ready any more"); !strings.Contains(line, "drain_delay="+test.delay.String()) {
					t.Errorf("logged: %s", line)
				}
			}
			if test.failure != nil {
				failures <- test.failure
			}
			if err := <-ended; !errors.Is(err, test.failure) {
				t.Errorf("the failure is %v", err)
			}
			if took := time.Since(began); test.waits && test.failure == nil && took < test.delay {
				t.Errorf("it waited for %s", took)
			}
			if err := admission.Ready(); (err != nil) != test.waits {
				t.Errorf("its readiness is %v", err)
			}
			select {
			case <-admission.Draining():
				t.Error("it drains")
			default:
			}
			first := make(chan os.Signal, 1)
			first <- syscall.SIGINT
			if err := s.run(first, nil); err != nil {
				t.Error(err)
			}
		})
	}
}
