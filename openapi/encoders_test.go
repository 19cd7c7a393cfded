package openapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/trident-inference/trident/openapi"
)

// TestEncoders checks that the document of encoders is valid, and that its operations have unique ids, descriptions and
// known tags.
func TestEncoders(t *testing.T) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(openapi.Encoders())
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(loader.Context, openapi3.EnableSchemaFormatValidation()); err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.OperationID == "" || op.Summary == "" || ids[op.OperationID] {
				t.Errorf("%s %s: a unique operationId or a summary is missing", method, path)
			}
			ids[op.OperationID] = true
			if len(op.Tags) != 1 || doc.Tags.Get(op.Tags[0]) == nil {
				t.Errorf("%s %s: tags are %v, want one that the document declares", method, path, op.Tags)
			}
		}
	}
	for _, path := range []string{"/v1/rerank", "/v2/rerank", "/v1/score", "/v1/classify", "/pooling", "/v1/moderations"} {
		if item := doc.Paths.Value(path); item == nil || item.Post == nil {
			t.Errorf("the document has no POST %s", path)
		}
	}
	text, err := openapi.JSON(openapi.Encoders())
	var sent struct{ Paths map[string]any }
	if err != nil || json.Unmarshal(text, &sent) != nil || len(sent.Paths) != doc.Paths.Len() {
		t.Errorf("as JSON: %d paths, %v", len(sent.Paths), err)
	}
}

// TestInvalidDocument checks the error of a document that isn't YAML.
func TestInvalidDocument(t *testing.T) {
	if text, err := openapi.JSON([]byte("paths: [")); text != nil || err == nil || !strings.HasPrefix(err.Error(), "load the OpenAPI document: ") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestServe checks the responses with a document, and the error of an invalid one.
func TestServe(t *testing.T) {
	fail := func(w http.ResponseWriter, _ *http.Request, err error) {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
	get := func(document func() []byte) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		openapi.Serve(document, fail)(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
		return w
	}
	want, err := openapi.JSON(openapi.Encoders())
	if err != nil {
		t.Fatal(err)
	}
	if w := get(openapi.Encoders); w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" || w.Body.String() != string(want) {
		t.Errorf("%d %v, %d bytes, want %d", w.Code, w.Header(), w.Body.Len(), len(want))
	}
	if w := get(func() []byte { return []byte("paths: [") }); w.Code != http.StatusInternalServerError || !strings.HasPrefix(w.Body.String(), "load the OpenAPI document: ") {
		t.Errorf("an invalid document: %d %s", w.Code, w.Body)
	}
}
