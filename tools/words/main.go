// Command words checks the English of comments, help, errors, logs and descriptions, and the
// subjects of commits. `make words` runs it; docs/contributing/style.md has the rules.
//
//	words [check] [PATH or PATTERN...]   fails if a pattern has more hits than remaining.txt allows
//	words check --all [PATH or ...]      prints all hits
//	words check --counts                 prints the number of hits by folder and pattern
//	words check --update                 lowers remaining.txt to the hits of the tree
//	words sample --seed N                prints texts drawn at random, for readers
//
// What belongs here: readers of files, patterns, suppressions and samples. A rule that needs
// judgement belongs in style.md alone.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1) //nolint:forbidigo // main exits
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	root, err := git(ctx, ".", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	root = strings.TrimSpace(root)
	command := "check"
	if len(args) > 0 && (args[0] == "check" || args[0] == "sample") {
		command, args = args[0], args[1:]
	}
	set := flag.NewFlagSet("words "+command, flag.ContinueOnError)
	if command == "sample" {
		s := sampler{}
		set.StringVar(&s.seed, "seed", "", "Seed of the random sample: a hexadecimal number, such as the first 8 digits of a commit.")
		set.BoolVar(&s.docs, "docs", false, "Draw 100 paragraphs, entries of lists and rows of tables from README.md and docs instead.")
		set.BoolVar(&s.blind, "blind", false, "Print the numbered items without their files and lines.")
		set.BoolVar(&s.key, "key", false, "Print only the files and lines of the numbered items.")
		if err := set.Parse(args); err != nil {
			return err
		}
		return s.run(ctx, root, out)
	}
	c := checker{}
	set.BoolVar(&c.all, "all", false, "Print all hits, including those that remaining.txt allows.")
	set.BoolVar(&c.counts, "counts", false, "Print the number of hits for each folder and pattern.")
	set.BoolVar(&c.update, "update", false, "Lower the counts in remaining.txt to the hits of the tree. Counts are never raised.")
	if err := set.Parse(args); err != nil {
		return err
	}
	c.only = set.Args()
	return c.run(ctx, root, out)
}

// checker is the command check.
type checker struct {
	all, counts, update bool
	only                []string // paths, and names of patterns, to which the check is limited
}

func (c *checker) run(ctx context.Context, root string, out io.Writer) error {
	result, err := check(ctx, root)
	if err != nil {
		return err
	}
	left, err := loadRemaining(root)
	if err != nil {
		return err
	}
	switch {
	case c.counts:
		printf(out, "%s", formatCounts(result.counts()))
		return nil
	case c.update:
		return left.lower(result.counts()).save(root)
	case c.all:
		result.write(out, c.only)
		return nil
	}
	for _, p := range result.problems {
		printf(out, "%s\n", p)
	}
	risen := left.risen(result)
	(&report{hits: risen}).write(out, c.only)
	subjects, err := checkSubjects(ctx, root, out)
	if err != nil {
		return err
	}
	for _, s := range subjects {
		printf(out, "%s\n", s)
	}
	if n := left.total() - len(result.hits); n > 0 && len(risen) == 0 {
		printf(out, "words: %d hits fewer than %s allows: run make words-update\n", n, remainingFile)
	}
	if len(risen)+len(result.problems)+len(subjects) > 0 {
		return errors.New("the words check failed: see docs/contributing/style.md for the rules and for suppressions")
	}
	return nil
}
