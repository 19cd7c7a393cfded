package toolparser

import "cmp"

// newJSON reads {"name": …, "arguments": {…}}, or an array of such objects, where
// a line starts: for models that are told to call tools so and know no marker.
func newJSON(r *reader) dialect {
	return newJSONCalls(r, &format{bare: bareLines, array: true})
}

// newFunctools reads functools[{"name": …, "arguments": {…}}], as Phi-4-mini and
// Firefunction write it.
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

// neverTaught is for dialects that no template shows.
func neverTaught(string) string { return "" }

// newInternLM reads <|action_start|><|plugin|>{"name": …, "parameters": {…}}<|action_end|>.
func newInternLM(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<|action_start|><|plugin|>", "<|action_start|> <|plugin|>"}, end: []string{"<|action_end|>"}})
}

func teachesInternLM(template string) string {
	return signs(template, "<|action_start|>", "<|plugin|>")
}

// newApertus reads <|tools_prefix|>[{"name": {…}}]<|tools_suffix|>: the name is the key.
func newApertus(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<|tools_prefix|>"}, end: []string{"<|tools_suffix|>"}, array: true, keyed: true})
}

func teachesApertus(template string) string { return signs(template, "<|tools_prefix|>") }

// newXLAM reads xLAM's calls: an array of objects where the answer starts, in a fence,
// after [TOOL_CALLS] or in <tool_call>.
func newXLAM(r *reader) dialect {
	return newJSONCalls(r, &format{
		open: []string{"```json", "```", "[TOOL_CALLS]", "<tool_call>"}, end: []string{"```", "</tool_call>"}, bare: bareStart, array: true,
	})
}

func teachesXLAM(template string) string {
	return cmp.Or(signs(template, "xLAM", "JSON array"), signs(template, "single JSON array", `"tool_call_name"`))
}
