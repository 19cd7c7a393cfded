package triton

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/mem"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/triton/grpcconn"
)

// dialTimeout is the time limit of an attempt to connect. A request waits for less of it:
// Config.ConnectTimeout.
const dialTimeout = 5 * time.Second

// direct is the connection of a link for its streams, beside that of grpc-go for all other calls.
// It is established with the first stream, and again after it has ended. All methods may be called
// concurrently.
type direct struct {
	address   string
	authority string // the address, or the name that the server's certificate must have
	secure    bool
	security  credentials.TransportCredentials
	most      int           // the maximum size of a message
	patience  time.Duration // how long a request waits for a connection

	mu      sync.Mutex
	conn    *grpcconn.Conn
	dialing chan struct{} // closed when the attempt in progress has ended; nil if there is none
	failed  error         // why the last attempt failed
	closed  bool
	end     context.CancelFunc // ends the attempt in progress
	old     []*grpcconn.Conn   // connections that serve their last calls
	work    sync.WaitGroup
}

// direct returns the connection for streams, or nil if grpc-go serves them too: the
// configuration selects it, or the environment has a proxy, which only grpc-go uses.
func (e *Engine) direct() *direct {
	address, secure, err := e.config.Address()
	if e.config.StreamClient == StreamClientGRPCGo || err != nil || proxied(address) {
		return nil
	}
	return &direct{address: address, authority: cmp.Or(e.config.ServerName, address), secure: secure, security: e.security, most: e.config.MaxMessage, patience: e.config.ConnectTimeout}
}

// proxied reports whether the environment has a proxy for the address.
func proxied(address string) bool {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: address}})
	return err != nil || proxy != nil
}

// start makes a call. It returns an error if nothing was sent.
func (d *direct) start(ctx context.Context, s *grpcconn.Stream, method string, message mem.BufferSlice) error {
	for {
		conn, err := d.get(ctx)
		if err != nil {
			return err
		}
		if err := conn.Start(ctx, s, method, message); err != grpcconn.ErrClosed { //nolint:errorlint // that very error
			return err
		}
	}
}

// get returns a connection that takes calls, and waits for one.
func (d *direct) get(ctx context.Context) (*grpcconn.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn != nil && d.conn.Usable() {
		return d.conn, nil
	}
	if d.closed {
		return nil, errStopped
	}
	if d.dialing == nil {
		d.dial() //nolint:contextcheck // the attempt serves later requests too
	}
	if err := d.wait(ctx, d.dialing); err != nil {
		return nil, err
	}
	switch {
	case d.closed:
		return nil, errStopped
	case d.conn == nil:
		return nil, unreachable(d.failed)
	}
	return d.conn, nil
}

// wait waits for the attempt in progress. The caller holds the mutex, which is free meanwhile.
func (d *direct) wait(ctx context.Context, attempt <-chan struct{}) error {
	d.mu.Unlock()
	defer d.mu.Lock()
	patience := time.NewTimer(d.patience)
	defer patience.Stop()
	select {
	case <-attempt:
		return nil
	case <-patience.C:
		return unreachable(fmt.Errorf("the connection to the inference server isn't established after %s", d.patience))
	case <-ctx.Done():
		return Ended(ctx, ctx.Err())
	}
}

// dial begins an attempt to connect. The caller holds the mutex.
func (d *direct) dial() {
	if d.conn != nil {
		d.conn.Drain()
		d.old = append(d.old, d.conn)
		d.conn = nil
	}
	d.reap()
	ended := make(chan struct{})
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	d.dialing, d.end = ended, cancel
	d.work.Go(func() {
		defer cancel()
		conn, err := d.connect(ctx)
		d.mu.Lock()
		defer d.mu.Unlock()
		if conn != nil && d.closed {
			conn.Close()
			conn = nil
		}
		d.conn, d.failed, d.dialing = conn, err, nil
		close(ended)
	})
}

// reap forgets the connections that have ended. The caller holds the mutex.
func (d *direct) reap() {
	left := d.old[:0]
	for _, conn := range d.old {
		if !conn.Ended() {
			left = append(left, conn)
		}
	}
	clear(d.old[len(left):])
	d.old = left
}

func (d *direct) connect(ctx context.Context) (*grpcconn.Conn, error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", d.address)
	if err != nil {
		return nil, err
	}
	polled := grpcconn.Poll(raw)
	if polled != nil {
		raw = polled
	}
	if d.secure {
		secured, _, err := d.security.ClientHandshake(ctx, d.authority, raw)
		if err != nil {
			_ = raw.Close()
			return nil, err
		}
		raw = secured
	}
	return grpcconn.New(raw, grpcconn.Config{
		Authority: d.authority, Secure: d.secure, UserAgent: "trident", MaxMessage: d.most, Polled: polled,
	}), nil
}

// close ends the connection and its calls.
func (d *direct) close() {
	if d == nil {
		return
	}
	d.mu.Lock()
	d.closed = true
	if d.end != nil {
		d.end()
	}
	all := d.old
	if d.conn != nil {
		all = append(all, d.conn)
	}
	d.conn, d.old = nil, nil
	d.mu.Unlock()
	for _, conn := range all {
		conn.Close()
	}
	d.work.Wait()
}

// live asks the server whether it is live, on the connection of the streams if there is one.
func (d *direct) live(ctx context.Context) error {
	conn := d.current()
	if conn == nil {
		return nil
	}
	var s grpcconn.Stream
	if err := conn.Start(ctx, &s, kserve.GRPCInferenceService_ServerLive_FullMethodName, nil); err != nil {
		return err
	}
	<-s.Ended()
	s.Release()
	return ctx.Err()
}

// current returns the connection, or nil if there is none that takes calls.
func (d *direct) current() *grpcconn.Conn {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn == nil || !d.conn.Usable() {
		return nil
	}
	return d.conn
}
