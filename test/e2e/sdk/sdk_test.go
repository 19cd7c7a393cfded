// Package sdk tests Trident with OpenAI's Go SDK. It is a separate module, so that Trident's module
// doesn't depend on the SDK. The e2e tests run it. TRIDENT_URL is the address of the server, and
// TRIDENT_DOWN_URL that of a server without a Triton.
package sdk

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/shared"
)

func connect(t *testing.T, variable string) openai.Client {
	t.Helper()
	url := os.Getenv(variable)
	if url == "" {
		t.Skipf("%s is not set: the e2e tests set it to the address of a server", variable)
	}
	return openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey("unused"), option.WithMaxRetries(0))
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func hello(tokens int64) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:     "chat",
		Messages:  []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Say hello.")},
		MaxTokens: openai.Int(tokens),
	}
}

var toTheLimit = option.WithJSONSet("ignore_eos", true)

func TestChat(t *testing.T) {
	client := connect(t, "TRIDENT_URL")
	var response *http.Response
	answer, err := client.Chat.Completions.New(deadline(t), hello(5), toTheLimit, option.WithResponseInto(&response))
	if err != nil {
		t.Fatal(err)
	}
	if c := answer.Choices[0]; c.Message.Content == "" || c.FinishReason != "length" || answer.Usage.CompletionTokens != 5 {
		t.Errorf("%s", answer.RawJSON())
	}
	if response.Header.Get("X-Request-Id") == "" {
		t.Error("the response has no request id")
	}
}

func TestStream(t *testing.T) {
	client := connect(t, "TRIDENT_URL")
	request := hello(12)
	request.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	stream := client.Chat.Completions.NewStreaming(deadline(t), request, toTheLimit)
	var all openai.ChatCompletionAccumulator
	contents := 0
	for stream.Next() {
		chunk := stream.Current()
		if !all.AddChunk(chunk) {
			t.Errorf("the chunk doesn't fit the accumulated response: %s", chunk.RawJSON())
		}
		if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			contents++
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if contents < 6 || all.Choices[0].FinishReason != "length" || all.Usage.CompletionTokens != 12 {
		t.Errorf("%d texts, finish_reason %s, usage %s", contents, all.Choices[0].FinishReason, all.Usage.RawJSON())
	}
}

func TestStreamClosed(t *testing.T) {
	client := connect(t, "TRIDENT_URL")
	stream := client.Chat.Completions.NewStreaming(deadline(t), hello(1500), toTheLimit)
	if !stream.Next() {
		t.Fatal(stream.Err())
	}
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
}

func TestStructuredOutput(t *testing.T) {
	client := connect(t, "TRIDENT_URL")
	request := hello(40)
	request.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
		Name: "answer", Strict: openai.Bool(true),
		Schema: map[string]any{
			"type": "object", "properties": map[string]any{"yes": map[string]any{"type": "boolean"}},
			"required": []string{"yes"}, "additionalProperties": false,
		},
	}}
	answer, err := client.Chat.Completions.New(deadline(t), request)
	if err != nil {
		t.Fatal(err)
	}
	if text := answer.Choices[0].Message.Content; text != `{"yes":true}` && text != `{"yes":false}` {
		t.Errorf("%q doesn't match the schema", text)
	}
}

func TestCompletions(t *testing.T) {
	client := connect(t, "TRIDENT_URL")
	request := openai.CompletionNewParams{
		Model:  "chat",
		Prompt: openai.CompletionNewParamsPromptUnion{OfArrayOfStrings: []string{"One, two,", "Red, green,"}},
		Echo:   openai.Bool(true), MaxTokens: openai.Int(6),
	}
	answer, err := client.Completions.New(deadline(t), request)
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Choices) != 2 || !strings.HasPrefix(answer.Choices[0].Text, "One, two,") || !strings.HasPrefix(answer.Choices[1].Text, "Red, green,") {
		t.Errorf("got %s", answer.RawJSON())
	}
	request.Prompt = openai.CompletionNewParamsPromptUnion{OfString: openai.String("One, two,")}
	stream := client.Completions.NewStreaming(deadline(t), request)
	text := ""
	for stream.Next() {
		text += stream.Current().Choices[0].Text
	}
	if err := stream.Err(); err != nil || !strings.HasPrefix(text, "One, two,") || len(text) <= len("One, two,") {
		t.Errorf("streamed %q, %v", text, err)
	}
}

func TestEmbeddings(t *testing.T) {
	client := connect(t, "TRIDENT_URL")
	request := openai.EmbeddingNewParams{
		Model: "embedding",
		Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"a cat", "a kitten", "the stock market"}},
	}
	answer, err := client.Embeddings.New(deadline(t), request)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range answer.Data {
		sum := 0.0
		for _, x := range d.Embedding {
			sum += x * x
		}
		if int(d.Index) != i || len(d.Embedding) != 384 || math.Abs(sum-1) > 1e-5 {
			t.Errorf("entry %d: index %d, %d components, squared length %v", i, d.Index, len(d.Embedding), sum)
		}
	}
	if len(answer.Data) != 3 || answer.Usage.PromptTokens == 0 {
		t.Errorf("%d vectors, usage %s", len(answer.Data), answer.Usage.RawJSON())
	}
	request.Dimensions = openai.Int(32)
	answer, err = client.Embeddings.New(deadline(t), request)
	if err != nil || len(answer.Data[0].Embedding) != 32 {
		t.Errorf("%v, %v", answer, err)
	}
}

func TestDecisions(t *testing.T) {
	client := connect(t, "TRIDENT_URL")
	answer, err := client.Decisions.New(deadline(t), openai.DecisionNewParams{
		Model: "chat", Input: openai.DecisionNewParamsInputUnion{OfString: openai.String("Berlin is the capital of Germany.")},
		Questions: []openai.DecisionNewParamsQuestionUnion{
			{OfPredicate: &openai.DecisionNewParamsQuestionPredicate{
				Name: openai.String("city"), Instructions: openai.DecisionNewParamsQuestionPredicateInstructionsUnion{OfString: openai.String("Is it about a city?")},
			}},
			{OfChoice: &openai.DecisionNewParamsQuestionChoice{
				Instructions: openai.DecisionNewParamsQuestionChoiceInstructionsUnion{OfString: openai.String("Which city?")},
				Choices: []openai.DecisionNewParamsQuestionChoiceChoice{
					{Value: openai.DecisionNewParamsQuestionChoiceChoiceValueUnion{OfString: openai.String("Tokyo")}},
					{Value: openai.DecisionNewParamsQuestionChoiceChoiceValueUnion{OfString: openai.String("Berlin")}},
				},
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Answers) != 2 || answer.Usage.OutputTokens != 2 {
		t.Fatal(answer.RawJSON())
	}
	city, which := answer.Answers[0].AsPredicate(), answer.Answers[1].AsChoice()
	if city.Name != "city" || city.Probability <= 0 || city.Probability >= 1 {
		t.Errorf("predicate %s", city.RawJSON())
	}
	sum := 0.0
	for _, p := range which.Probabilities {
		sum += p.Probability
	}
	if len(which.Probabilities) != 2 || math.Abs(sum-1) > 1e-9 || which.Choice.OfString == "" {
		t.Errorf("choice %s", which.RawJSON())
	}
}

func TestModels(t *testing.T) {
	client := connect(t, "TRIDENT_URL")
	var ids []string
	for pages := client.Models.ListAutoPaging(deadline(t)); pages.Next(); {
		ids = append(ids, pages.Current().ID)
	}
	if strings.Join(ids, " ") != "chat embedding" {
		t.Errorf("models %v", ids)
	}
	if m, err := client.Models.Get(deadline(t), "chat"); err != nil || m.ID != "chat" {
		t.Errorf("%v, %v", m, err)
	}
}

func TestErrors(t *testing.T) {
	client, down := connect(t, "TRIDENT_URL"), connect(t, "TRIDENT_DOWN_URL")
	wrong := func(change func(*openai.ChatCompletionNewParams)) openai.ChatCompletionNewParams {
		request := hello(5)
		change(&request)
		return request
	}
	for _, test := range []struct {
		name        string
		client      openai.Client
		request     openai.ChatCompletionNewParams
		status      int
		code, param string
	}{
		{"unknown model", client, wrong(func(r *openai.ChatCompletionNewParams) { r.Model = "none" }), 404, "model_not_found", "model"},
		{"temperature", client, wrong(func(r *openai.ChatCompletionNewParams) { r.Temperature = param.NewOpt(3.0) }), 400, "invalid_value", "temperature"},
		{"too large", client, wrong(func(r *openai.ChatCompletionNewParams) {
			r.Messages[0] = openai.UserMessage(strings.Repeat("x", 2<<20))
		}), 413, "content_too_large", ""},
		{"no Triton", down, hello(5), 503, "engine_unavailable", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := test.client.Chat.Completions.New(deadline(t), test.request)
			checkError(t, err, test.status, test.code, test.param)
			stream := test.client.Chat.Completions.NewStreaming(deadline(t), test.request)
			if stream.Next() {
				t.Errorf("streams %s", stream.Current().RawJSON())
			}
			checkError(t, stream.Err(), test.status, test.code, test.param)
		})
	}
}

func checkError(t *testing.T, err error, status int, code, param string) {
	t.Helper()
	var e *openai.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v isn't an error of the SDK", err)
	}
	if e.StatusCode != status || e.Code != code || e.Param != param || e.Message == "" || e.Type == "" {
		t.Errorf("status %d, code %s, param %s, type %s: %s", e.StatusCode, e.Code, e.Param, e.Type, e.Message)
	}
	if e.Response.Header.Get("X-Request-Id") == "" {
		t.Error("the response has no request id")
	}
}

// TestInterrupted checks that the SDK reports an error when its stream is interrupted. The e2e tests
// kill Triton when this test prints "streaming".
func TestInterrupted(t *testing.T) {
	client := connect(t, "TRIDENT_INTERRUPTED_URL")
	stream := client.Chat.Completions.NewStreaming(deadline(t), hello(1500), toTheLimit)
	for begun := false; stream.Next(); {
		if c := stream.Current().Choices; !begun && len(c) > 0 && c[0].Delta.Content != "" {
			begun = true
			fmt.Fprintln(os.Stdout, "streaming")
		}
	}
	var e *ssestream.StreamError
	if !errors.As(stream.Err(), &e) || !strings.Contains(string(e.Event.Data), `"code":"engine_unavailable"`) {
		t.Errorf("the stream ended with %v, want an error of the engine", stream.Err())
	}
}
