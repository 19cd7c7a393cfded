package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/trident-inference/trident/services/inference"
)

const (
	// errorGrace is the time that canceled requests have to write their error.
	errorGrace = time.Second
	// closeGrace is the time that idle clients have to read that their connection ends.
	closeGrace = 100 * time.Millisecond
)

// Stop closes the listener, waits for requests in flight until the shutdown timeout,
// cancels the remaining requests and closes all connections. It returns when all requests
// have ended. Neither idle connections nor requests whose body hasn't arrived delay it:
// the service would refuse such requests.
func (s *Server) Stop(ctx context.Context) error {
	shutdown, end := context.WithCancel(ctx)
	defer end()
	down := make(chan error, 1)
	go func() { down <- s.http.Shutdown(shutdown) }()
	closed := time.NewTimer(closeGrace)
	defer closed.Stop()
	grace, cancel := context.WithTimeout(ctx, s.cfg.ShutdownTimeout)
	defer cancel()
	drained := make(chan struct{})
	go func() { s.core.Drain(grace); close(drained) }()
	select {
	case <-drained:
	case <-grace.Done():
		s.closeAfter(drained)
	}
	s.uploads.end()
	answers, enough := context.WithTimeout(context.WithoutCancel(grace), s.remainingGrace(grace))
	defer enough()
	var err error
	select {
	case err = <-down:
	case <-closed.C:
		s.connections.await(answers)
		_ = s.http.Close() // the listener is closed already
		end()
		<-down //nolint:errcheck // the error is that of the canceled context
	}
	s.serving.Wait()
	return err
}

// remainingGrace returns the time that responses being written may still take.
func (*Server) remainingGrace(grace context.Context) time.Duration {
	until, _ := grace.Deadline()
	return max(time.Until(until), 0) + errorGrace
}

// closeAfter waits for canceled requests. After errorGrace it closes all connections: a
// request that hasn't ended by then waits for a client that reads nothing.
func (s *Server) closeAfter(drained <-chan struct{}) {
	late := time.NewTimer(errorGrace)
	defer late.Stop()
	select {
	case <-drained:
	case <-late.C:
		_ = s.http.Close() // the listener is closed already
		<-drained
	}
}

// connections are the connections of a port that have a request. The methods may be called
// concurrently.
type connections struct {
	mu     sync.Mutex
	active map[net.Conn]struct{}
	none   chan struct{} // closed when no connection is active; nil unless await waits
}

// changed is the ConnState hook of [http.Server]. An HTTP/2 connection is active while it
// has streams.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state == http.StateActive {
		if c.active == nil {
			c.active = map[net.Conn]struct{}{}
		}
		c.active[conn] = struct{}{}
		return
	}
	delete(c.active, conn)
	if len(c.active) == 0 && c.none != nil {
		close(c.none)
		c.none = nil
	}
}

// await waits until no connection is active or ctx ends.
func (c *connections) await(ctx context.Context) {
	c.mu.Lock()
	if len(c.active) == 0 {
		c.mu.Unlock()
		return
	}
	if c.none == nil {
		c.none = make(chan struct{})
	}
	none := c.none
	c.mu.Unlock()
	select {
	case <-none:
	case <-ctx.Done():
	}
}

// uploads are the bodies of the requests being served. The methods may be called
// concurrently.
type uploads struct {
	mu    sync.Mutex
	all   map[*upload]struct{}
	ended bool
}

// handler registers the body of each request while the request is served.
func (u *uploads) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			body := &upload{ReadCloser: r.Body, control: http.NewResponseController(w)}
			u.add(body)
			defer u.remove(body)
			r.Body = body
		}
		next.ServeHTTP(w, r)
	})
}

func (u *uploads) add(body *upload) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == nil {
		u.all = map[*upload]struct{}{}
	}
	u.all[body] = struct{}{}
	body.ended.Store(u.ended)
}

func (u *uploads) remove(body *upload) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.all, body)
}

// end makes current and future reads of all bodies fail.
func (u *uploads) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ended = true
	for body := range u.all {
		body.end()
	}
}

// upload is a body whose reads the server can end.
type upload struct {
	io.ReadCloser

	control *http.ResponseController
	ended   atomic.Bool
}

func (b *upload) end() {
	b.ended.Store(true)
	_ = b.control.SetReadDeadline(time.Now()) // ends the current read; recorders of tests have no deadlines
}

// Read implements [io.Reader].
func (b *upload) Read(p []byte) (int, error) {
	if b.ended.Load() {
		b.end() // net/http reads on before it closes the connection, and the caller may have moved the deadline
		return 0, errUploadEnded
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && b.ended.Load() {
		err = errUploadEnded
	}
	return n, err
}

// errUploadEnded is returned by reads of a body that hadn't arrived when the server
// stopped.
var errUploadEnded = bodyError{
	&inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonShuttingDown, RetryAfter: uploadRetry, Message: uploadMessage},
	connect.NewError(connect.CodeUnavailable, errors.New(uploadMessage)),
}

const (
	uploadMessage = "the server is shutting down before the whole body of the request has arrived: send the request again"
	uploadRetry   = 5 * time.Second
)
