package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attributes puts a child into its own process group, so that the terminal's
// Ctrl-C only reaches the bench. The child ends with the thread that started it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

func interruptGroup(group int) error { return syscall.Kill(-group, syscall.SIGINT) }

func killGroup(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }

// cpuTime returns the CPU time of all threads of a process, including ended
// threads. It reads the process's CPU clock, which has nanoseconds; /proc's stat
// has ticks of 10 ms. See clock_getcpuclockid(3).
func cpuTime(pid int) (time.Duration, error) {
	const scheduled = 2 // CPUCLOCK_SCHED of Linux: the clock of the CPU time that a process has used
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|scheduled, &t); err != nil {
		return 0, fmt.Errorf("CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// descendants returns the children of a process, recursively.
func descendants(pid int) []int {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
		}
		id, parent := parentIn(string(text))
		children[parent] = append(children[parent], id)
	}
	all := children[pid]
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// parentIn parses "1 (a name) S 2 ...". It returns a process and its parent.
func parentIn(stat string) (pid, parent int) {
	id, _, _ := strings.Cut(stat, " ")
	rest := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	pid, _ = strconv.Atoi(id)
	if len(rest) > 1 {
		parent, _ = strconv.Atoi(rest[1])
	}
	return pid, parent
}

// residentBytes returns the resident memory of a process.
func residentBytes(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(text, []byte("VmRSS:"))
	line, _, _ := bytes.Cut(rest, []byte("kB"))
	kib, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("VmRSS of process %d: %w", pid, err)
	}
	return kib << 10, nil
}

// loadAverage returns the average number of runnable threads over the last
// minute.
func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg") // text is empty if the file is absent
	load, _, _ := strings.Cut(string(text), " ")
	return load
}

// machine describes the hardware and system of the measurement.
func machine() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // the CPU's name is unknown if the file is absent
	model := "unknown CPU"
	if _, rest, ok := bytes.Cut(text, []byte("model name")); ok {
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		model = strings.TrimSpace(strings.TrimLeft(string(line), "\t :"))
	}
	var name unix.Utsname
	_ = unix.Uname(&name) // Uname can't fail with a valid pointer
	return fmt.Sprintf("%s, Linux %s", model, unix.ByteSliceToString(name.Release[:]))
}
