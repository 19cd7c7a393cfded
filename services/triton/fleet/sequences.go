package fleet

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// maxMoved is the maximum number of sequences that are remembered because they didn't start at their
// home. Further ones fail when their home is resumed before they end.
const maxMoved = 1 << 16

// sequences are the sequences that started while their home was drained. The requests of a sequence
// go to one endpoint, which has the sequence's state: its home, or the one where it started. The
// methods may be called concurrently.
type sequences struct {
	count atomic.Int64 // length of moved

	mu    sync.Mutex
	moved map[string]*member // the endpoint of a sequence, by model and id
}

// choose returns the endpoint of a request of a sequence: sequences start at endpoints that aren't
// drained, and those that run on a drained endpoint continue there. It returns nil if there is none.
func (s *sequences) choose(r *run, c *candidates) *member {
	if len(c.drained) == 0 && s.count.Load() == 0 {
		return homeOf(c.members, r.sequence)
	}
	all := slices.Concat(c.members, c.drained)
	key := r.model + "\x00" + r.sequence
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.moved[key]
	switch {
	case r.starts:
		m = homeOf(c.members, r.sequence)
		if m == nil || r.ends || m == homeOf(all, r.sequence) || len(s.moved) >= maxMoved {
			delete(s.moved, key)
			break
		}
		if s.moved == nil {
			s.moved = map[string]*member{}
		}
		s.moved[key] = m
	case !slices.Contains(all, m):
		m = homeOf(all, r.sequence)
	}
	if r.ends {
		delete(s.moved, key)
	}
	s.count.Store(int64(len(s.moved)))
	return m
}

// isSet reports whether a parameter of a request is true.
func isSet(req *kserve.ModelInferRequest, name string) bool {
	return req.GetParameters()[name].GetBoolParam()
}
