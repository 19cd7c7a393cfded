package anthropic

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/openapi"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/seal"
	"github.com/trident-inference/trident/services/serving"
)

const (
	byteTokenizer = "../../test/models-contract/vllm/tokenizer"
	// callTemplate shows all parts of messages.
	callTemplate = `{{ tools | tojson if tools }}{% for m in messages %}<{{ m.role }}>{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}` +
		`{{ m.content }}{% for c in m.tool_calls %}[{{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}`
)

// abilities returns the parameters of a model with all abilities.
func abilities() map[string]string {
	return map[string]string{
		"trident.tokenizer": byteTokenizer, "trident.context_length": "4096", "trident.tool_call_parser": "hermes", "trident.reasoning_parser": "deepseek_r1",
		"trident.image_token": "<{n}>", "trident.chat_template": callTemplate,
	}
}

// frontend is the handler over an engine with the model m.
type frontend struct {
	*Handler

	engine *inferencetest.Engine
}

func serve(tb testing.TB, cfg Config, script inferencetest.Script, params map[string]string) *frontend {
	tb.Helper()
	engine := inferencetest.New()
	engine.AddModel("m", script, params)
	return serveOn(tb, cfg, engine)
}

// serveOn returns the handler over an engine that has a model m.
func serveOn(tb testing.TB, cfg Config, engine *inferencetest.Engine) *frontend {
	tb.Helper()
	service := inferencetest.Service(tb, serving.Config{}, engine)
	h, err := New(cfg, service, seal.New())
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := service.Catalog().Model(tb.Context(), "m"); err != nil { // waits until the catalog has the model
		tb.Fatal(err)
	}
	return &frontend{h, engine}
}

// post sends a body without a network, with lines of the header.
func (f *frontend) post(tb testing.TB, path, body string, lines ...string) *httptest.ResponseRecorder {
	tb.Helper()
	return f.send(tb, http.MethodPost, path, body, lines...)
}

func (f *frontend) send(tb testing.TB, method, path, body string, lines ...string) *httptest.ResponseRecorder {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 20*time.Second) // a hang becomes a 504
	defer cancel()
	answer := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	for i := 0; i < len(lines); i += 2 {
		r.Header.Set(lines[i], lines[i+1])
	}
	f.ServeHTTP(answer, r)
	return answer
}

// prompt returns the prompt of the last request to the model.
func (f *frontend) prompt(tb testing.TB) string {
	tb.Helper()
	all := f.engine.Requests()
	if len(all) == 0 {
		tb.Fatal("no request reached the model")
	}
	return inferencetest.Input(all[len(all)-1], "text_input")
}

// ends returns a script with one text and a finish reason.
func ends(text, finish string) inferencetest.Script {
	return func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		send(inferencetest.Token(text, finish))
		return nil
	}
}

var document = sync.OnceValues(func() (*openapi3.T, error) {
	return openapi3.NewLoader().LoadFromData(openapi.Anthropic())
})

// schema returns a schema of the document.
func schema(tb testing.TB, name string) *openapi3.Schema {
	tb.Helper()
	doc, err := document()
	if err != nil {
		tb.Fatal(err)
	}
	return doc.Components.Schemas[name].Value
}

// wantDocument checks that JSON satisfies a schema of the document.
func wantDocument(tb testing.TB, name, raw string) {
	tb.Helper()
	var value any
	if err := json.Unmarshal([]byte(raw), &value); err != nil {
		tb.Fatalf("%v in %s", err, raw)
	}
	if err := schema(tb, name).VisitJSON(value); err != nil {
		tb.Errorf("not what anthropic.yaml says: %v\nin %s", err, raw)
	}
}

// event is an event of a stream.
type event struct{ name, data string }

func events(tb testing.TB, text string) []event {
	tb.Helper()
	var all []event
	for block := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(strings.TrimPrefix(block, "event: "), "\ndata: ")
		if !ok || strings.Contains(data, "\n") {
			tb.Fatalf("not an event: %q", block)
		}
		wantDocument(tb, "MessageStreamEvent", data)
		all = append(all, event{name, data})
	}
	return all
}
