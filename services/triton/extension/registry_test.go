package extension

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// object creates a shared memory object of some pages and returns its key.
func object(tb testing.TB, pages int) string {
	tb.Helper()
	file, err := os.CreateTemp("/dev/shm", "trident-test-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.Remove(file.Name()) })
	if err := errors.Join(file.Truncate(int64(pages*os.Getpagesize())), file.Close()); err != nil {
		tb.Fatal(err)
	}
	return "/" + filepath.Base(file.Name())
}

func register(tb testing.TB, r *Registry, name, key string, offset, size uint64) error {
	tb.Helper()
	_, err := r.SystemSharedMemoryRegister(tb.Context(), &kserve.SystemSharedMemoryRegisterRequest{
		Name: name, Key: key, Offset: offset, ByteSize: size,
	})
	return err
}

func unregister(tb testing.TB, r *Registry, name string) {
	tb.Helper()
	if _, err := r.SystemSharedMemoryUnregister(tb.Context(), &kserve.SystemSharedMemoryUnregisterRequest{Name: name}); err != nil {
		tb.Error(err)
	}
}

// wantError checks an error's code and message. An empty text means success.
func wantError(tb testing.TB, err error, code inference.Code, text string) {
	tb.Helper()
	var e *inference.Error
	switch {
	case text == "" && err != nil:
		tb.Errorf("got %v", err)
	case text == "":
	case !errors.As(err, &e):
		tb.Errorf("got %v, want %q", err, text)
	case e.Message != text || e.Code != code:
		tb.Errorf("got %s %q, want %s %q", e.Code, e.Message, code, text)
	}
}

func TestRegister(t *testing.T) {
	page := uint64(os.Getpagesize())
	key := object(t, 2)
	tests := []struct {
		name, key    string
		offset, size uint64
		code         inference.Code
		want         string
	}{
		{"all", key, 0, 2 * page, 0, ""},
		{"without the slash", key[1:], 0, page, 0, ""},
		{"many slashes", "//" + key, 0, page, 0, ""},
		{"second page", key, page, page, 0, ""},
		{"taken", key, 0, page, inference.CodeInvalid, "shared memory region 'taken' already in manager"},
		{"empty key", "", 0, page, inference.CodeInvalid, "cannot register shared memory region 'empty key' - invalid shm key ''"},
		{"slashes", "//", 0, page, inference.CodeInvalid, "cannot register shared memory region 'slashes' - invalid shm key '//'"},
		{
			"Triton's", "/triton_python_backend_shm_region_1", 0, page, inference.CodeInvalid,
			"cannot register shared memory region 'Triton's' with key '/triton_python_backend_shm_region_1' as the key contains the reserved prefix 'triton_python_backend_shm_region_'",
		},
		{
			"ours", "own_1", 0, page, inference.CodeInvalid,
			"cannot register shared memory region 'ours' with key 'own_1' as the key contains the reserved prefix 'own_'",
		},
		{"none", "/trident-test-none", 0, page, inference.CodeInternal, "Unable to open shared memory region: '/trident-test-none'"},
		{"parent", "/..", 0, page, inference.CodeInternal, "Unable to open shared memory region: '/..'"},
		{"traversal", "/../shm" + key, 0, page, inference.CodeInternal, "Unable to open shared memory region: '/../shm" + key + "'"},
		{"too large", key, 0, 2*page + 1, inference.CodeInvalid, "failed to register shared memory region 'too large': invalid args"},
		{"too far", key, page, page + 1, inference.CodeInvalid, "failed to register shared memory region 'too far': invalid args"},
		{"overflow", key, page, -page, inference.CodeInvalid, "failed to register shared memory region 'overflow': invalid args"},
		{"wrap", key, 2, 1<<64 - 1, inference.CodeInvalid, "failed to register shared memory region 'wrap': invalid args"},
		{"unaligned", key, 1, page, inference.CodeInvalid, "failed to register shared memory region 'unaligned': unable to process address spaceInvalid argument"},
		{"no bytes", key, 0, 0, inference.CodeInvalid, "failed to register shared memory region 'no bytes': unable to process address spaceInvalid argument"},
	}
	r := NewRegistry(nil, "own_")
	defer r.Close()
	if err := register(t, r, "taken", key, 0, page); err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantError(t, register(t, r, test.name, test.key, test.offset, test.size), test.code, test.want)
		})
	}
	if got := status(t, r, ""); len(got) != 5 || got["second page"].GetOffset() != page {
		t.Errorf("registered are %v", got)
	}
	if got := status(t, r, "all")["all"]; !proto.Equal(got, &kserve.SystemSharedMemoryStatusResponse_RegionStatus{Name: "all", Key: key, ByteSize: 2 * page}) {
		t.Errorf("got %v", got)
	}
	unregister(t, r, "all")
	unregister(t, r, "unknown")
	if got := status(t, r, ""); len(got) != 4 {
		t.Errorf("registered are %v", got)
	}
	unregister(t, r, "")
	if got := status(t, r, ""); len(got) != 0 {
		t.Errorf("registered are %v", got)
	}
}

func status(tb testing.TB, r *Registry, name string) map[string]*kserve.SystemSharedMemoryStatusResponse_RegionStatus {
	tb.Helper()
	answer, err := r.SystemSharedMemoryStatus(tb.Context(), &kserve.SystemSharedMemoryStatusRequest{Name: name})
	if err != nil {
		tb.Fatal(err)
	}
	return answer.GetRegions()
}

func TestUse(t *testing.T) {
	page := uint64(os.Getpagesize())
	key := object(t, 2)
	r := NewRegistry(nil)
	defer r.Close()
	if err := register(t, r, "r", key, page, page); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		part inference.SharedRegion
		code inference.Code
		want string
	}{
		{"all", inference.SharedRegion{Name: "r", Size: page}, 0, ""},
		{"the end", inference.SharedRegion{Name: "r", Offset: page - 1, Size: 1}, 0, ""},
		{"nothing", inference.SharedRegion{Name: "r", Offset: 1}, 0, ""},
		{"unknown", inference.SharedRegion{Name: "q", Size: 1}, inference.CodeNotFound, "Unable to find shared memory region: 'q'"},
		{"beyond", inference.SharedRegion{Name: "r", Offset: page, Size: 1}, inference.CodeInvalid, "Invalid offset for shared memory region: 'r'"},
		{"nothing at the beginning", inference.SharedRegion{Name: "r"}, inference.CodeInvalid, "Invalid offset + byte size for shared memory region: 'r'"},
		{"a byte too far", inference.SharedRegion{Name: "r", Offset: 1, Size: page}, inference.CodeInvalid, "Invalid offset + byte size for shared memory region: 'r'"},
		{
			"overflow",
			inference.SharedRegion{Name: "r", Offset: 1, Size: 1<<64 - 1},
			inference.CodeInvalid,
			"Integer overflow detected: byte_size (18446744073709551615) + offset (1) exceeds maximum value (18446744073709551615) for region 'r'",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			lease, err := r.Use(test.part)
			wantError(t, err, test.code, test.want)
			if lease != nil {
				lease.Release()
			}
		})
	}
}

// TestRegionInUse checks that the memory of an unregistered region stays mapped until its last user
// has released it.
func TestRegionInUse(t *testing.T) {
	key := object(t, 1)
	r := NewRegistry(nil)
	defer r.Close()
	if err := register(t, r, "r", key, 0, 8); err != nil {
		t.Fatal(err)
	}
	var leases []*Lease
	for range 2 {
		lease, err := r.Use(inference.SharedRegion{Name: "r", Size: 8})
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, lease)
	}
	unregister(t, r, "r")
	if err := register(t, r, "r", key, 0, 4); err != nil {
		t.Errorf("the name isn't free: %v", err)
	}
	for _, lease := range leases {
		*(*byte)(lease.Address) = 7
		if !mapped(t, lease.Address) {
			t.Error("unmapped in use")
		}
		lease.Release()
	}
	if mapped(t, leases[0].Address) {
		t.Error("still mapped after the last use")
	}
	content, err := os.ReadFile("/dev/shm" + key)
	if err != nil || content[0] != 7 {
		t.Errorf("the object holds %v, %v", content[:1], err)
	}
}

// mapped reports whether this process has memory mapped at the address.
func mapped(tb testing.TB, address unsafe.Pointer) bool {
	tb.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		tb.Fatal(err)
	}
	return strings.Contains(string(maps), fmt.Sprintf("%x-", uintptr(address)))
}

// TestShrunk checks that Registry.Use refuses a range of a shared memory object that its owner has
// truncated below the range.
func TestShrunk(t *testing.T) {
	key := object(t, 2)
	page := uint64(os.Getpagesize())
	r := NewRegistry(nil)
	defer r.Close()
	if err := register(t, r, "r", key, 0, 2*page); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate("/dev/shm"+key, int64(page)); err != nil {
		t.Fatal(err)
	}
	_, err := r.Use(inference.SharedRegion{Name: "r", Offset: page, Size: 1})
	wantError(t, err, inference.CodeInvalid, "the memory behind shared memory region 'r' has become too small: unregister the region")
	lease, err := r.Use(inference.SharedRegion{Name: "r", Size: page})
	if err != nil {
		t.Fatal(err)
	}
	lease.Release()
}

// TestRegistryConcurrently checks that the methods of Registry have no data race. It calls them
// concurrently, for the race detector.
func TestRegistryConcurrently(t *testing.T) {
	key := object(t, 1)
	r := NewRegistry(nil)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 200 {
				_ = register(t, r, "r", key, 0, 8) // another goroutine may have registered the name
				if lease, err := r.Use(inference.SharedRegion{Name: "r", Size: 8}); err == nil {
					lease.Release()
				}
				status(t, r, "")
				unregister(t, r, "r")
			}
		})
	}
	group.Wait()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if maps, err := os.ReadFile("/proc/self/maps"); err != nil || strings.Contains(string(maps), key) {
		t.Errorf("the object is still mapped: %v", err)
	}
}

// gpu simulates a GPU with host memory. A handle is valid if its first byte is
// zero.
type gpu struct {
	memory [2]byte
	open   int
}

func (g *gpu) Open(handle []byte, device int64) (unsafe.Pointer, uint64, error) {
	switch {
	case device == 1:
		return nil, 0, ErrNoGPU
	case handle[0] != 0:
		return nil, 0, errors.New("invalid resource handle")
	}
	g.open++
	return unsafe.Pointer(&g.memory), uint64(len(g.memory)), nil
}

func (g *gpu) Close(unsafe.Pointer) error {
	g.open--
	return nil
}

func TestCUDA(t *testing.T) {
	handle := make([]byte, HandleSize)
	wrong := append([]byte{1}, handle[1:]...)
	tests := []struct {
		name   string
		handle []byte
		device int64
		size   uint64
		want   string
	}{
		{"all", handle, 0, 2, ""},
		{"all", handle, 0, 2, "shared memory region 'all' already in manager"},
		{"no GPU", handle, 1, 2, "failed to register CUDA shared memory region: 'no GPU', GPUs not supported"},
		{"wrong handle", wrong, 0, 2, "failed to register shared memory region: invalid args"},
		{"short handle", handle[1:], 0, 2, "failed to register shared memory region: invalid args"},
		{"too large", handle, 0, 3, "failed to register shared memory region 'too large': invalid args"},
	}
	g := &gpu{}
	r := NewRegistry(g)
	for _, test := range tests {
		_, err := r.CudaSharedMemoryRegister(t.Context(), &kserve.CudaSharedMemoryRegisterRequest{
			Name: test.name, RawHandle: test.handle, DeviceId: test.device, ByteSize: test.size,
		})
		wantError(t, err, inference.CodeInvalid, test.want)
	}
	if err := register(t, r, "sys", object(t, 1), 0, 1); err != nil {
		t.Fatal(err)
	}
	checkKinds(t, r)
	lease, err := r.Use(inference.SharedRegion{Name: "all", Offset: 1, Size: 1})
	if err != nil || !lease.CUDA || lease.Address != unsafe.Pointer(&g.memory[1]) || len(lease.Handle) != HandleSize {
		t.Errorf("got %+v, %v", lease, err)
	}
	unregister(t, r, "all") // isn't a system region
	if _, err := r.CudaSharedMemoryUnregister(t.Context(), &kserve.CudaSharedMemoryUnregisterRequest{}); err != nil || g.open != 1 {
		t.Errorf("%d are open: %v", g.open, err)
	}
	lease.Release()
	if g.open != 0 {
		t.Errorf("%d are open", g.open)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// checkKinds requests regions with the methods of the other kind.
func checkKinds(t *testing.T, r *Registry) {
	t.Helper()
	_, err := r.SystemSharedMemoryStatus(t.Context(), &kserve.SystemSharedMemoryStatusRequest{Name: "all"})
	wantError(t, err, inference.CodeNotFound, "The region named 'all' is registered as CUDA shared memory, not system shared memory")
	_, err = r.CudaSharedMemoryStatus(t.Context(), &kserve.CudaSharedMemoryStatusRequest{Name: "sys"})
	wantError(t, err, inference.CodeNotFound, "The region named 'sys' is registered as system shared memory, not CUDA shared memory")
	_, err = r.CudaSharedMemoryStatus(t.Context(), &kserve.CudaSharedMemoryStatusRequest{Name: "none"})
	wantError(t, err, inference.CodeNotFound, "Unable to find cuda shared memory region: 'none'")
	answer, err := r.CudaSharedMemoryStatus(t.Context(), &kserve.CudaSharedMemoryStatusRequest{})
	if err != nil || len(answer.GetRegions()) != 1 || answer.GetRegions()["all"].GetByteSize() != 2 {
		t.Errorf("got %v, %v", answer, err)
	}
}
