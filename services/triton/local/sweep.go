//go:build cgo && linux

package local

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// sweep kills the Python processes of a server that is gone, or gives them up,
// and removes their shared memory. Both bear the server's prefix. It gives the
// number of processes.
func sweep(prefix string) int {
	killed := 0
	for _, pid := range stubs(prefix) {
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	segments, _ := filepath.Glob("/dev/shm/" + prefix + "*") // fails on malformed patterns only
	for _, path := range segments {
		_ = os.Remove(path)
	}
	return killed
}

// stubs are the Python processes whose shared memory has the prefix.
func stubs(prefix string) []int {
	var pids []int
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline") // fails on malformed patterns only
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(line, []byte(prefix)) || !bytes.Contains(line, []byte(stubName)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
