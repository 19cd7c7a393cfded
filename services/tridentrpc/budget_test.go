package tridentrpc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference/inferencetest"
)

// TestBudgets checks that Trident's RPC API refuses a message with too many elements before it is
// decoded, so that the rules of the message's schema aren't checked.
func TestBudgets(t *testing.T) {
	empty := &tridentv1.ChatMessage{} // an empty message violates rules of the schema
	for name, opts := range protocols {
		t.Run(name, func(t *testing.T) {
			client, engine := serve(t, inferencetest.StreamText("x"), opts...)
			for want, change := range map[string]func(*tridentv1.ChatRequest){
				"messages holds more than 16384 elements: send fewer": func(r *tridentv1.ChatRequest) {
					r.Messages = slices.Repeat([]*tridentv1.ChatMessage{empty}, budget.Messages+1)
				},
				"tools holds more than 1024 elements: send fewer": func(r *tridentv1.ChatRequest) {
					r.Tools = slices.Repeat([]*tridentv1.Tool{{}}, budget.Tools+1)
				},
				"logit_bias holds more than 4096 keys: send fewer": func(r *tridentv1.ChatRequest) {
					r.LogitBias = make(map[uint32]float32, budget.Keys+1)
					for i := range uint32(budget.Keys + 1) {
						r.LogitBias[i] = 1
					}
				},
			} {
				req := request()
				change(req)
				if _, err := client.Chat(t.Context(), req); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
				stream, err := client.ChatStream(t.Context(), &tridentv1.ChatStreamRequest{Chat: req})
				if err != nil {
					t.Fatal(err)
				}
				if stream.Receive() {
					t.Error("an answer")
				}
				if d := detail(t, stream.Err()); !strings.HasPrefix(want, strings.TrimPrefix(d.GetParam(), "chat.")+" ") || !strings.Contains(stream.Err().Error(), want) {
					t.Errorf("%v: %v, want %q", stream.Err(), d, want)
				}
			}
			if len(engine.Requests()) != 0 {
				t.Error("it reached the model")
			}
		})
	}
}

// TestObjectBudgets checks that the values of all JSON strings in one message of Trident's RPC API
// are counted together, against one maximum.
func TestObjectBudgets(t *testing.T) {
	client, _ := serve(t, inferencetest.StreamText("x"))
	arguments := `{"a":[` + strings.Repeat("1,", budget.Values/2) + `1]}`
	for want, change := range map[string]func(*tridentv1.ChatRequest){
		"too many values": func(r *tridentv1.ChatRequest) {
			r.Messages = append(r.Messages, &tridentv1.ChatMessage{Role: tridentv1.Role_ROLE_ASSISTANT, ToolCalls: slices.Repeat([]*tridentv1.ToolCall{{Id: "a", Name: "f", Arguments: arguments}}, 2)})
		},
		"chat_template_kwargs must be an object of at most 4096 keys": func(r *tridentv1.ChatRequest) {
			var b strings.Builder
			for i := range budget.Keys {
				fmt.Fprintf(&b, `"%d":1,`, i)
			}
			r.ChatTemplateKwargs = "{" + b.String() + `"z":1}`
		},
	} {
		req := request()
		change(req)
		if _, err := client.Chat(t.Context(), req); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
