package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/trident-inference/trident/gen/go/kserve"
	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
	frontend "github.com/trident-inference/trident/services/tridentrpc"
)

// serve starts a server with a model that says Hello. If the question has "go on",
// the model continues until its client disconnects.
func serve(t *testing.T) (tridentv1connect.ChatServiceClient, *inferencetest.Engine) {
	t.Helper()
	engine := inferencetest.New()
	engine.AddModel("chat", func(ctx context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		send(inferencetest.Token("Hel", ""))
		if strings.Contains(inferencetest.Input(req, "text_input"), "go on") {
			<-ctx.Done()
			return ctx.Err()
		}
		send(inferencetest.Token("lo", "stop"))
		return nil
	}, map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	handler, err := handlers(inferencetest.Service(t, serving.Config{}, engine))
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	return tridentv1connect.NewChatServiceClient(web.Client(), web.URL), engine
}

// handlers returns the handlers of the typed services.
func handlers(service *serving.Service) (http.Handler, error) {
	routes, err := frontend.NewRoutes(frontend.New(service, "test"), server.Default())
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.Handle(r.Pattern, r.Handler)
	}
	return mux, nil
}

func request(text string) *tridentv1.ChatRequest {
	return &tridentv1.ChatRequest{Model: "chat", Messages: []*tridentv1.ChatMessage{{Role: tridentv1.Role_ROLE_USER, Content: text}}}
}

func TestRun(t *testing.T) {
	client, _ := serve(t)
	var out strings.Builder
	if err := run(t.Context(), &out, client, "chat", "Say hello."); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"non-streaming response: Hello\n", "stream: Hello\n", "first piece: Hel\n", "time limit of 1 ms: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output %q doesn't contain %q", out.String(), want)
		}
	}
	err := run(t.Context(), &out, client, "none", "a")
	if got := describe(err); !strings.HasPrefix(got, "not_found: the model `none`") || !strings.Contains(got, `(model_not_found, field "model", request req_`) {
		t.Errorf("the error of an unknown model is %q", got)
	}
}

func TestDisconnect(t *testing.T) {
	client, engine := serve(t)
	pieces := 0
	if err := stream(t.Context(), client, request("go on"), func(string) bool { pieces++; return false }); err != nil || pieces != 1 {
		t.Fatalf("%d pieces, %v", pieces, err)
	}
	for engine.Active() > 0 { // the test times out if the engine stays active
		<-time.After(time.Millisecond)
	}
}

func TestDeadline(t *testing.T) {
	client, engine := serve(t)
	if err := deadline(t.Context(), client, request("go on"), 50*time.Millisecond); connect.CodeOf(err) != connect.CodeDeadlineExceeded {
		t.Errorf("got %v", err)
	}
	for engine.Active() > 0 {
		<-time.After(time.Millisecond)
	}
}
