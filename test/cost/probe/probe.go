// Package probe lets `make cost` have a program give its free memory back to the kernel and
// collect garbage early, so that the program's peak afterwards is what one request holds. It
// is linked into a trident that is built for that, and into a server of the tests.
package probe

import (
	"bufio"
	"io"
	"net"
	"os"
	"runtime/debug"
)

// Variable is the environment variable with the path of the socket on which a program
// listens. Without it the package does nothing.
const Variable = "TRIDENT_COST_PROBE"

// Commands, each a line. Both have the program give free memory back and are answered with
// a line.
const (
	// Free has the program collect garbage as usual afterwards.
	Free = "free"
	// Tight has the program collect garbage whenever it is a tenth of the heap. The garbage
	// of one request is otherwise left until it is as much as all else.
	Tight = "tight"
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
		debug.SetGCPercent(usual)
		if lines.Text() == Tight {
			debug.SetGCPercent(tenth)
		}
		debug.FreeOSMemory()
		if _, err := io.WriteString(conn, "ok\n"); err != nil {
			return
		}
	}
}
