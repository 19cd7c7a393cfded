package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`")
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9_]+)\(`)
)

// TestThreatsHaveTests checks that each row of the threats in docs/security.md names an
// existing test.
func TestThreatsHaveTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, threats, _ := strings.Cut(string(page), "## Threats")
	threats, _, _ = strings.Cut(threats, "\n## ")
	known := map[string]bool{}
	for _, root := range []string{"../../services", "../../cmd", "../../test/cost", "../../test/e2e"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := os.ReadFile(path)
			for _, found := range testFunc.FindAllStringSubmatch(string(file), -1) {
				known[found[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	rows := 0
	for line := range strings.Lines(threats) {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| threat ") {
			continue
		}
		rows++
		names := testName.FindAllStringSubmatch(line, -1)
		if len(names) == 0 {
			t.Errorf("no test: %s", line)
		}
		for _, name := range names {
			if !known[name[1]] {
				t.Errorf("there is no %s: %s", name[1], line)
			}
		}
	}
	if rows < 20 {
		t.Errorf("%d threats", rows)
	}
}
