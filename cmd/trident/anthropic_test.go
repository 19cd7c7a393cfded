package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/server/servertest"
)

// TestAnthropic checks the routes of Anthropic's API on the shared port: keys, the form of refusals, and that
// the header of its clients selects its list of models.
func TestAnthropic(t *testing.T) {
	target := startMatrix(t, "--api-keys-file="+servertest.Write(t, t.TempDir(), "keys", []byte(matrixKeys)), "--http-max-input-size=100000")
	ask := func(method, path, body string, lines ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Host = "localhost:9000"
		for i := 0; i < len(lines); i += 2 {
			r.Header.Set(lines[i], lines[i+1])
		}
		w := httptest.NewRecorder()
		target.listeners["shared"].ServeHTTP(w, r)
		return w
	}
	const version, date = "Anthropic-Version", "2023-06-01"
	message := func(model, text string) string {
		return `{"model":"` + model + `","max_tokens":9,"speed":"fast","messages":[{"role":"user","content":"` + text + `"}]}`
	}
	for _, test := range []struct {
		name, method, path, body string
		lines                    []string
		status                   int
		want                     string
	}{
		{"no key", "POST", "/v1/messages", message("own", "a"), nil, 401, `{"error":{"message":"an API key is needed: send it as Authorization: Bearer KEY","type":"authentication_error"},"request_id":"req_`},
		{"wrong key", "POST", "/v1/messages/count_tokens", message("own", "a"), []string{"X-Api-Key", "sk-wrong"}, 401, `"type":"authentication_error"`},
		{"x-api-key", "POST", "/v1/messages?beta=true", message("own", "a"), []string{"X-Api-Key", "sk-all"}, 200, `"text":"x"`},
		{"bearer", "POST", "/v1/messages", message("own", "a"), []string{"Authorization", "Bearer sk-some"}, 200, `"text":"x"`},
		{"a model of others", "POST", "/v1/messages", message("other", "a"), []string{"X-Api-Key", "sk-some"}, 404, `"type":"not_found_error"`},
		{"too large", "POST", "/v1/messages", message("own", strings.Repeat("a", 100_000)), []string{"X-Api-Key", "sk-all"}, 413, `"type":"request_too_large"`},
		{"another origin", "POST", "/v1/messages", message("own", "a"), []string{"X-Api-Key", "sk-all", "Origin", "https://example.com", "X-Request-Id", `a "b"`}, 403, `","type":"permission_error"},"request_id":"a \"b\"","type":"error"}`},
		{"timeout", "POST", "/v1/messages", message("own", "a"), []string{"X-Api-Key", "sk-all", "X-Request-Timeout", "soon"}, 400, `such as 500ms","type":"invalid_request_error"},"request_id":"req_`},
		{"no route", "POST", "/v1/messages/batches", "{}", []string{"X-Api-Key", "sk-all"}, 404, `"type":"not_found_error"`},
		{"models", "GET", "/v1/models", "", []string{"X-Api-Key", "sk-some", version, date}, 200, `"display_name":"own","id":"own","max_input_tokens":null,"max_tokens":null,"type":"model"}],"first_id":"own","has_more":false,"last_id":"own"}`},
		{"models of OpenAI's API", "GET", "/v1/models", "", []string{"X-Api-Key", "sk-some"}, 200, `"object":"list"`},
		{"model", "GET", "/v1/models/own", "", []string{"X-Api-Key", "sk-some", version, date}, 200, `"display_name":"own"`},
		{"model of others", "GET", "/v1/models/other", "", []string{"X-Api-Key", "sk-some", version, date}, 404, `"type":"not_found_error"`},
		{"models without a key", "GET", "/v1/models", "", []string{version, date}, 401, `"type":"authentication_error"`},
		{"another path with the header", "POST", "/v1/chat/completions", `{"model":"own","messages":[{"role":"user","content":"a"}]}`, []string{"X-Api-Key", "sk-all", version, date}, 200, `"object":"chat.completion"`},
	} {
		answer := ask(test.method, test.path, test.body, test.lines...)
		if answer.Code != test.status || !strings.Contains(answer.Body.String(), test.want) {
			t.Errorf("%s: %d %s", test.name, answer.Code, answer.Body)
		}
		if test.status == http.StatusOK && test.path == "/v1/messages" && answer.Header().Get("X-Trident-Ignored-Fields") != "speed" {
			t.Errorf("%s: %v", test.name, answer.Header())
		}
	}
	for _, flag := range []string{"--playground", "--no-playground"} {
		probed := startMatrix(t, flag, "--api-keys-file="+servertest.Write(t, t.TempDir(), "keys", []byte(matrixKeys)))
		r := httptest.NewRequestWithContext(t.Context(), http.MethodHead, "/", http.NoBody)
		r.Host = "localhost:9000"
		w := httptest.NewRecorder()
		probed.listeners["shared"].ServeHTTP(w, r)
		if w.Code != http.StatusOK || (w.Header().Get("Content-Type") != "") != (flag == "--playground") {
			t.Errorf("HEAD / with %s: %d %v", flag, w.Code, w.Header())
		}
	}
	page := ask("GET", "/v1/models?limit=1", "", "X-Api-Key", "sk-all", version, date).Body.String()
	if strings.Count(page, `"type":"model"`) != 1 || !strings.Contains(page, `"has_more":true`) {
		t.Errorf("page %s", page)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
	r.Host = "localhost:9000"
	w := httptest.NewRecorder()
	target.listeners["metrics"].ServeHTTP(w, r)
	for _, line := range []string{
		`trident_requests_total{code="ok",model="own",operation="chat",surface="anthropic"} 2`, `trident_generated_tokens_total{model="own",operation="chat",surface="anthropic"} 2`,
		`trident_http_requests_total{code="200",surface="anthropic"} 5`, `trident_http_requests_total{code="401",surface="anthropic"} 3`,
		`trident_http_requests_total{code="200",surface="openai"} 2`,
	} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
}

// TestAnthropicMetrics checks that messages are measured as chats of the surface anthropic, and that counts of
// tokens, which use no engine, are counted as requests of HTTP alone.
func TestAnthropicMetrics(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("counted", inferencetest.StreamText("x", "y"), map[string]string{"trident.chat_template": inferencetest.ChatTemplate, "trident.tokenizer": "../../test/models-contract/vllm/tokenizer"})
	target := startMatrixOn(t, engine)
	ask := func(method, listener, path, body string) string {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Host = "localhost:9000"
		w := httptest.NewRecorder()
		target.listeners[listener].ServeHTTP(w, r)
		return w.Body.String()
	}
	const message = `{"model":"counted","messages":[{"role":"user","content":"a"}]`
	for _, test := range []struct{ path, body, want string }{
		{"/v1/messages", message + `,"max_tokens":9}`, `"text":"xy"`},
		{"/v1/messages", message + `,"max_tokens":9,"stream":true}`, "message_stop"},
		{"/v1/messages", message + `,"max_tokens":9,"tools":[{"name":"f","input_schema":{}}]}`, `"type":"invalid_request_error"`},
		{"/v1/messages/count_tokens", message + `}`, `{"input_tokens":`},
		{"/v1/messages/count_tokens", `{}`, `"type":"invalid_request_error"`},
	} {
		if got := ask(http.MethodPost, "shared", test.path, test.body); !strings.Contains(got, test.want) {
			t.Errorf("%s %s: %s", test.path, test.body, got)
		}
	}
	page := ask(http.MethodGet, "metrics", "/metrics", "")
	var got []string
	for line := range strings.Lines(page) {
		if strings.Contains(line, `surface="anthropic"`) && !strings.Contains(line, "_bucket{") && !strings.Contains(line, "_sum{") && !strings.HasSuffix(line, " 0\n") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	const genAI = `gen_ai_operation_name="chat",gen_ai_provider_name="triton",gen_ai_request_model="counted"`
	want := []string{
		`gen_ai_client_token_usage_count{` + genAI + `,gen_ai_token_type="input",surface="anthropic"} 2`,
		`gen_ai_client_token_usage_count{` + genAI + `,gen_ai_token_type="output",surface="anthropic"} 2`,
		`gen_ai_server_request_duration_seconds_count{error_type="",` + genAI + `,surface="anthropic"} 2`,
		`gen_ai_server_request_duration_seconds_count{error_type="_OTHER",` + genAI + `,surface="anthropic"} 1`,
		`gen_ai_server_time_per_output_token_seconds_count{` + genAI + `,surface="anthropic"} 1`,
		`gen_ai_server_time_to_first_token_seconds_count{` + genAI + `,surface="anthropic"} 1`,
		`trident_generated_tokens_total{model="counted",operation="chat",surface="anthropic"} 4`,
		`trident_http_requests_total{code="200",surface="anthropic"} 3`,
		`trident_http_requests_total{code="400",surface="anthropic"} 2`,
		`trident_prompt_tokens_total{model="counted",operation="chat",surface="anthropic"} 14`,
		`trident_requests_total{code="invalid",model="counted",operation="chat",surface="anthropic"} 1`,
		`trident_requests_total{code="ok",model="counted",operation="chat",surface="anthropic"} 2`,
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAnthropicLimits checks the errors and the headers for retries of a client that exceeds the rate of its key, and of
// a client that sends more wrong keys than its address may.
func TestAnthropicLimits(t *testing.T) {
	target := startMatrix(t, "--api-keys-file="+servertest.Write(t, t.TempDir(), "keys", []byte("- {name: slow, key: sk-slow, limits: {rate: 0.01, burst: 1}}\n")))
	ask := func(path, key string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(`{"model":"own","max_tokens":9,"messages":[{"role":"user","content":"a"}]}`))
		r.Host = "localhost:9000"
		r.Header.Set("X-Api-Key", key)
		w := httptest.NewRecorder()
		target.listeners["shared"].ServeHTTP(w, r)
		return w
	}
	check := func(name string, answer *httptest.ResponseRecorder, most int) {
		seconds, _ := strconv.Atoi(answer.Header().Get("Retry-After"))
		milliseconds, _ := strconv.Atoi(answer.Header().Get("Retry-After-Ms"))
		if seconds < 1 || seconds > most || milliseconds < 1 || milliseconds > 1000*seconds || milliseconds <= 1000*(seconds-1) {
			t.Errorf("%s: %v", name, answer.Header())
		}
		if body := answer.Body.String(); answer.Code != http.StatusTooManyRequests || answer.Header().Get("X-Should-Retry") != "true" || answer.Header().Get("Request-Id") == "" || !strings.Contains(body, `"type":"rate_limit_error"`) {
			t.Errorf("%s: %d %v %s", name, answer.Code, answer.Header(), body)
		}
	}
	if first := ask("/v1/messages", "sk-slow"); first.Code != http.StatusOK {
		t.Fatalf("%d %s", first.Code, first.Body)
	}
	for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
		check(path, ask(path, "sk-slow"), 100)
	}
	for range 200 {
		if answer := ask("/v1/messages", "sk-wrong"); answer.Code != http.StatusUnauthorized {
			check("wrong keys", answer, 1)
			return
		}
	}
	t.Error("200 wrong keys got 401")
}
