package toolparser

import (
	"encoding/json"
	"strings"

	"github.com/trident-inference/trident/services/inference"
)

// forcedForm describes answers that are calls of a dialect whose arguments are one JSON object each:
//
//	open HEAD [NUMBER tail] ARGUMENTS end (separator HEAD [NUMBER tail] ARGUMENTS end)* shut
//
// HEAD and tail may have the tool's name, in the place of %s.
type forcedForm struct {
	open, shut string // shut may be empty, and open if shut is
	head, end  string
	// tail follows a number that the model chooses. It is empty if the calls have none.
	tail string
	// separator stands between two calls. It may be empty.
	separator string
	quoted    bool // the name stands in a JSON string
}

// objectForm is the form of calls that are objects {"name": …, "arguments": {…}}.
func objectForm(open, separator, shut string) *forcedForm {
	return &forcedForm{open: open, head: `{"name": "%s", "arguments": `, end: "}", separator: separator, shut: shut, quoted: true}
}

// listForm is the form of a list of objects, between two markers.
func listForm(open, shut string) func() *forcedForm {
	return func() *forcedForm { return objectForm(open+"[", ", ", "]"+shut) }
}

func forcedHermes() *forcedForm {
	return objectForm("<tool_call>\n", "\n</tool_call>\n<tool_call>\n", "\n</tool_call>")
}

func forcedGranite20b() *forcedForm { return objectForm("<function_call> ", "\n<function_call> ", "") }

func forcedLlama3() *forcedForm {
	f := objectForm("", "; ", "")
	f.head = `{"name": "%s", "parameters": `
	return f
}

func forcedInternLM() *forcedForm {
	const begin, end = "<|action_start|><|plugin|>", "<|action_end|>"
	f := objectForm(begin, end+"\n"+begin, end)
	f.head = `{"name": "%s", "parameters": `
	return f
}

func forcedApertus() *forcedForm {
	f := objectForm("<|tools_prefix|>[", ", ", "]<|tools_suffix|>")
	f.head = `{"%s": `
	return f
}

func forcedCohere() *forcedForm {
	f := objectForm("<|START_ACTION|>[\n    ", ",\n    ", "\n]<|END_ACTION|>")
	f.head, f.tail = `{"tool_call_id": "`, `", "tool_name": "%s", "parameters": `
	return f
}

func forcedDeepseekV3() *forcedForm {
	return &forcedForm{
		open: deepseekCalls, shut: deepseekCallsEnd, head: deepseekCall + "function" + deepseekSep + "%s\n" + jsonFence + "\n",
		end: "\n```" + deepseekCallEnd, separator: "\n",
	}
}

func forcedDeepseekV31() *forcedForm {
	return &forcedForm{open: deepseekCalls, shut: deepseekCallsEnd, head: deepseekCall + "%s" + deepseekSep, end: deepseekCallEnd}
}

func forcedKimiK2() *forcedForm {
	return &forcedForm{
		open: "<|tool_calls_section_begin|>", shut: "<|tool_calls_section_end|>", head: "<|tool_call_begin|>functions.%s:",
		tail: "<|tool_call_argument_begin|>", end: "<|tool_call_end|>",
	}
}

func forcedPlamo3() *forcedForm {
	h := plamo3Format()
	return &forcedForm{open: h.all, shut: h.allEnd, head: h.call + "%s" + h.sep, end: h.callEnd}
}

// begin returns the string with which each of the calls begins, up to the first name or number.
func (f *forcedForm) begin() string {
	head, _, _ := strings.Cut(f.head, "%s")
	return f.open + head
}

// call returns the part of the structural tag for calls of a tool.
func (f *forcedForm) call(t *tool) tag {
	name := t.Name
	if f.quoted {
		name = string(appendEscaped(nil, []byte(name)))
	}
	content := &tag{Type: "json_schema", Schema: t.schema()}
	if f.tail != "" {
		content = &tag{Type: "sequence", Elements: []tag{
			{Type: "regex", Pattern: "[0-9]{1,4}"}, {Type: "const_string", Value: strings.ReplaceAll(f.tail, "%s", name)}, *content,
		}}
	}
	return tag{Type: "tag", Begin: strings.ReplaceAll(f.head, "%s", name), Content: content, End: f.end}
}

// answer returns the format of an answer with calls of the tools: one call if single is set.
func (f *forcedForm) answer(calls []tag, single bool) *tag {
	one, several := &tag{Type: "or", Elements: calls}, &tag{Type: "tags_with_separator", Tags: calls, Separator: f.separator, AtLeastOne: true}
	shut := f.shut
	switch {
	case single && len(calls) == 1:
		one = &calls[0]
	case !single && f.separator == "":
		// xgrammar has no empty separators: the last character of each call's end is the separator.
		cut := len(f.end) - 1
		for i := range calls {
			calls[i].End = f.end[:cut]
		}
		several.Separator, shut = f.end[cut:], f.end[cut:]+f.shut
	}
	content := several
	if single {
		content = one
	}
	switch {
	case shut != "":
		return &tag{Type: "tag", Begin: f.open, Content: content, End: shut}
	case f.open != "":
		return &tag{Type: "sequence", Elements: []tag{{Type: "const_string", Value: f.open}, *content}}
	}
	return content
}

// ConstrainForced returns a structural tag for answers that are forced calls in the dialect of the
// model: of the tool that the choice names, or of those that it allows. The answer has one call if
// single is set or the choice names a tool. Arguments match the tools' schemas. The result is nil if the
// dialect's calls have a form that xgrammar can't describe, or the choice forces none.
func (Dialects) ConstrainForced(tools string, choice inference.ToolChoice, definitions []json.RawMessage, single bool) (*inference.Structured, error) {
	d, err := toolsNamed(tools)
	if err != nil {
		return nil, err
	}
	forced := choice.Mode == inference.ToolRequired || choice.Mode == inference.ToolNamed && choice.Input == nil
	if d.forced == nil || !forced {
		return nil, nil //nolint:nilnil // no constraint
	}
	form := d.forced()
	named := choice.Mode == inference.ToolNamed
	var calls []tag
	for _, definition := range definitions {
		if t := readTool(definition); t != nil && (named && t.Name == choice.Name || !named && choice.Allows(t.Name)) {
			calls = append(calls, form.call(t))
		}
	}
	if len(calls) == 0 {
		return nil, nil //nolint:nilnil // Constrain returns the error
	}
	value, err := json.Marshal(map[string]any{"type": "structural_tag", "format": form.answer(calls, single || named)})
	return &inference.Structured{Kind: "structural_tag", Value: value, Param: "tool_choice", Native: true}, err
}
