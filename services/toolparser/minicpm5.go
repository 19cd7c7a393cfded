package toolparser

import (
	"bytes"
	"html"
)

// newMiniCPM5 reads MiniCPM5's calls: <function name="f"><param name="k">v</param></function>.
// The format is XML: a value may be a CDATA section or contain entities.
func newMiniCPM5(r *reader) dialect {
	return newXMLCalls(r, &xmlFormat{
		call: "<function name=", nameEnd: []string{">"}, callEnd: "</function>",
		param: "<param name=", keyEnd: ">", paramEnd: "</param>", decode: xmlValueText,
	})
}

func recognizeMiniCPM5(template string) string {
	return matchAll(template, "<function name=", "<param name=")
}

// xmlValueText decodes the text of an XML element.
func xmlValueText(value []byte) []byte {
	if rest, found := bytes.CutPrefix(bytes.TrimSpace(value), []byte("<![CDATA[")); found {
		return bytes.TrimSuffix(rest, []byte("]]>"))
	}
	if bytes.IndexByte(value, '&') < 0 {
		return value
	}
	return []byte(html.UnescapeString(string(value)))
}
