package toolparser

// newLlama3 reads {"name": …, "parameters": {…}}, after <|python_tag|> or not,
// several with semicolons between, as Llama 3.1 to 3.3 write it. Without the tag,
// which backends leave out of the text, a call stands where a line starts.
func newLlama3(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<|python_tag|>"}, bare: bareLines})
}

func teachesLlama3(template string) string {
	return signs(template, `{"name": function name, "parameters": dictionary of argument name and its value}`)
}
