package tritonserver

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trident-inference/trident/test/pause"
)

func TestMain(m *testing.M) {
	if os.Getenv("TRIDENT_TEST_PARENT") != "" {
		parent()
		return
	}
	goleak.VerifyTestMain(m)
}

// script returns the path of a program that replaces tritonserver.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tritonserver")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLaunchFails(t *testing.T) {
	tests := []struct {
		name   string
		binary string
		want   string
	}{
		{"no such program", filepath.Join(t.TempDir(), "nothing"), "start tritonserver"},
		{"ends at once", script(t, "echo failed to load all models; exit 1"), "failed to load all models"},
		{"never ready", script(t, "echo loading; exec sleep 60"), "wasn't ready in time"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			server, err := Launch(t.Context(), Options{Binary: test.binary, ReadyTimeout: 200 * time.Millisecond})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v, want %q", server, err, test.want)
			}
			if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
}

func TestFind(t *testing.T) {
	t.Setenv(Environment, "/somewhere/tritonserver")
	if path, err := Find(); path != "/somewhere/tritonserver" || err != nil {
		t.Errorf("got %s, %v", path, err)
	}
	t.Setenv(Environment, "")
	root := t.TempDir()
	t.Chdir(root)
	if _, err := Find(); err == nil || !strings.Contains(err.Error(), "go.mod") {
		t.Errorf("outside of the source tree: %v", err)
	}
	if err := os.WriteFile("go.mod", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(); err == nil || !strings.Contains(err.Error(), "run make setup") {
		t.Errorf("without an installation: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(root, installed), 0o700); err != nil {
		t.Fatal(err)
	}
	if path, err := Find(); err != nil || !strings.HasSuffix(path, installed) {
		t.Errorf("got %s, %v", path, err)
	}
}

// TestFreePort checks that FreePort returns a port that is free and outside the range of the ports
// that Linux assigns to connections.
func TestFreePort(t *testing.T) {
	port, err := FreePort(t.Context())
	if err != nil || port < lowestPort || port >= highestPort {
		t.Fatalf("got %d, %v", port, err)
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
}

func TestLogTail(t *testing.T) {
	log, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for i := range 20_000 {
		fmt.Fprintln(log, "line", i)
	}
	s := &Server{options: Options{Log: log}}
	if got := s.LogTail(2); got != "line 19998\nline 19999" {
		t.Errorf("got %q", got)
	}
}

// parent launches a server and waits to be killed.
func parent() {
	root, _ := SourceRoot()
	log, _ := os.Create(os.Getenv("TRIDENT_TEST_PARENT"))
	server, err := Launch(context.Background(), Options{
		Binary:       os.Getenv("TRIDENT_TEST_BINARY"),
		Repositories: []string{filepath.Join(root, "test", "models")}, Log: log, ExitTimeout: time.Second,
	})
	if err != nil {
		fmt.Fprintln(log, err)
		return
	}
	fmt.Fprintln(log, "\nstarted", server.run().cmd.Process.Pid, server.prefix)
	_, _ = io.ReadAll(os.Stdin)
}

// TestDiesWithItsParent checks that a server ends, and leaves no shared memory, when the process that
// started it is killed, for example by a panic or a closed terminal.
func TestDiesWithItsParent(t *testing.T) {
	tests := []struct{ name, binary string }{
		{"tritonserver that is ready", ""},
		{"a server that never ends by itself", script(t, `trap "" TERM; prefix=${2##*=}; : >"/dev/shm/${prefix}region"; sleep 60 & echo; echo started $$ "$prefix"; wait; sleep 60`)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if testing.Short() && test.binary == "" {
				t.Skip("needs tritonserver")
			}
			log := filepath.Join(t.TempDir(), "log")
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "TRIDENT_TEST_PARENT="+log, "TRIDENT_TEST_BINARY="+test.binary)
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pid, prefix := awaitStarted(t, log)
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			until(t, log, func() bool {
				shared, _ := filepath.Glob("/dev/shm/" + prefix + "*")
				return syscall.Kill(-pid, 0) != nil && len(shared) == 0
			})
		})
	}
}

// TestGate checks that a command prepared by hold starts its program only when the gate opens, in
// the process that waited. If the gate is closed, as when the process that holds it dies, the
// program doesn't start.
func TestGate(t *testing.T) {
	for _, opens := range []bool{true, false} {
		started := filepath.Join(t.TempDir(), "started")
		cmd := exec.Command(script(t, `echo $$ >"$1"`), started)
		g, err := hold(cmd)
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if opens {
			g.open()
		} else {
			g.close()
		}
		err = cmd.Wait()
		text, missing := os.ReadFile(started)
		switch {
		case opens && (err != nil || strings.TrimSpace(string(text)) != strconv.Itoa(cmd.Process.Pid)):
			t.Errorf("the open gate: %v; process %s, want %d", err, text, cmd.Process.Pid)
		case !opens && (err == nil || missing == nil):
			t.Errorf("the closed gate: %v; the program wrote %q", err, text)
		}
	}
}

// awaitStarted waits for the process id and the prefix in the log and returns
// them.
func awaitStarted(t *testing.T, log string) (pid int, prefix string) {
	t.Helper()
	until(t, log, func() bool {
		text, _ := os.ReadFile(log)
		_, line, _ := strings.Cut(string(text), "\nstarted ")
		n, _ := fmt.Sscanf(line, "%d %s\n", &pid, &prefix)
		return n == 2
	})
	return pid, prefix
}

// until fails the test, with the server's log, if a condition isn't met within 30 seconds.
func until(t *testing.T, log string, condition func() bool) {
	t.Helper()
	if !pause.Until(30*time.Second, condition) {
		text, _ := os.ReadFile(log)
		t.Fatalf("waited in vain; the log:\n%s", text)
	}
}

// TestRestartsHangingServer checks that a server that ignores the signal to stop is killed and
// restarted.
func TestRestartsHangingServer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs tritonserver")
	}
	binary, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	root, err := SourceRoot()
	if err != nil {
		t.Fatal(err)
	}
	ignoring := script(t, `trap "" TERM; "`+binary+`" "$@" & wait`)
	server, err := Launch(t.Context(), Options{Binary: ignoring, Repositories: []string{filepath.Join(root, "test", "models")}, ExitTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	before := server.Pid()
	if err := server.Restart(t.Context()); err != nil || server.Pid() == before {
		t.Errorf("process %d after %d: %v", server.Pid(), before, err)
	}
	if err := server.Close(); err == nil || !strings.Contains(err.Error(), "didn't stop and was killed") {
		t.Errorf("got %v", err)
	}
}
