package triton

import (
	"context"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton/extension"
)

// SystemSharedMemoryStatus implements [inference.SharedMemory], as do the
// following methods. The memory is on the server's host.
func (e *Engine) SystemSharedMemoryStatus(ctx context.Context, req *kserve.SystemSharedMemoryStatusRequest) (*kserve.SystemSharedMemoryStatusResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.SystemSharedMemoryStatus, req)
}

// SystemSharedMemoryRegister maps memory of the client in the server.
func (e *Engine) SystemSharedMemoryRegister(ctx context.Context, req *kserve.SystemSharedMemoryRegisterRequest) (*kserve.SystemSharedMemoryRegisterResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.SystemSharedMemoryRegister, req)
}

// SystemSharedMemoryUnregister unmaps the memory in the server.
func (e *Engine) SystemSharedMemoryUnregister(ctx context.Context, req *kserve.SystemSharedMemoryUnregisterRequest) (*kserve.SystemSharedMemoryUnregisterResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.SystemSharedMemoryUnregister, req)
}

// CudaSharedMemoryStatus returns the registered regions of GPU memory.
func (e *Engine) CudaSharedMemoryStatus(ctx context.Context, req *kserve.CudaSharedMemoryStatusRequest) (*kserve.CudaSharedMemoryStatusResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.CudaSharedMemoryStatus, req)
}

// CudaSharedMemoryRegister opens GPU memory of the client in the server.
func (e *Engine) CudaSharedMemoryRegister(ctx context.Context, req *kserve.CudaSharedMemoryRegisterRequest) (*kserve.CudaSharedMemoryRegisterResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.CudaSharedMemoryRegister, req)
}

// CudaSharedMemoryUnregister closes the GPU memory in the server.
func (e *Engine) CudaSharedMemoryUnregister(ctx context.Context, req *kserve.CudaSharedMemoryUnregisterRequest) (*kserve.CudaSharedMemoryUnregisterResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.CudaSharedMemoryUnregister, req)
}

// sharedOutputs returns the regions of shared memory for a request's outputs by
// name, or nil if no output has one. tritonserver's responses don't contain
// them. Invalid parameters are ignored here: the server returns the error.
func sharedOutputs(req *kserve.ModelInferRequest) map[string]*inference.SharedRegion {
	var shared map[string]*inference.SharedRegion
	for _, out := range req.GetOutputs() {
		part, err := extension.Parameters(out.GetParameters()).Shared(out.GetName())
		if err != nil || part == nil {
			continue
		}
		if shared == nil {
			shared = make(map[string]*inference.SharedRegion)
		}
		shared[out.GetName()] = part
	}
	return shared
}

// mark sets the region of each output that is in shared memory.
func mark(outputs []inference.Output, shared map[string]*inference.SharedRegion) {
	for i := range outputs {
		if part := shared[outputs[i].Name]; part != nil {
			outputs[i].Raw, outputs[i].Shared = nil, part
		}
	}
}
