package toolparser

import (
	"bytes"
	"cmp"
	"strings"
)

// pythonic reads [name(key=value, …), …], calls in Python's syntax with literals as
// values. Llama 4 and ToolACE write them. The calls stand at the start of the answer
// or between markers. Each value is emitted as JSON when it is complete.
type pythonic struct {
	reader
	markers *markers
	bare    bool   // the first marker is the bracket of calls without an announcing marker
	lines   bool   // calls stand on lines of their own, not in brackets
	end     string // marker after the calls, if the format has one
	at      pythonState

	name  string
	keys  int        // number of keys of the call that were emitted
	key   []byte     // key of the current value
	value []byte     // the current value as Python source
	scan  pythonScan // state of the current value
}

type pythonState uint8

const (
	pythonText  pythonState = iota
	pythonList              // the parser is before the bracket
	pythonName              // the parser is before a function's name
	pythonKey               // the parser is before a key, or before the end of the call
	pythonValue             // the parser is in a value
	pythonComma             // the parser is after a call
	pythonEnd               // the parser is after the bracket
)

func newPythonic(r *reader) dialect {
	return &pythonic{reader: *r, markers: newMarkers("["), bare: true}
}

func newLlama4(r *reader) dialect {
	return &pythonic{reader: *r, markers: newMarkers("[", "<|python_start|>"), bare: true, end: "<|python_end|>"}
}

// newLFM2 reads <|tool_call_start|>[name(key=value)]<|tool_call_end|> of LFM 2.
func newLFM2(r *reader) dialect {
	return &pythonic{reader: *r, markers: newMarkers("<|tool_call_start|>"), end: "<|tool_call_end|>"}
}

func recognizeLFM2(template string) string { return matchAll(template, "<|tool_call_start|>") }

// newOlmo3 reads <function_calls> with one call name(key=value) on each line, the
// format of Olmo 3.
func newOlmo3(r *reader) dialect {
	return &pythonic{reader: *r, markers: newMarkers("<function_calls>"), lines: true, end: "</function_calls>"}
}

func recognizeOlmo3(template string) string {
	return matchAll(template, "<function_calls>", "</function_calls>")
}

func recognizeLlama4(template string) string {
	return cmp.Or(matchAll(template, "<|python_start|>"), matchAll(template, "[func_name1(params_name1=params_value1"))
}

func (p *pythonic) step() bool {
	switch p.at {
	case pythonText:
		return p.search()
	case pythonValue:
		return p.inValue()
	default:
	}
	if !p.spaces() {
		return false
	}
	switch p.at {
	case pythonList:
		return p.list()
	case pythonName:
		return p.function()
	case pythonKey:
		return p.argument()
	case pythonComma:
		return p.afterCall()
	default:
		return p.afterList()
	}
}

func (p *pythonic) search() bool {
	at, which := p.markers.find(p.in, p.final, func(at, which int) bool {
		return which > 0 || !p.bare || !p.shown && p.calls == 0 && len(bytes.TrimLeft(p.in[:at], blanks)) == 0
	})
	p.text(at)
	if which < 0 {
		return false
	}
	p.take(len(p.markers.texts[which]))
	p.at = pythonList
	if p.lines || p.bare && which == 0 {
		p.at = pythonName
	}
	return true
}

// emitAsText emits the bytes read so far as text, because they aren't a call.
func (p *pythonic) emitAsText() bool {
	p.reject()
	p.at = pythonText
	return true
}

func (p *pythonic) list() bool {
	if p.in[0] != '[' {
		return p.emitAsText()
	}
	p.take(1)
	p.at = pythonName
	return true
}

// word reads a name that is followed by the byte end.
func (p *pythonic) word(end byte) (string, verdict) {
	window := p.in[:min(len(p.in), maxHeader)]
	n := 0
	for n < len(window) && isWord(window[n]) {
		n++
	}
	rest := bytes.TrimLeft(window[n:], blanks)
	switch {
	case len(rest) == 0 && len(window) < maxHeader && !p.final:
		return "", more
	case n == 0 || len(rest) == 0 || rest[0] != end || isDigit(window[0]):
		return "", no
	}
	word := string(window[:n])
	p.take(len(window) - len(rest) + 1)
	return word, yes
}

func isWord(c byte) bool {
	return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '.' || c >= 0x80
}

func (p *pythonic) function() bool {
	name, v := p.word('(')
	switch v {
	case more:
		return false
	case no:
		return p.emitAsText()
	case yes:
	}
	p.name, p.keys, p.at = name, 0, pythonKey
	return true
}

func (p *pythonic) argument() bool {
	if p.in[0] == ')' {
		return p.callEnd()
	}
	key, v := p.word('=')
	switch {
	case v == more:
		return false
	case v == no && !p.inCall:
		return p.emitAsText()
	}
	// In a certain call, anything that isn't key=value is a value without a name.
	p.key, p.value, p.scan, p.at = append(p.key[:0], key...), p.value[:0], pythonScan{}, pythonValue
	return true
}

// inValue reads up to the comma or the parenthesis that ends a value.
func (p *pythonic) inValue() bool {
	n, ended, ok := p.scan.scan(p.in)
	p.value = append(p.value, p.in[:n]...)
	p.take(n)
	switch {
	case !ok && !p.inCall:
		return p.emitAsText()
	case !ok:
		// A closing bracket has no opening one. It becomes part of the unreadable
		// value.
		p.value = append(p.value, p.in[0])
		p.take(1)
		return true
	case !ended:
		if p.final && p.inCall {
			// The text ended within the value. The value is emitted as far as it
			// goes.
			p.arguments(append(keyed(p.keys, p.key), p.value...))
		}
		return false
	}
	return p.valueEnd()
}

// valueEnd emits an argument. The first argument of the first call must be a literal,
// because other code looks like a call. A later argument that isn't a literal is
// emitted as a string.
func (p *pythonic) valueEnd() bool {
	source := bytes.Trim(p.value, blanks)
	out := keyed(p.keys, p.key)
	literal, ok := appendPython(out, source)
	if !ok && !p.inCall {
		return p.emitAsText()
	}
	if !ok {
		literal = appendString(out, source)
	}
	if !p.inCall {
		p.open(p.name)
	}
	p.arguments(literal)
	p.keys++
	p.at = pythonKey
	if p.in[0] == ',' {
		p.take(1)
	}
	return true
}

func (p *pythonic) callEnd() bool {
	if !p.inCall {
		p.open(p.name)
	}
	p.take(1)
	if p.keys > 0 {
		p.arguments([]byte("}"))
	}
	p.close()
	p.at = pythonComma
	return true
}

func (p *pythonic) afterCall() bool {
	if p.lines {
		return p.nextLine()
	}
	switch p.in[0] {
	case ',':
		p.take(1)
		p.at = pythonName
	case ']':
		p.take(1)
		p.forget()
		p.at = pythonEnd
	default:
		return p.emitAsText()
	}
	return true
}

// nextLine reads what follows a call on its line: another call, or the end.
func (p *pythonic) nextLine() bool {
	if strings.HasPrefix(p.end, string(p.in[:min(len(p.in), len(p.end))])) {
		p.at = pythonEnd
		return true
	}
	if p.in[0] == ',' || p.in[0] == ';' {
		p.take(1)
	}
	p.at = pythonName
	return true
}

func (p *pythonic) afterList() bool {
	if p.end != "" {
		switch p.match(p.end) {
		case more:
			return false
		case yes:
			p.forget()
		case no:
		}
	}
	return p.emitAsText()
}
