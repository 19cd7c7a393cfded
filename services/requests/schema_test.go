package requests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp/syntax"
	"runtime"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/test/tier"
)

func checkText(ctx context.Context, s *Schemas, text string) error {
	return s.Check(ctx, &inference.Structured{Kind: "json", Value: json.RawMessage(text), Param: "x"})
}

// compileText returns the result of the library's compiler, which is the reference.
func compileText(text string) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource("mem:///schema", doc); err != nil {
		return err
	}
	_, err = compiler.Compile("mem:///schema")
	return err
}

type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("nothing is loaded") }

// TestSchemas checks that Schemas accepts the same JSON schemas as the compiler of the jsonschema
// library, with schemas written by hand.
func TestSchemas(t *testing.T) {
	const draft4, draft7, draft2019 = `"$schema":"http://json-schema.org/draft-04/schema#",`, `"$schema":"http://json-schema.org/draft-07/schema#",`, `"$schema":"https://json-schema.org/draft/2019-09/schema",`
	for _, text := range []string{
		`{}`, `{"type":"object","properties":{"a":{"type":"string"},"b":true,"c":{"$ref":"#"}},"required":["a"]}`,
		`{"$defs":{"A":{"type":"object","properties":{"next":{"$ref":"#/$defs/A"}}}},"$ref":"#/$defs/A"}`,
		`{"$defs":{"a b/c~d":{"type":"string"}},"$ref":"#/$defs/a%20b~1c~0d"}`, `{"$ref":"#/$defs/A"}`, `{"$ref":"#/x","x":{"type":5}}`, `{"$ref":"#/x","x":{"type":"string"}}`,
		`{"$ref":"#/x/1","x":[0,{"type":"string"}]}`, `{"$ref":"#/x/2","x":[0,{"type":"string"}]}`, `{"$ref":"#/x/-1","x":[0]}`, `{"$ref":"#/x","x":true}`,
		`{"$ref":"#named","$defs":{"a":{"$anchor":"named"}}}`, `{"$ref":"#other","$defs":{"a":{"$anchor":"named"}}}`, `{"$defs":{"a":{"$anchor":"n"},"b":{"$anchor":"n"}}}`,
		`{"$dynamicRef":"#d","$defs":{"a":{"$dynamicAnchor":"d"}}}`, `{"$defs":{"a":{"$dynamicAnchor":"d","$anchor":"d"}}}`,
		`{"$id":"http://example.com/root","$defs":{"a":{"$id":"sub","type":"string","$anchor":"n"}},"properties":{"x":{"$ref":"sub"},"y":{"$ref":"http://example.com/sub#n"},"z":{"$ref":"/root"}}}`,
		`{"$id":"http://example.com/root","properties":{"x":{"$ref":"other"}}}`, `{"$defs":{"a":{"$id":"s"},"b":{"$id":"s"}}}`, `{"$id":"urn:a:b","properties":{"x":{"$ref":"#/properties"}}}`,
		`{"$id":"a#b"}`, `{"$id":"%zz"}`, `{"$ref":"#%zz"}`, `{"$ref":"file:///etc/passwd"}`, `{"$ref":"http://json-schema.org/draft-07/schema#"}`,
		`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, `{"$schema":"http://example.com/x"}`, `{"properties":{"a":{"$schema":"http://json-schema.org/draft-04/schema#","exclusiveMinimum":5}}}`,
		`{` + draft4 + `"id":"http://x/","properties":{"a":{"id":"#n"},"b":{"$ref":"#n"}}}`, `{` + draft4 + `"additionalProperties":false,"items":[{}],"additionalItems":true}`,
		`{` + draft4 + `"properties":{"a":true}}`, `{` + draft4 + `"exclusiveMinimum":true,"minimum":1}`, `{` + draft4 + `"exclusiveMinimum":5}`, `{` + draft4 + `"required":[]}`,
		`{` + draft7 + `"items":[{"type":"string"},true],"additionalItems":{"type":"x"}}`, `{` + draft7 + `"dependencies":{"a":["b"],"c":{"type":"nope"}}}`, `{` + draft7 + `"dependencies":{"a":["b"],"c":{"type":"string"}}}`,
		`{` + draft7 + `"$ref":"#/definitions/a","definitions":{"a":{}},"$id":"%zz"}`, `{` + draft7 + `"if":{"type":"x"}}`, `{` + draft7 + `"$defs":{"a":{"type":"x"}}}`,
		`{` + draft2019 + `"$recursiveRef":"#","items":[{"type":"x"}]}`, `{` + draft2019 + `"$recursiveRef":"#","items":[true],"additionalItems":{}}`, `{"items":[{}]}`, `{"items":{"type":"x"}}`,
		`{"prefixItems":[{"type":"x"}]}`, `{"prefixItems":[]}`, `{"prefixItems":[true,{}]}`, `{"allOf":{}}`, `{"anyOf":[5]}`, `{"not":5}`, `{"properties":[]}`, `{"properties":{"a":5}}`,
		`{"patternProperties":{"^a":{"type":"x"}}}`, `{"patternProperties":{"(":{}}}`, `{"pattern":"("}`, `{"pattern":5}`, `{"pattern":"^\\p{L}+$"}`, `{"required":["a","a"]}`, `{"enum":"a"}`, `{"enum":[1,1.0]}`,
		`{"dependentSchemas":{"a":{"type":"x"}}}`, `{"unevaluatedProperties":{"type":"x"}}`, `{"contentSchema":{"type":"x"}}`, `{"propertyNames":{"type":"x"}}`, `{"definitions":{"a":{"type":"x"}}}`,
		`{"minLength":-1}`, `{"minLength":1.0}`, `{"multipleOf":0}`, `{"title":5}`, `{"default":{"type":"x"}}`, `{"const":{"$ref":"nope"},"examples":[{"$ref":"nope"}]}`, `{"x-own":{"type":5}}`,
		`{"properties":{"$ref":{"type":"string"}}}`, `{"$ref":5}`, `{"$anchor":"1x"}`, `{"$anchor":5}`, `{"type":["string","string"]}`, `{"type":[]}`, `{"format":5}`, `{"readOnly":"x"}`,
	} {
		got, want := checkText(t.Context(), &Schemas{}, text), compileText(text)
		if (got == nil) != (want == nil) {
			t.Errorf("%s: %v, and by the library %v", text, got, want)
		}
	}
}

// TestRandomSchemas checks that Schemas accepts the same JSON schemas as the compiler of the
// jsonschema library, with random schemas.
func TestRandomSchemas(t *testing.T) {
	keywords := []string{
		"type", "properties", "items", "allOf", "anyOf", "not", "required", "enum", "minLength", "$ref", "$id", "$anchor", "$defs", "definitions", "additionalProperties",
		"patternProperties", "dependencies", "prefixItems", "if", "contains", "$dynamicRef", "$dynamicAnchor", "additionalItems", "unevaluatedItems", "x",
	}
	words := []string{"string", "object", "#", "#/properties/a", "#/$defs/b", "#a", "a", "b", "", "sub", "#/x", "#/definitions/a/not"}
	drafts := []string{"", "http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema"}
	var value func(t *rapid.T, depth int) any
	object := func(t *rapid.T, depth int, names []string) map[string]any {
		o := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			o[rapid.SampledFrom(names).Draw(t, "name")] = value(t, depth-1)
		}
		return o
	}
	value = func(t *rapid.T, depth int) any {
		kind := rapid.IntRange(0, 9).Draw(t, "kind")
		switch {
		case depth == 0 || kind < 3:
			return rapid.SampledFrom(words).Draw(t, "word")
		case kind == 3:
			return rapid.SampledFrom([]any{1, -1, 2.5, true, false, nil}).Draw(t, "literal")
		case kind < 6:
			list := []any{}
			for range rapid.IntRange(0, 3).Draw(t, "items") {
				list = append(list, value(t, depth-1))
			}
			return list
		case kind == 6:
			return object(t, depth, []string{"a", "b", "a/b"})
		}
		return object(t, depth, keywords)
	}
	rapid.Check(t, func(t *rapid.T) {
		schema := object(t, 4, keywords)
		if draft := rapid.SampledFrom(drafts).Draw(t, "draft"); draft != "" {
			schema["$schema"] = draft
		}
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		got, want := checkText(context.Background(), &Schemas{}, string(text)), compileText(string(text))
		if (got == nil) != (want == nil) {
			t.Fatalf("%s: %v, and by the library %v", text, got, want)
		}
	})
}

// schemaOf returns a schema of n subschemas in one of several forms.
func schemaOf(n int, form string) string {
	var b strings.Builder
	b.WriteString(`{"$defs":{"a":{"type":"string"}},"type":"object","properties":{`)
	for i := range n - 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"p%d":`+form, i)
	}
	b.WriteString(`}}`)
	return b.String()
}

const (
	formString = `{"type":"string"}`
	formRef    = `{"$ref":"#/$defs/a","title":"T","description":"D"}`
	formOwn    = `{"$id":"s%[1]d","$anchor":"a%[1]d","pattern":"^a{3}$"}`
)

// TestSchemaBudget checks that the subschemas in all JSON schemas of a request together are
// limited.
func TestSchemaBudget(t *testing.T) {
	tier.Computes(t)
	for _, form := range []string{formString, formRef} {
		if err := checkText(t.Context(), &Schemas{}, schemaOf(budget.Subschemas, form)); err != nil {
			t.Errorf("at the limit: %v", err)
		}
		const message = "x: the JSON schemas of a request hold more than 10000 subschemas together: send smaller ones"
		inferencetest.WantInvalid(t, checkText(t.Context(), &Schemas{}, schemaOf(budget.Subschemas+1, form)), "x", message)
		var request Schemas
		if err := checkText(t.Context(), &request, schemaOf(budget.Subschemas/2, form)); err != nil {
			t.Error(err)
		}
		inferencetest.WantInvalid(t, checkText(t.Context(), &request, schemaOf(budget.Subschemas/2+1, form)), "x", message)
	}
}

// TestSchemaWork checks that twice the schema takes twice the work, for all forms. The measure is
// the number of allocations, which doesn't depend on the machine.
func TestSchemaWork(t *testing.T) {
	tier.Computes(t)
	work := func(n int, form string) float64 {
		text := schemaOf(n, form)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := checkText(t.Context(), &Schemas{}, text); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs - before.Mallocs)
	}
	work(10, formString) // this compiles the metaschemas
	for _, form := range []string{formString, formRef, formOwn} {
		small, large := work(budget.Subschemas/4, form), work(budget.Subschemas/2, form)
		if large > 2.2*small {
			t.Errorf("%s: %.0f allocations, and %.0f for twice the schema", form, small, large)
		}
		if each := large / (budget.Subschemas / 2); each > 400 {
			t.Errorf("%s: %.0f allocations for each subschema", form, each)
		}
	}
}

// TestSchemaTooWide checks that a list of too many subschemas is refused before the metaschema
// validates it. Refusing such a list takes less work than the largest schema within the budget.
func TestSchemaTooWide(t *testing.T) {
	work := func(n int, form func(n int) string) (float64, error) {
		text := json.RawMessage(form(n))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var request Schemas
		err := request.Check(t.Context(), &inference.Structured{Value: text, Param: "p"})
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs - before.Mallocs), err
	}
	for _, tt := range []struct {
		name string
		most int // maximum of subschemas that the JSON reader accepts
		form func(n int) string
	}{
		{"anyOf", budget.FreeValues / 2, func(n int) string { return `{"anyOf":[` + strings.Repeat("{},", n-1) + "{}]}" }},
		{"properties", budget.ObjectKeys, func(n int) string { return `{"properties":` + numbered(n) + "}" }},
	} {
		name, form := tt.name, tt.form
		_, _ = work(10, form) // this compiles the metaschemas
		within, err := work(budget.Subschemas-1, form)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		beyond, err := work(tt.most, form)
		if err == nil || !strings.Contains(err.Error(), "more than 10000 subschemas") {
			t.Errorf("%s: %v", name, err)
		}
		if beyond > within {
			t.Errorf("%s: %.0f allocations to refuse %d subschemas, and %.0f for all that may be", name, beyond, tt.most, within)
		}
	}
}

// TestSchemaOfManyKeys checks that the error about a schema with too many keys has the maximum
// number, because such a schema is valid JSON.
func TestSchemaOfManyKeys(t *testing.T) {
	text := json.RawMessage(`{"properties":` + numbered(budget.ObjectKeys+1) + "}")
	err := new(Schemas).Check(t.Context(), &inference.Structured{Value: text, Param: "p"})
	inferencetest.WantInvalid(t, err, "p", "p holds an object of more than 16384 keys: send a smaller schema")
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%d":{}`, i)
	}
	return "{" + b.String()[1:] + "}"
}

// TestSchemaEndsWithItsContext checks that the validation of a large schema stops soon after the
// request's context has ended.
func TestSchemaEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var request Schemas
	if err := checkText(ctx, &request, schemaOf(5000, formString)); !errors.Is(err, context.Canceled) || request.count > schemasBetweenLooks {
		t.Errorf("%v after %d subschemas", err, request.count)
	}
}

func TestSchemaPatterns(t *testing.T) {
	tier.Computes(t)
	for _, pattern := range []string{
		"", "^a$", "(", ")", "[", "]", "[]]", "[^]]", "[]", "a{2}", "a{2,1}", "a{1001}", "(?i)a", "(?i", "(?-i:a)", "(?P<n>a)", "(?<n>a)", "(?=a)", "(?!a)", `\d\w\s`, `\p{L}`, `\pL`, `\p`, `\p{`, `\p{}`, `\p{Nope}`,
		`\p{^Greek}`, `\P{Letter}`, `\p{lu}`, `[\p{L}\p{Nd}]`, `[a-\p{L}]`, `\Q(\E`, `\Q(`, `[(?i-k]`, `[[:alpha:](?i-k]`, `[[:nope:]]`, `\`, `[\]`, `[\]]`, `\[(?i)`, `(?imsU-s:a)`, `(?)`, `(?-)`, "\x00", "é[à-ü]", `\x{10FFFF}`, `\1`, `\cA`,
	} {
		_, want := syntax.Parse(pattern, syntax.Perl)
		if got := checkPattern("pattern", "", pattern); (got == nil) != (want == nil) {
			t.Errorf("%q becomes %q: %v, and as it is %v", pattern, cheap(pattern), got, want)
		}
	}
	for _, unit := range []string{`(?i)[B-\x{1e943}]`, `[\p{L}\p{N}\p{P}]`, `\p{l_e-t t e r}`, `(a{1000}){1}`, `[a-z]{1000}`, `(?i:k)`} {
		pattern := strings.Repeat(unit, budget.PatternBytes/len(unit))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := checkPattern("pattern", "", pattern)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; err != nil || used > 32<<20 {
			t.Errorf("%s: %d bytes, %v", unit, used, err)
		}
	}
	err := checkText(t.Context(), &Schemas{}, `{"properties":{"a":{"pattern":"`+strings.Repeat("a", budget.PatternBytes+1)+`"}}}`)
	inferencetest.WantInvalid(t, err, "x", "x is not a valid JSON schema: properties.a.pattern is longer than 16384 bytes")
	many := func(n int) string {
		return `{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"pattern":"`+strings.Repeat("a", 1024)+`"},`, n), ",") + `]}`
	}
	if err := checkText(t.Context(), &Schemas{}, many(budget.PatternsBytes/1024)); err != nil {
		t.Error(err)
	}
	err = checkText(t.Context(), &Schemas{}, many(budget.PatternsBytes/1024+1))
	inferencetest.WantInvalid(t, err, "x", "x: the patterns in the JSON schemas of a request are longer than 524288 bytes together: send fewer")
}

// TestRandomPatterns checks that checkPattern accepts the same patterns as Go's regexp/syntax
// parser.
func TestRandomPatterns(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "-", "z", "(", ")", "(?", "i", "s", ":", "[", "]", "^", "[:", "alpha", ":]", `\`, "p", "L", "{", "}", "Greek", "Q", "E", "*", "+", "1", ",", "|", "P<n>", "$"})
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(part, 0, 10).Draw(t, "parts"), "")
		_, want := syntax.Parse(pattern, syntax.Perl)
		if got := checkPattern("pattern", "", pattern); (got == nil) != (want == nil) {
			t.Fatalf("%q becomes %q: %v, and as it is %v", pattern, cheap(pattern), got, want)
		}
	})
}

// FuzzSchema checks that the validation of any schema returns no error other than an inference.Error,
// and doesn't panic.
func FuzzSchema(f *testing.F) {
	f.Add([]byte(`{"$ref":"#/$defs/a","$defs":{"a":{"pattern":"["}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := checkText(t.Context(), &Schemas{}, string(bytes.TrimSpace(text))); err != nil {
			if _, known := errors.AsType[*inference.Error](err); !known {
				t.Fatal(err)
			}
		}
	})
}
