// Command demo is what `make run` starts: a real tritonserver with the demo
// models on free loopback ports, and Trident before it. Both end with it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

func main() {
	port := flag.Int("port", 9000, "port of the OpenAI API on 127.0.0.1")
	models := flag.String("models", "models", "model repository")
	trident := flag.String("trident", "bin/trident", "the trident binary")
	flag.Parse()
	// Interrupt from a terminal reaches the whole process group; the children are
	// in groups of their own, so that they end in order.
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	d := demo{port: *port, models: *models, trident: *trident, readyTimeout: time.Minute, launch: tritonserver.Launch}
	err := d.run(ctx)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "make run:", err)
		os.Exit(1)
	}
}

type demo struct {
	port    int
	models  string
	trident string // the binary
	// readyTimeout bounds Trident's start, which ends when the models are listed.
	readyTimeout time.Duration
	launch       func(context.Context, tritonserver.Options) (*tritonserver.Server, error)
}

// run starts all, and returns when all has ended. The end of the context is how
// a user ends it, and no error.
func (d demo) run(ctx context.Context) (err error) {
	if err := d.checkPort(ctx); err != nil {
		return err
	}
	log, err := logFile()
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // nobody reads it any more
	fmt.Printf("Starting Triton with the models in %s (log: %s) ...\n", d.models, log.Name())
	started := time.Now()
	triton, err := d.launch(ctx, tritonserver.Options{Repositories: []string{d.models}, Log: log})
	switch {
	case err == nil:
		defer func() { err = errors.Join(err, triton.Close()) }() //nolint:contextcheck // it runs after the context's end
	case ctx.Err() == nil:
		return err
	}
	if ctx.Err() != nil {
		return nil // stopped while starting
	}
	fmt.Printf("Triton is ready after %.1f s.\n", time.Since(started).Seconds())
	return d.serve(ctx, triton, log.Name())
}

// checkPort finds a busy port before Triton takes its seconds to start.
func (d demo) checkPort(ctx context.Context) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", d.address())
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is in use: stop the program that holds it, or choose another with make run PORT=%d", d.port, d.port+1)
	}
	if err != nil {
		return err
	}
	return l.Close()
}

func (d demo) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(d.port)) }

func logFile() (*os.File, error) {
	dir := filepath.Join(".cache", "run")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	return os.Create(filepath.Join(dir, "triton.log"))
}

// serve runs Trident until it ends, Triton ends or the user has had enough.
func (d demo) serve(ctx context.Context, triton *tritonserver.Server, log string) error {
	cmd := exec.Command(d.trident, "--host=127.0.0.1", "--openai-port="+strconv.Itoa(d.port), "--triton-endpoint="+triton.GRPC()) //nolint:gosec,noctx // our own binary; it is stopped below, in order
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	runtime.LockOSThread() // the kernel ends Trident with the thread that started it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	stop := func() error {
		_ = cmd.Process.Signal(syscall.SIGTERM) // fails when it has ended
		return <-exited
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan error, 1)
	go func() { ready <- d.awaitReady(waiting) }()
	for {
		select {
		case err := <-ready:
			if ctx.Err() != nil {
				return stop()
			}
			if err != nil {
				return errors.Join(fmt.Errorf("%w; Trident's lines above and Triton's log, %s, say why", err, log), stop())
			}
			d.greet()
			ready = nil
		case err := <-exited:
			if err != nil {
				return fmt.Errorf("trident: %w", err)
			}
			return nil
		case <-triton.Exited():
			return errors.Join(fmt.Errorf("tritonserver ended; its log, %s, says why", log), stop())
		case <-ctx.Done():
			return stop()
		}
	}
}

// awaitReady waits until Trident says that it is ready; an error holds its last
// answer.
func (d demo) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, d.readyTimeout)
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	last := "none"
	for {
		if answer, err := d.health(ctx); err == nil {
			if answer == "" {
				return nil
			}
			last = answer
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("trident wasn't ready after %s; its last answer to GET /health/ready: %s", d.readyTimeout, last)
		}
	}
}

// health asks once, and gives what stands in the way of readiness: empty for
// nothing.
func (d demo) health(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.address()+"/health/ready", http.NoBody)
	if err != nil {
		return "", err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close() //nolint:errcheck // it has been read
	if answer.StatusCode == http.StatusOK {
		return "", nil
	}
	const enough = 1000
	body, err := io.ReadAll(io.LimitReader(answer.Body, enough))
	return fmt.Sprintf("%s %s", answer.Status, bytes.TrimSpace(body)), err
}

func (d demo) greet() {
	base := "http://" + d.address()
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
