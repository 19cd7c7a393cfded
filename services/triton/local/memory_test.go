//go:build cgo && linux

package local

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMissingMemory runs the shim in a program whose malloc fails on demand. A response of Triton
// that can't be copied must be an error, and must not set a size without the bytes.
func TestMissingMemory(t *testing.T) {
	program := filepath.Join(t.TempDir(), "memory")
	compile := exec.CommandContext(t.Context(), "cc", "-Wall", "-Wextra", "-Werror", "-I.", "-Wl,--wrap=malloc", "-o", program,
		"testdata/memory.c", "shim.c", "options.c", "trace.c", "-ldl", "-lpthread")
	if text, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	text, err := exec.CommandContext(t.Context(), program).CombinedOutput()
	const want = `description: 2 bytes {}, no error
metrics: 8 bytes nv_gpu 1, no error
description: 0 bytes NULL, out of memory for an answer of Triton
metrics: 0 bytes NULL, out of memory for an answer of Triton
deleted 4
`
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
}
