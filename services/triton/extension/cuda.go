package extension

import (
	"context"
	"errors"
	"fmt"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// ErrNoGPU is returned when this process can't use a GPU.
var ErrNoGPU = errors.New("GPUs not supported")

// HandleSize is the size of a cudaIpcMemHandle_t in bytes.
const HandleSize = 64

// CudaSharedMemoryRegister opens GPU memory that the client has exported.
func (r *Registry) CudaSharedMemoryRegister(_ context.Context, req *kserve.CudaSharedMemoryRegisterRequest) (*kserve.CudaSharedMemoryRegisterResponse, error) {
	if r.cuda == nil {
		return nil, errNoGPU(req.GetName())
	}
	err := r.add(req.GetName(), func() (*region, error) { return r.openCUDA(req) })
	return &kserve.CudaSharedMemoryRegisterResponse{}, err
}

func errNoGPU(name string) error {
	return invalid("failed to register CUDA shared memory region: '%s', GPUs not supported", name)
}

func (r *Registry) openCUDA(req *kserve.CudaSharedMemoryRegisterRequest) (*region, error) {
	handle := req.GetRawHandle()
	if len(handle) != HandleSize {
		return nil, invalid("failed to register shared memory region: invalid args")
	}
	address, size, err := r.cuda.Open(handle, req.GetDeviceId())
	switch {
	case errors.Is(err, ErrNoGPU):
		return nil, errNoGPU(req.GetName())
	case err != nil:
		return nil, &inference.Error{Code: inference.CodeInvalid, Message: "failed to register shared memory region: invalid args", Err: err}
	case req.GetByteSize() > size:
		err := fmt.Errorf("the CUDA memory of the handle has only %d bytes", size)
		return nil, &inference.Error{
			Code:    inference.CodeInvalid,
			Message: fmt.Sprintf("failed to register shared memory region '%s': invalid args", req.GetName()),
			Err:     errors.Join(err, r.cuda.Close(address)),
		}
	}
	return &region{cuda: r.cuda, device: req.GetDeviceId(), handle: handle, address: address, size: req.GetByteSize()}, nil
}

// CudaSharedMemoryStatus returns one registered region of GPU memory, or all of
// them.
func (r *Registry) CudaSharedMemoryStatus(_ context.Context, req *kserve.CudaSharedMemoryStatusRequest) (*kserve.CudaSharedMemoryStatusResponse, error) {
	answer := &kserve.CudaSharedMemoryStatusResponse{Regions: map[string]*kserve.CudaSharedMemoryStatusResponse_RegionStatus{}}
	err := r.status(req.GetName(), true, func(name string, found *region) {
		answer.Regions[name] = &kserve.CudaSharedMemoryStatusResponse_RegionStatus{
			Name: name, DeviceId: uint64(found.device), ByteSize: found.size,
		}
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// CudaSharedMemoryUnregister removes one region of GPU memory, or all of them.
// A missing region isn't an error.
func (r *Registry) CudaSharedMemoryUnregister(_ context.Context, req *kserve.CudaSharedMemoryUnregisterRequest) (*kserve.CudaSharedMemoryUnregisterResponse, error) {
	return &kserve.CudaSharedMemoryUnregisterResponse{}, r.unregister(req.GetName(), true)
}
