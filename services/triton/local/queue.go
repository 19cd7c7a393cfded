//go:build cgo && linux

package local

/*
#include "trace.h"
*/
import "C"

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/trident-inference/trident/services/triton/extension"
)

// queue passes the responses from Triton's threads to the streams. The shim's
// callbacks add them to a list, and one goroutine dispatches them.
type queue struct {
	c    *C.tr_queue
	wake *os.File
	done chan struct{} // closed when the goroutine has ended

	traced func(*C.tr_trace) // receives a trace that has ended
	limit  int64             // maximum of waits, in bytes
	waits  atomic.Int64      // number of bytes of the events that consumers haven't released
	last   atomic.Uint64     // number of the latest stream

	mu      sync.Mutex
	streams map[uint64]*stream
	leases  map[uint64][]*extension.Lease // leases of shared memory, keyed by stream id; the stream may have ended
	closing bool
}

func newQueue(limit int64, traced func(*C.tr_trace)) (*queue, error) {
	var c *C.tr_queue
	if err := failure(C.tr_queue_new(&c)); err != nil {
		return nil, fmt.Errorf("create the queue of responses: %w", err)
	}
	file := os.NewFile(uintptr(c.wake), "eventfd") // non-blocking, so the runtime's poller waits for it
	wake, err := file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("create the queue of responses: %w", err)
	}
	q := &queue{
		c:       c,
		wake:    file,
		done:    make(chan struct{}),
		traced:  traced,
		limit:   limit,
		streams: make(map[uint64]*stream),
		leases:  make(map[uint64][]*extension.Lease),
	}
	go q.drain(wake)
	return q, nil
}

// close frees the queue. The caller must make sure that no callback follows: a
// late one would write to freed memory, and to an eventfd whose number may belong
// to another file. Otherwise the queue and its goroutine must be kept.
func (q *queue) close() {
	_ = q.wake.Close()
	<-q.done
	q.c.wake = -1                                              // an end of a trace must not write to another file
	for left := q.takeAll(); left != nil; left = q.takeAll() { // freed responses may end a trace
		q.dispatch(left)
	}
	C.tr_queue_delete(q.c)
}

// drain dispatches the waiting events after each write to the eventfd, until the
// eventfd is closed. It never reads the eventfd: the runtime's poller reports each
// write regardless of the counter. The counter takes practically forever to
// overflow.
func (q *queue) drain(wake syscall.RawConn) {
	defer close(q.done)
	_ = wake.Read(func(uintptr) bool {
		for list := q.takeAll(); list != nil; list = q.takeAll() {
			q.dispatch(list)
		}
		return false // Read calls this again after the next write
	})
}

// takeAll empties the list and returns its events, oldest first.
func (q *queue) takeAll() *C.tr_event {
	head := (*unsafe.Pointer)(unsafe.Pointer(&q.c.head))
	newest := (*C.tr_event)(atomic.SwapPointer(head, nil))
	var list *C.tr_event
	for newest != nil {
		newest, newest.next, list = newest.next, list, newest
	}
	return list
}

// dispatch passes the events to their streams. It drops the events of streams
// that have ended.
func (q *queue) dispatch(list *C.tr_event) {
	var lost *C.tr_event
	var ended []*extension.Lease
	var added int64
	q.mu.Lock()
	for list != nil {
		event := list
		list, event.next = event.next, nil
		if event.gone {
			ended = append(ended, q.leases[uint64(event.stream)]...)
			delete(q.leases, uint64(event.stream))
			event.next, lost = lost, event
			continue
		}
		s, size := q.streams[uint64(event.stream)], int64(event.bytes) // after push the stream owns the event
		if s != nil && s.push(event) {
			added += size
		} else {
			event.next, lost = lost, event
		}
	}
	if q.waits.Add(added) > q.limit {
		q.endLargest()
	}
	q.mu.Unlock()
	release(ended)
	if lost != nil {
		q.drop(lost)
	}
}

// hold keeps the leases of a request until Triton doesn't use the memory any
// more, which may be after the stream's end.
func (q *queue) hold(stream uint64, leases []*extension.Lease) {
	if len(leases) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.leases[stream] = leases
}

// endLargest ends the streams with the most waiting bytes, until the total is within
// the limit or no stream has responses waiting behind another one.
func (q *queue) endLargest() {
	for q.waits.Load() > q.limit {
		var slowest *stream
		most := int64(0)
		for _, s := range q.streams {
			if waiting := s.backlog(); waiting > most {
				slowest, most = s, waiting
			}
		}
		if slowest == nil {
			return
		}
		slowest.overflow()
	}
}

// drop frees events that no stream receives. It passes on the traces in them.
func (q *queue) drop(list *C.tr_event) {
	for event := list; event != nil; event = event.next {
		if event.trace != nil {
			q.traced(event.trace)
		}
	}
	C.tr_events_free(q.c, list)
}

// number returns a unique number for a stream and its events.
func (q *queue) number() uint64 { return q.last.Add(1) }

// add registers a stream for its events. It returns false if the queue is
// closing.
func (q *queue) add(s *stream) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closing {
		q.streams[s.id] = s
	}
	return !q.closing
}

func (q *queue) remove(s *stream) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.streams, s.id)
}

// cancelAll ends all streams with the cause. The queue accepts no further
// streams.
func (q *queue) cancelAll(cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closing = true
	for _, s := range q.streams {
		s.stop(cause)
	}
}

// fail ends the streams of some models with the cause and returns their number.
func (q *queue) fail(models []string, cause error) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	failed := 0
	for _, s := range q.streams {
		if slices.Contains(models, s.model) {
			s.stop(cause)
			failed++
		}
	}
	return failed
}

// responded reports whether a model has sent a response since the previous call.
func (q *queue) responded(model string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	responded := false
	for _, s := range q.streams {
		if s.model == model && s.responded {
			responded, s.responded = true, false
		}
	}
	return responded
}

// requests returns the number of requests that Triton or a stream holds.
func (q *queue) requests() int64 {
	return atomic.LoadInt64((*int64)(unsafe.Pointer(&q.c.requests)))
}

// live returns the number of the shim's objects: requests, events and output
// buffers.
func (q *queue) live() int64 {
	events := atomic.LoadInt64((*int64)(unsafe.Pointer(&q.c.events)))
	buffers := atomic.LoadInt64((*int64)(unsafe.Pointer(&q.c.buffers)))
	return q.requests() + events + buffers
}
