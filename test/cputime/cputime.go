// Package cputime measures CPU time for tests with a CPU time limit. Wall-clock time depends on
// other processes, CPU time doesn't. The limits belong to the tests.
package cputime

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Of returns the CPU time that the calling thread uses in work. Goroutines that work starts aren't
// included.
func Of(tb testing.TB, work func()) time.Duration {
	tb.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := thread(tb)
	work()
	return thread(tb) - start
}

func thread(tb testing.TB) time.Duration {
	tb.Helper()
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(used.Nano())
}

// Process returns the CPU time that the process has used since its start, in user and
// system mode.
func Process(tb testing.TB) time.Duration {
	tb.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
