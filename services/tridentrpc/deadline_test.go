package tridentrpc_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	messages "github.com/trident-inference/trident/gen/go/kserve"
	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// TestDeadlines checks that the deadline of a call of Trident's RPC API reaches the engine in all
// protocols.
func TestDeadlines(t *testing.T) {
	deadlines := make(chan time.Duration, 2)
	script := func(ctx context.Context, _ *messages.ModelInferRequest, send func(*inference.Response) bool) error {
		at, _ := ctx.Deadline()
		deadlines <- time.Until(at)
		send(inferencetest.Token("x", "stop"))
		return nil
	}
	for name, opts := range protocols {
		t.Run(name, func(t *testing.T) {
			client, _ := serve(t, script, opts...)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := client.Chat(ctx, request()); err != nil {
				t.Fatal(err)
			}
			stream, err := client.ChatStream(ctx, &tridentv1.ChatStreamRequest{Chat: request()})
			if err != nil {
				t.Fatal(err)
			}
			for stream.Receive() {
			}
			if stream.Err() != nil {
				t.Fatal(stream.Err())
			}
			for range 2 {
				if rest := <-deadlines; rest <= 0 || rest > time.Minute {
					t.Errorf("the engine has %s", rest)
				}
			}
		})
	}
}

// TestDeadlinePassed tests that the server cancels a request at the deadline in its
// header, without help of the client, and returns a typed error.
func TestDeadlinePassed(t *testing.T) {
	engine, stopped := inferencetest.New(), make(chan struct{})
	engine.AddModel("chat", func(ctx context.Context, _ *messages.ModelInferRequest, _ func(*inference.Response) bool) error {
		<-ctx.Done()
		close(stopped)
		return ctx.Err()
	}, map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	httpClient, address := serveAll(t, inferencetest.Service(t, serving.Config{}, engine), auth.Config{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+tridentv1connect.ChatServiceChatProcedure,
		strings.NewReader(`{"model":"chat","messages":[{"role":"ROLE_USER","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Connect-Timeout-Ms", "100")
	resp, err := httpClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var failed struct {
		Code    string
		Details []struct {
			Type  string
			Debug struct{ Reason, RequestID string }
		}
	}
	if err := json.Unmarshal(body, &failed); err != nil || resp.StatusCode != http.StatusGatewayTimeout || failed.Code != "deadline_exceeded" ||
		len(failed.Details) != 1 || failed.Details[0].Type != "trident.v1.ErrorDetail" || failed.Details[0].Debug.Reason != "timeout" {
		t.Errorf("%v: %d %s", err, resp.StatusCode, body)
	}
	<-stopped // the test times out if the model isn't stopped
}
