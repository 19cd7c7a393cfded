package tridentrpc_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"connectrpc.com/connect"

	"github.com/trident-inference/trident/gen/go/kserve"
	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// TestResponseFormats checks that each format of an answer, and the lists of tokens, reach the model.
func TestResponseFormats(t *testing.T) {
	client, engine := serve(t, inferencetest.StreamText("x"))
	req := request()
	for want, format := range map[string]*tridentv1.ResponseFormat{
		"":                             {Format: &tridentv1.ResponseFormat_Text{}},
		`{"json_object":true}`:         {Format: &tridentv1.ResponseFormat_JsonObject{}},
		`{"json":{"type":"object"}}`:   {Format: &tridentv1.ResponseFormat_JsonSchema{JsonSchema: &tridentv1.JsonSchemaFormat{}}},
		`{"json":{"type":"integer"}}`:  {Format: &tridentv1.ResponseFormat_JsonSchema{JsonSchema: &tridentv1.JsonSchemaFormat{Schema: `{"type":"integer"}`}}},
		`{"regex":"\"a\"+"}`:           {Format: &tridentv1.ResponseFormat_Regex{Regex: `"a"+`}},
		`{"choice":["yes","no"]}`:      {Format: &tridentv1.ResponseFormat_Choice{Choice: &tridentv1.ChoiceFormat{Choices: []string{"yes", "no"}}}},
		`{"grammar":"root ::= \"a\""}`: {Format: &tridentv1.ResponseFormat_Grammar{Grammar: `root ::= "a"`}},
	} {
		req.ResponseFormat, req.StopTokenIds, req.AllowedTokenIds = format, []uint32{3, 4}, []uint32{3, 7}
		if _, err := client.Chat(t.Context(), req); err != nil {
			t.Errorf("%v: %v", format, err)
			continue
		}
		var got struct {
			Structured string `json:"structured_outputs"`
			Stop       []int  `json:"stop_token_ids"`
			Allowed    []int  `json:"allowed_token_ids"`
		}
		all := engine.Requests()
		sampling := inferencetest.Input(all[len(all)-1], "sampling_parameters")
		if err := json.Unmarshal([]byte(sampling), &got); err != nil || got.Structured != want || !slices.Equal(got.Stop, []int{3, 4}) || !slices.Equal(got.Allowed, []int{3, 7}) {
			t.Errorf("%v: %s, %v", format, sampling, err)
		}
	}
}

// TestResponseFormatErrors checks the fields that errors of formats and biases name.
func TestResponseFormatErrors(t *testing.T) {
	client, engine := serve(t, inferencetest.StreamText("x"))
	for param, change := range map[string]func(*tridentv1.ChatRequest){
		"response_format.structural_tag": func(r *tridentv1.ChatRequest) {
			r.ResponseFormat = &tridentv1.ResponseFormat{Format: &tridentv1.ResponseFormat_StructuralTag{StructuralTag: "{"}}
		},
		"logit_bias": func(r *tridentv1.ChatRequest) { r.LogitBias = map[uint32]float32{7: -2.5} },
	} {
		req := request()
		change(req)
		if _, err := client.Chat(t.Context(), req); connect.CodeOf(err) != connect.CodeInvalidArgument || detail(t, err).GetParam() != param {
			t.Errorf("%s: %v", param, err)
		}
	}
	if len(engine.Requests()) != 0 {
		t.Error("a refused request reached the model")
	}
}

// TestPromptsOfTokens checks that prompts of token ids reach vLLM as the text of the tokens.
func TestPromptsOfTokens(t *testing.T) {
	engine := encoderEngine()
	engine.AddModel("plain", inferencetest.StreamText("a", "b"), map[string]string{"trident.tokenizer": "../../models/chat/tokenizer"})
	httpClient, address := serveAll(t, inferencetest.Service(t, serving.Config{}, engine), auth.Config{})
	completions := tridentv1connect.NewCompletionServiceClient(httpClient, address)
	answer, err := completions.Complete(t.Context(), &tridentv1.CompleteRequest{Model: "plain", Prompt: []*tridentv1.TextInput{idInput(yesToken, noToken)}})
	all := engine.Requests()
	if err != nil || answer.GetChoices()[0].GetText() != "ab" || len(all) != 1 {
		t.Fatalf("%v, %v", answer, err)
	}
	if prompt := inferencetest.Input(all[0], "text_input"); prompt != "yesno" {
		t.Errorf("prompt %q", prompt)
	}
}

// TestFinishReasons checks that a filter of the model ends an answer with its own reason.
func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]tridentv1.FinishReason{
		"stop": tridentv1.FinishReason_FINISH_REASON_STOP, "length": tridentv1.FinishReason_FINISH_REASON_LENGTH, "content_filter": tridentv1.FinishReason_FINISH_REASON_CONTENT_FILTER,
	} {
		client, _ := serve(t, func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
			send(inferencetest.Token("x", reason))
			return nil
		})
		answer, err := client.Chat(t.Context(), request())
		if err != nil || answer.GetChoices()[0].GetFinishReason() != want || answer.GetChoices()[0].GetMessage().GetContent() != "x" {
			t.Errorf("%s: %v, %v", reason, answer, err)
		}
	}
}
