package tridentrpc_test

import (
	"context"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	messages "github.com/trident-inference/trident/gen/go/kserve"
	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	trident "github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
	frontend "github.com/trident-inference/trident/services/tridentrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves the service on a loopback port and returns a client of it.
func serve(t *testing.T, script inferencetest.Script, opts ...connect.ClientOption) (tridentv1connect.ChatServiceClient, *inferencetest.Engine) {
	t.Helper()
	engine := inferencetest.New()
	engine.AddModel("chat", script, map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	return serveEngine(t, engine, opts...), engine
}

func serveEngine(t *testing.T, engine *inferencetest.Engine, opts ...connect.ClientOption) tridentv1connect.ChatServiceClient {
	t.Helper()
	httpClient, url := serveAll(t, inferencetest.Service(t, serving.Config{}, engine), auth.Config{})
	return tridentv1connect.NewChatServiceClient(httpClient, url, opts...)
}

// serveAll serves all services and returns an HTTP/2 client and the address.
func serveAll(t *testing.T, core *serving.Service, access auth.Config) (*http.Client, string) {
	t.Helper()
	routes, err := frontend.NewRoutes(frontend.New(core, "test"), trident.Config{MaxBody: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	gate, err := auth.New(access, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	mux, err := trident.NewMux(gate, core.Admission(), routes)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(mux)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	return &http.Client{Transport: transport}, server.URL
}

// postJSON sends a call in JSON without a client of Connect, and returns the status and the body.
func postJSON(t *testing.T, client *http.Client, url, body string) (status int, text []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, text
}

func request() *tridentv1.ChatRequest {
	return &tridentv1.ChatRequest{
		Model: "chat",
		Messages: []*tridentv1.ChatMessage{
			{Role: tridentv1.Role_ROLE_DEVELOPER, Content: "be brief"}, {Role: tridentv1.Role_ROLE_USER, Content: "hi"},
		},
	}
}

// protocols are the protocols and encodings that the one handler speaks.
var protocols = map[string][]connect.ClientOption{
	"connect": nil, "grpc": {connect.WithGRPC()}, "grpc-web": {connect.WithGRPCWeb()}, "connect json": {connect.WithProtoJSON()},
}

func TestChat(t *testing.T) {
	for name, opts := range protocols {
		t.Run(name, func(t *testing.T) {
			client, engine := serve(t, inferencetest.StreamText("Hel", "lo\x00", "\xff"), opts...)
			req := request()
			req.Temperature, req.MaxTokens, req.Stop, req.N = new(0.5), proto.Uint32(9), []string{"x"}, 2
			answer, err := client.Chat(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(answer.GetId(), "chat-") || answer.GetModel() != "chat" || answer.GetCreated().GetSeconds() == 0 || len(answer.GetChoices()) != 2 {
				t.Errorf("answer %s", protojson.Format(answer))
			}
			for i, c := range answer.GetChoices() {
				if c.GetIndex() != uint32(i) || c.GetMessage().GetContent() != "Hello\x00\ufffd" || c.GetMessage().GetRole() != tridentv1.Role_ROLE_ASSISTANT ||
					c.GetFinishReason() != tridentv1.FinishReason_FINISH_REASON_STOP {
					t.Errorf("choice %d: %s", i, protojson.Format(c))
				}
			}
			if u := answer.GetUsage(); u.GetPromptTokens() != 7 || u.GetCompletionTokens() != 6 {
				t.Errorf("usage %v", u)
			}
			sent := engine.Requests()[0]
			if got := inferencetest.Input(sent, "text_input"); got != "[system]be brief[user]hi[assistant]" {
				t.Errorf("prompt %q", got)
			}
			if got := inferencetest.Input(sent, "sampling_parameters"); got != `{"temperature":0.5,"max_tokens":9,"stop":["x"]}` {
				t.Errorf("sampling %s", got)
			}
		})
	}
}

func TestChatStream(t *testing.T) {
	script := func(_ context.Context, _ *messages.ModelInferRequest, send func(*inference.Response) bool) error {
		send(&inference.Response{Idle: true})
		first := inferencetest.Token("Hel", "")
		first.Outputs = append(first.Outputs, inferencetest.Bytes("logprobs", `[{"5":{"logprob":-0.25,"rank":1,"decoded_token":"Hel"}}]`))
		send(first)
		send(inferencetest.Token("lo", "length"))
		return nil
	}
	for name, opts := range protocols {
		t.Run(name, func(t *testing.T) {
			client, _ := serve(t, script, opts...)
			req := request()
			req.Logprobs, req.TopLogprobs = true, 1
			stream, err := client.ChatStream(t.Context(), &tridentv1.ChatStreamRequest{Chat: req})
			if err != nil {
				t.Fatal(err)
			}
			var all []*tridentv1.ChatStreamResponse
			for stream.Receive() {
				all = append(all, proto.CloneOf(stream.Msg()))
			}
			if err := stream.Err(); err != nil || len(all) != 4 {
				t.Fatalf("%d messages, %v", len(all), err)
			}
			idle, first, second, last := all[0], all[1], all[2], all[3]
			if proto.Size(idle) != 0 {
				t.Errorf("keep-alive %v", idle)
			}
			if first.GetId() == "" || first.GetModel() != "chat" || first.GetCreated() == nil || first.GetDelta().GetText() != "Hel" {
				t.Errorf("first %v", first)
			}
			logprob := first.GetDelta().GetLogprobs()[0]
			if logprob.GetToken() != "Hel" || logprob.GetLogprob() != -0.25 || string(logprob.GetTop()[0].GetTokenBytes()) != "Hel" {
				t.Errorf("logprobs %v", logprob)
			}
			if second.GetId() != "" || second.GetDelta().GetText() != "lo" || second.GetDelta().GetFinishReason() != tridentv1.FinishReason_FINISH_REASON_LENGTH {
				t.Errorf("second %v", second)
			}
			if last.GetDelta() != nil || last.GetUsage().GetCompletionTokens() != 2 || last.GetUsage().GetPromptTokens() != 7 {
				t.Errorf("last %v", last)
			}
		})
	}
}

// TestReasoning checks that ChatService returns a model's reasoning in a field of its own, separate
// from the text.
func TestReasoning(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("chat", inferencetest.StreamText("<think>Hm", "m</think>", "Yes"), map[string]string{
		"trident.chat_template": inferencetest.ChatTemplate, "trident.reasoning_parser": "qwen3",
	})
	client := serveEngine(t, engine)
	answer, err := client.Chat(t.Context(), request())
	if err != nil {
		t.Fatal(err)
	}
	if c := answer.GetChoices()[0]; c.GetReasoning() != "Hmm" || c.GetMessage().GetContent() != "Yes" {
		t.Errorf("choice %s", protojson.Format(c))
	}
	stream, err := client.ChatStream(t.Context(), &tridentv1.ChatStreamRequest{Chat: request()})
	if err != nil {
		t.Fatal(err)
	}
	var pieces []string
	for stream.Receive() {
		if d := stream.Msg().GetDelta(); d != nil {
			pieces = append(pieces, d.GetReasoning()+"|"+d.GetText())
		}
	}
	if got := strings.Join(pieces, " "); stream.Err() != nil || got != "Hm| m| |Yes |" {
		t.Errorf("pieces %s, %v", got, stream.Err())
	}
}

func TestErrors(t *testing.T) {
	broken := func(err *inference.Error) inferencetest.Script {
		return func(context.Context, *messages.ModelInferRequest, func(*inference.Response) bool) error { return err }
	}
	tests := []struct {
		name    string
		change  func(*tridentv1.ChatRequest)
		script  inferencetest.Script
		code    connect.Code
		message string
	}{
		{"no model", func(r *tridentv1.ChatRequest) { r.Model = "" }, nil, connect.CodeInvalidArgument, "model"},
		{"no messages", func(r *tridentv1.ChatRequest) { r.Messages = nil }, nil, connect.CodeInvalidArgument, "messages"},
		{"no role", func(r *tridentv1.ChatRequest) { r.Messages[1].Role = 0 }, nil, connect.CodeInvalidArgument, "messages[1].role"},
		{"unknown model", func(r *tridentv1.ChatRequest) { r.Model = "x" }, nil, connect.CodeNotFound, "`x`"},
		{"out of range", func(r *tridentv1.ChatRequest) { r.Temperature = new(3.0) }, nil, connect.CodeInvalidArgument, "temperature"},
		{"not a number", func(r *tridentv1.ChatRequest) { r.TopP = new(math.NaN()) }, nil, connect.CodeInvalidArgument, "top_p"},
		{"too many choices", func(r *tridentv1.ChatRequest) { r.N = 129 }, nil, connect.CodeInvalidArgument, "n must"},
		{"far too many choices", func(r *tridentv1.ChatRequest) { r.N = math.MaxUint32 }, nil, connect.CodeInvalidArgument, "n must"},
		{"too many alternatives", func(r *tridentv1.ChatRequest) { r.Logprobs, r.TopLogprobs = true, 21 }, nil, connect.CodeInvalidArgument, "top_logprobs"},
		{"alternatives without logprobs", func(r *tridentv1.ChatRequest) { r.TopLogprobs = 1 }, nil, connect.CodeInvalidArgument, "top_logprobs"},
		{"five stop texts", func(r *tridentv1.ChatRequest) { r.Stop = []string{"a", "b", "c", "d", "e"} }, nil, connect.CodeInvalidArgument, "stop"},
		{"an empty stop text", func(r *tridentv1.ChatRequest) { r.Stop = []string{""} }, nil, connect.CodeInvalidArgument, "stop[0]"},
		{"Triton gone", nil, broken(&inference.Error{Code: inference.CodeUnavailable, Message: "Triton went away"}), connect.CodeUnavailable, "went away"},
		{"overload", nil, broken(&inference.Error{Code: inference.CodeOverloaded, Message: "too much"}), connect.CodeUnavailable, "too much"},
		{"limit", nil, broken(&inference.Error{Code: inference.CodeLimited, Message: "too fast"}), connect.CodeResourceExhausted, "too fast"},
		{"an internal error", nil, broken(&inference.Error{Code: inference.CodeInternal, Message: "internal error", Err: context.DeadlineExceeded}), connect.CodeInternal, "internal error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			client, _ := serve(t, tt.script)
			req := request()
			if tt.change != nil {
				tt.change(req)
			}
			_, unary := client.Chat(t.Context(), req)
			stream, err := client.ChatStream(t.Context(), &tridentv1.ChatStreamRequest{Chat: req})
			if err != nil {
				t.Fatal(err)
			}
			for stream.Receive() {
				t.Errorf("got %v", stream.Msg())
			}
			for _, err := range []error{unary, stream.Err()} {
				if connect.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.message) || strings.Contains(err.Error(), "deadline") {
					t.Errorf("got %v", err)
				}
			}
		})
	}
}

func TestLeavingStopsTheModel(t *testing.T) {
	stopped := make(chan struct{})
	script := func(ctx context.Context, _ *messages.ModelInferRequest, send func(*inference.Response) bool) error {
		send(inferencetest.Token("x", ""))
		<-ctx.Done()
		close(stopped)
		return ctx.Err()
	}
	client, _ := serve(t, script)
	ctx, leave := context.WithCancel(t.Context())
	stream, err := client.ChatStream(ctx, &tridentv1.ChatStreamRequest{Chat: request()})
	if err != nil {
		t.Fatal(err)
	}
	if !stream.Receive() || stream.Msg().GetDelta().GetText() != "x" {
		t.Fatal(stream.Err())
	}
	leave()
	<-stopped // the test times out if the model isn't stopped
	_ = stream.Close()
}

// TestCompressedMessagesAreBounded checks that ChatService refuses a compressed message whose
// decompressed size exceeds the limit.
func TestCompressedMessagesAreBounded(t *testing.T) {
	client, engine := serve(t, inferencetest.StreamText("x"), connect.WithSendGzip())
	req := request()
	req.Messages[1].Content = strings.Repeat("a", 8<<20)
	if _, err := client.Chat(t.Context(), req); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("got %v", err)
	}
	req.Messages[1].Content = "hi"
	if _, err := client.Chat(t.Context(), req); err != nil {
		t.Errorf("a small message: %v", err)
	}
	if len(engine.Requests()) != 1 {
		t.Errorf("%d requests reached the engine", len(engine.Requests()))
	}
}
