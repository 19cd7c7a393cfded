package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/openapi"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/strictjson"
)

// Validator checks request bodies against openapi/openai.yaml. It is safe for concurrent use.
//
// Some fields are checked only by their own decoders, which have to read them anyway and are
// faster than walking their unions in the schema. [DecodeMessages] checks messages,
// [DecodePrompt] prompt, [DecodeInput] input, and packages responses and decisions their inputs. A
// test compares the decoders with the document.
type Validator struct {
	bodies map[string]*bodySchema // schemas of the bodies by route pattern, such as POST /v1/embeddings
}

// bodySchema is an operation's request body, with its fields prepared for reading.
type bodySchema struct {
	schema *openapi3.Schema
	fields map[string]field
	// optional bodies may be absent.
	optional bool
}

// field describes how to read one field of a body.
type field struct {
	// loose fields are checked by their own decoder, not by the schema.
	loose bool
	// raw fields are passed to the handler as the client's JSON. Fields with rawItems are passed as
	// a list of the items' JSON.
	raw, rawItems bool
	// open fields are raw and accept any object, which isn't decoded.
	open bool
	// most is the maximum number of values in the field, keys the maximum number of keys of
	// an open field. over is the error beyond most.
	most, keys int
	over       string
	// ids fields are lists of token ids, which don't count as values.
	ids bool
	// integer fields take int64 only; the schema compares floats, and 2^63 passes.
	integer bool
	// shape finds keys in the field that the document doesn't have.
	shape *shape
	// Values that have the same meaning as an absent optional field.
	nullIsAbsent, objectIsAbsent, listIsAbsent bool
}

// sharedValidator returns the validator of all handlers. Parsing the document takes a tenth of a
// second.
var sharedValidator = sync.OnceValues(NewValidator) //nolint:gochecknoglobals // a constant, computed on first use

// NewValidator loads the embedded document. It returns an error only if the document is
// invalid.
func NewValidator() (*Validator, error) {
	doc, err := loadDocument()
	if err != nil {
		return nil, err
	}
	v := &Validator{bodies: map[string]*bodySchema{}}
	for _, o := range []struct {
		path  string
		body  reflect.Type
		loose string
	}{
		{"/v1/chat/completions", reflect.TypeFor[api.CreateChatCompletionRequest](), "messages"},
		{"/v1/completions", reflect.TypeFor[api.CreateCompletionRequest](), "prompt"},
		{"/v1/embeddings", reflect.TypeFor[api.CreateEmbeddingRequest](), "input"},
		{"/v1/chat/completions/input_tokens", reflect.TypeFor[api.CreateChatCompletionRequest](), "messages"},
		{"/v1/chat/completions/render", reflect.TypeFor[api.CreateChatCompletionRequest](), "messages"},
		{"/v1/completions/render", reflect.TypeFor[api.CreateCompletionRequest](), "prompt"},
		{"/v1/decisions", reflect.TypeFor[api.CreateDecisionRequest](), "input"},
		{"/v1/tokenize", reflect.TypeFor[api.TokenizeRequest](), "messages"},
		{"/v1/detokenize", reflect.TypeFor[api.DetokenizeRequest](), ""},
		{"/v1/responses", reflect.TypeFor[api.CreateResponse](), "input"},
		{"/v1/responses/input_tokens", reflect.TypeFor[api.CountResponseInputTokensRequest](), "input"},
	} {
		schema := doc.Paths.Value(o.path).Post.RequestBody.Value.Content["application/json"].Schema.Value
		v.bodies["POST "+o.path] = newBodySchema(schema, o.body, o.loose)
	}
	v.bodies["POST /v1/embeddings"].keepEmpty("input")
	for _, action := range []string{"models/{model}/load", "models/{model}/unload", "responses/{response_id}/cancel"} { // they have no body, but clients send {}
		v.bodies["POST /v1/"+action] = &bodySchema{schema: openapi3.NewObjectSchema(), optional: true}
	}
	return v, nil
}

func loadDocument() (*openapi3.T, error) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(openapi.OpenAI())
	if err != nil {
		return nil, fmt.Errorf("load openai.yaml: %w", err)
	}
	if err := doc.Validate(loader.Context); err != nil {
		return nil, fmt.Errorf("check openai.yaml: %w", err)
	}
	return doc, nil
}

// newBodySchema derives the schema of the fast path. It is the document's schema, except that
// the loose field accepts any value.
func newBodySchema(schema *openapi3.Schema, body reflect.Type, loose string) *bodySchema {
	fast := *schema
	fast.Properties = maps.Clone(schema.Properties)
	if loose != "" {
		fast.Properties[loose] = openapi3.NewSchemaRef("", &openapi3.Schema{Nullable: true})
	}
	fields := make(map[string]field, len(schema.Properties))
	for name, property := range schema.Properties {
		optional := !slices.Contains(schema.Required, name)
		fields[name] = field{
			loose:          name == loose,
			shape:          shapeOf(property.Value),
			integer:        property.Value.Type.Is(openapi3.TypeInteger),
			most:           mostValues(property.Value),
			keys:           mostKeys(property.Value),
			over:           overBudget(property.Value),
			ids:            manyIDs(property.Value),
			nullIsAbsent:   optional,
			objectIsAbsent: optional && permits(property.Value, openapi3.TypeObject),
			listIsAbsent:   optional && permits(property.Value, openapi3.TypeArray),
		}
	}
	for goField := range body.Fields() {
		name, _, _ := strings.Cut(goField.Tag.Get("json"), ",")
		f := fields[name]
		f.raw = goField.Type == reflect.TypeFor[json.RawMessage]()
		f.rawItems = goField.Type == reflect.TypeFor[[]json.RawMessage]()
		f.open = f.raw && !f.loose && open(schema.Properties[name].Value)
		fields[name] = f
	}
	return &bodySchema{schema: &fast, fields: fields}
}

// keepEmpty passes an empty list or object in an optional field to the field's decoder, which refuses it.
func (s *bodySchema) keepEmpty(name string) {
	f := s.fields[name]
	f.objectIsAbsent, f.listIsAbsent = false, false
	s.fields[name] = f
}

// mostValues returns how many values a field may have, which is checked before they are
// built. The number comes from the schema's own limit or from the budget of its kind.
func mostValues(schema *openapi3.Schema) int {
	switch {
	case holdsOpen(schema):
		return budget.FreeValues
	case schema.MaxItems != nil:
		return max(budget.FieldValues, int(*schema.MaxItems)+1)
	case schema.MaxProps != nil:
		return max(budget.FieldValues, int(*schema.MaxProps)+1)
	}
	return budget.FieldValues
}

// manyIDs reports whether the schema is a list that may have all token ids of a request. The
// ids of lists with a smaller limit count as values, so that those beyond the limit aren't
// built.
func manyIDs(schema *openapi3.Schema) bool {
	return schema.Items != nil && schema.Items.Value.Type.Is(openapi3.TypeInteger) && schema.MaxItems != nil && *schema.MaxItems >= budget.TokenIDs
}

func mostKeys(schema *openapi3.Schema) int {
	if schema.MaxProps == nil {
		return budget.FreeValues
	}
	return int(*schema.MaxProps)
}

// overBudget returns the error of a field with more values than mostValues.
func overBudget(schema *openapi3.Schema) string {
	switch {
	case holdsOpen(schema):
	case schema.MaxItems != nil && *schema.MaxItems >= budget.FieldValues && *schema.MaxItems < budget.TokenIDs:
		return fmt.Sprintf("must be a list of at most %d items", *schema.MaxItems)
	case schema.MaxProps != nil:
		return fmt.Sprintf("must be an object of at most %d keys", *schema.MaxProps)
	}
	return fmt.Sprintf("holds more than %d values: send fewer", mostValues(schema))
}

// holdsOpen reports whether a value of the schema may contain objects of any form.
func holdsOpen(schema *openapi3.Schema) bool {
	below := slices.Collect(maps.Values(schema.Properties))
	below = append(below, schema.OneOf...)
	if schema.Items != nil {
		below = append(below, schema.Items)
	}
	extra := schema.AdditionalProperties.Has
	return extra != nil && *extra || slices.ContainsFunc(below, func(s *openapi3.SchemaRef) bool { return holdsOpen(s.Value) })
}

// permits reports whether a value of that type can satisfy the schema.
func permits(schema *openapi3.Schema, kind string) bool {
	if schema.Type != nil {
		return schema.Type.Is(kind)
	}
	return slices.ContainsFunc(schema.OneOf, func(s *openapi3.SchemaRef) bool { return permits(s.Value, kind) })
}

// open reports whether the schema accepts every object.
func open(schema *openapi3.Schema) bool {
	if schema.Type.Is(openapi3.TypeObject) {
		extra := schema.AdditionalProperties.Has
		return extra != nil && *extra && len(schema.Properties)+len(schema.Required)+len(schema.OneOf) == 0
	}
	return slices.ContainsFunc(schema.OneOf, func(s *openapi3.SchemaRef) bool { return open(s.Value) })
}

// Validated is a valid request body. As the body of an [http.Request] it passes its values to
// the generated code, which thus binds exactly the values that were checked. encoding/json
// would match keys in any letter case and keep the last of two. Optional fields are absent if
// they are null, or if they are empty lists or objects.
type Validated struct {
	// Unknown are the sorted names of fields that the document doesn't have, such as zeta or
	// messages[0].zeta. For a list, the first item is named. The names come from the client
	// and long ones are cut: quote them before they are used in a header.
	Unknown []string
	// Misplaced are the sorted names of members of messages and inputs that only objects of another
	// type have, such as messages[0].content[0].image_url in a part of the type text.
	Misplaced []string
	// NoModel reports that the operation runs a model and that the request names none.
	NoModel bool

	value map[string]any
}

// SetModel sets the model of a request that names none.
func (b *Validated) SetModel(name string) { b.value["model"] = name }

// ValidatedValue is the method that the generated code's runtime.BindJSONBody calls.
func (b *Validated) ValidatedValue() any { return b.value }

// Read always fails: a body that couldn't be bound must not be decoded by other rules than it
// was checked by.
func (*Validated) Read([]byte) (int, error) {
	return 0, errors.New("the validated request body does not match its generated Go type")
}

// Close does nothing.
func (*Validated) Close() error { return nil }

var _ io.ReadCloser = (*Validated)(nil)

// Validate reads and checks the body of a request that matched pattern, as in [http.Request].
// The error is an [*inference.Error] that names the invalid field. The result refers to body,
// which must not change.
func (v *Validator) Validate(pattern string, body []byte) (*Validated, error) {
	schema, ok := v.bodies[pattern]
	if !ok {
		return nil, fmt.Errorf("the OpenAPI document has no request body for %q", pattern)
	}
	result := &Validated{value: make(map[string]any, 8)}
	if schema.optional && len(bytes.TrimSpace(body)) == 0 {
		return result, nil
	}
	checked := make(map[string]any, 8)
	unknown := &unknownKeys{}
	err := strictjson.Read(body, func(r *strictjson.Reader) error {
		if r.Peek() != '{' {
			return errNotObject
		}
		return r.Object(func(name string) error { return schema.read(r, name, result, checked, unknown) })
	})
	if errors.Is(err, errNotObject) {
		return nil, inference.Invalid("", "the request body must be a JSON object")
	}
	if err != nil {
		return nil, strictjson.BodyError(err)
	}
	if err := schema.schema.VisitJSON(checked, omitValues); err != nil {
		return nil, otherPath(pattern, unknown.names, explain(checked, err))
	}
	slices.Sort(unknown.names)
	slices.Sort(unknown.misplaced)
	result.Unknown, result.Misplaced = unknown.names, unknown.misplaced
	if _, runs := schema.fields["model"]; runs {
		result.NoModel = result.value["model"] == nil || result.value["model"] == ""
	}
	return result, nil
}

var errNotObject = errors.New("the request body is not a JSON object")

// omitValues prevents the library from writing the value and the schema into errors that aren't
// shown.
var omitValues = openapi3.SetSchemaErrorMessageCustomizer(func(err *openapi3.SchemaError) string { return err.Reason }) //nolint:gochecknoglobals // a constant

// read reads one field into result, for the handler, and into checked, for the schema.
func (s *bodySchema) read(r *strictjson.Reader, name string, result *Validated, checked map[string]any, unknown *unknownKeys) error {
	f, known := s.fields[name]
	unknown.trail = append(unknown.trail[:0], step{key: name})
	if !known {
		unknown.note(&unknown.names)
	}
	start := r.Offset()
	value, err := f.read(r, known, unknown)
	if errors.Is(err, strictjson.ErrFieldFull) {
		err = &strictjson.Error{Message: f.over, Named: true}
	}
	if err != nil || !known {
		return err
	}
	raw := r.Since(start)
	if f.absent(raw) {
		return nil
	}
	if n, ok := value.(float64); ok && f.integer && n == math.Trunc(n) {
		return strictjson.Wrong("a 64-bit integer", value)
	}
	checked[name] = value
	result.value[name], err = f.bound(value, raw)
	return err
}

// read builds the value if the schema checks it, and looks for unknown keys in it.
func (f field) read(r *strictjson.Reader, known bool, unknown *unknownKeys) (any, error) {
	r.FreeNumbers = f.loose || f.ids
	defer func() { r.FreeNumbers = false }()
	switch {
	case f.loose: // its decoder counts the values that it builds
		unknown.byType = true
		defer func() { unknown.byType = false }()
		return nil, unknown.walk(r, f.shape)
	case !known:
		return r.Value(false)
	case f.open && r.Peek() == '{':
		return map[string]any{}, f.skim(r)
	default:
		start := r.Offset()
		value, err := r.Within(f.most, func() (any, error) { return r.Value(true) })
		if err != nil || f.shape == nil {
			return value, err
		}
		return value, strictjson.ReadPart(r.Since(start), func(again *strictjson.Reader) error {
			again.FreeNumbers = r.FreeNumbers
			return unknown.walk(again, f.shape)
		})
	}
}

// skim checks the size of an open field's object without decoding it.
func (f field) skim(r *strictjson.Reader) error {
	keys := 0
	_, err := r.Within(f.most, func() (any, error) {
		return nil, r.Object(func(string) error {
			keys++
			if keys > f.keys {
				return strictjson.ErrFieldFull
			}
			_, err := r.Value(false)
			return err
		})
	})
	if errors.Is(err, strictjson.ErrFieldFull) && keys > f.keys {
		return &strictjson.Error{Message: fmt.Sprintf("must be an object of at most %d keys", f.keys), Named: true}
	}
	return err
}

// absent reports whether the value has the same meaning as an absent field.
func (f field) absent(raw json.RawMessage) bool {
	switch raw[0] {
	case 'n':
		return f.nullIsAbsent
	case '{':
		return f.objectIsAbsent && isEmpty(raw)
	case '[':
		return f.listIsAbsent && isEmpty(raw)
	}
	return false
}

// isEmpty reports whether the JSON of an object or list has no members.
func isEmpty(raw json.RawMessage) bool { return len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0 }

// bound returns the value in the form of the field's generated Go type.
func (f field) bound(value any, raw json.RawMessage) (any, error) {
	switch {
	case f.raw:
		return raw, nil
	case f.rawItems && raw[0] == '[':
		return rawItems(raw)
	}
	return value, nil
}

// rawItems splits the JSON of a list into the JSON of its items.
func rawItems(raw json.RawMessage) ([]any, error) {
	items := []any{}
	err := strictjson.ReadPart(raw, func(r *strictjson.Reader) error {
		return r.Array(func(int) error {
			item, err := r.Raw()
			items = append(items, item)
			return err
		})
	})
	return items, err
}
