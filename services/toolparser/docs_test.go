package toolparser

import (
	"os"
	"strings"
	"testing"
)

// TestDocs checks that the table of docs/models.md has each parser's name.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(data), "\n## Tool calls and reasoning\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatal("docs/models.md has no section about tool calls and reasoning")
	}
	var rows []string
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "| ") {
			rows = append(rows, line)
		}
	}
	in := func(column int, name string) bool {
		for _, row := range rows {
			if cells := strings.Split(row, " | "); len(cells) > column && strings.Contains(cells[column], "`"+name+"`") {
				return true
			}
		}
		return false
	}
	for _, d := range toolDialects() {
		for _, name := range d.names {
			if !in(1, name) {
				t.Errorf("no row has the tool-call parser %s", name)
			}
		}
	}
	for _, d := range reasoningDialects() {
		for _, name := range d.names {
			if !in(2, name) {
				t.Errorf("no row has the reasoning parser %s", name)
			}
		}
	}
}
