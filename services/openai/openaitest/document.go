// Package openaitest has the common parts of the tests of the OpenAI frontend's packages:
// requests, schemas of the document, and generated values. It doesn't import the frontend,
// whose own tests import it. Helpers of one package's tests belong to that package.
package openaitest

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"pgregory.net/rapid"

	"github.com/trident-inference/trident/openapi"
	"github.com/trident-inference/trident/services/inference"
)

// BeyondSchema reports whether the error is a refusal that a schema can't express.
func BeyondSchema(err error) bool {
	var e *inference.Error
	return errors.As(err, &e) && (e.Reason == inference.ReasonUnsupported || strings.Contains(e.Message, "must be a string that contains a JSON object"))
}

// WantDocument checks that JSON satisfies a schema of the document.
func WantDocument(t *testing.T, schema, raw string) {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(raw), &value); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	if err := Schema(t, schema).VisitJSON(value); err != nil {
		t.Errorf("not what openapi.yaml says: %v\nin %s", err, raw)
	}
}

// document is loaded once, since loading is slow, particularly under the race detector.
var document = sync.OnceValues(func() (*openapi3.T, error) { //nolint:gochecknoglobals // one for all tests
	return openapi3.NewLoader().LoadFromData(openapi.OpenAI())
})

// Document returns openapi/openai.yaml. Callers must not modify it.
func Document(tb testing.TB) *openapi3.T {
	tb.Helper()
	doc, err := document()
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

// Schema returns a schema of the document, unmodified.
func Schema(tb testing.TB, name string) *openapi3.Schema {
	tb.Helper()
	return Document(tb).Components.Schemas[name].Value
}

// CheckAgreement checks that the decoder accepts and refuses the same values as the schema. The
// fast path checks fields that have decoders by the decoders alone. The generator makes
// valid values with a few errors.
func CheckAgreement(t *testing.T, schema *openapi3.Schema, values func(*rapid.T) any, decode func(json.RawMessage) error) {
	t.Helper()
	var accepted, refused int
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.Custom(values).Draw(rt, "value")
		raw, err := json.Marshal(value)
		if err != nil {
			rt.Fatal(err)
		}
		if err := json.Unmarshal(raw, &value); err != nil {
			rt.Fatal(err)
		}
		want := schema.VisitJSON(value)
		got := decode(raw)
		if BeyondSchema(got) {
			return // the decoder stopped early
		}
		if (want == nil) != (got == nil) {
			rt.Fatalf("%s\nthe document: %v\nthe decoder: %v", raw, want, got)
		}
		if got == nil {
			accepted++
		} else {
			refused++
		}
	})
	if accepted == 0 || refused == 0 {
		t.Errorf("%d accepted, %d refused: the generator shows one side only", accepted, refused)
	}
}
