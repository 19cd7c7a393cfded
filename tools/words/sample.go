package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The numbers of comments, and of errors, logs and help texts, in a sample.
const (
	sampledComments = 50
	sampledMessages = 30
)

// sampler is the command sample. The same seed and tree yield the same sample.
type sampler struct {
	seed       string
	blind, key bool
}

func (s *sampler) run(ctx context.Context, root string, out io.Writer) error {
	seed, err := strconv.ParseUint(s.seed, 16, 64)
	if err != nil {
		return fmt.Errorf("--seed %q: want a hexadecimal number: %w", s.seed, errors.Unwrap(err))
	}
	files, err := listed(ctx, root)
	if err != nil {
		return err
	}
	items, _, err := read(root, files)
	if err != nil {
		return err
	}
	for n, i := range draw(items, seed) {
		s.write(out, n+1, &i)
	}
	return nil
}

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
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a sample that anyone can draw again
	for _, list := range [][]item{comments, messages} {
		random.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
	}
	return slices.Concat(comments[:min(sampledComments, len(comments))], messages[:min(sampledMessages, len(messages))])
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
