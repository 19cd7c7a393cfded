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

// leftBehind describes what a process with an engine leaves behind when it ends suddenly,
// in addition to its children.
type leftBehind struct {
	prefix       string // prefix of the names of the process's shared memory
	installation *installation
}

const (
	// killLimit is the time limit of [Engine.Kill].
	killLimit = 700 * time.Millisecond
	killPoll  = 5 * time.Millisecond
)

// Kill kills all processes that this process has started and removes the engine's shared
// memory. It takes less than a second and doesn't wait for requests or for Triton. It
// may be called at any time, also during Start or Stop. Triton can't be used afterwards:
// the caller must end the process.
func (e *Engine) Kill() {
	if e.mu.TryLock() { // otherwise Start or Stop is running, and no model is watched
		if e.core != nil {
			e.core.health.stop()
		}
		e.mu.Unlock()
	}
	syscall.ForkLock.Lock() // never unlocked: this process starts no other processes from now on
	ctx, cancel := context.WithTimeout(context.Background(), killLimit)
	defer cancel()
	// Children of killed processes become children of this process.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // Linux supports it since version 3.4
	poll := time.NewTicker(killPoll)
	defer poll.Stop()
	for !killChildren() && ctx.Err() == nil {
		<-poll.C
	}
	left := e.leftBehind.Load()
	if left == nil {
		return
	}
	sweep(left.prefix)
	left.installation.remove()
}

// killChildren kills all processes below this one. It reports whether no process was
// left and none can be started.
func killChildren() bool {
	frozen := bool(C.tr_freeze())
	return killBelow(os.Getpid()) && frozen
}

// killBelow kills the descendants of a process. It reports whether no process was left.
func killBelow(pid int) bool {
	family := slices.DeleteFunc(descendants(pid), func(pid int) bool {
		_, dead := ended(pid)
		return dead
	})
	for _, pid := range family {
		_ = syscall.Kill(pid, syscall.SIGKILL) // the process may have ended already
	}
	return len(family) == 0
}
