package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/openai/internal/wire"
	"github.com/trident-inference/trident/services/openai/openaitest"
	"github.com/trident-inference/trident/test/tier"
)

// TestNeutralValuesAreNotRefused checks that a chat request may have an unsupported field with a
// value that has no effect, such as n=1 or an empty list.
func TestNeutralValuesAreNotRefused(t *testing.T) {
	server, _ := serve(t, Config{}, inferencetest.StreamText("x"))
	for _, fields := range []string{
		`"n":1`, `"logit_bias":{}`, `"logit_bias":null`, `"tools":[]`, `"tools":null,"tool_choice":null`, `"stop":null`, `"stop":[]`,
		`"modalities":["text"]`, `"modalities":null`, `"response_format":{"type":"text"}`, `"response_format":null`, `"user":"u"`, `"store":false`,
		`"metadata":{}`, `"metadata":{"a":"b"}`, `"service_tier":"auto"`, `"parallel_tool_calls":true`, `"functions":[]`, `"audio":null`,
		`"stream":false`, `"stream_options":null`, `"logprobs":false`, `"top_logprobs":0`, `"presence_penalty":0`, `"seed":null`,
		`"max_tokens":null`, `"max_completion_tokens":null`, `"prediction":null`, `"web_search_options":null`, `"reasoning_effort":null`,
		`"structured_outputs":{}`, `"chat_template_kwargs":{}`, `"temperature":null`, `"top_p":1`, `"moderation":null`, `"priority":0`,
		`"tool_choice":"none"`, `"tool_choice":"auto"`, `"tools":[],"tool_choice":"none"`, `"tools":[],"tool_choice":"auto"`, `"tools":null,"tool_choice":"auto"`, `"tool_choice":{}`, `"function_call":"auto"`, `"function_call":"none"`, `"parallel_tool_calls":false`,
		`"prompt_logprobs":null`, `"use_beam_search":false`, `"documents":[]`, `"chat_template_kwargs":{"add_generation_prompt":true,"tools":null}`,
		`"safety_identifier":"x"`, `"prompt_cache_key":"x"`, `"verbosity":"medium"`, `"length_penalty":1`, `"add_generation_prompt":true`,
	} {
		if resp, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(fields)); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", fields, resp.StatusCode, body)
		}
	}
}

// TestRefusalsAreShort checks that an error response to a chat request truncates long strings from
// the request.
func TestRefusalsAreShort(t *testing.T) {
	tier.Computes(t)
	server, _ := serve(t, Config{Strict: true}, inferencetest.StreamText("x"))
	long := strings.Repeat("é", 1<<19)
	for _, fields := range []string{
		`"` + long + `":1`, `"logit_bias":{"` + long + `":1}`, `"metadata":{"` + long + `":1}`, `"metadata":{"` + long + `":"","` + long + `":""}`,
		`"structured_outputs":{"` + long + `":1}`, `"guided_json":{"properties":{"` + long + `":{"type":5}}}`, `"guided_json":{"$ref":"` + long + `"}`,
		`"chat_template_kwargs":{"documents":"` + long + `"}`,
	} {
		resp, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(fields))
		var answer struct{ Error wire.Error }
		if err := json.Unmarshal([]byte(body), &answer); err != nil || resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%.40s: %d %.200s %v", fields, resp.StatusCode, body, err)
		}
		if e := answer.Error; len(e.Message) > budget.MessageBytes || len(decode.Value(e.Param)) > budget.NameBytes || strings.ContainsRune(e.Message, utf8.RuneError) {
			t.Errorf("%.40s: message of %d bytes, param of %d: %.100s", fields, len(e.Message), len(decode.Value(e.Param)), e.Message)
		}
	}
}

// TestLimitErrorNamesTheClientsField tests that errors about the core's max_tokens name
// the field that the client used, also in streams.
func TestLimitErrorNamesTheClientsField(t *testing.T) {
	failing := func(context.Context, *kserve.ModelInferRequest, func(*inference.Response) bool) error {
		return inference.Invalid("max_tokens", "max_tokens is too many")
	}
	server, _ := serve(t, Config{}, failing)
	for _, fields := range []string{``, `,"stream":true`} {
		for _, name := range []string{"max_tokens", "max_completion_tokens"} {
			resp, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(`"`+name+`":5`+fields))
			want := `{"error":{"message":"` + name + ` is too many","type":"invalid_request_error","param":"` + name + `","code":"invalid_value"}}`
			if resp.StatusCode != http.StatusBadRequest || body != want {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		}
	}
}

func TestUnknownFields(t *testing.T) {
	server, _ := serve(t, Config{}, inferencetest.StreamText("x"))
	resp, _ := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(`"zebra":1,"apple":{"a":[1]}`))
	if got := resp.Header.Get("X-Trident-Ignored-Fields"); resp.StatusCode != http.StatusOK || got != "apple, zebra" {
		t.Errorf("%d %q", resp.StatusCode, got)
	}
	server, _ = serve(t, Config{Strict: true}, inferencetest.StreamText("x"))
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, ask(`"zebra":1`))
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"param":"zebra"`) {
		t.Errorf("strict: %d %s", resp.StatusCode, body)
	}
}

// TestIncompleteBody checks that a client that disconnects while it sends a request body doesn't
// cause an error with status 500.
func TestIncompleteBody(t *testing.T) {
	server, engine := serve(t, Config{}, inferencetest.StreamText("x"))
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
