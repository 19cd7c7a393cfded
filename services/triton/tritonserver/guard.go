package tritonserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// RunGuarded runs a program that contains Triton, with the standard streams and
// environment of cmd, and sends the program's result on exited. Signals to this
// process's group don't reach it. After it ends, its models' Python processes
// are killed, and their shared memory is removed. prefix returns the prefix of
// the shared memory's names for the program's process id. If this process dies,
// the program gets SIGTERM, and SIGKILL after grace.
func RunGuarded(cmd *exec.Cmd, prefix func(pid int) string, grace time.Duration) (exited <-chan error, err error) {
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		keepThread()
		defer runtime.UnlockOSThread()
		ended <- live(cmd, prefix, grace, started)
	}()
	return ended, <-started
}

// keepThread locks a goroutine to its thread, because the kernel ends a child with
// the thread that started it. The caller must unlock the thread in the end. A
// goroutine that ends without that ends its thread, and with it all children that
// other goroutines started on the thread.
func keepThread() { runtime.LockOSThread() }

// live runs a program until it ends. The calling thread must exist as long as
// the program.
func live(cmd *exec.Cmd, prefix func(pid int) string, grace time.Duration, started chan<- error) error {
	cmd.SysProcAttr = attributes()
	g, err := hold(cmd)
	if err != nil {
		started <- err
		return err
	}
	defer g.close()
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
		g.open()
	}
	started <- err
	err = cmd.Wait()
	sweep(pid, prefix(pid))
	return err
}

// gate lets a process start its program. If this process dies before, the process ends
// without starting it: the program would have no guard.
type gate struct{ input, line *os.File }

// hold changes a command so that its process waits for the gate. The process keeps its id
// when it starts the program.
func hold(cmd *exec.Cmd) (*gate, error) {
	if _, err := exec.LookPath(cmd.Path); err != nil {
		return nil, err
	}
	input, line, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fd := 3 + len(cmd.ExtraFiles)
	cmd.ExtraFiles = append(cmd.ExtraFiles, input)
	script := fmt.Sprintf(`read -r _ <&%d || exit 1; exec %d<&-; exec "$0" "$@"`, fd, fd)
	cmd.Args = append([]string{"/bin/sh", "-c", script, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	return &gate{input, line}, nil
}

func (g *gate) open() {
	_, _ = g.line.WriteString("\n") // fails if the process has ended
	g.close()
}

func (g *gate) close() {
	_ = g.input.Close()
	_ = g.line.Close()
}

// sweep removes what a program leaves behind if it didn't stop by itself:
// Python processes and their shared memory.
func sweep(group int, prefix string) {
	_ = syscall.Kill(-group, syscall.SIGKILL)
	left, _ := filepath.Glob("/dev/shm/" + prefix + "*")
	for _, path := range left {
		_ = os.Remove(path)
	}
}

// guardSlack is the time that the guard grants a server in addition to the
// server's exit timeout.
const guardSlack = 2 * time.Second

// guardScript waits for a line, which means that the program has ended and was
// cleaned up. If its input ends without a line, this process has died. Then the
// script waits a while for the program's process group to end, and kills it.
// This is needed because a server that is terminated during a load leaves its
// models' processes behind.
const guardScript = `read -r _ && exit 0
seconds=$3
while kill -s 0 -- "-$1" 2>/dev/null; do
	[ "$seconds" -gt 0 ] || { kill -s KILL -- "-$1"; break; }
	seconds=$((seconds - 1))
	sleep 1
done
rm -f /dev/shm/"$2"*`

// guard is a process that survives this one until the program has ended.
type guard struct {
	cmd  *exec.Cmd
	line *os.File
}

// newGuard starts a guard of a process group.
func newGuard(group int, prefix string, grace time.Duration) (*guard, error) {
	input, line, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer input.Close() //nolint:errcheck // the guard has its own copy
	seconds := strconv.Itoa(int(grace.Seconds()))
	cmd := exec.Command("/bin/sh", "-c", guardScript, "guard", strconv.Itoa(group), prefix, seconds) //nolint:noctx,gosec // the guard ends with its input; no argument is from a client
	cmd.Stdin = input
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // signals to this process's group don't reach the guard
	if err := cmd.Start(); err != nil {
		_ = line.Close()
		return nil, err
	}
	return &guard{cmd: cmd, line: line}, nil
}

// release ends the guard, after the program has ended and was cleaned up.
func (g *guard) release() {
	_, _ = g.line.WriteString("\n") // fails if the guard was killed
	_ = g.line.Close()
	_ = g.cmd.Wait()
}
