package requests

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/strictjson"
)

// Schemas checks the JSON Schemas of one request, because engines accept invalid schemas and
// then answer unconstrained. A check takes time linear in the text and ends with its context.
//
// The library's compiler isn't used, because its time is quadratic in the number of
// subschemas. Instead, the library validates one subschema after the other against the
// metaschema.
type Schemas struct{ count, patternBytes int } // number of subschemas and bytes of patterns so far

// Check returns an [*inference.Error] that names the field at fault, or the context's error.
func (s *Schemas) Check(ctx context.Context, c *inference.Structured) error {
	var doc any
	err := strictjson.Read(c.Value, func(r *strictjson.Reader) (err error) {
		doc, err = r.Within(budget.FreeValues, func() (any, error) { return r.Value(true) })
		return err
	})
	switch {
	case errors.Is(err, strictjson.ErrFieldFull):
		return inference.Invalid(c.Param, "%s holds more than %d values: send a smaller schema", c.Param, budget.FreeValues)
	case errors.Is(err, strictjson.ErrTooManyKeys):
		return inference.Invalid(c.Param, "%s holds an object of more than %d keys: send a smaller schema", c.Param, budget.ObjectKeys)
	case err != nil:
		return inference.Invalid(c.Param, "%s is not valid JSON: %s", c.Param, strictjson.Describe(err))
	}
	root, isObject := doc.(map[string]any)
	if !isObject {
		return inference.Invalid(c.Param, "%s must be a JSON schema object", c.Param)
	}
	err = s.walk(ctx, root)
	if flaw, wrong := errors.AsType[schemaError](err); wrong {
		return inference.Invalid(c.Param, "%s is not a valid JSON schema: %s", c.Param, string(flaw))
	}
	if errors.Is(err, errTooManySchemas) {
		return inference.Invalid(c.Param, "%s: the JSON schemas of a request hold more than %d subschemas together: send smaller ones", c.Param, budget.Subschemas)
	}
	if errors.Is(err, errTooManyPatterns) {
		return inference.Invalid(c.Param, "%s: the patterns in the JSON schemas of a request are longer than %d bytes together: send fewer", c.Param, budget.PatternsBytes)
	}
	return err
}

// schemaError describes an error in a schema.
type schemaError string

func (f schemaError) Error() string { return string(f) }

func flawf(format string, args ...any) error { return schemaError(fmt.Sprintf(format, args...)) }

// Errors in addresses and references.
const (
	errSchemaAddress   = schemaError("an address in $id, $ref, $anchor or $schema isn't a valid URI reference")
	errSchemaElsewhere = schemaError("the schema refers to another document, but only references within the schema are supported")
	errSchemaNowhere   = schemaError("a $ref refers to a part of the schema that doesn't exist")
	errSchemaTwice     = schemaError("two subschemas have the same $id or $anchor")
)

var (
	errTooManySchemas  = errors.New("the JSON schemas of the request have too many subschemas")
	errTooManyPatterns = errors.New("the patterns in the JSON schemas of the request are too long together")
)

// schemaWalk visits the subschemas of one schema and the targets of references, each once.
type schemaWalk struct {
	schemas   *Schemas
	resources map[string]*schemaResource // the schema's resources, keyed by their addresses (URIs)
	seen      map[uintptr]bool           // true for the address of each object that has been checked
	trail     []string                   // path from the root to the current subschema
	refs      []schemaRef                // references that are still to be followed
}

// schemaResource is a schema with an address. References in it are relative to that address.
type schemaResource struct {
	node    map[string]any
	base    *url.URL
	draft   *schemaDraft
	anchors map[string]map[string]any
}

func (s *Schemas) walk(ctx context.Context, node map[string]any) error {
	draft, err := latestDraft()
	if err != nil {
		return err
	}
	root := &schemaResource{node: node, base: rootAddress(), draft: draft, anchors: map[string]map[string]any{}}
	w := &schemaWalk{schemas: s, resources: map[string]*schemaResource{root.base.String(): root}, seen: map[uintptr]bool{}}
	if err := w.schema(ctx, node, root); err != nil {
		return err
	}
	for len(w.refs) > 0 { // schemas that are found in the loop append references
		ref := w.refs[0]
		w.refs = w.refs[1:]
		target, in, err := w.resolve(ref)
		if err == nil && target != nil {
			w.trail = append(w.trail[:0], ref.to)
			err = w.schema(ctx, target, in)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// schemasBetweenLooks is the number of subschemas between two checks of the context.
const schemasBetweenLooks = 64

// schema checks a subschema of a resource and the subschemas below it.
func (w *schemaWalk) schema(ctx context.Context, node map[string]any, in *schemaResource) error {
	id := reflect.ValueOf(node).Pointer()
	if w.seen[id] {
		return nil
	}
	w.seen[id] = true
	w.schemas.count++
	if w.schemas.count > budget.Subschemas {
		return errTooManySchemas
	}
	if w.schemas.count%schemasBetweenLooks == 0 && ctx.Err() != nil {
		return ctx.Err()
	}
	draft, err := w.draftOf(node, in)
	if err != nil {
		return err
	}
	seen, below, err := w.schemas.flatten(draft, node)
	if err != nil {
		return w.explain(node, err)
	}
	if w.tooMany(below) {
		return errTooManySchemas
	}
	if err := draft.meta.Validate(seen); err != nil {
		return w.explain(node, err)
	}
	if in, err = w.address(node, in, draft); err != nil {
		return err
	}
	depth := len(w.trail)
	for _, b := range below {
		w.trail = append(w.trail[:depth], b.path...)
		if err := w.schema(ctx, b.node, in); err != nil {
			return err
		}
	}
	w.trail = w.trail[:depth]
	return nil
}

// tooMany reports whether the unseen subschemas exceed the rest of the budget. The subschemas
// are counted before the metaschema validates the list or object that contains them.
func (w *schemaWalk) tooMany(below []schemaBelow) bool {
	left := budget.Subschemas - w.schemas.count
	if len(below) <= left {
		return false
	}
	for _, b := range below {
		if !w.seen[reflect.ValueOf(b.node).Pointer()] {
			left--
		}
	}
	return left < 0
}

// explain returns an error with the position of the invalid value in the schema. The
// library's error text isn't used, because it describes the metaschema.
func (w *schemaWalk) explain(node map[string]any, err error) error {
	where := ""
	for _, step := range w.trail {
		where = budget.Cut(strictjson.JoinPath(where, step), budget.MessageBytes)
	}
	if bad, ok := errors.AsType[*patternError](err); ok {
		return flawf("%s %s", strictjson.JoinPath(where, bad.key), bad.why)
	}
	broken, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err
	}
	e := deepest(broken)
	where = strictjson.PathOf(where, node, e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return flawf("%s must be of type %s, got %s", where, strictjson.ListWords(k.Want), k.Got)
	case *kind.Enum:
		return flawf("%s must be %s, got %s", where, strictjson.ListWords(k.Want), strictjson.Quote(k.Got))
	case *kind.Format:
		return flawf("%s is not a valid %s", where, k.Want)
	}
	return flawf("%s has an invalid value (keyword %s of the metaschema)", where, strings.Join(e.ErrorKind.KeywordPath(), "."))
}

// deepest returns the cause nearest to the invalid value, and the first one of several.
func deepest(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	var found *jsonschema.ValidationError
	for _, cause := range e.Causes {
		if c := deepest(cause); found == nil || len(c.InstanceLocation) > len(found.InstanceLocation) {
			found = c
		}
	}
	if found == nil {
		return e
	}
	return found
}
