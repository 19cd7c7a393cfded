// Package hangup catches SIGHUP before the other packages of a program are set up, which
// takes Trident's ten times as long as what comes before: a signal in that time would end
// the process. It imports next to nothing, so that Go sets it up among the first.
package hangup

import (
	"os"
	"os/signal"
	"syscall"
)

var signals = caught() //nolint:gochecknoglobals // a process has one such signal, and main comes too late for it

func caught() chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c
}

// Signals has SIGHUP once, if it has come since the process began, and those to come.
func Signals() chan os.Signal { return signals }

// Release gives SIGHUP its usual meaning again, which is the end of the process, and tells
// whether it has come before.
func Release() (came bool) {
	signal.Stop(signals)
	return len(signals) > 0
}
