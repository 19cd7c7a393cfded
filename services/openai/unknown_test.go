package openai

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/openaitest"
	"github.com/trident-inference/trident/services/server"
)

// TestUnknownKeysBelow tests that unknown keys are reported at any depth. Keys in
// objects that accept any key aren't unknown.
func TestUnknownKeysBelow(t *testing.T) {
	message := func(fields string) string {
		return `{"model":"chat","messages":[{"role":"system","content":"x"},{"role":"user","content":"hi",` + fields + `},{"role":"user","content":"hi",` + fields + `}]}`
	}
	for _, tt := range []struct{ name, body, want string }{
		{"message", message(`"zeta":{"a":1}`), "messages[1].zeta"},
		{"two in a message", message(`"zeta":1,"id":"m1"`), "messages[1].id messages[1].zeta"},
		{"another role's key", message(`"tool_call_id":"x"`), ""},
		{"name", message(`"name":"x"`), ""},
		{"part", `{"model":"chat","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]}]}`, "messages[0].content[1].cache_control"},
		{"call", `{"model":"chat","messages":[{"role":"assistant","tool_calls":[{"id":"a","index":0,"type":"function","function":{"name":"f","arguments":"{\"x\":1}","thought":1}}]}]}`, "messages[0].tool_calls[0].function.thought messages[0].tool_calls[0].index"},
		{"stream_options", ask(`"stream":true,"stream_options":{"include_usage":true,"every":1}`), "stream_options.every"},
		{"tool", ask(`"tool_choice":"none","tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","zeta":1},"defer":true},"cache":1}]`), "tools[0].cache tools[0].function.defer"},
		{"response_format", ask(`"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object","zeta":1},"zeta":1}}`), "response_format.json_schema.zeta"},
		{"metadata", ask(`"metadata":{"zeta":"1"}`), ""},
		{"chat_template_kwargs", ask(`"chat_template_kwargs":{"zeta":{"a":1}}`), ""},
		{"guided_json", ask(`"guided_json":{"type":"object","zeta":1}`), ""},
		{"below an unknown key", ask(`"zeta":{"messages":[{"zeta":1}]}`), "zeta"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server, _ := serve(t, Config{}, inferencetest.StreamText("x"))
			resp, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, tt.body)
			if got := resp.Header.Get("X-Trident-Ignored-Fields"); resp.StatusCode != http.StatusOK || got != strings.ReplaceAll(tt.want, " ", ", ") {
				t.Errorf("%d %q %s", resp.StatusCode, got, body)
			}
			strict, _ := serve(t, Config{Strict: true}, inferencetest.StreamText("x"))
			resp, body = openaitest.Do(t, http.MethodPost, strict.URL+chatPath, tt.body)
			first, _, _ := strings.Cut(tt.want, " ")
			if first == "" && resp.StatusCode != http.StatusOK ||
				first != "" && (resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"param":"`+first+`","code":"unsupported_parameter"`)) {
				t.Errorf("strict: %d %s", resp.StatusCode, body)
			}
		})
	}
}

// TestMembersOfOtherTypes tests that members which only parts or items of another type have are reported, and that a
// strict server refuses them.
func TestMembersOfOtherTypes(t *testing.T) {
	const (
		data  = `"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="`
		image = `{"type":"image_url","image_url":{"url":` + data + `},`
		call  = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}",`
	)
	chat := func(parts string) string {
		return `{"model":"chat","messages":[{"role":"user","content":[{"type":"text","text":"a"},` + parts + `]}]}`
	}
	response := func(items string) string {
		return `{"model":"chat","input":[` + items + `{"role":"user","content":"a"}]}`
	}
	parts := func(parts string) string { return response(`{"role":"user","content":[` + parts + `]},`) }
	const responsePath = "/v1/responses"
	for _, tt := range []struct{ name, path, body, want string }{
		{"image in a text", chatPath, chat(`{"image_url":{"url":"https://a.example/b.png"},"type":"text","text":"b"}`), "messages[0].content[1].image_url"},
		{"file and sound in a text", chatPath, chat(`{"type":"text","text":"b","input_audio":{"data":"a","format":"wav"},"file":{"file_data":"a"}}`), "messages[0].content[1].file messages[0].content[1].input_audio"},
		{"text in an image", chatPath, chat(image + `"text":"b"}`), "messages[0].content[1].text"},
		{"several parts", chatPath, chat(`{"type":"text","text":"b","file":{"file_id":"a"}},{"type":"text","text":"c","file":{"file_id":"a"}}`), "messages[0].content[1].file"},
		{"no value", chatPath, chat(`{"type":"text","text":"b","image_url":null,"refusal":"","file":{ },"input_audio":{}},` + image + `"text":""}`), ""},
		{"every type", chatPath, chat(`{"type":"text","text":"b","prompt_cache_breakpoint":{"mode":"explicit"}},` + image + `"prompt_cache_breakpoint":null}`), ""},
		{"refusal in the model's text", chatPath, `{"model":"chat","messages":[{"role":"assistant","content":[{"type":"text","text":"a","refusal":"b"}]},{"role":"user","content":"c"}]}`, "messages[0].content[0].refusal"},
		{"custom tool in a call", chatPath, `{"model":"chat","messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"custom":{"name":"f","input":"x"}}]}]}`, "messages[0].tool_calls[0].custom"},
		{"image in an input text", responsePath, parts(`{"type":"input_text","text":"a","image_url":"https://a.example/b.png"}`), "input[0].content[0].image_url"},
		{"text in an input image", responsePath, parts(`{"type":"input_image","image_url":` + data + `,"text":"b"}`), "input[0].content[0].text"},
		{"output in a call", responsePath, response(call + `"output":"x"},`), "input[0].output"},
		{"arguments of an output", responsePath, response(call + `"id":"x"},{"type":"function_call_output","call_id":"a","output":"x","arguments":"{}"},`), "input[1].arguments"},
		{"content in a call", responsePath, response(call + `"content":[{"type":"input_text","text":"x"}]},`), "input[0].content"},
		{"every item", responsePath, response(call + `"id":"x","status":"completed","namespace":null,"output":null,"summary":[]},`), ""},
		{"image in a text of a decision", decisionPath, `{"model":"decision","input":[{"role":"user","content":[{"type":"input_text","text":"a","image_url":"x"}]}],"questions":[{"type":"predicate","instructions":"?"}]}`, "input[0].content[0].image_url"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			engine := inferencetest.New()
			addVLLM(engine)
			resp, body := openaitest.Do(t, http.MethodPost, fieldServer(t, Config{}, engine).URL+tt.path, tt.body)
			if got := resp.Header.Get("X-Trident-Ignored-Fields"); resp.StatusCode != http.StatusOK || got != strings.ReplaceAll(tt.want, " ", ", ") {
				t.Errorf("%d %q %s", resp.StatusCode, got, body)
			}
			resp, body = openaitest.Do(t, http.MethodPost, fieldServer(t, Config{Strict: true}, engine).URL+tt.path, tt.body)
			first, _, _ := strings.Cut(tt.want, " ")
			if first == "" && resp.StatusCode != http.StatusOK ||
				first != "" && (resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"message":"`+first+` has no effect: only objects of another type have it"`) || !strings.Contains(body, `"param":"`+first+`","code":"unsupported_parameter"`)) {
				t.Errorf("strict: %d %s", resp.StatusCode, body)
			}
		})
	}
}

// TestUnknownKeysAreBounded tests the limit of the reported keys for a body with
// many unknown keys.
func TestUnknownKeysAreBounded(t *testing.T) {
	var keys strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&keys, `,"k%d":1`, i)
	}
	got, err := newValidator(t).Validate(chatPattern, []byte(`{"model":"m","messages":[{"role":"user"`+keys.String()+`}]`+keys.String()+`}`))
	if err != nil || len(got.Unknown) != maxUnknown+1 {
		t.Errorf("%d names, %v", len(got.Unknown), err)
	}
	header := http.Header{}
	ctx := server.WithIgnored(t.Context(), header, false)
	for _, name := range got.Unknown {
		if err := server.Ignore(ctx, server.IgnoredField{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	if list := header.Get(server.IgnoredHeader); !strings.HasPrefix(list, "messages[0].k0, messages[0].k1, ") || !strings.HasSuffix(list, ", ...") || len(list) > 1024+10 {
		t.Errorf("header %s", list)
	}
}
