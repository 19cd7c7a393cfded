package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
)

// TestErrors is the table of what clients get wrong.
func TestErrors(t *testing.T) {
	type object struct {
		Message, Type string
		Param, Code   *string
	}
	tests := []struct {
		name, method, path, body string
		status                   int
		param, code, message     string
	}{
		{"bad JSON", "POST", chatPath, `{"model":`, 400, "", "", "JSON"},
		{"no object", "POST", chatPath, `[]`, 400, "", "invalid_value", "JSON object"},
		{"no model", "POST", chatPath, `{"messages":[{"role":"user","content":"x"}]}`, 400, "model", "", "model"},
		{"no messages", "POST", chatPath, `{"model":"chat"}`, 400, "messages", "", "messages"},
		{"wrong type", "POST", chatPath, ask(`"temperature":"hot"`), 400, "temperature", "", "number"},
		{"out of range", "POST", chatPath, ask(`"temperature":3`), 400, "temperature", "", "2"},
		{"unknown model", "POST", chatPath, `{"model":"x","messages":[{"role":"user","content":"x"}]}`, 404, "model", "model_not_found", "`x`"},
		{"an embedding model", "POST", chatPath, `{"model":"embedding","messages":[{"role":"user","content":"x"}]}`, 400, "model", "unsupported_parameter", "embedding"},
		{"stream_options without stream", "POST", chatPath, ask(`"stream_options":{"include_usage":true}`), 400, "stream_options", "", "stream"},
		{"top_logprobs without logprobs", "POST", chatPath, ask(`"top_logprobs":2`), 400, "top_logprobs", "", "logprobs"},
		{"tools", "POST", chatPath, ask(`"tools":[{"type":"function","function":{"name":"f"}}]`), 400, "tools", "unsupported_parameter", "trident.tool_call_parser"},
		{"a demanded call", "POST", chatPath, ask(`"tool_choice":"required"`), 400, "tool_choice", "invalid_value", "there are no tools"},
		{"a named call", "POST", chatPath, ask(`"tool_choice":{"type":"function","function":{"name":"f"}}`), 400, "tool_choice", "invalid_value", "`f`, which is not among tools"},
		{"a named function", "POST", chatPath, ask(`"function_call":{"name":"f"}`), 400, "function_call", "unsupported_parameter", "no functions to call"},
		{"log probabilities of the prompt", "POST", chatPath, ask(`"prompt_logprobs":0`), 400, "prompt_logprobs", "unsupported_parameter", "those of the answer"},
		{"beam search", "POST", chatPath, ask(`"use_beam_search":true`), 400, "use_beam_search", "unsupported_parameter", "no beam search"},
		{"documents", "POST", chatPath, ask(`"documents":[{"text":"x"}]`), 400, "documents", "unsupported_parameter", "documents"},
		{"messages as a variable", "POST", chatPath, ask(`"chat_template_kwargs":{"messages":[{"role":"system","content":"x"}]}`), 400, "chat_template_kwargs.messages", "unsupported_parameter", "messages"},
		{"min_tokens above the limit", "POST", chatPath, ask(`"min_tokens":50,"max_completion_tokens":10`), 400, "min_tokens", "invalid_value", "min_tokens must not be above max_completion_tokens (10), got 50"},
		{"min_tokens above the older limit", "POST", chatPath, ask(`"min_tokens":50,"max_tokens":10`), 400, "min_tokens", "invalid_value", "min_tokens must not be above max_tokens (10), got 50"},
		{"functions", "POST", chatPath, ask(`"functions":[{"name":"f"}]`), 400, "functions", "unsupported_parameter", "functions"},
		{"audio", "POST", chatPath, ask(`"modalities":["text","audio"]`), 400, "modalities", "unsupported_parameter", "text"},
		{"prediction", "POST", chatPath, ask(`"prediction":{"type":"content","content":"x"}`), 400, "prediction", "unsupported_parameter", "prediction"},
		{"logit_bias", "POST", chatPath, ask(`"logit_bias":{"1":2}`), 400, "logit_bias", "unsupported_parameter", "logit_bias"},
		{"a schema that is none", "POST", chatPath, ask(`"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"nonsense"}}}`), 400, "response_format.json_schema.schema", "", "schema"},
		{"a schema of a number", "POST", chatPath, ask(`"guided_json":{"type":"object","properties":{"x":{"type":5}}}`), 400, "guided_json", "invalid_value", "guided_json is not a valid JSON schema: properties.x.type must be array, boolean, integer, null, number, object or string, got 5"},
		{"a schema with a wrong keyword", "POST", chatPath, ask(`"guided_json":{"oneOf":[{"required":"x"}]}`), 400, "guided_json", "invalid_value", "guided_json is not a valid JSON schema: oneOf[0].required must be of type array, got string"},
		{"a schema with a bad minimum", "POST", chatPath, ask(`"guided_json":{"minLength":-1}`), 400, "guided_json", "invalid_value", "minLength has a value that can't stand there (minimum)"},
		{"a schema with a bad pattern", "POST", chatPath, ask(`"guided_json":{"pattern":"("}`), 400, "guided_json", "invalid_value", "guided_json is not a valid JSON schema: pattern is not a valid regex"},
		{"a schema with a bad pattern for keys", "POST", chatPath, ask(`"guided_json":{"$schema":"http://json-schema.org/draft-04/schema#","patternProperties":{"(":{}}}`), 400, "guided_json", "invalid_value", `the pattern "(" is not a regular expression`},
		{"a schema that refers to nothing", "POST", chatPath, ask(`"guided_json":{"$ref":"#/$defs/x"}`), 400, "guided_json", "invalid_value", "a $ref leads nowhere"},
		{"a schema of an unknown draft", "POST", chatPath, ask(`"guided_json":{"$schema":"http://example.com/x"}`), 400, "guided_json", "invalid_value", "refers to another document"},
		{"a schema cut short", "POST", chatPath, ask(`"guided_json":"{nope"`), 400, "guided_json", "invalid_value", "guided_json is not valid JSON: a key in quotes is expected at byte 1"},
		{"a schema that is a list", "POST", chatPath, ask(`"structured_outputs":{"json":"[]"}`), 400, "structured_outputs.json", "invalid_value", "must be a JSON schema object"},
		{"a schema that reads files", "POST", chatPath, ask(`"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"$ref":"file:///etc/passwd"}}}`), 400, "response_format.json_schema.schema", "", "only references within the schema are followed"},
		{"two constraints", "POST", chatPath, ask(`"response_format":{"type":"json_object"},"guided_regex":"a"`), 400, "guided_regex", "", "together"},
		{"an unknown constraint", "POST", chatPath, ask(`"structured_outputs":{"poem":"x"}`), 400, "structured_outputs.poem", "", "poem"},
		{"more than the context", "POST", chatPath, ask(`"max_tokens":101`), 400, "messages", "context_length_exceeded", "100"},
		{"an image", "POST", chatPath, `{"model":"chat","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,"}}]}]}`, 400, "messages[0].content[0]", "unsupported_parameter", "image"},
		{"no such path", "GET", "/v1/nothing", "", 404, "", "unknown_url", "/v1"},
		{"wrong method", "GET", chatPath, "", 405, "", "method_not_allowed", "GET can't be used on this path; use POST"},
		{"wrong method on an alias", "DELETE", "/models/chat", "", 405, "", "method_not_allowed", "DELETE can't be used on this path; use GET"},
		{"no such model", "GET", "/v1/models/org/other", "", 404, "model", "model_not_found", "`org/other`"},
		{"empty input", "POST", "/v1/embeddings", `{"model":"embedding","input":""}`, 400, "input", "", "empty"},
		{"too many inputs", "POST", "/v1/embeddings", `{"model":"embedding","input":[` + strings.Repeat(`"a",`, 2048) + `"a"]}`, 400, "input", "invalid_value", "2048"},
		{"a long model name", "POST", "/v1/embeddings", `{"model":"` + strings.Repeat("m", 1<<20) + `","input":"x"}`, 400, "model", "", "model must be 1 to 256 characters"},
		{"too many dimensions", "POST", "/v1/embeddings", `{"model":"embedding","input":"x","dimensions":9}`, 400, "dimensions", "", "2 dimensions"},
	}
	server, _ := serve(t, Config{}, inferencetest.Say("x"))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := do(t, tt.method, server.URL+tt.path, tt.body)
			var answer map[string]map[string]any
			if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer) != 1 || len(answer["error"]) != 4 {
				t.Fatalf("%d %s", resp.StatusCode, body)
			}
			var wrapped struct{ Error object }
			if err := json.Unmarshal([]byte(body), &wrapped); err != nil {
				t.Fatal(err)
			}
			e := wrapped.Error
			if resp.StatusCode != tt.status || value(e.Param) != tt.param || !strings.Contains(e.Message, tt.message) || e.Type != "invalid_request_error" ||
				(tt.code != "" && value(e.Code) != tt.code) {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		})
	}
}

// TestNeutralValuesAreNotRefused: what says nothing is no reason for a 400.
func TestNeutralValuesAreNotRefused(t *testing.T) {
	server, _ := serve(t, Config{}, inferencetest.Say("x"))
	for _, fields := range []string{
		`"n":1`, `"logit_bias":{}`, `"logit_bias":null`, `"tools":[]`, `"tools":null,"tool_choice":null`, `"stop":null`, `"stop":[]`,
		`"modalities":["text"]`, `"modalities":null`, `"response_format":{"type":"text"}`, `"response_format":null`, `"user":"u"`, `"store":false`,
		`"metadata":{}`, `"metadata":{"a":"b"}`, `"service_tier":"auto"`, `"parallel_tool_calls":true`, `"functions":[]`, `"audio":null`,
		`"stream":false`, `"stream_options":null`, `"logprobs":false`, `"top_logprobs":0`, `"presence_penalty":0`, `"seed":null`,
		`"max_tokens":null`, `"max_completion_tokens":null`, `"prediction":null`, `"web_search_options":null`, `"reasoning_effort":null`,
		`"structured_outputs":{}`, `"chat_template_kwargs":{}`, `"temperature":null`, `"top_p":1`, `"moderation":null`, `"priority":0`,
		`"tool_choice":"none"`, `"tool_choice":"auto"`, `"tool_choice":{}`, `"function_call":"auto"`, `"function_call":"none"`, `"parallel_tool_calls":false`,
		`"prompt_logprobs":null`, `"use_beam_search":false`, `"documents":[]`, `"chat_template_kwargs":{"add_generation_prompt":true,"tools":null}`,
		`"safety_identifier":"x"`, `"prompt_cache_key":"x"`, `"verbosity":"medium"`, `"length_penalty":1`, `"add_generation_prompt":true`,
	} {
		if resp, body := do(t, http.MethodPost, server.URL+chatPath, ask(fields)); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", fields, resp.StatusCode, body)
		}
	}
}

// TestRefusalsAreShort: a client's own text comes back cut.
func TestRefusalsAreShort(t *testing.T) {
	server, _ := serve(t, Config{Strict: true}, inferencetest.Say("x"))
	long := strings.Repeat("é", 1<<19)
	for _, fields := range []string{
		`"` + long + `":1`, `"logit_bias":{"` + long + `":1}`, `"metadata":{"` + long + `":1}`, `"metadata":{"` + long + `":"","` + long + `":""}`,
		`"structured_outputs":{"` + long + `":1}`, `"guided_json":{"properties":{"` + long + `":{"type":5}}}`, `"guided_json":{"$ref":"` + long + `"}`,
		`"chat_template_kwargs":{"documents":"` + long + `"}`,
	} {
		resp, body := do(t, http.MethodPost, server.URL+chatPath, ask(fields))
		var answer struct{ Error wireError }
		if err := json.Unmarshal([]byte(body), &answer); err != nil || resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%.40s: %d %.200s %v", fields, resp.StatusCode, body, err)
		}
		if e := answer.Error; len(e.Message) > maxMessage || len(value(e.Param)) > maxName || strings.ContainsRune(e.Message, utf8.RuneError) {
			t.Errorf("%.40s: message of %d bytes, param of %d: %.100s", fields, len(e.Message), len(value(e.Param)), e.Message)
		}
	}
}

// TestLimitHasTheClientsName: the core calls it max_tokens; clients of the newer
// name see theirs, in streams, too.
func TestLimitHasTheClientsName(t *testing.T) {
	failing := func(context.Context, *kserve.ModelInferRequest, func(*inference.Response) bool) error {
		return inference.Invalid("max_tokens", "max_tokens is too many")
	}
	server, _ := serve(t, Config{}, failing)
	for _, fields := range []string{``, `,"stream":true`} {
		for _, name := range []string{"max_tokens", "max_completion_tokens"} {
			resp, body := do(t, http.MethodPost, server.URL+chatPath, ask(`"`+name+`":5`+fields))
			want := `{"error":{"message":"` + name + ` is too many","type":"invalid_request_error","param":"` + name + `","code":"invalid_value"}}`
			if resp.StatusCode != http.StatusBadRequest || body != want {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		}
	}
}

// TestBodyErrors: what the server's bounded body reports has its status.
func TestBodyErrors(t *testing.T) {
	for _, tt := range []struct {
		name    string
		err     error
		status  int
		code    string
		message string
	}{
		{"paused", fmt.Errorf("read: %w", os.ErrDeadlineExceeded), 408, "request_timeout", "the request body paused for too long"},
		{"too large", &http.MaxBytesError{Limit: 7}, 413, "content_too_large", "larger than 7 bytes"},
		{"cut", io.ErrUnexpectedEOF, 400, "incomplete_body", "the request body ended early"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			handler, err := New(Config{}, inferencetest.Service(t, inference.Config{}, inferencetest.New()))
			if err != nil {
				t.Fatal(err)
			}
			rec := httptest.NewRecorder()
			handler.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodPost, chatPath, iotest.ErrReader(tt.err)))
			body := rec.Body.String()
			if rec.Code != tt.status || !strings.Contains(body, `"code":"`+tt.code+`"`) || !strings.Contains(body, tt.message) {
				t.Errorf("%d %s", rec.Code, body)
			}
		})
	}
}

func TestUnknownFields(t *testing.T) {
	server, _ := serve(t, Config{}, inferencetest.Say("x"))
	resp, _ := do(t, http.MethodPost, server.URL+chatPath, ask(`"zebra":1,"apple":{"a":[1]}`))
	if got := resp.Header.Get("X-Trident-Ignored-Fields"); resp.StatusCode != http.StatusOK || got != "apple, zebra" {
		t.Errorf("%d %q", resp.StatusCode, got)
	}
	server, _ = serve(t, Config{Strict: true}, inferencetest.Say("x"))
	resp, body := do(t, http.MethodPost, server.URL+chatPath, ask(`"zebra":1`))
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"param":"zebra"`) {
		t.Errorf("strict: %d %s", resp.StatusCode, body)
	}
}

func TestCompressedBodiesAreRefused(t *testing.T) {
	server, _ := serve(t, Config{}, inferencetest.Say("x"))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+chatPath, strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Encoding", "gzip")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// TestIncompleteBody: a client that leaves in its body is no failure of ours.
func TestIncompleteBody(t *testing.T) {
	server, engine := serve(t, Config{}, inferencetest.Say("x"))
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", chatPath); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "incomplete_body") || len(engine.Requests()) != 0 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}
