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
	near    string // address on which it listens
	target  string
	running sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener // closed by shut
	links    map[*link]struct{}
	state    linkState
	change   chan struct{} // closed and replaced with each change
}

// linkState is the behavior of a link, or of the network.
type linkState int

const (
	linkPasses  linkState = iota
	linkStalls            // the proxy keeps the connections' bytes and accepts no more
	linkDrops             // the proxy accepts all bytes and passes on nothing
	linkRefuses           // the proxy closes new connections
	linkSlow              // the proxy delays all bytes by slowness
)

// slowness is the delay of bytes in each direction of a slow network.
const slowness = 200 * time.Millisecond

// link is one connection through the proxy between Trident and Triton.
type link struct {
	near, far *net.TCPConn
	lost      bool // the proxy drops the connection's bytes forever
}

// newProxy returns a proxy that listens on the address near. Port 0 means a free port.
func newProxy(ctx context.Context, near, target string) (*proxy, error) {
	p := &proxy{near: near, target: target, links: map[*link]struct{}{}, change: make(chan struct{})}
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// open listens on the address again after shut.
func (p *proxy) open(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", p.near)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener, p.near = listener, listener.Addr().String()
	p.running.Go(func() { p.accept(listener) })
	return nil
}

// shut makes the kernel refuse new connections, as on a machine where no server listens. Present
// connections continue.
func (p *proxy) shut() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listener.Close()
}

func (p *proxy) address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.near
}

// close ends all connections and waits for their goroutines.
func (p *proxy) close() error {
	err := p.shut()
	if errors.Is(err, net.ErrClosed) { // by shut
		err = nil
	}
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

func (p *proxy) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
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

// pass waits while the link stalls or is slow, and reports whether it passes bytes on.
func (p *proxy) pass(l *link) bool {
	for slowed := false; ; {
		p.mu.Lock()
		state, lost, change := p.state, l.lost, p.change
		p.mu.Unlock()
		switch {
		case lost:
			return false
		case state == linkSlow && !slowed:
			slowed = true
			select {
			case <-time.After(slowness):
			case <-change:
			}
		case state != linkStalls:
			return state == linkPasses || state == linkSlow
		default:
			<-change
		}
	}
}
