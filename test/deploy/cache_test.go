package deploy

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// clone is a folder with the project's scripts in the places of a clone.
type clone struct {
	dir string
	env []string
}

// greeting is the setup script of the clones. It installs the package of wheel.
const greeting = `#!/usr/bin/env bash
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"
finish() { :; }
lock_cache
environment .venv "1 kB" python3 requirements.txt finish
sweep_cache
`

// newClone creates a clone. Its pip finds only the packages in the folder wheels.
func newClone(t *testing.T, cache, wheels string) clone {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"cache.sh", "npm-ci.sh"} {
		content, err := os.ReadFile(filepath.Join(root, "tools", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "tools", name), string(content))
	}
	write(t, filepath.Join(dir, "tools", "setup.sh"), greeting)
	bin, err := filepath.Abs(filepath.Join(root, ".venv-test", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	return clone{dir, append(os.Environ(), "TRIDENT_CACHE="+cache, "PIP_NO_INDEX=1", "PIP_FIND_LINKS="+wheels, "PATH="+os.Getenv("PATH")+":"+bin)}
}

// run runs one of the clone's scripts and returns what it printed.
func (c clone) run(name string, args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(c.dir, "tools", name), args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// interrupt starts the clone's setup, and kills it and its children while it creates the environment.
func (c clone) interrupt(t *testing.T) {
	t.Helper()
	cmd := exec.Command(filepath.Join(c.dir, "tools", "setup.sh"))
	cmd.Dir, cmd.Env, cmd.SysProcAttr = c.dir, c.env, &syscall.SysProcAttr{Setpgid: true}
	printed, err := cmd.StderrPipe()
	if err := cmp.Or(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(printed).ReadString('\n'); err != nil || !strings.Contains(line, ".venv [1/4]") {
		t.Errorf("%v: it began with %q", err, line)
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the command was killed, so the error is expected
}

// want runs a script that must succeed and print the text.
func (c clone) want(t *testing.T, text, name string, args ...string) {
	t.Helper()
	if out, err := c.run(name, args...); err != nil || !strings.Contains(out, text) {
		t.Fatalf("%s: %v, and no %q in:\n%s", name, err, text, out)
	}
}

// environment returns the folder that .venv is a link to.
func (c clone) environment(t *testing.T) string {
	t.Helper()
	dir, err := os.Readlink(filepath.Join(c.dir, ".venv"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o700)); err != nil {
		t.Fatal(err)
	}
}

// wheel creates a Python package with one module, greeting, and returns its requirement.
func wheel(t *testing.T, folder string) string {
	t.Helper()
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for name, content := range map[string]string{
		"greeting.py":                     "hello = 'hello'\n",
		"greeting-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n",
		"greeting-1.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"greeting-1.0.dist-info/RECORD":   "greeting.py,,\ngreeting-1.0.dist-info/METADATA,,\ngreeting-1.0.dist-info/WHEEL,,\ngreeting-1.0.dist-info/RECORD,,\n",
	} {
		file, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "greeting-1.0-py3-none-any.whl"), archive.String())
	return fmt.Sprintf("greeting==1.0 --hash=sha256:%x\n", sha256.Sum256(archive.Bytes()))
}

// age sets the times of a file or folder to 100 days ago.
func age(t *testing.T, path string) {
	t.Helper()
	past := time.Now().AddDate(0, 0, -100)
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
}

// TestCachedEnvironments checks that clones of the repository share the Python environments of one
// cache, even if an earlier setup was interrupted.
func TestCachedEnvironments(t *testing.T) {
	cache, wheels := filepath.Join(t.TempDir(), "cache"), t.TempDir()
	requirement := wheel(t, wheels)
	clones := []clone{newClone(t, cache, wheels), newClone(t, cache, wheels)}
	for _, c := range clones {
		write(t, filepath.Join(c.dir, "requirements.txt"), requirement)
	}

	clones[0].interrupt(t)
	if partial, err := filepath.Glob(filepath.Join(cache, "venv", "venv-*")); err != nil || len(partial) != 1 {
		t.Fatalf("the interrupted setup left %v, %v", partial, err)
	}

	// Both clones start after the interrupted setup: one installs the environment, the other waits.
	var outs [2]string
	var errs [2]error
	var both sync.WaitGroup
	for i, c := range clones {
		both.Go(func() { outs[i], errs[i] = c.run("setup.sh") })
	}
	both.Wait()
	all := outs[0] + outs[1]
	if err := errors.Join(errs[:]...); err != nil || strings.Count(all, ".venv: installed") != 1 || strings.Count(all, ".venv: from the cache") != 1 {
		t.Fatalf("%v; the setups printed\n%s", err, all)
	}
	first := clones[0].environment(t)
	if second := clones[1].environment(t); first != second || filepath.Dir(first) != filepath.Join(cache, "venv") {
		t.Fatalf("the two clones have the environments %s and %s", first, second)
	}
	clones[0].want(t, ".venv: up to date", "setup.sh")
	if out, err := exec.CommandContext(t.Context(), filepath.Join(clones[1].dir, ".venv", "bin", "python"), "-c", "import greeting; print(greeting.hello)").CombinedOutput(); err != nil || string(out) != "hello\n" {
		t.Errorf("%v: %s", err, out)
	}

	// Changed requirements create another environment from the same download.
	write(t, filepath.Join(clones[0].dir, "requirements.txt"), "# changed\n"+requirement)
	clones[0].want(t, "downloaded 0 packages, 0 MB, and took 1 from the cache", "setup.sh")
	changed := clones[0].environment(t)
	if changed == first {
		t.Error("an environment is reused although its requirements changed")
	}

	// Unused entries are removed after some time; used entries stay.
	age(t, first)
	age(t, changed)
	clones[0].want(t, ".venv: up to date", "setup.sh")
	if _, err := os.Stat(changed); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(first); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old environment is still there: %v", err)
	}
}

// TestCacheFolder checks that a folder with a user's files isn't accepted as the cache.
func TestCacheFolder(t *testing.T) {
	cache := t.TempDir()
	write(t, filepath.Join(cache, "bin", "mine"), "mine")
	c := newClone(t, cache, t.TempDir())
	if out, err := c.run("setup.sh"); err == nil || !strings.Contains(out, "has other files in it: set TRIDENT_CACHE to an empty one") {
		t.Errorf("%v: %s", err, out)
	}
	if entries, err := os.ReadDir(cache); err != nil || len(entries) != 1 {
		t.Errorf("%v: %v", err, entries)
	}
}

// pageLock is the lock file of a page that depends on one package in a folder, and on one in an archive.
const pageLock = `{"name": "page", "lockfileVersion": 3, "requires": true, "packages": {
	"": {"name": "page", "dependencies": {"client": "file:../client", "part": "file:part.tgz"}},
	"../client": {"name": "client", "version": "1.0.0"},
	"node_modules/client": {"resolved": "../client", "link": true},
	"node_modules/part": {"version": "1.0.0", "resolved": "file:part.tgz"}
}}`

// writePage writes the page and its client into a clone.
func writePage(t *testing.T, c clone, client string) {
	t.Helper()
	write(t, filepath.Join(c.dir, "client", "package.json"), `{"name": "client", "version": "1.0.0", "main": "index.js"}`)
	write(t, filepath.Join(c.dir, "client", "index.js"), client)
	write(t, filepath.Join(c.dir, "page", "package.json"), `{"name": "page", "dependencies": {"client": "file:../client", "part": "file:part.tgz"}}`)
	write(t, filepath.Join(c.dir, "page", "package-lock.json"), pageLock)
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	files := tar.NewWriter(compressed)
	for name, content := range map[string]string{
		"package/package.json": `{"name": "part", "version": "1.0.0", "main": "index.js"}`,
		"package/index.js":     "module.exports = 'part'",
	} {
		if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(files.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(c.dir, "page", "part.tgz"), archive.String())
}

// TestCachedModules checks that clones of the repository share the npm packages of one cache.
// Packages in the clone's own folders are not cached.
func TestCachedModules(t *testing.T) {
	program, err := filepath.Abs(tool(t, "node"))
	if err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(t.TempDir(), "cache")
	var installed []fs.FileInfo
	for i, text := range []string{"page: installed in", "page: taken from the cache"} {
		c := newClone(t, cache, t.TempDir())
		writePage(t, c, fmt.Sprintf("module.exports = 'client %d'", i))
		c.want(t, text, "npm-ci.sh", "page")
		if out, err := c.run("npm-ci.sh", "page"); err != nil || out != "" {
			t.Errorf("again: %v: %s", err, out)
		}
		node := exec.CommandContext(t.Context(), program, "-p", "require('client') + ' ' + require('part')")
		node.Dir = filepath.Join(c.dir, "page")
		if out, err := node.CombinedOutput(); err != nil || string(out) != fmt.Sprintf("client %d part\n", i) {
			t.Errorf("%v: %s", err, out)
		}
		info, err := os.Stat(filepath.Join(c.dir, "page", "node_modules", "part", "index.js"))
		if err != nil {
			t.Fatal(err)
		}
		installed = append(installed, info)
	}
	if !os.SameFile(installed[0], installed[1]) {
		t.Error("the clones have copies of the same file")
	}
}
