package kserve

import (
	"math/bits"
	"sync"

	"google.golang.org/grpc/mem"
)

// replies lends the buffers that responses are encoded into.
var replies mem.BufferPool = new(bufferPool) //nolint:gochecknoglobals // shared so that what one call is done with serves the next

// bufferPool is a [mem.BufferPool] that leaves buffers as they come back. grpc-go's
// own clears them, which takes as long as to fill one with a large tensor. It may be
// used concurrently.
type bufferPool struct{ sizes [bits.UintSize + 1]sync.Pool } // by how many bits the capacity has

// Get lends a buffer with any content.
func (p *bufferPool) Get(length int) *[]byte {
	if b, ok := p.sizes[bits.Len(uint(length))].Get().(*[]byte); ok && cap(*b) >= length {
		*b = (*b)[:length]
		return b
	}
	b := make([]byte, length)
	return &b
}

// Put takes it back.
func (p *bufferPool) Put(b *[]byte) { p.sizes[bits.Len(uint(cap(*b)))].Put(b) }
