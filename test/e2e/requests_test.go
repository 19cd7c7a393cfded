package e2e

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// marker is a string in clients' messages that must never reach the log.
const marker = "xyzzy-top-secret-prompt"

// bad is an invalid request and its expected response.
type bad struct {
	name   string
	method string // HTTP method of the request; empty means POST
	path   string // path of the request; empty means chat completions
	body   any    // body of the request, in a form that [trident.request] accepts
	header []string

	status  int
	code    string // expected code of the error; "null" for no code
	param   string // expected param of the error; "null" for no param
	message string // expected part of the error's message
}

// badRequests returns requests with bodies that are invalid in one place each.
func badRequests() []bad {
	chat := func(more ...any) object { return ask(marker, more...) }
	invalid := func(name, param, message string, body any) bad {
		return bad{name: name, body: body, status: 400, code: "invalid_value", param: param, message: message}
	}
	unsupported := func(name, param, message string, body any) bad {
		return bad{name: name, body: body, status: 400, code: "unsupported_parameter", param: param, message: message}
	}
	embedding := func(name, param, message string, body any) bad {
		b := invalid(name, param, message, body)
		b.path = "/v1/embeddings"
		return b
	}
	unknown := func(name, path string, body any) bad {
		return bad{name: name, path: path, body: body, status: 404, code: "model_not_found", param: "model", message: "no-such-model"}
	}
	return []bad{
		invalid("empty body", "null", "empty", ""),
		invalid("not JSON", "null", "JSON object", marker),
		invalid("truncated", "null", "not valid JSON", `{"model": "chat", "messages": [{"role": "user", "content": "`+marker),
		invalid("truncated after a value", "null", "not valid JSON", `{"model": "chat"`),
		invalid("more after the value", "null", "not valid JSON", `{"model": "chat", "messages": [{"role": "user", "content": "hi"}]} `+marker),
		invalid("not UTF-8", "null", "UTF-8", "{\"model\": \"chat\", \"messages\": [{\"role\": \"user\", \"content\": \"\xff\"}]}"),
		invalid("a list", "null", "object", `["`+marker+`"]`),
		invalid("duplicate key", "model", "twice", `{"model": "chat", "model": "chat", "messages": []}`),
		invalid("no model", "model", "required", object{"messages": chat()["messages"]}),
		invalid("model is a number", "model", "a string", chat("model", 7)),
		invalid("no messages", "messages", "required", object{"model": "chat"}),
		invalid("empty messages", "messages", "at least 1", chat("messages", []object{})),
		invalid("messages is text", "messages", "a list", chat("messages", marker)),
		invalid("messages is an object", "messages", "a list", chat("messages", object{"content": marker})),
		invalid("message is text", "messages[0]", "an object", chat("messages", []string{marker})),
		invalid("no role", "messages[0].role", "required", chat("messages", []object{{"content": marker}})),
		invalid("bad role", "messages[1].role", "system", chat("messages", []object{
			{"role": "user", "content": marker}, {"role": "wizard", "content": marker},
		})),
		invalid("no content", "messages[0].content", "required", chat("messages", []object{{"role": "user"}})),
		invalid("content is a number", "messages[0].content", "a string", chat("messages", []object{{"role": "user", "content": 5}})),
		invalid("content is an object", "messages[0].content", "a string", chat("messages", []object{{"role": "user", "content": object{"text": marker}}})),
		invalid("text part is a number", "messages[0].content[0].text", "a string", chat("messages", []object{
			{"role": "user", "content": []object{{"type": "text", "text": 5}}},
		})),
		invalid("temperature is text", "temperature", "a number", chat("temperature", "hot")),
		invalid("temperature too high", "temperature", "at most 2", chat("temperature", 2.1)),
		invalid("temperature below 0", "temperature", "at least 0", chat("temperature", -0.1)),
		invalid("temperature beyond floats", "temperature", "too large", `{"model": "chat", "temperature": 1e999, "messages": [{"role": "user", "content": "hi"}]}`),
		invalid("top_p above 1", "top_p", "at most 1", chat("top_p", 1.5)),
		invalid("n is 0", "n", "at least 1", chat("n", 0)),
		invalid("n too high", "n", "at most 128", chat("n", 129)),
		invalid("n is a fraction", "n", "an integer", chat("n", 1.5)),
		invalid("top_logprobs too high", "top_logprobs", "at most 20", chat("logprobs", true, "top_logprobs", 21)),
		invalid("top_logprobs without logprobs", "top_logprobs", "logprobs", chat("top_logprobs", 2)),
		invalid("max_tokens is 0", "max_tokens", "at least 1", chat("max_tokens", 0)),
		invalid("frequency_penalty too high", "frequency_penalty", "at most 2", chat("frequency_penalty", 3)),
		invalid("five stop texts", "stop", "4", chat("stop", []string{"a", "b", "c", "d", "e"})),
		invalid("stream is text", "stream", "true or false", chat("stream", "yes")),
		invalid("stream_options without stream", "stream_options", "stream", chat("stream_options", object{"include_usage": true})),
		invalid("bad JSON schema", "response_format.json_schema.schema", "schema", chat("response_format", object{
			"type": "json_schema", "json_schema": object{"name": "x", "schema": object{"type": "nonsense"}},
		})),
		invalid("bad response_format", "response_format.type", "json_schema", chat("response_format", object{"type": "xml"})),
		invalid("forced call without tools", "tool_choice", "no tools", chat("tool_choice", "required")),
		invalid("tools", "tools[0].type", "function", chat("tools", []object{{"type": "file_search"}})),
		unsupported("audio", "audio", "audio", chat("modalities", []string{"text"}, "audio", object{"voice": "alloy", "format": "wav"})),
		unsupported("an image", "messages[0].content[0]", "image_url", chat("messages", []object{{"role": "user", "content": []object{
			{"type": "image_url", "image_url": object{"url": "data:image/png;base64,AA=="}},
		}}})),
		unsupported("logit_bias", "logit_bias", "logit_bias", chat("logit_bias", object{"5": 10})),
		unsupported("a sampling field that this model lacks", "min_tokens", "min_tokens", chat("min_tokens", 3, "max_tokens", 9)),
		unknown("unknown model", "", chat("model", "no-such-model")),
		unknown("unknown model, streaming", "", chat("model", "no-such-model", "stream", true)),
		unknown("unknown model with a slash", "", chat("model", "org/no-such-model")),
		unknown("unknown embedding model", "/v1/embeddings", object{"model": "no-such-model", "input": marker}),
		unsupported("chat with the embedding model", "model", "embedding", chat("model", "embedding")),
		{
			name: "embedding with the chat model", path: "/v1/embeddings", body: object{"model": "chat", "input": marker},
			status: 400, code: "unsupported_parameter", param: "model", message: "chat",
		},
		embedding("no input", "input", "required", object{"model": "embedding"}),
		embedding("empty input", "input", "empty", object{"model": "embedding", "input": ""}),
		embedding("empty list", "input", "empty", object{"model": "embedding", "input": []string{}}),
		embedding("empty text in a list", "input[1]", "empty", object{"model": "embedding", "input": []string{marker, ""}}),
		embedding("text among token ids", "input[1]", "a token id", object{"model": "embedding", "input": []any{5, marker}}),
		embedding("input is an object", "input", "must have a text or an image", object{"model": "embedding", "input": object{"prompt": marker}}),
		embedding("dimensions is 0", "dimensions", "at least 1", object{"model": "embedding", "input": marker, "dimensions": 0}),
		embedding("too many dimensions", "dimensions", "384", object{"model": "embedding", "input": marker, "dimensions": 385}),
		embedding("bad encoding_format", "encoding_format", "base64", object{"model": "embedding", "input": marker, "encoding_format": "hex"}),
		embedding("a token id beyond the vocabulary", "input", "check_embedding_ctx_length=False", object{"model": "embedding", "input": []int{5, 99999}}),
		{
			name: "too long to embed", path: "/v1/embeddings", body: object{"model": "embedding", "input": strings.Repeat(marker+" ", 300)},
			status: 400, code: "context_length_exceeded", param: "input", message: "256",
		},
		{
			name: "compressed", body: marker, header: []string{"Content-Encoding", "gzip"},
			status: 415, code: "unsupported_content_encoding", param: "null", message: "Content-Encoding",
		},
		{name: "too large", body: hugeBody(), status: 413, code: "content_too_large", param: "null", message: "67108864"},
		{name: "too large, chunked", body: struct{ io.Reader }{hugeBody()}, status: 413, code: "content_too_large", param: "null", message: "67108864"},
		{name: "unknown path", path: "/v1/nothing", body: chat(), status: 404, code: "unknown_url", param: "null", message: "/v1"},
		{name: "the root of the API", method: http.MethodGet, path: "/v1", status: 404, code: "unknown_url", param: "null", message: "/v1"},
		{name: "wrong method", method: http.MethodGet, path: "/v1/chat/completions", status: 405, code: "method_not_allowed", param: "null", message: "POST"},
		{name: "wrong method on models", method: http.MethodDelete, path: "/v1/models", status: 405, code: "method_not_allowed", param: "null", message: "GET"},
		{
			name: "unknown model to describe", method: http.MethodGet, path: "/v1/models/no-such-model",
			status: 404, code: "model_not_found", param: "model", message: "no-such-model",
		},
		{
			name: "unknown model with slashes to describe", method: http.MethodGet, path: "/v1/models/org/no-such-model",
			status: 404, code: "model_not_found", param: "model", message: "org/no-such-model",
		},
		{
			name: "unknown model with an escaped slash to describe", method: http.MethodGet, path: "/v1/models/org%2Fno-such-model",
			status: 404, code: "model_not_found", param: "model", message: "org/no-such-model",
		},
		{
			name: "a page of another site", body: chat(), header: []string{"Origin", "https://evil.example"},
			status: 403, code: "origin_not_allowed", param: "null", message: "--cors-origin",
		},
	}
}

// hugeBody returns a chat of 65 MiB, 1 MiB above the server's limit.
func hugeBody() *strings.Reader {
	return strings.NewReader(`{"model":"chat","messages":[{"role":"user","content":"` + strings.Repeat(marker+" ", 65<<20/(len(marker)+1)) + `"}]}`)
}

// TestBadRequests checks each refusal's status, type, code, param and message. Each leaves one line
// in the log, without any part of the prompt.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := serving(t)
	for _, test := range badRequests() {
		t.Run(test.name, func(t *testing.T) {
			if test.method == "" {
				test.method = http.MethodPost
			}
			if test.path == "" {
				test.path = "/v1/chat/completions"
			}
			mark := s.log.len()
			id := fmt.Sprint("bad-", rand.Uint64())
			a := s.do(t, test.method, test.path, test.body, append(slices.Clip(test.header), "X-Request-Id", id)...)
			e := a.want(t, test.status).failure(t)
			if text(e.Type) != "invalid_request_error" || text(e.Code) != test.code || text(e.Param) != test.param {
				t.Errorf("type %s, code %s, param %s; want code %s, param %s", text(e.Type), text(e.Code), text(e.Param), test.code, test.param)
			}
			if !strings.Contains(text(e.Message), test.message) {
				t.Errorf("message %q, want %q in it", text(e.Message), test.message)
			}
			if got := a.header.Get("X-Request-Id"); got != id {
				t.Errorf("x-request-id %q, want %q", got, id)
			}
			checkOneLine(t, s, mark, id, test.status)
			if _, once := test.body.(io.Reader); !once {
				checkSameEachTime(t, s, &test, a)
			}
		})
	}
	s.chat(t, ask("Hello.", "max_tokens", 2)) // the server still serves
}

// checkSameEachTime repeats an invalid request and checks that the response is the same.
func checkSameEachTime(t *testing.T, s *trident, test *bad, first answer) {
	t.Helper()
	const times = 20
	for range times - 1 {
		again := s.do(t, test.method, test.path, test.body, test.header...)
		if again.status != first.status || !bytes.Equal(again.body, first.body) {
			t.Fatalf("%d %s, at first %d %s", again.status, again.body, first.status, first.body)
		}
	}
}

// checkOneLine waits for a request's line in the log, and returns it. It must be the request's only
// line since the mark, and no line since then may contain any of the client's text.
func checkOneLine(t *testing.T, s *trident, mark int, id string, status int) logLine {
	t.Helper()
	line, ok := s.log.await(stopLimit, s.exited, func(l logLine) bool { return l["request_id"] == id })
	if !ok {
		t.Fatalf("no line of %s in the log", id)
	}
	if line["msg"] != "request" || line["status"] != float64(status) {
		t.Errorf("the log line is %v", line)
	}
	since := s.log.since(mark)
	for _, l := range since {
		if strings.Contains(fmt.Sprint(l), marker) {
			t.Errorf("the client's text is in the log: %v", l)
		}
	}
	other := func(l logLine) bool { return l["request_id"] != nil && l["request_id"] != id } // parallel tests write these lines
	if lines := slices.DeleteFunc(since, other); len(lines) != 1 {
		t.Errorf("%d lines, want 1: %v", len(lines), lines)
	}
	return line
}

func TestUnknownFields(t *testing.T) {
	t.Parallel()
	s := serving(t)
	body := func() object {
		return ask("Hello.", "max_tokens", 2, "zeta", marker, "Model", "other", "user", "me", "metadata", object{"a": "b"})
	}
	a := s.post(t, "/v1/chat/completions", body(), "X-Request-Id", "unknown-fields").want(t, http.StatusOK)
	if got := a.header.Get("X-Trident-Ignored-Fields"); got != "Model, zeta" {
		t.Errorf("x-trident-ignored-fields %q", got)
	}
	line, _ := s.log.await(stopLimit, s.exited, func(l logLine) bool { return l["request_id"] == "unknown-fields" })
	if logged := fmt.Sprint(line); fmt.Sprint(line["ignored_fields"]) != "[Model zeta]" || strings.Contains(logged, marker) {
		t.Errorf("the log has %s", logged)
	}
	if a := s.post(t, "/v1/chat/completions", ask("Hello.", "max_tokens", 2)); a.header.Values("X-Trident-Ignored-Fields") != nil {
		t.Errorf("x-trident-ignored-fields without such fields: %q", a.header)
	}
	t.Run("strict", func(t *testing.T) {
		strict := startReady(t, "--strict")
		e := strict.post(t, "/v1/chat/completions", body()).want(t, http.StatusBadRequest).failure(t)
		if text(e.Param) != "Model" || text(e.Code) != "unsupported_parameter" {
			t.Errorf("param %s, code %s", text(e.Param), text(e.Code))
		}
		strict.chat(t, ask("Hello.", "max_tokens", 2, "user", "me", "store", false))
	})
}

// TestRequestLog checks that a successful POST /v1/chat/completions has one log line, with the
// model, the token counts and the duration. The line of a stream also has the time to first token.
func TestRequestLog(t *testing.T) {
	t.Parallel()
	s := serving(t)
	for _, stream := range []bool{false, true} {
		mark, id := s.log.len(), "served-"+strconv.FormatBool(stream)
		s.post(t, "/v1/chat/completions", ask(marker, "max_tokens", 4, "ignore_eos", true, "stream", stream), "X-Request-Id", id).want(t, http.StatusOK)
		line := checkOneLine(t, s, mark, id, http.StatusOK)
		if line["model"] != "chat" || line["completion_tokens"] != 4.0 || line["prompt_tokens"] == 0.0 || line["duration"] == nil {
			t.Errorf("the log line is %v", line)
		}
		if stream && line["first_token"] == nil {
			t.Errorf("the log line has no time to first token: %v", line)
		}
	}
}
