//go:build !linux

package tritonserver

import "syscall"

// attributes puts the server into its own process group. The server doesn't end
// with this process: only Linux supports that.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
