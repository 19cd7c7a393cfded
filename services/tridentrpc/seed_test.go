package tridentrpc_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// TestSeedRange checks that seeds of JSON that don't fit into 64 bits are errors, and that no other
// seed is used instead.
func TestSeedRange(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("chat", inferencetest.StreamText("x"), inferencetest.WithTemplate())
	httpClient, address := serveAll(t, inferencetest.Service(t, serving.Config{}, engine), auth.Config{})
	bodies := map[string]string{
		tridentv1connect.ChatServiceChatProcedure:           `{"model":"chat","messages":[{"role":"ROLE_USER","content":"hi"}],"seed":`,
		tridentv1connect.CompletionServiceCompleteProcedure: `{"model":"chat","prompt":[{"text":"hi"}],"seed":`,
	}
	for procedure, body := range bodies {
		for seed, status := range map[string]int{
			"9223372036854775807": http.StatusOK, `"-9223372036854775808"`: http.StatusOK,
			"9223372036854775808": http.StatusBadRequest, "-9223372036854775809": http.StatusBadRequest, `"9223372036854775808"`: http.StatusBadRequest,
			"1e300": http.StatusBadRequest, "1.5": http.StatusBadRequest,
		} {
			before := len(engine.Requests())
			got, text := postJSON(t, httpClient, address+procedure, body+seed+"}")
			var failed struct{ Code string }
			if err := json.Unmarshal(text, &failed); err != nil || got != status || (failed.Code == "invalid_argument") != (status == http.StatusBadRequest) {
				t.Errorf("%s %s: %d %s", procedure, seed, got, text)
			}
			if sent := len(engine.Requests()) - before; (sent == 1) != (status == http.StatusOK) {
				t.Errorf("%s %s: the engine got %d requests", procedure, seed, sent)
			}
		}
	}
}
