package modelfiles

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trident-inference/trident/services/inference"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const commit = "0123456789abcdef0123456789abcdef01234567"

// fakeHub responds as the hub does: it serves small files itself and redirects large
// files to another host.
type fakeHub struct {
	*httptest.Server

	files   map[string]string // contents of the small files by path
	large   map[string]string
	damage  bool
	etag    string // ETag header of the small files; it replaces the real one
	failing func(path string) int

	mu    sync.Mutex
	asked []string // path of each request, with a mark if the request had a token
}

func newFakeHub(t *testing.T) *fakeHub {
	t.Helper()
	h := &fakeHub{
		files: map[string]string{
			"config.json":                              `{"max_position_embeddings": 512}`,
			"tokenizer_config.json":                    `{"chat_template": "old", "bos_token": "<s>", "added_tokens_decoder": {}}`,
			"chat_template.jinja":                      "{{ bos_token }}new",
			"README.md":                                "not wanted",
			"additional_chat_templates/rag.jinja":      "rag",
			"additional_chat_templates/../../up.jinja": "not wanted",
		},
		large:   map[string]string{"tokenizer.json": `{"version":"1.0"}`},
		failing: func(string) int { return 0 },
	}
	cdn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.note(r, "cdn")
		body := h.large[strings.TrimPrefix(r.URL.Path, "/")]
		if h.damage {
			body = "damaged"
		}
		w.Header().Set("Etag", `"the cdn's own"`)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(cdn.Close)
	h.Server = httptest.NewServer(h.handler(strings.Replace(cdn.URL, "127.0.0.1", "localhost", 1)))
	t.Cleanup(h.Close)
	return h
}

func (h *fakeHub) note(r *http.Request, host string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	line := host + r.URL.Path
	if r.Header.Get("Authorization") != "" {
		line += " " + r.Header.Get("Authorization")
	}
	h.asked = append(h.asked, line)
}

func (h *fakeHub) handler(cdn string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/models/org/model/revision/{revision}", func(w http.ResponseWriter, r *http.Request) {
		h.note(r, "")
		if status := h.failing(r.URL.Path); status != 0 {
			w.WriteHeader(status)
			return
		}
		type sibling struct {
			Name string `json:"rfilename"`
		}
		var siblings []sibling
		for name := range h.files {
			siblings = append(siblings, sibling{name})
		}
		for name := range h.large {
			siblings = append(siblings, sibling{name})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"sha": commit, "siblings": siblings})
	})
	mux.HandleFunc("GET /org/model/resolve/"+commit+"/{name...}", func(w http.ResponseWriter, r *http.Request) {
		h.note(r, "")
		name := r.PathValue("name")
		if status := h.failing(r.URL.Path); status != 0 {
			w.WriteHeader(status)
			return
		}
		if body, ok := h.large[name]; ok {
			sum := sha256.Sum256([]byte(body))
			w.Header().Set("X-Linked-Etag", `"`+hex.EncodeToString(sum[:])+`"`)
			http.Redirect(w, r, cdn+"/"+name, http.StatusFound)
			return
		}
		etag := h.etag
		if etag == "" {
			etag = fmt.Sprintf("%x", name)
		}
		w.Header().Set("Etag", `W/"`+etag+`"`)
		_, _ = w.Write([]byte(h.files[name]))
	})
	return mux
}

func (h *fakeHub) config(t *testing.T) HubConfig {
	t.Helper()
	return HubConfig{Endpoint: h.URL, Token: "secret", Cache: t.TempDir(), Timeout: 10 * time.Second}
}

func newLibrary(t *testing.T, config HubConfig) *Library {
	t.Helper()
	l := New(Config{Hub: config}, slog.New(slog.DiscardHandler))
	t.Cleanup(l.Stop)
	return l
}

// await opens a reference and waits for its downloads.
func await(t *testing.T, l *Library, reference string) (*inference.Published, error) {
	t.Helper()
	if _, err := l.Open(reference); err != nil && !errors.Is(err, inference.ErrFetching) {
		return nil, err
	}
	if err := l.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l.Open(reference)
}

func TestFetch(t *testing.T) {
	hub := newFakeHub(t)
	config := hub.config(t)
	library := newLibrary(t, config)
	if _, err := library.Open("org/model"); !errors.Is(err, inference.ErrFetching) {
		t.Errorf("at first: %v", err)
	}
	got, err := await(t, library, "org/model")
	if err != nil {
		t.Fatal(err)
	}
	if got.Template.Source != "{{ bos_token }}new" || got.Template.Named["rag"] != "rag" || len(got.Template.Named) != 1 || !got.HasTokenizer ||
		got.ContextLength.Value != "512" || got.Template.Tokens["bos_token"] != "<s>" {
		t.Errorf("got %+v", got)
	}
	for _, line := range hub.asked {
		if fromCDN := strings.HasPrefix(line, "cdn"); strings.HasSuffix(line, " Bearer secret") == fromCDN {
			t.Errorf("the token: %s", line)
		}
		if strings.Contains(line, "README") || strings.Contains(line, "up.jinja") {
			t.Errorf("asked for %s", line)
		}
	}
	target, err := os.Readlink(filepath.Join(got.Folder, "tokenizer.json"))
	if sum := sha256.Sum256([]byte(hub.large["tokenizer.json"])); err != nil || target != "../../blobs/"+hex.EncodeToString(sum[:]) {
		t.Errorf("the link to a blob: %q, %v", target, err)
	}
	leftovers, _ := filepath.Glob(filepath.Join(config.Cache, "*", "*", "*.incomplete"))
	if len(leftovers) > 0 {
		t.Errorf("left over: %v", leftovers)
	}

	asked := len(hub.asked)
	for _, offline := range []bool{false, true} {
		config.Offline = offline
		again, err := newLibrary(t, config).Open("org/model")
		if err != nil || again.Folder != got.Folder || len(hub.asked) != asked {
			t.Errorf("from the cache, offline %v: %+v, %v", offline, again, err)
		}
	}
	byCommit, err := newLibrary(t, config).Open("org/model@" + commit)
	if err != nil || byCommit.Folder != got.Folder {
		t.Errorf("by its commit: %v", err)
	}
}

// TestPythonSeesTheCache checks that Python's huggingface_hub finds the fetched files in the cache
// and sees which files the model lacks.
func TestPythonSeesTheCache(t *testing.T) {
	python, _ := filepath.Abs("../../.venv-test/bin/python")
	if path := os.Getenv("TRIDENT_TEST_PYTHON"); path != "" {
		python = path
	}
	if _, err := os.Stat(python); err != nil {
		if testing.Short() {
			t.Skip("no Python with huggingface_hub: run make setup-test")
		}
		t.Fatalf("no Python with huggingface_hub at %s: run make setup-test", python)
	}
	hub := newFakeHub(t)
	config := hub.config(t)
	if _, err := await(t, newLibrary(t, config), "org/model"); err != nil {
		t.Fatal(err)
	}
	const script = `
import huggingface_hub as h, os
folder = h.snapshot_download("org/model")
print(sorted(os.listdir(folder)))
print(open(h.hf_hub_download("org/model", "tokenizer.json")).read())
print(h.try_to_load_from_cache("org/model", "special_tokens_map.json") is h._CACHED_NO_EXIST)
print([(r.repo_id, sorted(r.refs)) for r in h.scan_cache_dir().repos])
`
	cmd := exec.CommandContext(t.Context(), python, "-W", "ignore", "-c", script)
	cmd.Env = append(os.Environ(), "HF_HUB_CACHE="+config.Cache, "HF_HUB_OFFLINE=1", "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	want := `['additional_chat_templates', 'chat_template.jinja', 'config.json', 'tokenizer.json', 'tokenizer_config.json']
{"version":"1.0"}
True
[('org/model', ['main'])]
`
	if err != nil || string(out) != want {
		t.Errorf("got %s%v\nwant %s", out, err, want)
	}
}

func TestFetchFails(t *testing.T) {
	tests := []struct {
		name  string
		set   func(*fakeHub, *HubConfig)
		want  string
		final bool
	}{
		{"no access", func(h *fakeHub, _ *HubConfig) { h.failing = func(string) int { return 403 } }, "the Hugging Face token has no access", true},
		{"no token", func(h *fakeHub, c *HubConfig) { h.failing, c.Token = func(string) int { return 401 }, "" }, "set HF_TOKEN", true},
		{"no such model", func(h *fakeHub, _ *HubConfig) { h.failing = func(string) int { return 404 } }, "the model or its revision doesn't exist", true},
		{"the hub is broken", func(h *fakeHub, _ *HubConfig) { h.failing = func(string) int { return 500 } }, "500", false},
		{"a file is broken", func(h *fakeHub, _ *HubConfig) {
			h.failing = func(path string) int { return map[bool]int{true: 503}[strings.HasSuffix(path, "/config.json")] }
		}, "config.json", false},
		{"damaged", func(h *fakeHub, _ *HubConfig) { h.damage = true }, "tokenizer.json: the downloaded file is damaged", false},
		{"an etag that is a path", func(h *fakeHub, _ *HubConfig) { h.etag = "../../x" }, "which can't be the name of a file", false},
		{"too large", func(h *fakeHub, _ *HubConfig) {
			h.Config.Handler = withLength(h.Config.Handler)
		}, "but may have at most 268435456 bytes", false},
		{"nobody there", func(_ *fakeHub, c *HubConfig) { c.Endpoint = "http://127.0.0.1:1" }, "refused", false},
		{"too slow", func(_ *fakeHub, c *HubConfig) { c.Timeout = time.Nanosecond }, "longer than 1ns", false},
		{"a cache that can't be written", func(_ *fakeHub, c *HubConfig) { c.Cache = "/dev/null/cache" }, "set HF_HOME", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hub := newFakeHub(t)
			config := hub.config(t)
			tt.set(hub, &config)
			_, err := await(t, newLibrary(t, config), "org/model")
			if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, inference.ErrFetching) == tt.final {
				t.Errorf("got %v", err)
			}
			if leftovers, _ := filepath.Glob(filepath.Join(config.Cache, "*", "refs", "*")); len(leftovers) > 0 {
				t.Error("a revision was written for a snapshot that isn't whole")
			}
		})
	}
}

// withLength sends a content length that exceeds the limit for files.
func withLength(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/org") {
			w.Header().Set("Etag", `"x"`)
			w.Header().Set("Content-Length", "300000000")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// TestPartOfASnapshot checks that Library.Open uses an incomplete snapshot, which another program
// left in the cache, if the hub can't serve the rest of the files.
func TestPartOfASnapshot(t *testing.T) {
	hub := newFakeHub(t)
	config := hub.config(t)
	writeSnapshot := func() {
		folder := filepath.Join(config.Cache, "models--org--model", "snapshots", commit)
		write := func(path, text string) {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		write(filepath.Join(folder, "tokenizer_config.json"), `{"chat_template": "part"}`)
		write(filepath.Join(config.Cache, "models--org--model", "refs", "main"), commit)
	}
	writeSnapshot()
	config.Offline = true
	if got, err := newLibrary(t, config).Open("org/model"); err != nil || got.Template.Source != "part" {
		t.Errorf("offline: %+v, %v", got, err)
	}
	config.Offline = false
	hub.failing = func(string) int { return 404 }
	if got, err := await(t, newLibrary(t, config), "org/model"); err != nil || got.Template.Source != "part" {
		t.Errorf("a hub that doesn't have it: %+v, %v", got, err)
	}
	away := config
	away.Endpoint = "http://127.0.0.1:1"
	if got, err := await(t, newLibrary(t, away), "org/model"); err != nil || got.Template.Source != "part" {
		t.Errorf("a hub that isn't there: %+v, %v", got, err)
	}
	hub.failing = func(string) int { return 0 }
	if got, err := await(t, newLibrary(t, config), "org/model"); err != nil || got.Template.Source != "{{ bos_token }}new" {
		t.Errorf("a hub that has it: %+v, %v", got, err)
	}
}

// TestStop checks that Library.Stop cancels a download from a hub that doesn't respond.
func TestStop(t *testing.T) {
	hang := make(chan struct{})
	arrived := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(hang)
	l := New(Config{Hub: HubConfig{Endpoint: server.URL, Cache: t.TempDir(), Timeout: time.Minute}}, slog.New(slog.DiscardHandler))
	if _, err := l.Open("org/model"); !errors.Is(err, inference.ErrFetching) {
		t.Fatal(err)
	}
	<-arrived
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait: %v", err)
	}
	l.Stop()
	if _, err := l.Open("org/model"); !errors.Is(err, inference.ErrFetching) {
		t.Errorf("after Stop: %v", err)
	}
}

func TestReferences(t *testing.T) {
	l := newLibrary(t, HubConfig{Cache: t.TempDir(), Offline: true})
	tests := []struct{ reference, want string }{
		{"org/model", "HF_HUB_OFFLINE disables downloads"},
		{"gpt2", "HF_HUB_OFFLINE disables downloads"},
		{"org/model@refs/pr/1", "HF_HUB_OFFLINE disables downloads"},
		{"/no/such/folder", "neither a folder on this machine nor the id of a model"},
		{"../model", "neither a folder"},
		{"a/b/c", "neither a folder"},
		{"a/..", "neither a folder"},
		{"a--b/c", "neither a folder"},
		{"org/model@../../x", "neither a folder"},
		{"org/model@", "neither a folder"},
		{"", "neither a folder"},
	}
	for _, tt := range tests {
		if _, err := l.Open(tt.reference); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v", tt.reference, err)
		}
	}
}

func TestHubFromEnvironment(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "token"), []byte(" from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		env  map[string]string
		want HubConfig
	}{
		{"nothing", map[string]string{"HOME": "/h"}, HubConfig{Endpoint: "https://huggingface.co", Cache: "/h/.cache/huggingface/hub"}},
		{"XDG", map[string]string{"XDG_CACHE_HOME": "/x"}, HubConfig{Endpoint: "https://huggingface.co", Cache: "/x/huggingface/hub"}},
		{"HF_HOME", map[string]string{"HF_HOME": home}, HubConfig{Endpoint: "https://huggingface.co", Cache: home + "/hub", Token: "from-file"}},
		{"all", map[string]string{
			"HF_HOME": home, "HF_HUB_CACHE": "/c", "HF_TOKEN": "t", "HF_ENDPOINT": "http://hub/", "HF_HUB_OFFLINE": "yes",
		}, HubConfig{Endpoint: "http://hub", Cache: "/c", Token: "t", Offline: true}},
		{"older names", map[string]string{
			"HUGGINGFACE_HUB_CACHE": "/c", "HUGGING_FACE_HUB_TOKEN": "t", "TRANSFORMERS_OFFLINE": "1",
		}, HubConfig{Endpoint: "https://huggingface.co", Cache: "/c", Token: "t", Offline: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Timeout = 5 * time.Minute
			if got := HubFromEnvironment(func(key string) string { return tt.env[key] }); got != tt.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}
