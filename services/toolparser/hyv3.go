package toolparser

import "strings"

// hyV3 reads the calls of Hunyuan V3, and of V4, which omits <tool_sep>:
// <tool_calls><tool_call>name<tool_sep><arg_key>k</arg_key><arg_value>v</arg_value></tool_call></tool_calls>.
// A checkpoint may have a suffix in all tags, such as <tool_calls:opensource>. The suffix is read
// from the first tag of the answer.
type hyV3 struct {
	*xmlCalls
	opens *markers
	known bool
}

const hyV3Calls = "<tool_calls"

func newHYV3(r *reader) dialect {
	return &hyV3{xmlCalls: newXMLCalls(r, hyV3Format("")), opens: newMarkers(hyV3Calls)}
}

func hyV3Format(suffix string) *xmlFormat {
	tag := func(name string) string { return "<" + name + suffix + ">" }
	return &xmlFormat{
		outer: []string{tag("tool_calls")}, outerEnd: []string{tag("/tool_calls")},
		call: tag("tool_call"), nameEnd: []string{tag("tool_sep"), tag("arg_key")}, callEnd: tag("/tool_call"),
		param: tag("arg_key"), keyEnd: tag("/arg_key"), value: tag("arg_value"), paramEnd: tag("/arg_value"), tokens: true,
	}
}

func recognizeHYV3(template string) string {
	return matchAll(template, hyV3Calls, "<tool_sep", "<arg_key")
}

func recognizeHYV4(template string) string { return matchAll(template, hyV3Calls, "<arg_key") }

func (h *hyV3) step() bool {
	if h.known {
		return h.xmlCalls.step()
	}
	at, which := h.opens.find(h.in, h.final, nil)
	h.reader.text(at)
	if which < 0 {
		return false
	}
	window := string(h.in[:min(len(h.in), maxHeader)])
	suffix, _, found := strings.Cut(window[len(hyV3Calls):], ">")
	switch {
	case !found && len(window) < maxHeader && !h.final:
		return false
	case !found || suffix != "" && (suffix[0] != ':' || !isName(suffix)):
		h.reader.text(len(hyV3Calls))
		return true
	}
	h.known = true
	base := h.reader
	*h.xmlCalls = *newXMLCalls(&base, hyV3Format(suffix))
	return true
}
