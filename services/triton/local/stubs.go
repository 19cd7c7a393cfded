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

// stub is a process in which a Python model runs: Triton's child, which Triton
// starts by the command line
//
//	triton_python_backend_stub MODEL.PY SEGMENT SIZE GROWTH PARENT LIBRARY HANDLE INSTANCE RUNTIME
//
// Its shared memory bears the server's prefix.
type stub struct {
	pid      int
	file     string // the model's, REPOSITORY/MODEL/VERSION/model.py
	segment  string // of its shared memory, in /dev/shm
	instance string // MODEL, or of an instance that serves MODEL_GROUP_NUMBER
}

// stubsOf are the processes that live and whose shared memory has the prefix.
func stubsOf(prefix string) []stub {
	var all []stub
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline") // fails on malformed patterns only
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

// parseStub reads a command line as /proc has it. Between fork and exec it is
// another program's.
func parseStub(pid int, line []byte) (stub, bool) {
	words := strings.Split(string(line), "\x00")
	if len(words) < 9 || filepath.Base(words[0]) != stubName {
		return stub{}, false
	}
	return stub{pid: pid, file: words[1], segment: words[2], instance: words[8]}, true
}

// uploaded is where Triton puts the files of a model that came with the request
// to load it.
const uploaded = "/tmp/folder"

// groupNumber is what Triton adds to a model's name for an instance's.
var groupNumber = regexp.MustCompile(`(_\d+){1,2}$`)

// model is the name of the model that the stub runs: its folder's, or by its
// instance, unless the configuration has names of its own for those.
func (s stub) model() string {
	if strings.HasPrefix(s.file, uploaded) {
		return groupNumber.ReplaceAllString(s.instance, "")
	}
	return filepath.Base(filepath.Dir(filepath.Dir(s.file)))
}

// stubsOfModel are the processes of one model that Triton has started. What those
// have forked looks like them.
func (c *core) stubsOfModel(model string) []stub {
	self := strconv.Itoa(os.Getpid())
	return slices.DeleteFunc(stubsOf(c.prefix), func(s stub) bool {
		fields := statOf(s.pid)
		return s.model() != model || fields == nil || fields[statParent] != self
	})
}

// kill ends a stub with all the processes that it has started, as those of
// vLLM's engine, which may hold the GPU's memory.
func (s stub) kill() bool {
	family := descendants(s.pid)
	killed := syscall.Kill(s.pid, syscall.SIGKILL) == nil
	for _, pid := range family {
		_ = syscall.Kill(pid, syscall.SIGKILL) // may have ended with it
	}
	return killed
}

// descendants are the children of a process, and theirs.
func descendants(pid int) []int {
	children := map[int][]int{}
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // fails on malformed patterns only
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

// Fields of /proc/PID/stat, from the state on, which is the third.
const (
	statState  = 0
	statParent = 1
	statStatus = 49
)

// statOf gives a process's fields from the state on; nil when it is gone.
func statOf(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	// The name in parentheses may hold anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= statStatus {
		return nil
	}
	return fields
}

// ended tells whether a process runs no more. Of one that waits for its parent
// to look, it says how it ended.
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

// exit is how a process ended.
type exit struct {
	status syscall.WaitStatus
	known  bool
}

// clean is an end that nothing forced.
func (e exit) clean() bool { return e.known && e.status.Exited() && e.status.ExitStatus() == 0 }

// String says it in words.
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

// pidfdOpen is the number of the system call, the same on all of Go's platforms.
const pidfdOpen = 434

// endPoll is how often a process is looked at where the kernel can't tell of its
// end (before Linux 5.3, or in some sandboxes).
const endPoll = time.Second

// awaitEnd waits until a process has ended. It costs nothing meanwhile.
func awaitEnd(ctx context.Context, pid int) (exit, error) {
	number, _, errno := syscall.Syscall(pidfdOpen, uintptr(pid), syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(errno, syscall.ESRCH):
		return exit{}, nil
	case errno != 0:
		return pollEnd(ctx, pid)
	}
	file := os.NewFile(number, "pidfd")
	defer file.Close() //nolint:errcheck // only read
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
