// Package aswritten runs the commands of other projects' documents against the trident program on a real Triton: those
// of Triton's OpenAI frontend, of its vLLM backend, and of two proxies. The tables (frontend_test.go and so on) have the
// commands and their outcomes; docs/guides/as-written.md is generated from them. The models have the tensors of the documents'
// models, without their weights.
//
// The documents use fixed ports, so the tests run in a network namespace of their own. With
// TRIDENT_TEST_SOURCES, a folder with clones of the documents' repositories, TestSources compares the tables with the
// documents, and their own programs run too.
package aswritten

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/trident-inference/trident/test/tier"
)

// outcome is the result of a command of a document.
type outcome string

// The outcomes of a command.
const (
	passes  outcome = "passes"
	differs outcome = "differs by intent" // the note describes the difference, with a link
	unrun   outcome = "can't run here"    // the note has the reason
)

// document is a page of another project.
type document struct {
	Title      string
	Repository string // owner/name on GitHub
	Commit     string // the version that was read
	File       string // path of the page in the repository
	// Reads has pairs of a string in the commands and what runs instead of it.
	Reads  []string
	Groups []group
	// Other lists the numbers of code blocks without a command: outputs, and parts of files.
	Other []int
}

// group is a set of commands that a reader runs one after the other. It has a folder and processes of its own.
type group struct {
	Name  string
	Check bool // runs in the check tier
	// Models are written into the folder before the first command.
	Models []modelFolder
	// Triton runs a real tritonserver with the repository "models" on its usual ports during the commands.
	Triton bool
	// Collector takes traces by OTLP on port 4317 during the commands.
	Collector bool
	Commands  []command
}

// command is a command of a document, or a program that readers of a document run.
type command struct {
	Block    int    // number of the code block that has the command, from 1; 0 for a program in a file
	Line     string // the command as the document has it, or the name of the program
	Runs     string // what runs instead, beside the document's Reads; empty for the command itself
	Program  string // file in testdata that does what the document's program does
	Source   string // path of that program in the repository; empty if Block has it
	Outdated bool   // the document's own program doesn't run with today's packages

	Ready  []string // URLs that answer with 200 once the servers that the command starts are ready
	Beside bool     // servers of earlier commands keep running
	Fails  bool     // the exit code isn't 0
	Prints []string // regular expressions that match the output
	Traces []string // names of spans that the collector has got

	Outcome outcome
	Note    string // Markdown; links are relative to docs/guides
}

// documents returns all documents.
func documents() []document {
	return []document{frontendReadme(), vllmReadme(), openaiTrtllmReadme(), proxyReadme()}
}

// TestAsWritten runs the commands and checks their outcomes.
func TestAsWritten(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real tritonserver")
	}
	if errNoNetwork != nil {
		t.Skipf("needs a network namespace of its own: %v", errNoNetwork)
	}
	p := newPrograms(t)
	for _, d := range documents() {
		t.Run(d.Title, func(t *testing.T) {
			for _, g := range d.Groups {
				t.Run(g.Name, func(t *testing.T) {
					if !g.Check {
						tier.OnlySlow(t)
					}
					runGroup(t, p, d, g)
				})
			}
		})
	}
}

// maxName is the maximum length of the name of a command's test.
const maxName = 60

func runGroup(t *testing.T, p programs, d document, g group) {
	t.Helper()
	w := newWorld(t, p, g)
	for _, c := range g.Commands {
		if c.Outcome == unrun {
			continue
		}
		name := c.Line
		if len(name) > maxName {
			name = name[:maxName]
		}
		if !t.Run(name, func(t *testing.T) { w.run(t, d, c) }) {
			t.Fatal("the following commands need this one")
		}
	}
}

// line returns the shell code that runs a command.
func (d *document) line(c command) string {
	line := c.Line
	if c.Runs != "" {
		line = c.Runs
	}
	line = assignment.ReplaceAllString(line, "$1\n")
	return strings.NewReplacer(d.Reads...).Replace(line)
}

// assignment matches a variable that a document sets on a line of its own, and the command uses.
var assignment = regexp.MustCompile(`^(MODEL="[^"]*") `)

// run runs a command, and checks what it prints and starts.
func (w *world) run(t *testing.T, d document, c command) {
	t.Helper()
	line := d.line(c)
	if c.Program != "" {
		line = "python3 " + filepath.Join(w.root, "test", "aswritten", "testdata", c.Program)
		if c.Runs != "" {
			line += " " + c.Runs
		}
	}
	if path.Ext(c.Source) == ".liquid" && os.Getenv(sourcesVariable) != "" { // the document's own template
		own := filepath.Join(t.TempDir(), path.Base(c.Source))
		write(t, own, d.file(t, c.Source))
		line = strings.Replace(line, c.Source, own, 1)
	}
	w.check(t, c, line)
	if source := sourceProgram(t, &d, c); source != "" && c.Program != "" && !c.Outdated {
		t.Run("the document's own", func(t *testing.T) { w.check(t, c, strings.TrimSpace("python3 "+source+" "+c.Runs)) })
	}
}

// check runs shell code for a command.
func (w *world) check(t *testing.T, c command, line string) {
	t.Helper()
	if len(c.Ready) > 0 {
		if !c.Beside {
			w.stop(t)
		}
		w.start(t, line, c.Ready)
	} else {
		out, err := w.shell(t, line)
		if (err != nil) != c.Fails {
			t.Errorf("%s\nends with %v\n%s", line, err, out)
		}
		for _, pattern := range c.Prints {
			if !regexp.MustCompile(pattern).MatchString(out) {
				t.Errorf("%s\nprints no %s:\n%s", line, pattern, out)
			}
		}
	}
	for _, span := range c.Traces {
		w.awaitSpan(t, span)
	}
	if t.Failed() {
		t.Logf("the servers' output:\n%s", w.output())
	}
}

// TestTables checks that the tables are complete: a command that runs has an effect that is checked, and the others
// have a reason.
func TestTables(t *testing.T) {
	for _, d := range documents() {
		for _, g := range d.Groups {
			for _, c := range g.Commands {
				where := d.Title + ": " + c.Line
				switch checked := len(c.Ready)+len(c.Prints)+len(c.Traces) > 0; {
				case c.Outcome == unrun && (checked || c.Note == ""):
					t.Errorf("%s: a command that can't run needs a reason, and no checks", where)
				case c.Outcome != unrun && !checked:
					t.Errorf("%s: nothing is checked", where)
				case c.Outcome == differs && !strings.Contains(c.Note, "]("):
					t.Errorf("%s: a difference needs a link", where)
				case c.Outcome == passes && c.Fails:
					t.Errorf("%s: a command that fails doesn't pass", where)
				}
				if c.Program != "" {
					if _, err := os.Stat(filepath.Join("testdata", c.Program)); err != nil {
						t.Errorf("%s: %v", where, err)
					}
				}
			}
		}
	}
}
