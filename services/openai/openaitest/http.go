package openaitest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// Do sends a request and reads the whole response.
func Do(t *testing.T, method, url, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := new(http.Client).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

// StepScript returns a script that generates t0, t1 … and waits after each token.
func StepScript(tokens int, next <-chan struct{}) inferencetest.Script {
	return func(ctx context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		for i := range tokens {
			send(inferencetest.Token(fmt.Sprintf("t%d", i), ""))
			select {
			case <-next:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		send(inferencetest.Token("", "stop"))
		return nil
	}
}

// CheckClientDisconnect checks, with and without streaming, that the model stops when the client
// disconnects. open starts the frontend with a model chat that runs the script, and returns
// its address. body returns the request's body.
func CheckClientDisconnect(t *testing.T, open func(*testing.T, inferencetest.Script) string, path string, body func(stream string) string) {
	t.Helper()
	for _, stream := range []string{"true", "false"} {
		t.Run("stream "+stream, func(t *testing.T) {
			started, stopped := make(chan struct{}), make(chan struct{})
			url := open(t, func(ctx context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
				send(inferencetest.Token("x", ""))
				close(started)
				<-ctx.Done()
				close(stopped)
				return ctx.Err()
			})
			ctx, disconnect := context.WithCancel(t.Context())
			go func() { <-started; disconnect() }()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+path, strings.NewReader(body(stream)))
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := new(http.Client).Do(req); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			<-stopped // the test times out if the model isn't stopped
		})
	}
}

// StartRequest sends a request and returns the response with its body unread.
func StartRequest(t *testing.T, url, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := new(http.Client).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// discard is a client that discards the response.
type discard struct{ header http.Header }

func (d discard) Header() http.Header { return d.header }

func (d discard) Write(b []byte) (int, error) { return len(b), nil }

func (discard) WriteHeader(int) {}

func (discard) Flush() {}

// BenchmarkTokens measures a token from the engine's response to the bytes of its event.
// The model answers one request with b.N tokens.
func BenchmarkTokens(b *testing.B, frontend func(*serving.Service) (http.Handler, error), path, body string) {
	b.Helper()
	token := inferencetest.Token(" token", "")
	script := func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		for range b.N {
			send(token)
		}
		send(inferencetest.Token("", "stop"))
		return nil
	}
	engine := inferencetest.New()
	engine.AddModel("chat", script, map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	handler, err := frontend(inferencetest.Service(b, serving.Config{}, engine))
	if err != nil {
		b.Fatal(err)
	}
	req := httptest.NewRequestWithContext(b.Context(), http.MethodPost, path, strings.NewReader(body))
	b.ReportAllocs()
	handler.ServeHTTP(discard{http.Header{}}, req)
}
