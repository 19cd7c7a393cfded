//go:build cgo && linux

package local

/*
#include "cuda.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"unsafe"

	"github.com/trident-inference/trident/services/triton/extension"
)

// cudaRuntime opens GPU memory with libcudart, which is loaded once in a
// process.
type cudaRuntime struct{}

var _ extension.CUDA = cudaRuntime{}

// loadCUDA opens the library when a client first registers GPU memory.
var loadCUDA = sync.OnceValue(func() error { //nolint:gochecknoglobals // the process has one library
	if text := C.tr_cuda_load(); text != nil {
		return fmt.Errorf("%w: %s", extension.ErrNoGPU, takeText(text))
	}
	return nil
})

// Open implements [extension.CUDA].
func (cudaRuntime) Open(handle []byte, device int64) (address unsafe.Pointer, size uint64, err error) {
	if err := loadCUDA(); err != nil {
		return nil, 0, err
	}
	if device < 0 || device > math.MaxInt32 {
		return nil, 0, fmt.Errorf("there is no GPU %d", device)
	}
	var bytes C.size_t
	if text := C.tr_cuda_open(unsafe.Pointer(unsafe.SliceData(handle)), C.int(device), &address, &bytes); text != nil {
		return nil, 0, errors.New(takeText(text))
	}
	return address, uint64(bytes), nil
}

// Close implements [extension.CUDA].
func (cudaRuntime) Close(address unsafe.Pointer) error {
	if text := C.tr_cuda_close(address); text != nil {
		return errors.New(takeText(text))
	}
	return nil
}
