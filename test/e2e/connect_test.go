package e2e

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
)

// connectClients returns clients of the typed service: Connect over HTTP/1.1, and gRPC and gRPC-Web
// over HTTP/2 without TLS.
func connectClients(t *testing.T, s *trident) map[string]tridentv1connect.ChatServiceClient {
	t.Helper()
	return map[string]tridentv1connect.ChatServiceClient{
		"Connect":      tridentv1connect.NewChatServiceClient(client, s.url),
		"Connect JSON": tridentv1connect.NewChatServiceClient(client, s.url, connect.WithProtoJSON()),
		"gRPC":         tridentv1connect.NewChatServiceClient(overHTTP2(t), s.url, connect.WithGRPC()),
		"gRPC-Web":     tridentv1connect.NewChatServiceClient(overHTTP2(t), s.url, connect.WithGRPCWeb()),
	}
}

func typedAsk(text string, tokens uint32) *tridentv1.ChatRequest {
	return &tridentv1.ChatRequest{
		Model: "chat", MaxTokens: &tokens,
		Messages: []*tridentv1.ChatMessage{{Role: tridentv1.Role_ROLE_USER, Content: text}},
	}
}

func TestConnect(t *testing.T) {
	t.Parallel()
	s := serving(t)
	for name, client := range connectClients(t, s) {
		t.Run(name, func(t *testing.T) {
			checkTypedChat(t, client)
			checkTypedStream(t, client)
			checkTypedErrors(t, s, client)
		})
	}
}

func checkTypedChat(t *testing.T, client tridentv1connect.ChatServiceClient) {
	t.Helper()
	request := typedAsk("Count from one to a hundred in words.", 5)
	request.N, request.Logprobs, request.TopLogprobs = 2, true, 2
	request.Temperature = new(0.0) // an answer that was drawn once ended at its fifth token
	answer, err := client.Chat(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.GetChoices()) != 2 || answer.GetId() == "" || answer.GetModel() != "chat" || answer.GetCreated().GetSeconds() == 0 {
		t.Fatalf("%v", answer)
	}
	for i, c := range answer.GetChoices() {
		var spelt strings.Builder
		for _, token := range c.GetLogprobs() {
			spelt.Write(token.GetTokenBytes())
			if len(token.GetTop()) != 2 {
				t.Errorf("%d alternatives to %q, want 2", len(token.GetTop()), token.GetToken())
			}
		}
		m := c.GetMessage()
		if int(c.GetIndex()) != i || m.GetRole() != tridentv1.Role_ROLE_ASSISTANT || m.GetContent() == "" || spelt.String() != m.GetContent() {
			t.Errorf("choice %d: %v", i, c)
		}
		if c.GetFinishReason() != tridentv1.FinishReason_FINISH_REASON_LENGTH {
			t.Errorf("choice %d has finish reason %s", i, c.GetFinishReason())
		}
	}
	if u := answer.GetUsage(); u.GetCompletionTokens() != 10 || u.GetPromptTokens() < 10 {
		t.Errorf("usage %v", u)
	}
}

func checkTypedStream(t *testing.T, client tridentv1connect.ChatServiceClient) {
	t.Helper()
	stream, err := client.ChatStream(t.Context(), &tridentv1.ChatStreamRequest{Chat: typedAsk("Count from one to a hundred in words.", 20)})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	pieces, finishes := 0, 0
	var first *tridentv1.ChatStreamResponse
	var usage *tridentv1.Usage
	for stream.Receive() {
		m := stream.Msg()
		if first == nil {
			first = m
		} else if m.GetId() != "" || usage != nil {
			t.Errorf("later message %v", m)
		}
		if m.GetDelta().GetText() != "" {
			pieces++
			text.WriteString(m.GetDelta().GetText())
		}
		if m.GetDelta().GetFinishReason() != tridentv1.FinishReason_FINISH_REASON_UNSPECIFIED {
			finishes++
		}
		usage = m.GetUsage()
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if first.GetId() == "" || first.GetModel() != "chat" || first.GetCreated() == nil {
		t.Errorf("first message %v", first)
	}
	if pieces < 10 || finishes != 1 || usage.GetCompletionTokens() == 0 || usage.GetCompletionTokens() > 20 {
		t.Errorf("%d pieces, %d finish reasons, usage %v: %q", pieces, finishes, usage, text.String())
	}
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
}

func checkTypedErrors(t *testing.T, s *trident, client tridentv1connect.ChatServiceClient) {
	t.Helper()
	for _, test := range []struct {
		name   string
		change func(*tridentv1.ChatRequest)
		code   connect.Code
		words  string
	}{
		{"unknown model", func(r *tridentv1.ChatRequest) { r.Model = "none" }, connect.CodeNotFound, "none"},
		{"no model", func(r *tridentv1.ChatRequest) { r.Model = "" }, connect.CodeInvalidArgument, "model"},
		{"no messages", func(r *tridentv1.ChatRequest) { r.Messages = nil }, connect.CodeInvalidArgument, "messages"},
		{"no role", func(r *tridentv1.ChatRequest) { r.Messages[0].Role = 0 }, connect.CodeInvalidArgument, "messages[0].role"},
		{"temperature", func(r *tridentv1.ChatRequest) { r.Temperature = new(2.5) }, connect.CodeInvalidArgument, "temperature"},
		{"n", func(r *tridentv1.ChatRequest) { r.N = 129 }, connect.CodeInvalidArgument, "n must"},
		{"too long", func(r *tridentv1.ChatRequest) { r.Messages[0].Content = strings.Repeat("word ", 3000) }, connect.CodeInvalidArgument, "2048"},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := typedAsk(marker, 5)
			test.change(request)
			for _, streaming := range []bool{false, true} {
				ctx, call := connect.NewClientContext(t.Context())
				id := rand.Text()
				call.RequestHeader().Set("X-Request-Id", id)
				err := callTyped(ctx, client, request, streaming)
				if connect.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.words) {
					t.Errorf("%v, want %s with %q", err, test.code, test.words)
				}
				line, ok := s.log.await(stopLimit, s.exited, func(l logLine) bool { return l["request_id"] == id })
				if logged := fmt.Sprint(line); !ok || line["error"] == nil || strings.Contains(logged, marker) {
					t.Errorf("the log has %s", logged)
				}
			}
		})
	}
}

// callTyped returns the error of a call that must fail.
func callTyped(ctx context.Context, client tridentv1connect.ChatServiceClient, request *tridentv1.ChatRequest, streaming bool) error {
	if !streaming {
		_, err := client.Chat(ctx, request)
		return err
	}
	stream, err := client.ChatStream(ctx, &tridentv1.ChatStreamRequest{Chat: request})
	if err != nil {
		return err
	}
	for stream.Receive() {
	}
	_ = stream.Close() // the error is the same as the stream's
	return stream.Err()
}

// TestConnectHeaders checks that ChatService echoes X-Request-Id and refuses an Origin of another
// site, as all other APIs of Trident do.
func TestConnectHeaders(t *testing.T) {
	t.Parallel()
	s := serving(t)
	a := s.rawConnect(t, `{"model":"chat","maxTokens":2,"messages":[{"role":"ROLE_USER","content":"Hello."}]}`, "X-Request-Id", "typed")
	if a.status != http.StatusOK || a.header.Get("X-Request-Id") != "typed" {
		t.Errorf("status %d, x-request-id %q: %s", a.status, a.header.Get("X-Request-Id"), a.body)
	}
	a = s.rawConnect(t, `{"model":"chat"}`, "Origin", "https://evil.example")
	if a.status != http.StatusForbidden {
		t.Errorf("a page of another site got %d: %s", a.status, a.body)
	}
}

func (s *trident) rawConnect(t *testing.T, body string, header ...string) answer {
	t.Helper()
	r := s.request(t, http.MethodPost, tridentv1connect.ChatServiceChatProcedure, body, header...)
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return readAll(t, response)
}

// TestConnectLeaves checks that Trident cancels the model's work when a client of ChatService
// disconnects. TestClientLeaves checks the same for the OpenAI API.
func TestConnectLeaves(t *testing.T) {
	s := serving(t)
	for name, client := range connectClients(t, s) {
		if name == "Connect JSON" {
			continue // covered by connect
		}
		t.Run(name+" streaming", func(t *testing.T) {
			checkLeaving(t, s, 1, func(ctx context.Context, began func()) {
				stream, err := client.ChatStream(ctx, &tridentv1.ChatStreamRequest{Chat: typedAsk("Write a very long story about a ship.", 1500)})
				if err != nil {
					t.Error(err)
					return
				}
				for stream.Receive() {
					if stream.Msg().GetDelta().GetText() != "" {
						began()
					}
				}
				if code := connect.CodeOf(stream.Err()); code != connect.CodeCanceled {
					t.Errorf("the stream ended with %v", stream.Err())
				}
				_ = stream.Close() // the stream has failed
			})
		})
		t.Run(name, func(t *testing.T) {
			checkLeaving(t, s, 1, func(ctx context.Context, began func()) {
				began()
				_, _ = client.Chat(ctx, typedAsk("Write a very long story about a ship.", 1500)) // ends with the context
			})
		})
	}
}
