package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/triton/tritonserver"
)

func TestPlatformFlags(t *testing.T) {
	if cfg, err := parse(); err != nil || cfg.Platform.SageMaker.Port != 0 || cfg.Platform.VertexAI.Enabled {
		t.Errorf("without flags: %+v, %v", cfg.Platform, err)
	}
	if cfg, err := parse("--allow-sagemaker"); err != nil || cfg.Platform.SageMaker.Port != 8080 || cfg.Platform.SageMaker.Ping != "ready" {
		t.Errorf("--allow-sagemaker: %+v, %v", cfg.Platform, err)
	}
	if _, err := parse("--allow-vertex-ai"); err == nil || !strings.Contains(err.Error(), "--allow-vertex-ai: AIP_PREDICT_ROUTE") {
		t.Errorf("no route: %v", err)
	}
	t.Setenv("SAGEMAKER_TRITON_INFERENCE_TYPE", "batch")
	if _, err := parse("--sagemaker-port=1"); err == nil || !strings.Contains(err.Error(), "SAGEMAKER_TRITON_INFERENCE_TYPE") {
		t.Errorf("a bad type: %v", err)
	}
	for name, value := range map[string]string{
		"SAGEMAKER_TRITON_INFERENCE_TYPE": "generate", "SAGEMAKER_TRITON_PING_MODE": "live", "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME": "m",
		"AIP_MODE": "PREDICTION", "AIP_HTTP_PORT": "81", "AIP_PREDICT_ROUTE": "/p", "AIP_HEALTH_ROUTE": "/h", "AIP_STORAGE_URI": "gs://bucket",
	} {
		t.Setenv(name, value)
	}
	cfg, err := parse("--sagemaker-port=82", "--vertex-ai-default-model=n")
	if err != nil {
		t.Fatal(err)
	}
	if s := cfg.Platform.SageMaker; s.Port != 82 || s.Model != "m" || s.Kind != "generate" || s.Ping != "live" {
		t.Errorf("got %+v", s)
	}
	if v := cfg.Platform.VertexAI; !v.Enabled || v.Port != 81 || v.Predict != "/p" || v.Health != "/h" || v.Model != "n" || !slices.Equal(cfg.Local.Repositories, []string{"gs://bucket"}) {
		t.Errorf("got %+v, %q", v, cfg.Local.Repositories)
	}
	if cfg, err := parse("--no-allow-vertex-ai", "--triton-endpoint=a:1"); err != nil || cfg.Platform.VertexAI.Enabled || len(cfg.Local.Repositories) > 0 {
		t.Errorf("got %+v, %v", cfg.Platform, err)
	}
}

// platformEngine returns an engine with models for chats, for embeddings and for
// additions.
func platformEngine() *inferencetest.Engine {
	engine := inferencetest.New()
	engine.AddModel("chat", inferencetest.StreamText("so ", "be ", "it"), map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	engine.AddModel("embedding", inferencetest.Embed(0.5, 2), map[string]string{"trident.task": "embed"})
	engine.Configure("chat", func(config *kserve.ModelConfig) {
		for _, input := range config.GetInput() {
			input.DataType = kserve.DataType_TYPE_BOOL
			if name := input.GetName(); name == "text_input" || name == "sampling_parameters" || name == "image" {
				input.DataType = kserve.DataType_TYPE_STRING
			}
		}
	})
	number := func(name string) ([]*kserve.ModelInput, []*kserve.ModelOutput) {
		return []*kserve.ModelInput{{Name: name, DataType: kserve.DataType_TYPE_UINT32, Dims: []int64{1}}}, []*kserve.ModelOutput{{Name: "SUM", DataType: kserve.DataType_TYPE_UINT32, Dims: []int64{1}}}
	}
	config := &kserve.ModelConfig{Name: "plain", Backend: "python"}
	config.Input, config.Output = number("IN")
	engine.AddOther("plain", config, func(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		var n uint32
		if raw := req.GetRawInputContents(); len(raw) == 1 {
			n = binary.LittleEndian.Uint32(raw[0])
		} else {
			n = req.GetInputs()[0].GetContents().GetUintContents()[0]
		}
		send(&inference.Response{Outputs: []inference.Output{inferencetest.Uint32("SUM", n+1)}, Final: true})
		return nil
	})
	return engine
}

// freePort returns a port that was free a moment ago.
func freePort(tb testing.TB) string {
	tb.Helper()
	port, err := tritonserver.FreePort(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return strconv.Itoa(port)
}

const platformSettings = "host: 127.0.0.1\nopenai-port: 0\nshutdown-timeout: 5s\nhttp-max-input-size: 4096\n"

// exchange is a request to a platform's endpoint and its expected response.
type exchange struct {
	name, method, path, body string
	header                   map[string]string
	status                   int
	want                     string
}

func (x exchange) run(t *testing.T, port string) http.Header {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), x.method, "http://127.0.0.1:"+port+x.path, strings.NewReader(x.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range x.header {
		req.Header.Set(name, value)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != x.status || !strings.Contains(string(body), x.want) {
		t.Errorf("%d %s %v; want %d and %s", resp.StatusCode, body, err, x.status, x.want)
	}
	return resp.Header
}

func TestSageMaker(t *testing.T) {
	t.Setenv("SAGEMAKER_TRITON_DEFAULT_MODEL_NAME", "chat")
	port := freePort(t)
	engine := platformEngine()
	runWith(t, settingsOf(t, platformSettings+"sagemaker-port: "+port+"\n"), engine)
	for _, x := range []exchange{
		{"ping", "GET", "/ping", "", nil, 200, ""},
		{"ping by POST", "POST", "/ping", "", nil, 200, ""},
		{"a chat", "POST", "/invocations", `{"messages": [{"role": "user", "content": "hi"}]}`, nil, 200, `"content":"so be it"`},
		{"a chat of a model", "POST", "/invocations", `{"model": "nope", "messages": [{"role": "user", "content": "hi"}]}`, nil, 404, "model_not_found"},
		{"a stream", "POST", "/invocations", ` { "stream": true, "messages": [{"role": "user", "content": "hi"}]}`, nil, 200, "data: [DONE]"},
		{"a text", "POST", "/invocations", `{"prompt": "hi"}`, nil, 200, `"object":"text_completion"`},
		{"an embedding", "POST", "/invocations", `{"model": "embedding", "input": "hi"}`, nil, 200, `"embedding":[0.24253562,0.9701425]`},
		{"a response", "POST", "/invocations", `{"input": "hi"}`, nil, 200, `"object":"response"`},
		{"KServe's generate, which takes models of one response", "POST", "/invocations", `{"text_input": "hi"}`, nil, 500, "generate expects model to produce exactly 1 response"},
		{"KServe's stream", "POST", "/invocations", `{"text_input": "hi", "stream": true}`, nil, 200, `data: {`},
		{"no JSON", "POST", "/invocations", `hello`, nil, 400, `"type":"invalid_request_error"`},
		{"a list", "POST", "/invocations", `[1]`, nil, 400, `"type":"invalid_request_error"`},
		{"nothing that is known", "POST", "/invocations", `{"instances": []}`, nil, 400, "the body must have one of the fields messages"},
		{"too large", "POST", "/invocations", `{"prompt": "` + strings.Repeat("x", 5000) + `"}`, nil, 413, `"type":"invalid_request_error"`},
		{"compressed", "POST", "/invocations", `{}`, map[string]string{"Content-Encoding": "gzip"}, 415, "Content-Encoding"},
		{"another method", "GET", "/invocations", "", nil, 405, "use POST"},
		{"another path", "POST", "/v1/chat/completions", `{"messages": []}`, nil, 404, "this port serves only /ping and /invocations"},
		{"a redirect, which is Vertex AI's", "POST", "/invocations", `{"prompt": "hi"}`, map[string]string{"X-Vertex-Ai-Triton-Redirect": "v2"}, 200, "text_completion"},
	} {
		t.Run(x.name, func(t *testing.T) { x.run(t, port) })
	}
	engine.SetDown(&inference.Error{Code: inference.CodeUnavailable, Message: "down"})
	exchange{"", "GET", "/ping", "", nil, 503, "down"}.run(t, port)
}

// TestSageMakerWithoutAName tests requests without a model name: two models may be meant,
// or no model is ready yet.
func TestSageMakerWithoutAName(t *testing.T) {
	port := freePort(t)
	engine := platformEngine()
	runWith(t, settingsOf(t, platformSettings+"sagemaker-port: "+port+"\n"), engine)
	nameless := exchange{"", "POST", "/invocations", `{"prompt": "hi"}`, nil, 400, "the request names no model, and 3 models are ready"}
	exchange{"", "POST", "/invocations", `{"model": "chat", "prompt": "hi"}`, nil, 200, "text_completion"}.run(t, port)
	nameless.run(t, port)
	engine.SetDown(&inference.Error{Code: inference.CodeUnavailable, Message: "down"})
	nameless.status, nameless.want = 503, "down"
	nameless.run(t, port)
}

func TestVertexAI(t *testing.T) {
	t.Setenv("AIP_PREDICT_ROUTE", "/v1/endpoints/1:predict")
	t.Setenv("AIP_HEALTH_ROUTE", "/healthy")
	port := freePort(t)
	runWith(t, settingsOf(t, platformSettings+"allow-vertex-ai: true\nvertex-ai-default-model: plain\nvertex-ai-port: "+port+"\n"), platformEngine())
	const predict = "/v1/endpoints/1:predict"
	const sum = `{"inputs": [{"name": "IN", "datatype": "UINT32", "shape": [1], "data": [41]}]}`
	const binaryType = "application/vnd.vertex-ai-triton.binary+json;json-header-size="
	to := func(path string) map[string]string { return map[string]string{"X-Vertex-Ai-Triton-Redirect": path} }
	text := `{"inputs":[{"name":"IN","datatype":"UINT32","shape":[1],"parameters":{"binary_data_size":4}}],"outputs":[{"name":"SUM","parameters":{"binary_data":true}}]}`
	raw := text + "\x07\x00\x00\x00"
	typed := func(kind string) map[string]string { return map[string]string{"Content-Type": kind} }
	for _, x := range []exchange{
		{"health", "GET", "/healthy", "", nil, 200, ""},
		{"tensors", "POST", predict, sum, nil, 200, `"data":[42]`},
		{"a chat", "POST", predict, `{"model": "chat", "messages": [{"role": "user", "content": "hi"}]}`, nil, 200, `"content":"so be it"`},
		{"tensors of a model", "POST", predict, sum, to("v2/models/plain/infer"), 200, `"data":[42]`},
		{"a chat by its path", "POST", predict, `{"model": "chat", "messages": [{"role": "user", "content": "hi"}]}`, to("v1/chat/completions"), 200, `"content":"so be it"`},
		{"whether it is live", "POST", predict, sum, to("v2/health/live"), 200, ""},
		{"the list", "POST", predict, "", to("v1/models"), 200, `"id":"chat"`},
		{"a load", "POST", predict, "", to("v2/repository/models/plain/load"), 403, "that changes the server"},
		{"shared memory", "POST", predict, "", to("v2/systemsharedmemory/region/a/register"), 403, "that changes the server"},
		{"a load by OpenAI's path, which names a model when it is read", "POST", predict, "", to("v1/models/plain/load"), 404, "model_not_found"},
		{"a way around", "POST", predict, "", to("v2/models/../repository/models/plain/load"), 400, "isn't served"},
		{"an escaped way around", "POST", predict, "", to("v2/models/..%2f..%2fv1/infer"), 404, ""},
		{"binary data", "POST", predict, raw, typed(binaryType + fmt.Sprint(len(text))), 200, "\x08\x00\x00\x00"},
		{"a length that is none", "POST", predict, raw, typed(binaryType + "x"), 400, "is not a number of bytes"},
		{"a negative length", "POST", predict, raw, typed(binaryType + "-1"), 400, "is not a number of bytes"},
		{"a length beyond the body", "POST", predict, raw, typed(binaryType + "4000"), 400, `"error"`},
		{"a length beyond all bounds", "POST", predict, raw, typed(binaryType + "99999999999"), 400, "is not a number of bytes"},
		{"something before the type", "POST", predict, raw, typed("x/" + binaryType + "1"), 400, "must start with"},
	} {
		t.Run(x.name, func(t *testing.T) {
			header := x.run(t, port)
			if got := header.Get("Content-Type"); x.name == "binary data" && (!strings.HasPrefix(got, binaryType) || header.Get("Inference-Header-Content-Length") != "") {
				t.Errorf("the answer's type is %q", got)
			}
		})
	}
}

// TestPlatformGate checks that a request to a platform's port needs the access of the
// request that it is translated to, even if the platform's paths look like other routes.
func TestPlatformGate(t *testing.T) {
	t.Setenv("AIP_PREDICT_ROUTE", "/v1/models/m:predict")
	t.Setenv("AIP_HEALTH_ROUTE", "/health")
	vertex, sageMaker := freePort(t), freePort(t)
	engine := platformEngine()
	runWith(t, settingsOf(t, platformSettings+"allow-vertex-ai: true\nvertex-ai-default-model: chat\nvertex-ai-port: "+vertex+"\nsagemaker-port: "+sageMaker+`
keys:
  - {name: all, key: sk-all}
  - {name: some, key: sk-some, models: [plain]}
openai-restricted-api: ["inference infer-key one", "model-repository admin-key two", "metrics metrics-key three"]
`), engine)
	const predict, chat = "/v1/models/m:predict", `{"model": "chat", "messages": [{"role": "user", "content": "hi"}]}`
	with := func(lines ...string) map[string]string {
		header := map[string]string{}
		for i := 0; i < len(lines); i += 2 {
			header[lines[i]] = lines[i+1]
		}
		return header
	}
	const to = "X-Vertex-Ai-Triton-Redirect"
	all := func(lines ...string) map[string]string { return with(append(lines, "api-key", "sk-all")...) }
	some := func(lines ...string) map[string]string { return with(append(lines, "api-key", "sk-some")...) }
	for _, x := range []exchange{
		{"the probe", "GET", "/health", "", nil, 200, ""},
		{"no key", "POST", predict, chat, with("infer-key", "one"), 401, "an API key is needed"},
		{"no header", "POST", predict, chat, all(), 401, "expecting header 'infer-key'"},
		{"another group's header", "POST", predict, chat, all("admin-key", "two"), 401, "expecting header 'infer-key'"},
		{"both", "POST", predict, chat, all("infer-key", "one"), 200, `"content":"so be it"`},
		{"another client's model", "POST", predict, chat, some("infer-key", "one"), 404, "this API key may not use it"},
		{"another client's model by default", "POST", predict, `{"text_input": "hi"}`, some("infer-key", "one"), 404, "this API key may not use it"},
		{"a chat by its path", "POST", predict, chat, all(to, "v1/chat/completions", "admin-key", "two"), 401, "expecting header 'infer-key'"},
		{"the index", "POST", predict, "", all(to, "v2/repository/index", "infer-key", "one"), 401, "expecting header 'admin-key'"},
		{"the index with its header", "POST", predict, "", all(to, "v2/repository/index", "admin-key", "two"), 200, `"name":"chat"`},
		{"the index of some models", "POST", predict, "", some(to, "v2/repository/index", "admin-key", "two"), 200, `[{"name":"plain","version":"1","state":"READY"}]`},
		{"metrics", "POST", predict, "", all(to, "metrics", "infer-key", "one"), 401, "expecting header 'metrics-key'"},
		{"metrics with their header", "POST", predict, "", all(to, "metrics", "metrics-key", "three"), 200, "trident_"},
		{"metrics for some models", "POST", predict, "", some(to, "metrics", "metrics-key", "three"), 403, "this API key is limited to its own models"},
		{"log settings for some models", "POST", predict, "", some(to, "v2/logging", "infer-key", "one"), 403, "this API key is limited to its own models"},
		{"a path that isn't served", "POST", predict, "", all(to, "v2/nothing"), 400, "isn't served"},
		{"another path of the port", "GET", "/v1/models", "", nil, 401, "an API key is needed"},
		{"another path of the port with a key", "GET", "/v1/models", "", all("admin-key", "two"), 404, "this port serves"},
	} {
		t.Run(x.name, func(t *testing.T) { x.run(t, vertex) })
	}
	for _, x := range []exchange{
		{"SageMaker's probe", "GET", "/ping", "", nil, 200, ""},
		{"SageMaker without a key", "POST", "/invocations", chat, nil, 401, "an API key is needed"},
		{"SageMaker without the header", "POST", "/invocations", chat, all("metrics-key", "three"), 401, "expecting header 'infer-key'"},
		{"SageMaker with both", "POST", "/invocations", chat, all("infer-key", "one"), 200, `"content":"so be it"`},
	} {
		t.Run(x.name, func(t *testing.T) { x.run(t, sageMaker) })
	}
	if n := len(engine.Requests()); n != 2 {
		t.Errorf("%d requests reached the models", n)
	}
}
