package kserve_test

import (
	"testing"

	"github.com/trident-inference/trident/services/kserve"
)

// TestPool: what is lent has the length that was asked for, whatever came back.
func TestPool(t *testing.T) {
	pool := kserve.NewBufferPool()
	for _, length := range []int{0, 1, 1023, 1024, 1025, 1 << 20, 1<<20 + 60, 1<<20 + 10, 3, 0} {
		b := pool.Get(length)
		if len(*b) != length {
			t.Errorf("%d bytes instead of %d", len(*b), length)
		}
		*b = (*b)[:length/2] // as a response that came out shorter
		pool.Put(b)
	}
}
