package tritonserver

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// guardScript waits for a line that says that all ended well. When its input
// ends without one, this process has died: it gives the server's process group
// a while to end by itself, and then sees to it. A server that is told to end
// while it loads leaves its models' processes behind for ever.
const guardScript = `read -r _ && exit 0; sleep "$3"; kill -s KILL -- "-$1"; rm -f /dev/shm/"$2"*`

// guard is a process that outlives this one for as long as the server might.
type guard struct {
	cmd  *exec.Cmd
	line *os.File
}

// newGuard watches over the process group of a server. Grace is in seconds.
func newGuard(group int, prefix string, grace int) (*guard, error) {
	input, line, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer input.Close()                                                                                          //nolint:errcheck // the guard has its own
	cmd := exec.Command("/bin/sh", "-c", guardScript, "guard", strconv.Itoa(group), prefix, strconv.Itoa(grace)) //nolint:noctx,gosec // it ends by its input; no argument is of anybody else
	cmd.Stdin = input
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // signals for us aren't for it
	if err := cmd.Start(); err != nil {
		_ = line.Close()
		return nil, err
	}
	return &guard{cmd: cmd, line: line}, nil
}

// release ends the guard: the server has ended, and nothing of it is left.
func (g *guard) release() {
	_, _ = g.line.WriteString("\n") // fails when somebody has killed the guard
	_ = g.line.Close()
	_ = g.cmd.Wait()
}
