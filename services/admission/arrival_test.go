package admission_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

func withBounds(t *testing.T, b admission.Bounds) *serving.Service {
	t.Helper()
	return inferencetest.Service(t, serving.Config{Bounds: b}, inferencetest.New())
}

// from returns the context of a request without a key, from an address.
func from(t *testing.T, address string) context.Context {
	t.Helper()
	return inference.WithOrigin(t.Context(), &inference.Origin{Address: netip.MustParseAddr(address)})
}

// held returns the holdings of all parties as a string.
func held(s *serving.Service) string {
	var list []string
	each, all := s.Admission().Holdings()
	for _, h := range each {
		list = append(list, fmt.Sprintf("%s: %d bytes, %d read, %d decoded, %d wait", h.Party, h.Bytes, h.Reading, h.Decoding, h.Waiting))
	}
	slices.Sort(list)
	return strings.Join(append(list, fmt.Sprintf("all: %d bytes, %d read, %d decoded, %d wait", all.Bytes, all.Reading, all.Decoding, all.Waiting)), "\n")
}

func wantHeld(t *testing.T, s *serving.Service, want ...string) {
	t.Helper()
	if got := held(s); got != strings.Join(want, "\n") {
		t.Errorf("held:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
}

func wantOverloaded(t *testing.T, err error, text string) {
	t.Helper()
	e := inference.AsError(err)
	if err == nil || e.Code != inference.CodeOverloaded || e.RetryAfter <= 0 || !strings.Contains(e.Message, text) {
		t.Errorf("got %v, want %q", err, text)
	}
}

const emptyLedger = "all: 0 bytes, 0 read, 0 decoded, 0 wait"

// TestBytesOfParties checks that an API key or address with several requests holds no more bytes of
// request bodies than remain free for the others.
func TestBytesOfParties(t *testing.T) {
	s := withBounds(t, admission.Bounds{BodyBytes: 100})
	one, two := s.Admission().Arrive(of(t, "a")), s.Admission().Arrive(of(t, "a"))
	if err := one.Take(40); err != nil {
		t.Fatal(err)
	}
	if err := two.Take(10); err != nil {
		t.Fatal("half of all is a party's:", err)
	}
	wantOverloaded(t, two.Take(1), "the bodies of this client's requests")
	other := s.Admission().Arrive(of(t, "b"))
	if err := other.Take(30); err != nil {
		t.Fatal("another party's:", err)
	}
	if err := other.Take(20); err != nil {
		t.Fatal("a party's only request may take all that there is:", err)
	}
	wantOverloaded(t, s.Admission().Arrive(of(t, "c")).Take(1), "bodies")
	wantHeld(t, s, "key a: 50 bytes, 2 read, 0 decoded, 0 wait", "key b: 50 bytes, 1 read, 0 decoded, 0 wait", "all: 100 bytes, 3 read, 0 decoded, 0 wait")
	one.Leave()
	one.Leave()
	two.Leave()
	other.Leave()
	wantHeld(t, s, emptyLedger)
	huge := s.Admission().Arrive(of(t, "a"))
	if err := huge.Take(1000); err != nil {
		t.Error("what alone is more than the limit is taken when there is nothing else:", err)
	}
	wantOverloaded(t, s.Admission().Arrive(of(t, "b")).Take(1), "bodies")
	if err := s.Admission().SetBounds(admission.Bounds{}); err != nil {
		t.Fatal(err)
	}
	third := s.Admission().Arrive(of(t, "b"))
	if err := third.Take(1 << 40); err != nil {
		t.Error("without a bound:", err)
	}
	third.Leave()
	huge.Leave()
	if err := huge.Take(1); err == nil {
		t.Error("a request that has ended takes bytes")
	}
	if err := huge.Decode(); err == nil {
		t.Error("a request that has ended gets a slot")
	}
	wantHeld(t, s, emptyLedger)
}

// TestReadingOfParties checks that Arrival.Take limits the number of requests that are being read,
// of all clients and of one client.
func TestReadingOfParties(t *testing.T) {
	s := withBounds(t, admission.Bounds{Reading: 4})
	var all []*admission.Arrival
	take := func(client string) error {
		a := s.Admission().Arrive(of(t, client))
		err := a.Take(1)
		if err == nil {
			all = append(all, a)
		}
		return err
	}
	if err := errors.Join(take("a"), take("a"), take("b"), take("c")); err != nil {
		t.Fatal(err)
	}
	wantOverloaded(t, take("d"), "too many requests are being read: 4 of all clients")
	all[0].Decoded()
	wantOverloaded(t, take("a"), "too many requests are being read: 3 of all clients, 1 of them of this client")
	if err := take("d"); err != nil {
		t.Error("the request of a has been decoded:", err)
	}
	all[0].Decoded()
	wantHeld(t, s, "key a: 2 bytes, 1 read, 0 decoded, 0 wait", "key b: 1 bytes, 1 read, 0 decoded, 0 wait", "key c: 1 bytes, 1 read, 0 decoded, 0 wait",
		"key d: 1 bytes, 1 read, 0 decoded, 0 wait", "all: 5 bytes, 4 read, 0 decoded, 0 wait")
	for _, a := range all {
		a.Leave()
	}
	wantHeld(t, s, emptyLedger)
}

// TestDecodeSlots checks that no API key or address gets more than half of the decode slots, and
// that they get slots in round-robin order.
func TestDecodeSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withBounds(t, admission.Bounds{Decoding: 4})
		var mu sync.Mutex
		var order []string
		var asked sync.WaitGroup
		holders := map[string]*admission.Arrival{}
		ask := func(name string) {
			a := s.Admission().Arrive(of(t, name[:1]))
			asked.Go(func() {
				if err := a.Decode(); err != nil {
					t.Error(name, err)
				}
				mu.Lock()
				defer mu.Unlock()
				order, holders[name] = append(order, name), a
			})
			synctest.Wait()
		}
		for _, name := range []string{"a1", "a2", "a3", "a4", "a5", "b1", "c1", "b2", "c2"} {
			ask(name)
		}
		wantHeld(t, s, "key a: 0 bytes, 0 read, 2 decoded, 3 wait", "key b: 0 bytes, 0 read, 1 decoded, 1 wait", "key c: 0 bytes, 0 read, 1 decoded, 1 wait", "all: 0 bytes, 0 read, 4 decoded, 5 wait")
		for i := range 9 {
			mu.Lock()
			a := holders[order[i]]
			mu.Unlock()
			a.Decoded()
			synctest.Wait()
		}
		asked.Wait()
		if want := []string{"a1", "a2", "b1", "c1", "a3", "b2", "c2", "a4", "a5"}; !slices.Equal(order, want) {
			t.Errorf("the order was %v\nwant %v", order, want)
		}
		wantHeld(t, s, emptyLedger)
	})
}

// TestWaitForSlotEnds checks that the wait for a decode slot ends when the client disconnects, the
// request ends or the service stops.
func TestWaitForSlotEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withBounds(t, admission.Bounds{Decoding: 1})
		holder := s.Admission().Arrive(of(t, "a"))
		if err := errors.Join(holder.Decode(), holder.Decode()); err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		wait := func(a *admission.Arrival) {
			go func() { failed <- a.Decode() }()
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(of(t, "b"))
		wait(s.Admission().Arrive(ctx))
		cancel()
		if err := <-failed; inference.AsError(err).Code != inference.CodeCanceled {
			t.Error("a client that has disconnected:", err)
		}
		gone := s.Admission().Arrive(of(t, "b"))
		wait(gone)
		gone.Leave()
		if err := <-failed; inference.AsError(err).Code != inference.CodeCanceled {
			t.Error("a request that has ended:", err)
		}
		wait(s.Admission().Arrive(of(t, "b")))
		wantHeld(t, s, "key a: 0 bytes, 0 read, 1 decoded, 0 wait", "key b: 0 bytes, 0 read, 0 decoded, 1 wait", "all: 0 bytes, 0 read, 1 decoded, 1 wait")
		s.Admission().Drain(t.Context())
		if err := <-failed; inference.AsError(err).Reason != inference.ReasonShuttingDown {
			t.Error("a service that stops:", err)
		}
		holder.Leave()
		wantHeld(t, s, emptyLedger)
	})
}

// TestSlowBodiesHoldNoSlot checks that a request loses its decode slot if its body arrives slowly,
// and gets a slot again when bytes arrive.
func TestSlowBodiesHoldNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withBounds(t, admission.Bounds{Decoding: 1})
		slow, quick := s.Admission().Arrive(of(t, "slow")), s.Admission().Arrive(of(t, "quick"))
		if err := slow.Decode(); err != nil {
			t.Fatal(err)
		}
		slow.Await()
		if err := slow.Decode(); err != nil { // the first bytes arrived at once
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		wantHeld(t, s, "key slow: 0 bytes, 0 read, 1 decoded, 0 wait", "all: 0 bytes, 0 read, 1 decoded, 0 wait")
		slow.Await()
		<-time.After(time.Second)
		synctest.Wait()
		wantHeld(t, s, emptyLedger)
		if err := quick.Decode(); err != nil {
			t.Fatal(err)
		}
		again := make(chan error, 1)
		go func() { again <- slow.Decode() }()
		synctest.Wait()
		wantHeld(t, s, "key quick: 0 bytes, 0 read, 1 decoded, 0 wait", "key slow: 0 bytes, 0 read, 0 decoded, 1 wait", "all: 0 bytes, 0 read, 1 decoded, 1 wait")
		quick.Leave()
		if err := <-again; err != nil {
			t.Error(err)
		}
		slow.Await()
		slow.Leave()
		<-time.After(time.Second)
		wantHeld(t, s, emptyLedger)
	})
}

// TestParties checks that requests are counted by the name of their key, and without a key by their
// address. An IPv6 network is one address.
func TestParties(t *testing.T) {
	for peer, want := range map[string]string{
		"192.0.2.1:80": "address 192.0.2.1", "[::ffff:192.0.2.1]:80": "address 192.0.2.1", "[2001:db8:1:2:3:4:5:6]:80": "address 2001:db8:1:2::",
		"[2001:db8:1:2:ffff::1]:80": "address 2001:db8:1:2::", "127.0.0.1:80": "address 127.0.0.1", "[::1]:80": "address ::1", "[fe80::1%eth0]:80": "address fe80::",
		"@": "no address", "": "no address",
	} {
		if got := (admission.Party{Address: inference.ParseAddress(peer)}).String(); got != want {
			t.Errorf("%s: %s", peer, got)
		}
	}
	tcp := &net.TCPAddr{IP: net.ParseIP("2001:db8:1:2::9"), Port: 80}
	if got := inference.AddressOf(tcp); got != inference.ParseAddress(tcp.String()) || inference.AddressOf(nil).IsValid() {
		t.Error(got)
	}
	s := withBounds(t, admission.Bounds{})
	keyed, open := s.Admission().Arrive(inference.WithClient(from(t, "192.0.2.1"), &inference.Client{Name: "a"})), s.Admission().Arrive(from(t, "192.0.2.1"))
	if err := errors.Join(keyed.Take(1), open.Take(2)); err != nil {
		t.Fatal(err)
	}
	wantHeld(t, s, "address 192.0.2.1: 2 bytes, 1 read, 0 decoded, 0 wait", "key a: 1 bytes, 1 read, 0 decoded, 0 wait", "all: 3 bytes, 2 read, 0 decoded, 0 wait")
	if each, _ := s.Admission().Holdings(); each[0].Bytes != 2 {
		t.Error("the heaviest isn't the first:", each)
	}
	keyed.Leave()
	open.Leave()
}

// TestGuard checks that a Guard can refuse a request before its body is read, by the bytes that
// requests of the same API key or address hold.
func TestGuard(t *testing.T) {
	s := withBounds(t, admission.Bounds{})
	first := s.Admission().Arrive(of(t, "a"))
	if err := errors.Join(first.Admit(), first.Take(11)); err != nil {
		t.Fatal(err)
	}
	s.Admission().SetGuard(func(held admission.Holding) error {
		if held.Bytes > 10 {
			return &inference.Error{Code: inference.CodeOverloaded, RetryAfter: time.Second, Message: "memory: " + held.Party.String()}
		}
		return nil
	})
	if err := first.Admit(); err != nil {
		t.Error("once let in, a request is let in again:", err)
	}
	wantOverloaded(t, s.Admission().Arrive(of(t, "a")).Admit(), "memory: key a")
	if err := s.Admission().Arrive(of(t, "b")).Admit(); err != nil {
		t.Error(err)
	}
	if n := s.Meters().Refused()[1+inference.CodeOverloaded]; n != 1 {
		t.Error("refused:", n)
	}
	s.Admission().SetGuard(nil)
	if err := s.Admission().Arrive(of(t, "a")).Admit(); err != nil {
		t.Error(err)
	}
	first.Leave()
}

// TestArrivalSpendsOnce checks that a request spends the rates on arrival and not again in the
// service. A request that is refused later has spent them.
func TestArrivalSpendsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClientGroup(t, server(inference.Limits{Rate: 1, Burst: 3}))
		limits := inference.Limits{Rate: 0.1, Burst: 2}
		for i := range 2 {
			a := c.service.Admission().Arrive(of(t, "a", limits))
			if err := errors.Join(a.Admit(), a.Admit()); err != nil {
				t.Fatal(i, err)
			}
			if i == 0 { // the second request is invalid and never reaches the service
				c.ask(a, "served")
				c.gate.release()
			}
			a.Leave()
		}
		if left, _ := c.service.Admission().Rate(of(t, "a", limits)); left.Remaining != 0 {
			t.Errorf("of the key's: %+v", left)
		}
		if left, _ := c.service.Admission().Rate(t.Context()); left.Remaining != 1 {
			t.Errorf("of the server's: %+v", left)
		}
		err := c.service.Admission().Arrive(of(t, "a", limits)).Admit()
		if e := inference.AsError(err); err == nil || e.Code != inference.CodeLimited || e.RetryAfter != 10*time.Second {
			t.Errorf("beyond the key's: %+v", e)
		}
		if left, _ := c.service.Admission().Rate(t.Context()); left.Remaining != 1 {
			t.Errorf("what is refused has spent of the server's: %+v", left)
		}
		c.finish("served")
	})
}

// TestFullKeysAreRefusedUnread checks that a request of a key whose slots and queue are full is refused
// before it is read, and spends nothing of the key's rate.
func TestFullKeysAreRefusedUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClientGroup(t, server(inference.Limits{InFlight: 3, Queued: 1}))
		limits := inference.Limits{InFlight: 1, Queued: 1, Rate: 1, Burst: 3}
		c.ask(of(t, "a", limits), "one")
		c.ask(of(t, "a", limits), "two")
		c.ask(of(t, "b"), "other")
		err := c.service.Admission().Arrive(of(t, "a", limits)).Admit()
		if e := inference.AsError(err); err == nil || e.Code != inference.CodeLimited || !strings.Contains(e.Message, "too many requests of this API key: 1 are in flight and 1 are queued") {
			t.Errorf("a key that is full: %v", err)
		}
		if left, _ := c.service.Admission().Rate(of(t, "a", limits)); left.Remaining != 1 {
			t.Errorf("its rate: %+v", left)
		}
		c.ask(of(t, "b"), "third")
		err = c.service.Admission().Arrive(of(t, "c")).Admit()
		if e := inference.AsError(err); err == nil || e.Code != inference.CodeOverloaded || !strings.Contains(e.Message, "too many requests: 3 are in flight") {
			t.Errorf("a server that is full: %v", err)
		}
		go c.service.Admission().Drain(t.Context())
		synctest.Wait()
		if err := c.service.Admission().Arrive(of(t, "c")).Admit(); inference.AsError(err).Reason != inference.ReasonShuttingDown {
			t.Errorf("a server that stops: %v", err)
		}
		for range 3 {
			c.gate.release()
		}
		c.asked.Wait()
	})
}

// TestArrivalEndsDecoding checks that a queued request holds no decode slot, and holds its bytes
// until it has ended.
func TestArrivalEndsDecoding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClientGroup(t, admission.Bounds{Server: inference.Limits{InFlight: 1}, Decoding: 2})
		for _, name := range []string{"one", "two"} {
			a := c.service.Admission().Arrive(of(t, "a"))
			if err := errors.Join(a.Admit(), a.Take(10), a.Decode()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(a.Leave)
			c.ask(a, name)
		}
		wantHeld(t, c.service, "key a: 20 bytes, 0 read, 0 decoded, 0 wait", "all: 20 bytes, 0 read, 0 decoded, 0 wait")
		c.finish("one", "two")
	})
}
