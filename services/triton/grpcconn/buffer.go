package grpcconn

import "sync"

// buffer is memory that holds messages for a consumer. Streams have buffers only while they hold
// bytes: a stream that waits for its next message has none. A nil buffer is empty.
type buffer struct{ bytes []byte }

// Sizes of buffers are powers of two from leastBuffer on, in bytes. Those of the first keptSizes
// sizes, which end at streamWindow, are kept for reuse.
const (
	leastBuffer = 4 << 10
	keptSizes   = 9
)

// buffers are the buffers that no stream has, by size. The garbage collector frees those that aren't
// used for a while.
var buffers [keptSizes]sync.Pool //nolint:gochecknoglobals // shared so that all connections reuse them

// sizeFor returns the smallest size for n bytes, and its number.
func sizeFor(n int) (size, number int) {
	for size = leastBuffer; size < n; size *= 2 {
		number++
	}
	return size, number
}

// newBuffer returns an empty buffer with room for n bytes.
func newBuffer(n int) *buffer {
	size, number := sizeFor(n)
	if number < keptSizes {
		if b, ok := buffers[number].Get().(*buffer); ok {
			b.bytes = b.bytes[:0]
			return b
		}
	}
	return &buffer{make([]byte, 0, size)}
}

// add returns a buffer with the bytes of b and the data. The caller must not use b afterwards.
func (b *buffer) add(data []byte) *buffer {
	if len(data) == 0 {
		return b
	}
	held := b.content()
	if b == nil || cap(held)-len(held) < len(data) {
		larger := newBuffer(len(held) + len(data))
		larger.bytes = append(larger.bytes, held...)
		b.free()
		b = larger
	}
	b.bytes = append(b.bytes, data...)
	return b
}

// free ends the use of the buffer.
func (b *buffer) free() {
	if b == nil {
		return
	}
	if _, number := sizeFor(cap(b.bytes)); number < keptSizes {
		buffers[number].Put(b)
	}
}

// content returns the buffer's bytes.
func (b *buffer) content() []byte {
	if b == nil {
		return nil
	}
	return b.bytes
}
