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

// CUDA opens memory of GPUs that other processes have exported. Its methods may
// be called concurrently.
type CUDA interface {
	// Open maps the memory behind a cudaIpcMemHandle_t of 64 bytes and gives its
	// address on the device and how many bytes follow it. The error is for the
	// log; [ErrNoGPU] says that there is no GPU, or no CUDA runtime.
	Open(handle []byte, device int64) (address unsafe.Pointer, size uint64, err error)
	// Close ends what Open began.
	Close(address unsafe.Pointer) error
}

// Registry holds the regions of shared memory that clients have registered. All
// methods may be called concurrently.
//
// A region that is unregistered is gone for new requests at once, and its name
// free; the requests that use it keep the mapping until they end. (Triton 2.51
// refuses to unregister it, later ones keep the name until then.)
//
// The memory stays the client's, who can change it at any time. The one thing
// that can hurt this process is that the client makes the file of a system region
// smaller: to touch what was cut off raises SIGBUS. [Registry.Use] looks at the
// size each time, so that only a client that does it while its own request runs
// can; let only clients that you trust reach the service.
type Registry struct {
	cuda     CUDA
	reserved []string

	mu      sync.Mutex
	regions map[string]*region
}

// pythonPrefix begins the names of the Python backend's own regions, unless it is
// told another prefix.
const pythonPrefix = "triton_python_backend_shm_region_"

// region is one registration. The registry's lock guards users and gone.
type region struct {
	system system // of a system region
	key    string
	offset uint64

	cuda   CUDA // nil for a system region
	device int64
	handle []byte

	address unsafe.Pointer
	size    uint64 // bytes
	users   int    // leases
	gone    bool   // unregistered
}

var _ inference.SharedMemory = (*Registry)(nil)

// NewRegistry gives an empty registry. cuda is nil where there are no GPUs. Keys
// that begin with one of the reserved prefixes, or the Python backend's, are
// refused: they name memory of Triton's own.
func NewRegistry(cuda CUDA, reserved ...string) *Registry {
	return &Registry{cuda: cuda, reserved: append(reserved, pythonPrefix), regions: make(map[string]*region)}
}

// SystemSharedMemoryRegister maps a POSIX shared memory object, as by
// shm_open(3) of the key. The offset must be a multiple of the page size.
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

// add makes a region under a name that is free.
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

// SystemSharedMemoryStatus tells of one system region, or of all.
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

// status shows a region of the kind, or all of them.
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

// SystemSharedMemoryUnregister forgets one system region, or all. One that isn't
// there is no error.
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

// remove takes a region out; its last user frees it.
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

// Close unregisters everything.
func (r *Registry) Close() error {
	return errors.Join(r.unregister("", false), r.unregister("", true))
}

// Lease is memory of a region in use by a request.
type Lease struct {
	Address unsafe.Pointer
	// CUDA says that the address is one of the GPU with the number Device, and
	// Handle what the memory was opened by.
	CUDA   bool
	Device int64
	Handle []byte

	registry *Registry
	region   *region
}

// Use gives a part of a region to a request, which calls Release when it has
// ended.
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
	case part.Offset+part.Size > found.size, part.Offset+part.Size == 0: // Triton counts to the last byte
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

// Release ends the use; once.
func (l *Lease) Release() {
	l.registry.mu.Lock()
	defer l.registry.mu.Unlock()
	l.region.users--
	if l.region.users == 0 && l.region.gone {
		_ = l.region.free() // the client that unregistered it has had its answer
	}
}
