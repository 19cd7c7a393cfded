//go:build cgo && linux

package local

import (
	"context"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// SystemSharedMemoryStatus implements [inference.SharedMemory], as do the
// methods after it. The regions are gone when the engine stops.
func (e *Engine) SystemSharedMemoryStatus(ctx context.Context, req *kserve.SystemSharedMemoryStatusRequest) (*kserve.SystemSharedMemoryStatusResponse, error) {
	return with(ctx, e, func(c *core) (*kserve.SystemSharedMemoryStatusResponse, error) {
		return c.regions.SystemSharedMemoryStatus(ctx, req)
	})
}

// SystemSharedMemoryRegister maps memory that the client shares.
func (e *Engine) SystemSharedMemoryRegister(ctx context.Context, req *kserve.SystemSharedMemoryRegisterRequest) (*kserve.SystemSharedMemoryRegisterResponse, error) {
	return with(ctx, e, func(c *core) (*kserve.SystemSharedMemoryRegisterResponse, error) {
		return c.regions.SystemSharedMemoryRegister(ctx, req)
	})
}

// SystemSharedMemoryUnregister lets go of it.
func (e *Engine) SystemSharedMemoryUnregister(ctx context.Context, req *kserve.SystemSharedMemoryUnregisterRequest) (*kserve.SystemSharedMemoryUnregisterResponse, error) {
	return with(ctx, e, func(c *core) (*kserve.SystemSharedMemoryUnregisterResponse, error) {
		return c.regions.SystemSharedMemoryUnregister(ctx, req)
	})
}

// CudaSharedMemoryStatus tells of memory of GPUs.
func (e *Engine) CudaSharedMemoryStatus(ctx context.Context, req *kserve.CudaSharedMemoryStatusRequest) (*kserve.CudaSharedMemoryStatusResponse, error) {
	return with(ctx, e, func(c *core) (*kserve.CudaSharedMemoryStatusResponse, error) {
		return c.regions.CudaSharedMemoryStatus(ctx, req)
	})
}

// CudaSharedMemoryRegister opens memory of a GPU that the client shares.
func (e *Engine) CudaSharedMemoryRegister(ctx context.Context, req *kserve.CudaSharedMemoryRegisterRequest) (*kserve.CudaSharedMemoryRegisterResponse, error) {
	return with(ctx, e, func(c *core) (*kserve.CudaSharedMemoryRegisterResponse, error) {
		return c.regions.CudaSharedMemoryRegister(ctx, req)
	})
}

// CudaSharedMemoryUnregister lets go of it.
func (e *Engine) CudaSharedMemoryUnregister(ctx context.Context, req *kserve.CudaSharedMemoryUnregisterRequest) (*kserve.CudaSharedMemoryUnregisterResponse, error) {
	return with(ctx, e, func(c *core) (*kserve.CudaSharedMemoryUnregisterResponse, error) {
		return c.regions.CudaSharedMemoryUnregister(ctx, req)
	})
}
