package toolparser

import (
	"bytes"
	"encoding/json"
	"strings"
)

// gemma reads the calls of Gemma 4 and FunctionGemma:
//
//	open call:NAME{key:value,…} close
//
// A value is a string between two quote markers, a bare word, {key:value,…} or
// [value,…]. Strings are emitted as they are read, bare words when complete.
type gemma struct {
	reader
	opens  *markers // the marker that starts a call
	ends   *markers // quote and shut: the markers that can end a string
	quote  string
	shut   string
	at     gemmaState
	stack  []byte // expected closing brackets
	first  bool   // the innermost container is empty so far
	keys   int    // number of the call's keys so far
	schema *properties
	key    string // current top-level argument of the call
	word   []byte // a bare word or a key
}

type gemmaState uint8

const (
	gemmaText  gemmaState = iota
	gemmaHead             // the parser is after the opening marker, before the function's name
	gemmaItem             // the parser is in a container, before a key, a value or the end
	gemmaKey              // the parser is in a key
	gemmaValue            // the parser is before a value
	gemmaString
	gemmaWord
	gemmaClose // the parser is after the outermost container
)

func newGemma(r *reader, open, end, quote string) dialect {
	return &gemma{reader: *r, opens: newMarkers(open), ends: newMarkers(quote, end), quote: quote, shut: end}
}

// newGemma4 reads <|tool_call>call:name{key:<|"|>text<|"|>,n:1}<tool_call|>.
func newGemma4(r *reader) dialect { return newGemma(r, "<|tool_call>", "<tool_call|>", `<|"|>`) }

func recognizeGemma4(template string) string { return matchAll(template, "<|tool_call>", `<|"|>`) }

// newFunctionGemma reads <start_function_call>call:name{key:<escape>text<escape>}<end_function_call>.
func newFunctionGemma(r *reader) dialect {
	return newGemma(r, "<start_function_call>", "<end_function_call>", "<escape>")
}

func recognizeFunctionGemma(template string) string {
	return matchAll(template, "<start_function_call>")
}

func (g *gemma) step() bool {
	switch g.at {
	case gemmaText:
		if _, found := g.seek(g.opens); !found {
			return false
		}
		g.at = gemmaHead
		return true
	case gemmaHead:
		return g.head()
	case gemmaKey:
		return g.inKey()
	case gemmaString:
		return g.inString()
	case gemmaWord:
		return g.inWord()
	default:
	}
	if !g.spaces() {
		return false
	}
	switch g.at {
	case gemmaItem:
		return g.item()
	case gemmaValue:
		return g.value()
	default:
		return g.callEnd()
	}
}

// head reads call:name{. Some checkpoints omit the word "call" or write ( instead of {.
func (g *gemma) head() bool {
	window := g.in[:min(len(g.in), maxHeader)]
	i := bytes.IndexAny(window, "{(<")
	switch {
	case i < 0 && len(window) < maxHeader && !g.final:
		return false
	case i < 0 || window[i] == '<':
		g.emitAsText()
		return true
	}
	_, name, found := strings.Cut(string(window[:i]), ":")
	name = strings.Trim(name, blanks)
	if !found || !isName(name) {
		g.emitAsText()
		return true
	}
	end := byte('}')
	if window[i] == '(' {
		end = ')'
	}
	g.take(i + 1)
	g.open(name)
	g.schema = g.tools.find(name).properties()
	g.stack, g.first, g.keys, g.at = append(g.stack[:0], end), true, 0, gemmaItem
	g.arguments([]byte("{"))
	return true
}

func (g *gemma) emitAsText() {
	g.reject()
	g.at = gemmaText
}

// top returns the closing bracket of the innermost container.
func (g *gemma) top() byte { return g.stack[len(g.stack)-1] }

// item reads the next key or value of a container.
func (g *gemma) item() bool {
	switch {
	case g.in[0] == ',':
		g.take(1)
		return true
	case g.in[0] == g.top():
		g.take(1)
		g.pop()
		return true
	}
	switch g.peek(g.shut) {
	case more:
		return false
	case yes:
		g.closeAll()
		return true
	case no:
	}
	if !g.first {
		g.arguments([]byte(", "))
	}
	g.first, g.word = false, g.word[:0]
	g.at = gemmaKey
	if g.top() == ']' {
		g.at = gemmaValue
	}
	return true
}

// inKey reads a key up to its colon. Quote markers around the key are removed.
func (g *gemma) inKey() bool {
	window := g.in[:min(len(g.in), maxHeader)]
	i := bytes.IndexByte(window, ':')
	end := bytes.Index(window, []byte(g.shut))
	switch {
	case end >= 0 && (i < 0 || end < i):
		i = end // a key without a colon ends at the end of the call, and its value is the empty string
	case i < 0 && len(window) < maxHeader && !g.final:
		return false
	case i < 0:
		i = len(window)
	}
	key := strings.Trim(strings.ReplaceAll(string(window[:i]), g.quote, ""), blanks)
	if i < len(window) && window[i] == ':' {
		i++
	}
	g.take(i)
	if len(g.stack) == 1 {
		g.key = key
	}
	g.arguments(g.sink.join(append(appendString(nil, []byte(key)), ": "...), nil))
	g.at = gemmaValue
	return true
}

func (g *gemma) value() bool {
	switch g.match(g.quote) {
	case more:
		return false
	case yes:
		g.arguments([]byte(`"`))
		g.at = gemmaString
		return true
	case no:
	}
	c := g.in[0]
	if (c == '{' || c == '[') && len(g.stack) < maxDepth {
		g.arguments([]byte{c})
		g.take(1)
		g.stack, g.first, g.at = append(g.stack, c+2), true, gemmaItem // ASCII puts ] and } two after [ and {
		return true
	}
	g.word, g.at = g.word[:0], gemmaWord
	return true
}

// inString emits a string up to its quote marker. The end of the call ends the string too.
func (g *gemma) inString() bool {
	at, which := g.ends.find(g.in, g.final, nil)
	g.arguments(g.sink.join(appendEscaped(nil, g.in[:at]), nil))
	g.take(at)
	switch which {
	case 0:
		g.take(len(g.quote))
		g.arguments([]byte(`"`))
		g.at = gemmaItem
	case 1:
		g.arguments([]byte(`"`))
		g.at = gemmaItem
	default:
		return false
	}
	return true
}

// inWord reads a bare word up to a comma, a bracket or the end of the call.
func (g *gemma) inWord() bool {
	for i, c := range g.in {
		if c == '<' {
			rest := g.in[i:]
			n := min(len(rest), len(g.shut))
			if string(rest[:n]) != g.shut[:n] || n < len(g.shut) && g.final {
				continue
			}
			g.word = append(g.word, g.in[:i]...)
			g.take(i)
			if n < len(g.shut) {
				return false
			}
			g.wordEnd()
			return true
		}
		if c == ',' || c == '}' || c == ']' || c == g.top() {
			g.word = append(g.word, g.in[:i]...)
			g.take(i)
			if c != ',' && c != g.top() { // this closing bracket has no opening one
				g.take(1)
			}
			g.wordEnd()
			return true
		}
	}
	g.word = append(g.word, g.in...)
	g.take(len(g.in))
	if g.final {
		g.arguments(appendEscaped([]byte(`"`), g.word)) // the text ended within the word
	}
	return false
}

// wordEnd emits a bare word. It is a number, true, false or null if it is valid JSON and the schema
// doesn't require a string. Otherwise it is a string.
func (g *gemma) wordEnd() {
	word := bytes.Trim(g.word, blanks)
	text := len(g.stack) == 1 && g.schema.allowed(g.key) == mayString
	switch {
	case !text && json.Valid(word):
		g.arguments(g.sink.join(word, nil))
	default:
		g.arguments(appendString(nil, word))
	}
	g.at = gemmaItem
}

func (g *gemma) pop() {
	end := g.top()
	if len(g.stack) == 1 {
		end = '}'
	}
	g.arguments([]byte{end})
	g.stack = g.stack[:len(g.stack)-1]
	g.first, g.at = false, gemmaItem
	if len(g.stack) == 0 {
		g.close()
		g.at = gemmaClose
	}
}

// closeAll closes all open containers, because the call has ended.
func (g *gemma) closeAll() {
	for len(g.stack) > 0 {
		g.pop()
	}
}

func (g *gemma) callEnd() bool {
	switch g.match(g.shut) {
	case more:
		return false
	case yes:
		g.forget()
	case no:
	}
	g.emitAsText()
	return true
}
