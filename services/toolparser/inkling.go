package toolparser

import "bytes"

// Markers of Inkling's blocks.
const (
	inklingMessage = "<|message_model|>"
	inklingText    = "<|content_text|>"
	inklingThought = "<|content_thinking|>"
	inklingTool    = "<|content_invoke_tool_json|>"
	inklingEnd     = "<|end_message|>"
	inklingDone    = "<|content_model_end_sampling|>"
)

// newInkling reads Inkling's blocks. A tool call is a block with the name of its tool before the
// marker of its content: <|message_model|>NAME<|content_invoke_tool_json|>{"name": …, "args":
// {…}}<|end_message|>. The prompt ends with <|message_model|>.
func newInkling(r *reader, callTools bool, forced dialect) dialect {
	return newBlocks(r, &blockFormat{
		heads: append([]string{inklingMessage}, inklingContents()...), ends: []string{inklingEnd, inklingDone}, head: inklingHead, calls: newInklingCalls,
	}, callTools, forced)
}

func newInklingCalls(r *reader) dialect {
	c := newJSONCalls(r, &format{arguments: "args"})
	c.at = atStart
	return c
}

// inklingContents returns the markers of contents. A block of the tool's input as text is text.
func inklingContents() []string {
	return []string{inklingText, inklingThought, inklingTool, "<|content_invoke_tool_text|>", "<|content_tool_error|>"}
}

func recognizeInkling(template string) string {
	return matchAll(template, inklingMessage, inklingTool)
}

// inklingHead reads the head of a block: after <|message_model|> an optional name and the marker of a
// content.
func inklingHead(r *reader, marker string) (blockKind, verdict) {
	if marker != "" && marker != inklingMessage {
		return inklingKind(marker), yes
	}
	window := r.in[:min(len(r.in), maxHeader)]
	i := bytes.IndexByte(window, '<')
	if i < 0 {
		if len(window) < maxHeader && !r.final && isName(string(window)+"_") {
			return 0, more
		}
		return 0, no
	}
	if i > 0 && !isName(string(window[:i])) {
		return 0, no
	}
	undecided := no
	for _, content := range inklingContents() {
		rest := window[i:]
		switch begins(rest, content, r.final) {
		case yes:
			r.take(i + len(content))
			return inklingKind(content), yes
		case more:
			undecided = more
		case no:
		}
	}
	return 0, undecided
}

func inklingKind(content string) blockKind {
	switch content {
	case inklingThought:
		return blockReasoning
	case inklingTool:
		return blockCalls
	}
	return blockText
}
