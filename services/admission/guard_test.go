package admission_test

import (
	"errors"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
)

// TestGuardCountsPendingBytes checks that the guard counts the bytes that are about to be read,
// including inflated bytes. A refused request doesn't count against its API key or address.
func TestGuardCountsPendingBytes(t *testing.T) {
	s := withBounds(t, admission.Bounds{})
	s.Admission().SetGuard(func(held admission.Holding) error {
		if held.Bytes > 100 {
			return &inference.Error{Code: inference.CodeOverloaded, RetryAfter: time.Second, Message: "memory: " + held.Party.String()}
		}
		return nil
	})
	one, two := s.Admission().Arrive(of(t, "a")), s.Admission().Arrive(of(t, "a"))
	wantOverloaded(t, one.Take(101), "memory: key a")
	if err := errors.Join(one.Take(60), two.Take(30), two.Weigh(20), two.Weigh(40)); err != nil {
		t.Fatal(err)
	}
	wantHeld(t, s, "key a: 100 bytes, 2 read, 0 decoded, 0 wait", "all: 100 bytes, 2 read, 0 decoded, 0 wait")
	wantOverloaded(t, two.Weigh(41), "memory: key a")
	if err := s.Admission().Arrive(of(t, "b")).Admit(); err != nil {
		t.Error("another client's:", err)
	}
	if n := s.Meters().Refused()[1+inference.CodeOverloaded]; n != 2 {
		t.Error("refused:", n)
	}
	one.Leave()
	two.Leave()
	wantHeld(t, s, emptyLedger)
}

// TestLimitBodies checks that the smaller of LimitBodies and Bounds.BodyBytes limits the bytes of
// request bodies.
func TestLimitBodies(t *testing.T) {
	for _, test := range []struct{ bound, memory, limit int64 }{{0, 50, 50}, {100, 50, 50}, {50, 100, 50}, {50, 0, 50}} {
		s := withBounds(t, admission.Bounds{BodyBytes: test.bound})
		s.Admission().LimitBodies(test.memory)
		first, second := s.Admission().Arrive(of(t, "a")), s.Admission().Arrive(of(t, "b"))
		if err := errors.Join(first.Take(test.limit-1), second.Take(1)); err != nil {
			t.Errorf("%+v: %v", test, err)
		}
		wantOverloaded(t, second.Take(1), "bodies of the requests")
		if err := s.Admission().SetBounds(admission.Bounds{}); err != nil { // new settings keep the memory's limit
			t.Fatal(err)
		}
		if err := second.Take(1); (err == nil) != (test.memory == 0 || test.memory > test.limit) {
			t.Errorf("%+v, without the operator's bound: %v", test, err)
		}
		first.Leave()
		second.Leave()
	}
}
