package openai

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// TestRateHeaders tests that responses of all kinds have the remaining rate in their
// headers if there is a limit. A refused request also gets the time to wait.
func TestRateHeaders(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("chat", inferencetest.StreamText("hi"), map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	service := inferencetest.Service(t, serving.Config{Bounds: admission.Bounds{Server: inference.Limits{Rate: 0.001, Burst: 2}}}, engine)
	handler, err := New(Default(), service, nil)
	if err != nil {
		t.Fatal(err)
	}
	post := func(fields string) *httptest.ResponseRecorder {
		body := `{"model":"chat","messages":[{"role":"user","content":"x"}]` + fields + "}"
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	for i, tt := range []struct {
		fields          string
		status          int
		left, resetPart string
	}{
		{"", http.StatusOK, "1", "16m"},
		{`,"stream":true`, http.StatusOK, "0", "33m"},
		{"", http.StatusTooManyRequests, "0", "33m"},
	} {
		w := post(tt.fields)
		h := w.Header()
		if w.Code != tt.status || h.Get("X-Ratelimit-Limit-Requests") != "2" || h.Get("X-Ratelimit-Remaining-Requests") != tt.left || !strings.HasPrefix(h.Get("X-Ratelimit-Reset-Requests"), tt.resetPart) {
			t.Errorf("%d: %d %v", i, w.Code, h)
		}
		if retry := h.Get("Retry-After"); (tt.status == http.StatusOK) != (retry == "") || retry != "" && len(retry) < 3 {
			t.Errorf("%d: Retry-After %q", i, retry)
		}
	}
	if body := post("").Body.String(); !strings.Contains(body, `"type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"`) {
		t.Errorf("got %s", body)
	}
	if err := service.Admission().SetBounds(admission.Bounds{}); err != nil {
		t.Fatal(err)
	}
	if w := post(""); w.Code != http.StatusOK || w.Header().Get("X-Ratelimit-Limit-Requests") != "" {
		t.Errorf("without a rate: %d %v", w.Code, w.Header())
	}
}
