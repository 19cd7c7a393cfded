package triton

import (
	"context"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton/extension"
)

// SystemSharedMemoryStatus implements [inference.SharedMemory], as do the methods
// after it. The memory is that of the server's host.
func (e *Engine) SystemSharedMemoryStatus(ctx context.Context, req *kserve.SystemSharedMemoryStatusRequest) (*kserve.SystemSharedMemoryStatusResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.SystemSharedMemoryStatus, req)
}

// SystemSharedMemoryRegister has the server map memory that the client shares.
func (e *Engine) SystemSharedMemoryRegister(ctx context.Context, req *kserve.SystemSharedMemoryRegisterRequest) (*kserve.SystemSharedMemoryRegisterResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.SystemSharedMemoryRegister, req)
}

// SystemSharedMemoryUnregister has it let go of the memory.
func (e *Engine) SystemSharedMemoryUnregister(ctx context.Context, req *kserve.SystemSharedMemoryUnregisterRequest) (*kserve.SystemSharedMemoryUnregisterResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.SystemSharedMemoryUnregister, req)
}

// CudaSharedMemoryStatus tells of memory of GPUs.
func (e *Engine) CudaSharedMemoryStatus(ctx context.Context, req *kserve.CudaSharedMemoryStatusRequest) (*kserve.CudaSharedMemoryStatusResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.CudaSharedMemoryStatus, req)
}

// CudaSharedMemoryRegister has the server open memory of a GPU.
func (e *Engine) CudaSharedMemoryRegister(ctx context.Context, req *kserve.CudaSharedMemoryRegisterRequest) (*kserve.CudaSharedMemoryRegisterResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.CudaSharedMemoryRegister, req)
}

// CudaSharedMemoryUnregister has it let go of the memory.
func (e *Engine) CudaSharedMemoryUnregister(ctx context.Context, req *kserve.CudaSharedMemoryUnregisterRequest) (*kserve.CudaSharedMemoryUnregisterResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.CudaSharedMemoryUnregister, req)
}

// sharedOutputs are the places in shared memory of a request's outputs, of which
// tritonserver's responses say nothing; nil for none. What is wrong with the
// parameters the server says.
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

// mark says of the outputs that are in shared memory where they are.
func mark(outputs []inference.Output, shared map[string]*inference.SharedRegion) {
	for i := range outputs {
		if part := shared[outputs[i].Name]; part != nil {
			outputs[i].Raw, outputs[i].Shared = nil, part
		}
	}
}
