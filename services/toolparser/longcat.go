package toolparser

const (
	longCatCall    = "<longcat_tool_call>"
	longCatCallEnd = "</longcat_tool_call>"
)

// newLongCat reads LongCat's calls. The first models write <longcat_tool_call>{"name": …, "arguments":
// {…}}</longcat_tool_call>. Later models write
// <longcat_tool_call>name<longcat_arg_key>k</longcat_arg_key><longcat_arg_value>v</longcat_arg_value></longcat_tool_call>.
func newLongCat(r *reader) dialect {
	tags := &xmlFormat{
		call: longCatCall, nameEnd: []string{"<longcat_arg_key>"}, callEnd: longCatCallEnd,
		param: "<longcat_arg_key>", keyEnd: "</longcat_arg_key>", value: "<longcat_arg_value>", paramEnd: "</longcat_arg_value>", tokens: true,
	}
	return &taggedOrJSON{
		jsonCalls: newJSONCalls(r, &format{open: []string{longCatCall}, end: []string{longCatCallEnd}, array: true}),
		tags:      newXMLCalls(r, tags),
	}
}

func recognizeLongCat(template string) string { return matchAll(template, "longcat_tool_call") }

// taggedOrJSON reads calls that begin with one marker and are either JSON or elements for each argument.
type taggedOrJSON struct {
	*jsonCalls
	tags   *xmlCalls // reads the elements
	inTags bool
}

// step reads with one of the two readers. The readers hand the state of the text to each other.
func (l *taggedOrJSON) step() bool {
	if !l.inTags {
		if l.at != atStart {
			return l.jsonCalls.step()
		}
		if !l.spaces() {
			return false
		}
		if l.in[0] == '{' || l.in[0] == '[' {
			return l.jsonCalls.step()
		}
		l.inTags, l.tags.at = true, xmlName
	}
	l.tags.reader = l.reader
	again := l.tags.step()
	l.reader = l.tags.reader
	if l.tags.at == xmlText {
		l.inTags, l.at = false, atText
	}
	return again
}
