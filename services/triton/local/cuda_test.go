//go:build cgo && linux

package local

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/triton/extension"
)

// TestCUDA checks that CUDA shared memory is opened, with a library that simulates CUDA's. The checks
// run in a process of their own, whose library search path is set by the test's process.
func TestCUDA(t *testing.T) {
	const variable = "TRIDENT_TEST_CUDA"
	if os.Getenv(variable) != "" {
		testCUDA(t)
		return
	}
	folder := t.TempDir()
	library := filepath.Join(folder, "libcudart.so.12")
	compile := exec.CommandContext(t.Context(), "cc", "-shared", "-fPIC", "-o", library, "testdata/cuda.c")
	if text, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if err := os.Symlink(library, filepath.Join(folder, "libcuda.so.1")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCUDA$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"=1", "LD_LIBRARY_PATH="+folder)
	if text, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(text), "--- PASS: TestCUDA") {
		t.Errorf("%v:\n%s", err, text)
	}
}

func testCUDA(t *testing.T) {
	t.Helper()
	handle := make([]byte, extension.HandleSize)
	copy(handle, "ok")
	handle[len(handle)-1] = 'z'
	address, size, err := cudaRuntime{}.Open(handle, 0)
	if err != nil || address == nil || size != 48 {
		t.Fatalf("got %v, %d, %v", address, size, err)
	}
	if err := (cudaRuntime{}).Close(address); err != nil {
		t.Error(err)
	}
	for device, want := range map[int64]string{
		0:       "open CUDA IPC handle: invalid resource handle",
		7:       "choose the GPU: invalid device ordinal",
		-1:      "there is no GPU -1",
		1 << 40: "there is no GPU 1099511627776",
	} {
		if _, _, err := (cudaRuntime{}).Open(make([]byte, extension.HandleSize), device); err == nil || err.Error() != want || errors.Is(err, extension.ErrNoGPU) {
			t.Errorf("device %d: %v, want %q", device, err, want)
		}
	}
}

func TestWithoutCUDA(t *testing.T) {
	if _, err := os.Stat("/dev/nvidiactl"); err == nil {
		t.Skip("this machine has a GPU")
	}
	_, _, err := cudaRuntime{}.Open(make([]byte, extension.HandleSize), 0)
	if !errors.Is(err, extension.ErrNoGPU) {
		t.Errorf("got %v", err)
	}
}
