package triton

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// drainTime is how long a stream that has had its last response waits for the
// server to end it. Cancelling at once would be right too, but Triton has
// crashed on cancellations that meet the end of a request (server #7368, #8034).
const drainTime = 100 * time.Millisecond

// leaveTime is how long a stream goes on whose consumer has had enough, as at a stop
// text, though nobody has left: models that see it too end just then, and a
// cancellation would meet that end.
const leaveTime = 20 * time.Millisecond

var (
	errLeft = errors.New("the consumer left the stream")
	errCut  = errors.New("the stream ended without its final response")
)

// stream is one request under way: a goroutine reads its responses into the
// ring, from where the iterator hands them out.
type stream struct {
	engine *Engine
	conn   *link
	cancel context.CancelCauseFunc
	rpc    grpc.ClientStream
	ring   *ring
	done   chan struct{} // closed when the reader has ended

	shared   map[string]*inference.SharedRegion // outputs that come there
	forwards bool                               // the model's errors are responses
	silence  Silence
	ward     *ward
	outcome  error // what the stream says of its model; nil for a sound one
	answered bool  // a response has come
	last     bool  // the consumer has had its last response
	flagged  bool  // the server says which response is final
	idle     inference.Response
}

// Stream implements [inference.Engine] with one ModelStreamInfer call for each
// request. At most ringFrames responses wait for the consumer, and no further one
// is read once they have ringBytes. When the consumer is slower than the model, the
// rest stays in the connection's window and in the server.
func (e *Engine) Stream(ctx context.Context, req *kserve.ModelInferRequest) iter.Seq2[*inference.Response, error] {
	return e.stream(ctx, req.GetModelName(), req.GetId(), req, func(s *stream) { s.shared = sharedOutputs(req) })
}

// stream makes the call with a request that the codec takes.
func (e *Engine) stream(ctx context.Context, model, id string, req any, prepare func(*stream)) iter.Seq2[*inference.Response, error] {
	return func(yield func(*inference.Response, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		conn, err := e.connection(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		defer e.hold(conn)()
		defer func() {
			if isInactive(context.Cause(ctx)) {
				e.suspect(ctx, conn, nil)
			}
		}()
		s := &stream{
			engine: e,
			conn:   conn,
			cancel: cancel,
			ring:   e.ring(id),
			done:   make(chan struct{}),
			idle:   inference.Response{ID: id, Idle: true},
		}
		if s.ward, err = e.health.enter(model, s); err != nil {
			yield(nil, err)
			return
		}
		defer func() { e.health.leave(s.ward, s, s.outcome) }()
		defer e.giveBack(s.ring)
		e.silences.Watch(&s.silence, s.ring.readable, cancel, func() { e.suspect(ctx, conn, cancel) })
		defer s.silence.Stop()
		if s.rpc, err = s.send(ctx, req); err != nil {
			s.outcome = err
			yield(nil, err)
			return
		}
		inference.Sent(ctx)
		prepare(s)
		go s.read(ctx)
		defer s.close(ctx)
		s.deliver(ctx, yield)
	}
}

// send opens the call and sends the only request. With ClientStreams unset the
// half-close travels with it. A connection that takes no more streams is waited
// for as long as for a response.
//
// The metadata triton_grpc_error, by which tritonserver ends a stream with a
// status instead of an error text, isn't sent: tritonserver 2.51 then crashes
// when a decoupled model ends a request that it has failed.
func (s *stream) send(ctx context.Context, req any) (grpc.ClientStream, error) {
	s.silence.Begin() // which the first response ends
	e, conn := s.engine, s.conn
	desc := &grpc.StreamDesc{StreamName: "ModelStreamInfer", ServerStreams: true}
	rpc, err := conn.NewStream(withTrace(ctx), desc, kserve.GRPCInferenceService_ModelStreamInfer_FullMethodName, grpc.ForceCodecV2(e.codec))
	if err != nil {
		return nil, e.failure(ctx, err)
	}
	// io.EOF says that the call has failed already; the first receive says why.
	if err := rpc.SendMsg(req); err != nil && !errors.Is(err, io.EOF) {
		return nil, e.failure(ctx, err)
	}
	return rpc, nil
}

// ring gives an empty ring for a request.
func (e *Engine) ring(id string) *ring {
	r, ok := e.rings.Get().(*ring)
	if !ok {
		r = newRing()
	}
	r.names.request = interned(id)
	return r
}

// giveBack keeps a ring for another request.
func (e *Engine) giveBack(r *ring) {
	r.reset()
	e.rings.Put(r)
}

// read fills the ring until the call ends. What follows the last response, or an
// error, is read and dropped.
func (s *stream) read(ctx context.Context) {
	defer close(s.done)
	for {
		f := s.ring.reserve(ctx.Done())
		if f == nil {
			s.ring.end(ctx.Err())
			return
		}
		if err := s.rpc.RecvMsg(f); err != nil {
			s.ring.end(err)
			return
		}
		last := f.response.Final || f.failure != "" && !s.goesOn(f)
		s.ring.commit(f)
		if last {
			break
		}
	}
	for err := error(nil); err == nil; {
		err = s.rpc.RecvMsg(&s.ring.spare)
	}
}

// goesOn is whether a failure may be followed by further responses. A request that
// was refused has none; its failure doesn't tell whether it is final.
func (s *stream) goesOn(f *frame) bool { return s.forwards && f.flagged }

// deliver hands out the responses. It ends after the final one, an error, or
// when the consumer leaves.
func (s *stream) deliver(ctx context.Context, yield func(*inference.Response, error) bool) {
	for {
		response, err := s.next(ctx)
		if s.outcome = err; err != nil {
			yield(nil, err)
			return
		}
		if response.Err != nil {
			s.outcome = response.Err
		}
		if !yield(response, nil) || response.Final {
			if s.outcome == nil && !response.Final {
				s.outcome = errLeft // which says nothing
			}
			return
		}
	}
}

// next waits for the next response; an idle one stands for a while of silence.
func (s *stream) next(ctx context.Context) (*inference.Response, error) {
	for ctx.Err() == nil {
		f, more, err := s.ring.take()
		switch {
		case f != nil:
			s.silence.End()
			s.ward.heard.Store(s.engine.silences.clockNow())
			return s.open(f, more)
		case err != nil:
			return s.finish(ctx, err)
		}
		if s.silence.Idle() {
			return &s.idle, nil
		}
		s.silence.Begin()
		<-s.ring.readable // from the reader or the clock
	}
	return nil, s.engine.failure(ctx, ctx.Err())
}

// open looks into a frame that has come.
//
// A response that says it is another request's is nobody's here, whatever went wrong in
// the server: no client may read another's answer.
func (s *stream) open(f *frame, more bool) (*inference.Response, error) {
	if own := s.idle.ID; own != "" && f.response.ID != "" && f.response.ID != own {
		s.engine.mix(own, f.response.ID)
		return nil, errMixed
	}
	if f.failure != "" {
		failed := Failure(inference.CodeInternal, f.failure)
		if !s.goesOn(f) {
			s.last = true
			return nil, failed
		}
		f.response.Err, f.response.Encoded = failed, nil
	}
	s.answered, s.flagged = true, s.flagged || f.flagged
	s.last = f.response.Final
	f.response.More = more
	if s.shared != nil {
		mark(f.response.Outputs, s.shared)
	}
	return &f.response, nil
}

// mix counts and tells of a response that came to another request than its own.
func (e *Engine) mix(own, other string) {
	e.mixed.Add(1)
	e.log.Error("the inference server sent another request's response", "id", short(own), "response_id", short(other))
}

// Mixed implements [inference.Sorter].
func (e *Engine) Mixed() uint64 { return e.mixed.Load() }

// maxLoggedID bounds a client's id in the log, in bytes.
const maxLoggedID = 128

func short(id string) string { return strings.ToValidUTF8(id[:min(len(id), maxLoggedID)], "") }

// finish is for a call that ended without a final response. To a server that
// doesn't know of the final flag that is the regular end of its responses; no
// server leaves a request without any.
func (s *stream) finish(ctx context.Context, err error) (*inference.Response, error) {
	s.last = true
	switch {
	case !errors.Is(err, io.EOF):
		return nil, s.engine.failure(ctx, err)
	case !s.answered, s.flagged && !s.forwards: // a plain model's one response may say that it isn't final
		return nil, unreachable(errCut)
	}
	return &inference.Response{ID: s.idle.ID, Final: true}, nil
}

// close ends the call, waits for the reader, and gives the ring back. A stream
// that is complete, or whose consumer has had enough, has a moment to end by itself.
func (s *stream) close(ctx context.Context) {
	if !s.last && ctx.Err() == nil {
		s.last = s.endsWithin(leaveTime)
	}
	if s.last && !closedWithin(s.done, drainTime) || !s.last {
		s.cancel(errLeft)
		<-s.done
	}
}

// endsWithin drops what comes, and tells whether the last response was there in time.
func (s *stream) endsWithin(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for began := time.Now(); time.Since(began) < limit; {
		f, more, err := s.ring.take()
		if err != nil || f != nil && (f.response.Final || f.failure != "") {
			return true
		}
		if more {
			continue
		}
		select {
		case <-s.ring.readable:
		case <-timer.C:
		}
	}
	return false
}

func closedWithin(done <-chan struct{}, limit time.Duration) bool {
	select {
	case <-done:
		return true
	default:
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
