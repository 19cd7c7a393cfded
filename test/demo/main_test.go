package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/pause"
)

// standIn makes the test's own binary the trident of a demo. Its value is the health that the
// program reports, or how it ends.
const standIn = "TRIDENT_TEST_STANDIN"

func TestMain(m *testing.M) {
	if health := os.Getenv(standIn); health != "" {
		if err := serveHealth(health); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// serveHealth is a program that accepts the flags of trident. It ends on a signal, or with an
// error.
func serveHealth(health string) error {
	if health == "broken" {
		return errors.New("no library")
	}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	host, port := flags.String("host", "", ""), flags.String("openai-port", "", "")
	for _, name := range []string{"model-repository", "shutdown-timeout"} {
		flags.String(name, "", "")
	}
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	server := &http.Server{ReadHeaderTimeout: time.Second, Addr: net.JoinHostPort(*host, *port)}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/crash":
			os.Exit(3)
		case health != "ready":
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, health)
		}
	})
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	if health == "not yet" {
		return errors.New("stopped while starting")
	}
	return nil
}

func TestRun(t *testing.T) {
	tests := []struct {
		name   string
		health string
		// patience is the time limit of Trident's start. 0 means a long time limit.
		patience time.Duration
		// then is called when Trident responds to any request, ready or not.
		then func(t *testing.T, d demo, stop context.CancelFunc)
		want []string // parts of the error; none for no error
	}{
		{
			name: "interrupted when ready", health: "ready",
			then: func(_ *testing.T, _ demo, stop context.CancelFunc) { stop() },
		},
		{
			name: "interrupted while starting", health: "not yet",
			then: func(_ *testing.T, _ demo, stop context.CancelFunc) { stop() },
		},
		{
			name: "Trident doesn't start", health: "broken",
			want: []string{"trident: exit status 1"},
		},
		{
			name: "Trident doesn't become ready", health: "not yet", patience: 300 * time.Millisecond,
			want: []string{"trident wasn't ready after 300ms", "see the log lines above for the cause", "exit status 1"},
		},
		{
			name: "Trident ends", health: "ready",
			then: func(_ *testing.T, d demo, _ context.CancelFunc) {
				if answer, err := http.Get("http://" + d.address() + "/crash"); err == nil {
					_ = answer.Body.Close()
				}
			},
			want: []string{"trident: exit status 3"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(standIn, test.health)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			d := demo{port: freePort(t), models: ".", trident: itself(t), readyTimeout: cmp.Or(test.patience, time.Minute)}
			ended := make(chan error, 1)
			go func() { ended <- d.run(ctx) }()
			if test.then != nil {
				awaitAnswer(t, d)
				test.then(t, d, stop)
			}
			checkError(t, <-ended, test.want)
			if err := d.checkPort(t.Context()); err != nil {
				t.Errorf("Trident still runs: %v", err)
			}
		})
	}
}

// awaitAnswer waits until Trident responds to any request.
func awaitAnswer(t *testing.T, d demo) {
	t.Helper()
	if !pause.Until(time.Minute, func() bool { _, err := d.health(t.Context()); return err == nil }) {
		t.Fatal("no answer")
	}
}

// TestNeverReady checks that the error contains Trident's last response.
func TestNeverReady(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "the model chat is loading "+r.URL.Path+strings.Repeat(".", 1<<20))
	}))
	defer server.Close()
	d := demo{port: server.Listener.Addr().(*net.TCPAddr).Port, readyTimeout: time.Second}
	err := d.awaitReady(t.Context())
	checkError(t, err, []string{"trident wasn't ready after 1s", "GET /health/ready: 503 Service Unavailable the model chat is loading /health/ready..."})
	if n := len(err.Error()); n > 2000 {
		t.Errorf("the error has %d bytes", n)
	}
}

// itself returns the path of the test's binary.
func itself(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func checkError(t *testing.T, err error, want []string) {
	t.Helper()
	if err != nil && len(want) == 0 {
		t.Errorf("got %v", err)
	}
	for _, part := range want {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got %v, want %q", err, part)
		}
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := tritonserver.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
