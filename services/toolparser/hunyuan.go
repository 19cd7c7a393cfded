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

func teachesHunyuanA13B(template string) string {
	return cmp.Or(signs(template, "<tool_calls>", "<answer>"), signs(template, "<tool_calls>", "助手："))
}

func teachesHunyuanThoughts(template string) string {
	if teachesHunyuanA13B(template) == "" {
		return ""
	}
	return signs(template, "</think>")
}
