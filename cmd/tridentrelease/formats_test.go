package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/trident-inference/trident/web/client"
)

// TestSpellings compares the spellings of versions with what the formats demand. Builds before a
// release sort before it.
func TestSpellings(t *testing.T) {
	for _, row := range []struct{ version, python, packages string }{
		{"0.1.0", "0.1.0", "0.1.0"},
		{"1.2.3-rc1", "1.2.3rc1", "1.2.3~rc1"},
		{"1.2.3-beta.2", "1.2.3b2", "1.2.3~beta.2"},
		{"0.1.0-1a2b3c4", "0.1.0.dev0+1a2b3c4", "0.1.0~1a2b3c4"},
		{"0.1.0-1a2b3c4-dirty", "0.1.0.dev0+1a2b3c4.dirty", "0.1.0~1a2b3c4.dirty"},
	} {
		if got := pythonVersion(row.version); got != row.python {
			t.Errorf("%s in Python: got %s, want %s", row.version, got, row.python)
		}
		if got := packageVersion(row.version); got != row.packages {
			t.Errorf("%s in packages: got %s, want %s", row.version, got, row.packages)
		}
	}
}

// TestWheel installs a wheel of a small program with pip, and runs the program. The test changes to
// the root of the source tree, whose licences are in the wheel.
func TestWheel(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	python := filepath.Join(".venv-test", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Skip("needs pip: make setup-test")
	}
	out, to := t.TempDir(), t.TempDir()
	r := &release{options: &options{Version: "1.2.3-rc1", Out: out, Epoch: 1_700_000_000}, out: &bytes.Buffer{}}
	p := &program{target: target{"amd64", "x86_64"}, path: filepath.Join(out, "program")}
	if err := errors.Join(os.WriteFile(p.path, []byte("#!/bin/sh\necho \"$0 runs $1\"\n"), 0o700), os.WriteFile(r.path(r.sbomName(p)), []byte("{}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	const name = "trident_inference-1.2.3rc1-py3-none-manylinux_2_17_x86_64.whl"
	var made [2][]byte
	for i := range made {
		if err := r.wheel(p); err != nil {
			t.Fatal(err)
		}
		made[i], _ = os.ReadFile(filepath.Join(out, name))
	}
	if len(made[0]) == 0 || !bytes.Equal(made[0], made[1]) {
		t.Error("two wheels of the same files differ")
	}
	// pip checks the hashes and sizes of RECORD, and refuses a wheel whose tag isn't one of this platform.
	cmd := exec.CommandContext(t.Context(), python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--platform", "manylinux_2_17_x86_64", "--only-binary=:all:", "--target", to, filepath.Join(out, name))
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for path, want := range map[string]string{"trident": to + "/bin/trident runs here\n", frontendName: to + "/bin/trident runs here\n"} {
		text, err := exec.CommandContext(t.Context(), filepath.Join(to, "bin", path), "here").CombinedOutput()
		if err != nil || string(text) != want {
			t.Errorf("%s: %v: %s", path, err, text)
		}
	}
	for _, file := range []string{"METADATA", "licenses/LICENSE", "licenses/THIRD_PARTY_NOTICES", "sboms/trident.spdx.json"} {
		if _, err := os.Stat(filepath.Join(to, "trident_inference-1.2.3rc1.dist-info", file)); err != nil {
			t.Error(err)
		}
	}
	if modules, err := filepath.Glob(filepath.Join(to, "*.py")); err != nil || len(modules) > 0 {
		t.Errorf("the wheel has Python code: %v", modules)
	}
}

// TestBundles checks the npm package of the client and the Helm chart.
func TestBundles(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	out := t.TempDir()
	r := &release{options: &options{Version: "9.9.9", Out: out, Epoch: 1_700_000_000}, out: &bytes.Buffer{}}
	if err := errors.Join(r.client(t.Context()), r.chart(t.Context())); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(out, "*.tgz"))
	if err != nil || len(found) != 2 {
		t.Fatalf("%v, %v", found, err)
	}
	packed, err := client.Pack()
	if err != nil {
		t.Fatal(err)
	}
	chart, npm := found[0], found[1]
	if written, err := os.ReadFile(npm); err != nil || !bytes.Equal(written, packed) || !strings.HasPrefix(filepath.Base(npm), "trident-client-") {
		t.Errorf("%s isn't the package of the client: %v", npm, err)
	}
	all, err := os.ReadFile(chart)
	if err != nil {
		t.Fatal(err)
	}
	listed := list(t, all)
	for _, want := range []string{" trident/Chart.yaml 1700000000 ", " trident/values.yaml ", " trident/templates/deployment.yaml "} {
		if !strings.Contains(listed, want) {
			t.Errorf("%s has no%s", chart, want)
		}
	}
	for _, unwanted := range []string{" trident/tests/", " trident/ci/"} {
		if strings.Contains(listed, unwanted) {
			t.Errorf("%s has%s", chart, unwanted)
		}
	}
}

// TestLink checks that an archive contains links as links: those of a container image have no target
// in the source tree.
func TestLink(t *testing.T) {
	folder := t.TempDir()
	if err := os.Symlink("../missing", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "all.tar.gz")
	r := &release{options: &options{}}
	if err := archive(path, []file{{filepath.Join(folder, "link"), "top/link", 0o644}}, r.time()); err != nil {
		t.Fatal(err)
	}
	text, err := exec.CommandContext(t.Context(), "tar", "-tvzf", path).CombinedOutput()
	if err != nil || !strings.Contains(string(text), "top/link -> ../missing") {
		t.Errorf("%v: %s", err, text)
	}
}

// TestPredicate compares the provenance with what the release was built from.
func TestPredicate(t *testing.T) {
	r := &release{options: &options{Version: "1.2.3", Platforms: []string{"amd64"}, Epoch: 1_700_000_000}, compiler: "go1.26.11"}
	text, err := json.Marshal(r.predicate("0123abcd", "0.15.2"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"gitCommit":"0123abcd"`, `"uri":"pkg:generic/go@1.26.11"`, `"uri":"pkg:pypi/ziglang@0.15.2"`, `"version":"1.2.3"`, `"SOURCE_DATE_EPOCH":"1700000000"`, `"builder":{"id":"https://`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

// TestUnit checks that the packages' unit starts the packages' program, and that each file which
// nfpm's configuration names is staged.
func TestUnit(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	folder := t.TempDir()
	r := &release{options: &options{Epoch: 1_700_000_000, Out: folder}}
	if err := r.unit(folder); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "trident.service"))
	if err != nil || !strings.Contains(string(text), "\nExecStart=/usr/bin/trident\n") || strings.Contains(string(text), "ExecStart=/usr/local") {
		t.Errorf("%v\n%s", err, text)
	}
	staged, err := r.copied(t.Context(), &program{path: "LICENSE"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"trident.service", "completion.bash", "completion.zsh", "completion.fish"} {
		staged[name] = name
	}
	config, err := os.ReadFile(staged["nfpm.yaml"])
	if err != nil {
		t.Fatal(err)
	}
	sources := regexp.MustCompile(`src: "\$\{PACKAGE_FILES\}/([^"]+)"`).FindAllSubmatch(config, -1)
	for _, source := range sources {
		if staged[string(source[1])] == "" {
			t.Errorf("nfpm.yaml names %s, which isn't staged", source[1])
		}
	}
	if len(sources) < 10 {
		t.Errorf("nfpm.yaml names %d files", len(sources))
	}
	for _, script := range regexp.MustCompile(`(?m)^ {2}\w+: (deploy/packages/\S+)$`).FindAllSubmatch(config, -1) {
		if _, err := os.Stat(string(script[1])); err != nil {
			t.Error(err)
		}
	}
}
