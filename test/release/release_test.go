// Package release builds a release twice and tries its files as users do. pip installs the wheel, dpkg
// and rpm install the packages, and npm installs the client. Each program serves in a folder that has
// only the package's files and glibc. `make test-release` runs the package.
package release

import (
	"bytes"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// variable is the environment variable that turns the tests on. They take minutes. It is 1, or the
// absolute path of a folder with a release of the version below, which the tests then don't build.
const variable = "TRIDENT_TEST_RELEASE"

const root = "../.."

// version is that of the built release. It has the form of a build of a commit without a tag.
const version = "0.1.0-1a2b3c4"

// spelled is the version as Debian's and RPM's packages spell it.
const spelled = "0.1.0~1a2b3c4"

// TestRelease builds a release and checks each of its files.
func TestRelease(t *testing.T) {
	if os.Getenv(variable) == "" {
		t.Skip("needs minutes: make test-release")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("starts programs for amd64")
	}
	dist := os.Getenv(variable)
	if !filepath.IsAbs(dist) {
		dist = t.TempDir()
		t.Log(makeRelease(t, root, dist))
	}
	t.Run("files", func(t *testing.T) { testFiles(t, dist) })
	t.Run("page", func(t *testing.T) { testPage(t, dist) })
	t.Run("sbom", func(t *testing.T) { testSBOM(t, dist) })
	t.Run("wheel", func(t *testing.T) { testWheel(t, dist) })
	t.Run("archives", func(t *testing.T) { testArchives(t, dist) })
	t.Run("deb", func(t *testing.T) { testDeb(t, dist) })
	t.Run("rpm", func(t *testing.T) { testRPM(t, dist) })
	t.Run("npm", func(t *testing.T) { testNPM(t, dist) })
	t.Run("chart", func(t *testing.T) { testChart(t, dist) })
	t.Run("arm64", func(t *testing.T) { testARM64(t, dist) })
	t.Run("again", func(t *testing.T) { testAgain(t, dist) })
}

// makeRelease builds the release of a source tree and returns what the command printed.
func makeRelease(t *testing.T, tree, dist string) string {
	t.Helper()
	zig, err := filepath.Abs(filepath.Join(root, ".venv-release", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "./cmd/tridentrelease", "--version="+version, "--out="+dist, "--zig="+zig+" -m ziglang")
	cmd.Dir = tree
	return output(t, cmd)
}

// output runs a command that must succeed, and returns what it printed.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, text)
	}
	return string(text)
}

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	return output(t, exec.CommandContext(t.Context(), name, args...))
}

// one returns the only file of the release with this pattern.
func one(t *testing.T, dist, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dist, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found[0]
}

// testFiles checks the names of all files, and their checksums.
func testFiles(t *testing.T, dist string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "SHA256SUMS")
	cmd.Dir = dist
	checked := output(t, cmd)
	want := []string{"provenance.json", "trident-chart-*.tgz", "trident-client-*.tgz"}
	for _, arch := range []struct{ goarch, machine string }{{"amd64", "x86_64"}, {"arm64", "aarch64"}} {
		want = append(want,
			"trident_"+version+"_linux_"+arch.goarch+".tar.gz", "trident-remote_"+version+"_linux_"+arch.goarch+".tar.gz",
			"trident_"+version+"_linux_"+arch.goarch+".spdx.json", "trident_"+spelled+"_"+arch.goarch+".deb", "trident-"+spelled+"-1."+arch.machine+".rpm",
			"trident_inference-0.1.0.dev0+1a2b3c4-py3-none-manylinux_2_*_"+arch.machine+".whl")
	}
	for _, pattern := range want {
		if name := filepath.Base(one(t, dist, pattern)); !strings.Contains(checked, name+": OK\n") {
			t.Errorf("SHA256SUMS lacks %s", name)
		}
	}
	entries, err := os.ReadDir(dist)
	if err != nil || len(entries) != len(want)+1 {
		t.Errorf("%d files, want %d and SHA256SUMS: %v, %v", len(entries), len(want), entries, err)
	}
}

// testPage checks that each name in the table of docs/contributing/releasing.md is that of a file, and
// that each file has a name there.
func testPage(t *testing.T, dist string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "contributing", "releasing.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| file in `dist/` | content |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	documented := map[string]bool{}
	for row := range strings.Lines(table) {
		names, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		for name := range strings.SplitSeq(names, ", ") {
			pattern := strings.NewReplacer("`", "", "VERSION", "*", "ARCH", "*", "MACHINE", "*").Replace(name)
			found, err := filepath.Glob(filepath.Join(dist, pattern))
			if err != nil || len(found) == 0 && !strings.HasPrefix(name, "|--") {
				t.Errorf("the page names %s, which isn't made: %v", name, err)
			}
			for _, path := range found {
				documented[filepath.Base(path)] = true
			}
		}
	}
	entries, err := os.ReadDir(dist)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !documented[entry.Name()] {
			t.Errorf("the page doesn't name %s", entry.Name())
		}
	}
}

// testAgain builds the release of a copy of the source tree in another folder, with other times of its
// files and an empty environment of the compiler, and compares all bytes.
func testAgain(t *testing.T, dist string) {
	t.Helper()
	tree, again := filepath.Join(t.TempDir(), "another-name"), t.TempDir()
	copyTree(t, tree)
	makeRelease(t, tree, again)
	entries, err := os.ReadDir(dist)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if a, b := hash(t, filepath.Join(dist, entry.Name())), hash(t, filepath.Join(again, entry.Name())); a != b {
			t.Errorf("%s has other bytes in the second build", entry.Name())
		}
	}
}

func hash(t *testing.T, path string) [sha256.Size]byte {
	t.Helper()
	all, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(all)
}

// copyTree clones the repository, with the changes that aren't committed: Go writes the commit and
// whether the tree differs from it into binaries.
func copyTree(t *testing.T, to string) {
	t.Helper()
	from, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	command(t, "git", "clone", "--quiet", "--shared", from, to)
	changes := exec.CommandContext(t.Context(), "git", "-C", from, "diff", "--binary", "HEAD")
	patch, err := changes.Output()
	if err != nil {
		t.Fatal(err)
	}
	if len(patch) > 0 {
		apply := exec.CommandContext(t.Context(), "git", "-C", to, "apply", "-")
		apply.Stdin = bytes.NewReader(patch)
		output(t, apply)
	}
	added := command(t, "git", "-C", from, "ls-files", "--others", "--exclude-standard")
	for name := range strings.Lines(added) {
		name = strings.TrimSpace(name)
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o750); err != nil {
			t.Fatal(err)
		}
		command(t, "cp", "-P", filepath.Join(from, name), filepath.Join(to, name))
	}
}
