package kserve

import (
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/trident-inference/trident/services/server"
)

// pongWait is how long the answer to a ping waits for something to go out with.
const pongWait = 5 * time.Millisecond

// pongHead begins the frame that answers a ping: 8 bytes follow, of the type PING, that
// acknowledge one, on no stream (RFC 9113, section 6.7).
const (
	pongHead = "\x00\x00\x08\x06\x01\x00\x00\x00\x00"
	pongSize = len(pongHead) + 8
)

// gathering are credentials whose connections send the answers to pings with what goes
// out next. gRPC's clients put a ping into the flow of almost every call, to learn how
// much the network holds. Answered by itself each takes a write here and wakes the client
// twice a call: a tenth of the rate at which small tensors come and go. While no more than
// one call is in progress they go out at once, as nobody waits for what they take.
// Answers SHOULD come before all else (RFC 9113, section 6.7): they do so in what is
// written next. With TLS, where they would be records of their own, they don't wait.
type gathering struct {
	credentials.TransportCredentials

	busy func() bool
	wait time.Duration // of a pong
}

func (g gathering) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := g.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return conn, info, err
	}
	plain := server.TCPOf(conn)
	if plain == nil { // TLS: each write is a record of its own
		return conn, info, nil
	}
	conn, err = withReady(&gatheringConn{Conn: conn, busy: g.busy, wait: g.wait}, plain)
	return conn, info, err
}

func (g gathering) Clone() credentials.TransportCredentials {
	return gathering{g.TransportCredentials.Clone(), g.busy, g.wait}
}

// gatheringConn keeps a pong back until the next write, which it goes before, or until
// it has waited.
type gatheringConn struct {
	net.Conn

	busy func() bool
	wait time.Duration

	mu     sync.Mutex
	pong   [pongSize]byte // guarded by mu, as all of the following
	holds  bool           // the pong
	since  time.Time      // it holds it
	armed  bool           // the timer runs
	timer  *time.Timer
	pieces [2][]byte
	next   net.Buffers // of the pieces
}

// Write implements [net.Conn]. A pong that waits fails with the write that it goes with.
func (c *gatheringConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.holds:
		return c.writeBoth(b)
	case !isPong(b) || !c.busy():
		return c.Conn.Write(b)
	}
	copy(c.pong[:], b)
	c.holds, c.since = true, time.Now()
	if !c.armed {
		c.arm(c.wait)
	}
	return len(b), nil
}

func isPong(b []byte) bool { return len(b) == pongSize && string(b[:len(pongHead)]) == pongHead }

func (c *gatheringConn) writeBoth(b []byte) (int, error) {
	c.holds = false
	c.pieces = [...][]byte{c.pong[:], b}
	c.next = c.pieces[:]
	n, err := c.next.WriteTo(c.Conn)
	c.pieces = [...][]byte{nil, nil} // b is the caller's
	return max(int(n)-pongSize, 0), err
}

func (c *gatheringConn) arm(wait time.Duration) {
	c.armed = true
	if c.timer == nil {
		c.timer = time.AfterFunc(wait, c.expire)
	} else {
		c.timer.Reset(wait)
	}
}

// expire sends a pong that has waited. The timer isn't stopped where one goes out before:
// mostly the next one waits by then.
func (c *gatheringConn) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = false
	if !c.holds {
		return
	}
	if left := c.wait - time.Since(c.since); left > 0 {
		c.arm(left)
		return
	}
	c.holds = false
	_, _ = c.Conn.Write(c.pong[:]) // what goes out next tells of a broken connection
}
