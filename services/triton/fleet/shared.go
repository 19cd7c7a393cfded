package fleet

import (
	"context"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/triton"
)

// onOnly calls a method of the only endpoint.
func onOnly[Req, Res any](ctx context.Context, e *Engine, method func(*triton.Engine, context.Context, *Req) (*Res, error), req *Req) (*Res, error) {
	one, err := e.only(ctx)
	if err != nil {
		return nil, err
	}
	return method(one, ctx, req)
}

// SystemSharedMemoryStatus implements [inference.SharedMemory], as do the following methods. With
// several endpoints they are [inference.CodeUnsupported].
func (e *Engine) SystemSharedMemoryStatus(ctx context.Context, req *kserve.SystemSharedMemoryStatusRequest) (*kserve.SystemSharedMemoryStatusResponse, error) {
	return onOnly(ctx, e, (*triton.Engine).SystemSharedMemoryStatus, req)
}

// SystemSharedMemoryRegister maps memory of the client in the server.
func (e *Engine) SystemSharedMemoryRegister(ctx context.Context, req *kserve.SystemSharedMemoryRegisterRequest) (*kserve.SystemSharedMemoryRegisterResponse, error) {
	return onOnly(ctx, e, (*triton.Engine).SystemSharedMemoryRegister, req)
}

// SystemSharedMemoryUnregister unmaps the memory in the server.
func (e *Engine) SystemSharedMemoryUnregister(ctx context.Context, req *kserve.SystemSharedMemoryUnregisterRequest) (*kserve.SystemSharedMemoryUnregisterResponse, error) {
	return onOnly(ctx, e, (*triton.Engine).SystemSharedMemoryUnregister, req)
}

// CudaSharedMemoryStatus returns the registered regions of GPU memory.
func (e *Engine) CudaSharedMemoryStatus(ctx context.Context, req *kserve.CudaSharedMemoryStatusRequest) (*kserve.CudaSharedMemoryStatusResponse, error) {
	return onOnly(ctx, e, (*triton.Engine).CudaSharedMemoryStatus, req)
}

// CudaSharedMemoryRegister opens GPU memory of the client in the server.
func (e *Engine) CudaSharedMemoryRegister(ctx context.Context, req *kserve.CudaSharedMemoryRegisterRequest) (*kserve.CudaSharedMemoryRegisterResponse, error) {
	return onOnly(ctx, e, (*triton.Engine).CudaSharedMemoryRegister, req)
}

// CudaSharedMemoryUnregister closes the GPU memory in the server.
func (e *Engine) CudaSharedMemoryUnregister(ctx context.Context, req *kserve.CudaSharedMemoryUnregisterRequest) (*kserve.CudaSharedMemoryUnregisterResponse, error) {
	return onOnly(ctx, e, (*triton.Engine).CudaSharedMemoryUnregister, req)
}
