package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/trident-inference/trident/services/auth"
)

// inline matches an inline style or script of the page.
var inline = regexp.MustCompile(`(?s)<(style|script)>(.*?)</(?:style|script)>`)

// policyOf returns the Content-Security-Policy of a page. The page may load from and call
// this server only. Its inline style and script are allowed by their hashes. No string may
// become HTML or a script, in particular no output of a model.
func policyOf(page []byte) string {
	hashes := map[string]string{}
	for _, element := range inline.FindAllSubmatch(page, -1) {
		sum := sha256.Sum256(element[2])
		hashes[string(element[1])] += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src 'self'" + hashes["script"] + "; style-src 'self'" + hashes["style"] + "; img-src 'self' data:; connect-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

// Cache-Control of the page, which is always revalidated, and of the files that it
// names, which never are. A proxy that rewrote the page would invalidate the hashes of its policy.
const (
	revalidated = "no-cache, no-transform"
	immutable   = "public, max-age=31536000, immutable"
)

// playground returns the routes of a page and of the files in its assets, one route
// for each. Paths without a file thus fall through to other routes.
func playground(files fs.FS) ([]Route, error) {
	var routes []Route
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		pattern, caching, record := "GET /"+name, immutable, auth.Find("GET /assets/")
		if name == "index.html" {
			pattern, caching, record = "GET /{$}", revalidated, auth.Find("GET /{$}")
		}
		routes = append(routes, Route{Pattern: pattern, Handler: newFile(name, content, caching), Record: record})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("playground: %w", err)
	}
	return routes, nil
}

// file is a file of the page. It may be served concurrently.
type file struct {
	content               []byte
	kind, caching, policy string
	tag                   string // the file's ETag without the quotes
	packed                func() []byte
}

func newFile(name string, content []byte, caching string) *file {
	sum := sha256.Sum256(content)
	var page []byte // other files have no inline elements
	if path.Ext(name) == ".html" {
		page = content
	}
	return &file{
		content: content, kind: kindOf(name), caching: caching, policy: policyOf(page), tag: hex.EncodeToString(sum[:8]),
		packed: sync.OnceValue(func() []byte { return pack(content) }),
	}
}

// kindOf returns the content type of a file. The type doesn't depend on the
// machine's own table of types.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}

// ServeHTTP serves the file, gzip-compressed if the client accepts that.
func (f *file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Content-Security-Policy", f.policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", f.caching)
	h.Add("Vary", "Accept-Encoding")
	content, tag := f.content, `"`+f.tag+`"`
	if packed := f.packed(); takesGzip(r.Header.Get("Accept-Encoding")) && len(packed) < len(content) {
		content, tag = packed, `"`+f.tag+`-gzip"`
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", tag)
	if hasTag(r.Header.Get("If-None-Match"), tag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(content)))
	_, _ = w.Write(content) //nolint:gosec // our own files; the client may have disconnected, and a body for HEAD isn't sent
}

func pack(content []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = w.Write(content)                               // writes to a Buffer don't fail
	_ = w.Close()
	return b.Bytes()
}

// takesGzip reports whether an Accept-Encoding header accepts gzip (RFC 9110,
// 12.5.3).
func takesGzip(accepted string) bool {
	for part := range strings.SplitSeq(accepted, ",") {
		name, params, _ := strings.Cut(part, ";")
		if name = strings.ToLower(strings.TrimSpace(name)); name != "gzip" && name != "*" {
			continue
		}
		weight, weighed := strings.CutPrefix(strings.ToLower(strings.TrimSpace(params)), "q=")
		q, err := strconv.ParseFloat(weight, 64)
		return !weighed || err == nil && q > 0
	}
	return false
}

// hasTag reports whether an If-None-Match header has the tag. Proxies may have made
// the tag weak.
func hasTag(tags, tag string) bool {
	for part := range strings.SplitSeq(tags, ",") {
		if part = strings.TrimPrefix(strings.TrimSpace(part), "W/"); part == tag || part == "*" {
			return true
		}
	}
	return false
}
