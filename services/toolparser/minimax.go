package toolparser

import (
	"bytes"
	"encoding/json"
	"slices"
)

// invokeFormat returns the format of elements between outer tags: <invoke
// name="f"><parameter name="k">v</parameter></invoke>. White space in a value is kept.
func invokeFormat(outer, outerEnd string) *xmlFormat {
	return &xmlFormat{
		outer: []string{outer}, outerEnd: []string{outerEnd},
		call: "<invoke name=", nameEnd: []string{">"}, callEnd: "</invoke>",
		param: "<parameter name=", keyEnd: ">", paramEnd: "</parameter>",
	}
}

// newMiniMaxM2 reads MiniMax M2's calls, between <minimax:tool_call> tags.
func newMiniMaxM2(r *reader) dialect {
	return newXMLCalls(r, invokeFormat("<minimax:tool_call>", "</minimax:tool_call>"))
}

// newDots reads the calls of dots, between <dots_function_call> tags.
func newDots(r *reader) dialect {
	return newXMLCalls(r, invokeFormat("<dots_function_call>", "</dots_function_call>"))
}

func recognizeDots(template string) string { return matchAll(template, "<dots_function_call>") }

func recognizeMiniMaxM2(template string) string { return matchAll(template, "<minimax:tool_call>") }

// Markers of MiniMax M3. Every tag has a prefix.
const (
	m3Prefix    = "]<]minimax[>["
	m3Call      = m3Prefix + "<invoke name="
	m3CallEnd   = m3Prefix + "</invoke>"
	m3Outer     = m3Prefix + "<tool_call>"
	m3OuterEnd  = m3Prefix + "</tool_call>"
	m3Open      = m3Prefix + "<"
	m3Close     = m3Prefix + "</"
	m3TextField = "$text"
)

// miniMaxM3 reads MiniMax M3's calls. A parameter is an element with the parameter's name,
// whose text or elements are the value. The schema, or a repeated name, decides whether
// elements are an object or a list. The arguments are therefore emitted when the call is
// complete.
type miniMaxM3 struct {
	reader
	opens *markers
	ends  *markers
	at    m3State
	tool  *tool
	body  []byte
}

type m3State uint8

const (
	m3Text  m3State = iota
	m3Start         // the parser is after the outer tag
	m3Name
	m3Body
	m3Ended
)

func newMiniMaxM3(r *reader) dialect {
	return &miniMaxM3{reader: *r, opens: newMarkers(m3Outer, m3Call), ends: newMarkers(m3CallEnd, m3OuterEnd)}
}

func recognizeMiniMaxM3(template string) string { return matchAll(template, m3Prefix) }

func (m *miniMaxM3) step() bool {
	switch m.at {
	case m3Text:
		which, found := m.seek(m.opens)
		if !found {
			return false
		}
		m.at = m3Start
		if which == 1 {
			m.at = m3Name
		}
		return true
	case m3Name:
		return m.function()
	case m3Body:
		return m.inBody()
	default:
	}
	if !m.spaces() {
		return false
	}
	literal, then := m3Call, m3Name
	if m.at == m3Ended {
		literal, then = m3OuterEnd, m3Text
	}
	switch m.match(literal) {
	case more:
		return false
	case yes:
		if m.at == m3Ended {
			m.forget()
		}
		m.at = then
	case no:
		m.emitAsText()
	}
	return true
}

func (m *miniMaxM3) emitAsText() {
	m.reject()
	m.at = m3Text
}

func (m *miniMaxM3) function() bool {
	head, v := m.before(">")
	name := unquoted(head)
	switch {
	case v == more:
		return false
	case v == no || !isName(name):
		m.emitAsText()
		return true
	}
	m.open(name)
	m.tool, m.body, m.at = m.tools.find(name), m.body[:0], m3Body
	return true
}

// inBody collects the elements up to the end of the call.
func (m *miniMaxM3) inBody() bool {
	at, which := m.ends.find(m.in, m.final, nil)
	m.body = append(m.body, m.in[:at]...)
	m.take(at)
	if which < 0 && !m.final {
		return false
	}
	if which == 0 {
		m.take(len(m3CallEnd))
	}
	out := (m3Writer{}).arguments(m3Elements(m.body), m.tool)
	if which < 0 {
		out = out[:len(out)-1] // the text ended within the call: the object stays open
	}
	m.arguments(out)
	if which >= 0 {
		m.close()
		m.at = m3Ended
	}
	return which >= 0
}

// m3Element is an element with its text or its inner elements.
type m3Element struct {
	name  string
	text  []byte
	inner []m3Element
}

// m3Elements reads elements up to the first broken one.
func m3Elements(body []byte) []m3Element {
	p := m3Reader{in: body}
	var all []m3Element
	for {
		p.in = bytes.TrimLeft(p.in, blanks)
		e, ok := p.element(maxDepth)
		if !ok {
			return all
		}
		all = append(all, e)
	}
}

type m3Reader struct{ in []byte }

func (p *m3Reader) element(depth int) (e m3Element, ok bool) {
	rest, found := bytes.CutPrefix(p.in, []byte(m3Open))
	end := bytes.IndexByte(rest, '>')
	if !found || depth == 0 || end <= 0 || rest[0] == '/' {
		return e, false
	}
	e.name, p.in = string(rest[:end]), rest[end+1:]
	shut := []byte(m3Close + e.name + ">")
	for {
		at := bytes.Index(p.in, []byte(m3Prefix))
		if at < 0 {
			return e, false
		}
		e.text, p.in = append(e.text, p.in[:at]...), p.in[at:]
		if after, closed := bytes.CutPrefix(p.in, shut); closed {
			p.in = after
			return e, true
		}
		inner, ok := p.element(depth - 1)
		if !ok {
			return e, false
		}
		e.inner = append(e.inner, inner)
	}
}

// m3Schema is the part of a schema that decides how an element is converted.
type m3Schema struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Items      json.RawMessage            `json:"items"`
	// Additional is a schema, or a boolean.
	Additional json.RawMessage   `json:"additionalProperties"`
	Type       any               `json:"type"`
	AnyOf      []json.RawMessage `json:"anyOf"`
	OneOf      []json.RawMessage `json:"oneOf"`
	types      typeSet
	list       bool
	object     bool
}

// has reports whether the schema names a type.
func (s *m3Schema) has(name string) bool {
	if list, ok := s.Type.([]any); ok {
		return slices.Contains(list, any(name))
	}
	return s.Type == name
}

// property returns the schema of an element.
func (s *m3Schema) property(name string) json.RawMessage {
	if p, ok := s.Properties[name]; ok {
		return p
	}
	return s.Additional
}

// m3Writer writes elements as JSON. It caches the schemas that it has read, keyed by the
// address of their bytes: a list has one schema for all its items.
type m3Writer map[*byte]*m3Schema

func (w m3Writer) arguments(elements []m3Element, t *tool) []byte {
	if t == nil {
		return w.object(nil, elements, &m3Schema{}, maxDepth)
	}
	return w.object(nil, elements, w.schema(t.Parameters), maxDepth)
}

func (w m3Writer) schema(raw json.RawMessage) *m3Schema {
	if len(raw) == 0 {
		return &m3Schema{}
	}
	s := w[&raw[0]]
	if s == nil {
		s = readM3Schema(raw, maxSchema)
		s.types = allowed(raw, maxSchema)
		w[&raw[0]] = s
	}
	return s
}

// readM3Schema reads a schema. If the schema has no type, it reads the first alternative
// that is a list or an object.
func readM3Schema(raw json.RawMessage, depth int) *m3Schema {
	s := &m3Schema{}
	if depth == 0 || json.Unmarshal(raw, s) != nil {
		return &m3Schema{}
	}
	s.list, s.object = s.has("array"), s.has("object")
	if s.Type == nil {
		s.list = s.Items != nil
		s.object = !s.list && (s.Properties != nil || s.Additional != nil)
	}
	if s.list || s.object {
		return s
	}
	for _, one := range append(s.AnyOf, s.OneOf...) {
		if inner := readM3Schema(one, depth-1); inner.list || inner.object {
			return inner
		}
	}
	return s
}

// object appends elements as an object. Elements with the same name become a list.
func (w m3Writer) object(dst []byte, elements []m3Element, s *m3Schema, depth int) []byte {
	var names []string
	byName := map[string][]m3Element{}
	for _, e := range elements {
		if byName[e.name] == nil {
			names = append(names, e.name)
		}
		byName[e.name] = append(byName[e.name], e)
	}
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(appendString(dst, []byte(name)), ": "...)
		property, all := w.schema(s.property(name)), byName[name]
		if len(all) == 1 {
			dst = w.value(dst, all[0], property, depth-1)
			continue
		}
		dst = w.list(dst, all, property, depth-1)
	}
	return append(dst, '}')
}

func (w m3Writer) list(dst []byte, elements []m3Element, s *m3Schema, depth int) []byte {
	dst = append(dst, '[')
	for i, e := range elements {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = w.value(dst, e, s, depth)
	}
	return append(dst, ']')
}

func (w m3Writer) value(dst []byte, e m3Element, s *m3Schema, depth int) []byte {
	switch blank := len(bytes.TrimSpace(e.text)) == 0; {
	case depth == 0:
		return append(dst, "null"...)
	case len(e.inner) > 0 && s.list:
		return w.list(dst, e.inner, w.schema(s.Items), depth-1)
	case len(e.inner) > 0 && !blank:
		return w.object(dst, append(slices.Clip(e.inner), m3Element{name: m3TextField, text: e.text}), s, depth)
	case len(e.inner) > 0:
		return w.object(dst, e.inner, s, depth)
	case blank && s.list && s.types&mayString == 0:
		return append(dst, "[]"...)
	case blank && s.object && s.types&mayString == 0:
		return append(dst, "{}"...)
	}
	return appendTyped(dst, s.types, e.text)
}
