package toolparser

// newLlama3 reads {"name": …, "parameters": {…}}, the format of Llama 3.1 to 3.3.
// <|python_tag|> before it is optional, and semicolons separate several calls.
// Backends may remove the tag, so a call may also stand at the start of a line.
func newLlama3(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<|python_tag|>"}, bare: bareLines})
}

func recognizeLlama3(template string) string {
	return matchAll(template, `{"name": function name, "parameters": dictionary of argument name and its value}`)
}
