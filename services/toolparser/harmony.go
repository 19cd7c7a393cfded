package toolparser

import (
	"strings"

	"github.com/trident-inference/trident/services/inference"
)

// Markers of the harmony format.
const (
	harmonyStart   = "<|start|>"
	harmonyChannel = "<|channel|>"
	harmonyMessage = "<|message|>"
)

// harmony reads gpt-oss's messages, each with a channel. The channel analysis is
// reasoning and final is text. The channel commentary is text, or the arguments
// of a function if the message is addressed to=functions.name. The prompt ends
// with <|start|>assistant, so the answer starts in a header. The engine mostly
// omits the tokens that end the answer, <|return|> and <|call|>.
//
// Source: OpenAI's harmony response format.
type harmony struct {
	reader
	callTools bool
	forced    dialect // reads the text of a forced call, otherwise nil
	outside   *markers
	ends      *markers
	at        harmonyState
	kind      inference.PieceKind // kind of the message
	scan      scanner             // state of the arguments' JSON
	broken    bool                // the arguments aren't JSON
}

type harmonyState uint8

const (
	harmonyFirst   harmonyState = iota // the parser is at the start of the answer
	harmonyOutside                     // the parser is between two messages
	harmonyHeader
	harmonyBody
	harmonyArguments
)

func newHarmony(r *reader, callTools bool, forced dialect) dialect {
	return &harmony{
		reader: *r, callTools: callTools, forced: forced,
		outside: newMarkers(harmonyStart, harmonyChannel, harmonyMessage, "<|end|>", "<|return|>", "<|call|>"),
		ends:    newMarkers(harmonyStart, harmonyChannel, "<|end|>", "<|return|>", "<|call|>"),
	}
}

func recognizeHarmony(template string) string {
	return matchAll(template, harmonyStart, harmonyChannel, harmonyMessage)
}

func (h *harmony) step() bool {
	switch h.at {
	case harmonyFirst:
		return h.first()
	case harmonyOutside:
		return h.between()
	case harmonyHeader:
		return h.header()
	case harmonyBody:
		return h.body()
	default:
		return h.callBody()
	}
}

// first reads the rest of the header that the prompt has begun.
func (h *harmony) first() bool {
	if !h.spaces() {
		return false
	}
	switch h.match("to=") {
	case more:
		return false
	case yes:
		h.at = harmonyHeader
	case no:
		h.reject() // this emits the spaces as text
		h.at = harmonyOutside
	}
	return true
}

func (h *harmony) between() bool {
	at, which := h.outside.find(h.in, h.final, nil)
	h.say(at)
	if which < 0 {
		return false
	}
	h.take(len(h.outside.texts[which]))
	switch h.outside.texts[which] {
	case harmonyStart, harmonyChannel:
		h.at = harmonyHeader
	case harmonyMessage:
		h.message("final", "")
	default:
		h.forget()
	}
	return true
}

// header reads what stands before a message. The marker in raw is a part of the
// header.
func (h *harmony) header() bool {
	head, v := h.before(harmonyMessage)
	switch v {
	case more:
		return false
	case no:
		h.reject()
		h.at = harmonyOutside
		return true
	case yes:
	}
	head = string(h.raw[:len(h.raw)-len(harmonyMessage)-len(head)]) + head
	_, channel, _ := strings.Cut(head, harmonyChannel)
	_, to, _ := strings.Cut(head, "to=")
	h.message(word(channel), word(to))
	return true
}

// word returns the prefix of text up to a blank or a marker.
func word(text string) string {
	if i := strings.IndexAny(text, blanks+"<"); i >= 0 {
		return text[:i]
	}
	return text
}

// message starts the body of a message.
func (h *harmony) message(channel, to string) {
	name, function := strings.CutPrefix(to, "functions.")
	switch {
	case function && name != "" && h.callTools:
		h.open(name)
		h.scan, h.broken, h.at = scanner{}, false, harmonyArguments
		return
	case channel == "analysis", to != "" && !function:
		h.kind = inference.PieceReasoning // calls of built-in tools aren't for the client
	default:
		h.kind = inference.PieceText
	}
	h.forget()
	h.blank, h.lead, h.at = h.blank[:0], leadKeep, harmonyBody
}

func (h *harmony) body() bool {
	at, which := h.ends.find(h.in, h.final, nil)
	if h.kind == inference.PieceText {
		h.say(at)
	} else {
		h.sink.add(h.kind, h.in[:at])
		h.in = h.in[at:]
	}
	return which >= 0 && h.ended(which)
}

// say emits n bytes of text, or reads them as forced calls. Both readers share
// one count of calls.
func (h *harmony) say(n int) {
	if h.forced == nil {
		h.text(n)
		return
	}
	r := h.forced.base()
	r.calls = h.calls
	feed(h.forced, h.in[:n], h.final && n == len(h.in))
	h.calls, h.state, h.in = r.calls, r.state, h.in[n:]
}

// ended reads the marker that ends a message. A marker that starts the next
// message stays unread.
func (h *harmony) ended(which int) bool {
	h.lead, h.at = leadDrop, harmonyOutside
	if which > 1 {
		h.take(len(h.ends.texts[which]))
		h.forget()
	}
	return true
}

func (h *harmony) callBody() bool {
	if !h.argued {
		h.spaces()
	}
	at, which := h.ends.find(h.in, h.final, nil)
	h.pass(at)
	if which < 0 && !h.final {
		return false
	}
	h.close()
	if which < 0 {
		return false
	}
	return h.ended(which)
}

// pass emits n bytes of arguments. It escapes control characters in strings.
func (h *harmony) pass(n int) {
	for n > 0 && !h.broken {
		read, end := h.scan.scan(h.in[:n])
		h.argue(read)
		n -= read
		if end == scanControl {
			h.arguments(h.escaped())
			n--
		} else if end != scanMore {
			h.broken = true
		}
	}
	h.argue(n)
}
