//go:build race

package kserve_test

// raceDetector slows Go's side alone down, so that times say nothing.
const raceDetector = true
