package e2e

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// webLimit bounds a run of node. It is generous, because the machine may be busy.
const webLimit = 5 * time.Minute

// webClient is the folder of the browser client, which make generate has built.
var webClient = shared(func(t *testing.T) (string, error) {
	t.Helper()
	dir := filepath.Join(root(t), "web", "client")
	return dir, installModules(t, dir)
})

// clientPackage is the path of the package that the server serves to npm.
const clientPackage = "/client.tgz"

// TestClientPackage compares the package that the server serves with the one that npm packs from the client's
// folder. TestConnectNode installs the package.
func TestClientPackage(t *testing.T) {
	t.Parallel()
	s, dir := serving(t), t.TempDir()
	if err := command(filepath.Join(root(t), "web", "client"), installed(t, "npm"), "pack", "--ignore-scripts", "--silent", "--pack-destination", dir); err != nil {
		t.Fatal(err)
	}
	made, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(made) != 1 {
		t.Fatalf("npm pack printed %v, %v", made, err)
	}
	want, err := os.ReadFile(made[0])
	if err != nil {
		t.Fatal(err)
	}
	got := s.get(t, clientPackage).want(t, http.StatusOK)
	if kind := got.header.Get("Content-Type"); kind != "application/gzip" {
		t.Errorf("the package has the content type %q", kind)
	}
	files := unpacked(t, got.body)
	if want := unpacked(t, want); !maps.Equal(files, want) {
		t.Errorf("the server's package has the files %v and npm's %v, or their contents differ", slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(want)))
	}
	if files["package/dist/index.js"] == "" || files["package/dist/index.d.ts"] == "" {
		t.Error("the package has no client")
	}
	again := s.get(t, clientPackage, "If-None-Match", got.header.Get("ETag"))
	if again.status != http.StatusNotModified || len(again.body) != 0 || got.header.Get("Cache-Control") != "no-cache" {
		t.Errorf("the second request: %d, %d bytes, Cache-Control %q", again.status, len(again.body), got.header.Get("Cache-Control"))
	}
}

// unpacked returns the files of a package: their modes and contents.
func unpacked(t *testing.T, pack []byte) map[string]string {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(pack))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		content, readErr := io.ReadAll(archive)
		if err := cmp.Or(err, readErr); err != nil {
			t.Fatal(err)
		}
		files[header.Name] = fmt.Sprintf("%o %s\n%s", header.Mode, header.ModTime.UTC(), content)
	}
}

// TestWebExample builds the page of examples/web-connect, and uses it in a real Chromium. The page has
// another origin than the server and uses the browser's own fetch.
func TestWebExample(t *testing.T) {
	t.Parallel()
	webClient(t)
	dir := filepath.Join(root(t), "examples", "web-connect")
	if err := cmp.Or(installModules(t, dir), command(dir, installed(t, "npm"), "run", "--silent", "build")); err != nil {
		t.Fatal(err)
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("the page builds, but chromium is missing, which the test uses as browser: apt-get install chromium")
	}
	s := ownEngine(t, scripted(t, "chat")).startReady(t)
	page := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(dir, "dist"))))
	defer page.Close()
	ctx, cancel := context.WithTimeout(t.Context(), webLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, installed(t, "node"), filepath.Join(nodePrograms(t), "browser.mjs"), chromium, page.URL+"/?server="+url.QueryEscape(s.url))
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v:\n%s", err, failure.String())
	}
	var shown map[string]struct {
		State, Text string
		Pieces      int
	}
	if err := json.Unmarshal(out, &shown); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"Chat", "By tensors"} {
		if got := shown[name]; got.State != "done" || got.Pieces < 5 {
			t.Errorf("%s: the page shows %+v", name, got)
		}
	}
	want := s.chat(t, ask("Count from one to ten in words.", "max_tokens", 64, "temperature", 0)).Choices[0].Message.Content
	if got := shown["Chat"].Text; got != want {
		t.Errorf("the page shows %q, want %q", got, want)
	}
}

// deno returns the path of Deno, which npm installs.
func deno(t *testing.T) (string, error) {
	t.Helper()
	if err := installModules(t, "deno"); err != nil {
		return "", err
	}
	return filepath.Abs(filepath.Join("deno", "node_modules", "@deno", "linux-x64-glibc", "deno"))
}

// TestWebClient runs the browser client's own tests on Node and on Deno, whose fetch is like that of
// browsers. The tests get a server for each state that they need.
func TestWebClient(t *testing.T) {
	t.Parallel()
	dir := webClient(t)
	t.Run("types", func(t *testing.T) {
		if err := command(dir, installed(t, "npm"), "run", "--silent", "check"); err != nil {
			t.Error(err)
		}
	})
	var program string
	var missing error
	var coming sync.WaitGroup
	coming.Go(func() { program, missing = deno(t) }) // the download is large
	defer coming.Wait()
	chats := ownEngine(t, scripted(t, "chat", "embedding")) // its metrics show whether the model stops for cancelled calls
	tensors := disposableEngine(t, kserveModels(t, "models")).startReady(t, kservePorts()...)
	controlled := start(t, "--model-repository="+filepath.Join(root(t), "test", "models"), "--model-control-mode=explicit")
	controlled.awaitReady(t) // Trident is ready without models
	env := []string{
		"TRIDENT_URL=" + chats.startReady(t).url, "TRIDENT_TENSORS_URL=" + tensors.url, "TRIDENT_CONTROLLED_URL=" + controlled.url,
		"TRIDENT_LIMITED_URL=" + chats.startReady(t, "--max-in-flight=1", "--max-queued=0").url, "TRIDENT_DOWN_URL=" + start(t, "--triton-endpoint=127.0.0.1:1").url,
	}
	if !inProcess() {
		env = append(env, "TRIDENT_METRICS_URL="+chats.server.MetricsURL())
	}
	run := func(t *testing.T, passed string, name string, args ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), webLimit)
		defer cancel()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir, cmd.Env, cmd.WaitDelay = dir, environment(env...), time.Second
		out, err := cmd.CombinedOutput()
		if err != nil || !regexp.MustCompile(passed).Match(out) {
			t.Errorf("%v; it printed:\n%s", err, out)
		}
		t.Logf("%s", out)
	}
	t.Run("Node", func(t *testing.T) {
		// The files run one after the other, because all of them use the chat model's slots.
		run(t, `(?m)^\S+ pass [1-9]\d`, installed(t, "node"), "--test", "--test-concurrency=1", "--test-timeout=60000", "test/*.test.ts")
	})
	t.Run("Deno", func(t *testing.T) {
		coming.Wait()
		if missing != nil {
			t.Fatal(missing)
		}
		// The tests of texts, which stream, fail and cancel. The client needs only network access; the tests
		// read the servers' addresses from variables.
		env = append(env, "DENO_DIR="+t.TempDir(), "NO_COLOR=1")
		run(t, `ok \| [1-9]\d* passed .* 0 failed`, program, "test", "--no-check", "--no-lock", "--cached-only", "--allow-env", "--allow-net=127.0.0.1", "test/texts.test.ts")
	})
}
