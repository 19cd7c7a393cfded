package anthropic

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
)

// request returns a body with messages and other fields.
func request(messages, fields string) string {
	return `{"model":"m","max_tokens":5,"messages":` + messages + fields + `}`
}

// pixel is an image in base64.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// TestContent checks the prompt and the ignored fields of each kind of content.
func TestContent(t *testing.T) {
	f := serve(t, Config{}, inferencetest.StreamText("x"), abilities())
	sealed, err := f.seals.Seal("I thought", "")
	if err != nil {
		t.Fatal(err)
	}
	others, err := f.seals.Seal("not for this client", "other")
	if err != nil {
		t.Fatal(err)
	}
	user := func(blocks string) string { return request(`[{"role":"user","content":[`+blocks+`]}]`, "") }
	turns := func(assistant string) string {
		return request(`[{"role":"user","content":"q"},{"role":"assistant","content":[`+assistant+`]},{"role":"user","content":"r"}]`, "")
	}
	const text, end = `{"type":"text","text":"a"}`, "<assistant>"
	for _, test := range []struct{ name, body, prompt, ignored string }{
		{"text", request(`[{"role":"user","content":"a"}]`, ""), "<user>a</>" + end, ""},
		{"a block", user(text), "<user>a</>" + end, ""},
		{"cache hints", user(`{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"},"citations":null}`), "<user>a</>" + end, ""},
		{"unknown member", user(`{"type":"text","text":"a","zeta":1}`), "<user>a</>" + end, "messages[0].content[0].zeta"},
		{"unknown block", user(text + `,{"type":"container_upload","file_id":"f"}`), "<user>a</>" + end, "messages[0].content[1]"},
		{"blocks", user(text + `,{"type":"text","text":"b"}`), "<user>a\nb</>" + end, ""},
		{"system text", request(`[{"role":"user","content":"a"}]`, `,"system":"s"`), "<system>s</><user>a</>" + end, ""},
		{"system blocks", request(`[{"role":"user","content":"a"}]`, `,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]`), "<system>s</><user>a</>" + end, ""},
		{"empty system", request(`[{"role":"user","content":"a"}]`, `,"system":""`), "<user>a</>" + end, ""},
		{"system in the middle", request(`[{"role":"user","content":"a"},{"role":"system","content":"s"}]`, ""), "<user>a</><system>s</>" + end, ""},
		{"billing block", request(`[{"role":"user","content":"a"}]`, `,"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=1; cch=0;"},{"type":"text","text":"s"}]`), "<system>s</><user>a</>" + end, "system[0]"},
		{"billing line", request(`[{"role":"user","content":"a"}]`, `,"system":"x-anthropic-billing-header: a\ns"`), "<system>s</><user>a</>" + end, "system"},
		{"billing message", request(`[{"role":"user","content":"a"},{"role":"system","content":"x-anthropic-billing-header: a"}]`, ""), "<user>a</>" + end, "messages[1].content"},
		{"document", user(`{"type":"document","title":"T","context":"C","source":{"type":"text","media_type":"text/plain","data":"d"}}`), "<user><document>\n<title>T</title>\n<context>C</context>\nd\n</document></>" + end, ""},
		{"document of blocks", user(`{"type":"document","source":{"type":"content","content":[{"type":"text","text":"d"}]},"citations":{"enabled":true}}`), "<user><document>\nd\n</document></>" + end, "messages[0].content[0].citations"},
		{"search result with citations", user(`{"type":"search_result","title":"T","source":"S","content":[],"citations":{"enabled":true}},` + text), "<user><search_result>\n<title>T</title>\n<source>S</source>\n\n</search_result>\na</>" + end, "messages[0].content[0].citations"},
		{"search result", user(`{"type":"search_result","title":"T","source":"S","content":[{"type":"text","text":"d"},{"type":"text","text":"e"}]}`), "<user><search_result>\n<title>T</title>\n<source>S</source>\nd\ne\n</search_result></>" + end, ""},
		{"call", turns(`{"type":"text","text":"t"},{"type":"tool_use","id":"i","name":"f","input":{"b":1,"a":[2.50]}}`), `<user>q</><assistant>t[f {"b": 1, "a": [2.5]}]</><user>r</>` + end, ""},
		{"malformed call", turns(`{"type":"tool_use","id":"i","name":"f","input":{"INVALID_JSON":"{\"a\":"}}`), `<user>q</><assistant>[f "{\"a\":"]</><user>r</>` + end, ""},
		{"result", user(`{"type":"tool_result","tool_use_id":"i","content":"out"},` + text), "<tool>out</><user>a</>" + end, ""},
		{"result of blocks", user(`{"type":"tool_result","tool_use_id":"i","content":[{"type":"text","text":"out"}]}`), "<tool>out</>" + end, ""},
		{"empty result", user(`{"type":"tool_result","tool_use_id":"i"}`), "<tool></>" + end, ""},
		{"failed result", user(`{"type":"tool_result","tool_use_id":"i","is_error":true,"content":"no file"}`), "<tool>Error: no file</>" + end, ""},
		{"result with an image", user(`{"type":"tool_result","tool_use_id":"i","content":[{"type":"text","text":"out"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pixel + `"}}]}`), "<tool><1>\nout</>" + end, ""},
		{"failed result with an image", user(`{"type":"tool_result","tool_use_id":"i","is_error":true,"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pixel + `"}}]}`), "<tool><1>\nError: </>" + end, ""},
		{"tool reference", user(`{"type":"tool_result","tool_use_id":"i","content":[{"type":"tool_reference","tool_name":"f"}]}`), "<tool>The tool f is available.</>" + end, ""},
		{"thinking", turns(`{"type":"thinking","thinking":"h","signature":""},{"type":"text","text":"t"}`), "<user>q</><assistant><think>h</think>t</><user>r</>" + end, ""},
		{"thinking with its seal", turns(`{"type":"thinking","thinking":"I thought","signature":"` + sealed + `"},{"type":"text","text":"t"}`), "<user>q</><assistant><think>I thought</think>t</><user>r</>" + end, ""},
		{"another thinking than the sealed", turns(`{"type":"thinking","thinking":"h","signature":"` + sealed + `"},{"type":"text","text":"t"}`), "<user>q</><assistant><think>I thought</think>t</><user>r</>" + end, "messages[1].content[0].thinking"},
		{"thinking with a foreign seal", turns(`{"type":"thinking","thinking":"h","signature":"EqQB"},{"type":"text","text":"t"}`), "<user>q</><assistant><think>h</think>t</><user>r</>" + end, "messages[1].content[0].signature"},
		{"thinking with the seal of another client", turns(`{"type":"thinking","thinking":"h","signature":"` + others + `"},{"type":"text","text":"t"}`), "<user>q</><assistant><think>h</think>t</><user>r</>" + end, "messages[1].content[0].signature"},
		{"sealed thinking", turns(`{"type":"thinking","thinking":"","signature":"` + sealed + `"},{"type":"text","text":"t"}`), "<user>q</><assistant><think>I thought</think>t</><user>r</>" + end, ""},
		{"foreign seal", turns(`{"type":"thinking","thinking":"","signature":"EqQB"},{"type":"text","text":"t"}`), "<user>q</><assistant>t</><user>r</>" + end, "messages[1].content[0].signature"},
		{"redacted", turns(`{"type":"redacted_thinking","data":"` + sealed + `"},{"type":"text","text":"t"}`), "<user>q</><assistant><think>I thought</think>t</><user>r</>" + end, ""},
		{"foreign redacted", turns(`{"type":"redacted_thinking","data":"EmwK"},{"type":"text","text":"t"}`), "<user>q</><assistant>t</><user>r</>" + end, "messages[1].content[0].data"},
		{"server tool", turns(`{"type":"server_tool_use","id":"i","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"i","content":[]},{"type":"text","text":"t"}`), "<user>q</><assistant>t</><user>r</>" + end, "messages[1].content[0]"},
		{"nothing left", turns(`{"type":"server_tool_use","id":"i","name":"web_search","input":{}}`), "<user>q</><user>r</>" + end, "messages[1].content[0]"},
		{"last of the assistant", request(`[{"role":"user","content":"q"},{"role":"assistant","content":"The answer is"}]`, ""), "<user>q</><assistant>The answer is", ""},
		{
			"tools", request(`[{"role":"user","content":"a"}]`, `,"tools":[{"name":"f","description":"d","input_schema":{"type":"object","properties":{"z":{},"a":{}}},"strict":false},{"type":"web_search_20250305","name":"web_search"}]`),
			`[{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"z": {}, "a": {}}}}}]<user>a</>` + end, "tools[1]",
		},
		{
			"extras of tools", request(`[{"role":"user","content":"a"}]`, `,"tools":[{"name":"f","input_schema":{},"defer_loading":true,"eager_input_streaming":true,"input_examples":[{}],"strict":true,"allowed_callers":["code_execution_20250825"]}]`),
			`[{"type": "function", "function": {"name": "f", "parameters": {}, "strict": true}}]<user>a</>` + end, "tools[0].allowed_callers, tools[0].defer_loading, tools[0].eager_input_streaming, tools[0].input_examples, tools[0].strict",
		},
		{"no tools", request(`[{"role":"user","content":"a"}]`, `,"tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"none"}`), "<user>a</>" + end, ""},
		{"unknown fields", request(`[{"role":"user","content":"a"}]`, `,"context_management":{"edits":[]},"speed":"fast"`), "<user>a</>" + end, "context_management, speed"},
		{"metadata", request(`[{"role":"user","content":"a"}]`, `,"metadata":{"user_id":"u"},"service_tier":"auto","cache_control":{"type":"ephemeral"}`), "<user>a</>" + end, ""},
		{"budget of thinking", request(`[{"role":"user","content":"a"}]`, `,"thinking":{"type":"enabled","budget_tokens":1024}`), "<user>a</>" + end, "thinking.budget_tokens"},
		{"thinking without a switch", request(`[{"role":"user","content":"a"}]`, `,"thinking":{"type":"disabled"}`), "<user>a</>" + end, "thinking.type"},
		{"effort without a switch", request(`[{"role":"user","content":"a"}]`, `,"output_config":{"effort":"high"}`), "<user>a</>" + end, "output_config.effort"},
		{"default effort", request(`[{"role":"user","content":"a"}]`, `,"output_config":{"effort":"medium"}`), "<user>a</>" + end, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer := f.post(t, "/v1/messages", test.body)
			if answer.Code != http.StatusOK {
				t.Fatalf("%d %s", answer.Code, answer.Body)
			}
			if got := f.prompt(t); got != test.prompt {
				t.Errorf("the prompt is %q\nwant          %q", got, test.prompt)
			}
			if got := answer.Header().Get("X-Trident-Ignored-Fields"); got != test.ignored {
				t.Errorf("ignored: %q, want %q", got, test.ignored)
			}
		})
	}
}

// TestStrict checks that a strict server refuses what others ignore, names it, and doesn't call the model.
func TestStrict(t *testing.T) {
	f := serve(t, Config{Strict: true}, inferencetest.StreamText("x"), abilities())
	tool := func(members string) string {
		return request(probed, `,"tools":[{"name":"f","input_schema":{},`+members+`}]`)
	}
	block := func(b string) string {
		return request(`[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"text","text":"t"},`+b+`]},{"role":"user","content":"r"}]`, "")
	}
	for _, test := range []struct{ body, beta, message string }{
		{request(probed, `,"speed":"fast"`), "", "speed is an unknown field"},
		{request(probed, `,"context_management":{"edits":[]}`), "", "context_management is an unknown field"},
		{request(probed, `,"system":"x-anthropic-billing-header: a\nb"`), "", "system has the line x-anthropic-billing-header:"},
		{request(probed, ""), "fine-grained-tool-streaming-2025-05-14", "anthropic-beta has no effect"},
		{request(probed, `,"thinking":{"type":"enabled","budget_tokens":2048}`), "", "thinking.budget_tokens has no effect"},
		{request(probed, `,"output_config":{"effort":"high"}`), "", "output_config.effort has no effect"},
		{request(probed, `,"tools":[{"type":"web_search_20250305","name":"web_search"}]`), "", `tools[0] is a tool of the type "web_search_20250305"`},
		{tool(`"defer_loading":true`), "", "tools[0].defer_loading has no effect"},
		{tool(`"eager_input_streaming":true`), "", "tools[0].eager_input_streaming has no effect"},
		{tool(`"input_examples":[{}]`), "", "tools[0].input_examples has no effect"},
		{tool(`"strict":true`), "", "tools[0].strict has no effect"},
		{tool(`"allowed_callers":["code_execution_20250825"]`), "", "tools[0].allowed_callers has no effect"},
		{block(`{"type":"server_tool_use","id":"i","name":"web_search","input":{}}`), "", `messages[1].content[1] is a block of the type "server_tool_use"`},
		{block(`{"type":"thinking","thinking":"h","signature":"EqQB"}`), "", "messages[1].content[1].signature was not sealed by this server"},
		{block(`{"type":"redacted_thinking","data":"EmwK"}`), "", "messages[1].content[1].data was not sealed by this server"},
	} {
		answer := f.post(t, "/v1/messages", test.body, "Anthropic-Beta", test.beta)
		if got := decoded(t, answer.Body.String()); answer.Code != http.StatusBadRequest || !strings.HasPrefix(got, test.message) {
			t.Errorf("%s\n%d %s\nwant %s", test.body, answer.Code, answer.Body, test.message)
		}
	}
	if n := len(f.engine.Requests()); n > 0 {
		t.Errorf("%d requests reached the model", n)
	}
}

// TestRefused checks the errors about each field and each kind of content.
func TestRefused(t *testing.T) {
	f := serve(t, Config{}, inferencetest.StreamText("x"), abilities())
	const hi = `[{"role":"user","content":"a"}]`
	block := func(b string) string { return request(`[{"role":"user","content":[`+b+`]}]`, "") }
	for _, test := range []struct{ body, message string }{
		{`[]`, "the request body must be a JSON object"},
		{`{`, "the request body is not valid JSON"},
		{`{"max_tokens":1,"messages":` + hi + `}`, "model is required"},
		{`{"model":"m","messages":` + hi + `}`, "max_tokens is required"},
		{`{"model":"m","max_tokens":-1,"messages":` + hi + `}`, "max_tokens must be from 0 to 1073741824, got -1"},
		{`{"model":"m","max_tokens":1}`, "messages is required"},
		{request(`[]`, ""), "messages must be a list of at least 1 message"},
		{request(`[{"role":"tool","content":"a"}]`, ""), `messages[0].role must be user, assistant or system, got "tool"`},
		{request(`[{"role":"user"}]`, ""), "messages[0].content is required"},
		{request(`[{"role":"user","content":[7]}]`, ""), "messages[0].content[0] must be an object, got 7"},
		{block(`{"text":"a"}`), "messages[0].content[0].type is required"},
		{block(`{"type":"text"}`), "messages[0].content[0].text is required"},
		{block(`{"type":"container_upload"}`), "messages has nothing that the model can read"},
		{block(`{"type":"tool_use","id":"i","name":"f","input":{}}`), "messages[0].content[0] is a block of the type tool_use, which only messages of the assistant have"},
		{block(`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":""}}`), `messages[0].content[0].source.type must be text or content, got "base64": the server reads no PDF`},
		{block(`{"type":"image","source":{"type":"file","file_id":"f"}}`), `messages[0].content[0].source.type must be base64 or url, got "file"`},
		{block(`{"type":"image","source":{"type":"base64","media_type":"image/tiff","data":""}}`), `messages[0].content[0].source.media_type must be image/jpeg, image/png, image/gif or image/webp`},
		{block(`{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}`), "messages[0].content[0].source"},
		{block(`{"type":"search_result","title":"","source":"","content":[],"citations":{"enabled":1}}`), "messages[0].content[0].citations.enabled must be true or false, got 1"},
		{block(`{"type":"document","source":{"type":"content","content":[{"type":"document","source":{"type":"content","content":"d"}}]}}`), `messages[0].content[0].source.content[0].type must be text or image, got "document"`},
		{block(`{"type":"tool_result","tool_use_id":"i","content":[{"type":"tool_use"}]}`), `messages[0].content[0].content[0].type must be text, image, document, search_result or tool_reference, got "tool_use"`},
		{block(`{"type":"tool_result","content":"a"}`), "messages[0].content[0].tool_use_id is required"},
		{request(`[{"role":"assistant","content":[{"type":"tool_use","id":"i","name":"f","input":"{}"}]}]`, ""), "messages[0].content[0].input must be an object, got a string of 2 bytes"},
		{request(hi, `,"temperature":1.5`), "temperature must be from 0 to 1, got 1.5"},
		{request(hi, `,"stop_sequences":["a"`+strings.Repeat(`,"a"`, 64)+`]`), "stop_sequences may have at most 64 stop sequences, got 65"},
		{request(hi, `,"tools":[{"name":"f"}]`), "tools[0].input_schema is required"},
		{request(hi, `,"tools":[{"type":"web_search_20250305"},{"name":"f","input_schema":{"type":7}}],"tool_choice":{"type":"any"}`), "tools[1].input_schema"},
		{request(hi, `,"tools":[{"name":"f","input_schema":{}},{"type":"bash_20250124","name":"f"},{"name":"g","input_schema":{}},{"name":"f","input_schema":{}}]`), `tools[3].name is the name of tools[0], too: the names of tools must be unique, got "f" twice`},
		{request(hi, `,"tool_choice":{"type":"any"}`), "tool_choice forces a call, but there are no tools"},
		{request(hi, `,"tool_choice":{"type":"tool"}`), "tool_choice.name is required"},
		{request(hi, `,"thinking":{"type":"on"}`), `thinking.type must be enabled, disabled or adaptive, got "on"`},
		{request(hi, `,"output_config":{"format":{"type":"json_schema","schema":{"type":7}}}`), "output_config.format.schema"},
		{request(hi, `,"service_tier":"gold"`), `service_tier must be auto or standard_only, got "gold"`},
	} {
		answer := f.post(t, "/v1/messages", test.body)
		if answer.Code != http.StatusBadRequest || !strings.Contains(decoded(t, answer.Body.String()), test.message) {
			t.Errorf("%s\n%d %s\nwant %s", test.body, answer.Code, answer.Body, test.message)
		}
		wantDocument(t, "ErrorResponse", answer.Body.String())
	}
	if n := len(f.engine.Requests()); n > 0 {
		t.Errorf("%d requests reached the model", n)
	}
}

// TestSampling checks what the model gets of the fields about the answer.
func TestSampling(t *testing.T) {
	params := abilities()
	params["trident.chat_template"] = `{{ enable_thinking }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}`
	f := serve(t, Config{}, inferencetest.StreamText("x"), params)
	for _, test := range []struct{ fields, sent, prompt string }{
		{`"temperature":0.5,"top_p":0.25,"top_k":7,"stop_sequences":["END",""]`, `"temperature":0.5,"top_p":0.25,"top_k":7,"max_tokens":5,"stop":["END"],"include_stop_str_in_output":true`, ""},
		{`"top_k":0`, `{"max_tokens":5`, ""},
		{`"thinking":{"type":"enabled","budget_tokens":1024}`, "", "True<user>a"},
		{`"thinking":{"type":"adaptive"}`, "", "True<user>a"},
		{`"thinking":{"type":"disabled"}`, "", "False<user>a"},
		{`"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"}`, `"structured_outputs":"{\"json\":{\"type\":\"array\"`, ""},
		{`"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}`, `"structured_outputs":"{\"json\":{\"type\":\"object\"`, ""},
	} {
		answer := f.post(t, "/v1/messages", request(`[{"role":"user","content":"a"}]`, ","+test.fields))
		if answer.Code != http.StatusOK {
			t.Errorf("%s: %d %s", test.fields, answer.Code, answer.Body)
			continue
		}
		all := f.engine.Requests()
		if got := inferencetest.Input(all[len(all)-1], "sampling_parameters"); !strings.Contains(got, test.sent) {
			t.Errorf("%s: sent %s, want %s", test.fields, got, test.sent)
		}
		if test.prompt != "" && f.prompt(t) != test.prompt {
			t.Errorf("%s: the prompt is %q", test.fields, f.prompt(t))
		}
	}
}

// TestFitContext checks that a request for more tokens than the context has room for gets the room.
func TestFitContext(t *testing.T) {
	params := abilities()
	params["trident.context_length"] = "100"
	f := serve(t, Config{}, inferencetest.StreamText("x"), params)
	answer := f.post(t, "/v1/messages", `{"model":"m","max_tokens":32000,"messages":[{"role":"user","content":"a"}]}`)
	all := f.engine.Requests()
	if answer.Code != http.StatusOK || len(all) == 0 {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	want := fmt.Sprintf(`"max_tokens":%d`, 100-len("<user>a</><assistant>"))
	if got := inferencetest.Input(all[0], "sampling_parameters"); !strings.Contains(got, want) {
		t.Errorf("sent %s, want %s", got, want)
	}
}

// TestImagePaths checks that an error of the core about an image has the path of its block.
func TestImagePaths(t *testing.T) {
	f := serve(t, Config{}, inferencetest.StreamText("x"), abilities())
	const good = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pixel + `"}}`
	const bad, result = `{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}`, `{"type":"tool_result","tool_use_id":"i","is_error":true,"content":`
	for content, want := range map[string]string{
		bad:                                    "messages[1].content[0]",
		good + "," + bad:                       "messages[1].content[1]",
		`{"type":"container_upload"},` + bad:   "messages[1].content[1]",
		result + `"o"},` + good + "," + bad:    "messages[1].content[2]",
		result + `[` + good + `,` + bad + `]}`: "messages[1].content[0].content[1]",
		`{"type":"document","source":{"type":"content","content":[` + bad + `]}}`: "messages[1].content[0].source.content[0]",
	} {
		answer := f.post(t, "/v1/messages", request(`[{"role":"user","content":[`+good+`]},{"role":"user","content":[`+content+`]}]`, ""))
		if got := decoded(t, answer.Body.String()); answer.Code != http.StatusBadRequest || !strings.HasPrefix(got, want+".source is a URL, but ") {
			t.Errorf("%s\n%d %s\nwant %s", content, answer.Code, got, want)
		}
	}
}

// TestBlindModel checks the error about an image for a model that reads none: it has the path of the block and no names
// of other APIs.
func TestBlindModel(t *testing.T) {
	params := abilities()
	delete(params, "trident.image_token")
	f := serve(t, Config{}, inferencetest.StreamText("x"), params)
	answer := f.post(t, "/v1/messages", request(`[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+pixel+`"}}]}]`, ""))
	got := decoded(t, answer.Body.String())
	if answer.Code != http.StatusBadRequest || !strings.HasPrefix(got, "messages[0].content[1]") || !strings.Contains(got, "this model takes no image content") || strings.Contains(got, "image_url") {
		t.Errorf("%d %s", answer.Code, got)
	}
}
