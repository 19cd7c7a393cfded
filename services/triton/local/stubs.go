//go:build cgo && linux

package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stub is a process in which a Python model runs. It is a child of Triton,
// which starts it with this command line:
//
//	triton_python_backend_stub MODEL.PY SEGMENT SIZE GROWTH PARENT LIBRARY HANDLE INSTANCE RUNTIME
//
// The names of its shared memory start with the server's prefix.
type stub struct {
	pid      int
	file     string // path of the model's file, REPOSITORY/MODEL/VERSION/model.py
	segment  string // name of the process's shared memory in /dev/shm
	instance string // MODEL, or MODEL_GROUP_NUMBER of an instance that serves requests
}

// stubsOf returns the live processes whose shared memory has the prefix.
func stubsOf(prefix string) []stub {
	var all []stub
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline") // fails only for a malformed pattern
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(line, []byte(prefix)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if s, ok := parseStub(pid, line); ok && err == nil && strings.HasPrefix(s.segment, prefix) {
			all = append(all, s)
		}
	}
	return all
}

// parseStub parses a command line from /proc. Between fork and exec a process
// has the command line of another program.
func parseStub(pid int, line []byte) (stub, bool) {
	words := strings.Split(string(line), "\x00")
	if len(words) < 9 || filepath.Base(words[0]) != stubName {
		return stub{}, false
	}
	return stub{pid: pid, file: words[1], segment: words[2], instance: words[8]}, true
}

// uploaded is the prefix of the folders in which Triton stores a model's files
// from a load request.
const uploaded = "/tmp/folder"

// groupNumber matches the suffix that Triton appends to a model's name to name
// an instance.
var groupNumber = regexp.MustCompile(`(_\d+){1,2}$`)

// model returns the name of the model that the stub runs, from its folder. For
// an uploaded model it derives the name from the instance, which fails if the
// configuration names its instances.
func (s stub) model() string {
	if strings.HasPrefix(s.file, uploaded) {
		return groupNumber.ReplaceAllString(s.instance, "")
	}
	return filepath.Base(filepath.Dir(filepath.Dir(s.file)))
}

// stubsOfModel returns the processes of one model that Triton has started. It
// excludes their forks, which have the same command line.
func (c *core) stubsOfModel(model string) []stub {
	self := strconv.Itoa(os.Getpid())
	return slices.DeleteFunc(stubsOf(c.prefix), func(s stub) bool {
		fields := statOf(s.pid)
		return s.model() != model || fields == nil || fields[statParent] != self
	})
}

// kill kills a stub and all processes that it has started. The processes of
// vLLM's engine, which may hold the GPU's memory, are among them.
func (s stub) kill() bool {
	family := descendants(s.pid)
	killed := syscall.Kill(s.pid, syscall.SIGKILL) == nil
	for _, pid := range family {
		_ = syscall.Kill(pid, syscall.SIGKILL) // the process may have ended with its parent
	}
	return killed
}

// descendants returns the children of a process and their descendants.
func descendants(pid int) []int {
	children := map[int][]int{}
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // fails only for a malformed pattern
	for _, path := range paths {
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if fields := statOf(child); err == nil && fields != nil {
			parent, _ := strconv.Atoi(fields[statParent])
			children[parent] = append(children[parent], child)
		}
	}
	all := children[pid]
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// Indexes of fields of /proc/PID/stat, counted from the state, which is the
// third field.
const (
	statState  = 0
	statParent = 1
	statStatus = 49
)

// statOf returns a process's fields from the state on, or nil if the process
// doesn't exist.
func statOf(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	// The process name in parentheses may contain any character.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= statStatus {
		return nil
	}
	return fields
}

// ended reports whether a process has ended. how has the exit status of a
// zombie, whose parent hasn't waited for it yet.
func ended(pid int) (how exit, yes bool) {
	fields := statOf(pid)
	switch {
	case fields == nil:
		return exit{}, true
	case fields[statState] != "Z":
		return exit{}, false
	}
	status, err := strconv.ParseUint(fields[statStatus], 10, 32)
	return exit{status: syscall.WaitStatus(status), known: err == nil}, true
}

// exit is how a process ended. known is false if its status can't be read.
type exit struct {
	status syscall.WaitStatus
	known  bool
}

// clean reports whether the process ended by itself with exit code 0.
func (e exit) clean() bool { return e.known && e.status.Exited() && e.status.ExitStatus() == 0 }

// String returns a description of the end.
func (e exit) String() string {
	switch {
	case !e.known:
		return "for an unknown reason"
	case e.status.Signaled():
		return "by signal: " + e.status.Signal().String()
	default:
		return "with exit code " + strconv.Itoa(e.status.ExitStatus())
	}
}

// pidfdOpen is the number of the system call, which is the same on all of Go's
// platforms.
const pidfdOpen = 434

// endPoll is the interval at which a process is checked if the kernel doesn't
// report its end (before Linux 5.3, or in some sandboxes).
const endPoll = time.Second

// awaitEnd waits until a process has ended, without polling if the kernel
// supports that.
func awaitEnd(ctx context.Context, pid int) (exit, error) {
	number, _, errno := syscall.Syscall(pidfdOpen, uintptr(pid), syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(errno, syscall.ESRCH):
		return exit{}, nil
	case errno != 0:
		return pollEnd(ctx, pid)
	}
	file := os.NewFile(number, "pidfd")
	defer file.Close() //nolint:errcheck // the file is only read
	defer context.AfterFunc(ctx, func() { _ = file.Close() })()
	conn, err := file.SyscallConn()
	if err != nil {
		return pollEnd(ctx, pid)
	}
	how := exit{}
	err = conn.Read(func(uintptr) (done bool) {
		how, done = ended(pid)
		return done
	})
	switch {
	case ctx.Err() != nil:
		return exit{}, ctx.Err()
	case err != nil:
		return pollEnd(ctx, pid)
	}
	return how, nil
}

func pollEnd(ctx context.Context, pid int) (exit, error) {
	poll := time.NewTicker(endPoll)
	defer poll.Stop()
	for {
		if how, yes := ended(pid); yes {
			return how, nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return exit{}, ctx.Err()
		}
	}
}
