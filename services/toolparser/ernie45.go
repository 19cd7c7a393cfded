package toolparser

// newErnie45 reads the calls of ERNIE 4.5: <tool_call>{"name": …, "arguments":
// {…}}</tool_call>. Its text stands in <response>.
func newErnie45(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<tool_call>"}, end: []string{"</tool_call>"}, array: true, drop: ernieWrappers()})
}

func ernieWrappers() wrappers {
	return around("<response>\n", "<response>", "\n</response>\n", "\n</response>", "</response>")
}

func recognizeErnie45(template string) string { return matchAll(template, "<response>", "<tool_call>") }
