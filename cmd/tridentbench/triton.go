package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/backends/burst"
)

// tritonAddress is a running tritonserver.
type tritonAddress struct {
	grpc string // host:port; empty if there is none
	pid  int    // process id, or 0 if its CPU time isn't measured
}

// UnmarshalText parses HOST:PORT, or HOST:PORT,pid=PID.
func (a *tritonAddress) UnmarshalText(text []byte) error {
	address, setting, more := strings.Cut(string(text), ",")
	if _, port, err := net.SplitHostPort(address); err != nil || port == "" {
		return fmt.Errorf("%q isn't HOST:PORT", address)
	}
	a.grpc = address
	if !more {
		return nil
	}
	value, ok := strings.CutPrefix(setting, "pid=")
	pid, err := strconv.Atoi(value)
	if !ok || err != nil || pid <= 0 {
		return fmt.Errorf("%q isn't pid=PID", setting)
	}
	a.pid = pid
	return nil
}

// String returns the form that UnmarshalText parses.
func (a tritonAddress) String() string {
	if a.pid == 0 {
		return a.grpc
	}
	return fmt.Sprintf("%s,pid=%d", a.grpc, a.pid)
}

// roles returns the process of tritonserver, if it is known.
func (a tritonAddress) roles() []role {
	if a.pid == 0 {
		return nil
	}
	return []role{{roleTriton, a.pid}}
}

type tritonserverCommand struct {
	Folder string `arg:"" help:"Folder to write the model repository to."`
}

// Run writes a model repository and serves it with tritonserver until a signal. It prints the flag
// with which the bench uses the server.
func (c *tritonserverCommand) Run(ctx context.Context) error {
	runtime.LockOSThread() // the kernel ends the server with the thread that started it
	if err := burst.Repository(ctx, c.Folder, models(true)...); err != nil {
		return err
	}
	log, err := os.Create(strings.TrimRight(c.Folder, "/") + ".log")
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the server has its own descriptor
	server, err := tritonserver.Launch(ctx, tritonserver.Options{Repositories: []string{c.Folder}, Log: log})
	if err != nil {
		return err
	}
	_, err = fmt.Printf("--triton=%s\n", tritonAddress{server.GRPC(), server.Pid()})
	if err == nil {
		<-ctx.Done()
	}
	return errors.Join(err, server.Close()) //nolint:contextcheck // it runs after the context has ended
}
