package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestArchive checks that release archives of the same files have the same bytes, whatever their
// order and modification times.
func TestArchive(t *testing.T) {
	at := time.Unix(1_700_000_000, 0).UTC()
	folder, out := t.TempDir(), t.TempDir()
	files := []file{{filepath.Join(folder, "b"), "top/b", 0o755}, {filepath.Join(folder, "a"), "top/a", 0o644}}
	var made [2][]byte
	for i := range made {
		for _, f := range files {
			if err := errors.Join(os.WriteFile(f.from, []byte("of "+f.to), 0o600), os.Chtimes(f.from, time.Now(), time.Now().Add(time.Duration(i)*time.Hour))); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(out, "trident_all.tar.gz")
		if err := archive(path, files, at); err != nil {
			t.Fatal(err)
		}
		if err := sums(out); err != nil {
			t.Fatal(err)
		}
		made[i], _ = os.ReadFile(path)
		files[0], files[1] = files[1], files[0]
	}
	if !bytes.Equal(made[0], made[1]) {
		t.Error("two archives of the same files differ")
	}
	if got := list(t, made[0]); got != "-rw-r--r-- top/a 1700000000 of top/a\n-rwxr-xr-x top/b 1700000000 of top/b\n" {
		t.Errorf("it has\n%s", got)
	}
	cmd := exec.Command("sha256sum", "-c", "SHA256SUMS")
	cmd.Dir = out
	if text, err := cmd.CombinedOutput(); err != nil || string(text) != "trident_all.tar.gz: OK\n" {
		t.Errorf("%v: %s", err, text)
	}
}

// TestKeptFiles checks that a release replaces the files of the previous one, and keeps and leaves out of the checksums
// what others have in the folder, such as the documentation's site.
func TestKeptFiles(t *testing.T) {
	folder := t.TempDir()
	kept := []string{"docs/0.1.0/index.html", "notes.txt", "trident_0.1.0_linux_amd64/trident"}
	removed := []string{"SHA256SUMS", "SHA256SUMS.sigstore.json", "provenance.sigstore.json"}
	page, err := os.ReadFile("../../docs/contributing/releasing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| file in `dist/` | content |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.Lines(table) {
		names, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		removed = append(removed, strings.Split(strings.ReplaceAll(names, "`", ""), ", ")...)
	}
	if len(removed) < 12 {
		t.Errorf("the page has the files %q", removed)
	}
	for _, name := range append(kept, removed...) {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeRelease(folder); err != nil {
		t.Fatal(err)
	}
	for _, name := range kept {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
	for _, name := range removed {
		if _, err := os.Stat(filepath.Join(folder, name)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(folder, provenanceName), nil, 0o600), sums(folder)); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(folder, checksums)); err != nil || strings.Count(string(text), "\n") != 1 || !strings.HasSuffix(string(text), "  provenance.json\n") {
		t.Errorf("the checksums are %q, %v", text, err)
	}
}

func list(t *testing.T, all []byte) string {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(all))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for tape := tar.NewReader(zipped); ; {
		header, err := tape.Next()
		if errors.Is(err, io.EOF) {
			return text.String()
		} else if err != nil {
			t.Fatal(err)
		}
		content, _ := io.ReadAll(tape)
		fmt.Fprintf(&text, "%s %s %d %s\n", header.FileInfo().Mode(), header.Name, header.ModTime.Unix(), content)
	}
}

// TestCheck checks that a program is refused if it needs a newer glibc than allowed, if it is for
// another architecture, or if it isn't an ELF file. The accepted program is one of this system.
func TestCheck(t *testing.T) {
	const program = "/bin/sh"
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	glibc, err := check(program, runtime.GOARCH, "99")
	if err != nil || compare(glibc, "2.2") < 0 {
		t.Skipf("%s isn't linked against glibc: %s, %v", program, glibc, err)
	}
	if _, err := check(program, runtime.GOARCH, glibc); err != nil {
		t.Error(err)
	}
	for _, row := range []struct{ name, path, goarch, newest, want string }{
		{"newer than allowed", program, runtime.GOARCH, "2.1.9", "needs glibc " + glibc + " for the symbol "},
		{"another architecture", program, other, "99", "is for EM_"},
		{"no program", "release_test.go", runtime.GOARCH, "99", "bad magic"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got, err := check(row.path, row.goarch, row.newest); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	if err := checkStatic(program, runtime.GOARCH); err == nil || !strings.Contains(err.Error(), "isn't static: it has a segment PT_") {
		t.Errorf("as a static program: %v", err)
	}
}

// TestStatic checks a static program: one that Go builds without cgo.
func TestStatic(t *testing.T) {
	folder := t.TempDir()
	source, path := filepath.Join(folder, "main.go"), filepath.Join(folder, "program")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := checkStatic(path, "arm64"); err != nil {
		t.Error(err)
	}
	if err := checkStatic(path, "amd64"); err == nil || !strings.Contains(err.Error(), "is for EM_AARCH64") {
		t.Errorf("for another architecture: %v", err)
	}
	if _, err := check(path, "arm64", "99"); err == nil || !strings.Contains(err.Error(), "lacks the in-process engine") {
		t.Errorf("as a program with both engines: %v", err)
	}
}

func TestCompare(t *testing.T) {
	ordered := []string{"", "2.2.5", "2.4", "2.33", "2.34", "2.34.1", "3"}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := compare(a, b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%q and %q: %d", a, b, got)
			}
		}
	}
}

// TestStamp checks that a release is refused if the program doesn't print the release's version with
// both engines. Scripts stand in for the program.
func TestStamp(t *testing.T) {
	for _, row := range []struct {
		name, says, want string
		engines          engines
	}{
		{"as it must", "trident v1.2.3\nengines: remote, local (in-process Triton)", "", bothEngines},
		{"without a version", "trident dev\nengines: remote, local (in-process Triton)", "isn't version v1.2.3", bothEngines},
		{"without an engine", "trident v1.2.3\nengines: remote, no local engine", "isn't version v1.2.3 with the engines of trident", bothEngines},
		{"one engine", "trident v1.2.3\nengines: remote, no local engine", "", remoteOnly},
		{"an engine too many", "trident v1.2.3\nengines: remote, local (in-process Triton)", "isn't version v1.2.3 with the engines of trident-remote", remoteOnly},
		{"nothing", "", "isn't version v1.2.3", bothEngines},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "trident")
			if err := os.WriteFile(path, []byte("#!/bin/sh\necho '"+row.says+"'\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			said, err := stamp(t.Context(), &program{target: target{goarch: runtime.GOARCH}, engines: row.engines, path: path}, "v1.2.3")
			if row.want == "" && (err != nil || !strings.Contains(said, "trident v1.2.3")) || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("%q, %v", said, err)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	for _, row := range []struct{ running, want string }{
		{"go1.26.8", pinned},
		{"go1.26.10", pinned},
		{"go1.26.11", "go1.26.11"},
		{"go1.26.12", "go1.26.12"},
		{"go1.26.12-vendor", "go1.26.12-vendor"},
		{"go1.25.99", pinned},
		{"go1.27.0", pinned}, // newer, but without the fixes
		{"go1.27.3", pinned},
		{"go1.27.4", "go1.27.4"},
		{"go1.28rc1", "go1.28rc1"},
		{"devel go1.28-1234567", pinned},
		{"", pinned},
	} {
		t.Run(row.running, func(t *testing.T) {
			if got := choose(row.running); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

// TestToolchain checks the choice of the Go version that builds a release: the pinned version, which
// is fetched if it is missing, or a newer one. A script stands in for the go command, so that the
// test needs no network.
func TestToolchain(t *testing.T) {
	for _, row := range []struct{ name, script, want, fails string }{
		{"fetched", `case "$GOTOOLCHAIN" in ` + pinned + `) echo ` + pinned + `;; *) echo go1.26.8;; esac`, pinned, ""},
		{"there already", "echo " + pinned, pinned, ""},
		{"newer", "echo go1.26.99", "go1.26.99", ""},
		{"out of reach", `case "$GOTOOLCHAIN" in ` + pinned + `) echo 'toolchain not available' >&2; exit 1;; *) echo go1.26.8;; esac`, "", "can't fetch it: set GOPROXY to a module proxy"},
		{"not exchanged", "echo go1.26.8", "", "the go command uses go1.26.8"},
		{"broken", "echo no such thing >&2; exit 2", "", "no such thing"},
	} {
		t.Run(row.name, func(t *testing.T) {
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, "go"), []byte("#!/bin/sh\n"+row.script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", folder)
			t.Setenv("GOTOOLCHAIN", "local")
			got, err := toolchain(t.Context())
			if row.fails == "" && (err != nil || got != row.want) || row.fails != "" && (err == nil || !strings.Contains(err.Error(), row.fails)) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestBuiltBy checks that a binary is refused if another Go version built it than the expected one,
// or if it has no build information. The accepted binary is this test's own.
func TestBuiltBy(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := builtBy(binary, runtime.Version()); err != nil {
		t.Error(err)
	}
	if err := builtBy(binary, "go1.2.3"); err == nil || !strings.Contains(err.Error(), "was built by "+runtime.Version()+", not go1.2.3") {
		t.Errorf("of another compiler: %v", err)
	}
	if err := builtBy("release_test.go", pinned); err == nil {
		t.Error("a file without build information passes")
	}
}
