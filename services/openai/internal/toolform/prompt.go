package toolform

import "strings"

// The texts that models read about tools. They are in one place because they are written for
// models, not for people: each was chosen for what models do without it.

// argumentDescription describes the argument input. Without it models put JSON into the text.
const argumentDescription = "The whole input of the tool, as plain text."

// callRule is appended to every description. Descriptions of clients say that the input must not be
// JSON, because OpenAI's models call custom tools without JSON. Other models then write no function
// call at all.
const callRule = "Call this tool as a function with one string argument, " + Argument + ", which has the whole text. The text itself is not wrapped in anything."

// The introductions of the format. A model can follow a grammar only if the prompt has it: engines
// enforce it only where a call of the tool is forced.
const (
	larkRule  = "The text must match this grammar, which is written in the syntax of Lark:"
	regexRule = "The text must match this regular expression as a whole:"
)

// description returns the description of a tool's function: that of the client, how to call the
// function, and the format.
func description(t *Tool) string {
	parts := []string{callRule}
	if t.Description != "" {
		parts = []string{t.Description, callRule}
	}
	switch t.Format.Syntax {
	case Lark:
		parts = append(parts, larkRule+"\n"+t.Format.Definition)
	case Regex:
		parts = append(parts, regexRule+"\n"+t.Format.Definition)
	}
	return strings.Join(parts, "\n\n")
}

// NamespaceDescription returns what the description of the first tool of a namespace ends with: the
// description of the namespace. Chat templates have no other place for it. It isn't repeated for each
// tool, because some clients put pages of instructions there. It returns "" for an empty description.
func NamespaceDescription(namespace, description string) string {
	if strings.TrimSpace(description) == "" {
		return ""
	}
	prefix := Flatten(namespace, "")
	if prefix == "" {
		return description
	}
	return "About all tools whose names start with " + prefix + ": " + description
}
