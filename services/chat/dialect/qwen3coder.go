package dialect

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Tags of Qwen3-Coder's calls.
const (
	qwenCall         = "<tool_call>"
	qwenCallEnd      = "</tool_call>"
	qwenFunction     = "<function="
	qwenFunctionEnd  = "</function>"
	qwenParameter    = "<parameter="
	qwenParameterEnd = "</parameter>"
)

// qwen3Coder reads the tags of Qwen3-Coder, Qwen 3.5 and Nemotron 3:
// <tool_call><function=name><parameter=key>value</parameter></function></tool_call>,
// each on a line of its own. The text of a value becomes JSON by the type that the
// tool's schema gives it, and is shown when it is complete. The outer tag may be
// missing.
type qwen3Coder struct {
	reader
	opens  *markers
	values *markers // what ends a value
	at     qwenState
	schema *properties
	keys   int
	key    []byte
	value  []byte
}

type qwenState uint8

const (
	qwenText    qwenState = iota
	qwenStarted           // after <tool_call>
	qwenName              // after <function=
	qwenInside            // in the function, between parameters
	qwenKey               // after <parameter=
	qwenValue             // in a value
	qwenEnded             // after </function>
)

func newQwen3Coder(r *reader) dialect {
	return &qwen3Coder{
		reader: *r,
		opens:  newMarkers(qwenCall, qwenFunction),
		// A value may hold code with such tags: unless it is the closing one, a tag
		// counts only at the start of a line, where models put those that they mean.
		values: newMarkers(qwenParameterEnd, "\n"+qwenParameter, "\n"+qwenFunctionEnd),
	}
}

func teachesQwen3Coder(template string) bool {
	return containsAll(template, qwenCall, qwenFunction, qwenParameter)
}

func (q *qwen3Coder) step() bool {
	switch q.at {
	case qwenText:
		return q.search()
	case qwenName:
		return q.function()
	case qwenKey:
		return q.parameter()
	case qwenValue:
		return q.inValue()
	default:
	}
	if !q.spaces() {
		return false
	}
	switch q.at {
	case qwenStarted:
		return q.expect(qwenFunction, qwenName)
	case qwenInside:
		return q.inside()
	default:
		return q.ended()
	}
}

func (q *qwen3Coder) search() bool {
	which, found := q.seek(q.opens)
	if !found {
		return false
	}
	q.at = qwenStarted
	if which == 1 {
		q.at = qwenName
	}
	return true
}

func (q *qwen3Coder) expect(literal string, then qwenState) bool {
	switch q.match(literal) {
	case more:
		return false
	case yes:
		q.at = then
	case no:
		q.nothing()
	}
	return true
}

func (q *qwen3Coder) nothing() {
	q.reject()
	q.at = qwenText
}

func (q *qwen3Coder) function() bool {
	name, v := q.before(">")
	name = strings.Trim(name, blanks+`"'`)
	switch {
	case v == more:
		return false
	case v == no || !isName(name):
		q.nothing()
		return true
	}
	q.open(name)
	q.keys, q.at = 0, qwenInside
	q.schema = readProperties(q.tools.find(name))
	return true
}

func (q *qwen3Coder) inside() bool {
	switch q.match(qwenParameter) {
	case more:
		return false
	case yes:
		q.at = qwenKey
		return true
	case no:
	}
	switch q.match(qwenFunctionEnd) {
	case more:
		return false
	case yes:
		q.functionEnd()
		return true
	case no:
	}
	if len(q.in) > 0 && bytes.HasPrefix(q.in, []byte(qwenCallEnd)) {
		q.functionEnd() // without its own end
		return true
	}
	if !q.final && len(q.in) < len(qwenCallEnd) && strings.HasPrefix(qwenCallEnd, string(q.in)) {
		return false
	}
	q.begin("")
	return true
}

// begin begins a value. What is no parameter is one without a name, so that
// nothing is lost.
func (q *qwen3Coder) begin(key string) {
	q.key, q.value, q.at = append(q.key[:0], key...), q.value[:0], qwenValue
}

func (q *qwen3Coder) functionEnd() {
	if q.keys > 0 {
		q.arguments([]byte("}"))
	}
	q.close()
	q.at = qwenEnded
}

func (q *qwen3Coder) parameter() bool {
	key, v := q.before(">")
	if v == more {
		return false
	}
	q.begin(strings.Trim(key, blanks+`"'`))
	return true
}

// inValue reads up to the tag that ends the value.
func (q *qwen3Coder) inValue() bool {
	at, which := q.values.find(q.in, q.final, nil)
	q.value = append(q.value, q.in[:at]...)
	q.take(at)
	if which < 0 {
		if q.final {
			q.cut()
		}
		return false
	}
	if which == 0 {
		q.take(len(qwenParameterEnd))
	}
	q.argument(q.value)
	q.at = qwenInside
	return true
}

// argument shows one. The line breaks next to the tags are the tags'.
func (q *qwen3Coder) argument(value []byte) {
	value = bytes.TrimPrefix(bytes.TrimPrefix(value, []byte("\r")), []byte("\n"))
	value = bytes.TrimSuffix(bytes.TrimSuffix(value, []byte("\n")), []byte("\r"))
	q.arguments(q.schema.append(keyed(q.keys, q.key), string(q.key), value))
	q.keys++
}

// cut shows a value that the end of the text cut off, as a string that has no end:
// clients can tell that it isn't whole.
func (q *qwen3Coder) cut() {
	value := bytes.TrimPrefix(q.value, []byte("\n"))
	out := appendString(keyed(q.keys, q.key), value)
	q.arguments(out[:len(out)-1])
}

func (q *qwen3Coder) ended() bool {
	switch q.match(qwenCallEnd) {
	case more:
		return false
	case yes:
		q.forget()
	case no:
	}
	q.nothing()
	return true
}

// properties are the schemas of a tool's parameters by name.
type properties struct{ byName map[string]json.RawMessage }

func readProperties(t *tool) *properties {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if t != nil && json.Unmarshal(t.Parameters, &schema) != nil {
		schema.Properties = nil
	}
	return &properties{schema.Properties}
}

// append appends the JSON of a value. It is a string unless the schema allows
// something else and the text is that.
func (p *properties) append(dst []byte, name string, value []byte) []byte {
	may := allowed(p.byName[name], maxSchema)
	text := bytes.TrimSpace(value)
	switch word := string(bytes.ToLower(text)); {
	case may == 0 || may == mayString:
	case word == "null" || word == "none":
		return append(dst, "null"...)
	case may&mayBool != 0 && (word == "true" || word == "false"):
		return append(dst, word...)
	case may&mayNumber != 0:
		if n, ok := number(string(text)); ok {
			return append(dst, n...)
		}
	}
	if may&mayNested != 0 && len(text) > 0 {
		if json.Valid(text) {
			return append(dst, text...)
		}
		if out, ok := appendPython(slices.Clip(dst), text); ok {
			return out
		}
	}
	return appendString(dst, value)
}

// may are the types that a schema allows.
type may uint8

const (
	mayString may = 1 << iota
	mayNumber
	mayBool
	mayNull
	mayNested // object or array
	mayAll    = mayString | mayNumber | mayBool | mayNull | mayNested
)

// maxSchema bounds how deeply alternatives of a schema are followed.
const maxSchema = 8

// allowed finds the types that a schema allows; 0 when it doesn't tell.
func allowed(schema json.RawMessage, depth int) may {
	var s struct {
		Type  any               `json:"type"`
		AnyOf []json.RawMessage `json:"anyOf"`
		OneOf []json.RawMessage `json:"oneOf"`
		Enum  []any             `json:"enum"`
		Ref   string            `json:"$ref"`
	}
	if len(schema) == 0 || depth == 0 || json.Unmarshal(schema, &s) != nil {
		return 0
	}
	var m may
	switch t := s.Type.(type) {
	case string:
		m |= mayOf(t)
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok {
				m |= mayOf(name)
			}
		}
	}
	for _, one := range append(s.AnyOf, s.OneOf...) {
		m |= allowed(one, depth-1)
	}
	if m == 0 && s.Ref != "" {
		m = mayAll
	}
	return m
}

func mayOf(name string) may {
	switch name {
	case "string":
		return mayString
	case "integer", "number":
		return mayNumber
	case "boolean":
		return mayBool
	case "null":
		return mayNull
	case "object", "array":
		return mayNested
	}
	return 0
}
