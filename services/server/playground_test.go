package server

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/trident-inference/trident/web"
)

// served returns a handler with the playground's routes and a route for all
// other paths.
func served(t *testing.T) http.Handler {
	t.Helper()
	routes, err := playground(web.Playground())
	if err != nil {
		t.Fatal(err)
	}
	teapot := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	s, err := New(Common{Config: Default(), Core: noWork{}, Log: slog.New(slog.DiscardHandler)}, NewListener(Default()), append(routes, catchAllRoutes(teapot)...))
	if err != nil {
		t.Fatal(err)
	}
	return s.http.Handler
}

func get(t *testing.T, handler http.Handler, method, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Result()
}

func bodyOf(t *testing.T, resp *http.Response) []byte {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func inflate(t *testing.T, packed []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestPlayground checks the playground's page and all files that it names: the contents with and
// without gzip, the Cache-Control headers and the total size.
func TestPlayground(t *testing.T) {
	h := served(t)
	page := get(t, h, http.MethodGet, "/")
	text := string(bodyOf(t, page))
	names := regexp.MustCompile(`(?:src=|href=|import\()"\./(assets/[\w-]+\.(?:js|css|svg))"`).FindAllStringSubmatch(text, -1)
	if page.StatusCode != http.StatusOK || page.Header.Get("Cache-Control") != "no-cache, no-transform" || len(names) != 2 {
		t.Fatalf("%d, %v, files %v", page.StatusCode, page.Header, names)
	}
	if waited := regexp.MustCompile(`rel="stylesheet"|rel="modulepreload"|<script [^>]*>`).FindAllString(text, -1); waited != nil || !strings.Contains(text, "<style>") || !strings.Contains(text, `<div class="brand">`) {
		t.Errorf("the first frame waits for %q, or the page lacks a style or content: %s", waited, text)
	}
	const limit = 150 << 10 // maximum number of bytes to load the whole page
	size := 0
	for _, name := range append(names, []string{"", ""}) {
		plain, packed := get(t, h, http.MethodGet, "/"+name[1]), get(t, h, http.MethodGet, "/"+name[1], "Accept-Encoding", "br, gzip")
		content, sent := bodyOf(t, plain), bodyOf(t, packed)
		size += len(sent)
		if packed.Header.Get("Content-Encoding") == "gzip" {
			sent = inflate(t, sent)
		} else if len(content) > 1000 {
			t.Errorf("/%s isn't packed", name[1])
		}
		if !bytes.Equal(content, sent) || len(content) == 0 {
			t.Errorf("/%s: %d bytes packed, %d plain", name[1], len(sent), len(content))
		}
		if name[1] != "" && !strings.Contains(plain.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("/%s: %v", name[1], plain.Header)
		}
	}
	t.Logf("%d bytes", size)
	if size > limit {
		t.Errorf("the page takes %d bytes, more than %d", size, limit)
	}
}

func TestPlaygroundHeaders(t *testing.T) {
	h := served(t)
	page := get(t, h, http.MethodGet, "/", "Accept-Encoding", "gzip")
	text := string(inflate(t, bodyOf(t, page)))
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
	} {
		if got := page.Header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	csp := page.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self' 'sha256-", "style-src 'self' 'sha256-", "connect-src 'self';", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(csp+";", want) {
			t.Errorf("the policy lacks %s: %s", want, csp)
		}
	}
	if strings.Contains(csp, "unsafe") {
		t.Errorf("the policy is %s", csp)
	}
	icon := get(t, h, http.MethodGet, "/"+regexp.MustCompile(`assets/[\w-]+\.svg`).FindString(text))
	bodyOf(t, icon)
	if csp := icon.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "script-src 'self'; style-src 'self';") {
		t.Errorf("the policy of a file without inline elements is %s", csp)
	}
	tag := page.Header.Get("Etag")
	tests := []struct {
		name, method, path string
		header             []string
		status             int
	}{
		{"known", http.MethodGet, "/", []string{"Accept-Encoding", "gzip", "If-None-Match", tag}, http.StatusNotModified},
		{"known, made weak", http.MethodGet, "/", []string{"Accept-Encoding", "gzip", "If-None-Match", `"x", W/` + tag}, http.StatusNotModified},
		{"known in another coding", http.MethodGet, "/", []string{"If-None-Match", tag}, http.StatusOK},
		{"an old one", http.MethodGet, "/", []string{"Accept-Encoding", "gzip", "If-None-Match", `"x"`}, http.StatusOK},
		{"asked for by HEAD", http.MethodHead, "/", nil, http.StatusOK},
		{"posted to", http.MethodPost, "/", nil, http.StatusTeapot},
		{"not there", http.MethodGet, "/assets/none.js", nil, http.StatusTeapot},
		{"a folder", http.MethodGet, "/assets/", nil, http.StatusTeapot},
		{"by its name", http.MethodGet, "/index.html", nil, http.StatusTeapot},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp := get(t, h, tt.method, tt.path, tt.header...)
			if body := bodyOf(t, resp); resp.StatusCode != tt.status || resp.StatusCode == http.StatusNotModified && (len(body) > 0 || resp.Header.Get("Etag") != tag) {
				t.Errorf("%d %v %q", resp.StatusCode, resp.Header, body)
			}
		})
	}
}

// TestPolicyOf checks that a policy allows the inline styles and scripts of a page, and nothing else, by
// their SHA-256, which openssl computed.
func TestPolicyOf(t *testing.T) {
	const a, b = "'sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs='", "'sha256-PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0='"
	for page, want := range map[string]string{
		"":                                     "script-src 'self'; style-src 'self'; ",
		"<style>a</style><script>b</script>":   "script-src 'self' " + b + "; style-src 'self' " + a + "; ",
		"<script>b</script><script>a</script>": "script-src 'self' " + b + " " + a + "; style-src 'self'; ",
		`<script src="./b.js"></script><p style="color:red">a`: "script-src 'self'; style-src 'self'; ",
	} {
		if got := policyOf([]byte(page)); !strings.HasPrefix(got, "default-src 'none'; "+want+"img-src") {
			t.Errorf("%s: %s", page, got)
		}
	}
}

func TestTakesGzip(t *testing.T) {
	for accepted, want := range map[string]bool{
		"": false, "gzip": true, "br, GZIP": true, "br": false, "gzip;q=0": false, "gzip; q=0.5": true, "*": true, "*;q=0": false,
		"identity, gzip;q=0.000": false, "gzip;q=x": false, "x-gzip": false,
	} {
		if got := takesGzip(accepted); got != want {
			t.Errorf("%q: %t", accepted, got)
		}
	}
}

// TestPlaygroundUnread checks that the server doesn't start if a file of the playground can't be
// read.
func TestPlaygroundUnread(t *testing.T) {
	files := fstest.MapFS{"assets/x.js": {Data: []byte("x"), Mode: 0}}
	if _, err := playground(unreadable{files}); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "playground") {
		t.Errorf("%v", err)
	}
}

type unreadable struct{ fstest.MapFS }

func (unreadable) ReadFile(string) ([]byte, error) { return nil, io.ErrUnexpectedEOF }
