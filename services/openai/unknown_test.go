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
