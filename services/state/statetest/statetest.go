// Package statetest runs a redis-server for tests of what several Tridents share. What is tested belongs
// to the packages of the tests.
package statetest

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/state"
)

// Server is a redis-server that stores nothing on the disk.
type Server struct {
	// URL is its address.
	URL string

	tb      testing.TB
	program string
	socket  string
	options []string
	command *exec.Cmd
}

// program is the variable of the environment with the server's program, such as valkey-server. The
// default is redis-server.
const program = "TRIDENT_STORE_SERVER"

// Start starts a server. It skips the test if redis-server isn't installed, and fails it if another program
// is set that isn't.
func Start(tb testing.TB, options ...string) *Server {
	tb.Helper()
	name := cmp.Or(os.Getenv(program), "redis-server")
	if _, err := exec.LookPath(name); err != nil {
		if os.Getenv(program) != "" {
			tb.Fatal(program, ": ", err)
		}
		tb.Skip("redis-server isn't installed: make setup-test as root on Debian installs it")
	}
	folder, err := os.MkdirTemp("", "state") //nolint:usetesting // a socket's path must be short
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{tb: tb, program: name, socket: filepath.Join(folder, "redis"), options: options}
	s.URL = "unix://" + s.socket
	tb.Cleanup(func() {
		s.Stop()
		_ = os.RemoveAll(folder)
	})
	s.Resume()
	return s
}

// Resume starts the server, which has lost its records.
func (s *Server) Resume() {
	s.tb.Helper()
	arguments := append([]string{"--port", "0", "--unixsocket", s.socket, "--save", "", "--appendonly", "no"}, s.options...)
	s.command = exec.CommandContext(context.Background(), s.program, arguments...) //nolint:gosec // the tests' own arguments
	if err := s.command.Start(); err != nil {
		s.tb.Fatal(err)
	}
	for range 500 {
		if _, err := os.Stat(s.socket); err == nil {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	s.tb.Fatal(s.program + " didn't start within 5 seconds")
}

// Stop stops the server.
func (s *Server) Stop() {
	if s.command == nil {
		return
	}
	_ = s.command.Process.Kill()
	_ = s.command.Wait()
	_ = os.Remove(s.socket)
	s.command = nil
}

// Open returns a store at the server, as one Trident has it. It is closed at the end of the test.
func (s *Server) Open() *state.Store {
	s.tb.Helper()
	store, err := state.Open(s.URL, slog.New(slog.NewTextHandler(s.tb.Output(), nil)))
	if err != nil {
		s.tb.Fatal(err)
	}
	if err := store.Start(s.tb.Context()); err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { _ = store.Stop(context.Background()) })
	return store
}
