package toolparser

import "cmp"

// newGigaChat3 reads the calls of GigaChat 3: an object after "function
// call<|role_sep|>" or <|function_call|>.
func newGigaChat3(r *reader) dialect {
	return newJSONCalls(r, &format{open: []string{"function call<|role_sep|>", "<|function_call|>"}, drop: gigaChatWrappers()})
}

func gigaChatWrappers() wrappers { return around("<|message_sep|>", "</s>") }

func recognizeGigaChat3(template string) string {
	return cmp.Or(matchAll(template, "<|role_sep|>", "function call"), matchAll(template, "<|function_call|>", "<|message_sep|>"))
}
