package clients

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages is the folder of the pages about clients, relative to this package.
const pages = "../../docs/recipes"

// served is the address at which the pages expect Trident.
const served = "127.0.0.1:9000"

// configFile is the name of the file of --config on pages of clients that need settings of Trident.
const configFile = "trident.yaml"

// runFile is the name of the file with the commands of a run.
const runFile = "run.sh"

// Headings of a page's sections. The first section has the code that points the program at Trident. The second one has the
// rest of the task.
const (
	connectHeading = "\n## Connect\n"
	tryHeading     = "\n## Try it\n"
)

// Maximum numbers of lines of code that a reader copies, without blank ones.
const (
	mostConnectLines = 10 // of the section Connect
	mostLines        = 40 // of the page
)

// page is a page about a client: its text, and the parts that a reader copies. The command that installs the client isn't
// one of them.
type page struct {
	text    string
	files   map[string]string // files by their name; code blocks of the same file are appended in the order of the page
	script  string            // the code blocks "sh run", which a shell runs
	connect string            // all code of the section Connect
}

// codeBlock matches a code block. Its first line has the language and a file name, or the kind of the block (test/docs).
var codeBlock = regexp.MustCompile("(?s)\n```([a-z]+)(?: ([^\n]+))?\n(.*?\n)```\n")

// readPage reads the page of a client.
func readPage(name string) (page, error) {
	raw, err := os.ReadFile(filepath.Join(pages, name+".md"))
	if err != nil {
		return page{}, err
	}
	return parsePage(string(raw))
}

// code returns what a run of the row has.
func (r *row) code() (page, error) {
	if r.page == "" {
		return readPage(r.Name)
	}
	whole, err := readPage(r.page)
	if err != nil {
		return page{}, err
	}
	_, rest, _ := strings.Cut(whole.text, connectHeading)
	connect, _, _ := strings.Cut(rest, tryHeading)
	p := page{files: map[string]string{}}
	p.add(connect)
	folder := filepath.Join("testdata", r.Name)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return page{}, err
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return page{}, err
		}
		switch name := entry.Name(); name {
		case runFile:
			p.script += string(text)
		case configFile: // instead of the page's settings
			p.files[name] = string(text)
		default:
			p.files[name] += string(text)
		}
	}
	return p, nil
}

// parsePage returns the parts of a page's text. It returns an error if the text doesn't have the form of the pages.
func parsePage(text string) (page, error) {
	head, rest, _ := strings.Cut(text, connectHeading)
	connect, try, found := strings.Cut(rest, tryHeading)
	if !found {
		return page{}, errors.New("the page lacks the section Connect, or the section Try it after it")
	}
	p := page{text: text, files: map[string]string{}}
	if p.add(head) != "" || strings.Contains(head, "\n## ") {
		return page{}, errors.New("Connect isn't the page's first section with code to copy")
	}
	p.connect = p.add(connect)
	switch n := lines(p.connect); {
	case n == 0:
		return page{}, errors.New("the section Connect has no code to copy")
	case n > mostConnectLines:
		return page{}, fmt.Errorf("a reader has to copy %d lines of the section Connect, more than %d", n, mostConnectLines)
	case !strings.Contains(p.connect, served):
		return page{}, fmt.Errorf("the code of the section Connect lacks Trident's address %s", served)
	}
	script := p.script
	task := p.add(try)
	if p.script == script {
		return page{}, errors.New("the section Try it has no code block `sh run`")
	}
	if n := lines(p.connect + task); n > mostLines {
		return page{}, fmt.Errorf("a reader has to copy %d lines, more than %d", n, mostLines)
	}
	return p, nil
}

// add appends the code blocks of a section to the page's files and script. It returns their code.
func (p *page) add(section string) (code string) {
	for _, block := range codeBlock.FindAllStringSubmatch(section, -1) {
		switch name := block[2]; {
		case name == "" || name == "check" || strings.HasPrefix(name, "unrun: "):
			continue
		case name == "run":
			p.script += block[3]
		default:
			p.files[name] += block[3]
		}
		code += block[3]
	}
	return code
}

// lines returns the number of lines of code without blank ones.
func lines(code string) (n int) {
	for line := range strings.Lines(code) {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	return n
}

// write writes the page's files into a folder, and its commands as runFile. replace changes addresses.
func (p *page) write(dir string, replace *strings.Replacer) error {
	files := map[string]string{runFile: "set -e\n" + p.script}
	maps.Copy(files, p.files)
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(replace.Replace(text)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// TestPage checks that a page without the form of the pages is refused, and that the blocks of a file become one file.
func TestPage(t *testing.T) {
	block := func(name, code string) string { return "\n```" + name + "\n" + code + "```\n" }
	install, client, run := block("sh check", "pip install x\n"), block("python a.py", "connect(\""+served+"\")\n"), block("sh run", "python a.py\n")
	task := block("python a.py", "\nwork()\n") + block("yaml b.yaml", "b: 1\n")
	p, err := parsePage("# X\n" + install + connectHeading + block("sh run", "export A=1\n") + client + tryHeading + task + run)
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"a.py": "connect(\"" + served + "\")\n\nwork()\n", "b.yaml": "b: 1\n"}; !maps.Equal(p.files, want) {
		t.Errorf("files %q, want %q", p.files, want)
	}
	if want := "export A=1\npython a.py\n"; p.script != want {
		t.Errorf("script %q, want %q", p.script, want)
	}
	more := func(n int) string { return block("python a.py", strings.Repeat("x = 1\n\n", n)) }
	for _, c := range []struct{ text, want string }{
		{install + client + tryHeading + run, "lacks the section Connect"},
		{install + connectHeading + client + run, "lacks the section Connect"},
		{install + tryHeading + run + connectHeading + client, "lacks the section Connect"},
		{client + connectHeading + client + tryHeading + run, "isn't the page's first section"},
		{"\n## Task\n" + connectHeading + client + tryHeading + run, "isn't the page's first section"},
		{connectHeading + install + tryHeading + client + run, "has no code to copy"},
		{connectHeading + client + more(mostConnectLines) + tryHeading + run, "copy 11 lines of the section Connect"},
		{connectHeading + client + more(mostConnectLines-2) + block("sh run", "export A=1\nexport B=1\n") + tryHeading + run, "copy 11 lines of the section Connect"},
		{connectHeading + more(1) + tryHeading + client + run, "lacks Trident's address"},
		{connectHeading + client + run + tryHeading + more(1), "no code block `sh run`"},
		{connectHeading + client + tryHeading + run + more(mostLines-1), "copy 41 lines, more than 40"},
	} {
		if _, err := parsePage(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q, of the page%s", err, c.want, c.text)
		}
	}
	full := connectHeading + client + more(mostConnectLines-1) + tryHeading + run + more(mostLines-mostConnectLines-1)
	if _, err := parsePage(full); err != nil {
		t.Errorf("a page of %d lines: %v", mostLines, err)
	}
}
