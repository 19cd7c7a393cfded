//go:build cgo && linux

package local

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/backends/burst"
)

// TestGPU runs the engine suite on a Triton with a GPU, and a model whose outputs
// are in GPU memory. The engine finds such a Triton in NVIDIA's containers.
func TestGPU(t *testing.T) {
	if os.Getenv("TRIDENT_TEST_GPU") == "" {
		t.Skip("needs a GPU: make test-gpu runs it")
	}
	devices, err := filepath.Glob("/dev/nvidia[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	if len(devices) == 0 {
		t.Skip("this machine has no NVIDIA GPU: there is no /dev/nvidia0")
	}
	t.Run("suite", TestSuite)
	t.Run("outputs in its memory", func(t *testing.T) {
		config := burstConfig(t, burst.Model{Name: "burst_gpu", Outputs: burst.GPU})
		config.Repositories = append(config.Repositories, tritontest.Repository(t))
		engine := start(t, config)
		defer stop(t, engine)
		for range 3 {
			generateAll(t, engine, "burst_gpu", 10, 1000)
		}
		awaitLive(t, engine)
	})
}
