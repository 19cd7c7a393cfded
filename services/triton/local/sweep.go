//go:build cgo && linux

package local

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Servers share the names in /dev/shm with all processes of the machine, and of
// other containers that share it. So each server leases a prefix: the server holds
// a lock on a file with that name. The kernel releases the lock when the process
// ends for any reason.
const (
	shared    = "/dev/shm/"
	leaseName = "lease"
)

// newPrefix leases a prefix for a server's shared memory. It returns no lease if
// the folder isn't writable. Then the memory isn't removed after a sudden end of
// the process.
func newPrefix(options Options) (string, *os.File) {
	for number := 1; ; number++ {
		prefix := options.prefixOf(fmt.Sprintf("trident_%d_%d_", os.Getpid(), number))
		lease, err := os.OpenFile(shared+prefix+leaseName, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		switch {
		case os.IsExist(err):
			continue
		case err != nil:
			return prefix, nil
		}
		if lock(lease) && stillExists(lease) {
			return prefix, lease
		}
		_ = lease.Close() // another process removed the file before this process locked it
	}
}

func lock(lease *os.File) bool {
	return syscall.Flock(int(lease.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// stillExists reports whether the file still exists under its name.
func stillExists(file *os.File) bool {
	named, err := os.Stat(file.Name())
	opened, failed := file.Stat()
	return err == nil && failed == nil && os.SameFile(named, opened)
}

// sweepDead removes what servers that died suddenly left behind, including
// Python processes that outlived their parent.
func sweepDead(log *slog.Logger) {
	leases, _ := filepath.Glob(shared + "*trident_*_" + leaseName) // fails only for a malformed pattern
	for _, path := range leases {
		lease, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue // the file belongs to another user, or doesn't exist any more
		}
		if lock(lease) {
			prefix := strings.TrimSuffix(filepath.Base(path), leaseName)
			killed := sweep(prefix)
			log.Warn("removed shared memory and processes that a crashed trident left", "shared_memory", prefix+"*", "processes_killed", killed)
		}
		_ = lease.Close() // releases the lock too
	}
}

// sweep kills the Python processes of a server and removes their shared memory.
// It returns the number of killed processes.
func sweep(prefix string) int {
	killed := 0
	for _, s := range stubsOf(prefix) {
		if s.kill() {
			killed++
		}
	}
	segments, _ := filepath.Glob(shared + prefix + "*") // fails only for a malformed pattern
	for _, path := range segments {
		_ = os.Remove(path)
	}
	return killed
}
