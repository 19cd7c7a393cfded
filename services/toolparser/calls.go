package toolparser

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// bare states where a call without a marker may stand.
type bare uint8

const (
	bareNever bare = iota
	bareStart      // bare calls may stand at the start of the answer
	bareLines      // bare calls may stand at the start of each line
)

// format describes how a dialect writes calls as JSON objects {"name": …,
// "arguments": {…}}. "parameters" is a synonym of "arguments".
type format struct {
	open  []string // markers that precede calls
	end   []string // markers that follow calls; the model may omit them
	bare  bare
	array bool // the objects may stand in an array
	keyed bool // the objects are {"name": {…}}
	// nameFirst: an object is text unless it begins with the name of a tool that was offered,
	// and its arguments.
	nameFirst bool
	name      string   // JSON key of the function's name; "" means "name"
	id        string   // JSON key of the call's id; "" if the model writes no id
	arguments string   // another JSON key of the arguments; "" if there is none
	drop      wrappers // wrappers of text that are removed from the answer
}

// keyOf returns the kind of a key's value.
func (f *format) keyOf(key string, named bool) valueKind {
	switch {
	case f.keyed && !named:
		return valueArguments
	case f.keyed:
		return valueOther
	case key == f.name, key == "name" && f.name == "":
		return valueName
	case f.id != "" && key == f.id:
		return valueID
	case key == "arguments", key == "parameters", f.arguments != "" && key == f.arguments:
		return valueArguments
	}
	return valueOther
}

// jsonCalls reads calls that are JSON objects. A call is certain once its name is known and its
// arguments have begun; the call is then emitted. Before that, an object that isn't a call is
// emitted as text. Later syntax errors are passed on in the arguments: nothing is lost, and clients
// check arguments.
type jsonCalls struct {
	reader
	format  *format
	markers *markers // the markers of format.open, followed by those of a bare call
	ends    *markers

	at        callState
	bare      bool // the call has no marker
	ambiguous bool // the marker also occurs in other text
	list      bool // the objects stand in an array
	comma     bool // a separator between two objects was read
	call      jsonCall
}

// jsonCall is the state of the object being read.
type jsonCall struct {
	scan    scanner
	value   valueKind
	name    string
	id      string // id that the model wrote; "" for a random one
	named   bool
	begun   bool   // the arguments have begun
	alone   bool   // the object is the arguments alone; the name was before it
	pending []byte // arguments that were read before the name
}

// valueKind is the role of a key's value.
type valueKind uint8

const (
	valueOther     valueKind = iota // the value is skipped
	valueName                       // the value is the function's name
	valueID                         // the value is a string that is the call's id
	valueArguments                  // the value is the arguments as an object, emitted as it is read
	valueQuoted                     // the value is the arguments as a string that contains JSON
)

type callState uint8

const (
	atText    callState = iota
	atStart             // the parser is after a marker, or before the bracket of a bare call
	atElement           // the parser is in an array, before an object
	atKey               // the parser is in an object, before a key or the end
	atColon
	atValue   // the parser is before a value
	inValue   // the parser is in a value
	atComma   // the parser is after a value
	atBetween // the parser is after an object
	inBroken  // the parser is in arguments that aren't JSON
)

func newJSONCalls(r *reader, f *format) *jsonCalls {
	c := &jsonCalls{reader: *r, format: f}
	texts := append(slices.Clip(f.open), f.drop.texts()...)
	if f.bare != bareNever {
		texts = append(slices.Clip(texts), "{")
	}
	if f.bare != bareNever && f.array {
		texts = append(texts, "[")
	}
	c.markers = newMarkers(texts...)
	if len(f.end) > 0 {
		c.ends = newMarkers(f.end...)
	}
	return c
}

func (c *jsonCalls) step() bool {
	switch c.at {
	case atText:
		return c.search()
	case inValue:
		return c.inValue()
	case inBroken:
		return c.passInvalid()
	default:
	}
	if !c.spaces() {
		return false
	}
	switch c.at {
	case atStart:
		return c.start()
	case atElement:
		return c.element()
	case atKey:
		return c.key()
	case atColon:
		return c.colon()
	case atValue:
		return c.beginValue()
	case atComma:
		return c.afterValue()
	default:
		return c.between()
	}
}

// argumentsOf starts the arguments of a call whose name was read before them.
func (c *jsonCalls) argumentsOf(name, id string) {
	if c.in[0] != '{' || !isName(name) {
		c.emitAsText()
		return
	}
	c.call = jsonCall{pending: c.call.pending[:0], name: name, id: id, named: true, begun: true, alone: true, value: valueArguments}
	c.openIfComplete()
	c.at = inValue
}

// isName reports whether text can be a function's name outside of quotes.
func isName(text string) bool {
	for _, c := range []byte(text) {
		if !isDigit(c) && (c|0x20 < 'a' || 'z' < c|0x20) && c < 0x80 && !strings.ContainsRune("_-.:/", rune(c)) {
			return false
		}
	}
	return text != ""
}

// search emits text up to the next call.
func (c *jsonCalls) search() bool {
	at, which := c.markers.find(c.in, c.final, c.begins)
	c.text(at)
	announced := len(c.format.open)
	switch {
	case which < 0:
		return false
	case which >= announced && which < announced+len(c.format.drop):
		return c.drop(c.format.drop[which-announced])
	}
	c.list, c.bare, c.at = false, which >= announced, atStart
	c.ambiguous = c.bare && (c.shown || c.calls > 0)
	if !c.bare {
		c.take(len(c.markers.texts[which]))
	}
	return true
}

// begins reports whether a marker or bracket stands where a call may start.
func (c *jsonCalls) begins(at, which int) bool {
	if which < len(c.format.open)+len(c.format.drop) {
		return true
	}
	if c.format.bare == bareStart {
		return !c.shown && c.calls == 0 && len(bytes.TrimLeft(c.in[:at], blanks)) == 0
	}
	for at > 0 && c.in[at-1] != '\n' {
		at--
		if strings.IndexByte(blanks, c.in[at]) < 0 {
			return false
		}
	}
	return at > 0 || c.fresh
}

func (c *jsonCalls) start() bool {
	switch {
	case c.in[0] == '[' && c.format.array:
		c.list, c.at = true, atElement
		c.take(1)
	case c.in[0] == '{':
		c.object()
	default:
		c.emitAsText()
	}
	return true
}

func (c *jsonCalls) element() bool {
	if c.in[0] != '{' {
		c.emitAsText()
		return true
	}
	c.object()
	return true
}

func (c *jsonCalls) object() {
	c.call = jsonCall{pending: c.call.pending[:0]}
	c.at = atKey
	c.take(1)
}

// emitAsText emits the bytes read so far as text, because they aren't a call.
func (c *jsonCalls) emitAsText() {
	c.reject()
	c.at = atText
}

// rejectByte handles a byte that is invalid at this position. It closes a call that is
// certain.
func (c *jsonCalls) rejectByte() bool {
	if !c.inCall {
		c.emitAsText()
		return true
	}
	c.close()
	c.at, c.comma = atBetween, false
	return true
}

func (c *jsonCalls) key() bool {
	if c.in[0] == '}' {
		return c.objectEnd()
	}
	key, v := c.quoted()
	switch v {
	case more:
		return false
	case no:
		return c.rejectByte()
	case yes:
	}
	c.call.value = c.format.keyOf(key, c.call.named)
	if c.format.keyed && !c.call.named {
		c.call.name, c.call.named = key, key != ""
	}
	if c.format.nameFirst && !c.inCall && c.call.value != c.nextHeader() {
		return c.rejectByte()
	}
	c.at = atColon
	return true
}

// nextHeader returns the kind of value that the next key of a call must have if format.nameFirst is
// set: first the name, then the arguments.
func (c *jsonCalls) nextHeader() valueKind {
	if c.call.named {
		return valueArguments
	}
	return valueName
}

// quoted reads a short JSON string.
func (r *reader) quoted() (string, verdict) {
	if r.in[0] != '"' {
		return "", no
	}
	var s scanner
	window := r.in[:min(len(r.in), maxHeader)]
	n, end := s.scan(window)
	switch {
	case end == scanMore && len(window) < maxHeader && !r.final:
		return "", more
	case end != scanDone:
		return "", no
	}
	var text string
	if json.Unmarshal(window[:n], &text) != nil {
		return "", no
	}
	r.take(n)
	return text, yes
}

func (c *jsonCalls) colon() bool {
	if c.in[0] != ':' {
		return c.rejectByte()
	}
	c.take(1)
	c.at = atValue
	return true
}

func (c *jsonCalls) beginValue() bool {
	call := &c.call
	call.scan = scanner{}
	c.at = inValue
	switch {
	case call.value == valueName && !call.named:
		return c.nameValue()
	case call.value == valueID && c.in[0] == '"':
		return c.idValue()
	case call.value != valueArguments || call.begun || c.in[0] == 'n':
		call.value = valueOther
	case c.in[0] == '"':
		call.value, call.pending = valueQuoted, call.pending[:0]
	case c.in[0] != '{':
		return c.rejectByte()
	default:
		call.begun = true
		c.openIfComplete()
	}
	return true
}

func (c *jsonCalls) nameValue() bool {
	name, v := c.quoted()
	switch {
	case v == more:
		c.at = atValue
		return false
	case v == no, name == "", (c.ambiguous || c.format.nameFirst) && !c.tools.knows(name):
		return c.rejectByte()
	}
	c.call.name, c.call.named, c.at = name, true, atComma
	c.openIfComplete()
	return true
}

// idValue reads an id. It skips an id that comes too late or that isn't a short
// string.
func (c *jsonCalls) idValue() bool {
	id, v := c.quoted()
	switch v {
	case more:
		c.at = atValue
		return false
	case no:
		c.call.value = valueOther
		return true
	case yes:
	}
	c.call.id, c.at = id, atComma
	return true
}

// openIfComplete opens the call once its name and its arguments are known.
func (c *jsonCalls) openIfComplete() {
	call := &c.call
	if call.named && call.begun && !c.inCall {
		c.openAs(call.name, call.id)
		c.arguments(c.sink.join(call.pending, nil))
		call.pending = call.pending[:0]
	}
}

func (c *jsonCalls) inValue() bool {
	n, end := c.call.scan.scan(c.in)
	c.consume(n)
	switch {
	case end == scanMore:
		return false
	case end == scanDone:
		return c.valueEnd()
	case end == scanControl && c.call.value != valueOther:
		c.control()
		return true
	case c.inCall && c.call.value == valueArguments:
		c.at = inBroken
		return true
	}
	return c.rejectByte()
}

// consume reads a part of a value.
func (c *jsonCalls) consume(n int) {
	switch {
	case c.call.value == valueArguments && c.inCall:
		c.argue(n)
		return
	case c.call.value != valueOther:
		c.call.pending = append(c.call.pending, c.in[:n]...)
	}
	c.take(n)
}

// control reads an unescaped control character in a string of the arguments and
// escapes it. Models write such characters, but JSON requires an escape.
func (c *jsonCalls) control() {
	if c.call.value == valueArguments && c.inCall {
		c.arguments(c.escaped())
		return
	}
	c.call.pending = appendControl(c.call.pending, c.in[0])
	c.take(1)
}

// escaped reads a control character and returns its escape.
func (r *reader) escaped() []byte {
	var buf [6]byte
	escape := r.sink.join(appendControl(buf[:0], r.in[0]), nil)
	r.take(1)
	return escape
}

func (c *jsonCalls) valueEnd() bool {
	if c.call.alone {
		c.close()
		c.at = atText
		return true
	}
	c.at = atComma
	if c.call.value != valueQuoted {
		return true
	}
	var text string
	if json.Unmarshal(c.call.pending, &text) != nil {
		return c.rejectByte()
	}
	c.call.pending = append(c.call.pending[:0], text...)
	trimmed := bytes.TrimSpace(c.call.pending)
	switch {
	case len(trimmed) == 0:
		c.call.pending = c.call.pending[:0]
	case trimmed[0] != '{' || !json.Valid(trimmed):
		return c.rejectByte()
	default:
		c.call.begun = true
		c.openIfComplete()
	}
	return true
}

func (c *jsonCalls) afterValue() bool {
	switch c.in[0] {
	case ',':
		c.take(1)
		c.at = atKey
		return true
	case '}':
		return c.objectEnd()
	}
	return c.rejectByte()
}

// objectEnd ends a call. A call without arguments is valid, but a call without a
// marker must then name an offered tool.
func (c *jsonCalls) objectEnd() bool {
	call := &c.call
	if !c.inCall && (!call.named || call.begun || c.bare && !c.tools.knows(call.name) || c.format.nameFirst) {
		c.emitAsText()
		return true
	}
	if !c.inCall {
		c.openAs(call.name, call.id)
	}
	c.take(1)
	return c.rejectByte()
}

// between reads what follows an object: the next object, the end, or text.
func (c *jsonCalls) between() bool {
	if c.list {
		return c.inList()
	}
	if !c.comma {
		switch _, v := c.first(c.format.end...); v {
		case yes:
			c.forget()
			c.at = atText
			return true
		case more:
			return false
		case no:
		}
	}
	switch {
	case c.in[0] == '{':
		c.object()
	case (c.in[0] == ';' || c.in[0] == ',') && !c.comma:
		c.comma = true
		c.take(1)
	default:
		c.emitAsText()
	}
	return true
}

func (c *jsonCalls) inList() bool {
	switch c.in[0] {
	case ',':
		c.at = atElement
		c.take(1)
	case ']':
		c.list, c.comma = false, false
		c.take(1)
		c.forget()
	default:
		c.emitAsText()
	}
	return true
}

// passInvalid passes on arguments that aren't JSON, up to the end of the call.
func (c *jsonCalls) passInvalid() bool {
	if c.ends == nil {
		c.argue(len(c.in))
		return false
	}
	at, which := c.ends.find(c.in, c.final, nil)
	c.argue(at)
	if which < 0 {
		return false
	}
	c.take(len(c.format.end[which]))
	c.close()
	c.at = atText
	return true
}
