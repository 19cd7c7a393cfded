package kserve

import (
	"net"
	"sync"
)

// connections is a listener that can close the connections that it has accepted. grpc-go
// doesn't close a connection whose client hasn't begun to speak HTTP/2: a stop would wait
// for its timeout.
type connections struct {
	net.Listener

	mu   sync.Mutex
	open map[*connection]struct{}
}

func newConnections(l net.Listener) *connections {
	return &connections{Listener: l, open: map[*connection]struct{}{}}
}

// Accept implements [net.Listener].
func (c *connections) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tcp := tcpOf(conn)
	if tcp == nil {
		return conn, nil
	}
	accepted := &connection{TCPConn: tcp, below: conn, of: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[accepted] = struct{}{}
	return accepted, nil
}

// closeAll closes all connections that are open.
func (c *connections) closeAll() {
	c.mu.Lock()
	all := c.open
	c.open = map[*connection]struct{}{}
	c.mu.Unlock()
	for conn := range all {
		_ = conn.below.Close() // nothing of it is awaited any more
	}
}

// connection leaves the list when it is closed.
type connection struct {
	*net.TCPConn

	below net.Conn // what was accepted, which counts among the port's until it is closed
	of    *connections
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.below.Close()
}

// TCP is the connection below.
func (c *connection) TCP() *net.TCPConn { return c.TCPConn }

// tcpOf returns the TCP connection below a connection without TLS, and nil for others.
func tcpOf(conn net.Conn) *net.TCPConn {
	switch c := conn.(type) {
	case *net.TCPConn:
		return c
	case interface{ TCP() *net.TCPConn }:
		return c.TCP()
	}
	return nil
}
