// Command demo is what `make run` starts: a real tritonserver with the demo
// models on free loopback ports, and Trident before it. Both end with it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

func main() {
	port := flag.Int("port", 9000, "port of the OpenAI API on 127.0.0.1")
	models := flag.String("models", "models", "model repository")
	trident := flag.String("trident", "bin/trident", "the trident binary")
	flag.Parse()
	if err := run(*port, *models, *trident); err != nil {
		fmt.Fprintln(os.Stderr, "make run:", err)
		os.Exit(1)
	}
}

func run(port int, models, trident string) (err error) {
	// Interrupt from a terminal reaches the whole process group; the children are
	// in groups of their own, so that they end in order.
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	if err := checkPort(ctx, port); err != nil {
		return err
	}
	log, err := logFile()
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // nobody reads it any more
	fmt.Printf("Starting Triton with the models in %s (log: %s) ...\n", models, log.Name())
	started := time.Now()
	triton, err := tritonserver.Launch(ctx, tritonserver.Options{Repositories: []string{models}, Log: log})
	if ctx.Err() != nil {
		return nil // stopped while starting
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, triton.Close()) }()
	fmt.Printf("Triton is ready after %.1f s.\n", time.Since(started).Seconds())
	return serve(ctx, triton, port, trident)
}

// checkPort finds a busy port before Triton takes its seconds to start.
func checkPort(ctx context.Context, port int) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address(port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is in use: stop the program that holds it, or choose another with make run PORT=%d", port, port+1)
	}
	if err != nil {
		return err
	}
	return l.Close()
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func logFile() (*os.File, error) {
	dir := filepath.Join(".cache", "run")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	return os.Create(filepath.Join(dir, "triton.log"))
}

// serve runs Trident until it ends, Triton ends or the user has had enough.
func serve(ctx context.Context, triton *tritonserver.Server, port int, trident string) error {
	cmd := exec.Command(trident, "--host=127.0.0.1", "--openai-port="+strconv.Itoa(port), "--triton-endpoint="+triton.GRPC()) //nolint:gosec,noctx // our own binary; it is stopped below, in order
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	runtime.LockOSThread() // the kernel ends Trident with the thread that started it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	var once sync.Once
	stop := func() { once.Do(func() { _ = cmd.Process.Signal(syscall.SIGTERM) }) } // fails when it has ended
	defer stop()
	ready := make(chan error, 1)
	go func() { ready <- awaitReady(ctx, port) }()
	for {
		select {
		case err := <-ready:
			if err == nil {
				greet(port)
			}
			ready = nil
		case err := <-exited:
			if err != nil {
				return fmt.Errorf("trident: %w", err)
			}
			return nil
		case <-triton.Exited():
			stop()
			return errors.Join(errors.New("tritonserver ended; its log says why"), <-exited)
		case <-ctx.Done():
			stop()
			return <-exited
		}
	}
}

// readyTimeout bounds the wait for the models to be listed.
const readyTimeout = time.Minute

func awaitReady(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		if healthy(ctx, port) {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func healthy(ctx context.Context, port int) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address(port)+"/health/ready", http.NoBody)
	if err != nil {
		return false
	}
	answer, err := new(http.Client).Do(req)
	if err != nil {
		return false
	}
	return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
}

func greet(port int) {
	base := "http://" + address(port)
	fmt.Printf(`
Trident serves on %[1]s
  OpenAI API       %[1]s/v1           (models: chat, embedding)
  typed Connect    %[1]s/trident.v1.ChatService
  health           %[1]s/health/ready

Try it:
  curl -N %[1]s/v1/chat/completions -d '{"model":"chat","stream":true,"messages":[{"role":"user","content":"Say hello."}]}'

Ctrl-C stops it.

`, base)
}
