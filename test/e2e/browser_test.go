package e2e

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// passed matches the last line of node's test output with at least ten passed tests.
var passed = regexp.MustCompile(`(?m)^\S+ pass [1-9]\d`)

// TestPlayground type-checks the page at /, runs its own tests, and uses it in a real Chromium. If
// TRIDENT_TEST_SHOTS is set, the test writes screenshots to that folder.
func TestPlayground(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(root(t), "web", "playground")
	webClient(t)
	if err := installModules(t, dir); err != nil {
		t.Fatal(err)
	}
	t.Run("types", func(t *testing.T) {
		if err := command(dir, installed(t, "npm"), "run", "--silent", "check"); err != nil {
			t.Error(err)
		}
	})
	t.Run("parts", func(t *testing.T) { runNode(t, dir, nil, "test/pure.test.ts") })
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is missing, which the test uses as browser: apt-get install chromium")
	}
	out := t.TempDir()
	elsewhere := otherOrigin(t)
	// The server is the test's own. A request of another test could occupy the model when a response is
	// stopped, or change a response that is requested again.
	s := ownEngine(t, demoOptions(t)).startReady(t)
	kinds := ownEngine(t, contractOptions(t, "")).startAt(t, root(t)) // the page loads and unloads its models
	kinds.awaitReady(t)
	env := []string{
		"CHROMIUM=" + chromium, "TRIDENT_OUT=" + out, "TRIDENT_SHOTS=" + os.Getenv("TRIDENT_TEST_SHOTS"),
		"TRIDENT_URL=" + paced(t, s.url), "TRIDENT_KINDS_URL=" + kinds.url, "TRIDENT_GATE_URL=" + gate(t, s.url) + "/models/",
		"TRIDENT_DOWN_URL=" + start(t, "--triton-endpoint=127.0.0.1:1").url, "TRIDENT_ELSEWHERE_URL=" + elsewhere,
		"TRIDENT_ALLOWING_URL=" + start(t, "--triton-endpoint=127.0.0.1:1", "--no-playground", "--cors-origin="+elsewhere).url,
	}
	if !inProcess() {
		env = append(env, "TRIDENT_METRICS_URL="+s.server.MetricsURL())
	}
	t.Run("page", func(t *testing.T) { runNode(t, nodePrograms(t), env, "playground.test.mjs") })
	t.Run("programs", func(t *testing.T) { checkPrograms(t, out) })
}

func runNode(t *testing.T, dir string, env []string, file string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), webLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, installed(t, "node"), "--test", "--test-timeout=120000", file)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, environment(env...), time.Second
	printed, err := cmd.CombinedOutput()
	if err != nil || !passed.Match(printed) {
		t.Errorf("%v; it printed:\n%s", err, printed)
	}
	t.Logf("%s", printed)
}

// otherOrigin serves a page under another host name, which the tests' browser resolves to this machine.
func otherOrigin(t *testing.T) string {
	t.Helper()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>Elsewhere</title>"))
	}))
	t.Cleanup(page.Close)
	u, err := url.Parse(page.URL)
	if err != nil {
		t.Fatal(err)
	}
	return "http://play.example:" + u.Port()
}

// gate is a proxy as operators run it in front of Trident: with a path prefix, and for calls with an API key.
func gate(t *testing.T, target string) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }, FlushInterval: -1}
	server := httptest.NewServer(http.StripPrefix("/models", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.Header.Get("Authorization") != "Bearer open-sesame" {
			http.Error(w, "no key", http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, r)
	})))
	t.Cleanup(server.Close)
	return server.URL
}

// paced is a proxy that delays streams like a slow network. A browser on a busy machine then also shows the
// pieces of a response one by one.
func paced(t *testing.T, target string) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }, FlushInterval: -1,
		ModifyResponse: func(response *http.Response) error {
			if strings.HasPrefix(response.Header.Get("Content-Type"), "application/connect+") { // the response is a stream
				response.Body = &pacedBody{response.Body, time.NewTicker(20 * time.Millisecond)}
			}
			return nil
		},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo), // browsers disconnect
	})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// pacedBody returns a piece of a body at each tick, about the size of a message with one token.
type pacedBody struct {
	io.ReadCloser

	tick *time.Ticker
}

func (b *pacedBody) Read(p []byte) (int, error) {
	<-b.tick.C
	return b.ReadCloser.Read(p[:min(len(p), 100)])
}

// checkPrograms runs the programs that the page shows for a request, and compares their output with the page's
// response.
func checkPrograms(t *testing.T, dir string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join(dir, "answer.txt"))
	if err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Abs(nodePrograms(t))
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join(dir, "node.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]*exec.Cmd{
		"Python": exec.Command(installed(t, "python"), filepath.Join(dir, "python.py")),
		"Node":   exec.Command(installed(t, "node"), "--input-type=module"),
		"Go":     exec.Command("go", "run", filepath.Join(dir, "go.go")),
		"curl":   exec.Command("bash", "-c", "set -o pipefail; bash curl.sh | sed -n 's/^data: {/{/p' | "+jsonTexts(t)),

		"Anthropic": exec.Command("bash", "-c", "set -o pipefail; bash anthropic.sh | sed -n 's/^data: {/{/p' | "+messageTexts(t)),
	}
	programs["Node"].Dir, programs["Node"].Stdin = modules, bytes.NewReader(script)
	programs["Go"].Dir, programs["curl"].Dir, programs["Anthropic"].Dir = root(t), dir, dir
	for name, cmd := range programs {
		t.Run(name, func(t *testing.T) {
			got, err := cmd.Output()
			if err != nil || withoutSpace(string(got)) != withoutSpace(string(want)) {
				t.Errorf("%v: %q, want %q; %s", err, got, want, failureOf(err))
			}
		})
	}
}

// jsonTexts returns a command that prints the text of a chat's chunks.
func jsonTexts(t *testing.T) string {
	t.Helper()
	const program = `import json,sys
for line in sys.stdin:
    for choice in json.loads(line)["choices"]: sys.stdout.write(choice["delta"].get("content") or "")`
	return installed(t, "python") + " -c '" + program + "'"
}

// messageTexts returns a command that prints the text of a message's events.
func messageTexts(t *testing.T) string {
	t.Helper()
	const program = `import json,sys
for line in sys.stdin: sys.stdout.write(json.loads(line).get("delta", {}).get("text") or "")`
	return installed(t, "python") + " -c '" + program + "'"
}

// withoutSpace returns the text without white space, which a page may show differently.
func withoutSpace(text string) string { return strings.Join(strings.Fields(text), " ") }

func failureOf(err error) string {
	if failed, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Output doesn't wrap the error
		return string(failed.Stderr)
	}
	return ""
}
