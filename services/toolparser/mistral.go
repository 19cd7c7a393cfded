package toolparser

import "strings"

// mistral reads Mistral's calls: [TOOL_CALLS][{"name": …, "arguments": {…}}] of
// the older tokenizers, [TOOL_CALLS]name[ARGS]{…} and
// [TOOL_CALLS]name[CALL_ID]id[ARGS]{…} of the newer ones. If the backend removes
// special tokens, the older form stands at the start of the answer.
type mistral struct {
	*jsonCalls
	heads *markers
	name  string // the function's name that was read, or ""
	id    string // the call's id that was read, or ""
}

func newMistral(r *reader) dialect {
	return &mistral{
		jsonCalls: newJSONCalls(r, &format{open: []string{"[TOOL_CALLS]"}, bare: bareStart, array: true}),
		heads:     newMarkers("[ARGS]", "{"),
	}
}

func recognizeMistral(template string) string { return matchAll(template, "[TOOL_CALLS]") }

func (m *mistral) step() bool {
	switch {
	case m.at != atStart || m.bare:
		return m.jsonCalls.step()
	case !m.spaces():
		return false
	case m.name != "":
		m.argumentsOf(m.name, m.id)
		m.name = ""
	case m.in[0] == '[' || m.in[0] == '{':
		return m.start()
	default:
		return m.head()
	}
	return true
}

// head reads a name, and the id that newer models write.
func (m *mistral) head() bool {
	window := m.in[:min(len(m.in), maxHeader)]
	at, which := m.heads.find(window, m.final || len(window) == maxHeader, nil)
	switch {
	case which < 0 && len(window) < maxHeader && !m.final:
		return false
	case which < 0:
		m.emitAsText()
		return true
	}
	name, id, _ := strings.Cut(string(window[:at]), "[CALL_ID]")
	if !isName(name) {
		m.emitAsText()
		return true
	}
	m.name, m.id = name, ""
	if isMistralID(id) {
		m.id = id
	}
	if which == 0 {
		at += len("[ARGS]")
	}
	m.take(at)
	return true
}

// isMistralID reports whether a string is an id that Mistral's templates accept: 9 letters and digits.
func isMistralID(id string) bool {
	return len(id) == 9 && strings.IndexFunc(id, func(c rune) bool { return c >= 0x80 || !isDigit(byte(c)) && (c|0x20 < 'a' || 'z' < c|0x20) }) < 0
}

// mistralID returns an id in the form that Mistral's templates require: 9 letters
// and digits.
func mistralID(random string) string { return random[:min(len(random), 9)] }
