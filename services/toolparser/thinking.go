package toolparser

import (
	"bytes"
	"slices"
	"strings"

	"github.com/trident-inference/trident/services/inference"
)

// tags are the strings that mark reasoning at the start of the answer.
type tags struct {
	open, shut []string // start tags and end tags, sorted so that each string stands before its own prefixes
	// keep are strings that end the reasoning too. They are read as part of what
	// follows.
	keep []string
	// assumed is set if the answer starts inside the reasoning without an opening tag.
	assumed bool
}

func thinkTags() *tags { return &tags{open: []string{"<think>"}, shut: []string{"</think>"}} }

// ends appends further strings that end the reasoning, in addition to the closing tag.
// The strings are the prefixes of calls, for models that don't always close their
// reasoning before a call.
func (t *tags) ends(keep ...string) *tags {
	t.keep = append(t.keep, keep...)
	return t
}

// always sets the field assumed, and returns t. It is for models whose template opens
// the reasoning, or that omit the opening tag.
func (t *tags) always() *tags {
	t.assumed = true
	return t
}

// qwenCalls is the prefix of Qwen 3.5's calls. The tag alone may occur in its
// reasoning.
const qwenCalls = qwenCall + "\n" + qwenFunction

func qwen3Tags() *tags      { return thinkTags().ends(qwenCalls) }
func deepseekR1Tags() *tags { return thinkTags().always() }
func step3p5Tags() *tags    { return thinkTags().always().ends(qwenCalls) }
func glm45Tags() *tags      { return thinkTags().ends(qwenCall) }
func kimiK2Tags() *tags     { return thinkTags().ends("<|tool_calls_section_begin|>") }
func miniMaxM2Tags() *tags  { return thinkTags().always().ends("<minimax:tool_call>") }

func deepseekV4Tags() *tags {
	return thinkTags().ends("<｜DSML｜tool_calls>", "<｜DSML｜toolcalls>", "<｜DSML｜tool>", "<｜DSML｜ calls>")
}

func miniMaxM3Tags() *tags {
	return (&tags{open: []string{"<mm:think>"}, shut: []string{"</mm:think>"}}).ends(m3Outer)
}

func seedTags() *tags {
	return (&tags{open: []string{"<seed:think>"}, shut: []string{"</seed:think>"}}).ends("<seed:tool_call>")
}

func kimiK3Tags() *tags {
	t := &tags{open: []string{"<|open|>think<|sep|>"}, shut: []string{"<|close|>think<|sep|>"}}
	return t.ends(kimiK3Text, "<|open|>tools<|sep|>")
}

func cohereTags() *tags {
	t := &tags{open: []string{"<|START_THINKING|>"}, shut: []string{"<|END_THINKING|>"}}
	return t.ends("<|START_ACTION|>", cohere3Text, cohere4Text)
}

// gemma4Tags returns the tags of Gemma 4's channel. The channel's name isn't part of
// the reasoning.
func gemma4Tags() *tags {
	t := &tags{open: []string{"<|channel>thought\n", "<|channel>thought", "<|channel>"}, shut: []string{"<channel|>"}}
	return t.ends("<|tool_call>")
}

func mistralTags() *tags { return &tags{open: []string{"[THINK]"}, shut: []string{"[/THINK]"}} }

// hyV3Tags returns tags with the suffix that some checkpoints have, such as
// <think:opensource>. The suffix is read from the tag at the end of the prompt.
func hyV3Tags(prompt string) *tags {
	suffix := ""
	prompt = strings.TrimRight(prompt, blanks)
	if i := strings.LastIndexByte(prompt, '<'); i >= 0 {
		tag, closed := strings.CutSuffix(strings.TrimPrefix(prompt[i+1:], "/"), ">")
		if rest, found := strings.CutPrefix(tag, "think"); found && closed && isName(rest) && rest[0] == ':' {
			suffix = rest
		}
	}
	return &tags{open: []string{"<think" + suffix + ">"}, shut: []string{"</think" + suffix + ">"}}
}

// graniteTags returns sentences, the marks of Granite 3.2. Its quantized models write
// "Here's".
func graniteTags() *tags {
	return &tags{
		open: []string{"Here is my thought process:", "Here's my thought process:", "<think>"},
		shut: []string{"Here is my response:", "Here's my response:", "</think>"},
	}
}

// thinking splits the reasoning off the start of an answer and passes on the text
// after the reasoning.
type thinking struct {
	sink   *sink
	tags   *tags
	shut   *markers
	state  thinkingState
	inside bool // the answer starts in the reasoning, without an opening tag
	// constrained are the beginnings of an answer that was constrained to calls, so that it possibly has
	// no reasoning; nil otherwise
	constrained []string
	blank       bool   // no reasoning was emitted yet
	held        []byte // bytes of the answer that haven't been classified
	next        dialect
}

type thinkingState uint8

const (
	thinkingStart thinkingState = iota
	thinkingInside
	thinkingDone
)

func newThinking(s *sink, t *tags, options *inference.ParserOptions, next dialect) *thinking {
	th := &thinking{sink: s, tags: t, shut: newMarkers(append(slices.Clip(t.shut), t.keep...)...), inside: t.assumed, blank: true, next: next}
	// An engine without reasoning support constrains the answer from its first byte.
	if options.Choice.Mode == inference.ToolRequired || options.Choice.Mode == inference.ToolNamed {
		th.constrained = []string{"{", "["}
	}
	if options.Continued != nil {
		th.resume(*options.Continued)
		return th
	}
	prompt := strings.TrimRight(options.Prompt, blanks)
	for _, open := range t.open {
		th.inside = th.inside || strings.HasSuffix(prompt, open)
	}
	for _, shut := range t.shut {
		if strings.HasSuffix(prompt, shut) {
			th.state = thinkingDone
		}
	}
	return th
}

// resume sets the state at the end of a message that the answer continues.
func (t *thinking) resume(text string) {
	opened, closed := endOfLast(text, t.tags.open), endOfLast(text, t.tags.shut)
	t.state = thinkingDone
	if opened > closed {
		t.state, t.blank = thinkingInside, strings.TrimLeft(text[opened:], blanks) == ""
	}
}

// endOfLast returns the end of the last tag in a text, or 0 if there is none.
func endOfLast(text string, tags []string) int {
	end := 0
	for _, tag := range tags {
		if at := strings.LastIndex(text, tag); at >= 0 {
			end = max(end, at+len(tag))
		}
	}
	return end
}

func (t *thinking) feed(text []byte, final bool) {
	if t.state == thinkingDone {
		feed(t.next, text, final)
		return
	}
	in := text
	if len(t.held) > 0 {
		in = t.sink.join(t.held, text)
	}
	if t.state == thinkingStart {
		in = t.start(in, final)
	}
	if t.state == thinkingInside {
		in = t.reason(in, final)
	}
	if t.state == thinkingDone {
		t.held = nil
		feed(t.next, in, final)
		return
	}
	t.held = append(t.held[:0], in...)
	if final {
		feed(t.next, nil, true)
	}
}

// start looks for the opening tag and returns the unread bytes.
func (t *thinking) start(in []byte, final bool) []byte {
	rest := bytes.TrimLeft(in, blanks)
	wait := len(rest) == 0 && len(in) <= maxBlank
	for _, open := range t.tags.open {
		if bytes.HasPrefix(rest, []byte(open)) && !wait {
			t.state = thinkingInside
			return rest[len(open):]
		}
		wait = wait || begins(rest, open, final) == more
	}
	called := no
	for _, begin := range t.constrained {
		if v := begins(rest, begin, final); v == yes || called == no {
			called = v
		}
	}
	switch {
	case (wait || called == more) && !final:
	case called == yes:
		t.state = thinkingDone
	case t.inside:
		t.state = thinkingInside
	default:
		t.state = thinkingDone
	}
	return in
}

// begins reports whether text begins with a string, or possibly does with more bytes.
func begins(text []byte, with string, final bool) verdict {
	switch {
	case bytes.HasPrefix(text, []byte(with)):
		return yes
	case !final && len(text) > 0 && strings.HasPrefix(with, string(text)):
		return more
	}
	return no
}

// reason emits reasoning up to the closing tag and returns the unread bytes.
func (t *thinking) reason(in []byte, final bool) []byte {
	at, which := t.shut.find(in, final, nil)
	text := in[:at]
	if t.blank {
		text = bytes.TrimLeft(text, blanks)
		t.blank = len(text) == 0
	}
	t.sink.add(inference.PieceReasoning, text)
	in = in[at:]
	if which < 0 {
		return in
	}
	if which < len(t.tags.shut) {
		in = in[len(t.tags.shut[which]):]
	}
	t.state = thinkingDone
	t.next.base().lead = leadDrop
	return in
}
