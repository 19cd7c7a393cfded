package triton

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// drainTime is how long a stream waits for the server's end after its last
// response. The protocol allows cancelling at once. But Triton has crashed when
// a cancellation met the end of a request (server #7368, #8034).
const drainTime = 100 * time.Millisecond

// leaveTime is how long a stream continues after its consumer stopped reading
// without a cancellation, as at a stop sequence. Models that detect the stop
// sequence too end at that moment, and a cancellation would meet that end.
const leaveTime = 20 * time.Millisecond

var (
	errConsumerStopped = errors.New("the consumer stopped reading the stream")
	errCut             = errors.New("the stream ended without its final response")
)

// stream is one request in progress. The iterator yields the responses that the
// receiver has.
type stream struct {
	engine   *Engine
	conn     *link
	cancel   context.CancelCauseFunc
	receiver receiver

	shared      map[string]*inference.SharedRegion
	forwards    bool
	idleTimer   IdleTimer
	modelHealth *modelHealth
	outcome     error // the error that the verdict on the model uses; nil if the model responded
	answered    bool  // a response has arrived
	last        bool  // the consumer has received the last response
	flagged     bool  // the server flags the final response
	idle        inference.Response
}

// Stream implements [inference.Engine] with one ModelStreamInfer call for each
// request. About a mebibyte of responses waits for the consumer. If the consumer
// is slower than the model, the rest stays in the server.
func (e *Engine) Stream(ctx context.Context, req *kserve.ModelInferRequest) iter.Seq2[*inference.Response, error] {
	return e.stream(ctx, request{model: req.GetModelName(), id: req.GetId(), message: req, shared: sharedOutputs(req)})
}

// request is a request of a stream.
type request struct {
	model, id string
	message   any                                // of a type that the codec accepts
	shared    map[string]*inference.SharedRegion // regions of the outputs in shared memory, keyed by the output's name
	forwards  bool                               // errors of the model are passed on as responses
}

// stream makes the call.
func (e *Engine) stream(ctx context.Context, req request) iter.Seq2[*inference.Response, error] {
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
				e.checkLink(ctx, conn, nil)
			}
		}()
		s := &stream{
			engine: e, conn: conn, cancel: cancel, shared: req.shared, forwards: req.forwards,
			receiver: e.receiver(conn, req.id, req.forwards),
			idle:     inference.Response{ID: req.id, Idle: true},
		}
		defer s.receiver.release()
		if s.modelHealth, err = e.health.enter(req.model, s); err != nil {
			yield(nil, err)
			return
		}
		defer func() { e.health.leave(s.modelHealth, s, s.outcome) }()
		e.idleTimers.Watch(&s.idleTimer, s.receiver.wakes(), cancel, func() { e.checkLink(ctx, conn, cancel) })
		defer s.idleTimer.Stop()
		if err := s.send(ctx, req.message); err != nil {
			s.outcome = err
			yield(nil, err)
			return
		}
		inference.Sent(ctx)
		defer s.close(ctx)
		s.deliver(ctx, yield)
	}
}

// send opens the call and sends the only request. If the connection is at its limit of
// streams, send waits at most as long as for a response.
//
// The metadata triton_grpc_error would make tritonserver end a failed stream with a
// status instead of an error message. The metadata isn't sent: tritonserver 2.51 then
// crashes when a decoupled model ends a request that it has failed.
func (s *stream) send(ctx context.Context, message any) error {
	s.idleTimer.Begin() // the first response ends the wait
	err := s.receiver.begin(ctx, message)
	if known, ok := errors.AsType[*inference.Error](err); ok {
		return known
	}
	if err != nil {
		return s.engine.failure(ctx, err)
	}
	return nil
}

// deliver yields the responses. It ends after the final response, an error, or
// when the consumer stops.
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
				s.outcome = errConsumerStopped // says nothing about the health of the model
			}
			return
		}
	}
}

// next waits for the next response. It returns an idle response after each idle
// period.
func (s *stream) next(ctx context.Context) (*inference.Response, error) {
	for ctx.Err() == nil {
		f, more, err := s.receiver.take()
		switch {
		case f != nil:
			s.idleTimer.End()
			s.modelHealth.lastResponse.Store(s.engine.idleTimers.clockNow())
			return s.open(f, more)
		case err != nil:
			return s.finish(ctx, err)
		}
		if s.idleTimer.Idle() {
			return &s.idle, nil
		}
		s.idleTimer.Begin()
		<-s.receiver.wakes() // a token from the reader or the clock
	}
	return nil, s.engine.failure(ctx, ctx.Err())
}

// open converts a received frame to a response.
//
// A response with another request's id is never passed on, whatever failed in the
// server: no client may read another client's response.
func (s *stream) open(f *frame, more bool) (*inference.Response, error) {
	if own := s.idle.ID; own != "" && f.response.ID != "" && f.response.ID != own {
		s.engine.mix(own, f.response.ID)
		return nil, errMixed
	}
	if f.failure != "" {
		failed := Failure(inference.CodeInternal, f.failure)
		if !f.mayContinue(s.forwards) {
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

// mix counts and logs a response that arrived on another request's stream.
func (e *Engine) mix(own, other string) {
	e.mixed.Add(1)
	e.log.Error("the inference server sent another request's response", "id", short(own), "response_id", short(other))
}

// Mixed implements [inference.MixedCounter].
func (e *Engine) Mixed() uint64 { return e.mixed.Load() }

// maxLoggedID is the maximum length of a client's id in the log, in bytes.
const maxLoggedID = 128

func short(id string) string { return strings.ToValidUTF8(id[:min(len(id), maxLoggedID)], "") }

// finish handles a call that ended without a final response. A server without
// the final flag ends each request like this. But no server ends a request
// without any response.
func (s *stream) finish(ctx context.Context, err error) (*inference.Response, error) {
	s.last = true
	switch {
	case !errors.Is(err, io.EOF):
		return nil, s.engine.failure(ctx, err)
	case !s.answered, s.flagged && !s.forwards: // the single response of a non-decoupled model may be flagged as not final
		return nil, unreachable(errCut)
	}
	return &inference.Response{ID: s.idle.ID, Final: true}, nil
}

// close ends the call and waits for the reader. If the stream is complete, or its
// consumer stopped reading, the server first has a short time to end the call
// itself.
func (s *stream) close(ctx context.Context) {
	if !s.last && ctx.Err() == nil {
		s.last = s.endsWithin(leaveTime)
	}
	s.receiver.drop()
	if s.last && !closedWithin(s.receiver.finished(), drainTime) || !s.last {
		s.cancel(errConsumerStopped)
		<-s.receiver.finished()
	}
}

// endsWithin drops responses, and reports whether the last one arrived within the
// limit.
func (s *stream) endsWithin(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for began := time.Now(); time.Since(began) < limit; {
		f, more, err := s.receiver.take()
		if err != nil || f != nil && (f.response.Final || f.failure != "") {
			return true
		}
		if more {
			continue
		}
		select {
		case <-s.receiver.wakes():
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
