package toolparser

import (
	"bytes"
	"strings"

	"github.com/trident-inference/trident/services/inference"
)

// Limits on the bytes that a parser holds back while their meaning is undecided.
const (
	maxHeader = 256 // maximum bytes of a name, a key or a channel's header
	maxBlank  = 256 // maximum bytes of white space before the first text
)

const blanks = " \t\r\n"

// verdict is the result of a comparison with unread bytes.
type verdict uint8

const (
	no   verdict = iota
	yes          // the text matches; match and first have read the matching part
	more         // undecided until more bytes come
)

// spaceMode states how the next white space is handled.
type spaceMode uint8

const (
	leadHold spaceMode = iota // nothing was emitted yet: the space is kept if text follows
	leadDrop                  // the space follows a marker and is removed with it
	leadKeep                  // the space is part of the text
)

// sink collects the pieces of one call of Parse.
type sink struct {
	pieces []inference.Piece
	// arena holds bytes of pieces that aren't in the caller's buffer. It is append-only
	// while the pieces are in use.
	arena []byte
}

func (s *sink) reset() {
	s.pieces, s.arena = s.pieces[:0], s.arena[:0]
}

// join returns a and b as one string of bytes that lives as long as the pieces.
func (s *sink) join(a, b []byte) []byte {
	start := len(s.arena)
	s.arena = append(append(s.arena, a...), b...)
	return s.arena[start:len(s.arena):len(s.arena)]
}

// add appends a piece of text of one kind.
func (s *sink) add(kind inference.PieceKind, text []byte) {
	if len(text) > 0 {
		s.pieces = append(s.pieces, inference.Piece{Kind: kind, Text: text})
	}
}

// reader is the base of every dialect of tool calls. It keeps bytes whose meaning is
// undecided and the bytes read for a call that isn't certain yet. It limits the size of
// both. A dialect reads from in and classifies each byte as text, syntax (take) or
// arguments.
type reader struct {
	sink       *sink
	tools      *toolset
	ids        func() string
	limit      int  // maximum number of bytes of calls
	singleCall bool // at most one call is emitted
	state      inference.ParseState

	in    []byte // bytes of the answer that haven't been parsed
	final bool   // no more bytes will come
	held  []byte // unparsed bytes that are kept between two calls of Parse

	lead  spaceMode
	blank []byte // white space held by leadHold
	shown bool   // text other than white space was emitted
	fresh bool   // the current line has only white space so far

	raw    []byte          // syntax of a call that isn't certain yet
	calls  int             // number of calls so far
	known  map[string]bool // true for each id that the model wrote for a call
	inCall bool            // a call is open
	argued bool            // the open call has arguments
	used   int             // bytes of calls so far
}

// dialect reads the answers of one model family.
type dialect interface {
	// base returns the embedded reader.
	base() *reader
	// step reads on from in. It returns false if it needs more bytes. If the reader is
	// final, it reads until in is empty.
	step() bool
}

func (r *reader) base() *reader { return r }

// feed passes more text to a dialect.
func feed(d dialect, text []byte, final bool) {
	r := d.base()
	r.in, r.final = text, final
	if len(r.held) > 0 {
		r.in = r.sink.join(r.held, text)
	}
	for again := true; again && r.state == inference.ParseOpen; {
		again = d.step()
		if r.used > r.limit && r.state == inference.ParseOpen {
			r.state = inference.ParseTooLong
		}
	}
	if final || r.state != inference.ParseOpen {
		r.end()
		return
	}
	r.held = append(r.held[:0], r.in...)
}

// end emits what was held back as text, because it can't become a call any more.
func (r *reader) end() {
	if r.state != inference.ParseComplete {
		r.reject()
		r.sink.add(inference.PieceText, r.joinBlank(nil))
	}
	r.in, r.held, r.inCall = nil, r.held[:0], false
}

// peek reports whether a literal stands next. It doesn't read the literal.
func (r *reader) peek(literal string) verdict {
	switch {
	case len(r.in) >= len(literal) && string(r.in[:len(literal)]) == literal:
		return yes
	case !r.final && len(r.in) < len(literal) && literal[:len(r.in)] == string(r.in):
		return more
	}
	return no
}

// match reads a literal if it stands next.
func (r *reader) match(literal string) verdict {
	v := r.peek(literal)
	if v == yes {
		r.take(len(literal))
	}
	return v
}

// first reads the first literal of the list that stands next.
func (r *reader) first(literals ...string) (which int, v verdict) {
	v = no
	for i, literal := range literals {
		switch r.match(literal) {
		case yes:
			return i, yes
		case more:
			v = more
		case no:
		}
	}
	return 0, v
}

// spaces reads white space. It reports whether bytes follow.
func (r *reader) spaces() bool {
	r.take(len(r.in) - len(bytes.TrimLeft(r.in, blanks)))
	return len(r.in) > 0
}

// take consumes n bytes of a call's syntax.
func (r *reader) take(n int) {
	if !r.inCall {
		r.raw = append(r.raw, r.in[:n]...)
	}
	r.used += n
	r.in = r.in[n:]
}

// reject emits the syntax bytes of a call that turned out not to be one as text.
func (r *reader) reject() {
	if len(r.raw) > 0 {
		r.used -= len(r.raw)
		r.show(r.sink.join(r.raw, nil))
		r.raw = r.raw[:0]
	}
}

// forget drops syntax that belongs to no call, such as the end of a list.
func (r *reader) forget() { r.raw = r.raw[:0] }

// text emits the next n bytes as text.
func (r *reader) text(n int) {
	r.show(r.in[:n])
	r.in = r.in[n:]
}

// show emits text, except white space that may belong to a marker.
func (r *reader) show(text []byte) {
	if r.lead != leadKeep {
		trimmed := bytes.TrimLeft(text, blanks)
		switch {
		case r.lead == leadDrop:
			text = trimmed
		case len(trimmed) > 0 || len(r.blank)+len(text) > maxBlank:
			text = r.joinBlank(text)
		default:
			r.blank = append(r.blank, text...)
			r.track(text)
			return
		}
		if len(text) == 0 {
			return
		}
		r.lead, r.shown = leadKeep, true
	}
	r.track(text)
	r.sink.add(inference.PieceText, text)
}

func (r *reader) joinBlank(text []byte) []byte {
	if len(r.blank) > 0 {
		text = r.sink.join(r.blank, text)
		r.blank = r.blank[:0]
	}
	return text
}

// track updates whether the current line is blank so far.
func (r *reader) track(text []byte) {
	line := text[bytes.LastIndexByte(text, '\n')+1:]
	r.fresh = (r.fresh || len(line) < len(text)) && len(bytes.TrimLeft(line, blanks)) == 0
}

// open starts a call. From then on the call is certain.
func (r *reader) open(name string) { r.openAs(name, "") }

// openAs starts a call with the id that the model wrote. If the id is missing or repeats
// an earlier one, the call gets a random id.
func (r *reader) openAs(name, id string) {
	r.close()
	if id == "" || r.known[id] {
		id = r.ids()
	} else {
		if r.known == nil {
			r.known = map[string]bool{}
		}
		r.known[id] = true
	}
	r.sink.pieces = append(r.sink.pieces, inference.Piece{
		Kind: inference.PieceCall,
		Call: inference.ToolCallPiece{Index: r.calls, ID: id, Name: name},
	})
	r.calls++
	r.inCall, r.argued = true, false
	r.raw, r.blank, r.lead = r.raw[:0], r.blank[:0], leadDrop
}

// arguments emits bytes of the open call's arguments.
func (r *reader) arguments(text []byte) {
	if len(text) == 0 {
		return
	}
	r.argued = true
	r.sink.pieces = append(r.sink.pieces, inference.Piece{
		Kind: inference.PieceCall,
		Call: inference.ToolCallPiece{Index: r.calls - 1, Arguments: text},
	})
}

// argue reads n bytes and emits them as arguments.
func (r *reader) argue(n int) {
	r.arguments(r.in[:n])
	r.used += n
	r.in = r.in[n:]
}

// close ends the open call, if any. A call without arguments gets {}.
func (r *reader) close() {
	if !r.inCall {
		return
	}
	if !r.argued {
		r.arguments([]byte("{}"))
	}
	r.inCall = false
	if r.singleCall && r.state == inference.ParseOpen {
		r.state = inference.ParseComplete
	}
}

// before reads a short string up to a literal, and the literal. It returns the string.
func (r *reader) before(literal string) (string, verdict) { return r.element("", literal) }

// element reads a short element: a prefix, a string and a suffix. It returns the string. It reads
// nothing unless all of them stand next.
func (r *reader) element(prefix, suffix string) (string, verdict) {
	if v := r.peek(prefix); v != yes {
		return "", v
	}
	window := r.in[len(prefix):min(len(r.in), maxHeader)]
	switch i := bytes.Index(window, []byte(suffix)); {
	case i >= 0:
		text := string(window[:i])
		r.take(len(prefix) + i + len(suffix))
		return text, yes
	case len(r.in) < maxHeader && !r.final:
		return "", more
	}
	return "", no
}

// seek emits text up to the first of the markers and reads the marker. Without a marker
// it emits everything that can't be the start of one.
func (r *reader) seek(markers *markers) (which int, found bool) {
	at, which := markers.find(r.in, r.final, nil)
	r.text(at)
	if which < 0 {
		return 0, false
	}
	r.take(len(markers.texts[which]))
	return which, true
}

// markers are the strings that a dialect searches for at the same time.
type markers struct {
	texts  []string
	firsts string // set of the first bytes of texts
}

func newMarkers(texts ...string) *markers {
	m := &markers{texts: texts}
	for _, t := range texts {
		if strings.IndexByte(m.firsts, t[0]) < 0 {
			m.firsts += t[:1]
		}
	}
	return m
}

// find returns the first marker in text that accept accepts; a nil accept accepts all. If
// no marker matches, the result which is -1, and the result at is the start of a suffix
// that may begin a marker, or the length of text.
func (m *markers) find(text []byte, final bool, accept func(at, which int) bool) (at, which int) {
	for {
		next := m.next(text[at:])
		if next < 0 {
			return len(text), -1
		}
		at += next
		for i, marker := range m.texts {
			rest := text[at:]
			switch {
			case len(rest) >= len(marker):
				if string(rest[:len(marker)]) == marker && (accept == nil || accept(at, i)) {
					return at, i
				}
			case !final && marker[:len(rest)] == string(rest):
				return at, -1
			}
		}
		at++
	}
}

func (m *markers) next(text []byte) int {
	if len(m.firsts) == 1 {
		return bytes.IndexByte(text, m.firsts[0])
	}
	return bytes.IndexAny(text, m.firsts)
}
