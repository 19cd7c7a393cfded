//go:build cgo && linux

package local

/*
#include "trace.h"
*/
import "C"

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
)

// Limits on the used responses that are kept until they are freed. They are freed in batches, to save
// calls into C.
const (
	usedEvents = 16
	usedBytes  = 64 << 10
)

// releaseTime is how long a stream waits after its last response until the
// model releases the request. Only then has Triton updated its statistics.
const releaseTime = 20 * time.Millisecond

// stream is one request in progress. The queue's goroutine pushes its events,
// and the goroutine that iterates takes them.
type stream struct {
	core      *core
	id        uint64
	model     string
	request   *C.tr_request
	req       *kserve.ModelInferRequest
	extras    *extras // extensions that the request asks for, or nil
	limit     int64   // maximum of waiting, in bytes
	responded bool    // a response arrived since the last [queue.responded]; guarded by the queue's mutex

	readable chan struct{} // receives a token when an event or an end needs attention
	waiting  atomic.Int64  // number of bytes of the events that the consumer hasn't released
	mu       sync.Mutex
	over     bool        // too many bytes have waited; used by the queue's goroutine only
	first    *C.tr_event // oldest pushed event that isn't taken; guarded by mu
	last     *C.tr_event // newest such event; guarded by mu
	released bool        // the model has released the request, if that was awaited; guarded by mu

	cause    atomic.Pointer[error] // reason why the engine ends the stream; nil until then
	followed atomic.Bool           // an end must cancel the request, because the consumer may be busy
	leaving  sync.WaitGroup        // goroutines that cancel the request

	// The consumer's goroutine uses these fields.
	forwards  bool // errors of the model are passed on as responses
	asks      bool // client and service are set; they are closed when the context ends
	client    <-chan struct{}
	service   <-chan struct{}
	unfollow  func() bool // ends [stream.follow]; nil before follow starts
	batch     *C.tr_event // taken events that aren't yielded yet
	current   *C.tr_event // event that is yielded
	used      *C.tr_event // events to free
	uses      int         // number of used events
	useBytes  int
	ended     bool // the final event has been yielded
	version   C.int64_t
	idleTimer triton.IdleTimer
	response  inference.Response
	output    [1]inference.Output // most models have one output
	idle      inference.Response
}

// Stream implements [inference.Engine]. It copies the request's tensors once.
// The responses are views of Triton's memory. When Stream returns, the request
// has ended or has been cancelled. A model that detects the cancellation late
// keeps its copy until then.
func (e *Engine) Stream(ctx context.Context, req *kserve.ModelInferRequest) iter.Seq2[*inference.Response, error] {
	return e.stream(ctx, req, inference.Contents(req.GetRawInputContents()), false)
}

// Forward implements [inference.Forwarder].
func (e *Engine) Forward(ctx context.Context, req *inference.InferRequest) iter.Seq2[*inference.Response, error] {
	decoded, raw, err := req.Split()
	if err != nil {
		return func(yield func(*inference.Response, error) bool) { yield(nil, err) }
	}
	return e.stream(ctx, decoded, raw, true)
}

func (e *Engine) stream(ctx context.Context, req *kserve.ModelInferRequest, raw []inference.Content, forwards bool) iter.Seq2[*inference.Response, error] {
	return func(yield func(*inference.Response, error) bool) {
		if ctx.Err() != nil {
			yield(nil, triton.Ended(ctx, ctx.Err()))
			return
		}
		c, err := e.enter()
		if err != nil {
			yield(nil, err)
			return
		}
		defer c.users.Done()
		s, err := c.send(ctx, req, raw)
		if err != nil {
			yield(nil, err)
			return
		}
		inference.Sent(ctx)
		s.forwards = forwards
		defer s.close()
		s.deliver(ctx, yield)
	}
}

// send sends the request to Triton.
func (c *core) send(ctx context.Context, req *kserve.ModelInferRequest, raw []inference.Content) (*stream, error) {
	if err := c.health.check(req.GetModelName()); err != nil {
		return nil, err
	}
	s := &stream{
		core:     c,
		id:       c.queue.number(),
		req:      req,
		model:    req.GetModelName(),
		limit:    int64(c.config.QueueBytes),
		readable: make(chan struct{}, 1),
		response: inference.Response{ID: req.GetId()},
		idle:     inference.Response{ID: req.GetId(), Idle: true},
	}
	s.response.Outputs = s.output[:0]
	var err error
	if s.request, s.extras, err = c.newRequest(s.id, req, raw); err != nil {
		return nil, err
	}
	if !c.queue.add(s) {
		C.tr_request_unref(s.request)
		return nil, errStopped
	}
	if err := failure(C.tr_request_send(c.server, s.request, c.tracer.begin(ctx, c.queue, req.GetModelName()))); err != nil {
		c.queue.remove(s)
		C.tr_request_unref(s.request)
		return nil, err
	}
	c.idleTimers.Watch(&s.idleTimer, s.readable, s.stop, nil)
	return s, nil
}

// stop ends the stream with a cause of the engine. Only the first cause applies. stop
// doesn't block. It must not be called after the queue and the clock have removed the
// stream.
func (s *stream) stop(cause error) {
	if !s.cause.CompareAndSwap(nil, &cause) {
		return
	}
	s.wake()
	if s.followed.Load() {
		s.leaving.Go(s.abandon)
	}
}

// abandon cancels the request in the model.
func (s *stream) abandon() { C.tr_request_cancel(s.request) }

// follow makes an end of the stream cancel the request even if the consumer is busy. It
// isn't needed while the consumer waits for a response, because the consumer then
// detects the end itself. So requests with one response, which are the most frequent,
// avoid its cost.
func (s *stream) follow(ctx context.Context) {
	if s.unfollow != nil {
		return
	}
	s.leaving.Add(1)
	s.unfollow = context.AfterFunc(ctx, func() {
		defer s.leaving.Done()
		s.abandon()
		s.wake()
	})
	s.followed.Store(true)
	if s.cause.Load() != nil { // stop was called just before
		s.abandon()
	}
}

// close ends the stream and cancels a request that hasn't ended.
func (s *stream) close() {
	s.idleTimer.Stop()
	s.awaitRelease()
	if s.unfollow != nil && s.unfollow() {
		s.leaving.Done()
	}
	s.core.queue.remove(s)
	s.leaving.Wait()
	if !s.ended {
		s.abandon()
	}
	C.tr_request_unref(s.request)
	s.retire()
	s.free()
	s.core.queue.waits.Add(-s.waiting.Load())
	for _, list := range [...]*C.tr_event{s.batch, s.first} { // the consumer didn't take these events
		if list != nil {
			C.tr_events_free(s.core.queue.c, list)
		}
	}
}

// awaitRelease waits up to releaseTime until an ended request is released.
func (s *stream) awaitRelease() {
	if !s.ended || !bool(C.tr_request_await(s.request)) {
		return
	}
	late := time.NewTimer(releaseTime)
	defer late.Stop()
	for !s.isReleased() {
		select {
		case <-s.readable:
		case <-late.C:
			return
		}
	}
}

func (s *stream) isReleased() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.released
}

// push queues an event, or records a release. If the stream has too many
// waiting bytes, push returns false and ends the stream.
func (s *stream) push(event *C.tr_event) bool {
	if event.released {
		s.mu.Lock()
		s.released = true
		s.mu.Unlock()
		s.wake()
		return false
	}
	if s.over {
		return false
	}
	s.responded = true
	waiting := s.waiting.Add(int64(event.bytes))
	if waiting > s.limit && waiting > int64(event.bytes) {
		s.waiting.Add(-int64(event.bytes))
		s.overflow()
		return false
	}
	s.mu.Lock()
	empty := s.first == nil
	if empty {
		s.first = event
	} else {
		s.last.next = event
	}
	s.last = event
	s.mu.Unlock()
	if empty {
		s.wake()
	}
	return true
}

// wake wakes the consumer.
func (s *stream) wake() {
	select {
	case s.readable <- struct{}{}:
	default:
	}
}

// backlog returns the waiting bytes if more than one response waits. For a
// consumer that keeps up it returns 0.
func (s *stream) backlog() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == s.last {
		return 0
	}
	return s.waiting.Load()
}

// overflow ends the stream and frees its waiting events. The consumer may be
// blocked on a client and wouldn't free them soon.
func (s *stream) overflow() {
	s.over = true
	s.stop(errOverflow)
	s.mu.Lock()
	list := s.first
	s.first, s.last = nil, nil
	s.mu.Unlock()
	var size int64
	for event := list; event != nil; event = event.next {
		size += int64(event.bytes)
	}
	s.waiting.Add(-size)
	s.core.queue.waits.Add(-size)
	C.tr_events_free(s.core.queue.c, list)
}

// deliver yields the responses. It ends after the final response, an error, or
// when the consumer stops.
func (s *stream) deliver(ctx context.Context, yield func(*inference.Response, error) bool) {
	for {
		response, err := s.next(ctx)
		if err != nil {
			s.core.health.ended(s, err)
			yield(nil, err)
			return
		}
		switch {
		case response.Err != nil:
			s.core.health.ended(s, response.Err)
		case response.Final:
			s.core.health.ended(s, nil)
		}
		if !response.Final {
			s.follow(ctx)
		}
		if !yield(response, nil) || response.Final {
			return
		}
	}
}

// next waits for the next response. It returns an idle response after each idle
// period.
func (s *stream) next(ctx context.Context) (*inference.Response, error) {
	s.retire()
	for {
		if cause := s.cause.Load(); cause != nil {
			return nil, triton.EndedBy(*cause)
		}
		if err := ctx.Err(); err != nil {
			return nil, triton.Ended(ctx, err)
		}
		if s.take() {
			s.idleTimer.End()
			return s.open()
		}
		s.free()
		if s.idleTimer.Idle() {
			return &s.idle, nil
		}
		s.idleTimer.Begin()
		s.wait(ctx)
	}
}

// wait waits for the queue, the clock, or an end.
func (s *stream) wait(ctx context.Context) {
	if s.unfollow != nil { // follow sends a token when the context ends
		<-s.readable
		return
	}
	if !s.asks {
		s.client, s.service = inference.Ends(ctx)
		s.asks = true
	}
	select {
	case <-s.readable:
	case <-s.client:
	case <-s.service:
	}
}

// take makes the next event the current one. It returns false if there is none.
func (s *stream) take() bool {
	if s.batch == nil {
		s.mu.Lock()
		s.batch, s.first, s.last = s.first, nil, nil
		s.mu.Unlock()
	}
	if s.batch == nil {
		return false
	}
	s.current, s.batch = s.batch, s.batch.next
	return true
}

// more reports whether another event is waiting.
func (s *stream) more() bool {
	if s.batch != nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first != nil
}

// retire adds the current event to the used events.
func (s *stream) retire() {
	if s.current == nil {
		return
	}
	s.waiting.Add(-int64(s.current.bytes))
	s.uses++
	s.useBytes += int(s.current.bytes)
	s.current.next, s.used, s.current = s.used, s.current, nil
	if s.uses >= usedEvents || s.useBytes >= usedBytes {
		s.free()
	}
}

// free frees the used events.
func (s *stream) free() {
	if s.used == nil {
		return
	}
	C.tr_events_free(s.core.queue.c, s.used)
	s.core.queue.waits.Add(-int64(s.useBytes))
	s.used, s.uses, s.useBytes = nil, 0, 0
}

// open makes the response a view of the current event.
func (s *stream) open() (*inference.Response, error) {
	event := s.current
	s.ended = bool(event.final)
	s.response.Err = nil
	if event.failure != nil {
		return s.fail(triton.FailureOf(codeOf(event.failure_code), C.GoString(event.failure)))
	}
	s.response.Owner = s
	s.response.Final = s.ended
	s.response.More = !s.ended && s.more()
	outputs := unsafe.Slice(event.outputs, event.count)
	s.view(outputs)
	if event.version != s.version {
		s.version, s.response.Version = event.version, ""
		if event.version > 0 {
			s.response.Version = strconv.FormatInt(int64(event.version), 10)
		}
	}
	s.response.Parameters = nil
	if event.parameter_count > 0 {
		var err error
		if s.response.Parameters, err = parametersOf(event); err != nil {
			return nil, err
		}
	}
	if s.extras != nil {
		if err := s.extend(s.req, s.extras, outputs); err != nil {
			return s.fail(inference.AsError(err))
		}
	}
	return &s.response, nil
}

// fail returns the error of a failed response, or passes the error on as a
// response.
func (s *stream) fail(err *inference.Error) (*inference.Response, error) {
	if !s.forwards {
		return nil, err
	}
	s.response = inference.Response{ID: s.response.ID, Version: s.response.Version, Outputs: s.response.Outputs[:0], Final: s.ended, Err: err}
	return &s.response, nil
}

// view makes the response's outputs views of the event's. Responses of a stream
// are similar, so most names equal those of the previous response and aren't
// copied.
func (s *stream) view(outputs []C.tr_output) {
	r := &s.response
	if len(outputs) > cap(r.Outputs) {
		r.Outputs = make([]inference.Output, len(outputs))
	}
	r.Outputs = r.Outputs[:len(outputs)]
	for i := range outputs {
		from, to := &outputs[i], &r.Outputs[i]
		if name := unsafe.String((*byte)(unsafe.Pointer(from.name)), from.name_size); name != to.Name {
			to.Name = strings.Clone(name)
		}
		to.Type = datatypeName(from.datatype)
		to.Shape = unsafe.Slice((*int64)(from.shape), from.dims)
		to.Raw = unsafe.Slice((*byte)(from.base), from.size)
	}
}
