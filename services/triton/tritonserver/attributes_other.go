//go:build !linux

package tritonserver

import "syscall"

// attributes gives the server a process group of its own. It doesn't end with
// this process: only Linux knows how.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
