package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
)

// Record is what the log line of one request tells. Frontends fill in what they
// learn; one goroutine at a time.
type Record struct {
	// RequestID is the client's x-request-id, or one made here.
	RequestID string
	// Client whose key came with the request, by its name.
	Client string
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
	// Origin tells the service by which surface the request came: that of its route.
	inference.Origin
	// Route that serves the request, as its pattern, or the procedure of an RPC; empty
	// where no route does.
	Route string

	match   match
	span    trace.Span
	arrival *admission.Arrival // nil for requests without a body
	decodes bool               // the body is decoded with a slot
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

// matched notes the route that serves the request.
func (rec *Record) matched(route *auth.Record) {
	rec.Surface, rec.Route = route.Surface, route.Pattern
}

// observe gives each request its id, its record and its route, turns a panic into a 500
// where that is still possible, and logs one line at the end. Answers whose
// client takes nothing for writeTimeout are ended.
func observe(writeTimeout time.Duration, telemetry *Telemetry, log *slog.Logger, mux *Mux, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &Record{RequestID: RequestID(r.Header.Get("X-Request-Id")), Started: time.Now(), match: mux.find(r)}
		rec.Address = inference.ParseAddress(r.RemoteAddr)
		rec.matched(rec.match.record)
		w.Header().Set("X-Request-Id", rec.RequestID)
		sw := newWriter(w, writeTimeout)
		var ctx context.Context
		ctx, rec.span = telemetry.begin(r, rec)
		defer func() {
			p := recover()
			if p != nil && p != http.ErrAbortHandler { //nolint:errorlint // the sentinel is compared as net/http does
				telemetry.Panicked()
			}
			again := sw.settle(p, rec, log)
			status := cmp.Or(sw.status, http.StatusOK)
			rec.log(r, log, status)
			telemetry.end(rec.span, rec, r, status)
			sw.end()
			if again {
				// Closes the connection: the client must not take half an answer for a
				// whole one.
				panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to say so
			}
		}()
		ctx = context.WithValue(inference.WithOrigin(ctx, &rec.Origin), recordKey{}, rec)
		next.ServeHTTP(sw, r.WithContext(ctx)) //nolint:contextcheck // it is the request's, with its span
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
	answerJSON(w, status, `{"error":{"message":"`+message+`","type":"`+kind+`","param":null,"code":`+code+`}}`)
}

func answerJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) //nolint:gosec // JSON, of texts of ours
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

// ErrorText is an error for the log: what one about a request quotes of it is left out,
// as that may be of a prompt.
func ErrorText(err error) string {
	text := err.Error()
	if inference.AsError(err).Code != inference.CodeInvalid {
		return text
	}
	var b strings.Builder
	for {
		before, rest, quotes := strings.Cut(text, `"`)
		b.WriteString(before)
		if !quotes {
			return b.String()
		}
		b.WriteString(`"…"`)
		end := 0
		for end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		text = rest[min(end+1, len(rest)):]
	}
}

// log writes the request's line.
func (rec *Record) log(r *http.Request, log *slog.Logger, status int) {
	level := rec.level(r, status)
	if !log.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", r.Method), slog.String("path", cut(r.URL.Path)), slog.Int("status", status),
		slog.String("request_id", rec.RequestID), slog.Duration("duration", time.Since(rec.Started).Round(time.Microsecond)),
	}
	if id := traceID(rec.span); id != "" {
		attrs = append(attrs, slog.String("trace_id", id))
	}
	if rec.Client != "" {
		attrs = append(attrs, slog.String("client", rec.Client))
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
		attrs = append(attrs, slog.String("error", cut(ErrorText(rec.Error))))
	}
	log.LogAttrs(r.Context(), level, "request", attrs...)
}

// probing reports whether the request is one that is made again and again.
func (rec *Record) probing() bool {
	return rec.Surface == auth.SurfaceHealth || rec.Surface == auth.SurfaceMetrics
}

// level makes failures of ours errors. The status decides,
// unless it was sent before the failure came.
func (rec *Record) level(r *http.Request, status int) slog.Level {
	switch {
	case rec.probing(), tooManyFailures(rec.Error): // who isn't ready says so once; the gate tells of failures together
		return slog.LevelDebug
	case status == http.StatusServiceUnavailable && rec.Error != nil && !ours(rec.Error): // too much is asked for
		return slog.LevelInfo
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

// tooManyFailures reports whether a request is one of many whose authentication fails.
func tooManyFailures(err error) bool {
	e, ok := errors.AsType[*inference.Error](err)
	return ok && e.Reason == auth.ReasonFailures
}

// ours tells failures of this server or of Triton from what clients do. Such a
// failure may come after the status.
func ours(err error) bool {
	switch inference.AsError(err).Code {
	case inference.CodeInternal, inference.CodeUnavailable, inference.CodeDeadlineExceeded:
		return true
	case inference.CodeInvalid, inference.CodeNotFound, inference.CodeUnsupported, inference.CodeOverloaded, inference.CodeLimited,
		inference.CodeCanceled, inference.CodeUnauthenticated, inference.CodeForbidden:
	}
	return false
}
