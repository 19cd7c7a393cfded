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
	return newJSONCalls(r, &format{open: []string{"<tool_calls>"}, end: "</tool_calls>", array: true})
}

func teachesJamba(template string) bool {
	return containsAll(template, "<tool_calls>", "</tool_calls>", "arguments")
}

// neverTaught is for dialects that no template shows.
func neverTaught(string) bool { return false }
