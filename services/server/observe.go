package server

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

// Record is what the log line of one request tells. Frontends fill in what they
// learn; one goroutine at a time.
type Record struct {
	// RequestID is the client's x-request-id, or one made here.
	RequestID string
	// Model that the client named.
	Model string
	// PromptTokens and CompletionTokens used.
	PromptTokens, CompletionTokens int
	// FirstToken is when the first content was written; zero when none was.
	FirstToken time.Time
	// Error that ended the request, for the log; it never holds prompt text.
	Error error
	// Ignored request fields.
	Ignored []string
	// Started is when the request's header had been read.
	Started time.Time
}

type recordKey struct{}

// RecordOf finds the record of a request that came through this server; without
// one it gives a record that nobody reads.
func RecordOf(ctx context.Context) *Record {
	if r, ok := ctx.Value(recordKey{}).(*Record); ok {
		return r
	}
	return &Record{RequestID: newRequestID(), Started: time.Now()}
}

func newRequestID() string { return "req_" + rand.Text() }

// observe gives each request its id and its record, turns a panic into a 500
// where that is still possible, and logs one line at the end. Answers whose
// client takes nothing for writeTimeout are ended.
func observe(writeTimeout time.Duration, log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &Record{RequestID: r.Header.Get("X-Request-Id"), Started: time.Now()}
		if !validRequestID(rec.RequestID) {
			rec.RequestID = newRequestID()
		}
		w.Header().Set("X-Request-Id", rec.RequestID)
		sw := newWriter(w, writeTimeout)
		defer func() {
			again := sw.settle(recover(), rec, log)
			rec.log(r, log, sw.status)
			sw.end()
			if again {
				// Closes the connection: the client must not take half an answer for a
				// whole one.
				panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to say so
			}
		}()
		next.ServeHTTP(sw, r.WithContext(context.WithValue(r.Context(), recordKey{}, rec)))
	})
}

// settle answers for a handler that panicked, where nothing had been sent. It
// is true when the connection must be closed instead.
func (w *writer) settle(p any, rec *Record, log *slog.Logger) bool {
	if p == nil {
		return false
	}
	if p == http.ErrAbortHandler { //nolint:errorlint // the sentinel is compared as net/http does
		return true
	}
	log.Error("panic", "request_id", rec.RequestID, "panic", p, "stack", string(debug.Stack()))
	if w.status != 0 {
		return true
	}
	w.Header().Set("Connection", "close")
	refuse(w, http.StatusInternalServerError, "internal error; the server's log has the details", "server_error", "null")
	return false
}

// refuse writes an error in OpenAI's shape, which is as good as any for a client
// whose surface isn't known. The texts must be fit for JSON, code with its quotes.
func refuse(w http.ResponseWriter, status int, message, kind, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"error":{"message":"`+message+`","type":"`+kind+`","param":null,"code":`+code+`}}`)
}

// Bounds of what one line tells of a client's own text.
const (
	maxLogText    = 500 // bytes
	maxLogIgnored = 16  // names
)

// cut shortens a client's text for the log.
func cut(s string) string {
	if len(s) <= maxLogText {
		return s
	}
	return strings.ToValidUTF8(s[:maxLogText], "") + "…"
}

// log writes the request's line.
func (rec *Record) log(r *http.Request, log *slog.Logger, status int) {
	if status == 0 {
		status = http.StatusOK
	}
	attrs := []slog.Attr{
		slog.String("method", r.Method), slog.String("path", cut(r.URL.Path)), slog.Int("status", status),
		slog.String("request_id", rec.RequestID), slog.Duration("duration", time.Since(rec.Started).Round(time.Microsecond)),
	}
	if rec.Model != "" {
		attrs = append(attrs, slog.String("model", cut(rec.Model)),
			slog.Int("prompt_tokens", rec.PromptTokens), slog.Int("completion_tokens", rec.CompletionTokens))
	}
	if !rec.FirstToken.IsZero() {
		attrs = append(attrs, slog.Duration("first_token", rec.FirstToken.Sub(rec.Started).Round(time.Microsecond)))
	}
	if n := len(rec.Ignored); n > 0 {
		ignored := make([]string, 0, maxLogIgnored)
		for _, name := range rec.Ignored[:min(n, maxLogIgnored)] {
			ignored = append(ignored, cut(name))
		}
		attrs = append(attrs, slog.Any("ignored_fields", ignored))
	}
	if rec.Error != nil {
		attrs = append(attrs, slog.String("error", cut(rec.Error.Error())))
	}
	log.LogAttrs(r.Context(), rec.level(r, status), "request", attrs...)
}

// level makes failures of ours errors. The status decides,
// unless it was sent before the failure came.
func (rec *Record) level(r *http.Request, status int) slog.Level {
	switch {
	case strings.HasPrefix(r.URL.Path, "/health/"), strings.HasPrefix(r.URL.Path, "/v2/health/"): // probes ask on and on; who isn't ready says so once
		return slog.LevelDebug
	case status >= http.StatusInternalServerError:
		return slog.LevelError
	case status >= http.StatusBadRequest:
		return slog.LevelInfo
	case rec.Error != nil && ours(rec.Error):
		return slog.LevelError
	case r.Method == http.MethodGet:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// ours tells failures of this server or of Triton from what clients do. Such a
// failure may come after the status.
func ours(err error) bool {
	switch inference.AsError(err).Code {
	case inference.CodeInternal, inference.CodeUnavailable, inference.CodeDeadlineExceeded:
		return true
	case inference.CodeInvalid, inference.CodeNotFound, inference.CodeUnsupported, inference.CodeOverloaded, inference.CodeCanceled:
	}
	return false
}
