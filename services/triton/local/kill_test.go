//go:build cgo && linux

package local

import (
	"bufio"
	"context"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestKillBelow checks that the descendants of a process are killed, and no other process. The
// end-to-end tests check the effect of a second signal on the whole program.
func TestKillBelow(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `sh -c 'sleep 600 & echo $!; wait; :' & echo $!; wait; echo ended; read line`)
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	var family []int
	for range 2 {
		if !lines.Scan() {
			t.Fatal("the process doesn't print its children")
		}
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		family = append(family, pid)
	}
	late := time.Now().Add(time.Minute)
	for !killBelow(cmd.Process.Pid) {
		if time.Now().After(late) {
			t.Fatal("some processes don't end")
		}
	}
	// A grandchild whose parent has ended is no longer a descendant. It was killed and may
	// take a moment to end. Trident adopts such processes.
	ctx, cancel := context.WithDeadline(t.Context(), late)
	defer cancel()
	for _, pid := range family {
		if _, err := awaitEnd(ctx, pid); err != nil {
			t.Fatalf("process %d lives: %v", pid, err)
		}
	}
	if !lines.Scan() || strings.TrimSpace(lines.Text()) != "ended" { // the process is alive and has detected the end of its children
		t.Errorf("the process itself says %q", lines.Text())
	}
	_ = input.Close()
	if err := cmd.Wait(); err == nil {
		t.Error("read had something to read")
	}
}
