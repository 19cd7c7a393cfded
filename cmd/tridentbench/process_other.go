//go:build !linux

package main

import (
	"errors"
	"runtime"
	"syscall"
	"time"
)

// errNotLinux is returned on other systems, because the bench reads Linux's CPU
// clocks of other processes.
var errNotLinux = errors.New("the bench needs Linux")

func attributes() *syscall.SysProcAttr { return nil }

func interruptGroup(int) error { return errNotLinux }

func killGroup(int) {}

func cpuTime(int) (time.Duration, error) { return 0, errNotLinux }

func descendants(int) []int { return nil }

func residentBytes(int) (int64, error) { return 0, errNotLinux }

func loadAverage() string { return "" }

func machine() string { return runtime.GOOS }
