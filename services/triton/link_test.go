package triton

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// router forwards connections to a server. It can drop its state: then it discards
// the bytes of its connections, and neither side is notified. While a test holds delay, the router
// forwards nothing, and continues afterwards.
type router struct {
	net.Listener

	accepted atomic.Int32
	lost     atomic.Pointer[atomic.Bool] // reports whether the router has dropped the state of the current connections
	running  sync.WaitGroup
	delay    sync.RWMutex
	mu       sync.Mutex
	open     []net.Conn
}

func route(t *testing.T, target string) *router {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &router{Listener: listener}
	r.lost.Store(new(atomic.Bool))
	r.running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				near.Close()
				continue
			}
			r.accepted.Add(1)
			r.mu.Lock()
			r.open = append(r.open, near, far)
			r.mu.Unlock()
			lost := r.lost.Load()
			r.running.Go(func() { r.carry(far, near, lost) })
			r.running.Go(func() { r.carry(near, far, lost) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		r.mu.Lock()
		for _, conn := range r.open {
			conn.Close()
		}
		r.mu.Unlock()
		r.running.Wait()
	})
	return r
}

func (r *router) carry(to io.WriteCloser, from io.Reader, lost *atomic.Bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if lost.Load() {
			if err != nil {
				return
			}
			continue
		}
		if werr := r.write(to, buffer[:n]); err != nil || werr != nil {
			to.Close()
			return
		}
	}
}

// write forwards bytes once no test holds delay.
func (r *router) write(to io.Writer, data []byte) error {
	r.delay.RLock()
	defer r.delay.RUnlock()
	_, err := to.Write(data)
	return err
}

// connections returns how many connections there have been if the engine connected links times, and
// used a connection of its own for streams on withStreams of these links.
func connections(e *Engine, links, withStreams int32) int32 {
	if e.config.StreamClient == StreamClientGRPCGo {
		return links
	}
	return links + withStreams
}

func (r *router) forget() { r.lost.Swap(new(atomic.Bool)).Store(true) }

// one makes a streaming request and returns its error.
func one(t *testing.T, e *Engine) error {
	t.Helper()
	for _, err := range e.Stream(t.Context(), &kserve.ModelInferRequest{ModelName: "m", Id: "request"}) {
		if err != nil {
			return err
		}
	}
	return nil
}

// unary makes a unary request and returns its error.
func unary(t *testing.T, e *Engine) error {
	t.Helper()
	request, err := proto.Marshal(&kserve.ModelInferRequest{ModelName: "m", Id: "request"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := inference.NewInferRequest(mem.BufferSlice{mem.SliceBuffer(request)})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := e.Call(t.Context(), m)
	answer.Free()
	return err
}

// TestLostConnection checks that a dead connection that no side has closed is replaced, and that the
// requests which wait on the connection for a first response fail. A connection whose server is only
// slow is kept.
func TestLostConnection(t *testing.T) {
	for name, ask := range map[string]func(*testing.T, *Engine) error{"streams": one, "calls": unary} {
		t.Run(name, func(t *testing.T) { testLostConnection(t, ask, name == "streams") })
	}
}

func testLostConnection(t *testing.T, one func(*testing.T, *Engine) error, streams bool) {
	t.Helper()
	of := func(e *Engine, links int32) int32 {
		if streams {
			return connections(e, links, links)
		}
		return links
	}
	const limit = 200 * time.Millisecond
	var silent atomic.Bool
	var waiting atomic.Int32
	var r *router
	answer := marshal(t, message("1", final(true)))
	engine := serve(t, func(c *Config) {
		r = route(t, c.Endpoint)
		c.Endpoint, c.FirstResponse, c.Inactivity, c.CallTimeout = r.Addr().String(), 8*limit, limit, 4*limit
	}, func(stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		switch {
		case method == kserve.GRPCInferenceService_ServerLive_FullMethodName:
			return stream.SendMsg([]byte{})
		case silent.Load():
			waiting.Add(1)
			<-stream.Context().Done()
			return nil
		}
		return stream.SendMsg(answer)
	})
	if err := one(t, engine); err != nil {
		t.Fatal(err)
	}
	silent.Store(true)
	if err := one(t, engine); inference.AsError(err).Reason != inference.ReasonInactive {
		t.Errorf("a stalled model: %v", err)
	}
	silent.Store(false)
	engine.links.work.Wait()
	if err := one(t, engine); err != nil || r.accepted.Load() != of(engine, 1) {
		t.Errorf("after it: %v, by connection %d", err, r.accepted.Load())
	}

	silent.Store(true)
	waiting.Store(0)
	ended := make(chan error, 3)
	for n := range int32(cap(ended)) { // the last requests start during or after the health check for the first request
		go func() { ended <- one(t, engine) }()
		for waiting.Load() != n+1 {
			<-time.After(time.Millisecond)
		}
		if n == 0 {
			<-time.After(limit * 3 / 4)
		}
	}
	began := time.Now()
	r.forget()
	for range cap(ended) {
		if err := <-ended; inference.AsError(err).Reason != inference.ReasonEngineGone {
			t.Errorf("of a lost connection: %v", err)
		}
	}
	if took := time.Since(began); took > 6*limit {
		t.Errorf("it was found after %s", took)
	}
	silent.Store(false)
	engine.links.work.Wait()
	if err := one(t, engine); err != nil || r.accepted.Load() != of(engine, 2) {
		t.Errorf("after it: %v, by connection %d", err, r.accepted.Load())
	}
	engine.links.mu.Lock()
	defer engine.links.mu.Unlock()
	if n := len(engine.links.retired); n != 0 {
		t.Errorf("%d retired connections are kept without a stream", n)
	}
}

// TestLostConnectionFoundByCall checks that Engine.Ready detects a dead connection by its timeout,
// and that the engine then connects again. No inference request is necessary.
func TestLostConnectionFoundByCall(t *testing.T) {
	const limit = 300 * time.Millisecond
	var r *router
	engine := serve(t, func(c *Config) {
		r = route(t, c.Endpoint)
		c.Endpoint, c.CallTimeout = r.Addr().String(), limit
	}, func(stream grpc.ServerStream) error { return stream.SendMsg([]byte{8, 1}) })
	if err := engine.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.forget()
	if err := engine.Ready(t.Context()); inference.AsError(err).Reason != inference.ReasonEngineGone {
		t.Errorf("of a lost connection: %v", err)
	}
	engine.links.work.Wait()
	if err := engine.Ready(t.Context()); err != nil || r.accepted.Load() != 2 {
		t.Errorf("after it: %v, by connection %d", err, r.accepted.Load())
	}
}
