package toolparser

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/trident-inference/trident/services/inference"
)

// newRequired reads an answer under [Dialects.Constrain]'s schema for required
// calls. The answer is an object {"name": …, "arguments": {…}} or an array of such
// objects.
func newRequired(r *reader) dialect { return newJSONCalls(r, &format{bare: bareStart, array: true}) }

// newEither reads an answer under [Dialects.ConstrainEither]'s schema. Its first key
// determines whether it is a call, so that the client's own JSON is streamed.
func newEither(r *reader) dialect { return newJSONCalls(r, &format{bare: bareStart, nameFirst: true}) }

// named reads an answer that is the arguments of one tool.
type named struct {
	*jsonCalls
	name string
	read bool
}

func newNamed(r *reader, name string) dialect {
	return &named{jsonCalls: newJSONCalls(r, &format{bare: bareStart}), name: name}
}

func (n *named) step() bool {
	if n.read {
		return n.jsonCalls.step()
	}
	if !n.spaces() {
		return false
	}
	n.read = true
	n.argumentsOf(n.name, "")
	return true
}

// Constrain returns a JSON schema. For required calls it is an array of {"name":
// …, "arguments": …} over all tools that the choice allows, or one such object if single
// is set. For a named tool it is the schema of the tool's arguments, or the constraint on
// its input.
func (Dialects) Constrain(choice inference.ToolChoice, definitions []json.RawMessage, single bool) (*inference.Structured, error) {
	var schema json.RawMessage
	var err error
	switch choice.Mode {
	case inference.ToolRequired:
		schema, err = requiredSchema(&choice, definitions, single)
	case inference.ToolNamed:
		if schema, err = namedSchema(choice.Name, definitions); err == nil && choice.Input != nil {
			return choice.Input, nil
		}
	case inference.ToolAuto, inference.ToolNone:
		return nil, nil //nolint:nilnil // these choices have no constraint
	default:
		err = fmt.Errorf("unknown tool choice mode %d", choice.Mode)
	}
	if err != nil {
		return nil, err
	}
	return &inference.Structured{Kind: "json", Value: schema, Param: "tool_choice"}, nil
}

func namedSchema(name string, definitions []json.RawMessage) (json.RawMessage, error) {
	t := (&toolset{definitions: definitions}).find(name)
	if t == nil {
		return nil, inference.Invalid("tool_choice", "tool_choice names the tool `%s`, which is not in tools", name)
	}
	return t.schema(), nil
}

// requiredSchema returns an anyOf over the allowed tools. A tool's schema that refers to
// its own parts goes to $defs as a whole, so that its references stay valid.
func requiredSchema(choice *inference.ToolChoice, definitions []json.RawMessage, single bool) (json.RawMessage, error) {
	calls, defs, err := callSchemas(choice, definitions)
	if err != nil {
		return nil, err
	}
	if len(calls) == 0 {
		return nil, inference.Invalid("tool_choice", "tool_choice requires a tool call, but the request has no tools")
	}
	schema := anyOf(calls)
	if !single {
		schema = fmt.Appendf(nil, `"type":"array","minItems":1,"items":{%s}`, schema)
	}
	return withDefinitions(schema, defs), nil
}

// callSchemas returns a schema of each allowed tool's call, and the members of $defs that
// they refer to. References of a tool's schema to its own parts must still lead to these
// parts: a schema with references goes to $defs as a whole. If only some tools are allowed,
// all schemas go there, because the names in $defs have the tool's index among all tools.
func callSchemas(choice *inference.ToolChoice, definitions []json.RawMessage) (calls, defs [][]byte, err error) {
	for i, d := range definitions {
		t := readTool(d)
		if t == nil {
			return nil, nil, inference.Invalid(fmt.Sprintf("tools[%d]", i), "tools[%d] must be a function with a name", i)
		}
		if !choice.Allows(t.Name) {
			continue
		}
		arguments, def, err := placed(t.schema(), fmt.Sprintf("tool%d", i), choice.Allowed != nil)
		if err != nil {
			return nil, nil, inference.Invalid(fmt.Sprintf("tools[%d].function.parameters", i), "tools[%d].function.parameters is not a valid JSON schema: %v", i, err)
		}
		if def != nil {
			defs = append(defs, def)
		}
		name := appendString(nil, []byte(t.Name))
		calls = append(calls, fmt.Appendf(nil, `{"type":"object","properties":{"name":{"const":%s},"arguments":%s},"required":["name","arguments"],"additionalProperties":false}`, name, arguments))
	}
	return calls, defs, nil
}

// placed returns a schema in the form in which it can stand inside of another schema, and
// the member of $defs with the given name that this form refers to. The member is nil if
// the form refers to none, which defined rules out.
func placed(schema json.RawMessage, name string, defined bool) (within, def []byte, err error) {
	if !defined && !bytes.Contains(schema, []byte(`"$ref"`)) {
		return schema, nil, nil
	}
	moved, err := moveRefs(schema, "#/$defs/"+name)
	if err != nil {
		return nil, nil, err
	}
	return fmt.Appendf(nil, `{"$ref":"#/$defs/%s"}`, name), fmt.Appendf(nil, `%q:%s`, name, moved), nil
}

func anyOf(schemas [][]byte) []byte {
	return append(append([]byte(`"anyOf":[`), bytes.Join(schemas, []byte(","))...), ']')
}

func withDefinitions(schema []byte, defs [][]byte) json.RawMessage {
	if len(defs) > 0 {
		schema = fmt.Appendf(nil, `"$defs":{%s},%s`, bytes.Join(defs, []byte(",")), schema)
	}
	return fmt.Appendf(nil, `{%s}`, schema)
}

// ConstrainEither returns a schema that accepts one call of an allowed tool, in the form of
// a forced call, or JSON that the client's own schema accepts. The constraint given must be
// of the kind json or json_object.
func (Dialects) ConstrainEither(choice inference.ToolChoice, given *inference.Structured, definitions []json.RawMessage) (*inference.Structured, error) {
	own := given.Value
	if given.Kind == "json_object" {
		own = json.RawMessage(`{"type":"object"}`)
	}
	calls, defs, err := callSchemas(&choice, definitions)
	if err != nil {
		return nil, err
	}
	within, def, err := placed(own, "response", false)
	if err != nil {
		return nil, inference.Invalid(given.Param, "%s is not a valid JSON schema: %v", given.Param, err)
	}
	if def != nil {
		defs = append(defs, def)
	}
	schema := withDefinitions(anyOf(append(calls, within)), defs)
	return &inference.Structured{Kind: "json", Value: schema, Param: given.Param, Calls: len(calls)}, nil
}

// schema returns the schema of the tool's arguments. A tool without a schema has
// no arguments.
func (t *tool) schema() json.RawMessage {
	if s := bytes.TrimSpace(t.Parameters); len(s) > 0 && s[0] == '{' && len(bytes.Trim(s, "{} \t\r\n")) > 0 {
		return s
	}
	return json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
}

// moveRefs prefixes the references of a schema to its own parts with root, the
// schema's new location. It copies tokens to keep the order of the keys.
func moveRefs(schema json.RawMessage, root string) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	m := mover{dec: dec, root: root}
	err := m.value(maxDepth, true)
	return m.out, err
}

type mover struct {
	dec  *json.Decoder
	root string
	out  []byte
}

// value copies one value. It changes references only in schemas, not in data.
func (m *mover) value(depth int, schema bool) error {
	if depth == 0 {
		return fmt.Errorf("it has more than %d levels of nesting", maxDepth)
	}
	token, err := m.dec.Token()
	if err != nil {
		return err
	}
	open, nested := token.(json.Delim)
	if !nested {
		return m.scalar(token)
	}
	m.out = append(m.out, byte(open))
	for n := 0; m.dec.More(); n++ {
		if n > 0 {
			m.out = append(m.out, ',')
		}
		if err := m.member(depth, schema, open == '{'); err != nil {
			return err
		}
	}
	if _, err := m.dec.Token(); err != nil {
		return err
	}
	m.out = append(m.out, byte(open+2)) // ASCII puts ] and } two after [ and {
	return nil
}

func (m *mover) scalar(token json.Token) error {
	text, err := json.Marshal(token)
	m.out = append(m.out, text...)
	return err
}

func (m *mover) member(depth int, schema, object bool) error {
	if !object {
		return m.value(depth-1, schema)
	}
	token, err := m.dec.Token()
	if err != nil {
		return err
	}
	key, _ := token.(string)
	if err := m.scalar(key); err != nil {
		return err
	}
	m.out = append(m.out, ':')
	switch key {
	case "$ref":
		return m.ref(depth, schema)
	case "const", "enum", "default", "examples":
		schema = false
	}
	return m.value(depth-1, schema)
}

func (m *mover) ref(depth int, schema bool) error {
	start := len(m.out)
	if err := m.value(depth-1, schema); err != nil {
		return err
	}
	if rest, ours := bytes.CutPrefix(m.out[start:], []byte(`"#`)); ours && schema {
		m.out = append(m.out[:start], append([]byte(`"`+m.root), rest...)...)
	}
	return nil
}
