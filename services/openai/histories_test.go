package openai

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/jsonstring"
	"github.com/trident-inference/trident/services/openai/openaitest"
)

// demoConfig returns the configuration of the chat model of the demo.
func demoConfig(t *testing.T) *kserve.ModelConfig {
	t.Helper()
	const folder = "../../models/chat"
	text, err := os.ReadFile(folder + "/config.pbtxt")
	if err != nil {
		t.Fatal(err)
	}
	config := &kserve.ModelConfig{}
	if err := prototext.Unmarshal(text, config); err != nil {
		t.Fatal(err)
	}
	tokenizer, err := filepath.Abs(folder + "/tokenizer")
	if err != nil {
		t.Fatal(err)
	}
	config.Parameters["trident.tokenizer"] = &kserve.ModelParameter{StringValue: tokenizer}
	return config
}

// Templates of models that show fewer messages than clients send. Both show the arguments of calls
// as objects only.
const (
	// firstSystemOnly has one place for a system message, at the start, and refuses others.
	firstSystemOnly = `{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('the system message must be first') }}{% endif %}` +
		`<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}={{ v }};{% endfor %}){% endfor %}</>{% endfor %}` +
		`{% if add_generation_prompt %}<assistant>{% endif %}`
	// noSystemAtAll refuses system messages.
	noSystemAtAll = `{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system messages') }}{% endif %}` +
		`<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}={{ v }};{% endfor %}){% endfor %}</>{% endfor %}` +
		`{% if add_generation_prompt %}<assistant>{% endif %}`
)

// serveHistories serves the demo's chat model as demo, and a model for each of the templates.
func serveHistories(t *testing.T) (*httptest.Server, *inferencetest.Engine) {
	t.Helper()
	engine := inferencetest.New()
	engine.AddOther("demo", demoConfig(t), inferencetest.StreamText("x"))
	engine.AddModel("first", inferencetest.StreamText("x"), map[string]string{"trident.chat_template": firstSystemOnly})
	engine.AddModel("none", inferencetest.StreamText("x"), map[string]string{"trident.chat_template": noSystemAtAll})
	return fieldServer(t, Config{}, engine), engine
}

// promptOf sends a chat and returns the prompt that the model gets.
func promptOf(t *testing.T, server *httptest.Server, engine *inferencetest.Engine, model string, messages []string) string {
	t.Helper()
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, `{"model":"`+model+`","max_tokens":1,"messages":[`+strings.Join(messages, ",")+`]}`)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s", model, resp.StatusCode, body)
	}
	requests := engine.Requests()
	return inferencetest.Input(requests[len(requests)-1], "text_input")
}

// historyCall is an assistant's message with one call of a tool.
func historyCall(id, arguments string) string {
	return `{"role":"assistant","content":null,"tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"f","arguments":` + string(jsonstring.Quoted(arguments)) + `}}]}`
}

// TestHistories checks that chats with what models wrote before get a prompt, with the demo's own
// template and with templates that have few places for messages.
func TestHistories(t *testing.T) {
	server, engine := serveHistories(t)
	const user, result = `{"role":"user","content":"u"}`, `{"role":"tool","tool_call_id":"c","content":"r"}`
	const system, developer = `{"role":"system","content":"S"}`, `{"role":"developer","content":"D"}`
	const start = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n<|im_start|>user\nu<|im_end|>\n"
	called := func(arguments string) string {
		return start + "<|im_start|>assistant\n<tool_call>\n{\"name\": \"f\", \"arguments\": " + arguments + "}\n</tool_call><|im_end|>\n" +
			"<|im_start|>user\n<tool_response>\nr\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
	}
	tests := []struct {
		name, model string
		messages    []string
		want        string
	}{
		{"content null", "demo", []string{user, `{"role":"assistant","content":null}`, user}, start + "<|im_start|>assistant\n<|im_end|>\n<|im_start|>user\nu<|im_end|>\n<|im_start|>assistant\n"},
		{"no content", "first", []string{user, `{"role":"assistant"}`, user}, "<user>u</><assistant></><user>u</><assistant>"},
		{"a call", "demo", []string{user, historyCall("c", `{"a": 1}`), result}, called(`{"a": 1}`)},
		{"no JSON", "demo", []string{user, historyCall("c", `Oslo`), result}, called(`Oslo`)},
		{"cut off", "demo", []string{user, historyCall("c", `{"a": [1, {"b`), result}, called(`{"a": [1, {"b`)},
		{"a repeated key", "demo", []string{user, historyCall("c", `{"a": 1, "a": 2}`), result}, called(`{"a": 1, "a": 2}`)},
		{"no arguments", "demo", []string{user, historyCall("c", ``), result}, called(`{}`)},
		{"no JSON where an object is needed", "first", []string{user, historyCall("c", `Oslo`), result}, "<user>u</><assistant>f(arguments=Oslo;)</><tool>r</><assistant>"},
		{"cut off where an object is needed", "first", []string{user, historyCall("c", `{"a": 1, "b`), result}, "<user>u</><assistant>f(arguments={\"a\": 1, \"b;)</><tool>r</><assistant>"},
		{"a repeated key where an object is needed", "first", []string{user, historyCall("c", `{"a": 1, "a": 2}`), result}, "<user>u</><assistant>f(a=2;)</><tool>r</><assistant>"},
		{"the older form of a call", "first", []string{user, `{"role":"assistant","function_call":{"name":"f","arguments":"{\"a\": 1, \"a\": 2}"}}`, `{"role":"function","name":"f","content":"r"}`}, "<user>u</><assistant>f(a=2;)</><tool>r</><assistant>"},
		{"leading messages as written", "demo", []string{system, developer, user}, "<|im_start|>system\nS<|im_end|>\n<|im_start|>system\nD<|im_end|>\n<|im_start|>user\nu<|im_end|>\n<|im_start|>assistant\n"},
		{"leading messages with one place", "first", []string{system, developer, user}, "<system>S\n\nD</><user>u</><assistant>"},
		{"leading messages without a place", "none", []string{system, developer, user}, "<user><system>\nS\n</system>\n\n<system>\nD\n</system>\n\nu</><assistant>"},
		{"one after a tool's result, shown", "demo", []string{user, historyCall("c", `{}`), result, system}, strings.TrimSuffix(called(`{}`), "<|im_start|>assistant\n") + "<|im_start|>system\nS<|im_end|>\n<|im_start|>assistant\n"},
		{"one after a tool's result, refused", "first", []string{system, user, historyCall("c", `{}`), result, developer}, "<system>S</><user>u</><assistant>f()</><tool>r\n\n<system>\nD\n</system></><assistant>"},
		{"one before a user's message, refused", "first", []string{user, `{"role":"assistant","content":"a"}`, developer, user}, "<user>u</><assistant>a</><user><system>\nD\n</system>\n\nu</><assistant>"},
		{"one before a tool's result, refused", "none", []string{user, historyCall("c", `{}`), system, result}, "<user>u</><assistant>f()</><tool><system>\nS\n</system>\n\nr</><assistant>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := promptOf(t, server, engine, tt.model, tt.messages); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestInstructionsOfResponses checks that instructions and leading messages of a response become one
// message where the template has one place for them.
func TestInstructionsOfResponses(t *testing.T) {
	server, engine := serveHistories(t)
	for model, want := range map[string]string{
		"first": "<system>I\n\nD</><user>u</><assistant>",
		"none":  "<user><system>\nI\n</system>\n\n<system>\nD\n</system>\n\nu</><assistant>",
		"demo":  "<|im_start|>system\nI<|im_end|>\n<|im_start|>system\nD<|im_end|>\n<|im_start|>user\nu<|im_end|>\n<|im_start|>assistant\n",
	} {
		resp, body := openaitest.Do(t, http.MethodPost, server.URL+"/v1/responses", `{"model":"`+model+`","instructions":"I","input":[{"role":"developer","content":"D"},{"role":"user","content":"u"}]}`)
		requests := engine.Requests()
		if got := inferencetest.Input(requests[len(requests)-1], "text_input"); resp.StatusCode != http.StatusOK || got != want {
			t.Errorf("%s: %d %s\ngot  %q\nwant %q", model, resp.StatusCode, body, got, want)
		}
	}
}

// TestToolTurnsOfChats checks that the prompt of each of 20 tool turns is a prefix of the next turn's
// prompt, as prefix caches need it. The turns have malformed calls, and system messages after the
// results of tools.
func TestToolTurnsOfChats(t *testing.T) {
	server, engine := serveHistories(t)
	written := []string{`{"a": 1}`, `Oslo`, `{"a": 1, "a": 2}`, `{"a": [1, {"b`, ``}
	for _, model := range []string{"demo", "first", "none"} {
		messages := []string{`{"role":"system","content":"S"}`, `{"role":"developer","content":"D"}`, `{"role":"user","content":"u"}`}
		before := promptOf(t, server, engine, model, messages)
		for turn := range 20 {
			id := fmt.Sprintf("call%05d", turn)
			messages = append(messages, historyCall(id, written[turn%len(written)]), fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"result %d"}`, id, turn))
			if turn%2 == 1 {
				messages = append(messages, fmt.Sprintf(`{"role":"system","content":"reminder %d"}`, turn))
			}
			prompt := promptOf(t, server, engine, model, messages)
			if !strings.HasPrefix(prompt, before) {
				t.Fatalf("%s: turn %d begins otherwise than the turn before:\n%q\n%q", model, turn, before, prompt)
			}
			if want := fmt.Sprintf("result %d", turn); !strings.Contains(prompt[len(before):], want) || turn%2 == 1 && !strings.Contains(prompt[len(before):], fmt.Sprintf("reminder %d", turn)) {
				t.Errorf("%s: turn %d adds %q, want %s and its reminder", model, turn, prompt[len(before):], want)
			}
			before = prompt
		}
	}
}
