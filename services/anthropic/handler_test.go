package anthropic

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/seal"
	"github.com/trident-inference/trident/services/serving"
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

// TestModelWithoutText checks that a model of embeddings is neither in the list of models nor described.
func TestModelWithoutText(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("m", inferencetest.StreamText("x"), abilities())
	engine.AddModel("e", inferencetest.Embed(3, 4), map[string]string{"trident.task": "embed"})
	service := inferencetest.Service(t, serving.Config{}, engine)
	h, err := New(Config{}, service, seal.New())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"m", "e"} { // waits until the catalog has the models
		if _, err := service.Catalog().Model(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	f := &frontend{h, engine}
	answer := f.send(t, http.MethodGet, "/v1/models/e", "")
	if answer.Code != http.StatusNotFound || decoded(t, answer.Body.String()) != `the model "e" writes no text` {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	wantDocument(t, "ErrorResponse", answer.Body.String())
	list := f.send(t, http.MethodGet, "/v1/models", "").Body.String()
	if strings.Contains(list, `"id":"e"`) || !strings.Contains(list, `"id":"m"`) {
		t.Error(list)
	}
}

// TestUnreadBodies checks the errors about a compressed body and about a body that ends too early.
func TestUnreadBodies(t *testing.T) {
	f := serve(t, Config{}, inferencetest.StreamText("x"), abilities())
	for _, test := range []struct {
		name, encoding string
		body           io.Reader
		status         int
		message        string
	}{
		{"compressed", "gzip", strings.NewReader("{}"), http.StatusUnsupportedMediaType, "compressed request bodies are not supported"},
		{"cut", "", iotest.ErrReader(io.ErrUnexpectedEOF), http.StatusBadRequest, "the request body is incomplete"},
		{"timeout", "", iotest.ErrReader(os.ErrDeadlineExceeded), http.StatusRequestTimeout, "the request body timed out"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/messages", test.body)
		r.Header.Set("Content-Encoding", test.encoding)
		answer := httptest.NewRecorder()
		f.ServeHTTP(answer, r)
		if body := answer.Body.String(); answer.Code != test.status || !strings.HasPrefix(decoded(t, body), test.message) || !strings.Contains(body, `"type":"invalid_request_error"`) {
			t.Errorf("%s: %d %s", test.name, answer.Code, body)
		}
	}
}

// TestModelsOfKeys checks that the models of a client's key are compared with the model of the request before the
// rest of the body is read: the body is invalid after the model.
func TestModelsOfKeys(t *testing.T) {
	f := serve(t, Config{}, inferencetest.StreamText("x"), abilities())
	ctx := inference.WithClient(t.Context(), &inference.Client{Name: "k", Models: []string{"m"}})
	for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
		for body, want := range map[string]int{
			`{"model":"other","messages":[}`: http.StatusNotFound, `{"model":"m","messages":[}`: http.StatusBadRequest,
			strings.Replace(request(probed, ""), `"m"`, `"other"`, 1): http.StatusNotFound, `{"model":"m","messages":` + probed + `,"max_tokens":1}`: http.StatusOK,
		} {
			answer := httptest.NewRecorder()
			f.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body)))
			if answer.Code != want {
				t.Errorf("%s %s: %d %s, want %d", path, body, answer.Code, answer.Body, want)
			}
		}
	}
}

// TestBetaFeatures checks that each operation reports beta features as ignored, and that a strict server refuses them.
func TestBetaFeatures(t *testing.T) {
	for _, strict := range []bool{false, true} {
		f := serve(t, Config{Strict: strict}, inferencetest.StreamText("x"), abilities())
		for _, test := range []struct{ method, path, body string }{
			{"POST", "/v1/messages?beta=true", request(probed, "")},
			{"POST", "/v1/messages/count_tokens?beta=true", `{"model":"m","messages":` + probed + `}`},
			{"GET", "/v1/models?beta=true", ""},
			{"GET", "/v1/models/m?beta=true", ""},
		} {
			answer := f.send(t, test.method, test.path, test.body, "Anthropic-Beta", "some-2026-01-01")
			if got := answer.Header().Get("X-Trident-Ignored-Fields"); !strict && (answer.Code != http.StatusOK || got != "anthropic-beta") {
				t.Errorf("%s %s: %d, ignored %q: %s", test.method, test.path, answer.Code, got, answer.Body)
			}
			if strict && (answer.Code != http.StatusBadRequest || !strings.HasPrefix(decoded(t, answer.Body.String()), "anthropic-beta has no effect")) {
				t.Errorf("strict: %s %s: %d %s", test.method, test.path, answer.Code, answer.Body)
			}
		}
	}
}
