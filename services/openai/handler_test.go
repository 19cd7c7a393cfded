package openai

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/openaitest"
	"github.com/trident-inference/trident/services/serving"
)

func TestMain(m *testing.M) {
	// The client keeps its connections slightly longer than a test needs them.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// serve starts the frontend on a loopback port over an engine with the models
// chat, which runs the script, and embedding.
func serve(t *testing.T, cfg Config, script inferencetest.Script) (*httptest.Server, *inferencetest.Engine) {
	t.Helper()
	engine := inferencetest.New()
	engine.AddModel("chat", script, map[string]string{"trident.chat_template": inferencetest.ChatTemplate, "trident.context_length": "100"})
	engine.AddModel("embedding", inferencetest.Embed(3, 4), map[string]string{"trident.task": "embed"})
	engine.AddModel("org/name", script, nil)
	server := httptest.NewServer(newHandler(cfg, inferencetest.Service(t, serving.Config{}, engine), newValidator(t)))
	t.Cleanup(server.Close)
	return server, engine
}

const chatPath = "/v1/chat/completions"

// ask returns a chat request with additional fields.
func ask(fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return `{"model":"chat","messages":[{"role":"user","content":"hi"}]` + fields + `}`
}

func TestChat(t *testing.T) {
	server, engine := serve(t, Config{}, inferencetest.StreamText("Hel", "lo\n", ""))
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(`"temperature":0.7`))
	var answer map[string]any
	if err := json.Unmarshal([]byte(body), &answer); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s %v", resp.StatusCode, body, err)
	}
	choices, err := json.Marshal(answer["choices"])
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"finish_reason":"stop","index":0,"logprobs":null,"message":{"content":"Hello\n","refusal":null,"role":"assistant"}}]`; string(choices) != want {
		t.Errorf("choices %s", choices)
	}
	if usage := fmt.Sprint(answer["usage"]); usage != "map[completion_tokens:3 prompt_tokens:7 total_tokens:10]" {
		t.Errorf("usage %s", usage)
	}
	if id, _ := answer["id"].(string); !strings.HasPrefix(id, "chatcmpl-") || answer["object"] != "chat.completion" || answer["model"] != "chat" {
		t.Errorf("answer %s", body)
	}
	if sent := inferencetest.Input(engine.Requests()[0], "sampling_parameters"); sent != `{"temperature":0.7,"max_tokens":100}` {
		t.Errorf("sent %s", sent)
	}
}

// events parses a stream. It returns the data of each event, and comments
// unchanged.
func events(body string) []string {
	var list []string
	for event := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		list = append(list, strings.TrimPrefix(event, "data: "))
	}
	return list
}

// masked replaces the parts of a chunk that differ between runs.
func masked(t *testing.T, event string) string {
	t.Helper()
	if !strings.HasPrefix(event, `{"id":`) {
		return event
	}
	var chunk map[string]any
	if err := json.Unmarshal([]byte(event), &chunk); err != nil {
		t.Fatalf("%s: %v", event, err)
	}
	for _, key := range []string{"id", "created", "model", "object"} {
		if chunk[key] == nil {
			t.Errorf("chunk without %s: %s", key, event)
		}
		delete(chunk, key)
	}
	if fingerprint, _ := chunk["system_fingerprint"].(string); !strings.HasPrefix(fingerprint, "fp_") {
		t.Errorf("chunk without system_fingerprint: %s", event)
	}
	delete(chunk, "system_fingerprint")
	text, err := json.Marshal(chunk)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func chunk(delta, finish, rest string) string {
	return `{"choices":[{"delta":` + delta + `,"finish_reason":` + finish + `,"index":0,"logprobs":null}]` + rest + `}`
}

// used returns the usage of a chunk after n tokens of the answer.
func used(n int) string {
	return fmt.Sprintf(`,"usage":{"completion_tokens":%d,"prompt_tokens":7,"total_tokens":%d}`, n, 7+n)
}

func TestChatStream(t *testing.T) {
	const role = `{"content":"","refusal":null,"role":"assistant"}`
	tests := []struct {
		name, fields string
		want         []string
	}{
		{"plain", `"stream":true`, []string{
			chunk(role, "null", ""), chunk(`{"content":"Hel"}`, "null", ""), chunk(`{"content":"lo"}`, "null", ""), chunk(`{}`, `"stop"`, ""), "[DONE]",
		}},
		{"with usage", `"stream":true,"stream_options":{"include_usage":true}`, []string{
			chunk(role, "null", `,"usage":null`), chunk(`{"content":"Hel"}`, "null", `,"usage":null`), chunk(`{"content":"lo"}`, "null", `,"usage":null`),
			chunk(`{}`, `"stop"`, `,"usage":null`), `{"choices":[],"usage":{"completion_tokens":3,"prompt_tokens":7,"total_tokens":10}}`, "[DONE]",
		}},
		{"with usage in each chunk", `"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`, []string{
			chunk(role, "null", used(1)), chunk(`{"content":"Hel"}`, "null", used(1)), chunk(`{"content":"lo"}`, "null", used(2)),
			chunk(`{}`, `"stop"`, used(3)), `{"choices":[],"usage":{"completion_tokens":3,"prompt_tokens":7,"total_tokens":10}}`, "[DONE]",
		}},
		{"continuous usage without usage", `"stream":true,"stream_options":{"continuous_usage_stats":true}`, []string{
			chunk(role, "null", ""), chunk(`{"content":"Hel"}`, "null", ""), chunk(`{"content":"lo"}`, "null", ""), chunk(`{}`, `"stop"`, ""), "[DONE]",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server, _ := serve(t, Config{}, inferencetest.StreamText("Hel", "lo", ""))
			resp, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(tt.fields))
			if got := resp.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" || resp.ContentLength >= 0 {
				t.Errorf("Content-Type %q, Content-Length %d", got, resp.ContentLength)
			}
			list := events(body)
			for i := range list {
				list[i] = masked(t, list[i])
			}
			if got, want := strings.Join(list, "\n"), strings.Join(tt.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestUnknownUsage checks that the usage is null if neither the engine nor a tokenizer counts tokens,
// and that it has counts if a tokenizer counts them.
func TestUnknownUsage(t *testing.T) {
	say := func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		send(&inference.Response{Final: true, Outputs: []inference.Output{inferencetest.Bytes("text_output", "Hello")}})
		return nil
	}
	embed := func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		send(&inference.Response{Final: true, Outputs: []inference.Output{inferencetest.Bytes("text_output", "[3,4]")}})
		return nil
	}
	engine := inferencetest.New()
	engine.AddModel("chat", say, inferencetest.WithTemplate())
	engine.AddModel("counted", say, map[string]string{"trident.chat_template": inferencetest.ChatTemplate, "trident.tokenizer": byteTokenizer})
	engine.AddModel("embedding", embed, map[string]string{"trident.task": "embed"})
	server := fieldServer(t, Config{}, engine)
	const stream = `,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`
	tests := []struct{ name, path, body, want string }{
		{"a chat", chatPath, ask(""), `"usage":null`},
		{"a stream", chatPath, ask(stream[1:]), `"choices":[],"usage":null}`},
		{"a completion", completionPath, complete(`"prompt":"a"`), `"usage":null`},
		{"a streamed completion", completionPath, complete(`"prompt":"a"` + stream), `"choices":[],"usage":null}`},
		{"a response", "/v1/responses", `{"model":"chat","input":"a"}`, `"usage":null`},
		{"an embedding", "/v1/embeddings", `{"model":"embedding","input":"a"}`, `"usage":null`},
		{"a chat that the tokenizer counts", chatPath, strings.Replace(ask(""), `"chat"`, `"counted"`, 1), `"completion_tokens":5,`},
		{"a stream that the tokenizer counts", chatPath, strings.Replace(ask(stream[1:]), `"chat"`, `"counted"`, 1), `"finish_reason":"stop"}],"usage":{"prompt_tokens":19,"completion_tokens":5,"total_tokens":24}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := openaitest.Do(t, http.MethodPost, server.URL+tt.path, tt.body)
			if resp.StatusCode != http.StatusOK || !strings.Contains(body, tt.want) || strings.Contains(body, `_tokens":0,`) {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		})
	}
}

func TestStreamLogprobs(t *testing.T) {
	script := func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		resp := inferencetest.Token("é", "stop")
		resp.Outputs = append(resp.Outputs, inferencetest.Bytes("logprobs", `[{"5":{"logprob":-0.25,"rank":1,"decoded_token":"é"}}]`))
		send(resp)
		return nil
	}
	server, _ := serve(t, Config{}, script)
	_, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(`"stream":true,"logprobs":true,"top_logprobs":1`))
	want := `"logprobs":{"content":[{"bytes":[195,169],"logprob":-0.25,"token":"é","top_logprobs":[{"bytes":[195,169],"logprob":-0.25,"token":"é"}]}],"refusal":null}`
	if !strings.Contains(body, want) || strings.Count(body, `"logprobs":null`) != 2 {
		t.Errorf("got %s", body)
	}
}

func TestStreamInterleavesChoices(t *testing.T) {
	server, _ := serve(t, Config{}, inferencetest.StreamText("a", "b"))
	_, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(`"stream":true,"n":3`))
	for i := range 3 {
		own := fmt.Sprintf(`"choices":[{"index":%d,`, i)
		if n := strings.Count(body, own); n != 4 { // the four chunks are role, a, b and finish
			t.Errorf("%d chunks of choice %d", n, i)
		}
	}
	if strings.Count(body, `"role"`) != 3 || strings.Count(body, `"finish_reason":"stop"`) != 3 || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("got %s", body)
	}
}

// TestErrorsBeforeAndInAStream tests that an error before the first event has
// its own status. A later error is the last event.
func TestErrorsBeforeAndInAStream(t *testing.T) {
	failure := &inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonEngineGone, Message: "Triton went away", RetryAfter: 1500 * time.Millisecond}
	failing := func(after int) inferencetest.Script {
		return func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
			for range after {
				send(inferencetest.Token("x", ""))
			}
			return failure
		}
	}
	const object = `{"error":{"message":"Triton went away","type":"server_error","param":null,"code":"engine_unavailable"}}`
	for _, stream := range []string{"true", "false"} {
		server, _ := serve(t, Config{}, failing(0))
		resp, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(`"stream":`+stream))
		if resp.StatusCode != http.StatusServiceUnavailable || body != object || resp.Header.Get("Retry-After") != "2" {
			t.Errorf("stream %s: %d %v %s", stream, resp.StatusCode, resp.Header, body)
		}
	}
	server, _ := serve(t, Config{}, failing(2))
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(`"stream":true`))
	list := events(body)
	if resp.StatusCode != http.StatusOK || list[len(list)-1] != object || strings.Contains(body, "[DONE]") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestIdleStreamSendsComments(t *testing.T) {
	idle := func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		send(&inference.Response{Idle: true})
		send(&inference.Response{Idle: true})
		return &inference.Error{Code: inference.CodeInternal, Message: "too late for a status"}
	}
	server, _ := serve(t, Config{}, idle)
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(`"stream":true`))
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(body, ": keep-alive\n\n: keep-alive\n\ndata: {\"error\"") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestStreamFlushesEachToken tests that a token reaches the client while the
// model is still running.
func TestStreamFlushesEachToken(t *testing.T) {
	next := make(chan struct{})
	server, engine := serve(t, Config{}, openaitest.StepScript(3, next))
	resp := openaitest.StartRequest(t, server.URL+chatPath, ask(`"stream":true`))
	lines := bufio.NewScanner(resp.Body)
	for i := range 3 {
		want := fmt.Sprintf(`"content":"t%d"`, i)
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				break
			}
		}
		if engine.Active() != 1 {
			t.Fatalf("token %d came after the model's end", i)
		}
		next <- struct{}{}
	}
	for lines.Scan() {
	}
	if lines.Err() != nil {
		t.Error(lines.Err())
	}
}

func TestClientLeavingStopsTheModel(t *testing.T) {
	open := func(t *testing.T, script inferencetest.Script) string {
		t.Helper()
		server, _ := serve(t, Config{}, script)
		return server.URL
	}
	openaitest.CheckClientDisconnect(t, open, chatPath, func(stream string) string { return ask(`"stream":` + stream) })
}

func TestEmbeddings(t *testing.T) {
	server, engine := serve(t, Config{}, nil)
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+"/v1/embeddings", `{"model":"embedding","input":["a","b"]}`)
	want := `{"data":[{"embedding":[0.6,0.8],"index":0,"object":"embedding"},{"embedding":[0.6,0.8],"index":1,"object":"embedding"}],` +
		`"model":"embedding","object":"list","usage":{"prompt_tokens":6,"total_tokens":6}}`
	if resp.StatusCode != http.StatusOK || strings.TrimSpace(body) != want {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if ids := engine.Requests(); len(ids) != 2 || !strings.HasPrefix(ids[0].GetId(), "embd-") || len(ids[0].GetId()) < 25 {
		t.Errorf("ids of the engine's requests: %v", ids)
	}
	_, body = openaitest.Do(t, http.MethodPost, server.URL+"/v1/embeddings", `{"model":"embedding","input":[5,6],"encoding_format":"base64","dimensions":1}`)
	var answer struct{ Data []struct{ Embedding string } }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Data) != 1 {
		t.Fatalf("%s %v", body, err)
	}
	raw, err := base64.StdEncoding.DecodeString(answer.Data[0].Embedding)
	if err != nil || len(raw) != 4 || math.Float32frombits(binary.LittleEndian.Uint32(raw)) != 1 {
		t.Errorf("base64 %v %v", raw, err)
	}
}

func TestModelsAndHealth(t *testing.T) {
	server, engine := serve(t, Config{}, nil)
	if resp, body := openaitest.Do(t, http.MethodGet, server.URL+"/v1/models/org/name", ""); resp.StatusCode != http.StatusOK || !strings.Contains(body, `"id":"org/name","object":"model","owned_by":`) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp, body := openaitest.Do(t, http.MethodGet, server.URL+"/v1/models/org%2Fname", ""); resp.StatusCode != http.StatusOK {
		t.Errorf("escaped: %d %s", resp.StatusCode, body)
	}
	_, body := openaitest.Do(t, http.MethodGet, server.URL+"/v1/models", "")
	var list struct {
		Object string
		Data   []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || fmt.Sprint(list) != "{list [{chat} {embedding} {org/name}]}" {
		t.Errorf("%s %v", body, err)
	}
	if resp, body := openaitest.Do(t, http.MethodGet, server.URL+"/v1/models/chat", ""); resp.StatusCode != http.StatusOK || !strings.Contains(body, `"id":"chat","max_model_len":100,"object":"model"`) {
		t.Errorf("context length: %d %s", resp.StatusCode, body)
	}
	if strings.Count(body, "max_model_len") != 1 {
		t.Errorf("the context length of one model is known: %s", body)
	}
	for path, want := range map[string]int{"/health/live": 200, "/health/ready": 200, "/health": 200, "/healthz": 200, "/ping": 200} {
		if resp, body := openaitest.Do(t, http.MethodGet, server.URL+path, ""); resp.StatusCode != want {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	versioned, _ := serve(t, Config{Version: "1.2.3"}, nil)
	if resp, body := openaitest.Do(t, http.MethodGet, versioned.URL+"/version", ""); resp.StatusCode != http.StatusOK || strings.TrimSpace(body) != `{"version":"1.2.3"}` {
		t.Errorf("version: %d %s", resp.StatusCode, body)
	}
	engine.SetDown(&inference.Error{Code: inference.CodeUnavailable, Message: "Triton does not answer"})
	if resp, body := openaitest.Do(t, http.MethodGet, server.URL+"/health/ready", ""); resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "does not answer") {
		t.Errorf("ready while down: %d %s", resp.StatusCode, body)
	}
}

func TestUnknownPath(t *testing.T) {
	tests := []struct{ path, want string }{
		{"/v1/chat/completion", "did you mean POST /v1/chat/completions?"},
		{"/chat/completions/", "did you mean POST /v1/chat/completions?"},
		{"/v1/embedding", "did you mean POST /v1/embeddings?"},
		{"/health/readyz", "did you mean GET /health/ready?"},
		{"/x", "the paths of the API start with /v1, such as POST /v1/chat/completions"},
		{"/" + strings.Repeat("\"", 1<<16), "the paths of the API start with /v1, such as POST /v1/chat/completions"},
	}
	for _, tt := range tests {
		got := unknownPath(tt.path)
		if !strings.HasSuffix(got, tt.want) || len(got) > 300 {
			t.Errorf("%.40q: got %q, want it to end with %q", tt.path, got, tt.want)
		}
	}
}

func TestNormalise(t *testing.T) {
	tests := []struct{ name, method, path, wantMethod, wantPath, wantEscaped string }{
		{"the document's", "POST", "/v1/chat/completions", "POST", "/v1/chat/completions", ""},
		{"chat", "POST", "/chat/completions", "POST", "/v1/chat/completions", ""},
		{"embeddings", "POST", "/embeddings", "POST", "/v1/embeddings", ""},
		{"models", "GET", "/models", "GET", "/v1/models", ""},
		{"responses", "POST", "/responses", "POST", "/v1/responses", ""},
		{"one response", "DELETE", "/responses/resp_1", "DELETE", "/v1/responses/resp_1", ""},
		{"a response's items below openai", "GET", "/openai/v1/responses/resp_1/input_items", "GET", "/v1/responses/resp_1/input_items", ""},
		{"one model", "GET", "/models/m", "GET", "/v1/models/m", ""},
		{"one model with slashes", "GET", "/models/a/b c", "GET", "/v1/models/a/b c", "/v1/models/a%2Fb%20c"},
		{"the document's with slashes", "GET", "/v1/models/a/b/c", "GET", "/v1/models/a/b/c", "/v1/models/a%2Fb%2Fc"},
		{"infinity's embeddings", "POST", "/infinity/embeddings", "POST", "/v1/embeddings", ""},
		{"infinity's models", "GET", "/infinity/models", "GET", "/v1/models", ""},
		{"below openai", "POST", "/openai/v1/embeddings", "POST", "/v1/embeddings", ""},
		{"a model below openai", "GET", "/openai/v1/models/a/b", "GET", "/v1/models/a/b", "/v1/models/a%2Fb"},
		{"openai without version", "GET", "/openai/models", "GET", "/openai/models", ""},
		{"another prefix", "GET", "/openaiv1/models", "GET", "/openaiv1/models", ""},
		{"posted list", "POST", "/v1/models", "GET", "/v1/models", ""},
		{"posted list of an alias", "POST", "/models", "GET", "/v1/models", ""},
		{"posted model", "POST", "/v1/models/m", "POST", "/v1/models/m", ""},
		{"loaded model", "POST", "/models/m/load", "POST", "/v1/models/m/load", ""},
		{"loaded model with slashes", "POST", "/v1/models/a/b/load", "POST", "/v1/models/a/b/load", "/v1/models/a%2Fb/load"},
		{"unloaded model with slashes", "POST", "/openai/v1/models/a/b/unload", "POST", "/v1/models/a/b/unload", "/v1/models/a%2Fb/unload"},
		{"model named load", "POST", "/v1/models/a/load/load", "POST", "/v1/models/a/load/load", "/v1/models/a%2Fload/load"},
		{"model named load is read", "GET", "/v1/models/a/load", "GET", "/v1/models/a/load", "/v1/models/a%2Fload"},
		{"no model to load", "POST", "/v1/models/load", "POST", "/v1/models/load", ""},
		{"deleted load", "DELETE", "/v1/models/a/b/load", "DELETE", "/v1/models/a/b/load", "/v1/models/a%2Fb/load"},
		{"health", "GET", "/health/ready", "GET", "/health/ready", ""},
		{"vLLM's health check", "GET", "/health", "GET", "/health/ready", ""},
		{"SageMaker's health check", "GET", "/ping", "GET", "/health/ready", ""},
		{"Kubernetes' health check", "GET", "/healthz", "GET", "/health/live", ""},
		{"longer", "GET", "/modelsx", "GET", "/modelsx", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			method, path, escaped := normalise(tt.method, tt.path)
			if method != tt.wantMethod || path != tt.wantPath || escaped != tt.wantEscaped {
				t.Errorf("got %s %s %q", method, path, escaped)
			}
		})
	}
}

// TestAliases checks that the alternative paths of an operation, such as /openai/v1/embeddings and
// /embeddings, have the responses of the main path.
func TestAliases(t *testing.T) {
	server, _ := serve(t, Config{}, inferencetest.StreamText("x"))
	const embed = `{"model":"embedding","input":"a"}`
	for _, tt := range []struct{ method, path, body, want string }{
		{"POST", "/chat/completions", ask(""), `"object":"chat.completion"`},
		{"POST", "/openai/v1/chat/completions", ask(""), `"object":"chat.completion"`},
		{"POST", "/responses", `{"model":"chat","input":"hi"}`, `"object":"response"`},
		{"POST", "/openai/v1/responses", `{"model":"chat","input":"hi"}`, `"object":"response"`},
		{"POST", "/embeddings", embed, `"object":"embedding"`},
		{"POST", "/openai/v1/embeddings", embed, `"object":"embedding"`},
		{"GET", "/models", "", `"object":"list"`},
		{"GET", "/openai/v1/models", "", `"object":"list"`},
		{"POST", "/v1/models", "{}", `"object":"list"`},
		{"GET", "/models/org/name", "", `"id":"org/name"`},
		{"GET", "/models/org%2Fname", "", `"id":"org/name"`},
	} {
		if resp, body := openaitest.Do(t, tt.method, server.URL+tt.path, tt.body); resp.StatusCode != http.StatusOK || !strings.Contains(body, tt.want) {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, resp.StatusCode, body)
		}
	}
	for path, want := range map[string]string{"/models": "GET, HEAD", "/v1/embeddings": "POST", "/responses": "POST", "/v1/responses/a/cancel": "POST", "/v1/responses/input_tokens": "POST", countPath: "POST", "/chat/completions/render": "POST", "/openai/v1/chat/completions": "POST"} {
		if resp, _ := openaitest.Do(t, http.MethodDelete, server.URL+path, ""); resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != want {
			t.Errorf("DELETE %s: %d, Allow %q", path, resp.StatusCode, resp.Header.Get("Allow"))
		}
	}
}

// TestConfigValidate tests that a configuration with a response store but without the limits of the
// store is refused.
func TestConfigValidate(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"default", Default(), ""},
		{"none kept", Config{}, ""},
		{"negative", Config{ResponsesStoreSize: -1}, "openai.ResponsesStoreSize"},
		{"no bytes", Config{ResponsesStoreSize: 1, ResponsesStoreTTL: time.Hour}, "openai.ResponsesStoreBytes"},
		{"no time", Config{ResponsesStoreSize: 1, ResponsesStoreBytes: 1}, "openai.ResponsesStoreTTL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.cfg.Validate()
			if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
