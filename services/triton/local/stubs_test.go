//go:build cgo && linux

package local

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestParseStub(t *testing.T) {
	for _, test := range []struct {
		name, line, model string
	}{
		{"instance", "/b/triton_python_backend_stub /r/chat/1/model.py trident_1_1_x 1 2 3 /b 336 chat_0_0 DEFAULT", "chat"},
		{"before it is configured", "/b/triton_python_backend_stub /r/chat/1/model.py trident_1_1_x 1 2 3 /b 336 chat DEFAULT", "chat"},
		{"instance with a name of its own", "/b/triton_python_backend_stub /r/chat/1/model.py trident_1_1_x 1 2 3 /b 336 mine_0 DEFAULT", "chat"},
		{"files of a request", "/b/triton_python_backend_stub /tmp/folderAb3/1/model.py trident_1_1_x 1 2 3 /b 336 chat_2_0_0 DEFAULT", "chat_2"},
		{"Triton itself, forked", "/bin/trident --model-repository /r", ""},
		{"shell that becomes one", "bash -c exec.triton_python_backend_stub./r/chat/1/model.py", ""},
		{"nothing, as of a dead process", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, ok := parseStub(7, []byte(strings.ReplaceAll(test.line, " ", "\x00")+"\x00"))
			if ok != (test.model != "") || ok && (s.model() != test.model || s.pid != 7 || s.segment != "trident_1_1_x") {
				t.Errorf("got %+v of model %s, %v", s, s.model(), ok)
			}
		})
	}
}

// fakeStub starts a process with the command line of a model's process.
func fakeStub(t *testing.T, prefix string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "/r/chat/1/model.py", prefix+"x", "1", "2", "3", "/b", "336", "chat_0_0", "DEFAULT")
	script := filepath.Join(t.TempDir(), "model.py")
	if err := os.WriteFile(script, []byte("sleep 3600 & echo; wait\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.Args[0], cmd.Args[1] = stubName, script
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = out.Read(make([]byte, 1)) // a child has its parent's command line until the child runs another program
	for len(stubsOf(prefix)) > 1 {
		runtime.Gosched()
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func TestAwaitEnd(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, test := range []struct {
		name, script, want string
		clean              bool
	}{
		{"exit", "exit 0", "with exit code 0", true},
		{"failure", "exit 3", "with exit code 3", false},
		{"signal", "kill -s SEGV $$", "by signal: segmentation fault", false},
	} {
		for way, wait := range map[string]func(context.Context, int) (exit, error){"pidfd": awaitEnd, "polling": pollEnd} {
			t.Run(test.name+" by "+way, func(t *testing.T) {
				cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "read -r _; "+test.script)
				input, err := cmd.StdinPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if _, err := wait(ctx, cmd.Process.Pid); !errors.Is(err, context.Canceled) {
					t.Errorf("with a context that has ended: %v", err)
				}
				_ = input.Close()
				how, err := wait(t.Context(), cmd.Process.Pid)
				if err != nil || how.String() != test.want || how.clean() != test.clean {
					t.Errorf("it ended %s, clean %v, %v", how, how.clean(), err)
				}
				_ = cmd.Wait()
				if how, err := wait(t.Context(), cmd.Process.Pid); err != nil || how.known {
					t.Errorf("when it is buried: %s, %v", how, err)
				}
			})
		}
	}
}

// TestSweepDead checks that sweepDead removes the shared memory and the processes that a dead
// server left behind, and nothing of a live server.
func TestSweepDead(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	living, lease := newPrefix(Options{})
	if lease == nil {
		t.Skip("/dev/shm can't be written to")
	}
	other, second := newPrefix(Options{})
	if other == living {
		t.Fatalf("two servers got %s", living)
	}
	for _, prefix := range []string{living, other} {
		if err := os.WriteFile(shared+prefix+"x", nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { sweep(living); sweep(other) })
	orphan := fakeStub(t, other)
	family := descendants(orphan.Process.Pid)
	if len(family) != 1 {
		t.Fatalf("the process has the children %v", family)
	}
	sweepDead(log)
	if len(stubsOf(other)) != 1 {
		t.Fatal("what belongs to a living server was swept up")
	}
	_ = second.Close() // the kernel does this when a process ends
	sweepDead(log)
	if left, _ := filepath.Glob(shared + other + "*"); len(left) > 0 || len(stubsOf(other)) > 0 {
		t.Errorf("left: %v, %v", left, stubsOf(other))
	}
	_ = orphan.Wait()
	if state := orphan.ProcessState.Sys().(syscall.WaitStatus); state.Signal() != syscall.SIGKILL {
		t.Errorf("the process is %v", orphan.ProcessState)
	}
	if _, gone := ended(family[0]); !gone {
		t.Error("its child lives")
	}
	if !exists(shared+living+"x") || !exists(shared+living+leaseName) {
		t.Error("what belongs to a living server was swept up")
	}
	_ = lease.Close()
}

// TestPause checks the pauses between the attempts to load a broken model again. Only one attempt
// runs at a time, and none if the model works again.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth(t.Context(), &core{})
		w := h.model("m")
		var got []string
		for range 9 {
			got = append(got, h.pause(w).String())
			w.attempts++
		}
		if all := strings.Join(got, " "); all != "0s 1s 2s 4s 8s 16s 32s 1m0s 1m0s" {
			t.Errorf("the pauses are %s", all)
		}
		began := time.Now()
		if !h.take(w, lastPause, nil) || time.Since(began) != lastPause {
			t.Errorf("taken after %s", time.Since(began))
		}
		working := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(working) })
		if h.take(w, 0, working) {
			t.Error("two have it")
		}
		h.release(w)
		if h.take(w, 0, working) || len(w.busy) != 0 {
			t.Error("taken though it is sound")
		}
		h.stop()
	})
}
