package responses_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/openai/internal/wire"
	"github.com/trident-inference/trident/services/openai/openaitest"
)

func TestResponseErrors(t *testing.T) {
	call := `{"type":"function_call","call_id":"c","name":"f","arguments":%q}`
	server, engine := serveResponses(t, openai.Default(), inferencetest.StreamText("x"))
	for _, tt := range []struct {
		name, fields         string
		status               int
		param, code, message string
	}{
		{"no input", `"stream":false`, 400, "input", "invalid_value", "input is required"},
		{"no items", `"input":[]`, 400, "input", "invalid_value", "input is required"},
		{"null", `"input":null`, 400, "input", "invalid_value", "input is required"},
		{"a number", `"input":4`, 400, "input", "invalid_value", "input must be a string or a list of items, got 4"},
		{"an embedding model", `"input":"x","model":"embedding"`, 400, "model", "unsupported_parameter", "embedding"},
		{"an unknown model", `"input":"x","model":"none"`, 404, "model", "model_not_found", "`none`"},
		{"no item", `"input":["x"]`, 400, "input[0]", "invalid_value", "must be an object"},
		{"an item without a type", `"input":[{}]`, 400, "input[0].type", "invalid_value", "required"},
		{"an unknown item", `"input":[{"type":"magic_call"}]`, 400, "input[0].type", "unsupported_parameter", `"magic_call" is not supported`},
		{"an item that shortens the input", `"input":[{"type":"compaction_trigger"}]`, 400, "input[0].type", "unsupported_parameter", "fewer items"},
		{"added tools without tools", `"input":[{"type":"additional_tools"}]`, 400, "input[0].tools", "invalid_value", "input[0].tools is required"},
		{"an unknown added tool", `"input":[{"type":"additional_tools","tools":[{"type":"magic"}]}]`, 400, "input[0].tools[0].type", "invalid_value", `got "magic"`},
		{"an added tool without a name", `"input":[{"type":"additional_tools","tools":[{"type":"namespace","name":"n","tools":[{"type":"function"}]}]}]`, 400, "input[0].tools[0].tools[0].name", "invalid_value", "is required"},
		{"an unknown role", `"input":[{"role":"tool","content":"x"}]`, 400, "input[0].role", "invalid_value", "user, system, developer or assistant"},
		{"no content", `"input":[{"role":"user"}]`, 400, "input[0].content", "invalid_value", "required"},
		{"a part of chats", `"input":[{"role":"user","content":[{"type":"text","text":"x"}]}]`, 400, "input[0].content[0].type", "invalid_value", "input_text, input_image or input_file"},
		{"a picture", `"input":[{"role":"user","content":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"data:x"}]}]`, 400, "input[0].content[1]", "unsupported_parameter", "image"},
		{"a picture from a function", `"instructions":"x","input":[` + fmt.Sprintf(call, "") + `,{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"data:x"}]}]`, 400, "input[1].output[0]", "unsupported_parameter", "image"},
		{"a kept picture", `"input":[{"role":"user","content":[{"type":"input_image","file_id":"f"}]}]`, 400, "input[0].content[0].image_url", "unsupported_parameter", "the server stores no files"},
		{"a document", `"input":[{"role":"user","content":[{"type":"input_file","file_id":"f"}]}]`, 400, "input[0].content[0]", "unsupported_parameter", "is a file"},
		{"hidden reasoning", `"input":[{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"}]`, 400, "input", "invalid_value", "nothing that the model can read"},
		{"an unknown item to refer to", `"input":[{"type":"item_reference","id":"msg_x"}]`, 404, "input[0].id", "item_not_found", `"msg_x"`},
		{"an item by its id alone", `"input":[{"id":"msg_x"}]`, 404, "input[0].id", "item_not_found", `"msg_x"`},
		{"an unknown response", `"previous_response_id":"resp_x"`, 404, "previous_response_id", "previous_response_not_found", `"resp_x"`},
		{"background", `"input":"x","background":true`, 400, "background", "unsupported_parameter", "background"},
		{"conversation", `"input":"x","conversation":"conv_1"`, 400, "conversation", "unsupported_parameter", "previous_response_id"},
		{"conversation object", `"input":"x","conversation":{"id":"conv_1"}`, 400, "conversation", "unsupported_parameter", "previous_response_id"},
		{"prompt", `"input":"x","prompt":{"id":"p"}`, 400, "prompt", "unsupported_parameter", "prompt"},
		{"context_management", `"input":"x","context_management":[{"type":"compaction"}]`, 400, "context_management", "unsupported_parameter", "fewer items"},
		{"moderation", `"input":"x","moderation":{"model":"m"}`, 400, "moderation", "unsupported_parameter", "moderation"},
		{"truncation", `"input":"x","truncation":"auto"`, 400, "truncation", "unsupported_parameter", "fewer items"},
		{"effort", `"input":"x","reasoning":{"effort":"high"}`, 400, "reasoning.effort", "unsupported_parameter", "effort"},
		{"summary", `"input":"x","reasoning":{"summary":"short"}`, 400, "reasoning.summary", "invalid_value", "auto, concise or detailed"},
		{"mode", `"input":"x","reasoning":{"mode":"pro"}`, 400, "reasoning.mode", "unsupported_parameter", "only standard"},
		{"format", `"input":"x","text":{"format":{"type":"xml"}}`, 400, "text.format.type", "invalid_value", "json_schema"},
		{"no schema", `"input":"x","text":{"format":{"type":"json_schema","name":"x"}}`, 400, "text.format.schema", "invalid_value", "text.format.schema is required"},
		{"a null schema", `"input":"x","text":{"format":{"type":"json_schema","name":"x","schema":null}}`, 400, "text.format.schema", "invalid_value", "text.format.schema is required"},
		{"schema", `"input":"x","text":{"format":{"type":"json_schema","name":"x","schema":{"type":"nonsense"}}}`, 400, "text.format.schema", "invalid_value", "text.format.schema is not a valid JSON schema"},
		{"two forms", `"input":"x","text":{"format":{"type":"json_object"}},"guided_regex":"a"`, 400, "guided_regex", "invalid_value", "together"},
		{"a tool of an MCP server", `"input":"x","tools":[{"type":"mcp","server_label":"l","server_url":"http://h"}]`, 400, "tools[0].type", "unsupported_parameter", "Configure the MCP server in the client, which then sends its tools as functions"},
		{"an added tool of an MCP server", `"input":[{"type":"additional_tools","tools":[{"type":"mcp","server_label":"l"}]}]`, 400, "input[0].tools[0].type", "unsupported_parameter", "Configure the MCP server in the client"},
		{"a custom tool without a name", `"input":"x","tools":[{"type":"custom"}]`, 400, "tools[0].name", "invalid_value", "tools[0].name is required"},
		{"a grammar of an unknown syntax", `"input":"x","tools":[{"type":"custom","name":"f","format":{"type":"grammar","syntax":"ebnf","definition":""}}]`, 400, "tools[0].format.syntax", "invalid_value", "lark or regex"},
		{"a forced function without a name, after a tool that is left out", `"input":"x","tools":[{"type":"web_search"},{"type":"function","name":""}],"tool_choice":"required"`, 400, "tools[1]", "invalid_value", "tools[1] must be a function with a name"},
		{"a namespace in a namespace", `"input":"x","tools":[{"type":"namespace","name":"n","tools":[{"type":"namespace","name":"m","tools":[]}]}]`, 400, "tools[0].tools[0].type", "invalid_value", `"namespace"`},
		{"an unknown tool", `"input":"x","tools":[{"type":"magic"}]`, 400, "tools[0].type", "invalid_value", `got "magic"`},
		{"a tool of chats", `"input":"x","tools":[{"type":"function","function":{"name":"f"}}]`, 400, "tools[0].name", "invalid_value", "tools[0].name is required"},
		{"a demanded tool's schema", `"input":"x","tool_choice":"required","tools":[{"type":"function","name":"f","parameters":{"type":"nonsense"}}]`, 400, "tools[0].parameters", "invalid_value", "not a valid JSON schema"},
		{"an unknown choice", `"input":"x","tool_choice":"maybe"`, 400, "tool_choice", "invalid_value", "none, auto or required"},
		{"a hosted choice", `"input":"x","tool_choice":{"type":"file_search"}`, 400, "tool_choice.type", "unsupported_parameter", `"file_search"`},
		{"a choice of a tool that was left out", `"input":"x","tool_choice":{"type":"web_search"},"tools":[{"type":"web_search"}]`, 400, "tool_choice.type", "unsupported_parameter", `"web_search"`},
		{"a required call of tools that were left out", `"input":"x","tool_choice":"required","tools":[{"type":"web_search"}]`, 400, "tool_choice", "invalid_value", "no tools"},
		{"allowed tools that are none", `"input":"x","tool_choice":{"type":"allowed_tools","mode":"auto","tools":[]}`, 400, "tool_choice.tools", "invalid_value", "at least one tool"},
		{"allowed tools that are unknown", `"input":"x","tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]}`, 400, "tool_choice.tools[0].name", "invalid_value", `"f", which is not in tools`},
		{"allowed tools without a name", `"input":"x","tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function"}]}`, 400, "tool_choice.tools[0].name", "invalid_value", "required"},
		{"allowed tools of another kind", `"input":"x","tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"mcp","server_label":"s"}]}`, 400, "tool_choice.tools[0].type", "unsupported_parameter", "function or custom"},
		{"allowed tools without a mode", `"input":"x","tool_choice":{"type":"allowed_tools","tools":[{"type":"function","name":"f"}]}`, 400, "tool_choice.mode", "invalid_value", "auto or required"},
		{"a choice without a name", `"input":"x","tool_choice":{"type":"function"}`, 400, "tool_choice.name", "invalid_value", "required"},
		{"a choice among no tools", `"input":"x","tool_choice":"required"`, 400, "tool_choice", "invalid_value", "no tools"},
		{"logprobs that nothing includes", `"input":"x","top_logprobs":2`, 400, "top_logprobs", "invalid_value", "include"},
		{"an unknown include", `"input":"x","include":["everything"]`, 400, "include[0]", "invalid_value", "everything"},
		{"stream_options without stream", `"input":"x","stream_options":{"include_obfuscation":false}`, 400, "stream_options", "invalid_value", "stream: true"},
		{"obfuscation", `"input":"x","stream":true,"stream_options":{"include_obfuscation":true}`, 400, "stream_options.include_obfuscation", "unsupported_parameter", "padding"},
		{"more than the context", `"input":"x","max_output_tokens":101`, 400, "max_output_tokens", "context_length_exceeded", "max_output_tokens requests 101"},
		{"min_tokens above the limit", `"input":"x","max_output_tokens":5,"min_tokens":6`, 400, "min_tokens", "invalid_value", "max_output_tokens (5)"},
		{"beam search", `"input":"x","use_beam_search":true`, 400, "use_beam_search", "unsupported_parameter", "beam"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(tt.fields))
			openaitest.WantDocument(t, "ErrorResponse", body)
			var answer struct{ Error wire.Error }
			if err := json.Unmarshal([]byte(body), &answer); err != nil {
				t.Fatal(err)
			}
			e := answer.Error
			if resp.StatusCode != tt.status || decode.Value(e.Param) != tt.param || tt.code != "" && decode.Value(e.Code) != tt.code || !strings.Contains(e.Message, tt.message) {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		})
	}
	if len(engine.Requests()) != 0 {
		t.Error("the engine was asked")
	}
}

func TestNeutralValuesOfResponses(t *testing.T) {
	server, _ := serveResponses(t, openai.Default(), inferencetest.StreamText("x"))
	for _, fields := range []string{
		`"background":false`, `"conversation":null`, `"conversation":{}`, `"prompt":null`, `"prompt":{}`, `"context_management":[]`, `"moderation":null`, `"truncation":"disabled"`, `"truncation":null`,
		`"reasoning":{}`, `"reasoning":null`, `"reasoning":{"effort":null,"summary":null}`, `"reasoning":{"effort":"medium","summary":"auto","generate_summary":"auto","context":"auto","mode":"standard"}`,
		`"text":{}`, `"text":null`, `"text":{"format":null,"verbosity":null}`, `"text":{"format":{"type":"text"},"verbosity":"medium"}`, `"tools":[]`, `"tools":null,"tool_choice":null`,
		`"tool_choice":"auto"`, `"tool_choice":"none"`, `"tools":[],"tool_choice":"auto"`, `"tools":[],"tool_choice":"none"`, `"tools":null,"tool_choice":"none"`, `"tool_choice":{}`, `"include":[]`, `"include":null`, `"include":["reasoning.encrypted_content","file_search_call.results"]`, `"top_logprobs":0`, `"max_tool_calls":1`, `"metadata":{}`,
		`"metadata":null`, `"instructions":null`, `"instructions":""`, `"previous_response_id":null`, `"previous_response_id":""`, `"store":null`, `"service_tier":"ultrafast"`, `"stream":null`, `"stream_options":null`, `"stream_options":{}`,
		`"stream":true,"stream_options":{"include_obfuscation":false}`, `"parallel_tool_calls":true`, `"prompt_cache_retention":"24h"`, `"prompt_cache_options":{"mode":"implicit"}`, `"user":"u"`, `"logit_bias":{}`, `"length_penalty":1`, `"priority":0`,
		`"chat_template_kwargs":{}`, `"tools":[{"type":"function","name":"f","strict":null,"parameters":null,"description":null,"output_schema":null,"defer_loading":false,"allowed_callers":["direct"]}]`,
	} {
		if resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi",`+fields)); resp.StatusCode != http.StatusOK || resp.Header.Get("X-Trident-Ignored-Fields") != "" {
			t.Errorf("%s: %d %v %s", fields, resp.StatusCode, resp.Header, body)
		}
	}
}

// TestErrorsBeforeAndInAResponse tests that an error before the first event has
// its own status. A later error is the last two events.
func TestErrorsBeforeAndInAResponse(t *testing.T) {
	failure := &inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonEngineGone, Message: "Triton went away"}
	failing := func(after int) inferencetest.Script {
		return func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
			for range after {
				send(inferencetest.Token("x", ""))
			}
			return failure
		}
	}
	const object = `{"message":"Triton went away","type":"server_error","param":null,"code":"engine_unavailable"}`
	for _, stream := range []string{"true", "false"} {
		server, _ := serveResponses(t, openai.Default(), failing(0))
		resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","stream":`+stream))
		if resp.StatusCode != http.StatusServiceUnavailable || body != `{"error":`+object+`}` {
			t.Errorf("stream %s: %d %s", stream, resp.StatusCode, body)
		}
	}
	server, _ := serveResponses(t, openai.Default(), failing(2))
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","stream":true`))
	list := typedEvents(t, body)
	failed, event := list[len(list)-1], list[len(list)-2]
	if want := `{"type":"error","code":"engine_unavailable","message":"Triton went away","param":null,"error":` + object + fmt.Sprintf(`,"sequence_number":%d}`, event.Sequence); resp.StatusCode != http.StatusOK || event.raw != want {
		t.Errorf("%d %s", resp.StatusCode, event.raw)
	}
	response := whole(t, string(failed.Response))
	if got := string(openaitest.JSON(t, response["error"])); failed.Type != "response.failed" || response["status"] != "failed" || got != `{"code":"server_error","message":"Triton went away"}` {
		t.Errorf("%s", failed.raw)
	}
	var id struct{ ID string }
	if err := json.Unmarshal(failed.Response, &id); err != nil {
		t.Fatal(err)
	}
	if resp, body := openaitest.Do(t, http.MethodGet, server.URL+responsePath+"/"+id.ID, ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a failed response is kept: %s", body)
	}
}
