package extension

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// CUDA opens GPU memory that other processes have exported. Its methods may be
// called concurrently.
type CUDA interface {
	// Open maps the memory of a cudaIpcMemHandle_t of 64 bytes. It returns the
	// memory's address on the device and its size in bytes. The error is for the
	// log. The error is [ErrNoGPU] if there is no GPU or no CUDA runtime.
	Open(handle []byte, device int64) (address unsafe.Pointer, size uint64, err error)
	// Close unmaps the memory that Open mapped.
	Close(address unsafe.Pointer) error
}

// Registry has the regions of shared memory that clients have registered. All
// methods may be called concurrently.
//
// After a region is unregistered, new requests can't use it, and its name is
// free. Requests that use the region keep the mapping until they end. (Triton
// 2.51 refuses to unregister a region in use. Later versions keep the name until
// those requests end.)
//
// The memory belongs to the client, which can change it at any time. One action
// of a client can crash this process: if it truncates the file of a system
// region, an access to the removed part raises SIGBUS. [Registry.Use] checks the
// size each time, so only a client that truncates the file during its own request
// can cause that. Allow access to the service only to clients that you trust.
type Registry struct {
	cuda     CUDA
	reserved []string

	mu      sync.Mutex
	regions map[string]*region
}

// pythonPrefix is the default prefix of the names of the Python backend's own
// regions.
const pythonPrefix = "triton_python_backend_shm_region_"

// region is one registration. The registry's lock guards users and gone.
type region struct {
	system system // system shared memory of the region; unused for a CUDA region
	key    string
	offset uint64

	cuda   CUDA // nil for a system region
	device int64
	handle []byte

	address unsafe.Pointer
	size    uint64 // size of the region in bytes
	users   int    // number of leases of the region
	gone    bool   // the region was unregistered
}

var _ inference.SharedMemory = (*Registry)(nil)

// NewRegistry returns an empty registry. cuda is nil on machines without GPUs.
// Keys with one of the reserved prefixes, or with the Python backend's prefix,
// are refused, because they name Triton's own memory.
func NewRegistry(cuda CUDA, reserved ...string) *Registry {
	return &Registry{cuda: cuda, reserved: append(reserved, pythonPrefix), regions: make(map[string]*region)}
}

// SystemSharedMemoryRegister maps a POSIX shared memory object, as shm_open(3)
// opens it by the key. The offset must be a multiple of the page size.
func (r *Registry) SystemSharedMemoryRegister(_ context.Context, req *kserve.SystemSharedMemoryRegisterRequest) (*kserve.SystemSharedMemoryRegisterResponse, error) {
	name, key := req.GetName(), req.GetKey()
	if err := r.checkKey(name, key); err != nil {
		return nil, err
	}
	offset, size := req.GetOffset(), req.GetByteSize()
	err := r.add(name, func() (*region, error) {
		opened, err := openSystem(name, key, offset, size)
		return &region{system: opened, key: key, offset: offset, address: opened.address, size: size}, err
	})
	return &kserve.SystemSharedMemoryRegisterResponse{}, err
}

// checkKey refuses the keys of Triton's own memory.
func (r *Registry) checkKey(name, key string) error {
	bare := strings.TrimLeft(key, "/")
	if bare == "" {
		return invalid("cannot register shared memory region '%s' - invalid shm key '%s'", name, key)
	}
	for _, prefix := range r.reserved {
		if strings.HasPrefix(bare, prefix) {
			return invalid("cannot register shared memory region '%s' with key '%s' as the key contains the reserved prefix '%s'", name, key, prefix)
		}
	}
	return nil
}

// add creates a region. It returns an error if the name is in use.
func (r *Registry) add(name string, open func() (*region, error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.regions[name] != nil {
		return &inference.Error{
			Code: inference.CodeInvalid, Triton: inference.TritonAlreadyExists,
			Message: fmt.Sprintf("shared memory region '%s' already in manager", name),
		}
	}
	added, err := open()
	if err == nil {
		r.regions[name] = added
	}
	return err
}

// SystemSharedMemoryStatus returns one registered system region, or all of
// them.
func (r *Registry) SystemSharedMemoryStatus(_ context.Context, req *kserve.SystemSharedMemoryStatusRequest) (*kserve.SystemSharedMemoryStatusResponse, error) {
	answer := &kserve.SystemSharedMemoryStatusResponse{Regions: map[string]*kserve.SystemSharedMemoryStatusResponse_RegionStatus{}}
	err := r.status(req.GetName(), false, func(name string, found *region) {
		answer.Regions[name] = &kserve.SystemSharedMemoryStatusResponse_RegionStatus{
			Name: name, Key: found.key, Offset: found.offset, ByteSize: found.size,
		}
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// status looks up the shared memory region of a name, or all regions if the name
// is empty, and calls the function show for each region. The kind of the regions
// is CUDA or system.
func (r *Registry) status(name string, cuda bool, show func(string, *region)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name == "" {
		for name, each := range r.regions {
			if each.isCUDA() == cuda {
				show(name, each)
			}
		}
		return nil
	}
	kind, other := "system", "CUDA"
	if cuda {
		kind, other = "CUDA", "system"
	}
	found := r.regions[name]
	switch {
	case found == nil:
		return failed(inference.CodeNotFound, "Unable to find %s shared memory region: '%s'", strings.ToLower(kind), name)
	case found.isCUDA() != cuda:
		return failed(inference.CodeNotFound, "The region named '%s' is registered as %s shared memory, not %s shared memory", name, other, kind)
	}
	show(name, found)
	return nil
}

func (g *region) isCUDA() bool { return g.cuda != nil }

// SystemSharedMemoryUnregister removes one system region, or all of them. A
// missing region isn't an error.
func (r *Registry) SystemSharedMemoryUnregister(_ context.Context, req *kserve.SystemSharedMemoryUnregisterRequest) (*kserve.SystemSharedMemoryUnregisterResponse, error) {
	return &kserve.SystemSharedMemoryUnregisterResponse{}, r.unregister(req.GetName(), false)
}

func (r *Registry) unregister(name string, cuda bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name != "" {
		if found := r.regions[name]; found != nil && found.isCUDA() == cuda {
			return r.remove(name)
		}
		return nil
	}
	kind, failures := "system", ""
	if cuda {
		kind = "cuda"
	}
	for _, name := range slices.Sorted(maps.Keys(r.regions)) {
		if r.regions[name].isCUDA() == cuda && r.remove(name) != nil {
			failures += name + " ,"
		}
	}
	if failures != "" {
		return failed(inference.CodeInternal, "Failed to unregister the following %s shared memory regions: %s", kind, failures)
	}
	return nil
}

// remove removes a region. The last request that uses the region frees it.
func (r *Registry) remove(name string) error {
	found := r.regions[name]
	delete(r.regions, name)
	found.gone = true
	if found.users > 0 {
		return nil
	}
	return found.free()
}

func (g *region) free() error {
	if !g.isCUDA() {
		return g.system.close()
	}
	if err := g.cuda.Close(g.address); err != nil {
		return failed(inference.CodeInternal, "failed to close CUDA IPC handle: %s", err)
	}
	return nil
}

// Close unregisters all regions.
func (r *Registry) Close() error {
	return errors.Join(r.unregister("", false), r.unregister("", true))
}

// Lease is the use of a region's memory by a request.
type Lease struct {
	Address unsafe.Pointer
	// CUDA reports whether the address is on the GPU with the number Device.
	// Handle is the handle that the memory was opened with.
	CUDA   bool
	Device int64
	Handle []byte

	registry *Registry
	region   *region
}

// Use leases a part of a region to a request, which must call Release when it
// has ended.
func (r *Registry) Use(part inference.SharedRegion) (*Lease, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.regions[part.Name]
	switch {
	case found == nil:
		return nil, failed(inference.CodeNotFound, "Unable to find shared memory region: '%s'", part.Name)
	case part.Offset >= found.size:
		return nil, invalid("Invalid offset for shared memory region: '%s'", part.Name)
	case part.Size > math.MaxUint64-part.Offset:
		return nil, invalid("Integer overflow detected: byte_size (%d) + offset (%d) exceeds maximum value (%d) for region '%s'",
			part.Size, part.Offset, uint64(math.MaxUint64), part.Name)
	case part.Offset+part.Size > found.size, part.Offset+part.Size == 0: // Triton checks the last byte
		return nil, invalid("Invalid offset + byte size for shared memory region: '%s'", part.Name)
	}
	if !found.isCUDA() && !found.system.holds(found.offset+part.Offset+part.Size) {
		return nil, invalid("the memory behind shared memory region '%s' has become too small: unregister the region", part.Name)
	}
	found.users++
	return &Lease{
		Address:  unsafe.Add(found.address, part.Offset),
		CUDA:     found.isCUDA(),
		Device:   found.device,
		Handle:   found.handle,
		registry: r,
		region:   found,
	}, nil
}

// Release ends the lease. It must be called once.
func (l *Lease) Release() {
	l.registry.mu.Lock()
	defer l.registry.mu.Unlock()
	l.region.users--
	if l.region.users == 0 && l.region.gone {
		_ = l.region.free() // the client that unregistered the region has its response already
	}
}
