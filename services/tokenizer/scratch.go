package tokenizer

import "slices"

// wordScratch is the buffer in which a word becomes tokens. It has a linked list
// of symbols, so that joining two is cheap, and a heap of the pairs that can be
// joined. A word of n characters takes time n log n.
type wordScratch struct {
	text, char []byte
	symbols    []symbol
	// heap is a min-heap of rank of a pair's merge << 32 | index of its left
	// symbol. Entries whose pair no longer exists are skipped.
	heap  []uint64
	path  path // buffers of a Unigram model's search
	watch watch
}

// symbol is a token in the word. next and prev are indices, and -1 at the ends.
type symbol struct{ id, prev, next int32 }

// joinedID is the id of a symbol that was joined to the previous one.
const joinedID = -1

func (s *wordScratch) push(id int32) {
	n := int32(len(s.symbols))
	if n > 0 {
		s.symbols[n-1].next = n
	}
	s.symbols = append(s.symbols, symbol{id, n - 1, -1})
}

// append appends the tokens to ids.
func (s *wordScratch) append(ids []int32) []int32 {
	ids = slices.Grow(ids, s.count())
	for i := range s.symbols {
		if id := s.symbols[i].id; id != joinedID {
			ids = append(ids, id)
		}
	}
	return ids
}

// count returns the number of tokens.
func (s *wordScratch) count() int {
	n := 0
	for i := range s.symbols {
		if s.symbols[i].id != joinedID {
			n++
		}
	}
	return n
}

// collect returns the tokens in a new slice.
func (s *wordScratch) collect() []int32 { return s.append(nil) }

// mergeWork is the work of a merge, in approximate bytes of text.
const mergeWork = 4

// join applies merges until none applies any more, or the watch ends.
func (s *wordScratch) join(merges map[pair]merge) {
	s.heap = slices.Grow(s.heap[:0], len(s.symbols))
	for i := range len(s.symbols) - 1 {
		if i%checkEvery == checkEvery-1 && !s.watch.proceed(checkEvery) {
			return
		}
		if m, ok := merges[pair{s.symbols[i].id, s.symbols[i+1].id}]; ok {
			s.heap = append(s.heap, uint64(m.rank)<<32|uint64(i))
		}
	}
	for i := len(s.heap)/2 - 1; i >= 0; i-- {
		s.sink(i)
	}
	for len(s.heap) > 0 && s.watch.proceed(mergeWork) {
		top := s.pop()
		at := int32(top & 0xffffffff)
		left := &s.symbols[at]
		if left.id == joinedID || left.next < 0 {
			continue
		}
		right := &s.symbols[left.next]
		m, ok := merges[pair{left.id, right.id}]
		if !ok || uint64(m.rank) != top>>32 {
			continue
		}
		left.id, left.next, right.id = m.id, right.next, joinedID
		if left.next >= 0 {
			s.symbols[left.next].prev = at
			s.offer(at, merges)
		}
		if left.prev >= 0 {
			s.offer(left.prev, merges)
		}
	}
}

// offer puts the pair at an index on the heap, if it can be joined.
func (s *wordScratch) offer(at int32, merges map[pair]merge) {
	left := s.symbols[at]
	m, ok := merges[pair{left.id, s.symbols[left.next].id}]
	if !ok {
		return
	}
	s.heap = append(s.heap, uint64(m.rank)<<32|uint64(at))
	for i := len(s.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if s.heap[parent] <= s.heap[i] {
			break
		}
		s.heap[parent], s.heap[i] = s.heap[i], s.heap[parent]
		i = parent
	}
}

func (s *wordScratch) pop() uint64 {
	top, last := s.heap[0], len(s.heap)-1
	s.heap[0] = s.heap[last]
	s.heap = s.heap[:last]
	s.sink(0)
	return top
}

// sink moves an entry below smaller entries.
func (s *wordScratch) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(s.heap) {
			return
		}
		if child+1 < len(s.heap) && s.heap[child+1] < s.heap[child] {
			child++
		}
		if s.heap[i] <= s.heap[child] {
			return
		}
		s.heap[i], s.heap[child] = s.heap[child], s.heap[i]
		i = child
	}
}
