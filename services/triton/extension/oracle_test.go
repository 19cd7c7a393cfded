package extension_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
	"github.com/trident-inference/trident/services/triton/extension"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/services/triton/tritontest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestOracle sends the same requests to a real tritonserver's frontends and to
// this package, and compares the responses.
func TestOracle(t *testing.T) {
	server := tritontest.StartServer(t, tritonserver.Options{
		Repositories: []string{tritontest.ExtensionRepository(t)}, Args: []string{"--model-control-mode=explicit", "--load-model=types"},
	})
	engine := tritontest.Connect(t, server)
	t.Run("shared memory", func(t *testing.T) { testSharedMemory(t, engine) })
	t.Run("requests", func(t *testing.T) { testRequests(t, engine) })
}

// testSharedMemory registers regions with a registry and with tritonserver.
func testSharedMemory(t *testing.T, engine *triton.Engine) {
	t.Helper()
	keys := make([]string, 6)
	page := uint64(os.Getpagesize())
	for i := range keys {
		file, err := os.CreateTemp("/dev/shm", "trident-test-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(file.Name()) })
		if err := errors.Join(file.Truncate(2*int64(page)), file.Close()); err != nil {
			t.Fatal(err)
		}
		keys[i] = "/" + filepath.Base(file.Name())
	}
	registry := extension.NewRegistry(nil)
	for _, step := range steps(keys, page) {
		got, gotErr := step.do(t.Context(), registry)
		want, wantErr := step.do(t.Context(), engine)
		if !equalErrors(gotErr, wantErr) || gotErr == nil && !proto.Equal(got, want) {
			t.Errorf("%s: got %v, %v; want %v, %v", step.name, got, gotErr, want, wantErr)
		}
	}
	if err := registry.Close(); err != nil {
		t.Error(err)
	}
}

func equalErrors(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	x, y := inference.AsError(a), inference.AsError(b)
	return x.Code == y.Code && x.Message == y.Message
}

type step struct {
	name string
	do   func(context.Context, inference.SharedMemory) (proto.Message, error)
}

// steps returns requests that run one after the other. Triton 2.51 doesn't yet
// refuse empty keys and keys of its own memory, and it fails to register a second
// region with the same key. The tested build of Triton supports GPUs. On a machine
// without a GPU its error message differs.
func steps(keys []string, page uint64) []step {
	register := func(name, key string, offset, size uint64) step {
		return step{"register " + name, func(ctx context.Context, m inference.SharedMemory) (proto.Message, error) {
			return m.SystemSharedMemoryRegister(ctx, &kserve.SystemSharedMemoryRegisterRequest{Name: name, Key: key, Offset: offset, ByteSize: size})
		}}
	}
	status := func(name string) step {
		return step{"status of " + name, func(ctx context.Context, m inference.SharedMemory) (proto.Message, error) {
			return m.SystemSharedMemoryStatus(ctx, &kserve.SystemSharedMemoryStatusRequest{Name: name})
		}}
	}
	unregister := func(name string) step {
		return step{"unregister " + name, func(ctx context.Context, m inference.SharedMemory) (proto.Message, error) {
			return m.SystemSharedMemoryUnregister(ctx, &kserve.SystemSharedMemoryUnregisterRequest{Name: name})
		}}
	}
	return []step{
		status(""), status("none"), unregister("none"),
		register("one", keys[0], 0, page), register("two", keys[1], page, page), register("", keys[2][1:], 0, 1),
		register("one", keys[3], 0, page), register("one", keys[3], 0, 3*page),
		status(""), status("one"), status("two"),
		register("far", keys[3], page, page+1), register("odd", keys[4], 1, page), register("no bytes", keys[5], 0, 0),
		register("gone", "/trident-test-none", 0, 1), register("up", "/../shm"+keys[3], 0, 1), register("here", "/..", 0, 1),
		unregister("one"), status("one"), status(""), unregister(""), status(""),
		{"CUDA status", func(ctx context.Context, m inference.SharedMemory) (proto.Message, error) {
			return m.CudaSharedMemoryStatus(ctx, &kserve.CudaSharedMemoryStatusRequest{})
		}},
		{"CUDA status of none", func(ctx context.Context, m inference.SharedMemory) (proto.Message, error) {
			return m.CudaSharedMemoryStatus(ctx, &kserve.CudaSharedMemoryStatusRequest{Name: "none"})
		}},
		{"CUDA unregister", func(ctx context.Context, m inference.SharedMemory) (proto.Message, error) {
			return m.CudaSharedMemoryUnregister(ctx, &kserve.CudaSharedMemoryUnregisterRequest{})
		}},
	}
}
