// Command go-connect chats with a Trident server through the generated package alone. It
// shows a non-streaming response, a stream, a deadline, and a cancellation in the middle
// of a stream, which stops the model.
//
//	go run ./examples/go-connect -url http://127.0.0.1:9000 -model chat "Say hello."
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"connectrpc.com/connect"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
)

func main() {
	url := flag.String("url", "http://127.0.0.1:9000", "URL of the Trident server")
	model := flag.String("model", "chat", "name or alias of the chat model")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	question := strings.Join(flag.Args(), " ")
	if question == "" {
		question = "Say hello."
	}
	// connect.WithGRPC() or connect.WithGRPCWeb() as a further option selects that
	// protocol. gRPC needs HTTP/2, which https:// addresses use by default.
	client := tridentv1connect.NewChatServiceClient(&http.Client{}, *url)
	err := run(ctx, os.Stdout, client, *model, question)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, describe(err))
		os.Exit(1) //nolint:forbidigo // this is the main function
	}
}

// run shows the four kinds of calls.
func run(ctx context.Context, out io.Writer, client tridentv1connect.ChatServiceClient, model, question string) error {
	request := &tridentv1.ChatRequest{
		Model: model, MaxTokens: new(uint32(64)),
		Messages: []*tridentv1.ChatMessage{{Role: tridentv1.Role_ROLE_USER, Content: question}},
	}
	text, err := unary(ctx, client, request)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "non-streaming response: %s\n\nstream: ", text)
	if err := stream(ctx, client, request, func(piece string) bool {
		_, _ = fmt.Fprint(out, piece)
		return true
	}); err != nil {
		return err
	}
	_, _ = fmt.Fprint(out, "\n\nstream that is cancelled after the first piece: ")
	if err := stream(ctx, client, request, func(piece string) bool {
		_, _ = fmt.Fprint(out, piece)
		return false
	}); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "\n\nchat with a time limit of 1 ms: %s\n", describe(deadline(ctx, client, request, time.Millisecond)))
	return nil
}

// unary waits for the complete response.
func unary(ctx context.Context, client tridentv1connect.ChatServiceClient, request *tridentv1.ChatRequest) (string, error) {
	answer, err := client.Chat(ctx, request)
	if err != nil {
		return "", err
	}
	return answer.GetChoices()[0].GetMessage().GetContent(), nil
}

// stream passes each piece to show as it arrives. If show returns false, stream cancels
// its context, which stops the model.
func stream(ctx context.Context, client tridentv1connect.ChatServiceClient, request *tridentv1.ChatRequest, show func(piece string) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := client.ChatStream(ctx, &tridentv1.ChatStreamRequest{Chat: request})
	if err != nil {
		return err
	}
	for answer.Receive() {
		if piece := answer.Msg().GetDelta().GetText(); piece != "" && !show(piece) {
			cancel()
			_ = answer.Close() // its error is the requested cancellation
			return nil
		}
	}
	return errors.Join(answer.Err(), answer.Close())
}

// deadline sends a chat with a time limit. The limit is sent to the server, which stops
// by itself.
func deadline(ctx context.Context, client tridentv1connect.ChatServiceClient, request *tridentv1.ChatRequest, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := client.Chat(ctx, request)
	return err
}

// describe formats an error with its code and its detail.
func describe(err error) string {
	failed := new(connect.Error)
	if !errors.As(err, &failed) {
		return fmt.Sprint(err)
	}
	var text strings.Builder
	_, _ = fmt.Fprintf(&text, "%s: %s", failed.Code(), failed.Message())
	for _, d := range failed.Details() {
		value, err := d.Value()
		if err != nil {
			continue
		}
		if detail, ok := value.(*tridentv1.ErrorDetail); ok {
			_, _ = fmt.Fprintf(&text, " (%s, field %q, request %s)", detail.GetReason(), detail.GetParam(), detail.GetRequestId())
		}
	}
	return text.String()
}
