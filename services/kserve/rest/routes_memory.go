package rest

import (
	"encoding/base64"
	"net/http"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/kserve/tensorjson"
)

// GetSystemSharedMemoryStatus lists the regions of system memory.
func (h *Handler) GetSystemSharedMemoryStatus(w http.ResponseWriter, r *http.Request) {
	h.GetSystemSharedMemoryRegionStatus(w, r, "")
}

// GetSystemSharedMemoryRegionStatus describes a region of system memory.
func (h *Handler) GetSystemSharedMemoryRegionStatus(w http.ResponseWriter, r *http.Request, region string) {
	respond(w, r, h.service.SystemSharedMemoryStatus, &api.SystemSharedMemoryStatusRequest{Name: region}, func(answer *api.SystemSharedMemoryStatusResponse) any {
		return messagesJSON(inOrder(answer.GetRegions()), complete)
	})
}

// RegisterSystemSharedMemory always returns an error, since the region has no
// name.
func (h *Handler) RegisterSystemSharedMemory(w http.ResponseWriter, r *http.Request) {
	fail(w, r, tensorjson.Invalid("'region name' is necessary to register system shared memory region"))
}

// RegisterSystemSharedMemoryRegion registers a region of system memory.
func (h *Handler) RegisterSystemSharedMemoryRegion(w http.ResponseWriter, r *http.Request, region string) {
	req := &api.SystemSharedMemoryRegisterRequest{Name: region}
	body, err := readObject(r, false)
	if err == nil {
		err = readSystemRegion(body, req)
	}
	if err != nil {
		fail(w, r, err)
		return
	}
	perform(w, r, h.service.SystemSharedMemoryRegister, req)
}

func readSystemRegion(body object, req *api.SystemSharedMemoryRegisterRequest) (err error) {
	if !body.has("key") {
		return errNoField("key")
	}
	if req.Key, err = body.text("key"); err != nil {
		return err
	}
	if body.has("offset") {
		if req.Offset, err = body.unsigned("offset"); err != nil {
			return err
		}
	}
	if !body.has("byte_size") {
		return errNoField("byte_size")
	}
	req.ByteSize, err = body.unsigned("byte_size")
	return err
}

func errNoField(name string) error {
	return tensorjson.Invalid("Shared memory register request has no '%s' field", name)
}

// UnregisterSystemSharedMemory unregisters all regions of system memory.
func (h *Handler) UnregisterSystemSharedMemory(w http.ResponseWriter, r *http.Request) {
	h.UnregisterSystemSharedMemoryRegion(w, r, "")
}

// UnregisterSystemSharedMemoryRegion unregisters a region of system memory.
func (h *Handler) UnregisterSystemSharedMemoryRegion(w http.ResponseWriter, r *http.Request, region string) {
	perform(w, r, h.service.SystemSharedMemoryUnregister, &api.SystemSharedMemoryUnregisterRequest{Name: region})
}

// GetCUDASharedMemoryStatus lists the regions of GPU memory.
func (h *Handler) GetCUDASharedMemoryStatus(w http.ResponseWriter, r *http.Request) {
	h.GetCUDASharedMemoryRegionStatus(w, r, "")
}

// GetCUDASharedMemoryRegionStatus describes a region of GPU memory.
func (h *Handler) GetCUDASharedMemoryRegionStatus(w http.ResponseWriter, r *http.Request, region string) {
	respond(w, r, h.service.CudaSharedMemoryStatus, &api.CudaSharedMemoryStatusRequest{Name: region}, func(answer *api.CudaSharedMemoryStatusResponse) any {
		return messagesJSON(inOrder(answer.GetRegions()), complete)
	})
}

// RegisterCUDASharedMemory always returns an error, since the region has no
// name.
func (h *Handler) RegisterCUDASharedMemory(w http.ResponseWriter, r *http.Request) {
	fail(w, r, tensorjson.Invalid("'region name' is necessary to register cuda shared memory region"))
}

// RegisterCUDASharedMemoryRegion registers a region of GPU memory.
func (h *Handler) RegisterCUDASharedMemoryRegion(w http.ResponseWriter, r *http.Request, region string) {
	req := &api.CudaSharedMemoryRegisterRequest{Name: region}
	body, err := readObject(r, false)
	if err == nil {
		err = readCUDARegion(body, req)
	}
	if err != nil {
		fail(w, r, err)
		return
	}
	perform(w, r, h.service.CudaSharedMemoryRegister, req)
}

// handleSize is the size of a cudaIpcMemHandle_t in bytes.
const handleSize = 64

func readCUDARegion(body object, req *api.CudaSharedMemoryRegisterRequest) error {
	if !body.has("raw_handle") {
		return errNoField("raw_handle")
	}
	handle, err := objectOf(body.Member("raw_handle"))
	if err != nil {
		return err
	}
	text, err := handle.text("b64")
	if err != nil {
		return err
	}
	if req.ByteSize, err = body.unsigned("byte_size"); err != nil {
		return err
	}
	device, err := body.unsigned("device_id")
	if err != nil {
		return err
	}
	req.DeviceId = int64(min(device, 1<<31)) // larger ids are as invalid as this one
	if req.RawHandle, err = base64.StdEncoding.DecodeString(text); err != nil || len(req.GetRawHandle()) != handleSize {
		return tensorjson.Invalid("'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t")
	}
	return nil
}

// UnregisterCUDASharedMemory unregisters all regions of GPU memory.
func (h *Handler) UnregisterCUDASharedMemory(w http.ResponseWriter, r *http.Request) {
	h.UnregisterCUDASharedMemoryRegion(w, r, "")
}

// UnregisterCUDASharedMemoryRegion unregisters a region of GPU memory.
func (h *Handler) UnregisterCUDASharedMemoryRegion(w http.ResponseWriter, r *http.Request, region string) {
	perform(w, r, h.service.CudaSharedMemoryUnregister, &api.CudaSharedMemoryUnregisterRequest{Name: region})
}
