//go:build cgo && linux

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/trident-inference/trident/services/configfield"
)

// container is the folder of Triton in NVIDIA's container images.
const container = "/opt/tritonserver"

// stubName is the program that runs a Python model, one process for each model
// instance.
const stubName = "triton_python_backend_stub"

// installation is where the files of a Triton on this machine are.
type installation struct {
	library  string
	backends string
	caches   string // empty if the library has none
	// python is nil if the backends contain all that they need.
	python *python
	// overlay is a temporary backend directory, or empty.
	overlay string
}

// python describes the Python into which a Triton was installed.
type python struct {
	Executable string   `json:"executable"`
	Site       string   `json:"site"`    // path of the folder with the Python's packages
	Minor      string   `json:"minor"`   // the Python's version, such as 3.11
	Folders    []string `json:"folders"` // folders that may have libpython
}

// pythonProbe is a Python program that prints the fields of this type as JSON.
const pythonProbe = `import json, os, sys, sysconfig
print(json.dumps({
    "executable": sys.executable,
    "site": sysconfig.get_path("purelib"),
    "minor": "%d.%d" % sys.version_info[:2],
    "folders": [d for d in (sysconfig.get_config_var("LIBDIR"), os.path.join(sys.base_prefix, "lib")) if d],
}))`

// probeTimeout is the time limit for running pythonProbe.
const probeTimeout = 10 * time.Second

// find looks for a Triton in the configured place, or else in the usual places.
// Its error names all places that were tried.
func find(ctx context.Context, config Config) (*installation, error) {
	library, tried := findLibrary(ctx, config.Library)
	if library == "" {
		return nil, configfield.Textf("libtritonserver.so wasn't found in %s: run trident in NVIDIA's tritonserver container, "+
			"or pip install nvidia-pytriton into the active Python or .venv (in Trident's source tree: make setup; "+
			"PyPI's package tritonserver has bindings only, not the library), or set the path of the library with %s, or use a running tritonserver with %s", strings.Join(tried, ", "), configfield.Field("local.Library"), configfield.Field("triton.Endpoint"))
	}
	found := &installation{library: library, python: pythonOf(ctx, library)}
	var err error
	if found.backends, err = findBackends(config.BackendDirectory, library); err != nil {
		return nil, err
	}
	if found.caches, err = findCaches(config.Options.CacheDirectory, found.backends); err != nil {
		return nil, err
	}
	if err := found.addStub(); err != nil {
		return nil, err
	}
	return found, nil
}

// findLibrary returns the path of the first library found, or the places that
// were tried.
func findLibrary(ctx context.Context, named string) (library string, tried []string) {
	places := []func(context.Context) []string{usual, active}
	if named != "" {
		if info, err := os.Stat(named); err == nil && !info.IsDir() {
			return absolute(named), nil
		}
		places = []func(context.Context) []string{func(context.Context) []string { return inFolder(named) }}
	}
	for _, place := range places {
		for _, pattern := range place(ctx) {
			if found := first(pattern); found != "" {
				return absolute(found), nil
			}
			tried = append(tried, pattern)
		}
	}
	return "", tried
}

// inFolder returns the patterns for a folder that contains the library, or that
// has the layout of /opt/tritonserver.
func inFolder(folder string) []string {
	return []string{filepath.Join(folder, "libtritonserver*.so"), filepath.Join(folder, "lib", "libtritonserver*.so")}
}

// usual returns the patterns of places with fixed names.
func usual(context.Context) []string {
	all := []string{filepath.Join(container, "lib", "libtritonserver.so")}
	for _, venv := range environments() {
		all = append(all, inSite(filepath.Join(venv, "lib", "python3*", "site-packages"))...)
	}
	return all
}

// active returns the patterns for the active Python. It has to run Python to
// find them.
func active(ctx context.Context) []string {
	p, err := probe(ctx, "python3")
	if err != nil {
		return nil
	}
	return inSite(p.Site)
}

// inSite returns the patterns below a folder of Python packages, which are those
// of nvidia-pytriton. PyPI's package tritonserver isn't searched: that package
// has only bindings for a container's library.
func inSite(site string) []string {
	return []string{filepath.Join(site, "nvidia_pytriton.libs", "libtritonserver*.so")}
}

// environments returns the nearest .venv folders. The search goes up from the
// working directory and from this binary's folder.
func environments() []string {
	var starts []string
	if dir, err := os.Getwd(); err == nil {
		starts = append(starts, dir)
	}
	if binary, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(binary))
	}
	var all []string
	for _, dir := range starts {
		if venv := above(dir); venv != "" && (len(all) == 0 || all[0] != venv) {
			all = append(all, venv)
		}
	}
	return all
}

func above(dir string) string {
	for {
		venv := filepath.Join(dir, ".venv")
		if isDir(venv) {
			return venv
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

func first(pattern string) string {
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[0]
}

// pythonOf returns the Python into which the library was installed, or nil if
// it wasn't installed into one.
func pythonOf(ctx context.Context, library string) *python {
	site, packaged := upTo(library, "site-packages")
	if !packaged {
		if site, packaged = upTo(library, "dist-packages"); !packaged {
			return nil
		}
	}
	for _, executable := range []string{filepath.Join(site, "..", "..", "..", "bin", "python3"), "python3"} {
		if p, err := probe(ctx, executable); err == nil && sameFile(p.Site, site) {
			return p
		}
	}
	return nil
}

// upTo cuts a path after the last folder with the name.
func upTo(path, folder string) (string, bool) {
	i := strings.LastIndex(path, "/"+folder+"/")
	if i < 0 {
		return "", false
	}
	return path[:i+1+len(folder)], true
}

// probe runs pythonProbe with a Python.
func probe(ctx context.Context, executable string) (*python, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	text, err := exec.CommandContext(ctx, executable, "-c", pythonProbe).Output()
	if err != nil {
		return nil, err
	}
	var p python
	return &p, json.Unmarshal(text, &p)
}

// findBackends returns the configured backend directory, or the one that
// belongs to the library.
func findBackends(named, library string) (string, error) {
	if named != "" {
		if !isDir(named) {
			return "", configfield.Textf("the backend directory %s isn't a folder: correct the path in %s", named, configfield.Field("local.BackendDirectory"))
		}
		return absolute(named), nil
	}
	folder := filepath.Dir(library)
	tried := []string{
		filepath.Join(folder, "..", "pytriton", "tritonserver", "backends"),
		filepath.Join(folder, "..", "tritonserver", "backends"),
		filepath.Join(folder, "..", "backends"),
		filepath.Join(container, "backends"),
	}
	for _, dir := range tried {
		if isDir(dir) {
			return dir, nil
		}
	}
	return "", configfield.Textf("no backend directory was found for %s (tried %s): set it with %s", library, strings.Join(tried, ", "), configfield.Field("local.BackendDirectory"))
}

// findCaches returns the configured folder of caches, or the one beside the
// backends. It returns an empty string if there is none.
func findCaches(named, backends string) (string, error) {
	if named == "" {
		if beside := filepath.Join(backends, "..", "caches"); isDir(beside) {
			return beside, nil
		}
		return "", nil
	}
	if !isDir(named) {
		return "", configfield.Textf("the cache directory %s isn't a folder: correct the path in %s", named, configfield.Field("local.Options.CacheDirectory"))
	}
	return absolute(named), nil
}

// addStub adds the stub for this Python to the python backend, in a backend
// directory of links. The wheel has the stubs in another folder.
func (i *installation) addStub() error {
	backend := filepath.Join(i.backends, "python")
	if i.python == nil || !isDir(backend) || exists(filepath.Join(backend, stubName)) {
		return nil
	}
	stub := filepath.Join(i.backends, "..", "python_backend_stubs", i.python.Minor, stubName)
	if !exists(stub) {
		return fmt.Errorf("the python backend in %s has no stub for Python %s: use a Python version for which it has a stub", backend, i.python.Minor)
	}
	overlay, err := os.MkdirTemp("", "trident-backends-")
	if err != nil {
		return fmt.Errorf("create a backend directory with the python stub: %w", err)
	}
	i.overlay = overlay
	err = errors.Join(
		linkAll(i.backends, overlay, "python"),
		os.Mkdir(filepath.Join(overlay, "python"), 0o700),
		linkAll(backend, filepath.Join(overlay, "python"), ""),
		os.Symlink(stub, filepath.Join(overlay, "python", stubName)),
	)
	if err != nil {
		i.remove()
		return fmt.Errorf("create a backend directory with the python stub: %w", err)
	}
	i.backends = overlay
	return nil
}

// remove deletes the overlay.
func (i *installation) remove() {
	if i.overlay != "" {
		_ = os.RemoveAll(i.overlay)
	}
}

// linkAll links all entries of a folder into another one, except one entry.
func linkAll(from, into, except string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == except {
			continue
		}
		if err := os.Symlink(filepath.Join(from, entry.Name()), filepath.Join(into, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// setEnvironment sets the environment in which the python stubs find their
// libraries and their Python. The stubs inherit it.
func (i *installation) setEnvironment() error {
	libraries := []string{filepath.Dir(i.library)}
	if i.python == nil {
		return prepend("LD_LIBRARY_PATH", libraries...)
	}
	for _, folder := range i.python.Folders {
		if first(filepath.Join(folder, "libpython"+i.python.Minor+".so*")) != "" {
			libraries = append(libraries, folder)
			break
		}
	}
	return errors.Join(
		prepend("LD_LIBRARY_PATH", libraries...),
		prepend("PATH", filepath.Dir(i.python.Executable)),
	)
}

// prepend adds folders at the start of a variable's value, unless it starts with
// them already.
func prepend(variable string, folders ...string) error {
	value, old := strings.Join(folders, ":"), os.Getenv(variable)
	if old == value || strings.HasPrefix(old, value+":") {
		return nil
	}
	if old != "" {
		value += ":" + old
	}
	return os.Setenv(variable, value)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
