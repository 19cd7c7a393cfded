package main

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// check reads a binary's ELF. The binary must be for the architecture and must not
// need a newer glibc than newest. check returns the glibc version that it needs.
func check(path, goarch, newest string) (glibc string, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was read
	if f.Machine != machines()[goarch] {
		return "", fmt.Errorf("%s is for %s, not %s", path, f.Machine, machines()[goarch])
	}
	symbols, err := f.ImportedSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if err := ofGLIBC(f); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	var of string
	for _, s := range symbols {
		version, ok := strings.CutPrefix(s.Version, "GLIBC_")
		if ok && compare(version, glibc) > 0 {
			glibc, of = version, s.Name
		}
	}
	switch {
	case glibc == "":
		return "", fmt.Errorf("%s doesn't need glibc, so it lacks the in-process engine: build it with cgo", path)
	case compare(glibc, newest) > 0:
		return "", fmt.Errorf("%s needs glibc %s for the symbol %s, but %s is the newest allowed version", path, glibc, of, newest)
	}
	return glibc, nil
}

// ofGLIBC checks that a program needs no other libraries than those of glibc, which PEP 600 allows to
// programs in wheels. The loader is the interpreter, and versions of some symbols are in it.
func ofGLIBC(f *elf.File) error {
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	allowed := []string{"libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "libresolv.so.2", "librt.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
	for _, name := range libraries {
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("needs the library %s, which isn't a part of glibc", name)
		}
	}
	return nil
}

// checkStatic reads the ELF of a binary that must need no library and no loader.
func checkStatic(path, goarch string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was read
	if f.Machine != machines()[goarch] {
		return fmt.Errorf("%s is for %s, not %s", path, f.Machine, machines()[goarch])
	}
	for _, segment := range f.Progs {
		if segment.Type == elf.PT_INTERP || segment.Type == elf.PT_DYNAMIC {
			return fmt.Errorf("%s isn't static: it has a segment %s", path, segment.Type)
		}
	}
	return nil
}

func machines() map[string]elf.Machine {
	return map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
}

// compare orders versions of dot-separated numbers. The empty version is the oldest.
// A part that isn't a number is older than every number.
func compare(a, b string) int {
	for a != "" || b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		if d := number(x) - number(y); d != 0 {
			return d
		}
	}
	return 0
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

// stamp runs the program to get its version if this machine can run it, natively or
// with qemu's user-mode emulation. Otherwise the binary must contain the version.
func stamp(ctx context.Context, p *program, version string) (found string, err error) {
	if p.goarch == runtime.GOARCH {
		return runs(exec.CommandContext(ctx, p.path, "version"), p.engines, version) //nolint:gosec // the program that was just built
	}
	if emulator := emulated(p); emulator != nil {
		return runs(exec.CommandContext(ctx, emulator[0], append(emulator[1:], p.path, "version")...), p.engines, version) //nolint:gosec // the program that was just built
	}
	all, err := os.ReadFile(p.path)
	if err != nil {
		return "", err
	}
	if !bytes.Contains(all, []byte(version)) {
		return "", fmt.Errorf("%[2]s doesn't contain the version %[1]s", version, p.path)
	}
	return "contains the version; not run on this machine", nil
}

// emulated returns the start of a command line that runs a program of another architecture, or nil if
// this machine lacks the emulator or, for a dynamic program, the libraries.
func emulated(p *program) []string {
	emulator, err := exec.LookPath("qemu-" + p.machine)
	if err != nil {
		return nil
	}
	sysroot := "/usr/" + p.machine + "-linux-gnu" // Debian's folder for libraries of other architectures
	if _, err := os.Stat(sysroot); err != nil && p.engines != remoteOnly {
		return nil
	}
	return []string{emulator, "-L", sysroot}
}

func runs(cmd *exec.Cmd, e engines, version string) (string, error) {
	text, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, failed.Stderr)
	} else if err != nil {
		return "", err
	}
	words := strings.Fields(string(text))
	both := strings.Contains(string(text), "local (in-process Triton)")
	if len(words) < 2 || words[0] != "trident" || words[1] != version || both != (e == bothEngines) {
		return "", fmt.Errorf("%s prints %q, which isn't version %s with the engines of %s", cmd, text, version, e)
	}
	return "run: " + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "; "), nil
}
