package main

// block is a part of a prompt in a server's cache, with what precedes it.
type block struct {
	key        uint64
	tokens     int
	refs       int    // running requests that use it
	prev, next *block // in the list of unused blocks
}

// kvCache is a server's KV cache. Blocks that no running request uses remain until their space
// is needed: then those go that were unused for longest, as in vLLM's prefix cache.
type kvCache struct {
	capacity int // tokens
	used     int // tokens of running requests
	unused   int // tokens of blocks that no running request uses
	blocks   map[uint64]*block
	list     block // of unused blocks: list.next is the first to go
	serial   uint64
}

func newKVCache(capacity int) *kvCache {
	c := &kvCache{capacity: capacity, blocks: map[uint64]*block{}}
	c.list.prev, c.list.next = &c.list, &c.list
	return c
}

// matched returns the number of leading parts of a prompt that are in the cache, and their
// tokens.
func (c *kvCache) matched(parts []part) (n, tokens int) {
	for _, p := range parts {
		if c.blocks[p.key] == nil {
			break
		}
		n++
		tokens += p.tokens
	}
	return n, tokens
}

// take marks a block as used by one more request. The block's tokens are counted in used.
func (c *kvCache) take(b *block) {
	if b.refs == 0 {
		b.prev.next, b.next.prev = b.next, b.prev
		c.unused -= b.tokens
		c.used += b.tokens
	}
	b.refs++
}

// release marks a block as used by one request less.
func (c *kvCache) release(b *block) {
	b.refs--
	if b.refs > 0 {
		return
	}
	c.used -= b.tokens
	c.unused += b.tokens
	last := c.list.prev
	b.prev, b.next = last, &c.list
	last.next, c.list.prev = b, b
}

// reserve counts tokens as used, and removes unused blocks if there is no space. It reports
// false if running requests use too much.
func (c *kvCache) reserve(tokens int) bool {
	if c.used+tokens > c.capacity {
		return false
	}
	c.used += tokens
	for c.used+c.unused > c.capacity {
		b := c.list.next
		b.prev.next, b.next.prev = b.next, b.prev
		c.unused -= b.tokens
		delete(c.blocks, b.key)
	}
	return true
}

// keep makes a block of tokens that were reserved and computed. If the cache has the block
// already, the request shares it and its own copy is given back.
func (c *kvCache) keep(p part) *block {
	c.used -= p.tokens
	b := c.blocks[p.key]
	if b == nil {
		b = &block{key: p.key, tokens: p.tokens, refs: 1}
		c.blocks[p.key] = b
		c.used += p.tokens
		return b
	}
	c.take(b)
	return b
}

// drop turns reserved tokens into an unused block that no prompt matches, such as those of an
// answer.
func (c *kvCache) drop(tokens int) {
	c.serial++
	b := &block{key: mix(c.serial ^ 0xa5a5a5a5a5a5a5a5), tokens: tokens, refs: 1}
	c.blocks[b.key] = b
	c.release(b)
}

// mix returns a number in which each bit depends on each bit of h (MurmurHash3's last step).
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
