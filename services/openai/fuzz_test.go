package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// fuzzed returns the whole frontend over one model that supports everything.
func fuzzed(tb testing.TB, script inferencetest.Script) *Handler {
	tb.Helper()
	engine := inferencetest.New()
	engine.AddModel("m", script, map[string]string{
		"trident.tokenizer": byteTokenizer, "trident.context_length": "4096", "trident.aliases": "org/m", "trident.tool_call_parser": "hermes", "trident.image_token": "<{n}>",
		"trident.chat_template": `{% for m in messages %}[{{ m.role }}]{{ m.content }}{{ m.tool_calls | tojson if m.tool_calls }}{% endfor %}{{ tools | tojson if tools }}[assistant]`,
	})
	service := inferencetest.ServiceWithSeparator(tb, ":", serving.Config{}, engine)
	handler, err := New(Config{}, service, nil)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := service.Catalog().Model(tb.Context(), "m"); err != nil { // waits until the catalog has the model
		tb.Fatal(err)
	}
	return handler
}

// echoPrompt is a model that returns the end of the prompt, in pieces if it streams, or a vector.
func echoPrompt(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
	if inferencetest.Input(req, "embedding_request") != "" {
		send(&inference.Response{Final: true, Outputs: []inference.Output{inferencetest.Bytes("text_output", "[3,4]"), inferencetest.Uint32("num_input_tokens", 1)}})
		return nil
	}
	text := inferencetest.Input(req, "text_input")
	text = text[max(0, len(text)-40):]
	for streams(req) && len(text) > 3 && send(inferencetest.Token(text[:3], "")) {
		text = text[3:]
	}
	send(inferencetest.Token(text, "stop"))
	return nil
}

func streams(req *kserve.ModelInferRequest) bool {
	for i, in := range req.GetInputs() {
		if in.GetName() == "stream" {
			return req.GetRawInputContents()[i][0] == 1
		}
	}
	return false
}

// post sends a body to the handler without a network.
func post(tb testing.TB, h *Handler, path, body string) *httptest.ResponseRecorder {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 20*time.Second) // a hang becomes a 504
	defer cancel()
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body)))
	return answer
}

// FuzzOperations checks that each OpenAI route serves or refuses any request body in the form that
// the OpenAPI document describes.
func FuzzOperations(f *testing.F) {
	handler := fuzzed(f, orScores(echoPrompt))
	doc, err := loadDocument()
	if err != nil {
		f.Fatal(err)
	}
	paths := []string{"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/tokenize", "/v1/detokenize", decisionPath}
	for path, body := range []string{
		`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"é"}]}],"n":2,"stop":["x"],"logprobs":true,"seed":1}`,
		`{"model":"org/m","prompt":["a",""],"n":2,"best_of":3,"echo":true,"max_tokens":9,"min_tokens":1}`,
		`{"model":"m","input":[[1,2],[3]],"encoding_format":"base64","dimensions":1}`,
		`{"model":"m","messages":[{"role":"user","content":"a"}],"add_generation_prompt":false,"continue_final_message":true}`,
		`{"model":"m","tokens":[97,195,169,256]}`,
		`{"model":"m","input":[{"role":"user","content":[{"type":"input_json","data":{"a":1}}]}],"questions":[{"type":"score","instructions":"?","levels":[{"label":"a"},{"label":"b"}]}]}`,
	} {
		f.Add(uint8(path), body)
	}
	f.Add(uint8(0), `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>"}],"tools":[{"type":"function","function":{"name":"f"}}]}`)
	f.Add(uint8(0), `{"model":"m","messages":[{"role":"user","content":"a"}],"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"$ref":"#"}}}}`)
	f.Add(uint8(0), `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}},{"type":"text","text":"<1>"}]}]}`)
	f.Add(uint8(1), `{"model":"m:lora","prompt":[97,98],"stream":true,"logprobs":2,"guided_regex":"a*","top_p":0,"truncate_prompt_tokens":-1}`)
	f.Add(uint8(3), `{"model":"m","prompt":"a<|im_end|>","return_token_strs":true}`)
	f.Fuzz(func(t *testing.T, operation uint8, body string) {
		path := paths[int(operation)%len(paths)]
		answer := post(t, handler, path, body)
		if answer.Code >= http.StatusInternalServerError {
			t.Fatalf("%d %s", answer.Code, answer.Body)
		}
		if strings.HasPrefix(answer.Header().Get("Content-Type"), "text/event-stream") {
			checkStream(t, answer.Body.String())
			return
		}
		checkForm(t, doc.Paths.Value(path).Post, answer)
	})
}

// checkStream checks that a stream ends with [DONE].
func checkStream(t *testing.T, text string) {
	t.Helper()
	if !strings.HasSuffix(text, "data: [DONE]\n\n") {
		t.Errorf("the stream ends with %q", text[max(0, len(text)-200):])
	}
}

// checkForm checks a JSON response against the document.
func checkForm(t *testing.T, operation *openapi3.Operation, answer *httptest.ResponseRecorder) {
	t.Helper()
	described := operation.Responses.Status(answer.Code)
	if described == nil {
		t.Fatalf("the document has no %d: %s", answer.Code, answer.Body)
	}
	var value any
	if err := json.Unmarshal(answer.Body.Bytes(), &value); err != nil {
		t.Fatalf("%v: %s", err, answer.Body)
	}
	if err := described.Value.Content["application/json"].Schema.Value.VisitJSON(value); err != nil {
		t.Errorf("%v: %s", err, answer.Body)
	}
}

// FuzzStreamEqualsResponse checks that a streamed response equals the non-streaming
// one, wherever the model's responses are split, also within characters.
func FuzzStreamEqualsResponse(f *testing.F) {
	var text string
	var cuts []byte
	handler := fuzzed(f, func(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		rest := text
		for i := 0; streams(req) && i < len(cuts) && rest != ""; i++ {
			n := min(int(cuts[i])%8, len(rest)) // 0 is a response without text
			if !send(inferencetest.Token(rest[:n], "")) {
				return nil
			}
			rest = rest[n:]
		}
		send(inferencetest.Token(rest, "length"))
		return nil
	})
	f.Add("hello STOP world", "STOP", "w", []byte{1, 2, 3, 1, 1})
	f.Add("ab\x00é𝕊 \xf0\x9f", "𝕊 ", "", []byte{1, 1, 0, 1, 1, 1, 1, 1, 1})
	f.Add("\xff\xfe aab aac", "aac", "ab ", []byte{7, 7, 1})
	f.Add(`<tool_call>{"name": "f", "arguments": {"x": "é"}}</tool_call>`, "", "", []byte{3, 5, 1, 1, 7, 2})
	f.Fuzz(func(t *testing.T, answer, stop, other string, splits []byte) {
		text, cuts = answer, splits
		for _, tools := range []string{"", `,"tools":[{"type":"function","function":{"name":"f"}}]`} {
			stops, err := json.Marshal([]string{stop, other})
			if err != nil {
				t.Fatal(err)
			}
			body := `{"model":"m","messages":[{"role":"user","content":"a"}],"stop":` + string(stops) + tools
			whole := collectWhole(t, post(t, handler, "/v1/chat/completions", body+"}"))
			streamed := collectStream(t, post(t, handler, "/v1/chat/completions", body+`,"stream":true}`))
			if whole != streamed {
				t.Errorf("whole    %+v\nstreamed %+v", whole, streamed)
			}
		}
	})
}

// streamedContent is the content of a response, streamed or not.
type streamedContent struct{ content, calls, finish string }

// calls are the calls of a message, or the fragments of calls in a chunk.
type calls []struct {
	Index    int
	Function struct{ Name, Arguments string }
}

func (s *streamedContent) add(c calls) {
	for _, call := range c {
		s.calls += call.Function.Name + call.Function.Arguments
	}
}

func collectWhole(t *testing.T, answer *httptest.ResponseRecorder) (s streamedContent) {
	t.Helper()
	var body struct {
		Choices []struct {
			Message struct {
				Content   string
				ToolCalls calls `json:"tool_calls"`
			}
			FinishReason string `json:"finish_reason"`
		}
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil || answer.Code != http.StatusOK {
		t.Fatalf("%d %v %s", answer.Code, err, answer.Body)
	}
	choice := body.Choices[0]
	s.content, s.finish = choice.Message.Content, choice.FinishReason
	s.add(choice.Message.ToolCalls)
	return s
}

func collectStream(t *testing.T, answer *httptest.ResponseRecorder) (s streamedContent) {
	t.Helper()
	checkStream(t, answer.Body.String())
	for event := range strings.SplitSeq(strings.TrimSuffix(answer.Body.String(), "data: [DONE]\n\n"), "\n\n") {
		if event == "" {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content   string
					ToolCalls calls `json:"tool_calls"`
				}
				FinishReason string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &chunk); err != nil {
			t.Fatalf("%v in %q", err, event)
		}
		choice := chunk.Choices[0]
		s.content += choice.Delta.Content
		s.finish += choice.FinishReason
		s.add(choice.Delta.ToolCalls)
	}
	return s
}
