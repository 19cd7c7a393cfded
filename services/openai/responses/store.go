package responses

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

// StoreLimits bound the responses that are kept. The zero value keeps none.
type StoreLimits struct {
	// Size is how many responses are kept; 0 keeps none.
	Size int
	// Bytes bounds the memory that they take, approximately.
	Bytes int64
	// TTL is how long each is kept.
	TTL time.Duration
}

// store keeps responses in memory, so that later requests can go on from
// them. It is bounded in count, in bytes and in time; the oldest go first. A response
// keeps all items of its conversation, which it shares with those that it went on
// from: it stays whole when they go. The methods may be called concurrently.
//
// A response is its client's. Where clients have no keys whoever knows its id reads it:
// ids have 130 random bits.
type store struct {
	size  int
	bytes int64
	ttl   time.Duration

	mu   sync.Mutex
	used int64
	kept map[string]*list.Element // by keptKey, as byID
	// oldest first: values are *keptResponse
	order *list.List
	// refs counts the responses that have an item, byID finds the latest of an id.
	refs map[*item]int
	byID map[string]*item
}

// keptResponse is read-only.
type keptResponse struct {
	id      string
	owner   string // the client's name
	body    []byte // the response as it was answered
	input   []*item
	output  []*item
	expires time.Time
}

func newStore(limits StoreLimits) *store {
	return &store{
		size: limits.Size, bytes: limits.Bytes, ttl: limits.TTL,
		kept: map[string]*list.Element{}, order: list.New(), refs: map[*item]int{}, byID: map[string]*item{},
	}
}

// on tells whether anything is kept at all.
func (s *store) on() bool { return s.size > 0 }

// put keeps a response and may let others go. One that is larger than all the room
// there is goes at once.
func (s *store) put(r *keptResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	r.expires = now.Add(s.ttl)
	s.kept[keptKey(r.owner, r.id)] = s.order.PushBack(r)
	s.used += r.cost()
	for it := range r.items {
		s.refs[it]++
		if s.refs[it] == 1 {
			s.used += it.cost()
		}
		s.byID[keptKey(r.owner, it.id)] = it
	}
	s.expire(now)
	for s.order.Len() > s.size || s.used > s.bytes {
		s.drop(s.order.Front())
	}
}

// keptKey finds what is a client's: a key of nobody else's leads there.
func keptKey(owner, id string) string {
	if owner == "" {
		return id
	}
	return owner + "\x00" + id
}

// ownerOf is the name of the client whose request it is.
func ownerOf(ctx context.Context) string {
	if client := inference.ClientOf(ctx); client != nil {
		return client.Name
	}
	return ""
}

// get is nil for what isn't kept.
func (s *store) get(key string) *keptResponse {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(time.Now())
	e, ok := s.kept[key]
	if !ok {
		return nil
	}
	return e.Value.(*keptResponse) //nolint:forcetypeassert // nothing else is in the list
}

// item finds an item of a kept response, nil for none.
func (s *store) item(key string) *item {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(time.Now())
	return s.byID[key]
}

// remove tells whether there was such a response.
func (s *store) remove(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(time.Now())
	e, ok := s.kept[key]
	if ok {
		s.drop(e)
	}
	return ok
}

// expire drops what is too old. All live equally long, so the oldest end first.
func (s *store) expire(now time.Time) {
	for e := s.order.Front(); e != nil && !e.Value.(*keptResponse).expires.After(now); e = s.order.Front() { //nolint:forcetypeassert // nothing else is in the list
		s.drop(e)
	}
}

func (s *store) drop(e *list.Element) {
	r := s.order.Remove(e).(*keptResponse) //nolint:forcetypeassert // nothing else is in the list
	delete(s.kept, keptKey(r.owner, r.id))
	s.used -= r.cost()
	for it := range r.items {
		s.refs[it]--
		if s.refs[it] > 0 {
			continue
		}
		s.used -= it.cost()
		delete(s.refs, it)
		if key := keptKey(r.owner, it.id); s.byID[key] == it {
			delete(s.byID, key)
		}
	}
}

// items gives all of them.
func (r *keptResponse) items(yield func(*item) bool) {
	for _, list := range [][]*item{r.input, r.output} {
		for _, it := range list {
			if !yield(it) {
				return
			}
		}
	}
}

// What the store's own structures cost beside the texts, in bytes, about.
const (
	responseCost = 512
	itemCost     = 512
	partCost     = 64
	entryCost    = 8 // of an item in a response's list
)

func (r *keptResponse) cost() int64 {
	return int64(responseCost + len(r.body) + entryCost*(len(r.input)+len(r.output)))
}

// cost is what the item's own fields take, about.
func (it *item) cost() int64 {
	n := itemCost + len(it.id) + len(it.text) + len(it.callID) + len(it.name)
	for _, p := range it.parts {
		n += partCost + len(p.Text) + len(p.URL)
	}
	for _, s := range it.summary {
		n += partCost + len(s)
	}
	return int64(n)
}
