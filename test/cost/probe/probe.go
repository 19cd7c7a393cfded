// Package probe lets `make cost` have a program give its free memory back to the kernel and
// collect garbage early, so that the program's peak afterwards is what one request holds. It
// finds how much CPU time the program had used when it called a model. It is linked into a trident that is built for that, and into a server of the tests.
package probe

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"runtime/debug"
)

// Variable is the environment variable with the path of the socket on which a program
// listens. Without it nothing listens.
const Variable = "TRIDENT_COST_PROBE"

// Commands, each a line, answered with a line.
const (
	// Free has the program give free memory back.
	Free = "free"
	// Tight does the same, and has the program collect garbage whenever it is a tenth of the
	// heap. The garbage of one request is otherwise left until it is as much as all else.
	Tight = "tight"
	// Usual has the program collect garbage as usual, as Free does too.
	Usual = "usual"
	// Watch has the program note the CPU time at its next call of a model by gRPC.
	Watch = "watch"
	// Called is answered with that CPU time, in nanoseconds; 0 for no call.
	Called = "called"
)

const usual, tenth = 100, 10

// Listen answers commands on the socket.
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
		if _, err := fmt.Fprintln(conn, obey(lines.Text())); err != nil {
			return
		}
	}
}

// obey follows a command and returns the answer.
func obey(command string) int64 {
	switch command {
	case Watch:
		calls.begin()
	case Called:
		return calls.called.Load()
	case Tight:
		debug.SetGCPercent(tenth)
		debug.FreeOSMemory()
	case Usual:
		debug.SetGCPercent(usual)
	case Free:
		debug.SetGCPercent(usual)
		debug.FreeOSMemory()
	}
	return 0
}
