package toolparser

import "cmp"

// newJSON reads {"name": …, "arguments": {…}}, or an array of such objects, at the start of
// a line. It is for models that call tools this way by instruction and have no marker.
func newJSON(r *reader) dialect {
	return newJSONCalls(r, &format{bare: bareLines, array: true})
}

// newFunctools reads functools[{"name": …, "arguments": {…}}], the format of Phi-4-mini and
// Firefunction.
func newFunctools(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"functools"}, array: true})
}

func teachesFunctools(template string) string { return signs(template, "functools[") }

// newJamba reads <tool_calls>[{"name": …, "arguments": {…}}]</tool_calls>.
func newJamba(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<tool_calls>"}, end: []string{"</tool_calls>"}, array: true})
}

func teachesJamba(template string) string {
	return signs(template, "<tool_calls>", "</tool_calls>", "arguments")
}

// neverTaught is for dialects that no chat template shows.
func neverTaught(string) string { return "" }

// newInternLM reads <|action_start|><|plugin|>{"name": …, "parameters": {…}}<|action_end|>.
func newInternLM(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<|action_start|><|plugin|>", "<|action_start|> <|plugin|>"}, end: []string{"<|action_end|>"}})
}

func teachesInternLM(template string) string {
	return signs(template, "<|action_start|>", "<|plugin|>")
}

// newApertus reads <|tools_prefix|>[{"name": {…}}]<|tools_suffix|>. The key is the
// function's name.
func newApertus(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<|tools_prefix|>"}, end: []string{"<|tools_suffix|>"}, array: true, keyed: true})
}

func teachesApertus(template string) string { return signs(template, "<|tools_prefix|>") }

// newXLAM reads xLAM's calls: an array of objects at the start of the answer, in a fence,
// after [TOOL_CALLS] or in <tool_call>.
func newXLAM(r *reader) dialect {
	return newJSONCalls(r, &format{
		open: []string{"```json", "```", "[TOOL_CALLS]", "<tool_call>"}, end: []string{"```", "</tool_call>"}, bare: bareStart, array: true,
	})
}

func teachesXLAM(template string) string {
	return cmp.Or(signs(template, "xLAM", "JSON array"), signs(template, "single JSON array", `"tool_call_name"`))
}
