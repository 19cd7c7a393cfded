package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// printf writes to the standard output. A failure to write there has no consequence.
func printf(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }

// hit is a match of a pattern.
type hit struct {
	file string
	line int
	name string
	text string // the message, and the words around the match
}

// report is the result of a check of files.
type report struct {
	hits     []hit
	problems []string // a line for each invalid or unused suppression
}

// check applies all patterns to the covered files of a tree.
func check(ctx context.Context, root string) (*report, error) {
	items, allowed, err := read(ctx, root)
	if err != nil {
		return nil, err
	}
	more, err := listedAllowances(root)
	if err != nil {
		return nil, err
	}
	return apply(items, append(allowed, more...)), nil
}

// apply applies all patterns to items. A suppression that covers no hit is a problem, so that none
// outlives its cause.
func apply(items []item, allowed []allowance) *report {
	byFile := map[string][]int{}
	var wide []int // indices of the suppressions that cover a folder
	for n, a := range allowed {
		if strings.HasSuffix(a.file, "/") {
			wide = append(wide, n)
		}
		byFile[a.file] = append(byFile[a.file], n)
	}
	used := make([]bool, len(allowed))
	result := &report{}
	all := patterns()
	for n := range items {
		i := &items[n]
		for p := range all {
			for _, offset := range all[p].hits(i) {
				line, suppressed := i.at(offset), false
				for _, a := range slices.Concat(byFile[i.file], wide) {
					covers := allowed[a].covers(i, all[p].name, line)
					used[a] = used[a] || covers
					suppressed = suppressed || covers
				}
				if !suppressed {
					result.hits = append(result.hits, hit{file: i.file, line: line, name: all[p].name, text: all[p].message + ": " + around(i.joined(), offset)})
				}
			}
		}
	}
	result.problems = problems(allowed, used)
	return result
}

// problems returns a message for each invalid or unused suppression.
func problems(allowed []allowance, used []bool) []string {
	var found []string
	for n := range allowed {
		problem := allowed[n].problem()
		if problem == "" && !used[n] {
			problem = "suppression of " + allowed[n].name + " without a hit: remove it"
		}
		if problem != "" {
			found = append(found, allowed[n].where+": "+problem)
		}
	}
	return found
}

// around returns the words about an offset, in quotes.
func around(text string, offset int) string {
	from, to := max(0, offset-30), min(len(text), offset+50)
	if from > 0 {
		if i := strings.IndexByte(text[from:offset], ' '); i >= 0 {
			from += i + 1
		}
	}
	if to < len(text) {
		if i := strings.LastIndexByte(text[offset:to], ' '); i > 0 {
			to = offset + i
		}
	}
	return "«" + strings.Join(strings.Fields(text[from:to]), " ") + "»"
}

// counted is a number of hits of a pattern in a folder.
type counted struct{ folder, name string }

func (r *report) counts() map[counted]int {
	n := map[counted]int{}
	for _, h := range r.hits {
		n[counted{folder(h.file), h.name}]++
	}
	return n
}

// write prints the hits of the given paths and patterns, all hits if none are given.
func (r *report) write(out io.Writer, only []string) {
	for _, h := range r.hits {
		if len(only) == 0 || slices.ContainsFunc(only, func(o string) bool {
			return h.name == o || h.file == o || strings.HasPrefix(h.file, strings.TrimSuffix(o, "/")+"/")
		}) {
			printf(out, "%s:%d: %s: %s\n", h.file, h.line, h.name, h.text)
		}
	}
}
