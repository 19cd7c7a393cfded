package openai

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/trident-inference/trident/services/serving"
)

// withRate sets OpenAI's headers with the remaining rate on responses, if the client
// has a rate limit.
func (h *Handler) withRate(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	if r.Method != http.MethodPost {
		return w
	}
	_, requests := h.service.Admission().Rate(r.Context())
	_, tokens := h.service.Admission().Tokens(r.Context())
	if !requests && !tokens {
		return w
	}
	return &rateWriter{ResponseWriter: w, ctx: r.Context(), service: h.service}
}

// rateWriter sets the headers when the response starts, after the request has been
// counted.
type rateWriter struct {
	http.ResponseWriter

	ctx     context.Context //nolint:containedctx // it has the client
	service *serving.Service
	begun   bool
}

// Unwrap is for [http.ResponseController].
func (w *rateWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *rateWriter) WriteHeader(status int) {
	w.begin()
	w.ResponseWriter.WriteHeader(status)
}

func (w *rateWriter) Write(b []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(b)
}

func (w *rateWriter) begin() {
	if w.begun {
		return
	}
	w.begun = true
	if left, limited := w.service.Admission().Rate(w.ctx); limited {
		setRate(w.Header(), "Requests", left.Limit, left.Remaining, left.Reset)
	}
	if left, limited := w.service.Admission().Tokens(w.ctx); limited {
		setRate(w.Header(), "Tokens", left.Limit, left.Remaining, left.Reset)
	}
}

// setRate sets the headers of requests or tokens.
func setRate(header http.Header, unit string, limit, remaining int, reset time.Duration) {
	header.Set("X-Ratelimit-Limit-"+unit, strconv.Itoa(limit))
	header.Set("X-Ratelimit-Remaining-"+unit, strconv.Itoa(remaining))
	header.Set("X-Ratelimit-Reset-"+unit, reset.Round(time.Millisecond).String())
}
