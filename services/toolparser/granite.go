package toolparser

import "cmp"

// newGranite reads <|tool_call|>[{"name": …, "arguments": {…}}], the format of
// Granite 3. The tag is missing if the backend removes special tokens. In
// Granite 3.1 the tag is <tool_call>.
func newGranite(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<|tool_call|>", "<tool_call>"}, bare: bareStart, array: true})
}

func recognizeGranite(template string) string {
	return cmp.Or(matchAll(template, "<|tool_call|>", "JSON list"), matchAll(template, "<|tool_call|>", "assistant_tool_call"))
}

// newGranite20bFC reads <function_call> {"name": …, "arguments": {…}}, the
// format of granite-20b-functioncalling.
func newGranite20bFC(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<function_call>"}})
}

func recognizeGranite20bFC(template string) string {
	return matchAll(template, "<function_call>", "granite")
}
