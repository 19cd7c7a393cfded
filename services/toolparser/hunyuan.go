package toolparser

import "cmp"

// newHunyuanA13B reads the calls of Hunyuan-A13B: <tool_calls>[{"name": …,
// "arguments": {…}}]</tool_calls>. Its text stands in <answer>.
func newHunyuanA13B(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"<tool_calls>"}, end: []string{"</tool_calls>"}, array: true, drop: hunyuanWrappers()})
}

func hunyuanWrappers() wrappers {
	return around("<answer>\n", "<answer>", "\n</answer>", "</answer>", "助手：")
}

func recognizeHunyuanA13B(template string) string {
	return cmp.Or(matchAll(template, "<tool_calls>", "<answer>"), matchAll(template, "<tool_calls>", "助手："))
}

func recognizeHunyuanThoughts(template string) string {
	if recognizeHunyuanA13B(template) == "" {
		return ""
	}
	return matchAll(template, "</think>")
}
