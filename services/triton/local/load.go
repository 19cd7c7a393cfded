//go:build cgo && linux

package local

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall
#cgo LDFLAGS: -ldl -lpthread
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"debug/elf"
	"fmt"
	"path/filepath"
	"unsafe"
)

// Version of the C API for which the shim is written. A later minor version
// only adds to it.
const (
	apiMajor = 1
	apiMinor = 34
)

// load opens libtritonserver and the libraries beside it that it and the
// backends need. It opens them by full path, because the loader doesn't apply
// the library's own search path to them.
func load(i *installation) error {
	opened := map[string]bool{}
	folder := filepath.Dir(i.library)
	if err := openNeeded(i.library, folder, opened); err != nil {
		return err
	}
	var major, minor C.uint32_t
	path := C.CString(i.library)
	defer C.free(unsafe.Pointer(path))
	if text := C.tr_load(path, &major, &minor); text != nil {
		return fmt.Errorf("open %s: %s", i.library, takeText(text))
	}
	if major != apiMajor || minor < apiMinor {
		return fmt.Errorf("%s has version %d.%d of Triton's API, but Trident needs %d.%d or a later %d.x: install Triton 2.49 (24.08) or newer",
			i.library, major, minor, apiMajor, apiMinor, apiMajor)
	}
	backends, err := filepath.Glob(filepath.Join(i.backends, "*", "libtriton_*.so"))
	if err != nil {
		return fmt.Errorf("list the backends in %s: %w", i.backends, err)
	}
	for _, backend := range backends {
		if err := openNeeded(backend, folder, opened); err != nil {
			return err
		}
	}
	return nil
}

// openNeeded opens the libraries in the folder that a library needs,
// dependencies first. A library that isn't in the folder is the system's.
func openNeeded(library, folder string, opened map[string]bool) error {
	file, err := elf.Open(library)
	if err != nil {
		return fmt.Errorf("read %s: %w", library, err)
	}
	needed, err := file.ImportedLibraries()
	_ = file.Close() // the file was only read
	if err != nil {
		return fmt.Errorf("read %s: %w", library, err)
	}
	for _, name := range needed {
		path := filepath.Join(folder, name)
		if opened[path] || !exists(path) {
			continue
		}
		opened[path] = true
		if err := openNeeded(path, folder, opened); err != nil {
			return err
		}
		c := C.CString(path)
		text := C.tr_open(c)
		C.free(unsafe.Pointer(c))
		if text != nil {
			return fmt.Errorf("open %s: %s", path, takeText(text))
		}
	}
	return nil
}

// takeText converts a string of the shim and frees it.
func takeText(text *C.char) string {
	defer C.free(unsafe.Pointer(text))
	return C.GoString(text)
}
