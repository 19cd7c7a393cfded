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

// exchange is the transport of one ModelStreamInfer call.
type exchange interface {
	// receive returns the next request, and io.EOF when the client has sent all. It returns
	// an error at the end of the call.
	receive() (*request, error)
	// send blocks while the client reads nothing. Only one goroutine may call it at a time.
	// send frees the reply.
	send(*reply) error
	// joins reports whether send accepts joined replies.
	joins() bool
	// abort ends a blocked send or receive. It reports whether the transport can do that
	// before the call has ended.
	abort() bool
}

// The limits on a stream's requests that haven't ended yet. The stream stops reading at 256
// requests, or at 64 MiB in total or one larger request, and continues when requests have ended.
const (
	streamRoom  = 64 << 20
	leastWeight = streamRoom / 256
)

// joinTime is how long the requests of a failed stream have to end before their sends are
// aborted.
const joinTime = 100 * time.Millisecond

var (
	errSlowReader = &inference.Error{
		Code: inference.CodeLimited, Reason: inference.ReasonRateLimit,
		Message: "the stream was closed: the client read its responses too slowly",
	}
	errStopping = &inference.Error{
		Code: inference.CodeUnavailable, Reason: inference.ReasonShuttingDown, Message: "the server is shutting down",
	}
)

// streamOptions are the options in a stream's metadata.
type streamOptions struct {
	// asStatus makes an error of a model the call's status: triton_grpc_error.
	asStatus bool
	// parameters are added to each request, from headers; nil for none.
	parameters headerParameters
}

// streamCall is one ModelStreamInfer call. Its requests run concurrently, each in its own
// goroutine, and send their responses one at a time.
type streamCall struct {
	service  *Service
	exchange exchange
	streamOptions

	room   *semaphore.Weighted
	failed chan error // receives the first error of the call

	sending sync.Mutex
	slow    *time.Timer // aborts a send after the write timeout; nil before the first send; guarded by sending

	mu     sync.Mutex
	active int
	closed bool          // no further request is accepted
	idle   chan struct{} // closed when closed is set and no request is active

	// The goroutine that reads the stream uses order and sequences. Both contain channels that are
	// closed when the next request may proceed.
	order     <-chan struct{}            // closed after the latest request of a model that isn't decoupled
	sequences map[sequence]chan struct{} // closed after the latest request of each sequence
}

// sequence identifies a sequence of a model.
type sequence struct {
	model  string
	number int64
	text   string
}

// streamInfer implements ModelStreamInfer. Responses of models that aren't decoupled, and
// refusals, are sent in the order of their requests; other responses are sent as they arrive.
// The requests of a sequence run one after the other. All requests are cancelled at the end
// of ctx, or if the client reads nothing for [Config.WriteTimeout].
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
		case <-draining: // requests in progress may end
			draining, ending, ended = nil, errStopping, false
			st.close()
		}
	}
	select {
	case ending = <-st.failed: // the last request may have failed
	default:
	}
	return st.end(cancel, ending)
}

// end cancels the requests and waits for them. If they don't end within joinTime and the
// transport can't abort them, it doesn't wait any longer.
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

// fail ends the call with an error.
func (st *streamCall) fail(err error) {
	select {
	case st.failed <- err:
	default: // it has failed already
	}
}

// begin reports whether a further request is accepted.
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

// read reads the client's requests until it has sent all or the call ends.
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
		r := st.accept(ctx, req)
		if !st.dispatch(ctx, r, weight) {
			r.leave()
			return
		}
		if r.refused != nil && !st.pause(ctx, r.refused) {
			return
		}
	}
}

// accept returns the run of a request that has been read. The first request was admitted with
// the call.
func (st *streamCall) accept(ctx context.Context, req *request) *streamRequest {
	r := &streamRequest{call: st, req: req, head: req.Head()}
	ctx, r.refused = inference.Renew(ctx)
	if r.refused != nil {
		return r
	}
	r.arrival = st.service.core.Admission().Arrive(ctx)
	if r.refused = r.arrival.AdmitModel(); r.refused == nil {
		r.refused = r.arrival.Take(int64(req.Size()))
	}
	return r
}

// leastPause is the pause after a request that was refused without a time to retry.
const leastPause = time.Second

// pause waits after a refused request. Otherwise a stream could have more requests decoded
// than the client's limits allow. pause returns false if no further request is read.
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

// dispatch starts a request. It returns false if no further request is accepted.
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

// sequenceOf returns the sequence of a request. The ids 0 and "" mean no sequence.
func sequenceOf(req *kserve.ModelInferRequest) (sequence, bool) {
	p := req.GetParameters()["sequence_id"]
	key := sequence{model: req.GetModelName(), number: p.GetInt64Param(), text: p.GetStringParam()}
	return key, key.number != 0 || key.text != ""
}

// recover turns a panic into the call's error: in a goroutine it would end the process.
func (st *streamCall) recover() {
	if p := recover(); p != nil {
		st.fail(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	}
}

// send writes a reply, one at a time.
func (st *streamCall) send(ctx context.Context, r *reply) error {
	st.sending.Lock()
	defer st.sending.Unlock()
	if ctx.Err() != nil {
		r.encoded.Free()
		return ctx.Err()
	}
	if st.slow == nil {
		st.slow = time.AfterFunc(st.service.cfg.WriteTimeout, func() { st.fail(errSlowReader) })
	} else {
		st.slow.Reset(st.service.cfg.WriteTimeout)
	}
	defer st.slow.Stop()
	return st.exchange.send(r)
}

// stopClock doesn't wait for the lock: a timer that a later send starts has no effect, since
// the stream has ended.
func (st *streamCall) stopClock() {
	if st.sending.TryLock() {
		defer st.sending.Unlock()
		if st.slow != nil {
			st.slow.Stop()
		}
	}
}

// streamRequest is one request of a stream.
type streamRequest struct {
	call      *streamCall
	req       *request
	head      *kserve.ModelInferRequest
	arrival   *admission.Arrival // the request's own arrival; nil if the request was refused before it had one
	refused   error              // the error for which the request is refused, or nil
	model     catalog.Resolution
	decoupled bool
	answered  bool // the model has responded
	known     knownHead
	pending   *[]byte // encoded responses that are sent together with the next one; nil if there are none

	before   <-chan struct{} // closed when the responses may be sent; nil if at once
	sent     chan<- struct{} // closed when the responses have been sent; nil if no request waits
	previous <-chan struct{} // closed when the sequence's previous request has ended; nil if there is none
	ended    chan struct{}   // closed when this request has ended
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
		_ = r.answer(ctx, nil, r.refused) // answer reports its own error to the stream
		return
	}
	arrived := context.Context(r.arrival)
	if r.previous != nil { // the wait may have been long
		var err error
		if arrived, err = inference.Renew(arrived); err != nil {
			_ = r.answer(ctx, nil, err) // answer reports its own error to the stream
			return
		}
	}
	for resp, err := range r.call.service.core.Forward(arrived, r.model, r.req.InferRequest) { //nolint:contextcheck // the arrival's context derives from the stream's
		if ctx.Err() != nil || r.answer(ctx, resp, err) != nil {
			return
		}
	}
	_ = r.flush(ctx) // flush reports its own error to the stream
}

// leave releases the request's memory and arrival.
func (r *streamRequest) leave() {
	r.arrival.Leave()
	r.req.Free()
}

// end lets the sequence's next request start. It is called before the responses are sent:
// another sequence may be waiting in the model for the end of this request.
func (r *streamRequest) end() {
	if r.ended != nil {
		close(r.ended)
		r.ended = nil
	}
}

// answer sends a response. After an error no more responses can be sent.
func (r *streamRequest) answer(ctx context.Context, resp *inference.Response, err error) error {
	switch {
	case err == nil && (resp.Idle || resp.End(r.head) && !r.wantsEnd()):
		return r.flush(ctx)
	case err != nil || resp.Final || !r.decoupled:
		r.end()
	}
	if r.before != nil && !await(ctx, r.before) {
		return ctx.Err()
	}
	more := err == nil && resp.More && r.call.exchange.joins()
	if (more || r.pending != nil) && r.joinKnown(resp, err) {
		return r.flushUnless(ctx, more)
	}
	encoded, err := r.encode(resp, err)
	if err != nil {
		_ = r.flush(ctx) // the stream fails anyway
		r.call.fail(err)
		return err
	}
	if (more || r.pending != nil) && r.join(encoded) {
		return r.flushUnless(ctx, more)
	}
	if err := r.flush(ctx); err != nil {
		encoded.Free()
		return err
	}
	return r.send(ctx, &reply{encoded: encoded, stream: true})
}

// send sends a reply. An error ends the stream.
func (r *streamRequest) send(ctx context.Context, reply *reply) error {
	err := r.call.send(ctx, reply)
	if err != nil {
		r.call.fail(err)
	}
	return err
}

// wantsEnd reports whether the client gets a separate response for the end of a request. For
// a decoupled model the request must ask for it. For other models it is sent if it is the
// only response.
func (r *streamRequest) wantsEnd() bool {
	if !r.decoupled {
		return !r.answered
	}
	return r.head.GetParameters()[enableEmptyFinal].GetBoolParam()
}

// encode encodes an item that the engine has yielded. An error is the call's error.
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
		return slices.Clone(resp.Encoded), nil // the transport uses the slice for longer than the engine
	}
	if size := r.known.sizeOf(r.head, resp); size > 0 {
		return r.known.encode(resp, size), nil
	}
	return encodeStream(r.head, resp)
}

// encodeEnd encodes the end of a request that failed as a whole. A refusal is sent in the
// stream as by tritonserver, even if the client wants errors as status. An aborted request,
// which tritonserver doesn't have, is marked as final.
func (r *streamRequest) encodeEnd(e *inference.Error) (mem.BufferSlice, error) {
	broke := r.answered || e.Text == "" && e.Triton == inference.TritonNone
	if broke && r.call.asStatus {
		return nil, e
	}
	return encodeFailure(r.head, wirecode.KServeText(e), !broke, true)
}

// await reports whether ready was closed before ctx ended.
func await(ctx context.Context, ready <-chan struct{}) bool {
	select {
	case <-ready:
		return true
	case <-ctx.Done():
		return false
	}
}

// wantsStatus reports whether a stream's client wants the first error of a model as the
// call's status.
func wantsStatus(header func(string) string) bool { return header("triton_grpc_error") == "true" }
