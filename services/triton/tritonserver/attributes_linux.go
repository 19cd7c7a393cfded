package tritonserver

import "syscall"

// attributes puts the server into its own process group. Signals to the group
// reach the processes of its models, and the terminal's Ctrl-C doesn't reach
// the server. The kernel ends the server when the thread that started it ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
