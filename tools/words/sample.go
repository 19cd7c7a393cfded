package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The numbers of comments, of errors, logs and help texts, and of pieces of the documentation in a sample.
const (
	sampledComments = 50
	sampledMessages = 30
	sampledPieces   = 100
)

// sampler is the command sample. The same seed and tree yield the same sample.
type sampler struct {
	seed       string
	blind, key bool
	docs       bool
}

func (s *sampler) run(ctx context.Context, root string, out io.Writer) error {
	seed, err := strconv.ParseUint(s.seed, 16, 64)
	if err != nil {
		return fmt.Errorf("--seed %q: want a hexadecimal number: %w", s.seed, errors.Unwrap(err))
	}
	var items []item
	if s.docs {
		items, err = drawPieces(ctx, root, seed)
	} else {
		items, err = drawItems(ctx, root, seed)
	}
	if err != nil {
		return err
	}
	for n, i := range items {
		s.write(out, n+1, &i)
	}
	return nil
}

// drawItems returns the comments and messages of a sample of the tree.
func drawItems(ctx context.Context, root string, seed uint64) ([]item, error) {
	items, _, err := read(ctx, root)
	if err != nil {
		return nil, err
	}
	return draw(items, seed), nil
}

// drawPieces returns a sample of the paragraphs, list entries and table rows of README.md and docs.
func drawPieces(ctx context.Context, root string, seed uint64) ([]item, error) {
	names, err := git(ctx, root, "ls-files", "README.md", "docs/*.md")
	if err != nil {
		return nil, err
	}
	var all []item
	for file := range strings.Lines(names) {
		file = strings.TrimSpace(file)
		source, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		all = append(all, pieces(file, source)...)
	}
	shuffle(seed, all)
	return all[:min(sampledPieces, len(all))], nil
}

// pieces returns the paragraphs, list entries and table rows of a document, each below its heading and the head of its
// table.
func pieces(file string, source []byte) []item {
	var found []item
	var heading, head string
	lines := strings.Split(string(source), "\n")
	for _, i := range readMarkdown(file, source) {
		text := strings.Join(lines[i.line-1:i.last], "\n") // with code, which the item lacks
		row := strings.HasPrefix(text, "|")
		switch {
		case strings.HasPrefix(text, "#"):
			heading = text
			continue
		case row && (i.line == 1 || !strings.HasPrefix(lines[i.line-2], "|")):
			head = text
			continue
		case words(i.text) < 5 || row && figures(i.text) || strings.HasPrefix(strings.TrimSpace(text), "<"):
			continue
		case row:
			text = head + "\n" + text
		}
		i.text = heading + "\n" + text
		found = append(found, i)
	}
	return found
}

// figures reports whether a row of a table mostly has measured figures.
func figures(row string) bool { return 2*len(digits.FindAllString(row, -1)) > words(row) }

var digits = regexp.MustCompile(`\d+`)

// verb matches a verb of fmt, such as %s or %+q.
var verb = regexp.MustCompile(`%[-+# 0]*[0-9*.]*[a-zA-Z]`)

// draw returns comments and then messages, each in random order.
func draw(items []item, seed uint64) []item {
	var comments, messages []item
	for _, i := range items {
		switch i.kind {
		case comment, doc:
			if words(i.text) >= 3 {
				comments = append(comments, i)
			}
		case help, failure, logged, metric:
			if words(verb.ReplaceAllString(i.text, "")) >= 2 { // "%s: %w" has nothing to understand
				messages = append(messages, i)
			}
		default: // labels and documents aren't sampled
		}
	}
	shuffle(seed, comments, messages)
	return slices.Concat(comments[:min(sampledComments, len(comments))], messages[:min(sampledMessages, len(messages))])
}

func shuffle(seed uint64, lists ...[]item) {
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a sample that anyone can draw again
	for _, list := range lists {
		random.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
	}
}

func (s *sampler) write(out io.Writer, n int, i *item) {
	place := fmt.Sprintf("%s:%d", i.file, i.line)
	if s.key {
		printf(out, "%d\t%s\n", n, place)
		return
	}
	printf(out, "%d. %s", n, i.kind)
	if !s.blind {
		printf(out, " %s", place)
	}
	printf(out, "\n")
	for line := range strings.Lines(strings.Trim(i.text, "\n")) {
		printf(out, "    %s\n", strings.TrimRight(line, "\n"))
	}
	if i.next != "" {
		printf(out, "    → %s\n", i.next)
	}
	printf(out, "\n")
}
