// Package grpcconn is a gRPC client for calls with one request message and any number of
// response messages, over one HTTP/2 connection. It exists because grpc-go spends more on a
// small message than Triton on making it: two goroutines are woken for each message, one that
// reads the stream and one that uses what it read. Here the connection's reader appends the
// messages to the stream that they are for, and wakes the consumer once for all that have arrived.
//
// While many small messages arrive, the connection is read at intervals ([Polled]).
//
// Frames and header compression are those of golang.org/x/net. Sources: RFC 9113 (HTTP/2), and
// PROTOCOL-HTTP2.md of gRPC, whose section names comments mention. Messages are never compressed.
//
// What KServe's messages mean, which connection a request uses, and when a call is repeated belong to
// package triton.
package grpcconn

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	// readBuffer and maxFrame are the sizes of the read buffer and of the frames that the server
	// may send, in bytes. A large tensor needs few reads.
	readBuffer = 128 << 10
	maxFrame   = 256 << 10
	// streamWindow is the number of bytes that a stream holds for its consumer. A message may be
	// larger. connWindow is the number that the server may send to all streams before the reader
	// has seen any of it; it doesn't limit what the streams hold.
	streamWindow = 1 << 20
	connWindow   = 16 << 20
	// maxPending is the number of encoded bytes that wait for the connection. Requests wait while
	// there are more.
	maxPending = 256 << 10
	// maxControl is the number of pending bytes at which the connection is closed: a server that
	// sends pings without reading the answers would make them grow without a limit.
	maxControl = 4 << 20
	// maxHeaderList is the maximum size of a response's headers or trailers, in bytes.
	maxHeaderList = 1 << 20
	// lastStreamID is the highest id of a stream (RFC 9113, section 5.1.1).
	lastStreamID = math.MaxInt32
	// defaultWindow is the window of streams and of the connection before settings change it
	// (RFC 9113, section 6.9.2).
	defaultWindow = 65_535
	// defaultFrame is the size of frames that every peer accepts (RFC 9113, section 4.2).
	defaultFrame = 16 << 10
)

// Config describes how calls are made on a connection.
type Config struct {
	// Authority is the server's name in requests, such as host:port.
	Authority string
	// Secure reports whether the connection uses TLS.
	Secure bool
	// UserAgent is sent with each request.
	UserAgent string
	// MaxMessage is the maximum size of a response message, in bytes.
	MaxMessage int
	// Polled is the polled connection below the transport, or nil if it isn't polled.
	Polled *Polled
}

// Conn is a connection to a gRPC server. All methods may be called concurrently.
type Conn struct {
	config Config
	net    net.Conn
	work   sync.WaitGroup
	done   chan struct{} // closed when the connection has ended

	// The reader's own state.
	reader   *bufio.Reader
	frames   *http2.Framer
	woken    []*Stream // streams whose consumers are woken before the next wait for the network
	uncredit int       // bytes that were received and aren't announced as free in the connection's window
	arrived  int       // data frames since consumers were woken

	mu         sync.Mutex
	streams    map[uint32]*Stream
	nextID     uint32
	maxStreams uint32
	draining   bool  // the server takes no further streams
	err        error // why the connection has ended; nil while it lives
	out        []byte
	pending    chan struct{} // has a token while out isn't empty
	space      chan struct{} // closed and replaced when a request that waits should look again
	waiting    int           // number of requests that wait for space
	writer     *http2.Framer // appends to out
	headers    bytes.Buffer
	encoder    *hpack.Encoder
	window     int64 // bytes that the server accepts on the connection
	newWindow  int64 // bytes that the server accepts on a new stream
	frame      int   // largest frame that the server accepts
}

var (
	// ErrClosed is returned by calls on a connection that has ended before they were sent.
	ErrClosed = errors.New("the connection has ended")
	errClosed = errors.New("the connection was closed")
)

// New starts to use a connection, which the server must know to be HTTP/2. It sends the settings
// and doesn't wait for those of the server.
func New(conn net.Conn, config Config) *Conn {
	c := &Conn{
		config:     config,
		net:        conn,
		done:       make(chan struct{}),
		reader:     bufio.NewReaderSize(conn, readBuffer),
		streams:    map[uint32]*Stream{},
		nextID:     1,
		maxStreams: math.MaxUint32,
		pending:    make(chan struct{}, 1),
		space:      make(chan struct{}),
		window:     defaultWindow,
		newWindow:  defaultWindow,
		frame:      defaultFrame,
	}
	c.frames = http2.NewFramer(io.Discard, c.reader)
	c.frames.SetReuseFrames()
	c.frames.SetMaxReadFrameSize(maxFrame)
	c.frames.ReadMetaHeaders = hpack.NewDecoder(4<<10, nil)
	c.frames.MaxHeaderListSize = maxHeaderList
	c.writer = http2.NewFramer((*output)(c), nil)
	c.encoder = hpack.NewEncoder(&c.headers)
	c.out = append(c.out, http2.ClientPreface...)
	c.writes(c.writer.WriteSettings(
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow},
		http2.Setting{ID: http2.SettingMaxFrameSize, Val: maxFrame},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: maxHeaderList},
	))
	c.writes(c.writer.WriteWindowUpdate(0, connWindow-defaultWindow))
	c.flush()
	c.work.Go(c.read)
	c.work.Go(c.write)
	return c
}

// Usable reports whether the connection takes further calls.
func (c *Conn) Usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err == nil && !c.draining
}

// Ended reports whether the connection has ended.
func (c *Conn) Ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Close ends the connection and its calls, and waits for its goroutines.
func (c *Conn) Close() {
	c.fail(errClosed)
	c.work.Wait()
}

// Drain lets the calls in progress end, and closes the connection after the last one.
func (c *Conn) Drain() {
	c.mu.Lock()
	c.draining = true
	idle := len(c.streams) == 0
	c.mu.Unlock()
	if idle {
		c.fail(errClosed)
	}
}

// fail ends the connection and all calls on it.
func (c *Conn) fail(reason error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = reason
	streams := c.streams
	c.streams = nil
	close(c.done)
	c.wakeRequests()
	c.mu.Unlock()
	_ = c.net.Close() // reads and writes return
	for _, s := range streams {
		s.end(broken(reason))
	}
}

// find returns a call in progress, or nil.
func (c *Conn) find(id uint32) *Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streams[id]
}

// remove takes a call off the connection, and reports whether it was in progress.
func (c *Conn) remove(id uint32, s *Stream) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams[id] != s {
		return false
	}
	delete(c.streams, id)
	c.wakeRequests()
	if c.draining && len(c.streams) == 0 {
		go c.fail(errClosed)
	}
	return true
}

// reset takes a call off the connection and asks the server to stop working on it.
func (c *Conn) reset(id uint32, s *Stream, code http2.ErrCode) {
	if !c.remove(id, s) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes(c.writer.WriteRSTStream(id, code))
	c.flush()
}

// cancel ends a call with an error, and asks the server to stop working on it.
func (c *Conn) cancel(id uint32, s *Stream, reason error) {
	c.reset(id, s, http2.ErrCodeCancel)
	s.endOf(id, reason)
}

// output appends the frames of a framer to the bytes that wait for the connection.
type output Conn

// Write implements [io.Writer]. The caller holds the mutex, or is the only one to know the
// connection.
func (o *output) Write(b []byte) (int, error) {
	o.out = append(o.out, b...)
	return len(b), nil
}

// writes ends the connection if a frame couldn't be encoded, which is a defect of this package.
func (c *Conn) writes(err error) {
	if err != nil {
		go c.fail(fmt.Errorf("encode a frame: %w", err))
	}
}

// flush has the pending bytes written. The caller holds the mutex.
func (c *Conn) flush() {
	if len(c.out) > maxControl {
		go c.fail(errors.New("the server doesn't read"))
	}
	select {
	case c.pending <- struct{}{}:
	default:
	}
}

// write sends the pending bytes until the connection ends.
func (c *Conn) write() {
	var buffer []byte
	for {
		select {
		case <-c.pending:
		case <-c.done:
			return
		}
		c.mu.Lock()
		buffer, c.out = c.out, buffer[:0]
		c.wakeRequests()
		c.mu.Unlock()
		if _, err := c.net.Write(buffer); err != nil {
			c.fail(fmt.Errorf("write to the server: %w", err))
			return
		}
		if cap(buffer) > 2*maxPending {
			buffer = nil
		}
	}
}

// wait waits until something has changed that a request may wait for. The caller holds the mutex,
// which is free during the wait.
func (c *Conn) wait(ctx context.Context) error {
	space := c.space
	c.waiting++
	c.mu.Unlock()
	defer c.mu.Lock()
	select {
	case <-space:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wakeRequests wakes the requests that wait. The caller holds the mutex.
func (c *Conn) wakeRequests() {
	if c.waiting == 0 {
		return
	}
	c.waiting = 0
	close(c.space)
	c.space = make(chan struct{})
}
