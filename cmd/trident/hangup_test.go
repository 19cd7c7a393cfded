package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trident-inference/trident/test/logbuffer"
)

// asMain is an environment variable that makes the test binary run as Trident.
const asMain = "TEST_AS_TRIDENT"

// TestEarlyHangup checks the effect of a SIGHUP that arrives while trident still reads its settings.
// If trident is to serve, it serves and reads the settings again. With another command, trident ends
// with an error.
func TestEarlyHangup(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		says string
		ends bool
	}{
		"serving by default": {[]string{"--triton-endpoint=127.0.0.1:1", "--host=127.0.0.1", "--openai-port=0", "--shutdown-timeout=1s"}, taken, false},
		"another command":    {[]string{"config", "print"}, "trident: ended by SIGHUP before the command started", true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "trident.yaml")
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
			log := &logbuffer.Buffer{}
			cmd := exec.CommandContext(t.Context(), os.Args[0], append(test.args, "--config="+path)...)
			cmd.Env, cmd.Stderr = append(os.Environ(), asMain+"=1"), log
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pipe := openedPipe(t, path)
			if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			write(t, path, "log-level: info\n") // the second read of the settings reads this file
			_, err := pipe.WriteString("log-level: info\n")
			if err := errors.Join(err, pipe.Close()); err != nil {
				t.Error(err)
			}
			log.Await(t, test.says, 1)
			if !test.ends {
				err = cmd.Process.Signal(syscall.SIGTERM)
			}
			if err = errors.Join(err, cmd.Wait()); (err != nil) != test.ends {
				t.Errorf("trident ended: %v\n%s", err, log)
			}
			if test.ends && !strings.Contains(err.Error(), "exit status 1") {
				t.Errorf("it ended: %v", err)
			}
		})
	}
}

// TestHangupIsCaughtFirst checks that Go initializes the package that catches SIGHUP
// before the packages that take long.
func TestHangupIsCaughtFirst(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "trident") // the test binary initializes packages in another order
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	cmd := exec.CommandContext(t.Context(), binary, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	trace := string(out)
	at := strings.Index(trace, "init github.com/trident-inference/trident/cmd/trident/hangup ")
	if at < 0 {
		t.Fatalf("it isn't set up at all:\n%s", trace)
	}
	before, after := strings.Count(trace[:at], "\ninit "), strings.Count(trace[at:], "\ninit ")
	if early := trace[:at]; strings.Contains(early, "github.com/") || strings.Contains(early, "init net/http ") || before > after/4 {
		t.Errorf("%d packages are set up before, %d behind:\n%s", before, after, early)
	}
}

// openedPipe opens the write end of a pipe once a reader has opened it.
func openedPipe(t *testing.T, path string) *os.File {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for late := time.After(30 * time.Second); ; {
		pipe, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			return pipe
		}
		if !errors.Is(err, syscall.ENXIO) {
			t.Fatal(err)
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("trident doesn't read the settings")
		}
	}
}
