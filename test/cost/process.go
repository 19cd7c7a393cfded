package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trident-inference/trident/test/pause"
)

// process is the process whose CPU time and memory are measured.
type process struct {
	pid   int
	probe net.Conn
	line  *bufio.Reader
}

// open connects to the probe in a process. The probe listens from the process's start on.
func open(ctx context.Context, pid int, socket string) (*process, error) {
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
		if err == nil {
			return &process{pid: pid, probe: conn, line: bufio.NewReader(conn)}, nil
		}
		if waitErr := pause.For(ctx, 10*time.Millisecond); waitErr != nil {
			return nil, errors.Join(waitErr, err)
		}
	}
}

func (p *process) close() error { return p.probe.Close() }

// cpu returns the CPU time that all threads of the process have used, including ended ones. It
// reads the process's CPU clock, in nanoseconds: clock_getcpuclockid(3).
func (p *process) cpu() (time.Duration, error) {
	const scheduled = 2 // CPUCLOCK_SCHED of Linux: the clock of the CPU time that a process has used
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^p.pid)<<3|scheduled, &t); err != nil {
		return 0, fmt.Errorf("CPU clock of process %d: %w", p.pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// A process is at rest if it used less CPU time than maxIdleCPU in each of idleChecks pauses.
const (
	restPause  = time.Millisecond
	maxIdleCPU = 60 * time.Microsecond
	idleChecks = 2
	restLimit  = 10 * time.Second
)

// awaitIdle waits until the process is at rest, and returns the CPU time used until then. A garbage
// collection that a request caused may continue after the response.
func (p *process) awaitIdle(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, restLimit)
	defer cancel()
	last, err := p.cpu()
	if err != nil {
		return 0, err
	}
	for idle := 0; idle < idleChecks; {
		if err := pause.For(ctx, restPause); err != nil {
			return 0, fmt.Errorf("process %d still uses CPU %s after the response: %w", p.pid, restLimit, err)
		}
		now, err := p.cpu()
		if err != nil {
			return 0, err
		}
		idle++
		if now-last > maxIdleCPU {
			idle = 0
		}
		last = now
	}
	return last, nil
}

// command sends a command to the probe and returns the answer.
func (p *process) command(command string) (int64, error) {
	if _, err := io.WriteString(p.probe, command+"\n"); err != nil {
		return 0, err
	}
	line, err := p.line.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(line), 10, 64)
}

// resident returns the resident memory of the process in bytes, and its peak since the last call of
// resetPeak.
func (p *process) resident() (now, peak int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		return 0, 0, err
	}
	for name, to := range map[string]*int64{"VmRSS:": &now, "VmHWM:": &peak} {
		_, rest, _ := bytes.Cut(text, []byte(name))
		line, _, _ := bytes.Cut(rest, []byte("kB"))
		kib, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("%s of process %d: %w", name, p.pid, err)
		}
		*to = kib << 10
	}
	return now, peak, nil
}

// resetPeak resets the peak of the resident memory.
func (p *process) resetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.pid), []byte("5"), 0o600)
}
