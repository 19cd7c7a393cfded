package toolparser

// Markers of DeepSeek's calls.
const (
	deepseekCalls    = "<｜tool▁calls▁begin｜>"
	deepseekCallsEnd = "<｜tool▁calls▁end｜>"
	deepseekCall     = "<｜tool▁call▁begin｜>"
	deepseekCallEnd  = "<｜tool▁call▁end｜>"
	deepseekSep      = "<｜tool▁sep｜>"
)

// newDeepseekV3 reads the calls of DeepSeek V3 and R1. A call is its type, a separator, its
// name, and the arguments in a fence. Markers enclose each call, and two more enclose all
// calls.
func newDeepseekV3(r *reader) dialect {
	return newHeadedCalls(r, &headedFormat{all: deepseekCalls, allEnd: deepseekCallsEnd, call: deepseekCall, callEnd: deepseekCallEnd, sep: deepseekSep, fenced: true})
}

// newDeepseekV31 reads the calls of DeepSeek V3.1: name, separator and the arguments without
// a fence.
func newDeepseekV31(r *reader) dialect {
	return newHeadedCalls(r, &headedFormat{all: deepseekCalls, allEnd: deepseekCallsEnd, call: deepseekCall, callEnd: deepseekCallEnd, sep: deepseekSep})
}

func recognizeDeepseekV3(template string) string {
	return matchAll(template, deepseekCall, jsonFence)
}

func recognizeDeepseekV31(template string) string {
	return matchAll(template, deepseekCall, deepseekSep)
}

// dsml returns the format of DeepSeek V3.2 and later: <｜DSML｜invoke name="f"> with
// <｜DSML｜parameter name="k" string="true">v</｜DSML｜parameter>. A value is JSON unless the
// element has string="true".
func dsml(space string, outer ...string) *xmlFormat {
	f := &xmlFormat{
		call: "<｜DSML｜" + space + "invoke name=", nameEnd: []string{">"}, callEnd: "</｜DSML｜" + space + "invoke>",
		param: "<｜DSML｜" + space + "parameter name=", keyEnd: ">", paramEnd: "</｜DSML｜" + space + "parameter>", key: dsmlKey, tokens: true,
	}
	for _, o := range outer {
		f.outer = append(f.outer, "<｜DSML｜"+space+o+">")
		f.outerEnd = append(f.outerEnd, "</｜DSML｜"+space+o+">")
	}
	return f
}

func newDeepseekV32(r *reader) dialect { return newXMLCalls(r, dsml("", "function_calls")) }

// newDeepseekV4 reads the calls of DeepSeek V4. It accepts spellings of the outer tag that
// V4 writes by mistake.
func newDeepseekV4(r *reader) dialect {
	return newXMLCalls(r, dsml("", "tool_calls", "toolcalls", "tool"))
}

// newDeepseekV41 reads the calls of DeepSeek V4.1, whose tags have a space.
func newDeepseekV41(r *reader) dialect { return newXMLCalls(r, dsml(" ", "calls")) }

// dsmlKey reads "k" string="true". Without the attribute the value is JSON, or a string if
// it isn't valid JSON.
func dsmlKey(head string) (key string, as valueType) {
	key, rest := quotedName(head)
	if attribute(rest, "string") == "true" {
		return key, typeString
	}
	return key, typeJSON
}

func recognizeDeepseekV32(template string) string {
	return matchAll(template, "｜DSML｜", "function_calls")
}

func recognizeDeepseekV4(template string) string {
	return matchAll(template, "｜DSML｜", "tool_calls>")
}

func recognizeDeepseekV41(template string) string { return matchAll(template, "｜DSML｜", " calls>") }
