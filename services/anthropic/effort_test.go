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
