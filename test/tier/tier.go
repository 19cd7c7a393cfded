// Package tier reports to tests which tier of the checks runs: the check tier at each change, or
// the slow tier. In the slow tier the same tests read larger inputs, and additional tests run.
// CONTRIBUTING.md describes the tiers.
package tier

import (
	"os"
	"testing"
)

// Variable is the environment variable that turns the slow tier on, by any value.
const Variable = "TRIDENT_TEST_SLOW"

// Slow reports whether the slow tier runs.
func Slow() bool { return os.Getenv(Variable) != "" }

// OnlySlow skips a test in the check tier.
func OnlySlow(tb testing.TB) {
	tb.Helper()
	if !Slow() {
		tb.Skip("runs in the slow tier: make check-slow, or " + Variable + "=1")
	}
}

// Size returns the size or limit of a test: the first one in the check tier, the second one in
// the slow tier.
func Size[T any](check, slow T) T {
	if Slow() {
		return slow
	}
	return check
}

// BenchSize returns the size of a benchmark's input: the small one in runs that measure coverage,
// such as those of the unit suite, in which a benchmark only has to run.
func BenchSize[T any](small, measured T) T {
	if testing.CoverMode() != "" {
		return small
	}
	return measured
}

// Computes skips a test in the check tier if it was built with the race detector. It is for tests
// that compute in one goroutine for seconds: the race detector makes them up to twenty times slower
// and has nothing to detect. The unit suite also runs their packages without the race detector
// (Computes in test/suite/suites.go); the slow tier runs them with it.
func Computes(tb testing.TB) {
	tb.Helper()
	if Race && !Slow() {
		tb.Skip("runs without the race detector, or in the slow tier")
	}
}
