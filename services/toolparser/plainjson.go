package toolparser

import "cmp"

// newJSON reads {"name": …, "arguments": {…}}, or an array of such objects, at the start of
// a line. newJSON is for models that call tools this way by instruction and have no marker.
func newJSON(r *reader) dialect {
	return newJSONCalls(r, &format{bare: bareLines, array: true})
}

// newFunctools reads functools[{"name": …, "arguments": {…}}], the format of Phi-4-mini and
// Firefunction.
func newFunctools(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"functools"}, array: true})
}

func recognizeFunctools(template string) string { return matchAll(template, "functools[") }

// newJamba reads <tool_calls>[{"name": …, "arguments": {…}}]</tool_calls>.
func newJamba(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<tool_calls>"}, end: []string{"</tool_calls>"}, array: true})
}

func recognizeJamba(template string) string {
	return matchAll(template, "<tool_calls>", "</tool_calls>", "arguments")
}

// recognizeNone is for dialects that no chat template shows.
func recognizeNone(string) string { return "" }

// newInternLM reads <|action_start|><|plugin|>{"name": …, "parameters": {…}}<|action_end|>.
func newInternLM(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<|action_start|><|plugin|>", "<|action_start|> <|plugin|>"}, end: []string{"<|action_end|>"}})
}

func recognizeInternLM(template string) string {
	return matchAll(template, "<|action_start|>", "<|plugin|>")
}

// newApertus reads <|tools_prefix|>[{"name": {…}}]<|tools_suffix|>. The key is the
// function's name.
func newApertus(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<|tools_prefix|>"}, end: []string{"<|tools_suffix|>"}, array: true, keyed: true})
}

func recognizeApertus(template string) string { return matchAll(template, "<|tools_prefix|>") }

// newXLAM reads xLAM's calls: an array of objects at the start of the answer, in a fence,
// after [TOOL_CALLS] or in <tool_call>.
func newXLAM(r *reader) dialect {
	return newJSONCalls(r, &format{
		open: []string{"```json", "```", "[TOOL_CALLS]", "<tool_call>"}, end: []string{"```", "</tool_call>"}, bare: bareStart, array: true,
	})
}

func recognizeXLAM(template string) string {
	return cmp.Or(matchAll(template, "xLAM", "JSON array"), matchAll(template, "single JSON array", `"tool_call_name"`))
}
