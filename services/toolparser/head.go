package toolparser

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
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
// dialect of the model, of the tools that the choice allows. Reasoning that the model opens may
// contain anything. It returns an error if the dialect's calls have no certain beginning.
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
	if opens, end := r.marks(); opens != nil {
		for i := range opens {
			opens[i] = regexp.QuoteMeta(opens[i])
		}
		pattern = "(?:(?:" + strings.Join(opens, "|") + ")" + textWithout(end, "") + regexp.QuoteMeta(end) + ")?" + pattern
	}
	value, err := json.Marshal(pattern)
	return &inference.Structured{Kind: "regex", Value: value, Param: param}, err
}

// marks returns the opening tags of reasoning and its closing tag. It returns nil if the dialect has
// none.
func (d *reasoningDialect) marks() (opens []string, end string) {
	if d.tags == nil {
		return nil, ""
	}
	t := d.tags("")
	return slices.Clone(t.open), t.shut[0]
}

// Strict returns the indices of the tools that the choice allows and whose arguments must match
// their schemas.
func (Dialects) Strict(choice inference.ToolChoice, definitions []json.RawMessage) []int {
	var strict []int
	for i, d := range definitions {
		if t := readTool(d); t != nil && t.Strict && choice.Allows(t.Name) {
			strict = append(strict, i)
		}
	}
	return strict
}

// tag is a part of a structural tag in xgrammar's form.
type tag struct {
	Type       string          `json:"type"`
	Triggers   []string        `json:"triggers,omitempty"`
	Tags       []tag           `json:"tags,omitempty"`
	Separator  string          `json:"separator,omitempty"`
	AtLeastOne bool            `json:"at_least_one,omitempty"`
	Elements   []tag           `json:"elements,omitempty"`
	Value      string          `json:"value,omitempty"`
	Pattern    string          `json:"pattern,omitempty"`
	Begin      string          `json:"begin,omitempty"`
	Content    *tag            `json:"content,omitempty"`
	Schema     json.RawMessage `json:"json_schema,omitempty"`
	End        string          `json:"end,omitempty"`
}

// ConstrainStrict returns a structural tag for answers that are text or calls, in the dialect of the
// model, of the tools that the choice allows. The arguments of the tools with the given sorted indices match
// their schemas, the arguments of others are any object. Reasoning that the model opens may contain
// anything. The result has no Param. It is nil if the dialect's calls can't be constrained this way.
func (Dialects) ConstrainStrict(tools, reasoning string, choice inference.ToolChoice, definitions []json.RawMessage, strict []int) (*inference.Structured, error) {
	d, err := toolsNamed(tools)
	if err != nil {
		return nil, err
	}
	r, err := reasoningNamed(reasoning)
	if err != nil {
		return nil, err
	}
	if d.form == nil || d.form().end == "" {
		return nil, nil //nolint:nilnil // no constraint
	}
	form := d.form()
	calls := tag{Type: "triggered_tags", Triggers: []string{form.trigger}}
	for i, definition := range definitions {
		t := readTool(definition)
		if t == nil || !choice.Allows(t.Name) {
			continue
		}
		schema := json.RawMessage(`{"type":"object"}`)
		if _, found := slices.BinarySearch(strict, i); found {
			schema = t.schema()
		}
		calls.Tags = append(calls.Tags, tag{
			Type: "tag", Begin: form.before + form.name(t.Name) + form.after, Content: &tag{Type: "json_schema", Schema: schema}, End: form.end,
		})
	}
	value, err := r.encode(&calls)
	return &inference.Structured{Kind: "structural_tag", Value: value}, err
}

// encode returns the structural tag of the calls, in the older form of vLLM, which has no
// reasoning. For a dialect of reasoning it is in the newer form, and accepts anything inside of
// reasoning before the calls.
func (d *reasoningDialect) encode(calls *tag) (json.RawMessage, error) {
	opens, end := d.marks()
	if opens == nil {
		type structure struct {
			Begin  string          `json:"begin,omitempty"`
			Schema json.RawMessage `json:"schema"`
			End    string          `json:"end"`
		}
		var structures []structure
		for _, t := range calls.Tags {
			structures = append(structures, structure{t.Begin, t.Content.Schema, t.End})
		}
		return json.Marshal(map[string]any{"structures": structures, "triggers": calls.Triggers})
	}
	either := &tag{Type: "or"}
	for _, open := range opens {
		thoughts := tag{Type: "tag", Begin: open, Content: &tag{Type: "any_text"}, End: end}
		either.Elements = append(either.Elements, tag{Type: "sequence", Elements: []tag{thoughts, *calls}})
	}
	either.Elements = append(either.Elements, *calls)
	return json.Marshal(map[string]any{"type": "structural_tag", "format": either})
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
	// pieces are those of the last call of Parse, whose memory the next one uses again.
	pieces []inference.Piece
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
	c.pieces = c.pieces[:0]
	for _, piece := range p.sink.pieces {
		call := &piece.Call
		switch begins := piece.Kind == inference.PieceCall && call.ID != ""; {
		case begins || piece.Kind != inference.PieceCall:
			c.pieces = append(c.pieces, c.end()...)
			if c.open = begins && !p.choice.Allows(call.Name); c.open {
				c.count++
				piece = inference.Piece{Kind: inference.PieceText, Text: fmt.Appendf(nil, `{"name": %s, "arguments": `, appendString(nil, []byte(call.Name)))}
			}
		case c.open:
			piece = inference.Piece{Kind: inference.PieceText, Text: call.Arguments}
		}
		call.Index -= c.count
		c.pieces = append(c.pieces, piece)
	}
	return c.pieces
}
