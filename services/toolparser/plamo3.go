package toolparser

const plamoThought = "<|plamo:begin_think:plamo|>"

// newPlamo3 reads the calls of PLaMo 3: a name and JSON arguments, each between two markers. The
// markers are ordinary text of several tokens.
func newPlamo3(r *reader) dialect {
	return newHeadedCalls(r, plamo3Format())
}

func plamo3Format() *headedFormat {
	return &headedFormat{
		all: "<|plamo:begin_tool_requests:plamo|>", allEnd: "<|plamo:end_tool_requests:plamo|>",
		call:    "<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>",
		sep:     "<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>",
		callEnd: "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>",
	}
}

func recognizePlamo3(template string) string {
	return matchAll(template, "<|plamo:begin_tool_requests:plamo|>")
}

func plamo3Tags() *tags {
	return (&tags{open: []string{plamoThought}, shut: []string{"<|plamo:end_think:plamo|>"}}).ends("<|plamo:begin_tool_requests:plamo|>")
}
