package dialect

import (
	"bytes"
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
// tool's schema gives it: strings are shown as they come, other values when they are
// complete. The outer tag may be missing.
type qwen3Coder struct {
	reader
	opens  *markers
	values *markers // what ends a value
	at     qwenState
	schema *properties
	keys   int
	key    []byte
	value  []byte // read of the value and not shown
	text   bool   // the value is a string, shown as it comes
	begun  bool   // its start was shown
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
	q.schema = q.tools.find(name).properties()
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
	q.text, q.begun = q.schema.isText(key), false
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
	ended := which >= 0
	switch {
	case q.text:
		q.stream(ended)
	case ended:
		value := bytes.TrimSuffix(q.lineStart(), []byte("\n"))
		value = bytes.TrimSuffix(value, []byte("\r"))
		q.arguments(q.schema.append(keyed(q.keys, q.key), string(q.key), value))
	case q.final:
		// The end of the text cut the value off: a string that has no end tells so.
		q.arguments(appendEscaped(append(keyed(q.keys, q.key), '"'), q.lineStart()))
	}
	if !ended {
		return false
	}
	if which == 0 {
		q.take(len(qwenParameterEnd))
	}
	q.keys++
	q.at = qwenInside
	return true
}

// lineStart is the value without the line break after its tag. Those next to the
// tags are the tags'.
func (q *qwen3Coder) lineStart() []byte {
	if rest, found := bytes.CutPrefix(q.value, []byte("\r\n")); found {
		return rest
	}
	return bytes.TrimPrefix(q.value, []byte("\n"))
}

// stream shows what has come of a value that is a string: it may be a whole file.
// A line break at its end may be the tag's and waits.
func (q *qwen3Coder) stream(ended bool) {
	if !q.begun {
		if len(q.value) == 0 && !ended || string(q.value) == "\r" && !ended {
			return
		}
		q.arguments(append(keyed(q.keys, q.key), '"'))
		q.value, q.begun = append(q.value[:0], q.lineStart()...), true
	}
	text := bytes.TrimSuffix(bytes.TrimSuffix(q.value, []byte("\n")), []byte("\r"))
	rest := q.value[len(text):]
	if q.final && !ended {
		text, rest = q.value, nil
	}
	start := len(q.sink.arena)
	q.sink.arena = appendEscaped(q.sink.arena, text)
	if ended {
		q.sink.arena = append(q.sink.arena, '"')
	}
	q.arguments(slices.Clip(q.sink.arena[start:]))
	q.value = append(q.value[:0], rest...)
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
