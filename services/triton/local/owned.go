//go:build cgo && linux

package local

/*
#include "shim.h"
*/
import "C"

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"google.golang.org/grpc/mem"
)

const (
	// ownedBytes is from which size on an output isn't copied for who keeps it: below,
	// a copy takes less time than what else is to be done.
	ownedBytes = 64 << 10
	// mostOwned bounds the bytes of all outputs that are kept: more are copied. It is
	// memory that the garbage collector doesn't see, and may be kept until it runs.
	mostOwned = 256 << 20
)

// ownedNow is how many bytes of outputs are kept, of all engines, which they outlive.
var ownedNow atomic.Int64 //nolint:gochecknoglobals // memory is the process's

// Take implements [inference.Owner].
func (s *stream) Take(output int) mem.Buffer {
	raw := s.response.Outputs[output].Raw
	if len(raw) < ownedBytes || output >= int(s.current.count) {
		return nil
	}
	from := &unsafe.Slice(s.current.outputs, s.current.count)[output]
	if unsafe.Pointer(unsafe.SliceData(raw)) != from.base {
		return nil // it is an extension's, or shared
	}
	if ownedNow.Add(int64(len(raw))) > mostOwned || !bool(C.tr_output_take(s.current, from)) {
		ownedNow.Add(-int64(len(raw)))
		return nil
	}
	o := &owned{raw: raw}
	o.lost = runtime.AddCleanup(o, free, raw)
	return mem.NewBuffer(&o.raw, o)
}

// owned is the memory of an output that its one buffer has, beside Triton's response as
// long as there is one. It is the pool of the buffer, which gives it back.
type owned struct {
	raw  []byte
	lost runtime.Cleanup // frees what grpc-go forgets when a connection breaks
}

func free(raw []byte) {
	C.tr_output_free(unsafe.Pointer(unsafe.SliceData(raw)))
	ownedNow.Add(-int64(len(raw)))
}

// Get implements [mem.BufferPool]. Nobody asks.
func (*owned) Get(length int) *[]byte {
	b := make([]byte, length)
	return &b
}

// Put implements it.
func (o *owned) Put(*[]byte) {
	o.lost.Stop()
	free(o.raw)
	runtime.KeepAlive(o)
}
