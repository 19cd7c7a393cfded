package toolparser

import "strings"

// newKimiK2 reads Kimi K2's calls. The model writes an id for each call, functions.NAME:INDEX,
// before the arguments.
func newKimiK2(r *reader) dialect {
	return newHeadedCalls(r, &headedFormat{
		all: "<|tool_calls_section_begin|>", allEnd: "<|tool_calls_section_end|>", call: "<|tool_call_begin|>", callEnd: "<|tool_call_end|>",
		sep: "<|tool_call_argument_begin|>", head: kimiHead,
	})
}

// kimiHead extracts the name from an id. A head without an index is a name alone.
func kimiHead(head string) (name, id string) {
	name, index, found := strings.Cut(head, ":")
	name = strings.TrimPrefix(name, "functions.")
	if !found || index == "" {
		return name, ""
	}
	return name, head
}

func recognizeKimiK2(template string) string {
	return matchAll(template, "<|tool_calls_section_begin|>", "<|tool_call_argument_begin|>")
}

// newKimiK3 reads Kimi K3's calls: elements of <|open|>tag attributes<|sep|> and
// <|close|>tag<|sep|>. Each argument is an element that names its type, or one element has the
// JSON of all arguments.
func newKimiK3(r *reader) dialect {
	return newXMLCalls(r, &xmlFormat{
		outer: []string{"<|open|>tools<|sep|>"}, outerEnd: []string{"<|close|>tools<|sep|>", "<|close|>message<|sep|>"},
		call: "<|open|>call ", nameEnd: []string{"<|sep|>"}, callEnd: "<|close|>call<|sep|>", name: kimiK3Name,
		param: "<|open|>argument ", keyEnd: "<|sep|>", paramEnd: "<|close|>argument<|sep|>", key: kimiK3Key, tokens: true, drop: kimiK3Wrappers(),
		whole: "<|open|>json ", wholeEnd: "<|close|>json<|sep|>",
	})
}

// kimiK3Text is the marker before the text of an answer.
const kimiK3Text = "<|open|>response<|sep|>"

// kimiK3Wrappers returns the wrappers around K3's text.
func kimiK3Wrappers() wrappers {
	return around(kimiK3Text, "<|close|>response<|sep|>", "<|close|>message<|sep|>")
}

// kimiK3Escapes decodes the escapes of attributes. Values have no escapes.
var kimiK3Escapes = strings.NewReplacer("&quot;", `"`, "&amp;", "&") //nolint:gochecknoglobals // never changed

func kimiK3Name(head string) string { return kimiK3Escapes.Replace(attribute(head, "tool")) }

func kimiK3Key(head string) (key string, as valueType) {
	as = typeJSON
	if kind := attribute(head, "type"); kind == "string" || kind == "" {
		as = typeString
	}
	return kimiK3Escapes.Replace(attribute(head, "key")), as
}

func recognizeKimiK3(template string) string {
	return matchAll(template, "<|open|>", "<|close|>", "<|sep|>")
}
