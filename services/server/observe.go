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
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/wirecode"
)

// Record has the data of a request's log line. Frontends add the data that they know;
// only one goroutine may do so at a time.
type Record struct {
	// RequestID is the client's x-request-id, or a generated one.
	RequestID string
	// Client is the name of the client whose key the request has.
	Client string
	// Model is the model that the client named.
	Model string
	// PromptTokens and CompletionTokens are the numbers of tokens used.
	PromptTokens, CompletionTokens int
	// MalformedCalls is the number of tool calls in the answer whose arguments aren't a JSON object. Only
	// frontends that change such arguments set it.
	MalformedCalls int
	// FirstToken is the time at which the first content was written. It is zero if no content was written.
	FirstToken time.Time
	// Error is the error that ended the request, for the log. It never contains prompt
	// text.
	Error error
	// Ignored are the names of request fields that were ignored.
	Ignored []string
	// Started is the time at which the request's header had been read.
	Started time.Time
	// Origin has the API of the request's route, for the service.
	inference.Origin
	// Route is the pattern of the route that serves the request, or the procedure of an
	// RPC. It is empty if there is no such route.
	Route string

	match   match
	span    trace.Span
	arrival *admission.Arrival // arrival of the request in the admission control; nil for requests without a body
	decodes bool               // the body is decoded while the request has a slot
}

type recordKey struct{}

// RecordOf returns the record of a request that came through this server. Without one
// it returns a new record that isn't logged.
func RecordOf(ctx context.Context) *Record {
	if r, ok := ctx.Value(recordKey{}).(*Record); ok {
		return r
	}
	return &Record{RequestID: newRequestID(), Started: time.Now()}
}

func newRequestID() string { return "req_" + rand.Text() }

// matched records the route that serves the request.
func (rec *Record) matched(route *auth.Record) {
	rec.Surface, rec.Route = route.Surface, route.Pattern
}

// observe assigns each request an id, a record and a route. It turns a panic into a 500
// if the response hasn't started, and logs one line at the end. It aborts a response
// whose client reads nothing for writeTimeout.
func observe(writeTimeout time.Duration, telemetry *Telemetry, log *slog.Logger, mux *Mux, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &Record{RequestID: RequestID(r.Header.Get("X-Request-Id")), Started: time.Now(), match: mux.find(r)}
		rec.Address = inference.ParseAddress(r.RemoteAddr)
		rec.matched(rec.match.record)
		w.Header().Set("X-Request-Id", rec.RequestID)
		sw := newWriter(w, r, writeTimeout)
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
				// This closes the connection. The client must not take part of a
				// response for the whole.
				panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to abort a response
			}
		}()
		ctx = context.WithValue(inference.WithOrigin(ctx, &rec.Origin), recordKey{}, rec)
		next.ServeHTTP(sw, r.WithContext(ctx)) //nolint:contextcheck // the request's context, with its span
	})
}

// settle responds for a handler that panicked before it sent anything. It reports
// whether the connection must be closed instead.
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
	refuse(w, rec, inference.AsError(errors.New("panic")))
	return false
}

// refuse responds with an error of the server itself, in Anthropic's form for its routes, and in OpenAI's form
// otherwise, also for clients whose surface isn't known. The message must be valid inside a JSON string.
func refuse(w http.ResponseWriter, rec *Record, e *inference.Error) {
	if route := rec.match.record; route == nil || route.API != auth.Anthropic {
		status, kind := wirecode.OpenAI(e.Code, e.Reason)
		code := "null"
		if e.Reason != inference.ReasonNone {
			code = `"` + e.Reason.String() + `"`
		}
		answerJSON(w, status, `{"error":{"message":"`+e.Message+`","type":"`+kind+`","param":null,"code":`+code+`}}`)
		return
	}
	status, kind := wirecode.Anthropic(e.Code, e.Reason)
	w.Header().Set("Request-Id", rec.RequestID)
	answerJSON(w, status, `{"error":{"message":"`+e.Message+`","type":"`+kind+`"},"request_id":`+strconv.Quote(rec.RequestID)+`,"type":"error"}`)
}

func answerJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) //nolint:gosec // JSON from our own strings
}

// Limits on a client's own strings in one log line.
const (
	maxLogText    = 500 // maximum bytes of a client's string in a log line
	maxLogIgnored = 16  // maximum number of ignored fields that a log line names
)

// Cut shortens a client's string, or an error that may quote one, for the log.
func Cut(s string) string {
	if len(s) <= maxLogText {
		return s
	}
	return strings.ToValidUTF8(s[:maxLogText], "") + "…"
}

// ErrorText returns an error for the log. It omits what an error about a request quotes
// of the request, since that may be part of a prompt.
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

// log writes the log line of the request.
func (rec *Record) log(r *http.Request, log *slog.Logger, status int) {
	level := rec.level(r, status)
	if !log.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", r.Method), slog.String("path", Cut(r.URL.Path)), slog.Int("status", status),
		slog.String("request_id", rec.RequestID), slog.Duration("duration", time.Since(rec.Started).Round(time.Microsecond)),
	}
	if id := traceID(rec.span); id != "" {
		attrs = append(attrs, slog.String("trace_id", id))
	}
	if rec.Client != "" {
		attrs = append(attrs, slog.String("client", rec.Client))
	}
	if rec.Model != "" {
		attrs = append(attrs, slog.String("model", Cut(rec.Model)),
			slog.Int("prompt_tokens", rec.PromptTokens), slog.Int("completion_tokens", rec.CompletionTokens))
	}
	if !rec.FirstToken.IsZero() {
		attrs = append(attrs, slog.Duration("first_token", rec.FirstToken.Sub(rec.Started).Round(time.Microsecond)))
	}
	if rec.MalformedCalls > 0 {
		attrs = append(attrs, slog.Int("malformed_calls", rec.MalformedCalls))
	}
	if n := len(rec.Ignored); n > 0 {
		ignored := make([]string, 0, maxLogIgnored)
		for _, name := range rec.Ignored[:min(n, maxLogIgnored)] {
			ignored = append(ignored, Cut(name))
		}
		attrs = append(attrs, slog.Any("ignored_fields", ignored))
	}
	if rec.Error != nil {
		attrs = append(attrs, slog.String("error", Cut(ErrorText(rec.Error))))
	}
	log.LogAttrs(r.Context(), level, "request", attrs...)
}

// probing reports whether the request is a probe or a scrape, which clients repeat.
func (rec *Record) probing() bool {
	return rec.Surface == auth.SurfaceHealth || rec.Surface == auth.SurfaceMetrics
}

// level returns the level of the log line, which is that of [LogLevel] for requests that fail. The
// status determines the level unless it was sent before the error occurred.
func (rec *Record) level(r *http.Request, status int) slog.Level {
	switch {
	case rec.probing(), tooManyFailures(rec.Error): // readiness and the gate log their failures themselves, in fewer lines
		return slog.LevelDebug
	case status == http.StatusServiceUnavailable && rec.Error != nil:
		return max(LogLevel(rec.Error), slog.LevelWarn) // 503 is never the client's fault
	case status >= http.StatusInternalServerError:
		return slog.LevelError
	case status >= http.StatusBadRequest:
		return slog.LevelInfo
	case rec.Error != nil && LogLevel(rec.Error) > slog.LevelInfo:
		return LogLevel(rec.Error)
	case r.Method == http.MethodGet:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// tooManyFailures reports whether a request got 429 because authentication of its
// address fails too often.
func tooManyFailures(err error) bool {
	e, ok := errors.AsType[*inference.Error](err)
	return ok && e.Reason == inference.ReasonAuthFailures
}

// LogLevel returns the level of the log line of a request that failed. LevelInfo means that the client
// is the cause: the request is invalid or not allowed, exceeds the client's limits, or was cancelled.
// LevelWarn means that this server refused the request: it is overloaded, it stops, or the model
// isn't ready. LevelError means that the server or Triton failed.
func LogLevel(err error) slog.Level {
	switch e := inference.AsError(err); e.Code {
	case inference.CodeInvalid, inference.CodeNotFound, inference.CodeUnsupported, inference.CodeLimited,
		inference.CodeCanceled, inference.CodeUnauthenticated, inference.CodeForbidden:
		return slog.LevelInfo
	case inference.CodeOverloaded:
		return slog.LevelWarn
	case inference.CodeUnavailable:
		if e.Reason == inference.ReasonShuttingDown || e.Reason == inference.ReasonModelNotReady {
			return slog.LevelWarn
		}
	case inference.CodeInternal, inference.CodeDeadlineExceeded:
	}
	return slog.LevelError
}

// isServerError reports whether an error is one of this server or of Triton, not one of a
// client. Such an error may occur after the status was sent.
func isServerError(err error) bool {
	switch inference.AsError(err).Code {
	case inference.CodeInternal, inference.CodeUnavailable, inference.CodeDeadlineExceeded:
		return true
	case inference.CodeInvalid, inference.CodeNotFound, inference.CodeUnsupported, inference.CodeOverloaded, inference.CodeLimited,
		inference.CodeCanceled, inference.CodeUnauthenticated, inference.CodeForbidden:
	}
	return false
}
