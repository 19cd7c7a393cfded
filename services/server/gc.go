package server

import (
	"os"
	"runtime/debug"
)

// gcPercent is the size of the garbage, relative to the live heap, at which a collection
// starts. The live heap is small compared with a model's memory. Go's default of 100
// takes a twentieth of the CPU time of small requests.
const gcPercent = 200

// SetGCPercent sets gcPercent for the process unless the environment has GOGC.
func SetGCPercent() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
}
