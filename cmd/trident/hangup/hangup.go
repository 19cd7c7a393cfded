// Package hangup catches SIGHUP before the other packages of a program are initialized.
// Trident's initialization takes ten times as long as the start of the process before it,
// and a signal during the initialization would end the process. The package has nearly no
// imports, so that Go initializes it before most other packages.
package hangup

import (
	"os"
	"os/signal"
	"syscall"
)

var signals = caught() //nolint:gochecknoglobals // the signal is process-wide, and main would register too late

func caught() chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c
}

// Signals returns a channel of SIGHUP. The channel contains one signal if any SIGHUP has
// come since the process started. Later signals are sent to it too.
func Signals() chan os.Signal { return signals }

// Release restores the default effect of SIGHUP, which ends the process. It reports
// whether SIGHUP has come before.
func Release() (came bool) {
	signal.Stop(signals)
	return len(signals) > 0
}
