package anthropic

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
)

// TestRepeatedHeaders checks that headers with several lines are the same as one line with all values.
func TestRepeatedHeaders(t *testing.T) {
	f := serve(t, Config{}, inferencetest.StreamText("x"), abilities())
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/messages", strings.NewReader(request(probed, "")))
	r.Header["Anthropic-Beta"] = []string{"one-2025-01-01", "two-2025-01-01"}
	r.Header["Anthropic-Version"] = []string{"2023-06-01", "2023-06-01"}
	answer := httptest.NewRecorder()
	f.ServeHTTP(answer, r)
	if got := answer.Header().Get("X-Trident-Ignored-Fields"); answer.Code != http.StatusOK || got != "anthropic-beta" {
		t.Errorf("%d %s, ignored %q", answer.Code, answer.Body, got)
	}
}
