// Package blocks reads the code blocks of the documentation, and the words after the language of a
// block by which a test keeps the block true. It belongs to the tests: test/docs checks the blocks,
// cmd/trident and test/deploy read those of their tools, test/e2e runs those that can run.
package blocks

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Kind is the way in which a block is kept true.
type Kind string

// The kinds of blocks.
const (
	// Run is code that a test runs. The test compares what it prints with the page.
	Run Kind = "run"
	// Check is code that a test reads with the tool that users give it to.
	Check Kind = "check"
	// Unrun is code that no test reads, for the reason on the block.
	Unrun Kind = "unrun"
	// Output is the standard output of the block before it.
	Output Kind = "output"
	// Figure is a drawing, a layout of files or a part of a log: nothing that a reader copies.
	Figure Kind = "figure"
)

// Block is a code block of a page.
type Block struct {
	Page string `json:"page"` // path of the page in the source tree, with slashes
	Line int    `json:"line"` // number of the line that opens the block
	Lang string `json:"lang"` // language, such as sh
	Kind Kind   `json:"kind"` // empty if the block has none
	Note string `json:"note"` // words after the kind: the reason, the tool, the file name or the tier
	Code string `json:"code"` // content, without the indentation of the block
}

// String returns the place of the block, for messages.
func (b Block) String() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// recipes is the folder whose pages name the file of a block instead of its kind: test/clients
// writes and runs these files.
const recipes = "docs/recipes/"

// mermaid is a language of drawings, which needs no kind.
const mermaid = "mermaid"

// fileName matches the name of a file on a block.
var fileName = regexp.MustCompile(`^[\w./-]*\.\w+$`)

// File returns the name of the file that a reader saves the block as, or "".
func (b Block) File() string {
	if fields := strings.Fields(b.Note); (b.Kind == Run || b.Kind == Check) && len(fields) > 0 && fileName.MatchString(fields[len(fields)-1]) {
		return fields[len(fields)-1]
	}
	return ""
}

// Has reports whether the words after the kind include the word.
func (b Block) Has(word string) bool { return slices.Contains(strings.Fields(b.Note), word) }

// Slow is the word on a run block that moves the run of its page to the slow tier.
const Slow = "slow"

var fence = regexp.MustCompile("^( *)(`{3,})([^`]*)$")

// Parse returns the code blocks of a page in their order. It returns an error if a block has no end.
func Parse(page, text string) ([]Block, error) {
	var all []Block
	var open *Block
	var indent, ticks string
	line := 0
	for s := range strings.Lines(text) {
		line++
		s = strings.TrimSuffix(s, "\n")
		found := fence.FindStringSubmatch(s)
		switch {
		case open == nil && found != nil:
			indent, ticks = found[1], found[2]
			open = &Block{Page: page, Line: line}
			describe(open, found[3])
		case open != nil && found != nil && len(found[2]) >= len(ticks) && strings.TrimSpace(found[3]) == "":
			all = append(all, *open)
			open = nil
		case open != nil:
			open.Code += strings.TrimPrefix(s, indent) + "\n"
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s: the block has no end", open)
	}
	return all, nil
}

// describe sets the language, the kind and the note of a block from the words after the backticks.
func describe(b *Block, words string) {
	lang, rest, _ := strings.Cut(strings.TrimSpace(words), " ")
	b.Lang = lang
	kind, note, _ := strings.Cut(strings.TrimSpace(rest), " ")
	switch Kind(strings.TrimSuffix(kind, ":")) {
	case Run, Check, Unrun, Output, Figure:
		b.Kind, b.Note = Kind(strings.TrimSuffix(kind, ":")), strings.TrimSpace(note)
	default:
		b.Note = rest
		if strings.HasPrefix(b.Page, recipes) && fileName.MatchString(rest) {
			b.Kind = Run
		}
	}
}

// Pages returns the paths of the pages with blocks, in order, relative to the top of the source tree.
func Pages(root string) ([]string, error) {
	pages := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && path.Ext(file) == ".md" {
			relative, err := filepath.Rel(root, file)
			pages = append(pages, filepath.ToSlash(relative))
			return err
		}
		return err
	})
	slices.Sort(pages)
	return pages, err
}

// Read returns the blocks of all pages of a source tree.
func Read(root string) ([]Block, error) {
	pages, err := Pages(root)
	if err != nil {
		return nil, err
	}
	var all []Block
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
		if err != nil {
			return nil, err
		}
		found, err := Parse(page, string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
