package batching

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

// model records batches, and runs each for a second.
type model struct {
	mu      sync.Mutex
	batches [][]int // lengths of the items of each batch
	most    int     // highest number of batches at once
	running int
	ended   int // number of batches whose context ended
	fail    func(items []*Item) error
}

func (m *model) run(ctx context.Context, items []*Item) error {
	var lengths []int
	for _, item := range items {
		lengths = append(lengths, item.Length)
	}
	m.mu.Lock()
	m.batches = append(m.batches, lengths)
	m.running++
	m.most = max(m.most, m.running)
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.running--
	}()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		m.mu.Lock()
		defer m.mu.Unlock()
		m.ended++
		return ctx.Err()
	}
	if m.fail != nil {
		return m.fail(items)
	}
	return nil
}

func items(lengths ...int) []*Item {
	list := make([]*Item, len(lengths))
	for i, n := range lengths {
		list[i] = &Item{Length: n}
	}
	return list
}

// send runs a request with items of these lengths and returns its error.
func send(ctx context.Context, q *Queue, lengths ...int) error {
	r := q.Begin(ctx)
	if err := r.Add(items(lengths...)...); err != nil { //nolint:contextcheck // a batch belongs to several requests, each of which has its own context
		return err
	}
	return r.Wait() //nolint:contextcheck // a batch belongs to several requests, each of which has its own context
}

// sizes returns a Config.Pad for a model that takes these lengths.
func sizes(list ...int) func(int) int {
	return func(length int) int {
		for _, size := range list {
			if length <= size {
				return size
			}
		}
		return length
	}
}

// TestCut checks which of the waiting items form a batch.
func TestCut(t *testing.T) {
	for _, tt := range []struct {
		name    string
		config  Config
		waiting []int // the first one is the anchor
		want    []int
	}{
		{"the only item", Config{MaxLength: 1000}, []int{10}, []int{10}},
		{"similar lengths", Config{MaxLength: 10000}, []int{500, 100, 480, 510, 900}, []int{500, 510, 480}},
		{"the nearest first", Config{MaxItems: 3, MaxLength: 10000}, []int{500, 500, 501, 400, 600}, []int{500, 500, 501}},
		{"at most so many", Config{MaxItems: 2, MaxLength: 10000}, []int{500, 500, 500}, []int{500, 500}},
		{"at most so long", Config{MaxLength: 1500}, []int{500, 500, 500, 500}, []int{500, 500, 500}},
		{"one that is too long is alone", Config{MaxLength: 100}, []int{500, 500}, []int{500}},
		{"a longer one would exceed the maximum", Config{MaxLength: 1000}, []int{500, 501}, []int{500}},
		{"small batches may have padding", Config{MaxLength: 16384}, []int{20, 60, 100, 500}, []int{20, 60}},
		{"the preferred number", Config{MaxLength: 10000, Preferred: []int{4, 2}}, []int{500, 500, 499, 501, 502, 500}, []int{500, 500, 500, 499}},
		{"fewer than preferred", Config{MaxLength: 10000, Preferred: []int{8}}, []int{500, 500}, []int{500, 500}},
		{"the largest preferred number is a maximum", Config{MaxItems: 32, MaxLength: 10000, Preferred: []int{2, 3}}, []int{500, 500, 500, 500, 500}, []int{500, 500, 500}},
		{"preferred numbers that the model can't take", Config{MaxItems: 3, MaxLength: 10000, Preferred: []int{0, 4, 8}}, []int{500, 500, 500, 500}, []int{500, 500, 500}},
		{"lengths that are padded alike", Config{MaxLength: 10000, Pad: sizes(64, 512)}, []int{300, 100, 64, 512, 65, 20}, []int{300, 100, 512, 65}},
		{"padding is a part of the maximum", Config{MaxLength: 1024, Pad: sizes(64, 512)}, []int{65, 70, 80}, []int{65, 70}},
		{"an item beyond all sizes", Config{MaxLength: 10000, Pad: sizes(64, 512)}, []int{600, 512, 598}, []int{600, 598, 512}},
		{"beyond the exact lengths", Config{MaxLength: 1 << 17}, []int{9000, 8990, 5000, 200_000, 2_000_000}, []int{9000, 8990}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := New(tt.config)
			waiting := items(tt.waiting...)
			for _, item := range waiting {
				q.measure(item)
				q.waiting.add(item)
			}
			cut, _ := q.cut(waiting[0])
			var got []int
			for _, item := range cut {
				got = append(got, item.Length)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			for _, item := range waiting {
				q.waiting.remove(item)
			}
			if q.waiting.count != 0 || q.waiting.length != 0 {
				t.Errorf("%d items of length %d are left", q.waiting.count, q.waiting.length)
			}
		})
	}
}

// TestBatches checks that items wait while the model is busy, and are then sent together, and that one
// request's items don't delay those of another.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		q := New(Config{InFlight: 1, MaxItems: 4, MaxLength: 1000, Run: m.run})
		var all sync.WaitGroup
		start := time.Now()
		all.Go(func() {
			if err := send(t.Context(), q, slices.Repeat([]int{10}, 12)...); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if err := send(t.Context(), q, 200); err != nil || time.Since(start) > 3*time.Second {
				t.Errorf("the second request ended after %v with %v", time.Since(start), err)
			}
		})
		synctest.Wait()
		if f := q.Figures(); f.Waiting != 9 || f.Running != 1 {
			t.Errorf("figures %+v", f)
		}
		all.Wait()
		if got := fmt.Sprint(m.batches); got != "[[10 10 10 10] [10 10 10 10] [200] [10 10 10 10]]" && got != "[[10 10 10 10] [200] [10 10 10 10] [10 10 10 10]]" {
			t.Errorf("batches %s", got)
		}
		if f := q.Figures(); f.Batches != 4 || f.Items != 13 || f.Length != 320 || f.Padded != 320 || f.Waiting != 0 || f.Running != 0 {
			t.Errorf("figures %+v", f)
		}
	})
}

// TestInFlight checks that as many batches run as the model has instances.
func TestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		q := New(Config{InFlight: 3, MaxItems: 1, Run: m.run})
		if err := send(t.Context(), q, slices.Repeat([]int{1}, 7)...); err != nil || m.most != 3 || len(m.batches) != 7 {
			t.Errorf("%d batches, %d at once: %v", len(m.batches), m.most, err)
		}
	})
}

// TestDelay checks that an item waits for others until the delay has passed or the batch is full.
func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		q := New(Config{InFlight: 1, MaxItems: 2, Delay: time.Minute, Run: m.run})
		start := time.Now()
		if err := send(t.Context(), q, 10); err != nil || time.Since(start) != time.Minute+time.Second {
			t.Errorf("alone: %v, %v", time.Since(start), err)
		}
		start = time.Now()
		if err := send(t.Context(), q, 10, 10); err != nil || time.Since(start) != time.Second {
			t.Errorf("full: %v, %v", time.Since(start), err)
		}
	})
}

// TestFigures checks that the padded length includes what the model pads each item to.
func TestFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		q := New(Config{InFlight: 1, Preferred: []int{2}, Pad: sizes(64, 512), Run: m.run})
		if err := send(t.Context(), q, 10, 60, 65, 400, 5); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(m.batches); got != "[[400 65] [60 10] [5]]" {
			t.Errorf("batches %s", got)
		}
		if f := q.Figures(); f.Length != 540 || f.Padded != 2*512+2*64+64 {
			t.Errorf("figures %+v", f)
		}
	})
}

// TestLeaving checks that the items of a client that disconnects leave the queue, and that a batch is
// canceled once no client waits for it.
func TestLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		q := New(Config{InFlight: 1, MaxItems: 2, Run: m.run})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 2 { // the items of the first one run, and those of the second one wait
			all.Go(func() {
				if err := send(ctx, q, 1, 1); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			})
		}
		synctest.Wait()
		cancel()
		all.Wait()
		if f := q.Figures(); f.Waiting != 0 || f.Running != 0 || m.ended != 1 || len(m.batches) != 1 {
			t.Errorf("figures %+v, %d of %d batches were canceled", f, m.ended, len(m.batches))
		}
	})
}

// TestOthersStay checks that a batch continues while one of its requests waits for it.
func TestOthersStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		q := New(Config{InFlight: 1, MaxItems: 3, Run: m.run})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = send(t.Context(), q, 9) }) // occupies the model
		synctest.Wait()
		all.Go(func() {
			if err := send(ctx, q, 1); !errors.Is(err, context.Canceled) {
				t.Errorf("the client that disconnected got %v", err)
			}
		})
		all.Go(func() {
			if err := send(t.Context(), q, 1); err != nil {
				t.Errorf("the other client got %v", err)
			}
		})
		<-time.After(1500 * time.Millisecond) // the second batch runs
		cancel()
		all.Wait()
		if m.ended != 0 || len(m.batches) != 2 {
			t.Errorf("batches %v, %d were canceled", m.batches, m.ended)
		}
	})
}

// TestErrors checks that the error of one client's item doesn't fail another client's, and that it ends
// the rest of its own request.
func TestErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		m := &model{fail: func(items []*Item) error {
			for _, item := range items {
				switch item.Length {
				case 13:
					return broken
				case 14:
					panic("at the disco")
				}
			}
			return nil
		}}
		q := New(Config{InFlight: 1, MaxItems: 3, Run: m.run})
		var all sync.WaitGroup
		all.Go(func() { _ = send(t.Context(), q, 9) })
		synctest.Wait()
		for _, tt := range []struct {
			length int
			want   string
		}{{12, ""}, {13, "broken"}, {14, "panic: at the disco"}} {
			all.Go(func() {
				err := send(t.Context(), q, tt.length)
				if tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error()[:len(tt.want)] != tt.want) {
					t.Errorf("%d got %v", tt.length, err)
				}
			})
		}
		all.Wait()
		before := len(m.batches)
		if err := send(t.Context(), q, 13, 1, 1, 1, 1, 1, 1); !errors.Is(err, broken) || len(m.batches) != before+1 {
			t.Errorf("after %d batches: %v", len(m.batches)-before, err)
		}
	})
}

// TestFull checks that the length of the waiting items is bounded, except for a single request.
func TestFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		q := New(Config{InFlight: 1, MaxItems: 1, MaxWaiting: 100, Run: m.run})
		var all sync.WaitGroup
		all.Go(func() {
			if err := send(t.Context(), q, 1, 90, 90); err != nil {
				t.Errorf("a large request got %v", err)
			}
		})
		synctest.Wait()
		var e *inference.Error
		if err := send(t.Context(), q, 50); !errors.As(err, &e) || e.Code != inference.CodeOverloaded ||
			e.Message != "the queue of the model is full: 91 tokens wait and the request has 50, but at most 100 may wait" {
			t.Errorf("got %v", err)
		}
		all.Wait()
		if err := send(t.Context(), q, 50); err != nil {
			t.Errorf("later: %v", err)
		}
	})
}

// TestAddInParts checks a request that adds items while others run, and one without items.
func TestAddInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		q := New(Config{InFlight: 1, MaxItems: 8, Run: m.run})
		r := q.Begin(t.Context())
		for range 3 {
			if err := r.Add(items(1, 1)...); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute)
		}
		if err := r.Wait(); err != nil || len(m.batches) != 3 {
			t.Errorf("%d batches, %v", len(m.batches), err)
		}
		if err := q.Begin(t.Context()).Wait(); err != nil {
			t.Errorf("no items: %v", err)
		}
	})
}

// TestPadding checks the padding of clients whose texts have lengths from 16 to 512, log-uniformly.
func TestPadding(t *testing.T) {
	for _, clients := range []int{16, 64, 256} {
		synctest.Test(t, func(t *testing.T) {
			m := &model{}
			q := New(Config{InFlight: 1, MaxItems: 32, MaxLength: 16384, Run: m.run})
			random := rand.New(rand.NewPCG(1, 2))
			var all sync.WaitGroup
			for range clients {
				lengths := make([]int, 8)
				for i := range lengths {
					lengths[i] = int(16 * math.Pow(32, random.Float64()))
				}
				all.Go(func() {
					for _, n := range lengths {
						if err := send(t.Context(), q, n); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			f := q.Figures()
			if padding := float64(f.Padded-f.Length) / float64(f.Padded); f.Items != uint64(8*clients) || padding > 0.1 || f.Batches*5 > f.Items*2 {
				t.Errorf("%d clients: %.3f of the tokens are padding, %d items in %d batches", clients, padding, f.Items, f.Batches)
			}
		})
	}
}

// BenchmarkQueue measures the queue's work for one item, with 10,000 waiting ones. Compare it with the
// time that a model takes for a text.
func BenchmarkQueue(b *testing.B) {
	q := New(Config{InFlight: 1, MaxItems: 64, MaxLength: 16384, Run: func(context.Context, []*Item) error { return nil }})
	random := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for n := b.N; n > 0; {
		r := q.Begin(b.Context())
		part := min(n, 10_000)
		list := make([]*Item, part)
		for i := range list {
			list[i] = &Item{Length: 16 + random.IntN(496)}
		}
		if err := r.Add(list...); err != nil {
			b.Fatal(err)
		}
		if err := r.Wait(); err != nil {
			b.Fatal(err)
		}
		n -= part
	}
}
