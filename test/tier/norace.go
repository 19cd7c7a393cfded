//go:build !race

package tier

// Race reports whether the tests were built with the race detector. It slows Go's side of a
// comparison down, and pools keep less under it: times and memory then have other bounds.
const Race = false
