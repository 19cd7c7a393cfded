package aswritten

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

var update = flag.Bool("update", false, "write docs/guides/as-written.md")

const pageHead = `# Commands as written

This page lists the commands of four documents. The test in [test/aswritten](../../test/aswritten) runs each command with Trident and a real Triton, and checks what the
command prints. Each section lists the parts of commands that the test replaces. Commands with the outcome "can't run here" were never run. The page is generated from the tables of the test.

The models have the tensors of the documents' models, but no weights: they repeat the prompt or the last message. Two models are exceptions: all-MiniLM-L6-v2 has its
weights, and the model of the tool calls follows a script. If the current packages still have everything that a document's program imports, the test runs this program unchanged.
Otherwise, the test runs its own program, which sends the same requests. Some rows have a check of the test instead of a command from the document. The numbers in the next table don't include these rows.

| document | passes | differs by intent | can't run here |
|---|---|---|---|
`

const pageEnd = `
## Run it again

` + "```sh check\n" + `make setup-test
TRIDENT_TEST_SLOW=1 go test -v -count 1 -timeout 30m ./test/aswritten
` + "```\n" + `
The suite ` + "`unit-slow`" + ` runs the whole test. The suite ` + "`unit`" + ` runs only the part "vLLM" of the first document. The test needs the right to create a network namespace, because the documents' ports are fixed.
Set ` + "`TRIDENT_TEST_SOURCES`" + ` to a folder with clones of the four repositories. The test then also compares the tables with the documents, and runs the documents' own programs.
` + "`-run TestPage -update`" + ` writes this page.
`

// TestPage checks that docs/guides/as-written.md has the tables' commands and outcomes.
func TestPage(t *testing.T) {
	root, err := tritonserver.SourceRoot()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "docs", "guides", "as-written.md")
	want := page()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, file); got != want {
		t.Errorf("%s isn't that of the tables: go test ./test/aswritten -run TestPage -update", file)
	}
}

// page returns the whole page.
func page() string {
	var all strings.Builder
	all.WriteString(pageHead)
	for _, d := range documents() {
		counts := map[outcome]int{}
		for _, g := range d.Groups {
			for _, c := range g.Commands {
				if !c.further() {
					counts[c.Outcome]++
				}
			}
		}
		fmt.Fprintf(&all, "| [%s](#%s) | %d | %d | %d |\n", d.Title, anchor(d.Title), counts[passes], counts[differs], counts[unrun])
	}
	for _, d := range documents() {
		all.WriteString(d.section())
	}
	all.WriteString(pageEnd)
	return all.String()
}

// section returns the document's part of the page.
func (d *document) section() string {
	var all strings.Builder
	fmt.Fprintf(&all, "\n## %s\n\n[%s](https://github.com/%s/blob/%s/%s) of [%s](https://github.com/%s), commit `%.10s`.\n", d.Title, d.File, d.Repository, d.Commit, d.File, d.Repository, d.Repository, d.Commit)
	if len(d.Reads) > 0 {
		all.WriteString("The test replaces these parts of the commands: ")
		for i := 0; i < len(d.Reads); i += 2 {
			if i > 0 {
				all.WriteString(", ")
			}
			to := "`" + d.Reads[i+1] + "`"
			if d.Reads[i+1] == "" {
				to = "nothing"
			}
			fmt.Fprintf(&all, "`%s` → %s", d.Reads[i], to)
		}
		all.WriteString(".\n")
	}
	all.WriteString("\n| part | command | outcome | remarks |\n|---|---|---|---|\n")
	for _, g := range d.Groups {
		for _, c := range g.Commands {
			fmt.Fprintf(&all, "| %s | %s | %s | %s |\n", g.Name, c.cell(), c.Outcome, c.Note)
		}
	}
	return all.String()
}

// further reports whether the document doesn't have the command: it checks the effect of others.
func (c *command) further() bool { return c.Block == 0 && c.Program == "" && c.Source == "" }

// cell returns a command for a table.
func (c *command) cell() string {
	line := strings.ReplaceAll(c.Line, "|", `\|`)
	if c.further() || strings.Contains(line, "`") || strings.HasPrefix(line, "program ") {
		return line // it describes what runs
	}
	return "`" + line + "`"
}

// anchor returns the anchor of a heading, as GitHub builds it.
func anchor(heading string) string {
	var all strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ':
			all.WriteByte('-')
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			all.WriteRune(r)
		}
	}
	return all.String()
}
