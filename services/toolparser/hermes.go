package toolparser

import "strings"

// newHermes reads <tool_call>{"name": …, "arguments": {…}}</tool_call>, the
// format of Hermes, Qwen 2.5 and 3, Granite 4 and many other models.
func newHermes(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<tool_call>"}, end: []string{"</tool_call>"}, array: true})
}

// recognizeHermes distinguishes JSON calls from other calls with the same tag. The
// JSON may stand in a string of the template.
func recognizeHermes(template string) string {
	_, after, found := strings.Cut(template, "<tool_call>")
	if !found || strings.Contains(template, "<function=") || strings.Contains(template, "<function name=") {
		return ""
	}
	for _, name := range []string{`{"name"`, `{\"name\"`, `{'name'`} {
		if matchAll(after, name, "arguments") != "" {
			return "<tool_call> " + name
		}
	}
	return ""
}
