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
	if _, limited := h.service.Admission().Rate(r.Context()); !limited {
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
		header := w.Header()
		header.Set("X-Ratelimit-Limit-Requests", strconv.Itoa(left.Limit))
		header.Set("X-Ratelimit-Remaining-Requests", strconv.Itoa(left.Remaining))
		header.Set("X-Ratelimit-Reset-Requests", left.Reset.Round(time.Millisecond).String())
	}
}
