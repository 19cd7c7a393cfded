package server

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	connectcors "connectrpc.com/cors"
	"github.com/rs/cors"

	"github.com/trident-inference/trident/services/inference"
)

// crossOrigin allows calls of browsers from the allowed origins, by default pages of this host. It
// refuses requests from other origins that need no preflight, because a body without a Content-Type is
// read as JSON.
func crossOrigin(cfg Config, next http.Handler) http.Handler {
	origins := cfg.CORSOrigins
	all := slices.Contains(origins, "*")
	allowed := func(origin string) bool { return all || loopbackOrigin(origin) || slices.Contains(origins, origin) }
	opts := cors.Options{
		AllowedMethods: []string{http.MethodGet, http.MethodPost, http.MethodDelete},
		AllowedHeaders: []string{"*"},
		ExposedHeaders: append(connectcors.ExposedHeaders(), "X-Request-Id", "Request-Id", "Retry-After", "Retry-After-Ms", "X-Should-Retry", "X-Trident-Ignored-Fields",
			"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests",
			"X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"),
		MaxAge: 2 * 60 * 60, // seconds; the maximum of Chromium
	}
	if all {
		opts.AllowedOrigins = []string{"*"}
	} else {
		opts.AllowOriginFunc = allowed
	}
	return cors.New(opts).Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" && r.Method == http.MethodPost && !allowed(origin) && !sameOrigin(origin, r) {
			rec := RecordOf(r.Context())
			refusal := &inference.Error{
				Code: inference.CodeForbidden, Reason: inference.ReasonOrigin,
				Message: "this origin may not call this server: allow it with " + cfg.Names.Of("server.CORSOrigins"),
			}
			rec.Error = refusal
			refuse(w, rec, refusal)
			return
		}
		next.ServeHTTP(w, r)
	}))
}

// hardened sets headers for browsers: they use the declared content type, frame no page, and send no
// referrer to other sites. Handlers of pages set their own Content-Security-Policy; the playground's
// may be stricter than the one here. There is no Strict-Transport-Security, since it would apply to all
// ports of the host, including those of other servers.
func hardened(next http.Handler) http.Handler {
	fixed := map[string][]string{
		"X-Content-Type-Options":  {"nosniff"},
		"X-Frame-Options":         {"DENY"},
		"Referrer-Policy":         {"no-referrer"},
		"Content-Security-Policy": {"default-src 'none'; frame-ancestors 'none'"},
	}
	framed := []string{"frame-ancestors 'none'"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isCall(r.URL.Path) { // browsers don't display calls
			maps.Copy(w.Header(), fixed)
			if r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, assetsPath) {
				w.Header()["Content-Security-Policy"] = framed
			}
		}
		next.ServeHTTP(w, r)
	})
}

// loopbackOrigin reports whether a page was served by a loopback name of this host.
func loopbackOrigin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return false
	}
	switch u.Hostname() {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	return false
}

func sameOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host == r.Host
}
