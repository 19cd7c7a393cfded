package anthropic

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
)

// TestDisconnect checks that the model stops when the client disconnects.
func TestDisconnect(t *testing.T) {
	for _, stream := range []string{"true", "false"} {
		t.Run("stream "+stream, func(t *testing.T) {
			started, stopped := make(chan struct{}), make(chan struct{})
			f := serve(t, Config{}, func(ctx context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
				send(inferencetest.Token("x", ""))
				close(started)
				<-ctx.Done()
				close(stopped)
				return ctx.Err()
			}, abilities())
			server := httptest.NewServer(f)
			defer server.Close()
			ctx, disconnect := context.WithCancel(t.Context())
			go func() { <-started; disconnect() }()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/v1/messages", strings.NewReader(request(`[{"role":"user","content":"a"}]`, `,"stream":`+stream)))
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := new(http.Client).Do(r); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			<-stopped // the test times out if the model isn't stopped
		})
	}
}
