package batching

import (
	"cmp"
	"slices"
)

// pool has waiting items by their padded length. Items are added and removed in constant time.
type pool struct {
	lists  []list
	count  int // number of items
	length int // length of all items together
}

// list has the items of a bucket, oldest first.
type list struct{ first, last *Item }

// Lengths up to exactLengths have a bucket each. Longer ones share it with lengthsPerBucket others, and
// the longest ones share the last bucket.
const (
	exactLengths     = 4096
	lengthsPerBucket = 256
	buckets          = exactLengths + 1024
)

func bucketOf(length int) int {
	if length < exactLengths {
		return length
	}
	return min(exactLengths+(length-exactLengths)/lengthsPerBucket, buckets-1)
}

func (p *pool) add(item *Item) {
	at := bucketOf(item.padded)
	for len(p.lists) <= at {
		p.lists = append(p.lists, list{})
	}
	l := &p.lists[at]
	item.prev, item.next, item.waits = l.last, nil, true
	if l.last == nil {
		l.first = item
	} else {
		l.last.next = item
	}
	l.last = item
	p.count++
	p.length += item.Length
}

func (p *pool) remove(item *Item) {
	l := &p.lists[bucketOf(item.padded)]
	if item.prev == nil {
		l.first = item.next
	} else {
		item.prev.next = item.next
	}
	if item.next == nil {
		l.last = item.prev
	} else {
		item.next.prev = item.prev
	}
	item.prev, item.next, item.waits = nil, nil, false
	p.count--
	p.length -= item.Length
}

// cursor walks over the items of a pool from a bucket on, in steps of one bucket.
type cursor struct {
	pool   *pool
	skip   *Item
	bucket int
	step   int
	next   *Item
}

// from returns a cursor on the first item from a bucket on.
func (p *pool) from(bucket, step int, skip *Item) *cursor {
	c := &cursor{pool: p, skip: skip, bucket: bucket - step, step: step}
	c.advance()
	return c
}

// advance moves to the next item. It is nil after the last one.
func (c *cursor) advance() {
	if c.next != nil {
		c.next = c.next.next
	}
	for {
		if c.next == c.skip && c.next != nil {
			c.next = c.next.next
		}
		if c.next != nil {
			return
		}
		c.bucket += c.step
		if c.bucket < 0 || c.bucket >= len(c.pool.lists) {
			return
		}
		c.next = c.pool.lists[c.bucket].first
	}
}

// At most one part in maxPadding of a batch is padding. A batch of at most one part in smallBatch of the
// maximum length may have more, because it costs the model little more than a single item.
const (
	maxPadding = 10
	smallBatch = 64
)

// window is a batch that is being cut.
type window struct {
	items   []*Item
	longest int // padded length of the longest item
	total   int // padded length of all items
}

// with returns the length of the window with one more item, and the part of it by which the items' lengths
// differ. Padding that each item has by itself isn't part of that.
func (w *window) with(item *Item) (padded, padding int) {
	padded = max(w.longest, item.padded) * (len(w.items) + 1)
	return padded, padded - w.total - item.padded
}

func (w *window) add(item *Item) {
	w.items = append(w.items, item)
	w.longest = max(w.longest, item.padded)
	w.total += item.padded
}

// cut returns the batch of an item: with it, those of the nearest lengths, as long as there is little
// padding. It also reports whether the batch has reached a maximum.
func (q *Queue) cut(anchor *Item) (items []*Item, full bool) {
	w := &window{}
	w.add(anchor)
	at := bucketOf(anchor.padded)
	down, up := q.waiting.from(at, -1, anchor), q.waiting.from(at+1, 1, nil)
	for {
		if len(w.items) == q.config.MaxItems {
			return w.items, true
		}
		c := w.nearer(down, up)
		if c == nil {
			return q.preferred(w.items), full
		}
		padded, padding := w.with(c.next)
		tooLong := q.config.MaxLength > 0 && padded > q.config.MaxLength
		wasteful := padding*maxPadding > padded && padded*smallBatch > cmp.Or(q.config.MaxLength, exactLengths)
		if tooLong || wasteful {
			full = full || tooLong
			c.next, c.bucket, c.step = nil, -1, -1 // the items after it are further away
			continue
		}
		w.add(c.next)
		c.advance()
	}
}

// nearer returns the cursor whose item adds less padding, or nil if none is left.
func (w *window) nearer(down, up *cursor) *cursor {
	switch {
	case down.next == nil && up.next == nil:
		return nil
	case down.next == nil:
		return up
	case up.next == nil:
		return down
	}
	_, below := w.with(down.next)
	_, above := w.with(up.next)
	if above < below {
		return up
	}
	return down
}

// preferred shortens a batch to the highest preferred number of items. The items that were added last,
// whose lengths differ most, stay in the queue.
func (q *Queue) preferred(items []*Item) []*Item {
	for _, n := range slices.Backward(q.config.Preferred) {
		if n <= len(items) {
			return items[:n]
		}
	}
	return items
}
