// Package hangup catches SIGHUP before the other packages of a program are initialized.
// Trident's initialization takes ten times as long as the time before it, and a signal in
// that time would end the process. The package has nearly no imports, so that Go
// initializes it among the first.
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

// Signals returns a channel of SIGHUP. It has one signal if any came since the process
// started, and the later ones.
func Signals() chan os.Signal { return signals }

// Release restores the default effect of SIGHUP, which ends the process. It reports
// whether SIGHUP has come before.
func Release() (came bool) {
	signal.Stop(signals)
	return len(signals) > 0
}
