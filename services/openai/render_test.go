package openai

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/openaitest"
	"github.com/trident-inference/trident/services/serving"
)

const (
	countPath            = chatPath + "/input_tokens"
	renderPath           = chatPath + "/render"
	renderCompletionPath = completionPath + "/render"
)

// renderServer has models with and without a tokenizer and a template.
func renderServer(t *testing.T, engine *inferencetest.Engine) *httptest.Server {
	t.Helper()
	template := `{{ tools | length if tools else '' }}{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}{{ mark }}<|im_start|>`
	engine.AddModel("m", inferencetest.StreamText("x"), map[string]string{
		"trident.tokenizer": byteTokenizer, "trident.context_length": "64", "trident.aliases": "org/m", "trident.chat_template": template,
		"trident.tool_call_parser": "hermes",
	})
	engine.AddModel("blind", nil, map[string]string{"trident.chat_template": template})
	engine.AddModel("plain", nil, map[string]string{"trident.tokenizer": byteTokenizer})
	handler, err := New(Config{}, inferencetest.Service(t, serving.Config{}, engine), nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// TestRender checks the count, the prompt and its token ids, and that errors are those of the operation
// that would run the model. The engine gets no request.
func TestRender(t *testing.T) {
	engine := inferencetest.New()
	server := renderServer(t, engine)
	user := func(model, more string) string {
		return `{"model":"` + model + `","messages":[{"role":"user","content":"aé"}]` + more + `}`
	}
	const tool = `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{},"additionalProperties":false}}}]`
	tests := []struct {
		name, path, body string
		status           int
		want             string // part of the body
	}{
		{"a count", countPath, user("m", ""), 200, `{"input_tokens":5}`},
		{"a count without /v1", "/chat/completions/input_tokens", user("org/m", ""), 200, `{"input_tokens":5}`},
		{"a count below /openai", "/openai" + countPath, user("m", ""), 200, `{"input_tokens":5}`},
		{"a count with tools", countPath, user("m", tool), 200, `{"input_tokens":6}`},
		{"a count with options", countPath, user("m", `,"stream":true,"n":3,"temperature":0.1,"logprobs":true`), 200, `{"input_tokens":5}`},
		{"a count without tokenizer", countPath, user("blind", ""), 400, "the tokens can't be counted without the tokenizer of the model `blind`: set it by inference.SettingTokenizer"},
		{"a count without template", countPath, user("plain", ""), 400, "trident.chat_template"},
		{"a count of an image", countPath, `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]}`, 400, `"param":"messages[0].content[0]`},
		{"a count without messages", countPath, `{"model":"m"}`, 400, `"param":"messages"`},
		{"a refused field", countPath, user("m", `,"use_beam_search":true`), 400, `"param":"use_beam_search"`},
		{"an unknown model", countPath, user("nope", ""), 404, `"code":"model_not_found"`},

		{
			"a chat", renderPath, user("m", ""), 200,
			`"model":"m","stream":false,"priority":0,"sampling_params":{"max_tokens":59,"n":1},"prompt":"aé<|im_end|><|im_start|>","token_ids":[97,195,169,257,256]}`,
		},
		{"a variable", renderPath, user("m", `,"chat_template_kwargs":{"mark":"!"}`), 200, `"token_ids":[97,195,169,257,33,256]}`},
		{"a chat's stream", renderPath, user("m", `,"stream":true,"priority":3`), 200, `"stream":true,"priority":3,`},
		{"without tokenizer", renderPath, user("blind", ""), 400, "the prompt can't be rendered without the tokenizer of the model `blind`"},
		{"too long", renderPath, user("m", `,"max_completion_tokens":60`), 400, `"param":"messages","code":"context_length_exceeded"`},
		{"a truncated prompt", renderPath, user("m", `,"truncate_prompt_tokens":2`), 400, `"param":"truncate_prompt_tokens","code":"unsupported_parameter"`},
		{"an unknown field", renderPath, user("m", `,"colour":1`), 200, `"token_ids":[97,`},

		{"a text", renderCompletionPath, `{"model":"m","prompt":"aé"}`, 200, `-0","model":"m","stream":false,"priority":0,"sampling_params":{"max_tokens":16,"n":1},"prompt":"aé","token_ids":[97,195,169]}]`},
		{"texts and ids", "/completions/render", `{"model":"m","prompt":["a","b"]}`, 200, `"prompt":"b","token_ids":[98]}]`},
		{"ids", renderCompletionPath, `{"model":"m","prompt":[97,98]}`, 200, `"prompt":"ab","token_ids":[97,98]}]`},
		{"the best of several", renderCompletionPath, `{"model":"m","prompt":"a","best_of":2}`, 400, `"param":"best_of","code":"unsupported_parameter"`},
		{"a suffix", renderCompletionPath, `{"model":"m","prompt":"a","suffix":"b"}`, 400, `"param":"suffix"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if resp, body := openaitest.Do(t, http.MethodPost, server.URL+tt.path, tt.body); resp.StatusCode != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("%d %s\nwant %d %s", resp.StatusCode, body, tt.status, tt.want)
			}
		})
	}
	if n := len(engine.Requests()); n > 0 {
		t.Errorf("the engine got %d requests", n)
	}
}

// TestRenderedPromptIsSent checks that the model gets the rendered prompt, and that the rendered sampling
// parameters have each option of the request.
func TestRenderedPromptIsSent(t *testing.T) {
	engine := inferencetest.New()
	addContract(t, engine, "ensemble", streamAsEnsemble)
	server := renderServer(t, engine)
	const options = `"messages":[{"role":"user","content":"a"}],"max_tokens":7,"min_tokens":2,"temperature":0.5,"top_p":0.9,"top_k":4,"min_p":0.1,"seed":9,` +
		`"presence_penalty":1,"frequency_penalty":0.5,"repetition_penalty":1.5,"stop":["x"],"stop_token_ids":[5],"bad_words":["b"],"allowed_token_ids":[1,2],` +
		`"ignore_eos":true,"include_stop_str_in_output":true,"skip_special_tokens":true,"spaces_between_special_tokens":false,"n":2,` +
		`"logprobs":true,"top_logprobs":3,"structured_outputs":{"regex":"a+"}`
	_, body := openaitest.Do(t, http.MethodPost, server.URL+renderPath, `{"model":"m",`+options+`}`)
	var got struct {
		Prompt   string         `json:"prompt"`
		Sampling map[string]any `json:"sampling_params"`
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || got.Prompt == "" {
		t.Fatal(body, err)
	}
	var want map[string]any
	if err := json.Unmarshal([]byte(`{`+options+`}`), &want); err != nil {
		t.Fatal(err)
	}
	delete(want, "messages")
	delete(want, "top_logprobs")
	want["logprobs"] = 3.0
	if !reflect.DeepEqual(got.Sampling, want) {
		t.Errorf("sampling parameters\n%v\nwant\n%v", got.Sampling, want)
	}
	// vLLM's models have neither of these options.
	const further = `"prompt_logprobs":1,"logit_bias":{"4":2}`
	if _, body := openaitest.Do(t, http.MethodPost, server.URL+renderPath, `{"model":"chat","messages":[{"role":"user","content":"a"}],"max_tokens":7,`+further+`}`); !strings.Contains(body, `"sampling_params":{"logit_bias":{"4":2},"max_tokens":7,"n":1,"prompt_logprobs":1}`) {
		t.Errorf("options of an ensemble: %s", body)
	}
	schema := openaitest.Schema(t, "RenderedSampling")
	for name := range schema.Properties {
		if _, ok := got.Sampling[name]; !ok && !strings.Contains(further, `"`+name+`"`) {
			t.Errorf("the request doesn't set %s", name)
		}
	}
	openaitest.Do(t, http.MethodPost, server.URL+chatPath, `{"model":"m","max_tokens":7,"messages":[{"role":"user","content":"a"}]}`)
	if sent := engine.Requests(); len(sent) != 1 || !strings.Contains(sent[0].String(), got.Prompt) {
		t.Errorf("the model got %v instead of %q", sent, got.Prompt)
	}
	forced := `{"model":"m","messages":[{"role":"user","content":"a"}],"tool_choice":"required","tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]}`
	if _, body := openaitest.Do(t, http.MethodPost, server.URL+renderPath, forced); !strings.Contains(body, `"structured_outputs":{"json":`) || !strings.Contains(body, `"enum":["f"]`) && !strings.Contains(body, `"const":"f"`) {
		t.Errorf("a forced call: %s", body)
	}
}

// TestRenderRefuses checks that options which a model doesn't have are refused as the chat or completion refuses
// them, for each kind of model.
func TestRenderRefuses(t *testing.T) {
	for operation, rows := range fieldTables(t) {
		path, ok := strings.CutPrefix(operation, "POST ")
		if !ok || path != chatPath && path != completionPath {
			continue
		}
		for kind, add := range fieldKinds {
			engine := inferencetest.New()
			add(t, engine)
			engine.AddModel("m", streamWithLogprobs, map[string]string{"trident.chat_template": fieldTemplate, "trident.tokenizer": byteTokenizer})
			server, model := fieldServer(t, Config{}, engine), ""
			if kind == "vLLM" { // its model chat has no tokenizer
				model = `"model":"m"`
			}
			for field, row := range rows {
				for _, p := range probesOf(kind, operation)[field] {
					if row[kind] != refused || field == "truncate_prompt_tokens" || field == "best_of" { // render refuses both for all models
						continue
					}
					f := fieldTest{server: server, engine: engine, path: path}
					want := f.send(t, false, p.with, p.fields, model)
					f.path += "/render"
					got := f.send(t, false, baseFields[path], p.with, p.fields, model)
					if want.status != http.StatusBadRequest || got.status != want.status || got.body != want.body || got.sent != "" {
						t.Errorf("%s of %s, %s: %d %s\nwant %d %s", f.path, kind, p.fields, got.status, got.body, want.status, want.body)
					}
				}
			}
		}
	}
	server := renderServer(t, inferencetest.New())
	const least = `{"model":"m","messages":[{"role":"user","content":"a"}],"min_tokens":62}`
	if resp, body := openaitest.Do(t, http.MethodPost, server.URL+renderPath, least); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"param":"min_tokens"`) {
		t.Errorf("more tokens than the context has: %s", body)
	}
}
