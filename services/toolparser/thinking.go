package toolparser

import (
	"bytes"
	"slices"
	"strings"

	"github.com/trident-inference/trident/services/inference"
)

// tags are how a dialect marks reasoning, which stands where the answer starts.
type tags struct {
	open, shut []string // one that starts with another stands before it
	// keep are texts that end the reasoning too and are read as what follows.
	keep []string
	// assumed: the answer starts inside the reasoning although nothing says so.
	assumed bool
}

func thinkTags() *tags { return &tags{open: []string{"<think>"}, shut: []string{"</think>"}} }

// ends adds texts that end the reasoning too: the calls of models that don't always
// close their reasoning before a call.
func (t *tags) ends(keep ...string) *tags {
	t.keep = append(t.keep, keep...)
	return t
}

// always is for models whose template opens the reasoning, or that leave the opening
// tag out.
func (t *tags) always() *tags {
	t.assumed = true
	return t
}

// qwenCalls is the prefix of Qwen 3.5's calls. The tag alone may stand in its thoughts.
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
	return t.ends("<|open|>response<|sep|>", "<|open|>tools<|sep|>")
}

func cohereTags() *tags {
	t := &tags{open: []string{"<|START_THINKING|>"}, shut: []string{"<|END_THINKING|>"}}
	return t.ends("<|START_ACTION|>", "<|START_RESPONSE|>", "<|START_TEXT|>")
}

// gemma4Tags are those of a channel, whose name is no part of the reasoning.
func gemma4Tags() *tags {
	t := &tags{open: []string{"<|channel>thought\n", "<|channel>thought", "<|channel>"}, shut: []string{"<channel|>"}}
	return t.ends("<|tool_call>")
}

func mistralTags() *tags { return &tags{open: []string{"[THINK]"}, shut: []string{"[/THINK]"}} }

// hyV3Tags have a suffix in some checkpoints, such as <think:opensource>. The prompt
// ends with such a tag, which is where the suffix is known from.
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

// graniteTags are sentences in Granite 3.2, and "Here's" in its quantized models.
func graniteTags() *tags {
	return &tags{
		open: []string{"Here is my thought process:", "Here's my thought process:", "<think>"},
		shut: []string{"Here is my response:", "Here's my response:", "</think>"},
	}
}

// thinking takes the reasoning off the start of an answer and hands on the rest.
type thinking struct {
	sink   *sink
	tags   *tags
	shut   *markers
	state  thinkingState
	inside bool   // what no tag opens is reasoning
	json   bool   // what follows is a JSON text
	blank  bool   // nothing of the reasoning was shown
	held   []byte // unread
	next   dialect
}

type thinkingState uint8

const (
	thinkingStart thinkingState = iota
	thinkingInside
	thinkingDone
)

func newThinking(s *sink, t *tags, options *inference.ParserOptions, next dialect) *thinking {
	th := &thinking{sink: s, tags: t, shut: newMarkers(append(slices.Clip(t.shut), t.keep...)...), inside: t.assumed, blank: true, next: next}
	// An engine that knows nothing of reasoning constrains the answer from its start.
	th.json = options.Choice.Mode == inference.ToolRequired || options.Choice.Mode == inference.ToolNamed
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

// start looks for the opening tag and returns what is unread.
func (t *thinking) start(in []byte, final bool) []byte {
	rest := bytes.TrimLeft(in, blanks)
	wait := len(rest) == 0 && len(in) <= maxBlank
	for _, open := range t.tags.open {
		if bytes.HasPrefix(rest, []byte(open)) && !wait {
			t.state = thinkingInside
			return rest[len(open):]
		}
		wait = wait || !final && len(rest) > 0 && strings.HasPrefix(open, string(rest))
	}
	switch {
	case wait && !final:
	case t.json && len(rest) > 0 && (rest[0] == '{' || rest[0] == '['):
		t.state = thinkingDone
	case t.inside:
		t.state = thinkingInside
	default:
		t.state = thinkingDone
	}
	return in
}

// reason shows reasoning up to the closing tag and returns what is unread.
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
