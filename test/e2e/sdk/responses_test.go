package sdk

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

func input(text string) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: "chat", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)}, MaxOutputTokens: openai.Int(12),
	}
}

func TestResponse(t *testing.T) {
	client := connect(t, "TRIDENT_URL")
	answer, err := client.Responses.New(deadline(t), input("Say hello."), toTheLimit)
	if err != nil {
		t.Fatal(err)
	}
	if answer.OutputText() == "" || answer.Status != "incomplete" || answer.IncompleteDetails.Reason != "max_output_tokens" || answer.Usage.OutputTokens != 12 {
		t.Errorf("%s", answer.RawJSON())
	}
	kept, err := client.Responses.Get(deadline(t), answer.ID, responses.ResponseGetParams{})
	if err != nil || kept.RawJSON() != answer.RawJSON() {
		t.Errorf("%v, %s", err, kept.RawJSON())
	}
	if err := client.Responses.Delete(deadline(t), answer.ID); err != nil {
		t.Error(err)
	}
	_, err = client.Responses.Get(deadline(t), answer.ID, responses.ResponseGetParams{})
	var failure *openai.Error
	if !errors.As(err, &failure) || failure.StatusCode != 404 || failure.Code != "response_not_found" {
		t.Errorf("deleted: %v", err)
	}
}

func TestResponseStream(t *testing.T) {
	client := connect(t, "TRIDENT_URL")
	stream := client.Responses.NewStreaming(deadline(t), input("Say hello."), toTheLimit)
	text, events := "", int64(0)
	var last responses.ResponseStreamEventUnion
	for stream.Next() {
		last = stream.Current()
		if last.SequenceNumber != events {
			t.Errorf("event %d: %s", events, last.RawJSON())
		}
		events++
		if delta, ok := last.AsAny().(responses.ResponseTextDeltaEvent); ok {
			text += delta.Delta
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	end, ok := last.AsAny().(responses.ResponseIncompleteEvent)
	if !ok || end.Response.OutputText() != text || text == "" {
		t.Errorf("%q, then %s", text, last.RawJSON())
	}
}

// TestResponseTools checks with the OpenAI SDK that a forced tool call has valid arguments, and that
// the response can be continued with the output of the call.
func TestResponseTools(t *testing.T) {
	client := connect(t, "TRIDENT_URL")
	request := input("Is water wet?")
	request.MaxOutputTokens = openai.Int(60)
	request.Tools = []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{
		Name: "answer", Strict: openai.Bool(true), Parameters: map[string]any{
			"type": "object", "properties": map[string]any{"yes": map[string]any{"type": "boolean"}}, "required": []string{"yes"}, "additionalProperties": false,
		},
	}}}
	request.ToolChoice = responses.ResponseNewParamsToolChoiceUnion{OfFunctionTool: &responses.ToolChoiceFunctionParam{Name: "answer"}}
	forced, err := client.Responses.New(deadline(t), request)
	if err != nil {
		t.Fatal(err)
	}
	call := forced.Output[0].AsFunctionCall()
	var arguments struct{ Yes *bool }
	if err := json.Unmarshal([]byte(call.Arguments), &arguments); err != nil || arguments.Yes == nil || call.Name != "answer" {
		t.Fatalf("%v, %s", err, forced.RawJSON())
	}
	next := input("")
	next.PreviousResponseID = openai.String(forced.ID)
	output := responses.ResponseInputItemParamOfFunctionCallOutput("noted")
	output.OfFunctionCallOutput.CallID = openai.String(call.CallID)
	next.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{output}}
	answered, err := client.Responses.New(deadline(t), next)
	if err != nil || answered.OutputText() == "" || answered.PreviousResponseID != forced.ID {
		t.Errorf("%v, %s", err, answered.RawJSON())
	}
}
