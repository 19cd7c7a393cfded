package tridentrpc_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	messages "github.com/trident-inference/trident/gen/go/kserve"
	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// detail returns the detail of an error; the test fails without one.
func detail(t *testing.T, err error) *tridentv1.ErrorDetail {
	t.Helper()
	failed, ok := err.(*connect.Error) //nolint:errorlint // a client's errors have this type
	if !ok || len(failed.Details()) != 1 {
		t.Fatalf("no error with a detail: %v", err)
	}
	value, err := failed.Details()[0].Value()
	if err != nil {
		t.Fatal(err)
	}
	d, ok := value.(*tridentv1.ErrorDetail)
	if !ok || d.GetRequestId() == "" {
		t.Fatalf("the detail is %v", value)
	}
	return d
}

func TestErrorDetail(t *testing.T) {
	for name, opts := range protocols {
		t.Run(name, func(t *testing.T) {
			client, engine := serve(t, func(context.Context, *messages.ModelInferRequest, func(*inference.Response) bool) error {
				return &inference.Error{Code: inference.CodeLimited, Reason: inference.ReasonRateLimit, Message: "too much", RetryAfter: 3 * time.Second}
			}, opts...)
			req := request()
			req.Temperature, req.Stop, req.Messages[1].Role = new(3.0), []string{"a", ""}, 9
			_, err := client.Chat(t.Context(), req)
			d := detail(t, err)
			var fields []string
			for _, v := range d.GetViolations() {
				fields = append(fields, v.GetField()+" by "+v.GetRule())
			}
			want := []string{"messages[1].role by enum.defined_only", "temperature by double.gte_lte", "stop[1] by string.min_len"}
			if d.GetReason() != "invalid_value" || d.GetParam() != "messages[1].role" || !slices.Equal(fields, want) {
				t.Errorf("%v: %v", err, d)
			}
			req.User = strings.Repeat("u", 16<<10) // larger messages return only the first violation
			_, err = client.Chat(t.Context(), req)
			if d := detail(t, err); len(d.GetViolations()) != 1 || d.GetParam() != "messages[1].role" {
				t.Errorf("a large message: %v: %v", err, d)
			}
			if len(engine.Requests()) != 0 {
				t.Error("it reached the model")
			}
			_, err = client.Chat(t.Context(), request())
			if d := detail(t, err); connect.CodeOf(err) != connect.CodeResourceExhausted || d.GetReason() != "rate_limit_exceeded" || d.GetRetryAfter().GetSeconds() != 3 || d.GetViolations() != nil {
				t.Errorf("%v: %v", err, d)
			}
		})
	}
}

// TestRules checks that Trident's RPC API refuses requests that violate the rules in the proto
// files, with errors that name the field.
func TestRules(t *testing.T) {
	client, _ := serve(t, inferencetest.StreamText("x"))
	for name, test := range map[string]struct {
		change func(*tridentv1.ChatRequest)
		param  string
		words  string
	}{
		"content twice": {func(r *tridentv1.ChatRequest) {
			r.Messages[1].Parts = []*tridentv1.ContentPart{{Part: &tridentv1.ContentPart_Text{Text: "a"}}}
		}, "messages[1].parts", "messages[1]: content and parts can't be used together"},
		"an empty part": {func(r *tridentv1.ChatRequest) {
			r.Messages[1].Content, r.Messages[1].Parts = "", []*tridentv1.ContentPart{{}}
		}, "messages[1].parts[0].part", "required"},
		"no call to answer":   {func(r *tridentv1.ChatRequest) { r.Messages[1].Role = tridentv1.Role_ROLE_TOOL }, "messages[1].tool_call_id", "required"},
		"a user that refuses": {func(r *tridentv1.ChatRequest) { r.Messages[1].Refusal = "no" }, "messages[1].role", "ROLE_ASSISTANT"},
		"a system's image": {func(r *tridentv1.ChatRequest) {
			r.Messages[0].Content, r.Messages[0].Parts = "", []*tridentv1.ContentPart{{Part: &tridentv1.ContentPart_ImageUrl{ImageUrl: &tridentv1.ImageUrl{Url: "data:,"}}}}
		}, "messages[0].parts.image_url", "ROLE_USER"},
		"a tool without a name": {func(r *tridentv1.ChatRequest) {
			r.Tools = []*tridentv1.Tool{{Tool: &tridentv1.Tool_Function{Function: &tridentv1.FunctionTool{}}}}
		}, "tools[0].function.name", "tools[0].function.name: does not match"},
		"parameters that are no JSON": {func(r *tridentv1.ChatRequest) {
			r.Tools = []*tridentv1.Tool{{Tool: &tridentv1.Tool_Function{Function: &tridentv1.FunctionTool{Name: "f", Parameters: "{"}}}}
		}, "tools[0].function.parameters", "JSON object"},
		"an allowed function that is unknown": {func(r *tridentv1.ChatRequest) {
			r.Tools = []*tridentv1.Tool{{Tool: &tridentv1.Tool_Function{Function: &tridentv1.FunctionTool{Name: "f"}}}}
			r.ToolChoice = &tridentv1.ToolChoice{AllowedFunctions: []string{"f", "g"}}
		}, "tool_choice.allowed_functions[1]", "which is not in tools"},
		"allowed functions beside none": {func(r *tridentv1.ChatRequest) {
			r.ToolChoice = &tridentv1.ToolChoice{Choice: &tridentv1.ToolChoice_Mode{Mode: tridentv1.ToolMode_TOOL_MODE_NONE}, AllowedFunctions: []string{"f"}}
		}, "tool_choice.allowed_functions", "TOOL_MODE_REQUIRED"},
		"a forced call without functions": {func(r *tridentv1.ChatRequest) {
			r.ToolChoice = &tridentv1.ToolChoice{Choice: &tridentv1.ToolChoice_Mode{Mode: tridentv1.ToolMode_TOOL_MODE_REQUIRED}}
		}, "tool_choice", "no tools"},
		"a forced call of a function without functions": {func(r *tridentv1.ChatRequest) {
			r.ToolChoice = &tridentv1.ToolChoice{Choice: &tridentv1.ToolChoice_Function{Function: "f"}}
		}, "tool_choice", "not in tools"},
		"a bias beyond":                 {func(r *tridentv1.ChatRequest) { r.LogitBias = map[uint32]float32{5: 101} }, "logit_bias[5]", "100"},
		"an unknown effort":             {func(r *tridentv1.ChatRequest) { r.ReasoningEffort = "much" }, "reasoning_effort", "high"},
		"no prompt left":                {func(r *tridentv1.ChatRequest) { r.TruncatePromptTokens = new(int32(0)) }, "truncate_prompt_tokens", "must"},
		"less than the least":           {func(r *tridentv1.ChatRequest) { r.MaxTokens, r.MinTokens = new(uint32(2)), new(uint32(3)) }, "min_tokens", "max_tokens"},
		"alternatives without logprobs": {func(r *tridentv1.ChatRequest) { r.TopLogprobs = 1 }, "top_logprobs", "requires logprobs"},
		"a list for variables":          {func(r *tridentv1.ChatRequest) { r.ChatTemplateKwargs = "[]" }, "chat_template_kwargs", "JSON object"},
		"a schema that is none": {func(r *tridentv1.ChatRequest) {
			r.ResponseFormat = &tridentv1.ResponseFormat{Format: &tridentv1.ResponseFormat_JsonSchema{JsonSchema: &tridentv1.JsonSchemaFormat{Schema: `{"type":7}`}}}
		}, "response_format.json_schema.schema", "JSON schema"},
	} {
		t.Run(name, func(t *testing.T) {
			req := request()
			test.change(req)
			_, unary := client.Chat(t.Context(), req)
			stream, err := client.ChatStream(t.Context(), &tridentv1.ChatStreamRequest{Chat: req})
			if err != nil {
				t.Fatal(err)
			}
			for stream.Receive() {
				t.Errorf("got %v", stream.Msg())
			}
			for _, err := range []error{unary, stream.Err()} {
				if d := detail(t, err); connect.CodeOf(err) != connect.CodeInvalidArgument || d.GetParam() != test.param || !strings.Contains(err.Error(), test.words) {
					t.Errorf("%v, param %q", err, d.GetParam())
				}
			}
		})
	}
	stream, err := client.ChatStream(t.Context(), &tridentv1.ChatStreamRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if stream.Receive() || detail(t, stream.Err()).GetParam() != "chat" {
		t.Errorf("an empty request: %v", stream.Err())
	}
}

func TestToolCalls(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("chat", inferencetest.StreamText(`<tool_call>{"name": "now", "arguments": {"in`, `": "UTC"}}</tool_call>`), map[string]string{
		"trident.chat_template": `{{ tools }}` + inferencetest.ChatTemplate, "trident.tool_call_parser": "hermes",
	})
	client := serveEngine(t, engine)
	req := request()
	req.Tools = []*tridentv1.Tool{{Tool: &tridentv1.Tool_Function{Function: &tridentv1.FunctionTool{Name: "now", Description: "the <time>", Parameters: `{"z":1,"a":2}`}}}}
	answer, err := client.Chat(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	c := answer.GetChoices()[0]
	call := c.GetMessage().GetToolCalls()[0]
	if call.GetName() != "now" || call.GetArguments() != `{"in": "UTC"}` || call.GetId() == "" || c.GetFinishReason() != tridentv1.FinishReason_FINISH_REASON_TOOL_CALLS {
		t.Errorf("%s", protojson.Format(c))
	}
	if prompt := inferencetest.Input(engine.Requests()[0], "text_input"); !strings.Contains(prompt, "the <time>") || strings.Index(prompt, `z`) > strings.Index(prompt, `'a'`) && strings.Contains(prompt, `'a'`) {
		t.Errorf("prompt %s", prompt)
	}
	stream, err := client.ChatStream(t.Context(), &tridentv1.ChatStreamRequest{Chat: req})
	if err != nil {
		t.Fatal(err)
	}
	var id, name, arguments string
	for stream.Receive() {
		for _, piece := range stream.Msg().GetDelta().GetToolCalls() {
			id, name, arguments = id+piece.GetId(), name+piece.GetName(), arguments+piece.GetArguments()
		}
	}
	if stream.Err() != nil || id == "" || name != "now" || arguments != `{"in": "UTC"}` {
		t.Errorf("%q %q %q, %v", id, name, arguments, stream.Err())
	}
	// The next request contains the response's message unchanged.
	req.Messages = append(req.Messages, c.GetMessage(), &tridentv1.ChatMessage{Role: tridentv1.Role_ROLE_TOOL, Content: "noon", ToolCallId: call.GetId()})
	if _, err := client.Chat(t.Context(), req); err != nil {
		t.Error(err)
	}
}

func TestCompletionsAndEmbeddings(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("chat", inferencetest.StreamText("a", "b"), nil)
	engine.AddModel("vectors", inferencetest.Embed(3, 4), map[string]string{"trident.task": "embed"})
	httpClient, address := serveAll(t, inferencetest.Service(t, serving.Config{}, engine), auth.Config{})
	for name, opts := range protocols {
		t.Run(name, func(t *testing.T) {
			completions := tridentv1connect.NewCompletionServiceClient(httpClient, address, opts...)
			req := &tridentv1.CompleteRequest{Model: "chat", N: 2, Prompt: []*tridentv1.TextInput{{Input: &tridentv1.TextInput_Text{Text: "x"}}, {Input: &tridentv1.TextInput_Text{Text: ""}}}}
			answer, err := completions.Complete(t.Context(), req)
			if err != nil || len(answer.GetChoices()) != 4 || answer.GetChoices()[3].GetText() != "ab" || answer.GetUsage().GetCompletionTokens() != 8 {
				t.Errorf("%v, %v", answer, err)
			}
			stream, err := completions.CompleteStream(t.Context(), &tridentv1.CompleteStreamRequest{Completion: req})
			if err != nil {
				t.Fatal(err)
			}
			texts, ended := make([]string, 4), 0
			for stream.Receive() {
				if d := stream.Msg().GetDelta(); d != nil {
					texts[d.GetIndex()] += d.GetText()
					ended += int(d.GetFinishReason())
				}
			}
			if stream.Err() != nil || !slices.Equal(texts, []string{"ab", "ab", "ab", "ab"}) || ended != 4 {
				t.Errorf("%q, %v", texts, stream.Err())
			}
			req.Echo, req.Logprobs = true, new(uint32(1))
			_, err = completions.Complete(t.Context(), req)
			if d := detail(t, err); d.GetParam() != "echo" || d.GetReason() != "unsupported_parameter" {
				t.Errorf("%v", d)
			}
			embeddings := tridentv1connect.NewEmbeddingServiceClient(httpClient, address, opts...)
			vectors, err := embeddings.Embed(t.Context(), &tridentv1.EmbedRequest{Model: "vectors", Input: req.GetPrompt()[:1]})
			if err != nil || !slices.Equal(vectors.GetEmbeddings()[0].GetValues(), []float32{0.6, 0.8}) || vectors.GetUsage().GetPromptTokens() != 3 {
				t.Errorf("%v, %v", vectors, err)
			}
			if _, err = embeddings.Embed(t.Context(), &tridentv1.EmbedRequest{Model: "vectors", Input: req.GetPrompt()}); detail(t, err).GetParam() != "input" {
				t.Errorf("an empty text: %v", err)
			}
		})
	}
}

func TestModels(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("chat", inferencetest.StreamText("a"), map[string]string{
		"trident.chat_template": inferencetest.ChatTemplate, "trident.aliases": "talker", "trident.context_length": "99", "trident.tool_call_parser": "hermes",
		"trident.sampling_defaults": `{"repetition_penalty": 1.1}`,
	})
	engine.AddModel("hidden", inferencetest.StreamText("a"), map[string]string{"trident.hidden": "true"})
	engine.Control(nil)
	httpClient, address := serveAll(t, inferencetest.Service(t, serving.Config{}, engine), auth.Config{})
	client := tridentv1connect.NewModelServiceClient(httpClient, address)
	got, err := client.Get(t.Context(), &tridentv1.ModelServiceGetRequest{Model: "talker"})
	if err != nil {
		t.Fatal(err)
	}
	m := got.GetModel()
	if m.GetName() != "chat" || m.GetState() != tridentv1.ModelState_MODEL_STATE_READY || m.GetKind() != "vllm" || m.GetContextLength() != 99 ||
		!slices.Equal(m.GetAliases(), []string{"talker"}) || !m.GetUnloadAllowed() || m.GetLoadAllowed() || m.GetDefaults().GetTemperature() != 1 || m.GetDefaults().GetRepetitionPenalty() != 1.1 {
		t.Errorf("%s", protojson.Format(m))
	}
	if f := m.GetFeatures(); !f.GetTools() || !f.GetLogprobs() || !f.GetStructuredOutput() || !f.GetStreaming() || f.GetImages() || f.GetReasoning() || f.GetTokenIds() {
		t.Errorf("%s", protojson.Format(f))
	}
	if _, err := client.Get(t.Context(), &tridentv1.ModelServiceGetRequest{Model: "none"}); detail(t, err).GetReason() != "model_not_found" || connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("%v", err)
	}
	list, err := client.List(t.Context(), &tridentv1.ModelServiceListRequest{All: true})
	if err != nil || len(list.GetModels()) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	watch, err := client.Watch(t.Context(), &tridentv1.ModelServiceWatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if !watch.Receive() || len(watch.Msg().GetModels()) != 1 {
		t.Fatalf("%v, %v", watch.Msg(), watch.Err())
	}
	if _, err := client.Unload(t.Context(), &tridentv1.ModelServiceUnloadRequest{Model: "chat"}); err != nil {
		t.Fatal(err)
	}
	if !watch.Receive() || !slices.Equal(watch.Msg().GetRemoved(), []string{"chat"}) {
		t.Errorf("after the unload: %v, %v", watch.Msg(), watch.Err())
	}
	loaded, err := client.Load(t.Context(), &tridentv1.ModelServiceLoadRequest{Model: "chat"})
	if err != nil || loaded.GetModel().GetState() != tridentv1.ModelState_MODEL_STATE_READY {
		t.Errorf("%v, %v", loaded, err)
	}
	if !watch.Receive() || watch.Msg().GetModels()[0].GetName() != "chat" {
		t.Errorf("after the load: %v, %v", watch.Msg(), watch.Err())
	}
	if _, err := client.Load(t.Context(), &tridentv1.ModelServiceLoadRequest{Model: "chat"}); detail(t, err).GetReason() != "model_already_loaded" {
		t.Errorf("%v", err)
	}
}

func TestServerWatch(t *testing.T) {
	engine := inferencetest.New()
	answering := make(chan struct{})
	engine.AddModel("chat", func(ctx context.Context, _ *messages.ModelInferRequest, send func(*inference.Response) bool) error {
		send(inferencetest.Token("x", ""))
		select {
		case <-answering:
		case <-ctx.Done():
		}
		send(inferencetest.Token("x", "stop"))
		return nil
	}, map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	core := inferencetest.Service(t, serving.Config{Bounds: admission.Bounds{Server: inference.Limits{InFlight: 5}}}, engine)
	httpClient, address := serveAll(t, core, auth.Config{})
	chats := tridentv1connect.NewChatServiceClient(httpClient, address)
	chat, err := chats.ChatStream(t.Context(), &tridentv1.ChatStreamRequest{Chat: request()})
	if err != nil || !chat.Receive() {
		t.Fatal(err, chat.Err())
	}
	client := tridentv1connect.NewServerServiceClient(httpClient, address, connect.WithGRPCWeb())
	watch, err := client.Watch(t.Context(), &tridentv1.ServerServiceWatchRequest{Interval: durationpb.New(100 * time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	if !watch.Receive() {
		t.Fatal(watch.Err())
	}
	s := watch.Msg().GetStatus()
	if s.GetTotal().GetInFlight() != 1 || s.GetTotal().GetQueued() != 0 || !s.GetReady() || s.GetVersion() != "test" || s.GetMaxInFlight() != 5 ||
		len(s.GetModels()) != 1 || s.GetModels()[0].GetModel() != "chat" || s.GetModels()[0].GetLoad().GetTimeToFirstToken().GetCount() != 1 {
		t.Errorf("%s", protojson.Format(s))
	}
	close(answering)
	for chat.Receive() {
	}
	for watch.Receive() {
		if watch.Msg().GetStatus().GetTotal().GetInFlight() == 0 {
			break
		}
	}
	if total := watch.Msg().GetStatus().GetTotal(); total.GetCompletionTokens() != 2 || total.GetInterToken().GetCount() != 1 || total.GetRequests() != 1 || total.GetFailures() != 0 {
		t.Errorf("%s", protojson.Format(total))
	}
	core.Admission().Drain(t.Context())
	for watch.Receive() {
	}
	if connect.CodeOf(watch.Err()) != connect.CodeUnavailable || detail(t, watch.Err()).GetReason() != "shutting_down" {
		t.Errorf("at the stop: %v", watch.Err())
	}
}

// TestGet checks that Trident's RPC procedures accept the HTTP method GET if they only read, and
// that other procedures refuse it.
func TestGet(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("chat", inferencetest.StreamText("a"), nil)
	engine.AddModel("vectors", inferencetest.Embed(3, 4), map[string]string{"trident.task": "embed"})
	httpClient, address := serveAll(t, inferencetest.Service(t, serving.Config{}, engine), auth.Config{})
	for _, test := range []struct {
		procedure, message string
		status             int
		want               string
	}{
		{tridentv1connect.ModelServiceListProcedure, `{}`, http.StatusOK, `"chat"`},
		{tridentv1connect.ModelServiceGetProcedure, `{"model":"chat"}`, http.StatusOK, `"chat"`},
		{tridentv1connect.EmbeddingServiceEmbedProcedure, `{"model":"vectors","input":[{"text":"a"}]}`, http.StatusOK, `"values":[0.6,0.8]`},
		{tridentv1connect.ModelServiceLoadProcedure, `{"model":"chat"}`, http.StatusMethodNotAllowed, ""},
		{tridentv1connect.ModelServiceUnloadProcedure, `{"model":"chat"}`, http.StatusMethodNotAllowed, ""},
		{tridentv1connect.ChatServiceChatProcedure, `{}`, http.StatusMethodNotAllowed, ""},
		{tridentv1connect.CompletionServiceCompleteProcedure, `{}`, http.StatusMethodNotAllowed, ""},
	} {
		query := url.Values{"connect": {"v1"}, "encoding": {"json"}, "message": {test.message}}
		resp, err := httpClient.Get(address + test.procedure + "?" + query.Encode())
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		body = bytes.ReplaceAll(body, []byte(" "), nil)
		if err != nil || resp.StatusCode != test.status || !strings.Contains(string(body), test.want) {
			t.Errorf("%s: %d %s", test.procedure, resp.StatusCode, body)
		}
	}
}

// TestRestrictions tests that the restrictions of KServe's groups of methods also apply to Trident's
// typed services.
func TestRestrictions(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("chat", inferencetest.StreamText("a"), map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	restricted := auth.Config{GRPCRestricted: []auth.KServeRestriction{
		{Groups: []auth.KServeGroup{auth.KServeInference}, Key: "key", Value: "a"}, {Groups: []auth.KServeGroup{auth.KServeRepository}, Key: "admin", Value: "b"},
	}}
	httpClient, address := serveAll(t, inferencetest.Service(t, serving.Config{}, engine), restricted)
	for _, opts := range protocols {
		models := tridentv1connect.NewModelServiceClient(httpClient, address, opts...)
		if _, err := models.List(t.Context(), &tridentv1.ModelServiceListRequest{}); err != nil {
			t.Errorf("an open method: %v", err)
		}
		if _, err := models.Unload(t.Context(), &tridentv1.ModelServiceUnloadRequest{Model: "chat"}); err == nil || !strings.Contains(err.Error(), "triton-grpc-protocol-admin") {
			t.Errorf("an unload: %v", err)
		}
		chats := tridentv1connect.NewChatServiceClient(httpClient, address, opts...)
		if _, err := chats.Chat(t.Context(), request()); err == nil || !strings.Contains(err.Error(), "triton-grpc-protocol-key") {
			t.Errorf("a chat: %v", err)
		}
		ctx, call := connect.NewClientContext(t.Context())
		call.RequestHeader().Set("triton-grpc-protocol-key", "a")
		if _, err := chats.Chat(ctx, request()); err != nil {
			t.Errorf("a chat with the key: %v", err)
		}
		stream, err := chats.ChatStream(t.Context(), &tridentv1.ChatStreamRequest{Chat: request()})
		if err != nil || stream.Receive() || connect.CodeOf(stream.Err()) != connect.CodeUnavailable {
			t.Errorf("a stream: %v, %v", err, stream.Err())
		}
	}
	if len(engine.Requests()) != len(protocols) {
		t.Errorf("%d requests reached the model", len(engine.Requests()))
	}
}

// TestStrictFunctions checks that the header of a response names a strict function whose arguments
// the engine doesn't constrain.
func TestStrictFunctions(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("chat", inferencetest.StreamText("x"), map[string]string{"trident.chat_template": inferencetest.ChatTemplate, "trident.tool_call_parser": "hermes"})
	client := serveEngine(t, engine)
	req := request()
	req.Tools = []*tridentv1.Tool{{Tool: &tridentv1.Tool_Function{Function: &tridentv1.FunctionTool{Name: "f", Strict: new(true)}}}}
	const want = "tools[0].function.strict"
	ctx, call := connect.NewClientContext(t.Context())
	if _, err := client.Chat(ctx, req); err != nil || call.ResponseHeader().Get("X-Trident-Ignored-Fields") != want {
		t.Errorf("%v, header %v", err, call.ResponseHeader())
	}
	stream, err := client.ChatStream(t.Context(), &tridentv1.ChatStreamRequest{Chat: req})
	if err != nil {
		t.Fatal(err)
	}
	for stream.Receive() {
		continue
	}
	if stream.Err() != nil || stream.ResponseHeader().Get("X-Trident-Ignored-Fields") != want {
		t.Errorf("%v, header %v", stream.Err(), stream.ResponseHeader())
	}
}

// TestChoicesWithoutFunctions checks that a chat without functions may have a tool choice that
// forces no call.
func TestChoicesWithoutFunctions(t *testing.T) {
	client, _ := serve(t, inferencetest.StreamText("x"))
	for _, mode := range []tridentv1.ToolMode{tridentv1.ToolMode_TOOL_MODE_NONE, tridentv1.ToolMode_TOOL_MODE_AUTO, tridentv1.ToolMode_TOOL_MODE_UNSPECIFIED} {
		req := request()
		req.ToolChoice = &tridentv1.ToolChoice{Choice: &tridentv1.ToolChoice_Mode{Mode: mode}}
		answer, err := client.Chat(t.Context(), req)
		if err != nil || answer.GetChoices()[0].GetMessage().GetContent() != "x" {
			t.Errorf("%s: %v, %v", mode, answer, err)
		}
	}
}
