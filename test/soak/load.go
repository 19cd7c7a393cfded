package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trident-inference/trident/test/pause"
)

// Models of the load. One counts slowly. The other counts as fast as possible, regardless of slow
// readers.
const (
	steady = "steady"
	flood  = "flood"
)

// Kinds of requests, by their names in the tables.
const (
	kindChat    = "chat, streamed"
	kindSlow    = "chat, streamed, read slowly"
	kindFlood   = "chat, 1,500 tokens, read slowly"
	kindLeaving = "chat, streamed, left"
	kindWhole   = "chat, whole"
	kindTyped   = "typed Connect, streamed"
	kindKServe  = "KServe gRPC, streamed"
	kindPython  = "KServe gRPC, Python model"
)

const (
	pace   = 500 * time.Millisecond // pause between two tokens of the steady model
	tokens = 12
	// fewTokens is the number of tokens of a non-streaming response. Its model sends nothing
	// before the end, and the time up to the end must not reach the inactivity timeout.
	fewTokens  = 6
	floodPace  = 2 * time.Millisecond
	floods     = 1500 // number of tokens of a response of the flood model
	slowPause  = 700 * time.Millisecond
	floodPause = 2 * time.Millisecond
	retryPause = time.Second // pause of a client after an error
	inactivity = 5 * time.Second
	// slack is the delay of a busy machine beyond the duration of the slowest request.
	slack = 15 * time.Second
	// longest is the duration of the slowest request: a response that stalls just before its end.
	longest = tokens*slowPause + 2*inactivity + slack
)

// kind is one kind of request that the soak test sends, with its share of the concurrent streams.
type kind struct {
	name  string
	share int // number of streams of this kind among 100 streams
	ask   func(ctx context.Context, c *clients, r *request) error
}

func kinds() []kind {
	nothing := func(int) error { return nil }
	return []kind{
		{kindChat, 57, func(ctx context.Context, c *clients, r *request) error {
			return c.events(ctx, steady, r, tokens, nothing)
		}},
		{kindSlow, 10, func(ctx context.Context, c *clients, r *request) error {
			return c.events(ctx, steady, r, tokens, func(int) error { return pause.For(ctx, slowPause) })
		}},
		{kindLeaving, 12, func(ctx context.Context, c *clients, r *request) error {
			at := rand.IntN(tokens - 2) //nolint:gosec // any will do
			return c.events(ctx, steady, r, tokens, func(piece int) error {
				if piece >= 2*at {
					return errLeaves
				}
				return nil
			})
		}},
		{kindWhole, 6, func(ctx context.Context, c *clients, r *request) error {
			return c.whole(ctx, steady, r, fewTokens)
		}},
		{kindTyped, 5, func(ctx context.Context, c *clients, r *request) error {
			return c.typed(ctx, steady, r, tokens)
		}},
		{kindKServe, 5, func(ctx context.Context, c *clients, r *request) error {
			return c.counted(ctx, steady, r, tokens)
		}},
		{kindPython, 5, func(ctx context.Context, c *clients, r *request) error {
			return c.numbered(ctx, r, tokens, pace)
		}},
		{kindFlood, 0, func(ctx context.Context, c *clients, r *request) error {
			return c.events(ctx, flood, r, floods, func(int) error { return pause.For(ctx, floodPause) })
		}},
	}
}

// reading returns the time in which a reader of the given kind reads everything before an error.
func reading(kind string) time.Duration {
	if kind == kindSlow || kind == kindFlood {
		return tokens * slowPause
	}
	return 0
}

// names returns the kinds that always have requests.
func names() []string {
	var all []string
	for _, k := range kinds() {
		if k.name != kindLeaving { // whose requests have no response
			all = append(all, k.name)
		}
	}
	return all
}

// sample is a finished request, as [load.note] gets it.
type sample struct {
	kind            kind
	name            string
	from, first, to time.Time // start, first text of the response (zero without any), and end
	ending          *ending
}

// failure returns the sample of a failed request as the ledger has it.
func (s sample) failure() *failed {
	return &failed{kind: s.kind.name, name: s.name, from: s.from, to: s.to, ending: s.ending}
}

// A load keeps a number of requests in flight until the load is stopped.
type load struct {
	ledger *ledger
	target *atomic.Pointer[clients]
	note   func(sample) // gets each finished request, concurrently; may be nil

	leaving atomic.Pointer[clientGroup]
	ending  chan struct{}
	workers sync.WaitGroup
}

// startLoad starts a load of all kinds of requests.
func startLoad(ctx context.Context, l *ledger, target *atomic.Pointer[clients], streams int) *load {
	w := &load{ledger: l, target: target}
	w.start(ctx, kinds(), streams)
	return w
}

// start starts the load. The streams begin over some seconds, as users' requests do.
func (w *load) start(ctx context.Context, kinds []kind, streams int) {
	w.ending = make(chan struct{})
	w.leaving.Store(newClientGroup())
	worker := 0
	for _, k := range kinds {
		for range max(k.share*streams/100, 2) {
			number := worker
			w.workers.Go(func() { w.work(ctx, k, number) })
			worker++
		}
	}
}

// clientGroup is a group of clients that disconnect together.
type clientGroup struct {
	here       context.Context //nolint:containedctx // it ends when they leave
	disconnect context.CancelFunc
}

func newClientGroup() *clientGroup {
	here, disconnect := context.WithCancel(context.Background())
	return &clientGroup{here: here, disconnect: disconnect}
}

// dismiss disconnects all clients at once.
func (w *load) dismiss() { w.leaving.Swap(newClientGroup()).disconnect() }

// stop waits until the requests in flight have ended.
func (w *load) stop() {
	close(w.ending)
	w.workers.Wait()
	w.leaving.Load().disconnect()
}

func (w *load) work(ctx context.Context, k kind, worker int) {
	wait := time.Duration(rand.Int64N(int64(tokens * pace))) //nolint:gosec // any will do
	before := ""
	for i := 0; w.rest(ctx, wait); i++ {
		wait = 0
		r := &request{worker: worker, name: fmt.Sprintf("w%d.%d", worker, i), before: before}
		err := w.once(ctx, k, r)
		if before = r.brief(); err != nil {
			wait = retryPause/2 + time.Duration(rand.Int64N(int64(retryPause))) //nolint:gosec // any will do
		}
	}
}

// rest waits, and reports whether to continue.
func (w *load) rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-w.ending:
		return false
	case <-ctx.Done():
		return false
	case <-timer.C:
		select {
		case <-w.ending:
			return false
		default:
			return true
		}
	}
}

func (w *load) once(ctx context.Context, k kind, r *request) error {
	ctx, cancel := context.WithTimeoutCause(ctx, longest, errLate)
	defer cancel()
	together := w.leaving.Load().here
	defer context.AfterFunc(together, cancel)() //nolint:contextcheck // both end it
	done, from := w.ledger.begin(k.name, r.name), time.Now()
	err := k.ask(ctx, w.target.Load(), r)
	if ended := (*ending)(nil); err != nil && errors.Is(context.Cause(ctx), errLate) && !errors.As(err, &ended) {
		err = &ending{how: late, err: fmt.Errorf("the request didn't end within %s", longest)}
	}
	if endingOf(err).how == cutOff && together.Err() != nil {
		err = errLeaves
	}
	done(err)
	if w.note != nil {
		w.note(sample{kind: k, name: r.name, from: from, first: r.first, to: time.Now(), ending: endingOf(err)})
	}
	if errors.Is(err, errLeaves) {
		return nil
	}
	return err
}

var errLate = errors.New("the request took longer than its limit")
