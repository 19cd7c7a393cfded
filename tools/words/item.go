package main

import (
	"regexp"
	"strings"
)

// kind is the kind of an item: where in a file its text stands.
type kind string

const (
	// comment is a comment of any language, or a docstring.
	comment kind = "comment"
	// doc is the comment of an exported Go declaration.
	doc kind = "doc"
	// help is the help of a flag or command, in a struct tag.
	help kind = "help"
	// failure is the text of an error in Go code.
	failure kind = "error"
	// logged is the message of a log line.
	logged kind = "log"
	// metric is the help text of a Prometheus metric.
	metric kind = "metric"
	// description is a description, a summary or a title of an OpenAPI document.
	description kind = "description"
	// message is any other string of three words or more: output, a test's failure, a label.
	message kind = "message"
	// prose is a paragraph of a Markdown document.
	prose kind = "prose"
)

// item is one piece of English in a file: a whole group of comments, a string, or a paragraph.
type item struct {
	file string
	line int // number of the item's first line
	last int // number of the item's last line, where a suppression may also stand
	kind kind
	text string
	// flat reports whether the whole text stands on its first line, as the string "a\nb" does.
	flat bool
	// name is the declared name, for a doc.
	name string
	// next is the first line of code behind a comment.
	next string
}

// at returns the line of an offset into the text.
func (i *item) at(offset int) int {
	if i.flat {
		return i.line
	}
	return i.line + strings.Count(i.text[:offset], "\n")
}

// joined returns the text on one line. Offsets into it are offsets into the text.
func (i *item) joined() string {
	return strings.ReplaceAll(i.text, "\n", " ")
}

// folder returns the folder of a file, "." for the top of the tree.
func folder(file string) string {
	if i := strings.LastIndexByte(file, '/'); i >= 0 {
		return file[:i]
	}
	return "."
}

// word matches a word, numbers aside.
var word = regexp.MustCompile(`[\pL][\pL\pN'’_.-]*`)

// words counts the words of a text.
func words(text string) int { return len(word.FindAllStringIndex(text, -1)) }

// proseLike reports whether a string looks like English: three words or more, with spaces
// between them, and no syntax of code.
func proseLike(text string) bool {
	return threeWords.MatchString(text)
}

var threeWords = regexp.MustCompile(`[\pL%'"]+,? [\pL%'"]+,? [\pL%'"]+`)
