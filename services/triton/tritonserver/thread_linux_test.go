package tritonserver

import (
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestOtherChildrenLive checks that the end of a guarded program doesn't end its thread, so that
// other children that are configured to end with the thread that started them stay alive.
func TestOtherChildrenLive(t *testing.T) {
	for range 20 {
		other := exec.CommandContext(t.Context(), "sleep", "60")
		other.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- other.Wait() }()
		exited, err := RunGuarded(exec.Command("true"), func(pid int) string { return "trident_test_" + strconv.Itoa(pid) + "_" }, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if err := <-exited; err != nil {
			t.Error(err)
		}
		select {
		case err := <-ended:
			t.Fatalf("another child ended with it: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
		_ = other.Process.Kill()
		<-ended
	}
}
