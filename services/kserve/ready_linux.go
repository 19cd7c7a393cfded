package kserve

import (
	"errors"
	"io"
	"net"
	"syscall"

	"google.golang.org/grpc/mem"
)

// readyConn asks for the memory that it reads into only when there is something to read,
// as grpc-go does on Linux for the connections that it knows: those that say nothing have
// none.
type readyConn struct {
	net.Conn

	socket syscall.RawConn
	read   func(fd uintptr) bool // [readyConn.try], for the socket
	// Of the one read under way.
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
