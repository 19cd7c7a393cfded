package tritonserver

import "syscall"

// attributes gives the server a process group of its own, so that signals reach
// its models' processes and the terminal's Ctrl-C doesn't, and ends it with the
// thread that started it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
