package server

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"runtime/debug"
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
		sw := &writer{ResponseWriter: w, control: http.NewResponseController(w), timeout: writeTimeout}
		sw.extend() // a connection's earlier request may have left a deadline
		defer func() {
			p := recover()
			if p != nil && p != http.ErrAbortHandler { //nolint:errorlint // the sentinel is compared as net/http does
				log.Error("panic", "request_id", rec.RequestID, "panic", p, "stack", string(debug.Stack()))
				if sw.status == 0 {
					sw.WriteHeader(http.StatusInternalServerError)
				}
			}
			rec.log(r, log, sw.status)
			sw.moved = time.Time{}
			sw.extend() // for what is still buffered
			if p != nil {
				// Closes the connection: the client must not take half an answer for a
				// whole one.
				panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to say so
			}
		}()
		next.ServeHTTP(sw, r.WithContext(context.WithValue(r.Context(), recordKey{}, rec)))
	})
}

// log writes the request's line: probes quietly, failures of ours as errors.
func (rec *Record) log(r *http.Request, log *slog.Logger, status int) {
	if status == 0 {
		status = http.StatusOK
	}
	level := slog.LevelInfo
	switch {
	case status >= http.StatusInternalServerError, rec.Error != nil && ours(rec.Error):
		level = slog.LevelError
	case status < http.StatusBadRequest && r.Method == http.MethodGet:
		level = slog.LevelDebug
	}
	attrs := []slog.Attr{
		slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", status),
		slog.String("request_id", rec.RequestID), slog.Duration("duration", time.Since(rec.Started).Round(time.Microsecond)),
	}
	if rec.Model != "" {
		attrs = append(attrs, slog.String("model", rec.Model),
			slog.Int("prompt_tokens", rec.PromptTokens), slog.Int("completion_tokens", rec.CompletionTokens))
	}
	if !rec.FirstToken.IsZero() {
		attrs = append(attrs, slog.Duration("first_token", rec.FirstToken.Sub(rec.Started).Round(time.Microsecond)))
	}
	if len(rec.Ignored) > 0 {
		attrs = append(attrs, slog.Any("ignored_fields", rec.Ignored))
	}
	if rec.Error != nil {
		attrs = append(attrs, slog.String("error", rec.Error.Error()))
	}
	log.LogAttrs(r.Context(), level, "request", attrs...)
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

// writer remembers the status and moves the connection's write deadline along.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	moved   time.Time // when the deadline was
	status  int
}

// Unwrap serves [http.ResponseController].
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush serves handlers that assert [http.Flusher]: grpc and Connect do.
func (w *writer) Flush() {
	w.extend()
	_ = w.control.Flush() // a writer that can't flush has nothing to flush
}

func (w *writer) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// writePiece is what a client must take within the timeout.
const writePiece = 64 << 10

func (w *writer) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	written := 0
	for {
		w.extend()
		piece := b[written:min(written+writePiece, len(b))]
		n, err := w.ResponseWriter.Write(piece)
		written += n
		if err != nil || written == len(b) {
			return written, err
		}
	}
}

// extend moves the deadline. As that costs more than a token, it is left alone
// for a quarter of the timeout.
func (w *writer) extend() {
	if now := time.Now(); now.Sub(w.moved) > w.timeout/4 {
		w.moved = now
		_ = w.control.SetWriteDeadline(now.Add(w.timeout)) // tests' recorders have none
	}
}
