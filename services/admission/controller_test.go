package admission_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// gate is a model whose requests end one by one, on the test's command.
type gate struct {
	mu    sync.Mutex
	order []string // prompts of the requests that have started
	next  chan struct{}
}

func newGate() *gate { return &gate{next: make(chan struct{})} }

func (g *gate) script(ctx context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
	g.mu.Lock()
	g.order = append(g.order, inferencetest.Input(req, "text_input"))
	g.mu.Unlock()
	select {
	case <-g.next:
		send(inferencetest.Token("x", "stop"))
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begun returns the prompts of the requests that the model has received.
func (g *gate) begun() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.order)
}

// release ends one request in the model and waits for the effects.
func (g *gate) release() {
	select {
	case g.next <- struct{}{}:
	case <-time.After(time.Hour): // no request is in the model: the test's check of the order fails
	}
	synctest.Wait()
}

// clientGroup sends requests of several clients to a service.
type clientGroup struct {
	t       *testing.T
	service *serving.Service
	gate    *gate
	asked   sync.WaitGroup

	mu     sync.Mutex
	failed map[string]*inference.Error
}

func newClientGroup(t *testing.T, b admission.Bounds, models ...string) *clientGroup {
	t.Helper()
	g, engine := newGate(), inferencetest.New()
	for _, name := range append(models, "m") {
		engine.AddModel(name, g.script, nil)
	}
	c := &clientGroup{t: t, service: inferencetest.Service(t, serving.Config{Bounds: b}, engine), gate: g, failed: map[string]*inference.Error{}}
	synctest.Wait()
	return c
}

// testTimeout ends a request that is served or queued although it should not be. Without a limit
// the test would wait for the request until the time limit of all tests.
const testTimeout = 24 * time.Hour

// ask sends a request whose prompt is name. It waits until the request is served, queued or
// refused.
func (c *clientGroup) ask(ctx context.Context, name string, change ...func(*inference.Request)) {
	req := &inference.Request{Model: "m", Task: inference.TaskGenerate, Prompts: []inference.Input{{Text: name}}, Stream: true}
	for _, do := range change {
		do(req)
	}
	c.asked.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, testTimeout)
		defer cancel()
		if a := inferencetest.Collect(ctx, c.service, req); a.Err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.failed[name] = a.Err
		}
	})
	synctest.Wait()
}

func (c *clientGroup) error(name string) *inference.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed[name]
}

// finish releases the remaining requests and checks the order in which all requests started.
func (c *clientGroup) finish(want ...string) {
	c.t.Helper()
	for range want {
		c.gate.release()
	}
	c.asked.Wait()
	if got := c.gate.begun(); !slices.Equal(got, want) {
		c.t.Errorf("the order was %v\nwant %v", got, want)
	}
	if total, _ := c.service.Meters().Load(c.t.Context()); total.InFlight != 0 || total.Queued != 0 || total.Waiting != 0 {
		c.t.Errorf("left: %+v", total)
	}
}

// of returns a client's context.
func of(t *testing.T, name string, limits ...inference.Limits) context.Context {
	t.Helper()
	client := &inference.Client{Name: name}
	if len(limits) > 0 {
		client.Limits = limits[0]
	}
	return inference.WithClient(t.Context(), client)
}

func prioritised(p int) func(*inference.Request) {
	return func(r *inference.Request) { r.Priority = &p }
}

func toModel(name string) func(*inference.Request) {
	return func(r *inference.Request) { r.Model = name }
}

func server(l inference.Limits) admission.Bounds { return admission.Bounds{Server: l} }

// TestTurns checks that a client with a hundred queued requests delays the single request of
// another client by at most one slot, for any number of clients.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClientGroup(t, server(inference.Limits{InFlight: 1}))
		want := []string{"a0"}
		for i := range 101 {
			c.ask(of(t, "a"), fmt.Sprintf("a%d", i))
		}
		if total, models := c.service.Meters().Load(c.t.Context()); total.InFlight != 101 || total.Queued != 101 || total.Waiting != 100 || models[0].Waiting != 100 {
			t.Errorf("%+v, %+v", total, models)
		}
		c.ask(of(t, "b"), "b0")
		c.ask(of(t, "c"), "c0")
		c.ask(of(t, "c"), "c1")
		c.ask(t.Context(), "nobody")
		want = append(want, "a1", "b0", "c0", "nobody", "a2", "c1", "a3", "a4")
		for i := range 10 { // a sends requests repeatedly, and b one more
			c.gate.release()
			if i == 7 {
				c.ask(of(t, "b"), "b1")
				want = append(want, "a5", "b1")
			}
		}
		for i := 6; i < 101; i++ {
			want = append(want, fmt.Sprintf("a%d", i))
		}
		for range len(want) - 10 {
			c.gate.release()
		}
		c.asked.Wait()
		if got := c.gate.begun(); !slices.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	})
}

// TestPriorities checks that the smaller priority of a client is served first, unless another
// request has waited long.
func TestPriorities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClientGroup(t, server(inference.Limits{InFlight: 1}))
		c.ask(t.Context(), "first")
		c.ask(t.Context(), "low", prioritised(5))
		c.ask(t.Context(), "none")
		c.ask(t.Context(), "none again")
		c.ask(t.Context(), "high", prioritised(-1))
		c.ask(t.Context(), "lowest", prioritised(1<<40))
		<-time.After(5500 * time.Millisecond)
		c.ask(t.Context(), "after low")
		<-time.After(56 * time.Second)
		c.ask(t.Context(), "after lowest")
		c.finish("first", "high", "none", "none again", "low", "after low", "lowest", "after lowest")
	})
}

// TestLimitsOfModelsAndKeys checks that a queued request whose model or API key is at its limit
// doesn't delay requests of other models and keys.
func TestLimitsOfModelsAndKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClientGroup(t, admission.Bounds{
			Server: inference.Limits{InFlight: 3, Queued: 10},
			Models: map[string]inference.Limits{"": {InFlight: 2, Queued: 1}, "slow": {InFlight: 1}},
		}, "slow")
		c.ask(t.Context(), "slow 1", toModel("slow"))
		c.ask(t.Context(), "slow 2", toModel("slow"))
		c.ask(t.Context(), "slow 3", toModel("slow"))
		one := inference.Limits{InFlight: 1, Queued: 1}
		c.ask(of(t, "a", one), "a1")
		c.ask(of(t, "a", one), "a2")
		c.ask(of(t, "a", one), "a3")
		wantRefused(t, c.error("a3"), inference.CodeLimited, "too many requests of this API key: 1 are in flight and 1 are queued")
		c.ask(t.Context(), "m 1")
		if got := c.gate.begun(); !slices.Equal(got, []string{"slow 1", "a1", "m 1"}) {
			t.Errorf("begun: %v", got)
		}
		c.ask(t.Context(), "m 2")
		wantRefused(t, c.error("m 2"), inference.CodeOverloaded, "too many requests of this model: 2 are in flight and 1 are queued")
		none := inference.Limits{InFlight: 1, Queued: inference.NoQueue}
		c.ask(of(t, "b", none), "b1", toModel("slow"))
		wantRefused(t, c.error("b1"), inference.CodeOverloaded, "too many requests of this model: 1 are in flight and 2 are queued")
		for range 6 {
			c.gate.release()
		}
		c.asked.Wait()
		if got := c.gate.begun(); len(got) != 6 {
			t.Errorf("begun: %v", got)
		}
	})
}

func wantRefused(t *testing.T, e *inference.Error, code inference.Code, words string) {
	t.Helper()
	reason := inference.ReasonOverloaded
	if code == inference.CodeLimited {
		reason = inference.ReasonRateLimit
	}
	if e == nil || e.Code != code || e.Reason != reason || e.RetryAfter <= 0 || len(e.Message) < len(words) || e.Message[:len(words)] != words {
		t.Errorf("got %+v, want %v: %s", e, code, words)
	}
}

// TestQueueIsShared checks that a queue filled by one client accepts a request of another client
// and evicts the first client's last request.
func TestQueueIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClientGroup(t, server(inference.Limits{InFlight: 1, Queued: 4}))
		for i := range 5 {
			c.ask(of(t, "a"), fmt.Sprintf("a%d", i))
		}
		c.ask(of(t, "a"), "a5")
		wantRefused(t, c.error("a5"), inference.CodeOverloaded, "too many requests: 1 are in flight and 4 are queued")
		c.ask(of(t, "b"), "b0")
		wantRefused(t, c.error("a4"), inference.CodeOverloaded, "too many requests: 1 are in flight and 4 are queued")
		c.ask(of(t, "b"), "b1")
		c.ask(of(t, "b"), "b2")
		wantRefused(t, c.error("b2"), inference.CodeOverloaded, "too many requests: 1 are in flight and 4 are queued")
		if c.error("a3") == nil || c.error("a2") != nil || c.error("b0") != nil {
			t.Errorf("refused: %v", c.failed)
		}
		c.finish("a0", "a1", "b0", "a2", "b1")
	})
}

// TestWaitingEnds checks that the wait in the queue ends when the client disconnects, at the
// deadline, and when the server drains. Requests that have ended hold no slot.
func TestWaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := server(inference.Limits{InFlight: 1, Queued: 10})
		b.RequestTimeout = time.Minute
		c := newClientGroup(t, b)
		c.ask(t.Context(), "first")
		ctx, disconnect := context.WithCancel(t.Context())
		c.ask(ctx, "leaves")
		early, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		c.ask(early, "its own deadline")
		<-time.After(5 * time.Second)
		disconnect()
		synctest.Wait()
		if e := c.error("leaves"); e == nil || e.Code != inference.CodeCanceled {
			t.Errorf("who has left got %v", e)
		}
		<-time.After(6 * time.Second)
		if e := c.error("its own deadline"); e == nil || e.Code != inference.CodeDeadlineExceeded {
			t.Errorf("got %v", e)
		}
		c.ask(t.Context(), "the server's deadline")
		c.gate.release()
		c.ask(t.Context(), "waits")
		<-time.After(59 * time.Second)
		if e := c.error("the server's deadline"); e != nil {
			t.Errorf("too early: %v", e)
		}
		<-time.After(2 * time.Second)
		if e := c.error("the server's deadline"); e == nil || e.Code != inference.CodeDeadlineExceeded || e.Reason != inference.ReasonTimeout {
			t.Errorf("got %v", e)
		}
		c.ask(t.Context(), "at the drain")
		ctx, disconnect = context.WithTimeout(t.Context(), time.Second)
		defer disconnect()
		c.service.Admission().Drain(ctx)
		c.asked.Wait()
		for _, name := range []string{"waits", "at the drain"} {
			if e := c.error(name); e == nil || (e.Reason != inference.ReasonShuttingDown && e.Reason != inference.ReasonTimeout) {
				t.Errorf("%s: %v", name, e)
			}
		}
		if total, _ := c.service.Meters().Load(c.t.Context()); total.InFlight != 0 || total.Waiting != 0 {
			t.Errorf("left: %+v", total)
		}
	})
}

// TestRates checks that the burst is admitted at once and further requests at the rate. A refusal
// has the delay before a retry.
func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClientGroup(t, server(inference.Limits{Rate: 100}))
		ctx := of(t, "a", inference.Limits{Rate: 0.5, Burst: 2})
		if _, ok := c.service.Admission().Rate(t.Context()); !ok {
			t.Error("the server's rate isn't reported")
		}
		c.ask(ctx, "1")
		if left, _ := c.service.Admission().Rate(ctx); left != (admission.Rate{Limit: 2, Remaining: 1, Reset: 2 * time.Second}) {
			t.Errorf("left: %+v", left)
		}
		c.ask(ctx, "2")
		c.ask(ctx, "3")
		e := c.error("3")
		wantRefused(t, e, inference.CodeLimited, "too many requests of this API key: the rate limit is 0.5 requests per second")
		if e != nil && e.RetryAfter != 2*time.Second {
			t.Errorf("come again after %s", e.RetryAfter)
		}
		if left, _ := c.service.Admission().Rate(ctx); left != (admission.Rate{Limit: 2, Reset: 4 * time.Second}) {
			t.Errorf("left: %+v", left)
		}
		c.ask(of(t, "b"), "b") // this is a request of another client
		<-time.After(time.Second)
		c.ask(ctx, "4")
		if e := c.error("4"); e == nil || e.RetryAfter != time.Second {
			t.Errorf("got %v", e)
		}
		<-time.After(time.Second)
		c.ask(ctx, "5")
		c.finish("1", "2", "b", "5")
	})
}

// TestRefusalsCostNothing checks that a refusal by the server's rate spends nothing of the key's
// rate.
func TestRefusalsCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClientGroup(t, server(inference.Limits{Rate: 1}))
		ctx := of(t, "a", inference.Limits{Rate: 1, Burst: 2})
		c.ask(ctx, "1")
		c.ask(ctx, "2")
		wantRefused(t, c.error("2"), inference.CodeLimited, "too many requests: the rate limit is 1 requests per second")
		if err := c.service.Admission().SetBounds(admission.Bounds{}); err != nil {
			t.Fatal(err)
		}
		c.ask(ctx, "3")
		c.finish("1", "3")
	})
}

// TestSetBounds checks that SetBounds ends no request, and admits queued requests at once if the
// new bounds allow them.
func TestSetBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClientGroup(t, server(inference.Limits{InFlight: 1, Queued: 5}))
		for i := range 5 {
			c.ask(t.Context(), fmt.Sprint(i))
		}
		if err := c.service.Admission().SetBounds(admission.Bounds{Server: inference.Limits{InFlight: -1}}); err == nil || c.service.Admission().MaxInFlight() != 1 {
			t.Errorf("%v, %d", err, c.service.Admission().MaxInFlight())
		}
		set := func(b admission.Bounds) {
			if err := c.service.Admission().SetBounds(b); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		set(server(inference.Limits{InFlight: 3, Queued: 1}))
		if got := c.gate.begun(); len(got) != 3 {
			t.Errorf("begun: %v", got)
		}
		set(server(inference.Limits{InFlight: 1, Queued: inference.NoQueue}))
		c.ask(t.Context(), "refused")
		wantRefused(t, c.error("refused"), inference.CodeOverloaded, "too many requests: 3 are in flight and 2 are queued")
		set(admission.Bounds{Models: map[string]inference.Limits{"m": {InFlight: 1}}})
		for range 5 {
			c.gate.release()
		}
		c.asked.Wait()
		got := c.gate.begun() // the order varies, because several requests got their slots at once
		slices.Sort(got)
		if !slices.Equal(got, []string{"0", "1", "2", "3", "4"}) {
			t.Errorf("begun: %v", got)
		}
	})
}

func TestAdmissionRefusesTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := inferencetest.Serve(t, serving.Config{Bounds: admission.Bounds{Server: inference.Limits{InFlight: 2, Queued: inference.NoQueue}}}, newGate().script, inferencetest.WithTemplate())
		ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
		done := make(chan *inferencetest.Answer)
		for range 2 {
			go func() { done <- inferencetest.Collect(ctx, s, inferencetest.ChatRequest(1)) }()
		}
		synctest.Wait()
		a := inferencetest.Collect(ctx, s, inferencetest.ChatRequest(1))
		if a.Err == nil || a.Err.Code != inference.CodeOverloaded || a.Err.RetryAfter == 0 {
			t.Errorf("the third got %v", a.Err)
		}
		cancel()
		<-done
		<-done
		if a := inferencetest.Collect(ctx, s, inferencetest.ChatRequest(1)); a.Err.Code == inference.CodeOverloaded {
			t.Error("places are not given back")
		}
	})
}

// TestConcurrentClients checks that no request fails with an internal error under many concurrent
// clients, some of which cancel. With -race, the test also checks the locking.
func TestConcurrentClients(t *testing.T) {
	engine := inferencetest.New()
	for _, name := range []string{"m", "n"} {
		engine.AddModel(name, inferencetest.StreamText("x"), nil)
	}
	s := inferencetest.Service(t, serving.Config{Bounds: admission.Bounds{
		Server: inference.Limits{InFlight: 3, Queued: 20}, Models: map[string]inference.Limits{"": {InFlight: 2}}, RequestTimeout: time.Minute,
	}}, engine)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			ctx := of(t, fmt.Sprint(i%5), inference.Limits{InFlight: 1 + i%2})
			for j := range 100 {
				ctx, leave := context.WithCancel(ctx)
				if j%7 == 0 {
					leave()
				}
				req := &inference.Request{Model: []string{"m", "n", "unknown"}[j%3], Task: inference.TaskGenerate, Prompts: []inference.Input{{Text: "x"}}}
				a := inferencetest.Collect(ctx, s, req)
				if a.Err != nil && a.Err.Code == inference.CodeInternal {
					t.Error(a.Err)
				}
				leave()
			}
		})
	}
	for i := range 50 {
		if err := s.Admission().SetBounds(admission.Bounds{Server: inference.Limits{InFlight: 1 + i%4, Queued: 20}, RequestTimeout: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	all.Wait()
	if total, _ := s.Meters().Load(t.Context()); total.InFlight != 0 || total.Waiting != 0 || total.Requests != 1600 {
		t.Errorf("%+v", total)
	}
	s.Admission().Drain(t.Context())
}

// TestLeave checks that a controller that leaves isn't ready and still admits requests, until it
// drains.
func TestLeave(t *testing.T) {
	a := inferencetest.Service(t, serving.Config{}, inferencetest.New()).Admission()
	if err := a.Ready(); err != nil {
		t.Error(err)
	}
	for range 2 { // a repeated call has no effect
		a.Leave()
	}
	<-a.Leaving()
	if err := inference.AsError(a.Ready()); err == nil || err.Reason != inference.ReasonShuttingDown {
		t.Errorf("it is ready: %v", err)
	}
	arrival := a.Arrive(t.Context())
	if err := arrival.Admit(); err != nil {
		t.Errorf("a request is refused: %v", err)
	}
	arrival.Leave()
	a.Drain(t.Context())
	if err := a.Arrive(t.Context()).Admit(); inference.AsError(err).Reason != inference.ReasonShuttingDown {
		t.Errorf("after the drain: %v", err)
	}
}
