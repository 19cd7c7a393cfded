package toolparser

// Tags of GLM's calls.
const (
	argKey      = "<arg_key>"
	argKeyEnd   = "</arg_key>"
	argValue    = "<arg_value>"
	argValueEnd = "</arg_value>"
)

// newGLM45 reads the calls of GLM 4.5 to 5 and of Ling 3:
// <tool_call>name<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>.
func newGLM45(r *reader) dialect {
	return newXMLCalls(r, &xmlFormat{
		call: qwenCall, nameEnd: []string{argKey}, callEnd: qwenCallEnd,
		param: argKey, keyEnd: argKeyEnd, value: argValue, paramEnd: argValueEnd, tokens: true,
	})
}

func recognizeGLM45(template string) string {
	return matchAll(template, qwenCall, argKey, argValue)
}
