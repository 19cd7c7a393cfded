package toolparser

import (
	"slices"

	"github.com/trident-inference/trident/services/inference"
)

// blockKind is the use of the text of a block.
type blockKind uint8

const (
	blockText blockKind = iota
	blockReasoning
	blockCalls  // the text has tool calls
	blockHidden // the text isn't for the client
)

// blockFormat describes answers that consist of blocks, in any order. A head states the kind of its
// block.
type blockFormat struct {
	// heads are the markers before a block's head.
	heads []string
	// ends are the markers that end a block, besides heads.
	ends []string
	// head reads what follows a marker of heads up to the block's text. It returns the block's kind.
	head func(r *reader, marker string) (blockKind, verdict)
	// looks reports whether a marker of heads is one, by what follows it: yes, no, or more if it needs
	// more bytes. If nil, all are.
	looks func(rest []byte, marker string, final bool) verdict
	// calls returns the dialect that reads a block of tool calls.
	calls func(r *reader) dialect
}

// blocks reads answers in a [blockFormat].
type blocks struct {
	reader
	format    *blockFormat
	callTools bool
	forced    dialect  // reads the text of a forced call, otherwise nil
	markers   *markers // the markers heads and ends
	at        blockState
	marker    string // marker of the current head, which the prompt has if it is empty
	kind      blockKind
	inner     dialect // reads the calls of the current block
}

type blockState uint8

const (
	blockHead   blockState = iota // the parser is after a marker of heads, or at the start of the answer
	blockInside                   // the parser is in a block's text, or between two blocks
)

func newBlocks(r *reader, f *blockFormat, callTools bool, forced dialect) dialect {
	return &blocks{reader: *r, format: f, callTools: callTools, forced: forced, markers: newMarkers(append(slices.Clip(f.heads), f.ends...)...)}
}

func (b *blocks) step() bool {
	switch b.at {
	case blockHead:
		return b.head()
	default:
		return b.inside()
	}
}

// head reads a block's head. A head that isn't valid is text.
func (b *blocks) head() bool {
	kind, v := b.format.head(&b.reader, b.marker)
	switch v {
	case more:
		return false
	case no:
		b.reject()
		b.at = blockInside
		return true
	case yes:
	}
	b.forget()
	b.kind, b.at, b.blank = kind, blockInside, b.blank[:0]
	switch {
	case kind == blockText:
		b.lead = leadKeep
	case kind == blockCalls && !b.callTools:
		b.kind = blockText
	}
	return true
}

// inside reads the text of a block up to the marker that ends it.
func (b *blocks) inside() bool {
	at, which := b.markers.find(b.in, b.final, b.ends)
	undecided := which >= 0 && b.looks(at, which) == more
	b.pass(at, which >= 0 && !undecided)
	if which < 0 || undecided || b.state != inference.ParseOpen {
		return false
	}
	b.take(len(b.markers.texts[which]))
	b.kind, b.lead = blockText, leadDrop
	if which < len(b.format.heads) {
		b.marker, b.at = b.markers.texts[which], blockHead
		return true
	}
	b.forget()
	return true
}

// ends reports whether a marker possibly ends a block.
func (b *blocks) ends(at, which int) bool { return b.looks(at, which) != no }

func (b *blocks) looks(at, which int) verdict {
	if b.format.looks == nil || which >= len(b.format.heads) {
		return yes
	}
	marker := b.markers.texts[which]
	return b.format.looks(b.in[at+len(marker):], marker, b.final)
}

// pass reads n bytes of a block. With ended they are the rest of it.
func (b *blocks) pass(n int, ended bool) {
	switch b.kind {
	case blockReasoning:
		b.sink.add(inference.PieceReasoning, b.in[:n])
	case blockHidden:
	case blockCalls:
		b.readCalls(n, ended)
		return
	case blockText:
		if b.forced != nil {
			b.hand(b.forced, n, b.final && n == len(b.in))
			return
		}
		b.text(n)
		return
	}
	b.in = b.in[n:]
}

// readCalls reads n bytes of tool calls.
func (b *blocks) readCalls(n int, ended bool) {
	if b.inner == nil {
		base := b.reader
		base.in, base.held, base.raw, base.blank, base.lead = nil, nil, nil, nil, leadDrop
		b.inner = b.format.calls(&base)
	}
	ended = ended || b.final
	b.hand(b.inner, n, ended)
	if ended {
		b.inner = nil
	}
}

// hand passes n bytes to another dialect. Both share one count of calls, and the bytes of the calls.
func (b *blocks) hand(d dialect, n int, final bool) {
	r := d.base()
	r.calls, r.used = b.calls, b.used
	feed(d, b.in[:n], final)
	b.calls, b.used, b.known, b.state, b.in = r.calls, r.used, r.known, r.state, b.in[n:]
}

// unifiedDialect returns the reader of a format in which one reader finds both reasoning and calls.
type unifiedDialect func(r *reader, callTools bool, forced dialect) dialect
