package toolparser

// newGranite reads <|tool_call|>[{"name": …, "arguments": {…}}], as Granite 3
// writes it. The tag is missing where the backend leaves special tokens out, and
// is <tool_call> in Granite 3.1.
func newGranite(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<|tool_call|>", "<tool_call>"}, bare: bareStart, array: true})
}

func teachesGranite(template string) string {
	return signs(template, "<|tool_call|>", "JSON list")
}

// newGranite20bFC reads <function_call> {"name": …, "arguments": {…}}, as
// granite-20b-functioncalling writes it.
func newGranite20bFC(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<function_call>"}})
}

func teachesGranite20bFC(template string) string {
	return signs(template, "<function_call>", "granite")
}
