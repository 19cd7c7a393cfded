// Package probe lets `make cost` control a program's memory. The program returns its free memory to the kernel and
// collects garbage early, so that its peak afterwards is the memory that one request holds. The package also records how
// much CPU time the program had used when it called a model. The package is linked into a trident that is built for this
// purpose, and into a server of the tests.
package probe

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"runtime/debug"
)

// Variable is the environment variable with the path of the socket on which a program listens. If it is unset, the
// program doesn't listen.
const Variable = "TRIDENT_COST_PROBE"

// The commands of the probe. Each command is a line, and the program answers with a line.
const (
	// Free makes the program return its free memory.
	Free = "free"
	// FrequentGC does the same, and makes the program collect garbage whenever it exceeds a tenth of the heap. By default
	// the garbage of one request stays until it is as large as the rest of the heap.
	FrequentGC = "tight"
	// DefaultGC makes the program collect garbage at the default rate again. Free does so too.
	DefaultGC = "usual"
	// Watch makes the program record the CPU time at its next call of a model by gRPC.
	Watch = "watch"
	// Called returns that CPU time in nanoseconds. It returns 0 if there was no call.
	Called = "called"
)

const usual, tenth = 100, 10

// Listen executes commands from the socket.
func Listen() error {
	path := os.Getenv(Variable)
	if path == "" {
		return nil
	}
	listener, err := net.Listen("unix", path) //nolint:noctx // it listens as long as the program runs
	if err != nil {
		return err
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			answer(conn)
		}
	}()
	return nil
}

func answer(conn net.Conn) {
	defer conn.Close() //nolint:errcheck // the other end has what it waits for
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		if _, err := fmt.Fprintln(conn, handleCommand(lines.Text())); err != nil {
			return
		}
	}
}

// handleCommand executes a command and returns its answer.
func handleCommand(command string) int64 {
	switch command {
	case Watch:
		calls.begin()
	case Called:
		return calls.called.Load()
	case FrequentGC:
		debug.SetGCPercent(tenth)
		debug.FreeOSMemory()
	case DefaultGC:
		debug.SetGCPercent(usual)
	case Free:
		debug.SetGCPercent(usual)
		debug.FreeOSMemory()
	}
	return 0
}
