//go:build !race

package kserve_test

const raceDetector = false
