package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

// timeoutHeader is the header with the time that a client waits, in seconds or with a
// unit as in 500ms. The x-stainless-timeout of OpenAI's SDKs is ignored, since it
// limits the idle time of a stream and not its total time.
const timeoutHeader = "X-Request-Timeout"

// limitTime cancels a request when its client no longer waits. gRPC and Connect have
// their own headers for that.
func limitTime(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := r.Header.Get(timeoutHeader)
		if header == "" {
			next.ServeHTTP(w, r)
			return
		}
		limit, ok := readTimeout(header)
		if !ok {
			refuse(w, RecordOf(r.Context()), inference.Invalid("", "the header x-request-timeout must be a positive number of seconds, or a positive duration with a unit, such as 500ms"))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// maxTimeout is the maximum timeout; larger values are reduced to it.
const maxTimeout = 1000 * time.Hour

func readTimeout(text string) (time.Duration, bool) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return time.Duration(min(seconds, maxTimeout.Seconds()) * float64(time.Second)), seconds > 0 // the comparison is false for NaN
	}
	limit, err := time.ParseDuration(text)
	return min(limit, maxTimeout), err == nil && limit > 0
}
