package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// proxy is the network between Trident and tritonserver. It passes bytes on unless its weather is
// set to another one. Its methods may be called concurrently.
type proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu     sync.Mutex
	links  map[*link]struct{}
	state  linkState
	change chan struct{} // closed and replaced with each change
}

// linkState is the behavior of a link, or of the network.
type linkState int

const (
	linkPasses  linkState = iota
	linkStalls            // the proxy keeps the connections' bytes and accepts no more
	linkDrops             // the proxy accepts all bytes and passes on nothing
	linkRefuses           // the proxy closes new connections
)

// link is one connection through the proxy between Trident and Triton.
type link struct {
	near, far *net.TCPConn
	lost      bool // the proxy drops the connection's bytes forever
}

func newProxy(ctx context.Context, target string) (*proxy, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, target: target, links: map[*link]struct{}{}, change: make(chan struct{})}
	p.running.Go(p.accept)
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// close ends all connections and waits for their goroutines.
func (p *proxy) close() error {
	err := p.listener.Close()
	p.set(linkRefuses)
	p.cut()
	p.running.Wait()
	return err
}

// set changes the state of all connections except lost ones.
func (p *proxy) set(state linkState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = state
	p.renew()
}

func (p *proxy) renew() {
	close(p.change)
	p.change = make(chan struct{})
}

// cut resets all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
	p.renew()
}

// lose makes all present connections drop their bytes forever without being closed, as a router
// does that has lost its state. New connections have the current state.
func (p *proxy) lose() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.lost = true
	}
	p.renew()
}

func (l *link) reset() {
	for _, side := range []*net.TCPConn{l.near, l.far} {
		_ = side.SetLinger(0) // a reset instead of an orderly end
		_ = side.Close()
	}
}

func (p *proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if near, ok := conn.(*net.TCPConn); err == nil && ok {
			p.running.Go(func() { p.connect(near) })
		}
	}
}

const dialTimeout = 5 * time.Second

func (p *proxy) connect(near *net.TCPConn) {
	far, err := net.DialTimeout("tcp", p.target, dialTimeout) //nolint:noctx // bounded
	tcp, ok := far.(*net.TCPConn)
	if err != nil || !ok {
		_ = near.SetLinger(0)
		_ = near.Close()
		return
	}
	l := &link{near: near, far: tcp}
	p.mu.Lock()
	p.links[l] = struct{}{}
	refused := p.state == linkRefuses
	p.mu.Unlock()
	if refused {
		l.reset()
	}
	var both sync.WaitGroup
	both.Go(func() { p.carry(l, l.far, l.near) })
	p.carry(l, l.near, l.far)
	both.Wait()
	l.reset()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// carry copies from one side to the other as the weather allows, and closes the other side at the
// end.
func (p *proxy) carry(l *link, to, from *net.TCPConn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && p.pass(l) {
			if _, err := to.Write(buffer[:n]); err != nil {
				l.reset()
				return
			}
		}
		if err != nil {
			p.ended(l, to, err)
			return
		}
	}
}

// ended passes the end of a side on: an orderly end, or a reset. A link that drops passes on
// neither.
func (p *proxy) ended(l *link, to *net.TCPConn, err error) {
	switch {
	case !p.pass(l):
	case errors.Is(err, io.EOF):
		_ = to.CloseWrite()
	default:
		l.reset()
	}
}

// pass waits while the link stalls, and reports whether it passes bytes on.
func (p *proxy) pass(l *link) bool {
	for {
		p.mu.Lock()
		state, lost, change := p.state, l.lost, p.change
		p.mu.Unlock()
		if lost || state != linkStalls {
			return !lost && state == linkPasses
		}
		<-change
	}
}
