package dialect

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

func teachesFunctools(template string) bool { return containsAll(template, "functools[") }

// newJamba reads <tool_calls>[{"name": …, "arguments": {…}}]</tool_calls>.
func newJamba(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<tool_calls>"}, end: []string{"</tool_calls>"}, array: true})
}

func teachesJamba(template string) bool {
	return containsAll(template, "<tool_calls>", "</tool_calls>", "arguments")
}

// neverTaught is for dialects that no template shows.
func neverTaught(string) bool { return false }

// newLongCat reads <longcat_tool_call>{"name": …, "arguments": {…}}</longcat_tool_call>.
func newLongCat(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<longcat_tool_call>"}, end: []string{"</longcat_tool_call>"}, array: true})
}

func teachesLongCat(template string) bool { return containsAll(template, "longcat_tool_call") }

// newInternLM reads <|action_start|><|plugin|>{"name": …, "parameters": {…}}<|action_end|>.
func newInternLM(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<|action_start|><|plugin|>", "<|action_start|> <|plugin|>"}, end: []string{"<|action_end|>"}})
}

func teachesInternLM(template string) bool {
	return containsAll(template, "<|action_start|>", "<|plugin|>")
}

// newApertus reads <|tools_prefix|>[{"name": {…}}]<|tools_suffix|>: the name is the key.
func newApertus(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<|tools_prefix|>"}, end: []string{"<|tools_suffix|>"}, array: true, keyed: true})
}

func teachesApertus(template string) bool { return containsAll(template, "<|tools_prefix|>") }

// newXLAM reads xLAM's calls: an array of objects where the answer starts, in a fence,
// after [TOOL_CALLS] or in <tool_call>.
func newXLAM(r *reader) dialect {
	return newJSONCalls(r, &format{
		open: []string{"```json", "```", "[TOOL_CALLS]", "<tool_call>"}, end: []string{"```", "</tool_call>"}, bare: bareStart, array: true,
	})
}

func teachesXLAM(template string) bool {
	return containsAll(template, `"tool_calls"`, "xLAM") || containsAll(template, "list of JSON objects", `"name": "func_name1"`)
}
