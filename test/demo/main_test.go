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
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// standIn makes the test's own binary the tritonserver and the trident of a
// demo: it holds the health that the latter tells.
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

// serveHealth is a program that takes the flags of both and ends when it is told
// to.
func serveHealth(health string) error {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	triton, trident := flags.String("http-port", "", ""), flags.String("openai-port", "", "")
	for _, name := range []string{
		"exit-timeout-secs", "backend-config", "model-repository", "host", "triton-endpoint",
		"http-address", "grpc-address", "metrics-address", "grpc-port", "metrics-port",
	} {
		flags.String(name, "", "")
	}
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	server := &http.Server{ReadHeaderTimeout: time.Second, Addr: net.JoinHostPort("127.0.0.1", *triton+*trident)}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if *trident != "" && health != "ready" {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, health)
		}
	})
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func TestRun(t *testing.T) {
	failed := errors.New("no memory")
	tests := []struct {
		name   string
		health string
		// patience is how long Trident may take; 0 for long.
		patience time.Duration
		launch   func(stop context.CancelFunc, server *tritonserver.Server) (*tritonserver.Server, error)
		want     []string // in the error; none for no error
	}{
		{
			name: "interrupted as Triton becomes ready", health: "ready",
			launch: func(stop context.CancelFunc, server *tritonserver.Server) (*tritonserver.Server, error) {
				stop()
				return server, nil
			},
		},
		{
			name: "interrupted while Triton starts", health: "ready",
			launch: func(stop context.CancelFunc, server *tritonserver.Server) (*tritonserver.Server, error) {
				stop()
				return nil, errors.Join(failed, server.Close())
			},
		},
		{
			name: "Triton doesn't start", health: "ready",
			launch: func(_ context.CancelFunc, server *tritonserver.Server) (*tritonserver.Server, error) {
				return nil, errors.Join(failed, server.Close())
			},
			want: []string{"no memory"},
		},
		{
			name: "Trident doesn't become ready", health: "not yet", patience: 100 * time.Millisecond,
			launch: func(_ context.CancelFunc, server *tritonserver.Server) (*tritonserver.Server, error) {
				return server, nil
			},
			want: []string{"trident wasn't ready after 100ms", "Triton's log, " + filepath.Join(".cache", "run", "triton.log") + ", say why"},
		},
		{
			name: "Triton ends", health: "ready",
			launch: func(_ context.CancelFunc, server *tritonserver.Server) (*tritonserver.Server, error) {
				server.Kill()
				return server, nil
			},
			want: []string{"tritonserver ended; its log, " + filepath.Join(".cache", "run", "triton.log")},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			t.Setenv(standIn, test.health)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var server *tritonserver.Server
			d := demo{port: freePort(t), models: ".", trident: itself(t), readyTimeout: cmp.Or(test.patience, time.Minute)}
			d.launch = func(ctx context.Context, options tritonserver.Options) (*tritonserver.Server, error) {
				options.Binary = itself(t)
				var err error
				if server, err = tritonserver.Launch(ctx, options); err != nil {
					t.Error(err)
					return nil, err
				}
				return test.launch(stop, server)
			}
			checkError(t, d.run(ctx), test.want)
			select {
			case <-server.Exited():
			default:
				t.Error("tritonserver still runs")
				_ = server.Close()
			}
		})
	}
}

// TestInterruptReady stops a demo that is ready, as Ctrl-C does.
func TestInterruptReady(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(standIn, "ready")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	d := demo{port: freePort(t), models: ".", trident: itself(t), readyTimeout: time.Minute}
	d.launch = func(ctx context.Context, options tritonserver.Options) (*tritonserver.Server, error) {
		options.Binary = itself(t)
		return tritonserver.Launch(ctx, options)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.run(ctx) }()
	if err := d.awaitReady(ctx); err != nil {
		t.Error(err)
	}
	stop()
	checkError(t, <-ended, nil)
}

// TestNeverReady: the error tells what Trident said last.
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

// itself is the test's binary.
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
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
