package anthropic

import (
	"net/http"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
)

// TestEffortWithoutThinking checks that an effort is reported as ignored if the request switches reasoning off.
func TestEffortWithoutThinking(t *testing.T) {
	params := abilities()
	params["trident.chat_template"] = `{{ enable_thinking }}{{ reasoning_effort }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}`
	f := serve(t, Config{}, inferencetest.StreamText("x"), params)
	for effort, want := range map[string]string{"high": "output_config.effort", "max": "output_config.effort", "medium": ""} {
		answer := f.post(t, "/v1/messages", request(probed, `,"thinking":{"type":"disabled"},"output_config":{"effort":"`+effort+`"}`))
		if got := answer.Header().Get("X-Trident-Ignored-Fields"); answer.Code != http.StatusOK || got != want {
			t.Errorf("%s: %d, ignored %q, want %q", effort, answer.Code, got, want)
		}
	}
}

// TestThinkingWithoutSwitch checks that thinking is reported as ignored for a model that isn't known to reason and
// whose chat template has no switch, and that a strict server refuses it. A model that reasons in any case
// satisfies it.
func TestThinkingWithoutSwitch(t *testing.T) {
	for _, test := range []struct{ name, parser, thinking, ignored string }{
		{"enabled", "none", `{"type":"enabled"}`, "thinking.type"},
		{"adaptive", "none", `{"type":"adaptive"}`, "thinking.type"},
		{"disabled", "none", `{"type":"disabled"}`, ""},
		{"enabled for a model that reasons", "deepseek_r1", `{"type":"enabled"}`, ""},
		{"disabled for a model that reasons", "deepseek_r1", `{"type":"disabled"}`, "thinking.type"},
	} {
		t.Run(test.name, func(t *testing.T) {
			params := abilities()
			params["trident.reasoning_parser"] = test.parser
			body := request(probed, `,"thinking":`+test.thinking)
			answer := serve(t, Config{}, inferencetest.StreamText("x"), params).post(t, "/v1/messages", body)
			if got := answer.Header().Get("X-Trident-Ignored-Fields"); answer.Code != http.StatusOK || got != test.ignored {
				t.Errorf("%d %s, ignored %q, want %q", answer.Code, answer.Body, got, test.ignored)
			}
			want := http.StatusOK
			if test.ignored != "" {
				want = http.StatusBadRequest
			}
			if answer := serve(t, Config{Strict: true}, inferencetest.StreamText("x"), params).post(t, "/v1/messages", body); answer.Code != want {
				t.Errorf("strict: %d %s, want %d", answer.Code, answer.Body, want)
			}
		})
	}
}

// TestEfforts checks which effort reaches a chat template that distinguishes efforts, and what is reported as ignored.
func TestEfforts(t *testing.T) {
	params := abilities()
	params["trident.chat_template"] = `{{ reasoning_effort | default('unset') }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}`
	f := serve(t, Config{}, inferencetest.StreamText("x"), params)
	for _, test := range []struct{ fields, effort, ignored string }{
		{`"output_config":{}`, "unset", ""},
		{`"output_config":{"effort":"low"}`, "low", ""},
		{`"output_config":{"effort":"medium"}`, "medium", ""},
		{`"output_config":{"effort":"high"}`, "high", ""},
		{`"output_config":{"effort":"xhigh"}`, "high", "output_config.effort"},
		{`"output_config":{"effort":"max"}`, "high", "output_config.effort"},
		{`"thinking":{"type":"disabled"}`, "none", ""},
		{`"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}`, "low", ""},
	} {
		answer := f.post(t, "/v1/messages", request(probed, ","+test.fields))
		if got := answer.Header().Get("X-Trident-Ignored-Fields"); answer.Code != http.StatusOK || got != test.ignored {
			t.Errorf("%s: %d %s, ignored %q, want %q", test.fields, answer.Code, answer.Body, got, test.ignored)
		}
		if prompt := f.prompt(t); prompt != test.effort+"<user>a" {
			t.Errorf("%s: the prompt is %q", test.fields, prompt)
		}
	}
}
