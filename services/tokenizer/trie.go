package tokenizer

import (
	"maps"
	"slices"
)

// trie is the tokens of a vocabulary as a double array. The child of a node over a
// byte is the cell at the node's base plus the byte, if that cell has the node as
// its parent.
type trie struct{ cells []cell }

// cell is a node of a trie, or a free cell.
type cell struct {
	base   int32
	parent int32 // noCell for a free cell
	id     int32 // id of the token that ends here, or noToken
}

const (
	noCell  = -1
	noToken = -1
	rootOf  = -2 // the parent of the root
)

// newTrie builds the trie of the tokens that aren't empty.
func newTrie(ids map[string]int32) *trie {
	b := trieBuilder{tokens: slices.Sorted(maps.Keys(ids)), ids: ids}
	b.grow(1 << 8)
	b.take(0, rootOf)
	b.todo = []subtree{{node: 0, from: 0, to: len(b.tokens)}}
	for len(b.todo) > 0 {
		last := len(b.todo) - 1
		s := b.todo[last]
		b.todo = b.todo[:last]
		b.build(s)
	}
	return &trie{b.cells}
}

// longest returns the longest token that is a prefix of a text. Its length is 0 if there is
// none.
func (t *trie) longest(text string) (id int32, length int) {
	node := int32(0)
	for i := range len(text) {
		child := t.cells[node].base + int32(text[i])
		if t.cells[child].parent != node {
			break
		}
		if node = child; t.cells[node].id != noToken {
			id, length = t.cells[node].id, i+1
		}
	}
	return id, length
}

// trieBuilder places nodes in the cells. Free cells are a list in the order of their
// indices.
type trieBuilder struct {
	cells      []cell
	next, prev []int32 // neighbors of a free cell; noCell at the ends
	first      int32   // first free cell
	last       int32   // last free cell
	tokens     []string
	ids        map[string]int32
	todo       []subtree
	bytes      []byte // bytes of a node's children
}

// subtree is a node whose children aren't placed yet. The children are in the tokens
// from..to, which share their first depth bytes.
type subtree struct {
	node            int32
	from, to, depth int
}

// grow appends free cells. A lookup reads up to 255 cells after a base.
func (b *trieBuilder) grow(n int) {
	if len(b.cells) == 0 {
		b.first, b.last = noCell, noCell
	}
	for range n {
		i := int32(len(b.cells))
		b.cells = append(b.cells, cell{parent: noCell, id: noToken})
		b.next, b.prev = append(b.next, noCell), append(b.prev, b.last)
		if b.last == noCell {
			b.first = i
		} else {
			b.next[b.last] = i
		}
		b.last = i
	}
}

func (b *trieBuilder) take(i, parent int32) {
	b.cells[i].parent = parent
	next, prev := b.next[i], b.prev[i]
	if prev == noCell {
		b.first = next
	} else {
		b.next[prev] = next
	}
	if next == noCell {
		b.last = prev
	} else {
		b.prev[next] = prev
	}
}

func (b *trieBuilder) build(s subtree) {
	if s.from < s.to && len(b.tokens[s.from]) == s.depth {
		if s.depth > 0 {
			b.cells[s.node].id = b.ids[b.tokens[s.from]]
		}
		s.from++
	}
	b.bytes = b.bytes[:0]
	for i := s.from; i < s.to; i++ {
		if c := b.tokens[i][s.depth]; len(b.bytes) == 0 || b.bytes[len(b.bytes)-1] != c {
			b.bytes = append(b.bytes, c)
		}
	}
	if len(b.bytes) == 0 {
		return
	}
	base := b.place()
	b.cells[s.node].base = base
	from := s.from
	for _, c := range b.bytes {
		to := from
		for to < s.to && b.tokens[to][s.depth] == c {
			to++
		}
		b.take(base+int32(c), s.node)
		b.todo = append(b.todo, subtree{base + int32(c), from, to, s.depth + 1})
		from = to
	}
}

// maxTries limits the search for a base. After that, the base is after all cells.
const maxTries = 256

// place returns a base for which the cells of all bytes are free.
func (b *trieBuilder) place() int32 {
	tries := 0
	for i := b.first; i != noCell && tries < maxTries; i = b.next[i] {
		base := i - int32(b.bytes[0])
		if base >= 0 && b.fits(base) {
			return base
		}
		tries++
	}
	base := int32(len(b.cells))
	b.grow(1 << 9)
	return base
}

// fits reports whether the cells of all bytes after a base are free. It appends
// cells until every cell that a lookup may read exists.
func (b *trieBuilder) fits(base int32) bool {
	if missing := int(base) + 1<<8 - len(b.cells); missing > 0 {
		b.grow(missing)
	}
	for _, c := range b.bytes {
		if b.cells[base+int32(c)].parent != noCell {
			return false
		}
	}
	return true
}
