package tritonserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// Guarded runs a program that has Triton in it, with standard streams and
// environment as the command says, and gives how it ended. Signals for this
// process's group aren't for it. Nothing of it is left then: neither its models'
// Python processes nor their shared memory, whose names have the prefix that
// follows from the program's process id. When this process dies, the program is
// told to end, and killed after grace.
func Guarded(cmd *exec.Cmd, prefix func(pid int) string, grace time.Duration) (exited <-chan error, err error) {
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		keepThread()
		defer runtime.UnlockOSThread()
		ended <- live(cmd, prefix, grace, started)
	}()
	return ended, <-started
}

// keepThread keeps a goroutine on its thread: the kernel ends a child with the
// thread that started it. It must be undone in the end. A goroutine that ends
// without that takes its thread along, and all children that others started on it.
func keepThread() { runtime.LockOSThread() }

// live runs a program to its end. Its thread must live as long.
func live(cmd *exec.Cmd, prefix func(pid int) string, grace time.Duration, started chan<- error) error {
	cmd.SysProcAttr = attributes()
	if err := cmd.Start(); err != nil {
		started <- err
		return err
	}
	pid := cmd.Process.Pid
	guard, err := newGuard(pid, prefix(pid), grace)
	if err != nil {
		_ = cmd.Process.Kill()
	} else {
		defer guard.release()
	}
	started <- err
	err = cmd.Wait()
	sweep(pid, prefix(pid))
	return err
}

// sweep removes what a program that didn't stop by itself leaves behind: Python
// processes and their shared memory.
func sweep(group int, prefix string) {
	_ = syscall.Kill(-group, syscall.SIGKILL)
	left, _ := filepath.Glob("/dev/shm/" + prefix + "*")
	for _, path := range left {
		_ = os.Remove(path)
	}
}

// guardSlack is what the guard gives a server beyond its own exit timeout.
const guardSlack = 2 * time.Second

// guardScript waits for a line that says that all ended well. When its input
// ends without one, this process has died: it gives the program's process group
// a while to end by itself, and then sees to it. A server that is told to end
// while it loads leaves its models' processes behind for ever.
const guardScript = `read -r _ && exit 0
seconds=$3
while kill -s 0 -- "-$1" 2>/dev/null; do
	[ "$seconds" -gt 0 ] || { kill -s KILL -- "-$1"; break; }
	seconds=$((seconds - 1))
	sleep 1
done
rm -f /dev/shm/"$2"*`

// guard is a process that outlives this one for as long as the program might.
type guard struct {
	cmd  *exec.Cmd
	line *os.File
}

// newGuard watches over a process group.
func newGuard(group int, prefix string, grace time.Duration) (*guard, error) {
	input, line, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer input.Close() //nolint:errcheck // the guard has its own
	seconds := strconv.Itoa(int(grace.Seconds()))
	cmd := exec.Command("/bin/sh", "-c", guardScript, "guard", strconv.Itoa(group), prefix, seconds) //nolint:noctx,gosec // it ends by its input; no argument is of anybody else
	cmd.Stdin = input
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // signals for us aren't for it
	if err := cmd.Start(); err != nil {
		_ = line.Close()
		return nil, err
	}
	return &guard{cmd: cmd, line: line}, nil
}

// release ends the guard: the program has ended, and nothing of it is left.
func (g *guard) release() {
	_, _ = g.line.WriteString("\n") // fails when somebody has killed the guard
	_ = g.line.Close()
	_ = g.cmd.Wait()
}
