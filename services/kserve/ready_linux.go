package kserve

import (
	"errors"
	"io"
	"net"
	"syscall"

	"google.golang.org/grpc/mem"
)

// readyConn allocates the memory to read into only when there is something to read, so
// that idle connections have none. grpc-go does the same on Linux for the connection
// types that it knows.
type readyConn struct {
	net.Conn

	socket syscall.RawConn
	read   func(fd uintptr) bool // the method [readyConn.try] as a value, for socket.Read
	// The parameters and results of the current read, from ReadOnReady to try: size and the following
	// fields.
	size int
	pool mem.BufferPool
	into *[]byte
	n    int
	err  error
}

func withReady(c net.Conn, of *net.TCPConn) (net.Conn, error) {
	socket, err := of.SyscallConn()
	if err != nil {
		return nil, err
	}
	r := &readyConn{Conn: c, socket: socket}
	r.read = r.try
	return r, nil
}

// ReadOnReady implements the interface that grpc-go checks for
// (internal/transport/readyreader). It waits for data and reads it into memory of the
// pool, which the caller returns.
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

// try reads and returns false if the read would block.
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
