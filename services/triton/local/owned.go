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
	// ownedBytes is the minimum size of an output that Take returns without a copy. A
	// copy of a smaller output takes less time than the other work.
	ownedBytes = 64 << 10
	// mostOwned is the maximum total size of the taken outputs, in bytes. Further
	// outputs are copied. The garbage collector doesn't see this memory, and may keep
	// it until its next run.
	mostOwned = 256 << 20
)

// ownedNow is the total size of the taken outputs of all engines. Outputs may outlive
// their engine.
var ownedNow atomic.Int64 //nolint:gochecknoglobals // the limit applies to the whole process

// Take implements [inference.Owner].
func (s *stream) Take(output int) mem.Buffer {
	raw := s.response.Outputs[output].Raw
	if len(raw) < ownedBytes || output >= int(s.current.count) {
		return nil
	}
	from := &unsafe.Slice(s.current.outputs, s.current.count)[output]
	if unsafe.Pointer(unsafe.SliceData(raw)) != from.base {
		return nil // the output is from an extension, or in shared memory
	}
	if ownedNow.Add(int64(len(raw))) > mostOwned || !bool(C.tr_output_take(s.current, from)) {
		ownedNow.Add(-int64(len(raw)))
		return nil
	}
	o := &owned{raw: raw}
	o.lost = runtime.AddCleanup(o, free, raw)
	return mem.NewBuffer(&o.raw, o)
}

// owned is the memory of a taken output, which one buffer uses. Triton's response uses
// it too, as long as the response exists. owned is also the pool of the buffer, to
// which the buffer returns the memory.
type owned struct {
	raw  []byte
	lost runtime.Cleanup // frees memory that grpc-go doesn't release when a connection breaks
}

func free(raw []byte) {
	C.tr_output_free(unsafe.Pointer(unsafe.SliceData(raw)))
	ownedNow.Add(-int64(len(raw)))
}

// Get implements [mem.BufferPool]. It is never called.
func (*owned) Get(length int) *[]byte {
	b := make([]byte, length)
	return &b
}

// Put implements [mem.BufferPool]. It frees the output.
func (o *owned) Put(*[]byte) {
	o.lost.Stop()
	free(o.raw)
	runtime.KeepAlive(o)
}
