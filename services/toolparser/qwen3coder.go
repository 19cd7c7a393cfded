package toolparser

// Tags of Qwen3-Coder's calls.
const (
	qwenCall         = "<tool_call>"
	qwenCallEnd      = "</tool_call>"
	qwenFunction     = "<function="
	qwenFunctionEnd  = "</function>"
	qwenParameter    = "<parameter="
	qwenParameterEnd = "</parameter>"
)

// qwenFormat returns the format of Qwen3-Coder's tags between outer tags:
// <tool_call><function=name><parameter=key>value</parameter></function></tool_call>.
func qwenFormat(outer, outerEnd string) *xmlFormat {
	return &xmlFormat{
		outer: []string{outer}, outerEnd: []string{outerEnd},
		call: qwenFunction, nameEnd: []string{">"}, callEnd: qwenFunctionEnd,
		param: qwenParameter, keyEnd: ">", paramEnd: qwenParameterEnd, lines: true,
	}
}

// newQwen3Coder reads the tags of Qwen3-Coder, Qwen 3.5, Nemotron 3 and Step 3.5. Each
// tag is on a separate line.
func newQwen3Coder(r *reader) dialect { return newXMLCalls(r, qwenFormat(qwenCall, qwenCallEnd)) }

func recognizeQwen3Coder(template string) string {
	return matchAll(template, qwenCall, qwenFunction, qwenParameter)
}

// newMiMo reads MiMo's calls: Qwen3-Coder's tags, without line breaks between tags and
// values.
func newMiMo(r *reader) dialect {
	f := qwenFormat(qwenCall, qwenCallEnd)
	f.lines = false
	return newXMLCalls(r, f)
}

func recognizeMiMo(template string) string {
	return matchAll(template, qwenFunction, qwenParameter, "MiMo")
}

// newSeedOSS reads Seed-OSS' calls: Qwen3-Coder's tags between <seed:tool_call> tags.
func newSeedOSS(r *reader) dialect {
	return newXMLCalls(r, qwenFormat("<seed:tool_call>", "</seed:tool_call>"))
}

func recognizeSeedOSS(template string) string {
	return matchAll(template, "seed:tool_call", qwenFunction)
}
