package server

import (
	"net/http"
	"net/url"
	"slices"

	connectcors "connectrpc.com/cors"
	"github.com/rs/cors"
)

// crossOrigin lets browsers call from the allowed origins: pages of this host by
// default. Requests from other origins that could act without a preflight are
// refused, because a body without a Content-Type is read as JSON.
func crossOrigin(origins []string, next http.Handler) http.Handler {
	all := slices.Contains(origins, "*")
	allowed := func(origin string) bool { return all || loopbackOrigin(origin) || slices.Contains(origins, origin) }
	opts := cors.Options{
		AllowedMethods: []string{http.MethodGet, http.MethodPost, http.MethodDelete},
		AllowedHeaders: []string{"*"},
		ExposedHeaders: append(connectcors.ExposedHeaders(), "X-Request-Id", "Retry-After", "X-Trident-Ignored-Fields"),
		MaxAge:         2 * 60 * 60, // seconds; the most that Chromium keeps
	}
	if all {
		opts.AllowedOrigins = []string{"*"}
	} else {
		opts.AllowOriginFunc = allowed
	}
	return cors.New(opts).Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" && r.Method == http.MethodPost && !allowed(origin) && !sameOrigin(origin, r) {
			RecordOf(r.Context()).Error = errOrigin
			refuse(w, http.StatusForbidden, "this origin may not call this server: allow it with --cors-origin", "invalid_request_error", `"origin_not_allowed"`)
			return
		}
		next.ServeHTTP(w, r)
	}))
}

type originError struct{}

func (originError) Error() string { return "origin not allowed" }

var errOrigin = originError{}

// loopbackOrigin tells whether a page was served by this very host.
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
