package server

import (
	"os"
	"runtime/debug"
)

// gcPercent is how much garbage there may be beside what lives. Little lives beside a
// model's memory; to look for garbage as often as Go does by default takes a twentieth of
// the CPU of small requests.
const gcPercent = 200

// SetGCPercent sets it for the process, unless GOGC does.
func SetGCPercent() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
}
