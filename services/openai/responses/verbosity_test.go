package responses_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/openai/openaitest"
)

// TestVerbosityOfResponses checks that a verbosity has no effect and is listed as an ignored field,
// and that a strict server refuses it.
func TestVerbosityOfResponses(t *testing.T) {
	for _, strict := range []bool{false, true} {
		cfg := openai.Default()
		cfg.Strict = strict
		server, engine := serveResponses(t, cfg, inferencetest.StreamText("x"))
		resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","text":{"verbosity":"low"}`))
		listed := resp.Header.Get("X-Trident-Ignored-Fields")
		switch {
		case strict && (resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"param":"text.verbosity","code":"unsupported_parameter"`) || len(engine.Requests()) > 0):
			t.Errorf("strict: %d %s", resp.StatusCode, body)
		case !strict && (resp.StatusCode != http.StatusOK || listed != "text.verbosity" || !strings.Contains(body, `"verbosity":"medium"`)):
			t.Errorf("%d %q %s", resp.StatusCode, listed, body)
		}
	}
}
