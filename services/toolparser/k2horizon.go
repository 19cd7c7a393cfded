package toolparser

// Tags of K2 Horizon.
const (
	k2Calls    = "<ifm|tool_calls>"
	k2CallsEnd = "</ifm|tool_calls>"
	k2Call     = "<ifm|tool_call>"
	k2CallEnd  = "</ifm|tool_call>"
	k2Key      = "<ifm|arg_key>"
)

// newK2Horizon reads the calls of K2 Horizon. Each has an element for an argument's key, for its
// type, which may be missing, and for its value:
// <ifm|tool_calls><ifm|tool_call>name<ifm|arg_key>k</ifm|arg_key><ifm|arg_value>v</ifm|arg_value></ifm|tool_call></ifm|tool_calls>.
// Or it is {"name": …, "arguments": {…}}.
func newK2Horizon(r *reader) dialect {
	tags := &xmlFormat{
		call: k2Call, nameEnd: []string{k2Key}, callEnd: k2CallEnd,
		param: k2Key, keyEnd: "</ifm|arg_key>", kind: "<ifm|arg_type>", kindEnd: "</ifm|arg_type>", value: "<ifm|arg_value>", paramEnd: "</ifm|arg_value>", tokens: true,
	}
	return &taggedOrJSON{
		jsonCalls: newJSONCalls(r, &format{open: []string{k2Call}, end: []string{k2CallEnd}, drop: k2Wrappers()}),
		tags:      newXMLCalls(r, tags),
	}
}

func k2Wrappers() wrappers { return around(k2Calls, k2CallsEnd) }

func recognizeK2Horizon(template string) string { return matchAll(template, k2Calls, k2Key) }

func recognizeK2Thoughts(template string) string { return matchAll(template, "<ifm|think") }

// k2HorizonTags returns a pair of tags for each effort.
func k2HorizonTags() *tags {
	t := &tags{}
	for _, name := range []string{"ifm|think", "ifm|think_fast", "ifm|think_faster"} {
		t.open, t.shut = append(t.open, "<"+name+">"), append(t.shut, "</"+name+">")
	}
	return t.ends(k2Calls)
}
