package responses_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/openai/openaitest"
	"github.com/trident-inference/trident/services/serving"
)

// TestIdleResponse tests that keep-alives of an idle model send the headers, so
// that its later error is an event.
func TestIdleResponse(t *testing.T) {
	idle := func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		send(&inference.Response{Idle: true})
		return &inference.Error{Code: inference.CodeLimited, Message: "too late for a status"}
	}
	server, _ := serveResponses(t, openai.Default(), idle)
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","stream":true`))
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(body, ": keep-alive\n\nevent: response.created\n") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	list := typedEvents(t, body)
	if last := list[len(list)-1]; len(list) != 4 || last.Type != "response.failed" || !strings.Contains(last.raw, `"error":{"code":"rate_limit_exceeded","message":"too late for a status"}`) {
		t.Errorf("got %s", body)
	}
}

// TestResponseFlushesEachToken tests that the first token is sent with the events
// that open its item, while the model is still running.
func TestResponseFlushesEachToken(t *testing.T) {
	next := make(chan struct{})
	server, engine := serveResponses(t, openai.Default(), openaitest.StepScript(2, next))
	resp := openaitest.StartRequest(t, server.URL+responsePath, respond(`"input":"hi","stream":true`))
	read := make([]byte, 64<<10)
	for i := range 2 {
		var got string
		for want := fmt.Sprintf(`"delta":"t%d"`, i); !strings.Contains(got, want); {
			n, err := resp.Body.Read(read)
			if got += string(read[:n]); err != nil {
				t.Fatalf("%v after %s", err, got)
			}
		}
		if engine.Active() != 1 {
			t.Fatalf("token %d came after the model's end", i)
		}
		next <- struct{}{}
	}
}

func TestLeavingAResponseStopsTheModel(t *testing.T) {
	open := func(t *testing.T, script inferencetest.Script) string {
		t.Helper()
		server, _ := serveResponses(t, openai.Default(), script)
		return server.URL
	}
	openaitest.CheckClientDisconnect(t, open, responsePath, func(stream string) string { return respond(`"input":"hi","stream":` + stream) })
}

// BenchmarkResponseStream measures the cost of a streamed response of the Responses API, like the
// benchmark of streamed chats.
func BenchmarkResponseStream(b *testing.B) {
	openaitest.BenchmarkTokens(b, func(s *serving.Service) (http.Handler, error) { return openai.New(openai.Default(), s, nil) }, responsePath, respond(`"input":"hi","stream":true,"store":false`))
}
