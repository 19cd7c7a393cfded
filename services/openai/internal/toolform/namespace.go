package toolform

import "strings"

// plainNamespace is the namespace whose tools have plain names. It is OpenAI's name for the functions
// that are in no namespace.
const plainNamespace = "functions"

// Flatten returns the name by which a model calls a tool of a namespace. Both parts are joined as MCP
// clients name the tools of their servers, which models know from their training. The namespace may be
// empty.
func Flatten(namespace, name string) string {
	if namespace == "" || namespace == plainNamespace {
		return name
	}
	return strings.TrimRight(namespace, "_") + "__" + strings.TrimLeft(name, "_")
}
