//go:build !race

package tier

// Race reports whether the tests were built with the race detector. It slows Go code down, and
// pools keep fewer objects. So comparisons of time and memory have other limits.
const Race = false
