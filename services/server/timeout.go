package server

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// timeoutHeader is how a client says for how long it waits, in seconds or with a unit
// as in 500ms. OpenAI's SDKs tell theirs by x-stainless-timeout, which isn't heeded:
// to them it is the longest silence of a stream, not its length.
const timeoutHeader = "X-Request-Timeout"

// limitTime ends a request when its client doesn't wait any more. gRPC and Connect have
// headers of their own for that.
func limitTime(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := r.Header.Get(timeoutHeader)
		if header == "" {
			next.ServeHTTP(w, r)
			return
		}
		limit, ok := readTimeout(header)
		if !ok {
			refuse(w, http.StatusBadRequest, "the header x-request-timeout must be a number of seconds more than 0, or one with a unit, such as 500ms", "invalid_request_error", `"invalid_value"`)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// maxTimeout is the longest that a client can ask for; what is more means the same.
const maxTimeout = 1000 * time.Hour

func readTimeout(text string) (time.Duration, bool) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return time.Duration(min(seconds, maxTimeout.Seconds()) * float64(time.Second)), seconds > 0 // NaN is not
	}
	limit, err := time.ParseDuration(text)
	return min(limit, maxTimeout), err == nil && limit > 0
}
