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

// Servers share the names in /dev/shm with all others of the machine, and of other
// containers where those share it. So each leases a prefix: it holds a lock on a
// file of that name, which the kernel lets go when the process ends, however that
// happens.
const (
	shared    = "/dev/shm/"
	leaseName = "lease"
)

// newPrefix leases a prefix for a server's shared memory. Without a lease, where
// that folder can't be written to, nobody sweeps up after a sudden death.
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
		if lock(lease) && there(lease) {
			return prefix, lease
		}
		_ = lease.Close() // somebody has swept it up before it was locked
	}
}

func lock(lease *os.File) bool {
	return syscall.Flock(int(lease.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// there tells whether the file hasn't been removed.
func there(file *os.File) bool {
	named, err := os.Stat(file.Name())
	opened, failed := file.Stat()
	return err == nil && failed == nil && os.SameFile(named, opened)
}

// sweepDead removes what servers have left that died suddenly, a Python process
// that outlived its parent among it.
func sweepDead(log *slog.Logger) {
	leases, _ := filepath.Glob(shared + "*trident_*_" + leaseName) // fails on malformed patterns only
	for _, path := range leases {
		lease, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue // another user's, or gone
		}
		if lock(lease) {
			prefix := strings.TrimSuffix(filepath.Base(path), leaseName)
			killed := sweep(prefix)
			log.Warn("swept up after a trident that died", "shared_memory", prefix+"*", "processes_killed", killed)
		}
		_ = lease.Close() // the lock goes with it
	}
}

// sweep kills the Python processes of a server that is gone, or gives them up,
// and removes their shared memory. It gives the number of processes.
func sweep(prefix string) int {
	killed := 0
	for _, s := range stubsOf(prefix) {
		if s.kill() {
			killed++
		}
	}
	segments, _ := filepath.Glob(shared + prefix + "*") // fails on malformed patterns only
	for _, path := range segments {
		_ = os.Remove(path)
	}
	return killed
}
