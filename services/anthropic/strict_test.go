package anthropic

import (
	"net/http"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
)

// TestStrictTools checks that the arguments of strict tools are constrained by their schemas where the engine
// enforces structural tags, and that the header names the tool by its place in the request elsewhere.
func TestStrictTools(t *testing.T) {
	const tools = `,"tools":[{"type":"bash_20250124","name":"bash"},{"name":"a","input_schema":{}},` +
		`{"name":"f","strict":true,"input_schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]`
	for _, test := range []struct{ backend, parser, ignored, sent, absent string }{
		{"xgrammar", "hermes", "tools[0]", `city`, ""},
		{"auto", "hermes", "tools[0], tools[2].strict", "max_tokens", "city"},
		{"xgrammar", "llama3_json", "tools[0], tools[2].strict", "max_tokens", "city"},
	} {
		params := abilities()
		params["trident.structured_outputs"], params["trident.tool_call_parser"] = test.backend, test.parser
		f := serve(t, Config{}, inferencetest.StreamText("x"), params)
		answer := f.post(t, "/v1/messages", request(`[{"role":"user","content":"a"}]`, tools))
		if got := answer.Header().Get("X-Trident-Ignored-Fields"); answer.Code != http.StatusOK || got != test.ignored {
			t.Errorf("%s, %s: %d, ignored %q, want %q", test.backend, test.parser, answer.Code, got, test.ignored)
		}
		sent := inferencetest.Input(f.engine.Requests()[0], "sampling_parameters")
		if !strings.Contains(sent, test.sent) || test.absent != "" && strings.Contains(sent, test.absent) {
			t.Errorf("%s, %s: sent %s", test.backend, test.parser, sent)
		}
	}
	strict := serve(t, Config{Strict: true}, inferencetest.StreamText("x"), abilities())
	answer := strict.post(t, "/v1/messages", request(`[{"role":"user","content":"a"}]`, `,"tools":[{"name":"f","strict":true,"input_schema":{}}]`))
	if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), "tools[0].strict has no effect: ") || len(strict.engine.Requests()) != 0 {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

// TestManyStopSequences checks that the last of the maximum number of stop sequences ends the answer.
func TestManyStopSequences(t *testing.T) {
	f := serve(t, Config{}, ends("</think>one END two", "stop"), abilities())
	answer := f.post(t, "/v1/messages", request(`[{"role":"user","content":"a"}]`, `,"stop_sequences":[`+strings.Repeat(`"Z",`, 63)+`"END"]`))
	if body := answer.Body.String(); !strings.Contains(body, `"text":"one "`) || !strings.Contains(body, `"stop_sequence":"END"`) {
		t.Error(body)
	}
}
