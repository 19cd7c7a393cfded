package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// remainingFile contains the number of hits that each folder may still have of each pattern. If the
// file is missing, no hits are allowed.
const remainingFile = "tools/words/remaining.txt"

const remainingHead = `# Hits that existing texts still have: folder, pattern, number. A number may only fall: a change that
# raises one fails make words, and make words-update lowers them. Texts that move to another folder take
# their numbers with them by hand. make words-update removes this file when it is empty.
`

// remaining is the content of remainingFile: the allowed hits of each folder and pattern.
type remaining map[counted]int

func loadRemaining(root string) (remaining, error) {
	text, err := os.ReadFile(filepath.Join(root, remainingFile))
	if os.IsNotExist(err) {
		return remaining{}, nil
	}
	if err != nil {
		return nil, err
	}
	return parseRemaining(string(text))
}

func parseRemaining(text string) (remaining, error) {
	left := remaining{}
	for n, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s:%d: %q has %d fields, want folder, pattern and number separated by tabs", remainingFile, n+1, line, len(fields))
		}
		number, err := strconv.Atoi(fields[2])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: the number of hits: %w", remainingFile, n+1, err)
		}
		left[counted{fields[0], fields[1]}] += number
	}
	return left, nil
}

// risen returns the hits of each folder and pattern with more hits than the file allows.
func (r remaining) risen(result *report) []hit {
	counts := result.counts()
	var found []hit
	for _, h := range result.hits {
		key := counted{folder(h.file), h.name}
		if counts[key] <= r[key] {
			continue
		}
		if r[key] > 0 {
			h.text = fmt.Sprintf("(one of %d in %s, %s allows %d) %s", counts[key], key.folder, remainingFile, r[key], h.text)
		}
		found = append(found, h)
	}
	return found
}

func (r remaining) total() int {
	sum := 0
	for _, n := range r {
		sum += n
	}
	return sum
}

// lower returns the smaller of the two numbers for each folder and pattern.
func (r remaining) lower(counts map[counted]int) remaining {
	lowered := remaining{}
	for key, n := range r {
		if n = min(n, counts[key]); n > 0 {
			lowered[key] = n
		}
	}
	return lowered
}

// save writes the file, or removes it if nothing remains.
func (r remaining) save(root string) error {
	path := filepath.Join(root, remainingFile)
	if len(r) == 0 {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
		return nil
	}
	return os.WriteFile(path, []byte(remainingHead+formatCounts(r)), 0o600)
}

// formatCounts returns the number of hits of each pattern in each folder as lines of text, sorted.
func formatCounts(counts map[counted]int) string {
	var b strings.Builder
	for _, key := range slices.SortedFunc(maps.Keys(counts), func(a, b counted) int {
		return cmp.Or(cmp.Compare(a.folder, b.folder), cmp.Compare(a.name, b.name))
	}) {
		fmt.Fprintf(&b, "%s\t%s\t%d\n", key.folder, key.name, counts[key])
	}
	return b.String()
}
