package toolparser

import (
	"bytes"
	"strings"
)

// Markers of Muse's messages.
const (
	museStart   = "<|start|>"
	museMessage = "<|message|>"
	museTo      = "to="
)

// newMuse reads the messages of Muse Spark, with a recipient each: <|start|>assistant
// to=RECIPIENT<|message|>TEXT<|eom|>. The prompt ends with <|start|>assistant. Messages to self, and
// those without a recipient, are reasoning. Messages to user and commentary are text. Messages to a
// tool have its calls.
func newMuse(r *reader, callTools bool, forced dialect) dialect {
	return newMessages(r, callTools, forced, func(to string) blockKind {
		switch to {
		case "", "self":
			return blockReasoning
		case "user", "commentary":
			return blockText
		case "developer":
			return blockHidden
		}
		return blockCalls
	})
}

// newMuseGlimmer reads the messages of Muse Glimmer. Those without a recipient are text.
func newMuseGlimmer(r *reader, callTools bool, forced dialect) dialect {
	return newMessages(r, callTools, forced, func(to string) blockKind {
		switch to {
		case "self":
			return blockReasoning
		case "", "user":
			return blockText
		}
		return blockCalls
	})
}

func newMessages(r *reader, callTools bool, forced dialect, kind func(to string) blockKind) dialect {
	// The model sometimes omits <|eom|> and <|start|>assistant: a message begins at a recipient, too.
	return newBlocks(r, &blockFormat{
		heads: []string{museStart, museMessage, " " + museTo, "\n" + museTo}, ends: []string{"<|eom|>", "<|eot|>"},
		head: museHead(kind), looks: museLooks, calls: newMuseCalls,
	}, callTools, forced)
}

// museLooks reports whether a marker begins a head: a recipient is followed by <|message|>.
func museLooks(rest []byte, marker string, final bool) verdict {
	if !strings.HasSuffix(marker, museTo) {
		return yes
	}
	window := rest[:min(len(rest), maxHeader)]
	i := bytes.IndexAny(window, blanks+"<")
	switch {
	case i < 0 && len(window) < maxHeader && !final:
		return more
	case i <= 0:
		return no
	}
	return begins(window[i:], museMessage, final || len(window) == maxHeader)
}

// museHead returns a function that reads a head after one of its markers.
func museHead(kind func(to string) blockKind) func(r *reader, marker string) (blockKind, verdict) {
	return func(r *reader, marker string) (blockKind, verdict) {
		if marker == museMessage {
			return kind(""), yes
		}
		if marker == "" { // the prompt has the first part of the head
			if v := museBegins(r); v != yes {
				return 0, v
			}
		}
		head, v := r.before(museMessage)
		if strings.HasSuffix(marker, museTo) {
			head = museTo + head
		}
		_, to, _ := strings.Cut(head, museTo)
		return kind(word(to)), v
	}
}

// museBegins reports whether the answer begins with the rest of a head.
func museBegins(r *reader) verdict {
	rest := bytes.TrimLeft(r.in[:min(len(r.in), maxHeader)], blanks)
	for _, start := range []string{museTo, museMessage} {
		switch {
		case bytes.HasPrefix(rest, []byte(start)):
			return yes
		case !r.final && len(r.in) < maxHeader && strings.HasPrefix(start, string(rest)):
			return more
		}
	}
	return no
}

// newMuseCalls reads the calls of a message to a tool: <atem:function_calls><atem:invoke
// name="f"><atem:parameter name="k">v</atem:parameter></atem:invoke></atem:function_calls>.
func newMuseCalls(r *reader) dialect {
	f := invokeFormat("<atem:function_calls>", "</atem:function_calls>")
	f.call, f.callEnd, f.param, f.paramEnd = "<atem:invoke name=", "</atem:invoke>", "<atem:parameter name=", "</atem:parameter>"
	tools := r.tools
	f.name = func(head string) string {
		name, _ := quotedName(head)
		// A tool without a namespace may be written as NAME.NAME.
		if space, rest, found := strings.Cut(name, "."); found && space == rest && !tools.knows(name) && tools.knows(space) {
			return space
		}
		return name
	}
	return newXMLCalls(r, f)
}

func recognizeMuse(template string) string {
	return matchAll(template, "<atem:function_calls>", "to=self")
}

// recognizeMuseGlimmer recognizes the template by an error that names the model.
func recognizeMuseGlimmer(template string) string {
	return matchAll(template, "<atem:function_calls>", "MuseGlimmer")
}
