package kserve

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/mem"
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
// twice a call: a tenth of the rate at which small tensors come and go. Those of a server
// that isn't busy go out at once, as nobody waits for what they take.
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
	gathers := &gatheringConn{Conn: conn, busy: g.busy, wait: g.wait}
	plain, ok := conn.(*net.TCPConn)
	if !ok {
		return gathers, info, nil
	}
	socket, err := plain.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	return newReadyConn(gathers, socket), info, nil
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

// readyConn is a connection without TLS. As grpc-go does for those that it knows, it asks
// for the memory that it reads into only when there is something to read: connections
// that say nothing have none.
type readyConn struct {
	*gatheringConn

	socket syscall.RawConn
	read   func(fd uintptr) bool // [readyConn.try], for the socket
	// Of the one read under way.
	size int
	pool mem.BufferPool
	into *[]byte
	n    int
	err  error
}

func newReadyConn(c *gatheringConn, socket syscall.RawConn) *readyConn {
	r := &readyConn{gatheringConn: c, socket: socket}
	r.read = r.try
	return r
}

// ReadOnReady is what grpc-go looks for (internal/transport/readyreader): it waits for
// something to read and reads into memory of the pool, which the caller gives back.
func (c *readyConn) ReadOnReady(size int, pool mem.BufferPool) (into *[]byte, n int, err error) {
	c.size, c.pool = size, pool
	err = c.socket.Read(c.read)
	if err == nil {
		err = c.err
	}
	into, n = c.into, c.n
	c.pool, c.into, c.n, c.err = nil, nil, 0, nil
	switch {
	case err == nil && n > 0:
		return into, n, nil
	case err == nil:
		err = io.EOF
	}
	if into != nil {
		pool.Put(into)
	}
	return nil, 0, err
}

// try reads, and is false where that must wait.
func (c *readyConn) try(fd uintptr) bool {
	into := c.pool.Get(c.size)
	for {
		n, err := syscall.Read(int(fd), *into)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if errors.Is(err, syscall.EAGAIN) {
			c.pool.Put(into)
			return false
		}
		c.into, c.n, c.err = into, n, err
		return true
	}
}
