package responses

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// responseStore stores responses, so that later requests can continue from them. Its methods may be
// called concurrently. Only the response's own client can read it. If clients have no keys, any client
// that knows the id can read it; ids have 130 random bits. Errors are those of a store that can't be
// reached.
type responseStore interface {
	// on reports whether responses are stored at all.
	on() bool
	// begin stores a response that is in progress, for stores that other servers read.
	begin(ctx context.Context, owner, id string, body []byte) error
	// put stores a response that has ended.
	put(ctx context.Context, r *storedResponse) error
	// get returns nil if there is no such response.
	get(ctx context.Context, owner, id string) (*storedResponse, error)
	// item returns the item of a stored response, or nil if there is none.
	item(ctx context.Context, owner, id string) (*item, error)
	// remove deletes a response and reports whether it existed.
	remove(ctx context.Context, owner, id string) (bool, error)
}

// inMemory is the store of this server alone. It never fails.
type inMemory struct{ *store }

func (s inMemory) begin(context.Context, string, string, []byte) error { return nil }

func (s inMemory) put(_ context.Context, r *storedResponse) error {
	s.store.put(r)
	return nil
}

func (s inMemory) get(_ context.Context, owner, id string) (*storedResponse, error) {
	return s.store.get(keptKey(owner, id)), nil
}

func (s inMemory) item(_ context.Context, owner, id string) (*item, error) {
	return s.store.item(keptKey(owner, id)), nil
}

func (s inMemory) remove(_ context.Context, owner, id string) (bool, error) {
	return s.store.remove(keptKey(owner, id)), nil
}

// StoreLimits limits the stored responses. The zero value stores none.
type StoreLimits struct {
	// Size is the maximum number of stored responses. 0 stores no responses.
	Size int
	// SizeName is the name under which operators set Size, for errors.
	SizeName string
	// Bytes is the approximate maximum memory of all stored responses, in bytes.
	Bytes int64
	// TTL is how long each response is stored.
	TTL time.Duration
}

// store holds responses in memory, so that later requests can continue from them. It
// has limits on count, bytes and time, and evicts the oldest responses first. A
// response refers to all items of its conversation. It shares the items with the
// responses that it continues, and keeps the items when those responses are evicted.
// The methods may be called concurrently.
type store struct {
	size     int
	sizeName string // operators' name of the setting of size
	bytes    int64
	ttl      time.Duration

	mu   sync.Mutex
	used int64
	kept map[string]*list.Element // elements of order, keyed by keptKey
	// order has the stored responses, the oldest first. The values are *storedResponse.
	order *list.List
	// refs is the number of stored responses that have an item. byID finds the latest
	// item with an id.
	refs map[*item]int
	byID map[string]*item
}

// storedResponse is a stored response. It is read-only.
type storedResponse struct {
	id     string
	owner  string // the client's name
	body   []byte // the response, in the bytes that were sent
	input  []*item
	output []*item
	// running and failed are set only by stores that several servers share: such a response has no items.
	running, failed bool
	expires         time.Time
}

func newStore(limits StoreLimits) *store {
	return &store{
		size: limits.Size, sizeName: limits.SizeName, bytes: limits.Bytes, ttl: limits.TTL,
		kept: map[string]*list.Element{}, order: list.New(), refs: map[*item]int{}, byID: map[string]*item{},
	}
}

// on reports whether responses are stored at all.
func (s *store) on() bool { return s.size > 0 }

// put stores a response and may evict others. It evicts the new response, too, if the
// new response is larger than the limit.
func (s *store) put(r *storedResponse) {
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

// keptKey returns the key of a client's response or item. Keys of different clients
// never collide.
func keptKey(owner, id string) string {
	if owner == "" {
		return id
	}
	return owner + "\x00" + id
}

// get returns nil if there is no such response.
func (s *store) get(key string) *storedResponse {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(time.Now())
	e, ok := s.kept[key]
	if !ok {
		return nil
	}
	return e.Value.(*storedResponse) //nolint:forcetypeassert // nothing else is in the list
}

// item returns an item of a stored response, or nil if there is none.
func (s *store) item(key string) *item {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(time.Now())
	return s.byID[key]
}

// remove deletes a response and reports whether it existed.
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

// expire evicts expired responses. All have the same lifetime, so that the oldest
// expire first.
func (s *store) expire(now time.Time) {
	for e := s.order.Front(); e != nil && !e.Value.(*storedResponse).expires.After(now); e = s.order.Front() { //nolint:forcetypeassert // nothing else is in the list
		s.drop(e)
	}
}

func (s *store) drop(e *list.Element) {
	r := s.order.Remove(e).(*storedResponse) //nolint:forcetypeassert // nothing else is in the list
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

// items yields all items of the response.
func (r *storedResponse) items(yield func(*item) bool) {
	for _, list := range [][]*item{r.input, r.output} {
		for _, it := range list {
			if !yield(it) {
				return
			}
		}
	}
}

// The approximate size, in bytes, of the store's own structures, in addition to the
// strings.
const (
	responseCost = 512
	itemCost     = 512
	partCost     = 64
	entryCost    = 8 // bytes of an item's entry in a response's list
)

func (r *storedResponse) cost() int64 {
	return int64(responseCost + len(r.body) + entryCost*(len(r.input)+len(r.output)))
}

// cost returns the approximate size of the item's fields in bytes.
func (it *item) cost() int64 {
	n := itemCost + len(it.id) + len(it.text) + len(it.callID) + len(it.name) + len(it.namespace) + len(it.raw) + len(it.sealed) + len(it.opened)
	for _, p := range it.parts {
		n += partCost + len(p.Text) + len(p.URL)
	}
	for _, s := range it.summary {
		n += partCost + len(s)
	}
	for _, t := range it.tools {
		n += partCost + len(t)
	}
	return int64(n)
}
