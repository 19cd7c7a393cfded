// Command demo is the program that `make run` starts: Trident with in-process Triton and the demo
// models. It prints when the models are ready. It leaves no process or shared memory, however it
// ends.
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
	"strconv"
	"syscall"
	"time"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

func main() {
	port := flag.Int("port", 9000, "TCP port of the OpenAI API on 127.0.0.1")
	models := flag.String("models", "models", "folder of the model repository to serve")
	trident := flag.String("trident", "bin/trident", "path of the trident binary")
	flag.Parse()
	// A terminal sends an interrupt to the whole process group. Trident has its own group, so that
	// it gets the signal only once, from this program.
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	d := demo{port: *port, models: *models, trident: *trident, readyTimeout: time.Minute}
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
	trident string // path of the program trident
	// readyTimeout bounds Trident's start, which ends when the models are ready.
	readyTimeout time.Duration
}

// Time limits of Trident's stop: of its requests, and of Triton and all models afterwards.
const (
	shutdownTimeout = 5 * time.Second
	grace           = shutdownTimeout + 10*time.Second
)

// run starts Trident, and returns when it has ended. The end of the context, by which a user stops
// it, is not an error.
func (d demo) run(ctx context.Context) error {
	cmd := exec.Command(d.trident, "--host=127.0.0.1", "--openai-port="+strconv.Itoa(d.port), //nolint:gosec,noctx // our own binary; it is stopped below, in order
		"--model-repository="+d.models, "--shutdown-timeout="+shutdownTimeout.String())
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := d.checkPort(ctx); err != nil {
		return err
	}
	fmt.Printf("Starting Trident with the models in %s ...\n", d.models)
	exited, err := tritonserver.RunGuarded(cmd, func(pid int) string { return fmt.Sprintf("trident_%d_", pid) }, grace)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan error, 1)
	go func() { ready <- d.awaitReady(waiting) }()
	select {
	case err := <-ready:
		if err == nil {
			d.greet()
			break
		}
		_ = cmd.Process.Signal(syscall.SIGTERM) // fails if the process has ended
		failed := <-exited
		if ctx.Err() != nil {
			return nil // the demo was stopped during the start
		}
		return errors.Join(fmt.Errorf("%w; see the log lines above for the cause", err), failed)
	case err := <-exited:
		return ended(err)
	}
	select {
	case err := <-exited:
		return ended(err)
	case <-ctx.Done():
		_ = cmd.Process.Signal(syscall.SIGTERM)
		return ended(<-exited)
	}
}

func ended(err error) error {
	if err != nil {
		return fmt.Errorf("trident: %w", err)
	}
	return nil
}

// checkPort detects a busy port before the models load, which takes seconds.
func (d demo) checkPort(ctx context.Context) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", d.address())
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is in use: stop the program that uses it, or choose another port with make run PORT=%d", d.port, d.port+1)
	}
	if err != nil {
		return err
	}
	return l.Close()
}

func (d demo) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(d.port)) }

// awaitReady waits until Trident is ready. An error contains its last response.
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

// health sends one readiness request. It returns the reason why Trident isn't ready, or "".
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
	fmt.Printf(`Try it:
  curl -N %[1]s/v1/chat/completions -d '{"model":"chat","stream":true,"messages":[{"role":"user","content":"Say hello."}]}'
or open %[1]s/ in a browser.

Ctrl-C stops it.

`, base)
}
