//go:build cgo && linux

package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLibraryIsMissing(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PATH", dir) // the folder has no Python
	tests := []struct {
		name    string
		library string
		want    []string
	}{
		{
			"a path", filepath.Join(dir, "lib"),
			[]string{filepath.Join(dir, "lib", "libtritonserver*.so"), filepath.Join(dir, "lib", "lib", "libtritonserver*.so"), "make setup", "local.Library", "triton.Endpoint"},
		},
		{"the usual places", "", []string{"/opt/tritonserver/lib/libtritonserver.so", "nvidia-pytriton", "PyPI's package tritonserver has bindings only"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.library == "" && exists(filepath.Join(container, "lib")) {
				t.Skip("this machine has a Triton there")
			}
			found, err := find(t.Context(), Config{Library: test.library})
			if err == nil {
				t.Fatalf("found %+v", found)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q: %v", want, err)
				}
			}
		})
	}
}

// TestFindLibrary checks the places in which libtritonserver.so is found. Empty files stand in for
// the library.
func TestFindLibrary(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	site := filepath.Join(dir, ".venv", "lib", "python3.11", "site-packages")
	library := touch(t, site, "nvidia_pytriton.libs", "libtritonserver-1234.so")
	other := touch(t, dir, "elsewhere", "libtritonserver.so")
	shaped := touch(t, dir, "shaped", "lib", "libtritonserver.so")
	below := filepath.Join(dir, "a", "b")
	mkdir(t, below)
	t.Chdir(below)
	tests := []struct{ name, named, want string }{
		{"a file", other, other},
		{"a relative file", "../../elsewhere/libtritonserver.so", other},
		{"a folder", filepath.Dir(library), library},
		{"a folder laid out as a container's", filepath.Join(dir, "shaped"), shaped},
		{"the environment above", "", library},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.named == "" && exists(filepath.Join(container, "lib")) {
				t.Skip("this machine has a Triton in a place that comes first")
			}
			if found, tried := findLibrary(t.Context(), test.named); found != test.want {
				t.Errorf("found %q, want %q; tried %q", found, test.want, tried)
			}
		})
	}
}

func TestBackends(t *testing.T) {
	dir := t.TempDir()
	library := filepath.Join(dir, "site-packages", "nvidia_pytriton.libs", "libtritonserver-1234.so")
	mkdir(t, filepath.Dir(library))
	if !isDir(filepath.Join(container, "backends")) {
		if _, err := findBackends("", library); err == nil || !strings.Contains(err.Error(), "local.BackendDirectory") {
			t.Errorf("without backends: %v", err)
		}
	}
	backends := filepath.Join(dir, "site-packages", "pytriton", "tritonserver", "backends")
	mkdir(t, backends)
	if got, err := findBackends("", library); err != nil || !sameFile(got, backends) {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := findBackends(dir, library); err != nil || got != dir {
		t.Errorf("got %s, %v for a configured one", got, err)
	}
	if _, err := findBackends(filepath.Join(dir, "none"), library); err == nil || !strings.Contains(err.Error(), "local.BackendDirectory") {
		t.Errorf("got %v for one that is missing", err)
	}
}

func TestCaches(t *testing.T) {
	dir := t.TempDir()
	backends, caches := filepath.Join(dir, "backends"), filepath.Join(dir, "caches")
	mkdir(t, backends)
	if got, err := findCaches("", backends); got != "" || err != nil {
		t.Errorf("without caches: %q, %v", got, err)
	}
	if _, err := findCaches(caches, backends); err == nil || !strings.Contains(err.Error(), "correct the path in local.Options.CacheDirectory") {
		t.Errorf("got %v for one that is missing", err)
	}
	mkdir(t, caches)
	if got, err := findCaches("", backends); got != caches || err != nil {
		t.Errorf("beside the backends: %q, %v", got, err)
	}
	if got, err := findCaches(backends, backends); got != backends || err != nil {
		t.Errorf("a configured one: %q, %v", got, err)
	}
}

// TestStub checks that addStub adds the stub program for the found Python version to the Python
// backend of an unmodified wheel, in a temporary folder.
func TestStub(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	backends := filepath.Join(dir, "backends")
	touch(t, backends, "python", "libtriton_python.so")
	touch(t, backends, "other", "libtriton_other.so")
	stub := touch(t, dir, "python_backend_stubs", "3.11", stubName)
	found := &installation{backends: backends, python: &python{Minor: "3.9"}}
	if err := found.addStub(); err == nil || !strings.Contains(err.Error(), "no stub for Python 3.9") {
		t.Errorf("got %v", err)
	}
	found.python.Minor = "3.11"
	if err := found.addStub(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"python/" + stubName:         stub,
		"python/libtriton_python.so": filepath.Join(backends, "python", "libtriton_python.so"),
		"other/libtriton_other.so":   filepath.Join(backends, "other", "libtriton_other.so"),
	} {
		if !sameFile(filepath.Join(found.backends, path), want) {
			t.Errorf("%s isn't %s", path, want)
		}
	}
	found.remove()
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
		t.Errorf("it left %q", left)
	}
}

func TestPrepend(t *testing.T) {
	const variable = "TRIDENT_TEST_PATH"
	for _, test := range []struct{ old, want string }{
		{"", "a:b"}, {"c", "a:b:c"}, {"a:b", "a:b"}, {"a:b:c", "a:b:c"}, {"a:bc", "a:b:a:bc"},
	} {
		t.Setenv(variable, test.old)
		if err := prepend(variable, "a", "b"); err != nil || os.Getenv(variable) != test.want {
			t.Errorf("%q became %q (%v), want %q", test.old, os.Getenv(variable), err, test.want)
		}
	}
}

func touch(t *testing.T, parts ...string) string {
	t.Helper()
	path := filepath.Join(parts...)
	mkdir(t, filepath.Dir(path))
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}
