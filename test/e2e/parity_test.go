package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"connectrpc.com/connect"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
)

// surfaceResponse is the response of either API in a common form.
type surfaceResponse struct {
	Choices []responseChoice
	Usage   [2]int
	// Reason, Param and Message are fields of an error.
	Reason, Param, Message string
}

type responseChoice struct {
	Text, Reasoning, Finish string
	Calls                   []string
	Logprobs                []string
	Vector                  []float32
}

// parity is a request in OpenAI's form and in the typed form.
type parity struct {
	name  string
	model string
	text  string
	more  []any
	typed func(*tridentv1.ChatRequest)
	// schema reports whether each surface's schema refuses the request, with different messages.
	schema bool
}

// parities returns requests for real models and for contract models. Sampling is greedy, so that
// two responses are equal. The contract models respond with their inputs.
func parities() []parity {
	const call = `<tool_call>{"name": "now", "arguments": {"in": "UTC"}}</tool_call>`
	tools := func(r *tridentv1.ChatRequest) {
		r.Tools = []*tridentv1.Tool{{Tool: &tridentv1.Tool_Function{Function: &tridentv1.FunctionTool{
			Name: "now", Parameters: `{"type":"object","properties":{"in":{"type":"string"}},"required":["in"]}`,
		}}}}
	}
	schema := func(text string) func(*tridentv1.ChatRequest) {
		return func(r *tridentv1.ChatRequest) {
			r.ResponseFormat = &tridentv1.ResponseFormat{Format: &tridentv1.ResponseFormat_JsonSchema{JsonSchema: &tridentv1.JsonSchemaFormat{Schema: text, Name: "x"}}}
		}
	}
	format := func(text string) object {
		return object{"type": "json_schema", "json_schema": object{"name": "x", "schema": json.RawMessage(text)}}
	}
	const answer = `{"type":"object","properties":{"yes":{"type":"boolean"}},"required":["yes"],"additionalProperties":false}`
	all := []parity{
		{"a text", "chat", "Say hello.", []any{"max_tokens", 12}, func(r *tridentv1.ChatRequest) { r.MaxTokens = new(uint32(12)) }, false},
		{"penalties and a seed", "chat", "Say hello.", []any{"max_tokens", 8, "seed", 7, "presence_penalty", 0.5, "frequency_penalty", 0.5, "repetition_penalty", 1.1, "top_k", 40, "min_p", 0.1, "top_p", 0.9}, func(r *tridentv1.ChatRequest) {
			r.MaxTokens, r.Seed, r.PresencePenalty, r.FrequencyPenalty, r.RepetitionPenalty = new(uint32(8)), new(int64(7)), new(0.5), new(0.5), new(1.1)
			r.TopK, r.MinP, r.TopP = new(uint32(40)), new(0.1), new(0.9)
		}, false},
		{"log probabilities", "chat", "Count to three.", []any{"max_tokens", 6, "logprobs", true, "top_logprobs", 2}, func(r *tridentv1.ChatRequest) {
			r.MaxTokens, r.Logprobs, r.TopLogprobs = new(uint32(6)), true, 2
		}, false},
		{"three choices", "chat", "Say hello.", []any{"max_tokens", 5, "n", 3}, func(r *tridentv1.ChatRequest) { r.MaxTokens, r.N = new(uint32(5)), 3 }, false},
		{"a schema", "chat", "Is water wet?", []any{"max_tokens", 20, "response_format", format(answer)}, func(r *tridentv1.ChatRequest) {
			r.MaxTokens = new(uint32(20))
			schema(answer)(r)
		}, false},
		{"a call that is demanded", "chat", "What time is it in UTC?", []any{"max_tokens", 60, "tools", clock(), "tool_choice", "required"}, func(r *tridentv1.ChatRequest) {
			r.MaxTokens = new(uint32(60))
			tools(r)
			r.ToolChoice = &tridentv1.ToolChoice{Choice: &tridentv1.ToolChoice_Mode{Mode: tridentv1.ToolMode_TOOL_MODE_REQUIRED}}
		}, false},
		{"a forced call of an allowed tool", "chat", "What time is it in UTC?", []any{"max_tokens", 60, "tools", clock(), "tool_choice", object{"type": "allowed_tools", "allowed_tools": object{"mode": "required", "tools": []object{{"type": "function", "function": object{"name": "now"}}}}}}, func(r *tridentv1.ChatRequest) {
			r.MaxTokens = new(uint32(60))
			tools(r)
			r.ToolChoice = &tridentv1.ToolChoice{Choice: &tridentv1.ToolChoice_Mode{Mode: tridentv1.ToolMode_TOOL_MODE_REQUIRED}, AllowedFunctions: []string{"now"}}
		}, false},
		{"a stop text", "chat", "Count from one to ten in words.", []any{"max_tokens", 30, "stop", []string{"three"}}, func(r *tridentv1.ChatRequest) {
			r.MaxTokens, r.Stop = new(uint32(30)), []string{"three"}
		}, false},
		{"an unknown model", "none", "a", nil, func(*tridentv1.ChatRequest) {}, false},
		{"a prompt that is too long", "chat", strings.Repeat("word ", 3000), nil, func(*tridentv1.ChatRequest) {}, false},
		{"a schema that is none", "chat", "a", []any{"response_format", format(`{"type":7}`)}, schema(`{"type":7}`), false},
		{"what the model can't", "chat", "a", []any{"logit_bias", object{"5": 1}}, func(r *tridentv1.ChatRequest) { r.LogitBias = map[uint32]float32{5: 1} }, false},
		{"a name that isn't a tool's", "chat", "a", []any{"tools", clock(), "tool_choice", object{"type": "function", "function": object{"name": "x"}}}, func(r *tridentv1.ChatRequest) {
			tools(r)
			r.ToolChoice = &tridentv1.ToolChoice{Choice: &tridentv1.ToolChoice_Function{Function: "x"}}
		}, false},
		{"an image for who can't see", "chat", "a", []any{"messages", []object{{"role": "user", "content": []object{{"type": "text", "text": "a"}, {"type": "image_url", "image_url": object{"url": "data:image/png;base64,AAAA"}}}}}}, func(r *tridentv1.ChatRequest) {
			r.Messages[0].Content = ""
			r.Messages[0].Parts = []*tridentv1.ContentPart{
				{Part: &tridentv1.ContentPart_Text{Text: "a"}},
				{Part: &tridentv1.ContentPart_ImageUrl{ImageUrl: &tridentv1.ImageUrl{Url: "data:image/png;base64,AAAA"}}},
			}
		}, false},
		{"arguments that are no object", "chat", "a", []any{"messages", []object{{"role": "assistant", "content": nil, "tool_calls": []object{{"id": "1", "type": "function", "function": object{"name": "now", "arguments": "[1]"}}}}}}, func(r *tridentv1.ChatRequest) {
			r.Messages = []*tridentv1.ChatMessage{{Role: tridentv1.Role_ROLE_ASSISTANT, ToolCalls: []*tridentv1.ToolCall{{Id: "1", Name: "now", Arguments: "[1]"}}}}
		}, true},
		{"a value out of range", "chat", "a", []any{"temperature", 2.5}, func(r *tridentv1.ChatRequest) { r.Temperature = new(2.5) }, true},
		{"too many choices", "chat", "a", []any{"n", 129}, func(r *tridentv1.ChatRequest) { r.N = 129 }, true},
		{"alternatives without logprobs", "chat", "a", []any{"top_logprobs", 2}, func(r *tridentv1.ChatRequest) { r.TopLogprobs = 2 }, true},
	}
	for _, k := range kinds() {
		all = append(all,
			parity{k.model + ": a text", k.model, " one two three", nil, func(*tridentv1.ChatRequest) {}, false},
			parity{k.model + ": a call", k.model, call, []any{"tools", clock()}, tools, false},
			parity{k.model + ": a call of several", k.model, call + call, []any{"tools", clock(), "parallel_tool_calls", true}, func(r *tridentv1.ChatRequest) {
				tools(r)
				r.ParallelToolCalls = new(true)
			}, false},
			parity{k.model + ": a stop text that stays", k.model, "abcSTOPdef", []any{"stop", []string{"STOP"}, "include_stop_str_in_output", true}, func(r *tridentv1.ChatRequest) {
				r.Stop, r.IncludeStop = []string{"STOP"}, new(true)
			}, false},
			parity{k.model + ": log probabilities", k.model, " one two", []any{"logprobs", true}, func(r *tridentv1.ChatRequest) { r.Logprobs = true }, false},
			parity{k.model + ": token ids that aren't taken", k.model, " one", []any{"stop_token_ids", []int{5}}, func(r *tridentv1.ChatRequest) { r.StopTokenIds = []uint32{5} }, false},
		)
	}
	return all
}

// TestParity checks that the OpenAI API and Trident's RPC API return the same response or the same
// refusal for the same request, streaming and non-streaming.
func TestParity(t *testing.T) {
	demo, made := serving(t), contracts(t).trident
	for _, p := range parities() {
		t.Run(p.name, func(t *testing.T) {
			s := made
			if p.model == "chat" || p.model == "none" {
				s = demo
			}
			typed := &tridentv1.ChatRequest{
				Model: p.model, Temperature: new(0.0),
				Messages: []*tridentv1.ChatMessage{{Role: tridentv1.Role_ROLE_USER, Content: p.text}},
			}
			p.typed(typed)
			body := ask(p.text, append([]any{"model", p.model, "temperature", 0}, p.more...)...)
			client := tridentv1connect.NewChatServiceClient(client, s.url)
			for _, streaming := range []bool{false, true} {
				open, here := s.openaiResponse(t, "/v1/chat/completions", body, streaming), typedResponse(t, client, typed, streaming)
				if p.schema && open.Message != "" && here.Message != "" {
					open.Message, here.Message = "", ""
				}
				if (open.Reason == "") == (open.Choices == nil) {
					t.Errorf("the OpenAI API returned no text: %+v", open)
				}
				if !reflect.DeepEqual(open, here) {
					t.Errorf("streaming %v:\nOpenAI %+v\ntyped  %+v", streaming, open, here)
				}
			}
		})
	}
}

// at returns the choice with an index, and adds the choice if it is new.
func (a *surfaceResponse) at(index int) *responseChoice {
	for len(a.Choices) <= index {
		a.Choices = append(a.Choices, responseChoice{})
	}
	return &a.Choices[index]
}

// call adds a piece of a tool call.
func (c *responseChoice) call(index int, name, arguments string) {
	if index == len(c.Calls) {
		c.Calls = append(c.Calls, name+" ")
	}
	c.Calls[index] += arguments
}

// openaiMessage is a message of a choice, or a delta of a stream's choice.
type openaiMessage struct {
	Content   *string
	Reasoning *string `json:"reasoning_content"`
	ToolCalls []struct {
		Index    *int
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

func (s *trident) openaiResponse(t *testing.T, path string, body object, streaming bool) surfaceResponse {
	t.Helper()
	var all surfaceResponse
	read := func(raw []byte) {
		var a struct {
			Choices []struct {
				Index          int
				Message, Delta openaiMessage
				Text           string
				Logprobs       *struct {
					logprobs
					textLogprobs
				}
				FinishReason *string `json:"finish_reason"`
			}
			Data []struct {
				Index     int
				Embedding []float32
			}
			Usage *usage
		}
		if err := json.Unmarshal(raw, &a); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		if a.Usage != nil {
			all.Usage = [2]int{a.Usage.Prompt, a.Usage.Completion}
		}
		for _, e := range a.Data {
			all.at(e.Index).Vector = e.Embedding
		}
		for _, c := range a.Choices {
			to := all.at(c.Index)
			to.Text += c.Text
			for _, m := range []openaiMessage{c.Message, c.Delta} {
				to.Text += orEmpty(m.Content)
				to.Reasoning += orEmpty(m.Reasoning)
				for i, call := range m.ToolCalls {
					if call.Index != nil {
						i = *call.Index
					}
					to.call(i, call.Function.Name, call.Function.Arguments)
				}
			}
			to.Finish += orEmpty(c.FinishReason)
			if c.Logprobs == nil {
				continue
			}
			for _, l := range c.Logprobs.Content {
				spelt := make([]byte, len(l.Bytes))
				for i, b := range l.Bytes {
					spelt[i] = byte(b)
				}
				line := fmt.Sprintf("%q %.4f", spelt, l.Logprob)
				for _, top := range l.TopLogprobs {
					line += fmt.Sprintf(" %q %.4f", top.Token, top.Logprob)
				}
				to.Logprobs = append(to.Logprobs, line)
			}
			to.Logprobs = append(to.Logprobs, c.Logprobs.lines()...)
		}
	}
	asked := object{}
	if streaming {
		asked["stream"], asked["stream_options"] = true, object{"include_usage": true}
	}
	maps.Copy(asked, body)
	a := s.post(t, path, asked)
	switch {
	case a.status != http.StatusOK:
		e := a.failure(t)
		all.Reason, all.Message = orEmpty(e.Code), orEmpty(e.Message)
		// Typed calls have no object function.
		all.Param = strings.ReplaceAll(orEmpty(e.Param), "].function.arguments", "].arguments")
	case streaming:
		for line := range strings.Lines(string(a.body)) {
			if data, ok := strings.CutPrefix(line, "data: {"); ok {
				read([]byte("{" + data))
			}
		}
	default:
		read(a.body)
	}
	return all
}

func typedResponse(t *testing.T, client tridentv1connect.ChatServiceClient, request *tridentv1.ChatRequest, streaming bool) surfaceResponse {
	t.Helper()
	var all surfaceResponse
	var err error
	if streaming {
		err = typedStreamResponse(t, client, request, &all)
	} else {
		var answer *tridentv1.ChatResponse
		if answer, err = client.Chat(t.Context(), request); err == nil {
			for i, c := range answer.GetChoices() {
				to := all.at(i)
				to.Text, to.Reasoning, to.Finish = c.GetMessage().GetContent(), c.GetReasoning(), finishWord(c.GetFinishReason())
				for i, call := range c.GetMessage().GetToolCalls() {
					to.call(i, call.GetName(), call.GetArguments())
				}
				to.add(c.GetLogprobs())
			}
			all.Usage = [2]int{int(answer.GetUsage().GetPromptTokens()), int(answer.GetUsage().GetCompletionTokens())}
		}
	}
	if err != nil {
		detail := detailOf(t, err)
		all.Reason, all.Message = detail.GetReason(), connectMessage(err)
		// The typed form has another name for parts.
		all.Param = strings.ReplaceAll(detail.GetParam(), "].parts[", "].content[")
	}
	return all
}

func typedStreamResponse(t *testing.T, client tridentv1connect.ChatServiceClient, request *tridentv1.ChatRequest, all *surfaceResponse) error {
	t.Helper()
	stream, err := client.ChatStream(t.Context(), &tridentv1.ChatStreamRequest{Chat: request})
	if err != nil {
		return err
	}
	defer stream.Close()
	for stream.Receive() {
		m := stream.Msg()
		if u := m.GetUsage(); u != nil {
			all.Usage = [2]int{int(u.GetPromptTokens()), int(u.GetCompletionTokens())}
		}
		d := m.GetDelta()
		if d == nil {
			continue
		}
		to := all.at(int(d.GetIndex()))
		to.Text += d.GetText()
		to.Reasoning += d.GetReasoning()
		to.Finish += finishWord(d.GetFinishReason())
		for _, call := range d.GetToolCalls() {
			to.call(int(call.GetIndex()), call.GetName(), call.GetArguments())
		}
		to.add(d.GetLogprobs())
	}
	return stream.Err()
}

func (c *responseChoice) add(tokens []*tridentv1.TokenLogprob) {
	for _, l := range tokens {
		line := fmt.Sprintf("%q %.4f", l.GetTokenBytes(), l.GetLogprob())
		for _, top := range l.GetTop() {
			line += fmt.Sprintf(" %q %.4f", top.GetToken(), top.GetLogprob())
		}
		c.Logprobs = append(c.Logprobs, line)
	}
}

// finishWord returns OpenAI's finish reason.
func finishWord(f tridentv1.FinishReason) string {
	if f == tridentv1.FinishReason_FINISH_REASON_UNSPECIFIED {
		return ""
	}
	return strings.ToLower(strings.TrimPrefix(f.String(), "FINISH_REASON_"))
}

// detailOf returns the detail that every error must have.
func detailOf(t *testing.T, err error) *tridentv1.ErrorDetail {
	t.Helper()
	failed := new(connect.Error)
	if !asConnect(err, &failed) {
		t.Fatalf("not a Connect error: %v", err)
	}
	for _, d := range failed.Details() {
		if value, err := d.Value(); err == nil {
			if detail, ok := value.(*tridentv1.ErrorDetail); ok && detail.GetRequestId() != "" {
				return detail
			}
		}
	}
	t.Fatalf("no detail with a request id: %v", err)
	return nil
}

func asConnect(err error, to **connect.Error) bool { return errors.As(err, to) }

// connectMessage returns the message without the code.
func connectMessage(err error) string {
	failed := new(connect.Error)
	if asConnect(err, &failed) {
		return failed.Message()
	}
	return err.Error()
}

// orEmpty returns the string, or "" for null.
func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
