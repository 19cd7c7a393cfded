package main

import (
	"fmt"
	"strings"
)

// escape escapes characters of Markdown in a text of a schema. Code between backticks stays as it
// is, except for pipes, which end the cell of a table there too.
func escape(text string) string {
	parts := strings.Split(text, "`")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], "|", `\|`)
		if code := i%2 == 1; !code {
			parts[i] = strings.NewReplacer("<", "&lt;", "*", `\*`, "[", `\[`, "]", `\]`).Replace(parts[i])
		}
	}
	return strings.Join(parts, "`")
}

// cell returns a text as one line of a table.
func cell(text string) string { return escape(strings.Join(strings.Fields(text), " ")) }

// paragraphs returns a text with its paragraphs, which blank lines separate.
func paragraphs(text string) string {
	var all []string
	for _, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		all = append(all, escape(strings.Join(strings.Fields(p), " ")))
	}
	return strings.Join(all, "\n\n")
}

// anchor returns the anchor of a heading, as GitHub makes it.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		}
		return -1
	}, strings.ToLower(heading))
}

// table returns a table. It is empty if it has no rows.
func table(head []string, rows [][]string) string {
	if len(rows) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String() + "\n"
}
