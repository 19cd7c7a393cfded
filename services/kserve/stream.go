package kserve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc/mem"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/wirecode"
)

// exchange is a transport's side of one ModelStreamInfer call.
type exchange interface {
	// receive gives the next request, and io.EOF once the client has sent all. It
	// ends with the call.
	receive() (*request, error)
	// send blocks while the client takes nothing. It is called by one goroutine at a
	// time, and frees the reply.
	send(*reply) error
	// abort ends a send or a receive that blocks, if the transport can do that before
	// the call has ended.
	abort() bool
}

// What a stream may hold of its client's requests that aren't answered. When that
// is used up the stream reads no further, until requests have ended: requests of
// 64 MiB in all, or a single larger one, and 256 requests.
const (
	streamRoom  = 64 << 20
	leastWeight = streamRoom / 256
)

// joinTime is what is given to the requests of a stream that fails before their
// sends are aborted.
const joinTime = 100 * time.Millisecond

var (
	errSlowReader = &inference.Error{
		Code: inference.CodeLimited, Reason: inference.ReasonRateLimit,
		Message: "the stream was ended: its responses were taken too slowly",
	}
	errStopping = &inference.Error{
		Code: inference.CodeUnavailable, Reason: inference.ReasonShuttingDown, Message: "the server is shutting down",
	}
)

// streamOptions are what a stream's metadata ask for.
type streamOptions struct {
	// asStatus makes a model's error the call's: triton_grpc_error.
	asStatus bool
	// parameters from headers are each request's; nil for none.
	parameters headerParameters
}

// stream is one ModelStreamInfer call: requests run side by side, each in a
// goroutine of its own, and their responses take turns on the wire.
type streamCall struct {
	service  *Service
	exchange exchange
	streamOptions

	room   *semaphore.Weighted
	failed chan error // the first failure of the call

	sending sync.Mutex
	slow    *time.Timer // nil before the first send; guarded by sending

	mu     sync.Mutex
	active int
	closed bool          // no further request is taken
	idle   chan struct{} // closed when closed and none is active

	// The reader's. Both hold a channel that is closed when the next request may go on.
	order     <-chan struct{}            // after the latest request of a model that isn't decoupled
	sequences map[sequence]chan struct{} // after the latest request of a sequence
}

// sequence names one as its model does.
type sequence struct {
	model  string
	number int64
	text   string
}

// streamInfer answers ModelStreamInfer. Responses of models that aren't decoupled,
// and refusals, come in the order of their requests, others as they are made; a
// sequence's requests run one after the other. The end of ctx cancels all requests,
// and so does a client that takes nothing for [Config.WriteTimeout].
func (s *Service) streamInfer(ctx context.Context, x exchange, options streamOptions) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	st := &streamCall{
		service: s, exchange: x, streamOptions: options,
		room: semaphore.NewWeighted(streamRoom), failed: make(chan error, 1),
		idle: make(chan struct{}), sequences: map[sequence]chan struct{}{},
	}
	defer st.stopClock()
	s.streams.Go(func() { st.read(ctx) })
	var ending error
	for draining, ended := s.core.Admission().Draining(), false; !ended; {
		ended = true
		select {
		case <-st.idle:
		case <-ctx.Done():
			ending = ctx.Err()
		case ending = <-st.failed:
		case <-draining: // what was begun may end
			draining, ending, ended = nil, errStopping, false
			st.close()
		}
	}
	select {
	case ending = <-st.failed: // the last request's
	default:
	}
	return st.end(cancel, ending)
}

// end cancels the requests and waits for them, if they can be waited for before the
// call has ended.
func (st *streamCall) end(cancel context.CancelCauseFunc, err error) error {
	cancel(err)
	st.close()
	late := time.NewTimer(joinTime)
	defer late.Stop()
	select {
	case <-st.idle:
	case <-late.C:
		if st.exchange.abort() {
			<-st.idle
		}
	}
	return err
}

// fail ends the call.
func (st *streamCall) fail(err error) {
	select {
	case st.failed <- err:
	default: // it has failed already
	}
}

// begin is false when no further request is taken.
func (st *streamCall) begin() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.closed {
		st.active++
	}
	return !st.closed
}

func (st *streamCall) done() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.active--
	if st.closed && st.active == 0 {
		close(st.idle)
	}
}

func (st *streamCall) close() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.closed {
		st.closed = true
		if st.active == 0 {
			close(st.idle)
		}
	}
}

// read takes the client's requests until it has sent all, or the call ends.
func (st *streamCall) read(ctx context.Context) {
	defer st.recover()
	first := make(chan struct{})
	close(first)
	st.order = first
	for {
		req, err := st.exchange.receive()
		switch {
		case errors.Is(err, io.EOF):
			st.close()
			return
		case err != nil:
			st.fail(err)
			return
		}
		if err := req.AddParameters(st.parameters); err != nil {
			st.fail(err)
			req.Free()
			return
		}
		weight := min(max(int64(req.Size()), leastWeight), streamRoom)
		if st.room.Acquire(ctx, weight) != nil {
			req.Free()
			return
		}
		r := st.arrive(ctx, req)
		if !st.dispatch(ctx, r, weight) {
			r.leave()
			return
		}
		if r.refused != nil && !st.pause(ctx, r.refused) {
			return
		}
	}
}

// arrive makes a run of a request that has been read. The first one was let in with the call.
func (st *streamCall) arrive(ctx context.Context, req *request) *streamRequest {
	r := &streamRequest{call: st, req: req, head: req.Head()}
	ctx, r.refused = inference.Renew(ctx)
	if r.refused != nil {
		return r
	}
	r.arrival = st.service.core.Admission().Arrive(ctx)
	if r.refused = r.arrival.Admit(); r.refused == nil {
		r.refused = r.arrival.Take(int64(req.Size()))
	}
	return r
}

// leastPause is after a request that was refused for a reason that time doesn't change.
const leastPause = time.Second

// pause waits after a request that was refused, so that a stream is no way to have more
// requests decoded than its client may send. It is false when no further one is read.
func (st *streamCall) pause(ctx context.Context, refused error) bool {
	length := leastPause
	if after := inference.AsError(refused).RetryAfter; after > 0 {
		length = after
	}
	wait := time.NewTimer(length)
	defer wait.Stop()
	select {
	case <-wait.C:
		return true
	case <-ctx.Done():
	case <-st.service.core.Admission().Draining():
	}
	return false
}

// dispatch starts a request, unless no further one is taken.
func (st *streamCall) dispatch(ctx context.Context, r *streamRequest, weight int64) bool {
	r.model = st.service.core.ResolveOwn(r.head.GetModelName())
	r.decoupled = r.model.Decoupled(ctx)
	if !r.decoupled {
		sent := make(chan struct{})
		r.before, r.sent = st.order, sent
		st.order = sent
	}
	if key, ok := sequenceOf(r.head); ok {
		r.previous, r.ended = st.sequences[key], make(chan struct{})
		st.sequences[key] = r.ended
		if r.head.GetParameters()["sequence_end"].GetBoolParam() {
			delete(st.sequences, key)
		}
	}
	if !st.begin() {
		return false
	}
	st.service.streams.Go(func() {
		defer st.done()
		defer st.room.Release(weight)
		defer r.leave()
		defer st.recover()
		r.serve(ctx)
	})
	return true
}

// sequenceOf is the sequence that a request belongs to. 0 and the empty text are
// none.
func sequenceOf(req *kserve.ModelInferRequest) (sequence, bool) {
	p := req.GetParameters()["sequence_id"]
	key := sequence{model: req.GetModelName(), number: p.GetInt64Param(), text: p.GetStringParam()}
	return key, key.number != 0 || key.text != ""
}

// recover makes a panic the call's error: in a goroutine it would end the process.
func (st *streamCall) recover() {
	if p := recover(); p != nil {
		st.fail(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	}
}

// send writes a reply when its turn has come.
func (st *streamCall) send(ctx context.Context, encoded mem.BufferSlice) error {
	st.sending.Lock()
	defer st.sending.Unlock()
	if ctx.Err() != nil {
		encoded.Free()
		return ctx.Err()
	}
	if st.slow == nil {
		st.slow = time.AfterFunc(st.service.cfg.WriteTimeout, func() { st.fail(errSlowReader) })
	} else {
		st.slow.Reset(st.service.cfg.WriteTimeout)
	}
	defer st.slow.Stop()
	return st.exchange.send(&reply{encoded: encoded, stream: true})
}

// stopClock needs no lock: a timer that a send starts later finds that nobody
// listens.
func (st *streamCall) stopClock() {
	if st.sending.TryLock() {
		defer st.sending.Unlock()
		if st.slow != nil {
			st.slow.Stop()
		}
	}
}

// run is one request of a stream.
type streamRequest struct {
	call      *streamCall
	req       *request
	head      *kserve.ModelInferRequest
	arrival   *admission.Arrival // nil for one that was refused before it had its own
	refused   error              // why it isn't served
	model     catalog.Resolution
	decoupled bool
	answered  bool // the model has responded

	before   <-chan struct{} // closed when the responses may be sent; nil for at once
	sent     chan<- struct{} // closed when they have been; nil if nobody waits
	previous <-chan struct{} // closed when the sequence's request before has ended; nil for none
	ended    chan struct{}   // closed when this one has
}

func (r *streamRequest) serve(ctx context.Context) {
	if r.sent != nil {
		defer close(r.sent)
	}
	defer r.end()
	if r.previous != nil && !await(ctx, r.previous) {
		return
	}
	if r.refused != nil {
		_ = r.answer(ctx, nil, r.refused) // an error of it is the stream's
		return
	}
	arrived := context.Context(r.arrival)
	if r.previous != nil { // that may have taken long
		var err error
		if arrived, err = inference.Renew(arrived); err != nil {
			_ = r.answer(ctx, nil, err) // likewise
			return
		}
	}
	for resp, err := range r.call.service.core.Forward(arrived, r.model, r.req.InferRequest) { //nolint:contextcheck // the arrival's is below the stream's
		if ctx.Err() != nil || r.answer(ctx, resp, err) != nil {
			return
		}
	}
}

// leave gives back what the request held.
func (r *streamRequest) leave() {
	r.arrival.Leave()
	r.req.Free()
}

// end lets the sequence's next request begin. That must not wait for a turn on the
// wire, as another sequence may wait in the model for this one's end.
func (r *streamRequest) end() {
	if r.ended != nil {
		close(r.ended)
		r.ended = nil
	}
}

// answer sends a response. An error means that no more can be sent.
func (r *streamRequest) answer(ctx context.Context, resp *inference.Response, err error) error {
	switch {
	case err == nil && (resp.Idle || resp.End(r.head) && !r.wantsEnd()):
		return nil
	case err != nil || resp.Final || !r.decoupled:
		r.end()
	}
	if r.before != nil && !await(ctx, r.before) {
		return ctx.Err()
	}
	encoded, err := r.encode(resp, err)
	if err == nil {
		err = r.call.send(ctx, encoded)
	}
	if err != nil {
		r.call.fail(err)
	}
	return err
}

// wantsEnd is whether the client is told of the end by a response of its own: if it
// asked for that, and of a model that isn't decoupled if that is its one response.
func (r *streamRequest) wantsEnd() bool {
	if !r.decoupled {
		return !r.answered
	}
	return r.head.GetParameters()[enableEmptyFinal].GetBoolParam()
}

// encode encodes what the engine has yielded; an error is the call's.
func (r *streamRequest) encode(resp *inference.Response, err error) (mem.BufferSlice, error) {
	switch {
	case err != nil:
		return r.encodeEnd(inference.AsError(err))
	case resp.Err != nil && r.call.asStatus:
		return nil, resp.Err
	}
	r.answered = true
	switch {
	case resp.Err != nil:
		return encodeFailure(r.head, wirecode.KServeText(resp.Err), false, resp.Final)
	case resp.Encoded != nil:
		resp.Encoded.Ref()
		return slices.Clone(resp.Encoded), nil // the slice is the engine's, and the transport's for longer
	}
	return encodeStream(r.head, resp)
}

// encodeEnd tells of a request that was refused as tritonserver does, which has it
// in the stream whatever the client asked for. Of one that broke, which tritonserver
// doesn't know, the client is told that it is over.
func (r *streamRequest) encodeEnd(e *inference.Error) (mem.BufferSlice, error) {
	broke := r.answered || e.Text == "" && e.Triton == inference.TritonNone
	if broke && r.call.asStatus {
		return nil, e
	}
	return encodeFailure(r.head, wirecode.KServeText(e), !broke, true)
}

// await is false when ctx has ended.
func await(ctx context.Context, ready <-chan struct{}) bool {
	select {
	case <-ready:
		return true
	case <-ctx.Done():
		return false
	}
}

// wantsStatus is whether a stream's client wants the first error of a model's as
// the call's status.
func wantsStatus(header func(string) string) bool { return header("triton_grpc_error") == "true" }
