package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// allowance is a suppression: a comment `words:allow NAME reason`, or a line of allow.txt.
type allowance struct {
	file   string // the covered file, or a folder with a final /
	line   int    // the covered line; 0 for the whole file
	name   string // name of the pattern; * for all patterns
	reason string
	where  string // place of the suppression itself, as file:line
}

// covers reports whether the suppression applies to a hit of the pattern name in item i at line. It
// applies to its own item, and to items that begin on its line or on the next.
func (a *allowance) covers(i *item, name string, line int) bool {
	file := a.file == i.file || strings.HasSuffix(a.file, "/") && strings.HasPrefix(i.file, a.file)
	if !file || a.name != "*" && a.name != name {
		return false
	}
	return a.line == 0 || a.line >= i.line-1 && a.line <= i.last || a.line == line || a.line == line-1
}

var allowing = regexp.MustCompile(`(?://|#|/\*|<!--) ?words:allow[ \t]*(\S*)[ \t]*(.*)$`)

// allowances returns the suppressions in a file.
func allowances(file string, source []byte) []allowance {
	if !strings.Contains(string(source), "words:"+"allow") {
		return nil
	}
	var found []allowance
	for n, line := range strings.Split(string(source), "\n") {
		m := allowing.FindStringSubmatch(line)
		if len(m) > 0 && (strings.HasPrefix(m[0], "<!--") || !strings.HasSuffix(file, ".md")) {
			reason := strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(m[2]), "*/"), "-->"))
			found = append(found, allowance{file: file, line: n + 1, name: m[1], reason: reason, where: fmt.Sprintf("%s:%d", file, n+1)})
		}
	}
	return found
}

// allowFile contains the suppressions of files that can't have comments: PATH NAME reason.
const allowFile = "tools/words/allow.txt"

func listedAllowances(root string) ([]allowance, error) {
	text, err := os.ReadFile(filepath.Join(root, allowFile))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []allowance
	for n, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		fields := append(strings.SplitN(line, " ", 3), "", "")
		found = append(found, allowance{file: fields[0], name: fields[1], reason: strings.TrimSpace(fields[2]), where: fmt.Sprintf("%s:%d", allowFile, n+1)})
	}
	return found, nil
}

// problem returns what is wrong with the form of a suppression, or "".
func (a *allowance) problem() string {
	known := a.name == "*" || slices.ContainsFunc(patterns(), func(p pattern) bool { return p.name == a.name })
	switch {
	case a.reason == "":
		return "suppression without a reason: write words:" + "allow NAME reason"
	case !known:
		return "suppression of an unknown pattern " + a.name
	}
	return ""
}
