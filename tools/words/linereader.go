package main

import (
	"regexp"
	"strings"
)

// syntax describes the comments and strings of a language.
type syntax struct {
	line    string // string that starts a comment, which extends to the end of its line
	block   bool   // reports whether there are comments of the form /* */
	quotes  string // the characters that start and end a string
	strings bool   // reports whether strings are read too
}

// hashes returns the syntax of shells, Python and YAML.
func hashes() syntax { return syntax{line: "#", quotes: `"'`} }

// slashes returns the syntax of C and protocol buffers.
func slashes() syntax { return syntax{line: "//", block: true, quotes: `"'`} }

// scripts returns the syntax of TypeScript and JavaScript.
func scripts() syntax { return syntax{line: "//", block: true, quotes: "\"'`", strings: true} }

// piece is a comment as it stands in a file.
type piece struct {
	line, last, column int
	whole              bool // the comment's lines contain nothing else
	block              bool
}

// readLines returns the comments of a file, and its strings for a syntax with strings.
func readLines(file string, source []byte, s syntax) []item {
	r := lineReader{file: file, lines: strings.Split(string(source), "\n"), syntax: s}
	r.scan()
	r.group()
	return r.items
}

type lineReader struct {
	syntax

	file   string
	lines  []string
	items  []item
	pieces []piece
}

// scan finds comments and strings. A string in ' or " ends with its line: an apostrophe in the
// text of an element must not hide the rest of the file.
func (r *lineReader) scan() {
	open := -1 // index of the unclosed block comment or string in backticks
	inTemplate := false
	for n, text := range r.lines {
		if strings.HasSuffix(r.file, ".tsx") {
			r.elements(n, text)
		}
		i := 0
		for i < len(text) {
			switch {
			case open >= 0:
				end := strings.Index(text[i:], "*/")
				if end < 0 {
					i = len(text)
					continue
				}
				i += end + 2
				r.pieces[open].last = n + 1
				open = -1
			case inTemplate:
				end := strings.IndexByte(text[i:], '`')
				if end < 0 {
					i = len(text)
					continue
				}
				i += end + 1
				inTemplate = false
			case strings.HasPrefix(text[i:], r.line) && r.starts(text, i):
				r.pieces = append(r.pieces, piece{line: n + 1, last: n + 1, column: i, whole: strings.TrimSpace(text[:i]) == ""})
				i = len(text)
			case r.block && strings.HasPrefix(text[i:], "/*"):
				r.pieces = append(r.pieces, piece{line: n + 1, last: n + 1, column: i, whole: strings.TrimSpace(text[:i]) == "", block: true})
				open = len(r.pieces) - 1
				i += 2
			case text[i] == '`' && strings.IndexByte(r.quotes, '`') >= 0:
				if length := r.quoted(n, text[i:]); length > 1 {
					i += length
					continue
				}
				inTemplate = true
				i++
			case strings.IndexByte(r.quotes, text[i]) >= 0:
				i += r.quoted(n, text[i:])
			default:
				i++
			}
		}
	}
}

// elements adds the strings between the tags of a line.
func (r *lineReader) elements(n int, text string) {
	for _, m := range elementText.FindAllStringSubmatch(text, -1) {
		if proseLike(m[1]) {
			r.items = append(r.items, item{file: r.file, line: n + 1, last: n + 1, kind: message, text: m[1], flat: true})
		}
	}
}

var elementText = regexp.MustCompile(`>([^<>{}=;()]+)<`)

// starts reports whether a comment may start at an offset: # starts one only at the beginning of a
// word.
func (r *lineReader) starts(text string, i int) bool {
	if r.line != "#" {
		return i == 0 || text[i-1] != ':' // the // of a URL starts no comment
	}
	return i == 0 || text[i-1] == ' ' || text[i-1] == '\t'
}

// quoted returns the length of a string, or 1 if the string doesn't end on its line.
func (r *lineReader) quoted(n int, text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			if inner := text[1:i]; r.strings && proseLike(inner) {
				r.items = append(r.items, item{file: r.file, line: n + 1, last: n + 1, kind: message, text: inner, flat: true})
			}
			return i + 1
		}
	}
	return 1
}

// group joins the comments of subsequent lines.
func (r *lineReader) group() {
	for i := 0; i < len(r.pieces); {
		j := i + 1
		for r.pieces[i].whole && !r.pieces[i].block && j < len(r.pieces) && r.pieces[j].whole && !r.pieces[j].block &&
			r.pieces[j].line == r.pieces[j-1].line+1 && r.pieces[j].column == r.pieces[i].column {
			j++
		}
		first, last := r.pieces[i].line, r.pieces[j-1].last
		r.items = append(r.items, item{
			file: r.file, line: first, last: last, kind: comment, next: following(r.lines, first, last),
			text: commentText(r.lines[first-1:last], r.pieces[i].column),
		})
		i = j
	}
}

// marker matches the characters before the text on a line of a comment.
var marker = regexp.MustCompile(`^\s*(?:///?|#+!?|/\*\*?|\*/?)? ?`)

// commentText returns the lines of a comment without its markers. On the first line the comment
// starts at the column; the characters before it are code.
func commentText(lines []string, column int) string {
	stripped := make([]string, len(lines))
	for i, line := range lines {
		if i == 0 {
			line = line[column:]
		}
		line = line[len(marker.FindString(line)):]
		line = line[len(lintMarker.FindString(line)):]
		stripped[i] = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(line, " \t"), "*/"), " \t")
		if directive.MatchString(lines[i]) {
			stripped[i] = ""
		}
	}
	return strings.Join(stripped, "\n")
}

// lintMarker matches the part of a suppressed lint before its reason.
var lintMarker = regexp.MustCompile(`^nolint:[\w,]+(?: // )?`)

// directive matches a comment that a program reads.
var directive = regexp.MustCompile(`^\s*(//go:|//export |// ?\+build|#!|# ?shellcheck |# ?type:|# ?noqa|// eslint|# syntax=)|(?://|#|/\*|<!--) ?words:allow\b`)

// following returns the first line of code behind a comment, or its own line's code.
func following(lines []string, first, last int) string {
	if before := strings.TrimSpace(cutComment(lines[first-1])); before != "" {
		return before
	}
	for _, line := range lines[min(last, len(lines)):] {
		if text := strings.TrimSpace(line); text != "" {
			return text
		}
	}
	return ""
}

var commentStart = regexp.MustCompile(`(^|\s)(//|#|/\*).*|^\s*\*.*`)

func cutComment(line string) string { return commentStart.ReplaceAllString(line, "") }

// readPython returns the comments and docstrings of a Python file.
func readPython(file string, source []byte) []item {
	lines := strings.Split(string(source), "\n")
	var items []item
	blank := make([]string, len(lines)) // the file without docstrings and other strings of many lines
	copy(blank, lines)
	for n := 0; n < len(lines); n++ {
		at := tripleQuote.FindStringSubmatchIndex(lines[n])
		if len(at) == 0 || strings.Contains(lines[n][:at[2]], "#") {
			continue
		}
		quote := lines[n][at[2]:at[3]]
		first, rest := n, lines[n][at[3]:]
		text := []string{}
		for {
			inner, _, ends := strings.Cut(rest, quote)
			text = append(text, inner)
			blank[n] = ""
			if ends || n+1 >= len(lines) {
				break
			}
			n++
			rest = strings.TrimSpace(lines[n])
		}
		if strings.TrimSpace(lines[first][:at[0]]) == "" && docstring.MatchString(lines[first]) {
			items = append(items, item{
				file: file, line: first + 1, last: n + 1, kind: comment, text: strings.Join(text, "\n"),
				next: following(lines, n+1, n+1),
			})
		}
	}
	return append(items, readLines(file, []byte(strings.Join(blank, "\n")), hashes())...)
}

var (
	tripleQuote = regexp.MustCompile(`("""|''')`)
	docstring   = regexp.MustCompile(`^\s*[rR]?("""|''')`)
)

// readYAML returns the comments of a YAML file, and the descriptions of an OpenAPI document.
func readYAML(file string, source []byte) []item {
	lines := strings.Split(string(source), "\n")
	blank := make([]string, len(lines))
	copy(blank, lines)
	var items []item
	for n := 0; n < len(lines); n++ {
		m := describing.FindStringSubmatch(lines[n])
		if m == nil || !strings.HasPrefix(file, "openapi/") {
			continue
		}
		indent, first := len(m[1]), n
		text := []string{strings.Trim(m[2], `"'`)}
		if m[2] == "" || m[2][0] == '|' || m[2][0] == '>' {
			text[0] = ""
		}
		blank[n] = ""
		for n+1 < len(lines) && (strings.TrimSpace(lines[n+1]) == "" || len(lines[n+1])-len(strings.TrimLeft(lines[n+1], " ")) > indent) {
			n++
			text = append(text, strings.TrimSpace(lines[n]))
			blank[n] = ""
		}
		items = append(items, item{file: file, line: first + 1, last: n + 1, kind: description, text: strings.TrimRight(strings.Join(text, "\n"), "\n")})
	}
	return append(items, readLines(file, []byte(strings.Join(blank, "\n")), hashes())...)
}

var describing = regexp.MustCompile(`^(\s*)(?:description|summary|title): ?(.*)$`)

// readMarkdown returns the paragraphs of a document, without code.
func readMarkdown(file string, source []byte) []item {
	var items []item
	var text []string
	fenced, first := false, 0
	flush := func(last int) {
		if len(text) > 0 {
			items = append(items, item{file: file, line: first, last: last, kind: prose, text: strings.Join(text, "\n")})
			text = nil
		}
	}
	for n, line := range strings.Split(string(source), "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		alone := strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#") // a row of a table and a heading stand alone
		if fence || fenced || strings.TrimSpace(line) == "" || alone || listEntry.MatchString(line) {
			flush(n)
		}
		fenced = fenced != fence
		if fence || fenced || strings.TrimSpace(line) == "" {
			continue
		}
		if len(text) == 0 {
			first = n + 1
		}
		text = append(text, codeSpan.ReplaceAllStringFunc(line, func(code string) string { return strings.Repeat("_", len(code)) }))
		if alone {
			flush(n + 1)
		}
	}
	flush(first + len(text))
	return items
}

var (
	listEntry = regexp.MustCompile(`^\s*([-*]|\d+\.) `)
	codeSpan  = regexp.MustCompile("`[^`]*`")
)
