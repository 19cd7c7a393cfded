package responses

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// keep stores a response with the items of the previous one and a new item, whose
// text has size bytes.
func keep(s *store, id string, size int, previous *storedResponse) *storedResponse {
	r := &storedResponse{id: id, output: []*item{{id: "msg_" + id, kind: itemMessage, text: strings.Repeat("x", size)}}}
	if previous != nil {
		r.input = append(slices.Clone(previous.input), previous.output...)
	}
	s.put(r)
	return r
}

func wantStored(t *testing.T, s *store, ids ...string) {
	t.Helper()
	var got []string
	for e := s.order.Front(); e != nil; e = e.Next() {
		got = append(got, e.Value.(*storedResponse).id)
	}
	if !slices.Equal(got, ids) || len(s.kept) != len(ids) {
		t.Errorf("kept %v, want %v", got, ids)
	}
	var used int64
	items := map[*item]bool{}
	for e := s.order.Front(); e != nil; e = e.Next() {
		r := e.Value.(*storedResponse)
		used += r.cost()
		for it := range r.items {
			if !items[it] {
				used += it.cost()
			}
			items[it] = true
		}
	}
	if s.used != used || len(s.refs) != len(items) || len(s.byID) != len(items) {
		t.Errorf("%d bytes of %d, %d refs and %d ids of %d items", s.used, used, len(s.refs), len(s.byID), len(items))
	}
}

func TestStoreCount(t *testing.T) {
	s := newStore(StoreLimits{Size: 2, Bytes: 1 << 20, TTL: time.Hour})
	a := keep(s, "a", 1, nil)
	b := keep(s, "b", 1, a)
	keep(s, "c", 1, b)
	wantStored(t, s, "b", "c")
	if s.get("a") != nil || s.get("b") != b || s.item("msg_a") == nil {
		t.Error("b lost what a left to it")
	}
	keep(s, "d", 1, nil)
	keep(s, "e", 1, nil)
	wantStored(t, s, "d", "e")
	if s.item("msg_a") != nil {
		t.Error("an item of no response is still stored")
	}
	if !s.remove("d") || s.remove("d") {
		t.Error("removed not once")
	}
	wantStored(t, s, "e")
	s.remove("e")
	wantStored(t, s)
	if s.used != 0 {
		t.Errorf("%d bytes of nothing", s.used)
	}
}

// TestStoreBytes checks that the store counts the bytes of items that several responses share once,
// and doesn't store too large responses.
func TestStoreBytes(t *testing.T) {
	s := newStore(StoreLimits{Size: 100, Bytes: 12_000, TTL: time.Hour})
	a := keep(s, "a", 5000, nil)
	b := keep(s, "b", 1000, a)
	wantStored(t, s, "a", "b")
	keep(s, "c", 1000, b) // this evicts a, except the text that b and c share
	keep(s, "d", 1000, nil)
	if s.get("a") != nil || s.get("b") == nil || s.used > 12_000 {
		t.Errorf("%d bytes", s.used)
	}
	wantStored(t, s, "b", "c", "d")
	keep(s, "e", 20_000, nil)
	wantStored(t, s)
	definitions := item{tools: []json.RawMessage{make(json.RawMessage, 5000)}}
	if n := definitions.cost() - new(item).cost(); n < 5000 {
		t.Errorf("the definitions of tools cost %d bytes", n)
	}
}

func TestStoreTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(StoreLimits{Size: 100, Bytes: 1 << 20, TTL: time.Hour})
		keep(s, "a", 1, nil)
		<-time.After(40 * time.Minute)
		keep(s, "b", 1, nil)
		<-time.After(20*time.Minute - 1)
		if s.get("a") == nil {
			t.Error("a ended early")
		}
		<-time.After(1)
		if s.get("a") != nil || s.item("msg_a") != nil || s.remove("a") {
			t.Error("a lives too long")
		}
		wantStored(t, s, "b")
		<-time.After(time.Hour)
		keep(s, "c", 1, nil)
		wantStored(t, s, "c")
	})
}
