package toolparser

import "bytes"

// newStep3 reads Step 3's calls:
// <｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="f">
// <steptml:parameter name="k">v</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>.
// White space around a value belongs to the tags.
func newStep3(r *reader) dialect {
	return newXMLCalls(r, &xmlFormat{
		outer:    []string{"<｜tool_calls_begin｜>", "<｜tool_call_begin｜>function<｜tool_sep｜>"},
		outerEnd: []string{"<｜tool_call_end｜>", "<｜tool_calls_end｜>"},
		call:     "<steptml:invoke name=", nameEnd: []string{">"}, callEnd: "</steptml:invoke>",
		param: "<steptml:parameter name=", keyEnd: ">", paramEnd: "</steptml:parameter>", decode: bytes.TrimSpace,
	})
}

func recognizeStep3(template string) string { return matchAll(template, "<steptml:invoke") }
