//go:build cgo && linux

package local

/*
#include "shim.h"
*/
import "C"

import (
	"context"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// remains is what a process with an engine leaves behind when it ends suddenly, beside
// its children.
type remains struct {
	prefix       string // of the names of shared memory
	installation *installation
}

const (
	// killLimit bounds [Engine.Kill].
	killLimit = 700 * time.Millisecond
	killPoll  = 5 * time.Millisecond
)

// Kill ends all processes that this process has started and removes the engine's shared
// memory, in less than a second, without waiting for requests or for Triton. It may be
// called at any time, also while Start or Stop is running. Then Triton can't be used any
// more: the caller ends the process.
func (e *Engine) Kill() {
	if e.mu.TryLock() { // else Start or Stop is running, and nothing watches over models
		if e.core != nil {
			e.core.health.stop()
		}
		e.mu.Unlock()
	}
	syscall.ForkLock.Lock() // for good: this process starts no others from now on
	ctx, cancel := context.WithTimeout(context.Background(), killLimit)
	defer cancel()
	// What killed processes have started becomes a child of this one.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // known to Linux since 3.4
	poll := time.NewTicker(killPoll)
	defer poll.Stop()
	for !killChildren() && ctx.Err() == nil {
		<-poll.C
	}
	left := e.remains.Load()
	if left == nil {
		return
	}
	sweep(left.prefix)
	left.installation.remove()
}

// killChildren kills all processes below this one. It reports whether none was left and
// none can come.
func killChildren() bool {
	frozen := bool(C.tr_freeze())
	return killBelow(os.Getpid()) && frozen
}

// killBelow kills the children of a process, and theirs. It reports whether none was left.
func killBelow(pid int) bool {
	family := slices.DeleteFunc(descendants(pid), func(pid int) bool {
		_, dead := ended(pid)
		return dead
	})
	for _, pid := range family {
		_ = syscall.Kill(pid, syscall.SIGKILL) // may have ended since
	}
	return len(family) == 0
}
