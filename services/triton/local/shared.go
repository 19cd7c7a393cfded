//go:build cgo && linux

package local

import (
	"context"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// SystemSharedMemoryStatus implements [inference.SharedMemory], as do the
// following methods. The regions are removed when the engine stops.
func (e *Engine) SystemSharedMemoryStatus(ctx context.Context, req *kserve.SystemSharedMemoryStatusRequest) (*kserve.SystemSharedMemoryStatusResponse, error) {
	return with(ctx, e, func(c *core) (*kserve.SystemSharedMemoryStatusResponse, error) {
		return c.regions.SystemSharedMemoryStatus(ctx, req)
	})
}

// SystemSharedMemoryRegister maps memory of the client.
func (e *Engine) SystemSharedMemoryRegister(ctx context.Context, req *kserve.SystemSharedMemoryRegisterRequest) (*kserve.SystemSharedMemoryRegisterResponse, error) {
	return with(ctx, e, func(c *core) (*kserve.SystemSharedMemoryRegisterResponse, error) {
		return c.regions.SystemSharedMemoryRegister(ctx, req)
	})
}

// SystemSharedMemoryUnregister unmaps the memory.
func (e *Engine) SystemSharedMemoryUnregister(ctx context.Context, req *kserve.SystemSharedMemoryUnregisterRequest) (*kserve.SystemSharedMemoryUnregisterResponse, error) {
	return with(ctx, e, func(c *core) (*kserve.SystemSharedMemoryUnregisterResponse, error) {
		return c.regions.SystemSharedMemoryUnregister(ctx, req)
	})
}

// CudaSharedMemoryStatus returns the registered regions of GPU memory.
func (e *Engine) CudaSharedMemoryStatus(ctx context.Context, req *kserve.CudaSharedMemoryStatusRequest) (*kserve.CudaSharedMemoryStatusResponse, error) {
	return with(ctx, e, func(c *core) (*kserve.CudaSharedMemoryStatusResponse, error) {
		return c.regions.CudaSharedMemoryStatus(ctx, req)
	})
}

// CudaSharedMemoryRegister opens GPU memory of the client.
func (e *Engine) CudaSharedMemoryRegister(ctx context.Context, req *kserve.CudaSharedMemoryRegisterRequest) (*kserve.CudaSharedMemoryRegisterResponse, error) {
	return with(ctx, e, func(c *core) (*kserve.CudaSharedMemoryRegisterResponse, error) {
		return c.regions.CudaSharedMemoryRegister(ctx, req)
	})
}

// CudaSharedMemoryUnregister closes the GPU memory.
func (e *Engine) CudaSharedMemoryUnregister(ctx context.Context, req *kserve.CudaSharedMemoryUnregisterRequest) (*kserve.CudaSharedMemoryUnregisterResponse, error) {
	return with(ctx, e, func(c *core) (*kserve.CudaSharedMemoryUnregisterResponse, error) {
		return c.regions.CudaSharedMemoryUnregister(ctx, req)
	})
}
