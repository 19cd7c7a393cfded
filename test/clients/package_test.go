package clients

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// list is the name of a list of Python packages in requirements, or a folder of npm packages.
type list string

// Lists that make setup-test installs. tools/setup-clients.sh installs the others.
const (
	sdkNode list = "test/e2e/node"     // packages of the end-to-end tests
	node    list = "test/clients/node" // packages of this test
)

func (l list) npm() bool { return strings.Contains(string(l), "/") }

// environment returns the folder of a virtual environment.
func (l list) environment(root string) string { return filepath.Join(root, ".venv-clients-"+string(l)) }

// bin returns the folder of the commands.
func (l list) bin(root string) string {
	if l.npm() {
		return filepath.Join(l.modules(root), ".bin")
	}
	return filepath.Join(l.environment(root), "bin")
}

// modules returns the folder of npm's packages, or "" for Python.
func (l list) modules(root string) string {
	if !l.npm() {
		return ""
	}
	return filepath.Join(root, string(l), "node_modules")
}

// checkPackage fails the test unless the row's package is installed, pinned by the row's hash and
// unchanged.
func (r *row) checkPackage(t *testing.T, root string) {
	t.Helper()
	if r.List.npm() {
		r.checkModule(t, root)
		return
	}
	pinned, err := os.ReadFile(filepath.Join(root, "test", "clients", "requirements", string(r.List)+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	if line := r.Package + "==" + r.Version + " --hash=" + r.Hash + "\n"; !strings.Contains(string(pinned), "\n"+line) {
		t.Errorf("%s.txt doesn't have the line %s", r.List, line)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), filepath.Join(r.List.environment(root), "bin", "python"), "-I", "installed.py", r.Package)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s isn't installed unchanged (make clients installs it): %v\n%s", r.Package, err, stderr.String())
	}
	if got := strings.TrimSpace(stdout.String()); got != r.Version {
		t.Errorf("version %s of %s is installed, want %s", got, r.Package, r.Version)
	}
}

// checkModule checks a package of npm. npm compares the hash of the downloaded file, the test the hashes of the
// installed files.
func (r *row) checkModule(t *testing.T, root string) {
	t.Helper()
	var lock struct {
		Packages map[string]struct{ Version, Integrity string }
	}
	decodeFile(t, filepath.Join(root, string(r.List), "package-lock.json"), &lock)
	if got := lock.Packages["node_modules/"+r.Package]; got.Version != r.Version || got.Integrity != r.Hash {
		t.Errorf("package-lock.json has version %s of %s with the hash %s, want %s with %s", got.Version, r.Package, got.Integrity, r.Version, r.Hash)
	}
	var installed struct{ Version string }
	decodeFile(t, filepath.Join(r.List.modules(root), r.Package, "package.json"), &installed)
	if installed.Version != r.Version {
		t.Errorf("version %s of %s is installed, want %s", installed.Version, r.Package, r.Version)
	}
	for name, want := range r.Modules {
		if got := treeHash(t, filepath.Join(r.List.modules(root), name)); got != want {
			t.Errorf("the files of %s have the hash %s, want %s: the package has changed", name, got, want)
		}
	}
}

// treeHash returns a hash of the names and the contents of all files in a folder.
func treeHash(t *testing.T, dir string) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		content := sha256.New()
		if _, err := io.Copy(content, file); err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		fmt.Fprintf(sum, "%s %x\n", name, content.Sum(nil))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

func decodeFile(t *testing.T, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: make clients installs what is missing", err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
