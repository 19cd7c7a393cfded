package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"connectrpc.com/connect"

	"github.com/trident-inference/trident/gen/go/kserve"
	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// hello serves Trident's own handlers on a loopback port, with a model "chat" that answers
// Hello. A real program uses the address of a Trident server instead.
func hello() (url string, stop func(), err error) {
	engine := inferencetest.New()
	engine.AddModel("chat", func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		send(inferencetest.Token("Hel", ""))
		send(inferencetest.Token("lo", "stop"))
		return nil
	}, map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	service, end, err := inferencetest.Open(serving.Config{}, engine)
	if err != nil {
		return "", nil, err
	}
	handler, err := handlers(service)
	if err != nil {
		end()
		return "", nil, err
	}
	web := httptest.NewServer(handler)
	return web.URL, func() { web.Close(); end() }, nil
}

// Example_chat sends a chat with a non-streaming response.
func Example_chat() {
	url, stop, err := hello()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	client := tridentv1connect.NewChatServiceClient(http.DefaultClient, url)
	answer, err := client.Chat(context.Background(), &tridentv1.ChatRequest{
		Model:    "chat",
		Messages: []*tridentv1.ChatMessage{{Role: tridentv1.Role_ROLE_USER, Content: "Say hello."}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	choice := answer.GetChoices()[0]
	fmt.Println(choice.GetMessage().GetContent(), choice.GetFinishReason())
	// Output: Hello FINISH_REASON_STOP
}

// Example_chatStream sends a streaming chat. When its context ends, the chat is canceled and
// the model stops.
func Example_chatStream() {
	url, stop, err := hello()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := tridentv1connect.NewChatServiceClient(http.DefaultClient, url)
	stream, err := client.ChatStream(ctx, &tridentv1.ChatStreamRequest{Chat: &tridentv1.ChatRequest{
		Model:    "chat",
		Messages: []*tridentv1.ChatMessage{{Role: tridentv1.Role_ROLE_USER, Content: "Say hello."}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for stream.Receive() {
		if text := stream.Msg().GetDelta().GetText(); text != "" {
			fmt.Println(text)
		}
	}
	fmt.Println(stream.Err())
	// Output:
	// Hel
	// lo
	// <nil>
}

// Example_errors shows an error's code and its detail with the reason and the field at
// fault.
func Example_errors() {
	url, stop, err := hello()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	client := tridentv1connect.NewChatServiceClient(http.DefaultClient, url)
	_, err = client.Chat(context.Background(), &tridentv1.ChatRequest{
		Model:    "none",
		Messages: []*tridentv1.ChatMessage{{Role: tridentv1.Role_ROLE_USER, Content: "Say hello."}},
	})
	var failed *connect.Error
	if !errors.As(err, &failed) {
		fmt.Println(err)
		return
	}
	for _, d := range failed.Details() {
		if value, err := d.Value(); err == nil {
			if detail, ok := value.(*tridentv1.ErrorDetail); ok {
				fmt.Println(failed.Code(), detail.GetReason(), detail.GetParam())
			}
		}
	}
	// Output: not_found model_not_found model
}
