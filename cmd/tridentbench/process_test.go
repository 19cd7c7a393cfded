package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestCPUTime checks that the clock of another process counts its work, and
// includes threads that have ended.
func TestCPUTime(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo; read -r _")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	used, err := cpuTime(cmd.Process.Pid)
	if err != nil || used < time.Millisecond || used > 10*time.Second {
		t.Errorf("%v, %v", used, err)
	}
	if resident, err := residentBytes(cmd.Process.Pid); err != nil || resident < 100<<10 {
		t.Errorf("%d bytes, %v", resident, err)
	}
	found := false
	for _, pid := range descendants(os.Getpid()) {
		found = found || pid == cmd.Process.Pid
	}
	if !found {
		t.Error("it isn't among the children")
	}
	_ = in.Close()
	if err := cmd.Wait(); err == nil {
		t.Log("read ended well") // the shell decides
	}
	if _, err := cpuTime(cmd.Process.Pid); err == nil {
		t.Error("a process that has ended has a clock")
	}
}

// TestChild checks that a child that ends early reports why, and that a child
// that doesn't end is killed with its children. The report and the kill must
// take bounded time.
func TestChild(t *testing.T) {
	folder := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	failing, err := startChild(folder, "failing", "sh", "-c", "echo hello; echo broken >&2; exit 1")
	if err != nil {
		t.Fatal(err)
	}
	if line, err := failing.line(ctx); err != nil || line != "hello" {
		t.Errorf("%q, %v", line, err)
	}
	if _, err := failing.line(ctx); err == nil || !strings.Contains(err.Error(), "failing: the process exited before it printed the next line") || !strings.Contains(err.Error(), "broken") {
		t.Errorf("got %v", err)
	}
	if err := failing.awaitReady(ctx, "http://127.0.0.1:1/"); err == nil || !strings.Contains(err.Error(), "the process exited before it became ready") {
		t.Errorf("got %v", err)
	}
	if err := failing.stop(); err != nil {
		t.Error(err)
	}
	// The sleeper inherits the shell's pipes, so they stay open after the shell
	// ends.
	parent, err := startChild(folder, "parent", "sh", "-c", "sleep 1000 & echo; wait")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parent.line(ctx); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := parent.stop(); err != nil || time.Since(began) > stopTime/2 {
		t.Errorf("stopped after %s: %v", time.Since(began), err)
	}
	if _, err := startChild(folder, "absent", "/no/such/program"); err == nil {
		t.Error("no program was started")
	}
}
