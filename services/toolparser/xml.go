package toolparser

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// xmlFormat describes how a dialect writes calls with one element for each argument. The
// element contains the text of the value:
//
//	outer call NAME nameEnd (param KEY keyEnd value VALUE paramEnd)* callEnd outerEnd
//
// The text becomes JSON by the type in the tool's schema, unless the element states a
// type.
type xmlFormat struct {
	outer    []string // markers before a call; each may be missing
	outerEnd []string // markers after a call; each may be missing
	call     string   // prefix of a call's name
	nameEnd  []string // strings that end the name; they are read with the name, except param and callEnd
	callEnd  string
	param    string // prefix of a parameter's key
	keyEnd   string
	value    string // prefix of the value; "" if the value follows the key directly
	kind     string // prefix of an optional element before the value that has its type; "" if the format has none
	kindEnd  string
	paramEnd string
	whole    string // prefix of an element with all arguments as JSON; "" if the format has none
	wholeEnd string
	lines    bool     // line breaks next to the tags are part of the tags
	tokens   bool     // the tags are special tokens, which can't occur in a value
	drop     wrappers // wrappers of text

	// name extracts the name from the text between call and nameEnd. If nil, quotes are
	// removed.
	name func(head string) string
	// key extracts the key and its type from the text between param and keyEnd. If nil,
	// quotes are removed.
	key func(head string) (key string, as valueType)
	// decode converts the text of a complete value. If nil, the text stays as it is.
	decode func(value []byte) []byte
}

// valueType is the type that a parameter's element states.
type valueType uint8

const (
	typeSchema valueType = iota // the argument states no type: the tool's schema decides
	typeString
	typeJSON // JSON, or a string if it isn't valid JSON
)

// unquoted returns a name without the quotes that some models write.
func unquoted(head string) string { return strings.Trim(head, blanks+`"'`) }

// quotedName reads a name in quotes, or up to a blank. It also returns the rest.
func quotedName(head string) (name, rest string) {
	head = strings.TrimLeft(head, blanks)
	if head != "" && strings.IndexByte(`"'`, head[0]) >= 0 {
		if name, rest, closed := strings.Cut(head[1:], head[:1]); closed {
			return name, rest
		}
	}
	if i := strings.IndexAny(head, blanks); i >= 0 {
		return unquoted(head[:i]), head[i:]
	}
	return unquoted(head), ""
}

// attribute returns the value of name="value" in a tag, or "" if the tag doesn't have
// it.
func attribute(tag, name string) string {
	for tag != "" {
		key, rest, found := strings.Cut(tag, "=")
		if !found {
			return ""
		}
		var value string
		value, tag = quotedName(rest)
		if strings.Trim(key, blanks) == name {
			return value
		}
	}
	return ""
}

// xmlCalls reads the calls of an [xmlFormat]. Strings are emitted as they are read,
// other values when they are complete.
type xmlCalls struct {
	reader
	format *xmlFormat
	opens  *markers // markers of call, then of outer, then of the wrappers
	names  *markers // the markers that end a function's name
	values *markers // the markers that end a value
	wholes *markers // the markers that end the JSON of all arguments
	at     xmlState
	schema *properties
	keys   int
	key    []byte
	as     valueType
	value  []byte // bytes of the value that weren't emitted yet
	text   bool   // the value is a string, emitted as it is read
	begun  bool   // the start of the value was emitted
}

type xmlState uint8

const (
	xmlText    xmlState = iota
	xmlStarted          // the parser is after an outer marker
	xmlName             // the parser is after the marker call, in the name
	xmlInside           // the parser is in the call, between parameters
	xmlKey              // the parser is after the marker param, in the key
	xmlOpen             // the parser is after the key, before the value's prefix
	xmlValue            // the parser is in a value
	xmlWhole            // the parser is after the marker whole, before its keyEnd
	xmlJSON             // the parser is in the JSON of all arguments
	xmlEnded            // the parser is after callEnd
)

func newXMLCalls(r *reader, f *xmlFormat) *xmlCalls {
	x := &xmlCalls{
		reader: *r, format: f,
		opens: newMarkers(append(append([]string{f.call}, f.outer...), f.drop.texts()...)...),
		names: newMarkers(append(slices.Clip(f.nameEnd), f.callEnd)...),
		// A value may be code that contains such tags. A tag other than the closing one
		// therefore applies only at the start of a line, where models put the tags of
		// their calls.
		values: newMarkers(f.paramEnd, "\n"+f.param, "\n"+f.callEnd),
	}
	if f.whole != "" {
		x.wholes = newMarkers(f.wholeEnd)
	}
	if f.tokens {
		x.values = newMarkers(f.paramEnd, f.param, f.callEnd)
	}
	return x
}

func (x *xmlCalls) step() bool {
	switch x.at {
	case xmlText:
		return x.search()
	case xmlName:
		return x.function()
	case xmlKey:
		return x.parameter()
	case xmlValue:
		return x.inValue()
	case xmlWhole:
		return x.wholeHead()
	case xmlJSON:
		return x.inJSON()
	default:
	}
	if !x.spaces() {
		return false
	}
	switch x.at {
	case xmlStarted:
		return x.started()
	case xmlInside:
		return x.inside()
	case xmlOpen:
		return x.valueOpen()
	default:
		return x.ended()
	}
}

func (x *xmlCalls) search() bool {
	at, which := x.opens.find(x.in, x.final, nil)
	x.reader.text(at)
	switch {
	case which < 0:
		return false
	case which > len(x.format.outer):
		return x.drop(x.format.drop[which-len(x.format.outer)-1])
	}
	x.take(len(x.opens.texts[which]))
	x.at = xmlStarted
	if which == 0 {
		x.at = xmlName
	}
	return true
}

// started reads what stands between an outer marker and the call.
func (x *xmlCalls) started() bool {
	which, v := x.first(x.opens.texts[:1+len(x.format.outer)]...)
	switch {
	case v == more:
		return false
	case v == no:
		x.emitAsText()
	case which == 0:
		x.at = xmlName
	}
	return true
}

func (x *xmlCalls) emitAsText() {
	x.reject()
	x.at = xmlText
}

func (x *xmlCalls) function() bool {
	window := x.in[:min(len(x.in), maxHeader)]
	at, which := x.names.find(window, x.final || len(window) == maxHeader, nil)
	switch {
	case which < 0 && len(window) < maxHeader && !x.final:
		return false
	case which < 0:
		x.emitAsText()
		return true
	}
	head := string(window[:at])
	name := unquoted(head)
	if x.format.name != nil {
		name = x.format.name(head)
	}
	if !isName(name) {
		x.emitAsText()
		return true
	}
	if end := x.names.texts[which]; end != x.format.param && end != x.format.callEnd {
		at += len(end)
	}
	x.take(at)
	x.open(name)
	x.keys, x.at = 0, xmlInside
	x.schema = x.tools.find(name).properties()
	return true
}

func (x *xmlCalls) inside() bool {
	ends := append([]string{x.format.param, x.format.callEnd}, x.format.outerEnd...)
	before := x.in
	if x.format.whole != "" && !x.argued {
		switch x.match(x.format.whole) {
		case more:
			return false
		case yes:
			x.at = xmlWhole
			return true
		case no:
		}
	}
	which, v := x.first(ends...)
	switch {
	case v == more:
		return false
	case v == no:
		x.begin("", typeSchema)
	case which == 0:
		x.at = xmlKey
	default:
		if which > 1 { // the call's end tag is missing
			x.used -= len(before) - len(x.in)
			x.in = before
		}
		x.functionEnd()
	}
	return true
}

// wholeHead reads the rest of the tag before the JSON of all arguments.
func (x *xmlCalls) wholeHead() bool {
	_, v := x.before(x.format.keyEnd)
	x.at = xmlJSON
	if v == more {
		x.at = xmlWhole
	}
	return v != more
}

// inJSON passes on the JSON of all arguments.
func (x *xmlCalls) inJSON() bool {
	if !x.argued && !x.spaces() {
		return false
	}
	at, which := x.wholes.find(x.in, x.final, nil)
	x.argue(at)
	if which < 0 {
		return false
	}
	x.take(len(x.format.wholeEnd))
	x.at = xmlInside
	return true
}

// begin starts a value. Text that isn't a parameter becomes a value without a name, so
// that nothing is lost.
func (x *xmlCalls) begin(key string, as valueType) {
	x.key, x.value, x.as, x.begun, x.at = append(x.key[:0], key...), x.value[:0], as, false, xmlValue
	x.text = x.format.decode == nil && (as == typeString || as == typeSchema && x.schema.isText(key))
}

func (x *xmlCalls) functionEnd() {
	if x.keys > 0 {
		x.arguments([]byte("}"))
	}
	x.close()
	x.at = xmlEnded
}

func (x *xmlCalls) parameter() bool {
	head, v := x.before(x.format.keyEnd)
	if v == more {
		return false
	}
	key, as := unquoted(head), typeSchema
	if x.format.key != nil {
		key, as = x.format.key(head)
	}
	x.begin(key, as)
	if x.format.value != "" && v == yes {
		x.at = xmlOpen
	}
	return true
}

// valueOpen reads the type and the prefix of a value, which may be missing.
func (x *xmlCalls) valueOpen() bool {
	if x.format.kind != "" {
		switch kind, v := x.element(x.format.kind, x.format.kindEnd); v {
		case more:
			return false
		case yes:
			x.begin(string(x.key), statedType(kind))
			x.at = xmlOpen
			return true
		case no:
		}
	}
	if x.match(x.format.value) == more {
		return false
	}
	x.at = xmlValue
	return true
}

// statedType returns the type of a value by its name. The tool's schema decides on a value of any type.
func statedType(name string) valueType {
	switch name {
	case "", "any":
		return typeSchema
	case "string":
		return typeString
	}
	return typeJSON
}

// inValue reads up to the tag that ends the value.
func (x *xmlCalls) inValue() bool {
	at, which := x.values.find(x.in, x.final, nil)
	x.value = append(x.value, x.in[:at]...)
	x.take(at)
	ended := which >= 0
	switch {
	case x.text:
		x.stream(ended)
	case ended:
		x.arguments(x.typed(keyed(x.keys, x.key), x.complete()))
	case x.final:
		// The text ended within the value: the string stays open.
		x.arguments(appendEscaped(append(keyed(x.keys, x.key), '"'), x.lineStart()))
	}
	if !ended {
		return false
	}
	if which == 0 {
		x.take(len(x.format.paramEnd))
	}
	x.keys++
	x.at = xmlInside
	return true
}

// complete returns the text of a value without the parts that belong to the tags.
func (x *xmlCalls) complete() []byte {
	value := x.lineStart()
	if x.format.lines {
		value = bytes.TrimSuffix(bytes.TrimSuffix(value, []byte("\n")), []byte("\r"))
	}
	if x.format.decode != nil {
		value = x.format.decode(value)
	}
	return value
}

func (x *xmlCalls) typed(dst, value []byte) []byte {
	trimmed := bytes.TrimSpace(value)
	switch {
	case x.as == typeSchema && !x.schema.isText(string(x.key)):
		return x.schema.append(dst, string(x.key), value)
	case x.as == typeJSON && json.Valid(trimmed):
		return append(dst, trimmed...)
	}
	return appendString(dst, value)
}

// lineStart returns the value without the line break after its opening tag, if line
// breaks belong to the tags.
func (x *xmlCalls) lineStart() []byte {
	if !x.format.lines {
		return x.value
	}
	if rest, found := bytes.CutPrefix(x.value, []byte("\r\n")); found {
		return rest
	}
	return bytes.TrimPrefix(x.value, []byte("\n"))
}

// stream emits the bytes read so far of a string value, which may be a whole file. A
// line break at the end is held back, because it may belong to the tag.
func (x *xmlCalls) stream(ended bool) {
	if !x.begun {
		if len(x.value) == 0 && !ended || string(x.value) == "\r" && !ended {
			return
		}
		x.arguments(append(keyed(x.keys, x.key), '"'))
		x.value, x.begun = append(x.value[:0], x.lineStart()...), true
	}
	text, rest := x.value, []byte(nil)
	if x.format.lines && (ended || !x.final) {
		text = bytes.TrimSuffix(bytes.TrimSuffix(x.value, []byte("\n")), []byte("\r"))
		rest = x.value[len(text):]
	}
	start := len(x.sink.arena)
	x.sink.arena = appendEscaped(x.sink.arena, text)
	if ended {
		x.sink.arena = append(x.sink.arena, '"')
	}
	x.arguments(slices.Clip(x.sink.arena[start:]))
	x.value = append(x.value[:0], rest...)
}

// ended reads the markers after a call.
func (x *xmlCalls) ended() bool {
	_, v := x.first(x.format.outerEnd...)
	switch v {
	case more:
		return false
	case yes:
		x.forget()
	case no:
		x.emitAsText()
	}
	return true
}
