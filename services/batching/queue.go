// Package batching cuts the inputs of all waiting requests to one model into batches of similar
// lengths. A [Queue] holds the inputs that wait for a model. A [Request] has the inputs of one client.
// What an input is, and how a batch is sent, belongs to the callers: see package serving.
package batching

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

// Config describes how one model takes batches.
type Config struct {
	// InFlight is the maximum number of batches that the model runs at once, at least 1.
	InFlight int
	// MaxItems is the maximum number of items of a batch. 0 means no maximum.
	MaxItems int
	// MaxLength is the maximum length of a batch: its number of items times the padded length of the
	// longest. A single item may be longer. 0 means no maximum.
	MaxLength int
	// Preferred are numbers of items that the model prefers, in any order. The largest one is a maximum.
	// A batch has fewer items than the smallest one only if no further items of similar lengths wait.
	Preferred []int
	// Pad returns the length to which the model pads an item of a length, which isn't below it. Nil means
	// that items are padded to the longest one of their batch alone.
	Pad func(length int) int
	// MaxWaiting is the maximum length of all waiting items together. 0 means no maximum. A single
	// request may exceed it if no other is waiting.
	MaxWaiting int
	// Delay is the time that an item waits for more items while the model is free. 0 sends it at once.
	Delay time.Duration
	// Run runs a batch, which has at least one item, and writes the items' results. The error is the
	// result of all items. The context ends when no request waits for the batch any more.
	Run func(ctx context.Context, items []*Item) error
}

// Item is one input that waits for the model.
type Item struct {
	// Length is the size of the input for the model, such as its number of tokens. It is at least 1.
	Length int
	// Value is the caller's own.
	Value any

	request    *Request
	padded     int   // length to which the model pads the item
	prev, next *Item // neighbors of the same length, oldest first; nil unless the item waits
	waits      bool
	added      time.Time
}

// Queue has the waiting items of one model. Its methods may be called concurrently. It has no
// goroutine while nothing runs.
type Queue struct {
	config Config

	mu      sync.Mutex
	waiting pool
	turns   []*Request // requests with waiting items; the first one is served next
	running int        // number of batches
	timer   *time.Timer
	figures Figures
}

// Figures are counts of a queue since its start.
type Figures struct {
	Batches, Items uint64
	// Length is the length of all items that were sent, and Padded that of their batches.
	Length, Padded uint64
	// Waiting is the number of items that wait now, and Running that of batches that run.
	Waiting, Running int
}

// New returns an empty queue.
func New(config Config) *Queue {
	config.Preferred = slices.DeleteFunc(slices.Clone(config.Preferred), func(n int) bool {
		return n < 1 || config.MaxItems > 0 && n > config.MaxItems
	})
	slices.Sort(config.Preferred)
	if n := len(config.Preferred); n > 0 {
		config.MaxItems = config.Preferred[n-1]
	}
	return &Queue{config: config}
}

// Figures returns the counts.
func (q *Queue) Figures() Figures {
	q.mu.Lock()
	defer q.mu.Unlock()
	f := q.figures
	f.Waiting, f.Running = q.waiting.count, q.running
	return f
}

// Request has the items of one client. Only one goroutine may use it.
type Request struct {
	queue *Queue
	ctx   context.Context //nolint:containedctx // the request's own context
	base  context.Context //nolint:containedctx // the values of ctx, such as its span, for batches, which don't end with it

	// The queue's mutex protects the fields below.
	items   []*Item // waiting items; those that were sent are removed lazily
	pending int     // number of items without a result
	sent    []*batch
	err     error
	closed  bool
	done    chan struct{} // closed when no item is pending after Close, or at the first error
	ended   bool          // done is closed
	turn    bool          // the request is in the queue's turns
}

// batch has the items of one call of Config.Run.
type batch struct {
	items  []*Item
	live   int // number of requests that wait for it
	cancel context.CancelFunc
	done   chan struct{}
}

// Begin returns a request without items. The caller must call Wait.
func (q *Queue) Begin(ctx context.Context) *Request {
	return &Request{queue: q, ctx: ctx, base: context.WithoutCancel(ctx), done: make(chan struct{})}
}

// Add adds items, which may be sent at once. It returns an error, and adds nothing, if the queue is
// full. It has no effect after an item's error.
func (r *Request) Add(items ...*Item) error {
	q := r.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if r.err != nil {
		return nil // Wait returns the error
	}
	length := 0
	for _, item := range items {
		q.measure(item)
		length += item.Length
	}
	if most := q.config.MaxWaiting; most > 0 && q.waiting.length > 0 && q.waiting.length+length > most && !q.only(r) {
		return &inference.Error{
			Code: inference.CodeOverloaded, Reason: inference.ReasonOverloaded, RetryAfter: time.Second,
			Message: fmt.Sprintf("the queue of the model is full: %d tokens wait and the request has %d, but at most %d may wait", q.waiting.length, length, most),
		}
	}
	now := time.Now()
	for _, item := range items {
		item.request, item.added = r, now
		q.waiting.add(item)
	}
	r.items = append(r.items, items...)
	r.pending += len(items)
	if !r.turn && len(r.items) > 0 {
		r.turn = true
		q.turns = append(q.turns, r)
	}
	q.dispatch(now)
	return nil
}

// measure sets the lengths of an item.
func (q *Queue) measure(item *Item) {
	item.Length = max(item.Length, 1)
	item.padded = item.Length
	if q.config.Pad != nil {
		item.padded = max(item.Length, q.config.Pad(item.Length))
	}
}

// only reports whether no other request is waiting.
func (q *Queue) only(r *Request) bool {
	return len(q.turns) == 0 || len(q.turns) == 1 && q.turns[0] == r
}

// Wait waits until all items have their results, and returns the first error of an item or of the
// context. The other items then leave the queue, and a batch for which no other request waits is
// canceled. Wait returns when no batch of the request alone is running.
func (r *Request) Wait() error {
	q := r.queue
	q.mu.Lock()
	r.closed = true
	r.conclude()
	q.mu.Unlock()
	select {
	case <-r.done:
	case <-r.ctx.Done():
	}
	return r.leave()
}

// Cancel ends a request: Wait returns the error unless an item has failed before.
func (r *Request) Cancel(err error) {
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	if r.err == nil {
		r.err = err
		r.drop()
		r.conclude()
	}
}

// leave returns the error of the request, and withdraws what still waits or runs after an error.
func (r *Request) leave() error {
	q := r.queue
	q.mu.Lock()
	if r.err == nil && r.pending > 0 {
		r.err = context.Cause(r.ctx)
	}
	var alone []*batch
	if r.err != nil {
		alone = r.withdraw()
	}
	q.dispatch(time.Now())
	q.mu.Unlock()
	for _, b := range alone {
		<-b.done
	}
	return r.err
}

// withdraw removes the waiting items of a request that has failed, and returns its batches for which no
// other request waits.
func (r *Request) withdraw() []*batch {
	r.drop()
	var alone []*batch
	for _, b := range r.sent {
		b.live--
		if b.live == 0 {
			b.cancel()
			alone = append(alone, b)
		}
	}
	r.sent = nil
	return alone
}

// drop removes the request's waiting items from the queue.
func (r *Request) drop() {
	q := r.queue
	for _, item := range r.items {
		if item.waits {
			q.waiting.remove(item)
		}
	}
	r.items = nil
	q.pass(r)
}

// conclude closes done if the request has ended.
func (r *Request) conclude() {
	if !r.ended && (r.err != nil || r.closed && r.pending == 0) {
		r.ended = true
		close(r.done)
	}
}

// pass removes a request from the turns.
func (q *Queue) pass(r *Request) {
	if !r.turn {
		return
	}
	r.turn = false
	at := slices.Index(q.turns, r)
	q.turns = slices.Delete(q.turns, at, at+1)
}

// dispatch sends batches while the model is free and items wait.
func (q *Queue) dispatch(now time.Time) {
	for q.running < q.config.InFlight && len(q.turns) > 0 {
		r := q.turns[0]
		if r.ctx.Err() != nil { // the client has disconnected, and Wait will return
			r.drop()
			continue
		}
		anchor := r.longest()
		if anchor == nil { // others' batches took the rest
			q.pass(r)
			continue
		}
		items, full := q.cut(anchor)
		if wait := q.config.Delay - now.Sub(r.items[0].added); !full && wait > 0 {
			q.wake(wait)
			return
		}
		q.turns = append(slices.Delete(q.turns, 0, 1), r) // the other requests are served before its next item
		q.send(items)
	}
}

// longest returns the longest waiting item of a request, or nil.
func (r *Request) longest() *Item {
	r.items = slices.DeleteFunc(r.items, func(item *Item) bool { return !item.waits })
	if len(r.items) == 0 {
		return nil
	}
	return slices.MaxFunc(r.items, func(a, b *Item) int { return a.Length - b.Length })
}

// wake dispatches again after a time.
func (q *Queue) wake(after time.Duration) {
	if q.timer != nil {
		q.timer.Stop()
	}
	q.timer = time.AfterFunc(after, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.dispatch(time.Now())
	})
}

// send starts a batch of waiting items.
func (q *Queue) send(items []*Item) {
	longest := 0
	b := &batch{items: items, done: make(chan struct{})}
	for _, item := range items {
		q.waiting.remove(item)
		longest = max(longest, item.padded)
		q.figures.Length += uint64(item.Length)
		if sent := item.request.sent; len(sent) == 0 || sent[len(sent)-1] != b {
			item.request.sent = append(item.request.sent, b)
			b.live++
		}
	}
	q.figures.Batches++
	q.figures.Items += uint64(len(items))
	q.figures.Padded += uint64(longest * len(items))
	// The batch belongs to several requests, so that it ends with the last one. It has the values of
	// the first one's context, such as its span.
	ctx, cancel := context.WithCancel(items[0].request.base)
	b.cancel = cancel
	q.running++
	go q.run(ctx, b)
}

// run runs a batch. After an error the items of each request run once more without those of others:
// the input of one client must not fail the others.
func (q *Queue) run(ctx context.Context, b *batch) {
	defer b.cancel()
	groups := b.groups()
	err := q.try(ctx, b.items)
	for _, own := range groups {
		if err != nil && len(groups) > 1 && ctx.Err() == nil {
			if !q.waitedFor(own[0].request) {
				continue
			}
			q.finish(b, own, q.try(ctx, own))
			continue
		}
		q.finish(b, own, err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	close(b.done)
	q.running--
	q.dispatch(time.Now()) //nolint:contextcheck // a batch belongs to several requests, each of which has its own context
}

// groups returns the items by request.
func (b *batch) groups() [][]*Item {
	var groups [][]*Item
	of := map[*Request]int{}
	for _, item := range b.items {
		at, known := of[item.request]
		if !known {
			at = len(groups)
			of[item.request] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], item)
	}
	return groups
}

// waitedFor reports whether a request still waits: it hasn't failed, and its client hasn't disconnected.
func (q *Queue) waitedFor(r *Request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return r.err == nil
}

// try runs items, and returns a panic as an error.
func (q *Queue) try(ctx context.Context, items []*Item) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return q.config.Run(ctx, items)
}

// finish records the result of a request's items in a batch.
func (q *Queue) finish(b *batch, items []*Item, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := items[0].request
	if r.err != nil { // the request has failed, or its client has disconnected
		return
	}
	at := slices.Index(r.sent, b)
	r.sent = slices.Delete(r.sent, at, at+1)
	b.live--
	r.pending -= len(items)
	if r.err = err; err != nil {
		r.drop()
	}
	r.conclude()
}
