package toolparser

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/trident-inference/trident/services/inference"
)

// callForm describes the calls of a dialect that always begin with the same string, so that an
// engine can constrain them in an answer that may also be text:
//
//	before NAME after ARGUMENTS end
type callForm struct {
	// trigger is the prefix of every call that the dialect reads. Its first character occurs only
	// once in it.
	trigger       string
	before, after string // the string before starts with the trigger
	// end follows the arguments if they are one JSON object. It is empty for dialects that write
	// the arguments in another form.
	end string
	// quoted is set if the name stands in a JSON string.
	quoted bool
}

func hermesForm() *callForm {
	return &callForm{
		trigger: "<tool_call>", before: "<tool_call>\n{\"name\": \"", after: `", "arguments": `, end: "}\n</tool_call>", quoted: true,
	}
}

func deepseekV3Form() *callForm {
	return &callForm{trigger: deepseekCall, before: deepseekCall + "function" + deepseekSep, after: "\n" + jsonFence + "\n", end: "\n```" + deepseekCallEnd}
}

func deepseekV31Form() *callForm {
	return &callForm{trigger: deepseekCall, before: deepseekCall, after: deepseekSep, end: deepseekCallEnd}
}

func kimiK2Form() *callForm {
	const call = "<|tool_call_begin|>"
	return &callForm{trigger: call, before: call + "functions.", after: ":"}
}

// qwenForm is the form of Qwen3-Coder's tags, whatever stands around them.
func qwenForm() *callForm {
	return &callForm{trigger: qwenFunction, before: qwenFunction, after: ">"}
}

// invokeForm is the form of the calls of [invokeFormat].
func invokeForm() *callForm {
	return &callForm{trigger: "<invoke name=", before: `<invoke name="`, after: `">`}
}

// name returns a tool's name as a call has it.
func (f *callForm) name(name string) string {
	if f.quoted {
		return string(appendEscaped(nil, []byte(name)))
	}
	return name
}

// ConstrainNames returns a regular expression for answers that are text or calls, in the
// dialect of the model, of the tools that the choice allows. Reasoning may contain anything. It
// returns an error if the dialect's calls have no certain beginning.
func (Dialects) ConstrainNames(tools, reasoning string, choice inference.ToolChoice) (*inference.Structured, error) {
	d, err := toolsNamed(tools)
	if err != nil {
		return nil, err
	}
	r, err := reasoningNamed(reasoning)
	if err != nil {
		return nil, err
	}
	const param = "tool_choice"
	if d.form == nil {
		return nil, inference.Unsupported(param, "%s is not supported: calls in the format %s can't be restricted to some of the tools, unless a call is required. Send only the tools that may be called, or the mode required", param, tools)
	}
	form := d.form()
	names := make([]string, len(choice.Allowed))
	for i, name := range choice.Allowed {
		names[i] = regexp.QuoteMeta(form.name(name))
	}
	call := regexp.QuoteMeta(form.before) + "(?:" + strings.Join(names, "|") + ")" + regexp.QuoteMeta(form.after)
	pattern := textWithout(form.trigger, call)
	if r.tags != nil {
		end := r.tags("").shut[0]
		pattern = "(?:" + textWithout(end, "") + regexp.QuoteMeta(end) + ")?" + pattern
	}
	value, err := json.Marshal(pattern)
	return &inference.Structured{Kind: "regex", Value: value, Param: param}, err
}

// textWithout returns a regular expression for text in which a string doesn't occur, except as
// the beginning of a match of the expression call, which is empty for none. The string's first
// character must not occur again in it.
func textWithout(text, call string) string {
	first, size := utf8.DecodeRuneInString(text)
	start := regexp.QuoteMeta(string(first))
	plain := "[^" + start + "]*"
	// The first character, and then a prefix of the rest that is followed by another character.
	other, ends := start, ""
	for rest := text[size:]; rest != ""; {
		c, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
		next := regexp.QuoteMeta(string(c))
		other += "(?:[^" + start + next + "]" + plain
		if rest != "" {
			other += "|" + next
		}
		ends += ")?"
	}
	if call != "" {
		call = "|" + call + plain
	}
	return plain + "(?:" + other + ends + call + ")*"
}

// refusedCalls counts and reads the calls of tools that the choice doesn't allow.
type refusedCalls struct {
	count int  // number of such calls so far
	open  bool // the current call is one of them
}

// end returns the text that closes a refused call.
func (c *refusedCalls) end() []inference.Piece {
	if !c.open {
		return nil
	}
	c.open = false
	return []inference.Piece{{Kind: inference.PieceText, Text: []byte("}")}}
}

// allowed returns the pieces that were read. A call of a tool that the choice doesn't allow becomes
// text.
func (p *parser) allowed() []inference.Piece {
	if p.choice.Allowed == nil {
		return p.sink.pieces
	}
	c := &p.refused
	var pieces []inference.Piece
	for _, piece := range p.sink.pieces {
		call := &piece.Call
		switch begins := piece.Kind == inference.PieceCall && call.ID != ""; {
		case begins || piece.Kind != inference.PieceCall:
			pieces = append(pieces, c.end()...)
			if c.open = begins && !p.choice.Allows(call.Name); c.open {
				c.count++
				piece = inference.Piece{Kind: inference.PieceText, Text: fmt.Appendf(nil, `{"name": %s, "arguments": `, appendString(nil, []byte(call.Name)))}
			}
		case c.open:
			piece = inference.Piece{Kind: inference.PieceText, Text: call.Arguments}
		}
		call.Index -= c.count
		pieces = append(pieces, piece)
	}
	return pieces
}
