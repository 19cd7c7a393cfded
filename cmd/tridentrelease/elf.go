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
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	if f.Machine != machines[goarch] {
		return "", fmt.Errorf("%s is for %s, not %s", path, f.Machine, machines[goarch])
	}
	symbols, err := f.ImportedSymbols()
	if err != nil {
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

// stamp runs the binary to get its version if this machine can run it, natively or
// with qemu's user-mode emulation. Otherwise the binary must contain the version.
func stamp(ctx context.Context, path, goarch, version string) (found string, err error) {
	if goarch == runtime.GOARCH {
		return runs(exec.CommandContext(ctx, path, "version"), version)
	}
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[goarch]
	sysroot := "/usr/" + machine + "-linux-gnu" // Debian's folder for libraries of other architectures
	emulator, err := exec.LookPath("qemu-" + machine)
	if _, missing := os.Stat(sysroot); err == nil && missing == nil {
		return runs(exec.CommandContext(ctx, emulator, "-L", sysroot, path, "version"), version) //nolint:gosec // the binary that was just built
	}
	all, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if !bytes.Contains(all, []byte(version)) {
		return "", fmt.Errorf("%[2]s doesn't contain the version %[1]s", version, path)
	}
	return "contains the version; not run on this machine", nil
}

func runs(cmd *exec.Cmd, version string) (string, error) {
	text, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, failed.Stderr)
	} else if err != nil {
		return "", err
	}
	words := strings.Fields(string(text))
	if len(words) < 2 || words[0] != "trident" || words[1] != version || !strings.Contains(string(text), "local (in-process Triton)") {
		return "", fmt.Errorf("%s prints %q, which isn't version %s with both engines", cmd, text, version)
	}
	return "run: " + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "; "), nil
}
