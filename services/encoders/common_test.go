package encoders

import (
	"context"
	"encoding/json"
	"math"
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
	"github.com/trident-inference/trident/services/serving"
)

// wordTokenizer is a tokenizer whose vocabulary has yes and no.
const (
	wordTokenizer = "../../models/chat/tokenizer"
	yesToken      = 10407
	noToken       = 4607
	vocabulary    = 49152
)

// letters is a vLLM embedding model: the vector of a text has the number of each of the letters a, b and c.
func letters(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
	var asked struct{ Input any }
	if err := json.Unmarshal([]byte(inferencetest.Input(req, "embedding_request")), &asked); err != nil {
		return err
	}
	text, _ := asked.Input.(string) // otherwise token ids
	vector, err := json.Marshal(letterCounts(text))
	send(&inference.Response{Final: true, Outputs: []inference.Output{inferencetest.Bytes("text_output", string(vector)), inferencetest.Uint32("num_input_tokens", uint32(len(text)))}})
	return err
}

func letterCounts(text string) []float64 {
	counts := []float64{0, 0, 0}
	for i, letter := range []string{"a", "b", "c"} {
		counts[i] = float64(strings.Count(text, letter))
	}
	if counts[0]+counts[1]+counts[2] == 0 {
		counts[0] = 1 // a model's vectors are never 0
	}
	return counts
}

// cosine returns the cosine of the vectors that letters returns.
func cosine(a, b string) float64 {
	u, v := letterCounts(a), letterCounts(b)
	var product, square1, square2 float64
	for i := range u {
		product, square1, square2 = product+u[i]*v[i], square1+u[i]*u[i], square2+v[i]*v[i]
	}
	return product / math.Sqrt(square1*square2)
}

// judge is a chat model that answers yes with the logit of the document and no with that of the query.
func judge() inferencetest.Scorer {
	return inferencetest.Scorer{TokenIDs: true, Vocabulary: vocabulary, ID: func(label string) int {
		switch label {
		case "<Document>":
			return yesToken
		case "<Query>":
			return noToken
		}
		return 0
	}}
}

// judged returns the difference of the logits of yes and no.
func judged(query, document string) float64 {
	return inferencetest.Logit(document+"[assistant]") - inferencetest.Logit(query)
}

func judgeSettings() map[string]string {
	return map[string]string{"trident.tokenizer": wordTokenizer, "trident.chat_template": inferencetest.ChatTemplate}
}

// frontend is the handler over an engine with the models vectors and judge.
type frontend struct {
	*Handler

	engine *inferencetest.Engine
}

func serve(tb testing.TB, cfg Config) *frontend {
	tb.Helper()
	engine := inferencetest.New()
	engine.AddModel("vectors", letters, map[string]string{"trident.task": "embed", "trident.aliases": "org/vectors"})
	engine.AddModel("judge", judge().Script(), judgeSettings())
	return serveOn(tb, cfg, engine)
}

func serveOn(tb testing.TB, cfg Config, engine *inferencetest.Engine) *frontend {
	tb.Helper()
	service := inferencetest.Service(tb, serving.Config{}, engine)
	h, err := New(cfg, service)
	if err != nil {
		tb.Fatal(err)
	}
	service.Catalog().Models(tb.Context())
	return &frontend{h, engine}
}

// post sends a body without a network.
func (f *frontend) post(tb testing.TB, path, body string) *httptest.ResponseRecorder {
	tb.Helper()
	return f.send(tb, http.MethodPost, path, body)
}

func (f *frontend) send(tb testing.TB, method, path, body string) *httptest.ResponseRecorder {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 20*time.Second) // a hang becomes a 504
	defer cancel()
	answer := httptest.NewRecorder()
	f.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body)))
	return answer
}

// ask sends a body, checks the status and the form of the response, and reads it. The form is a schema of the
// document, or "" for none.
func (f *frontend) ask(tb testing.TB, path, body, form string, answer any) string {
	tb.Helper()
	got := f.post(tb, path, body)
	if got.Code != http.StatusOK {
		tb.Fatalf("%s %s: %d %s", path, body, got.Code, got.Body)
	}
	if form != "" {
		wantDocument(tb, form, got.Body.String())
	}
	if answer != nil {
		if err := json.Unmarshal(got.Body.Bytes(), answer); err != nil {
			tb.Fatalf("%s: %v", got.Body, err)
		}
	}
	return got.Body.String()
}

var document = sync.OnceValues(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData(openapi.Encoders()) })

// schema returns a schema of the document.
func schema(tb testing.TB, name string) *openapi3.Schema {
	tb.Helper()
	doc, err := document()
	if err != nil {
		tb.Fatal(err)
	}
	found := doc.Components.Schemas[name]
	if found == nil {
		tb.Fatalf("the document has no schema %s", name)
	}
	return found.Value
}

// wantDocument checks that JSON is valid by a schema of the document, and has no members beyond it.
func wantDocument(tb testing.TB, name, text string) {
	tb.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	if err := schema(tb, name).VisitJSON(value); err != nil {
		tb.Errorf("%s isn't a %s: %v", text, name, err)
	}
	if object, ok := value.(map[string]any); ok {
		for key := range object {
			if schema(tb, name).Properties[key] == nil {
				tb.Errorf("%s has %s, which the document's %s hasn't", text, key, name)
			}
		}
	}
}

// near reports whether two scores are equal except for the precision of float32.
func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }
