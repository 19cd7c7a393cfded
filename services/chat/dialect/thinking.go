package dialect

import (
	"bytes"
	"slices"
	"strings"

	"github.com/trident-inference/trident/services/inference"
)

// tags are how a dialect marks reasoning, which stands where the answer starts.
type tags struct {
	open, shut []string
	// keep are texts that end the reasoning too and are read as what follows.
	keep []string
	// assumed: the answer starts inside the reasoning although nothing says so.
	assumed bool
}

func thinkTags() *tags { return &tags{open: []string{"<think>"}, shut: []string{"</think>"}} }

// qwen3Tags end where a call begins too: Qwen 3.5 calls without closing <think>.
func qwen3Tags() *tags {
	t := thinkTags()
	t.keep = []string{qwenCall + "\n" + qwenFunction}
	return t
}

// deepseekR1Tags are for models whose template opens the reasoning, or that leave
// the opening tag out.
func deepseekR1Tags() *tags {
	t := thinkTags()
	t.assumed = true
	return t
}

func seedTags() *tags {
	return &tags{open: []string{"<seed:think>"}, shut: []string{"</seed:think>"}}
}

func mistralTags() *tags { return &tags{open: []string{"[THINK]"}, shut: []string{"[/THINK]"}} }

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
		if bytes.HasPrefix(rest, []byte(open)) {
			t.state = thinkingInside
			return rest[len(open):]
		}
		wait = wait || len(rest) > 0 && strings.HasPrefix(open, string(rest))
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
