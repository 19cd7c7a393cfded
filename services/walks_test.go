package services

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// reference matches a declaration that a page names: `path/file.go: Name` or `path/file.go:
// Type.Method`.
var reference = regexp.MustCompile("`([a-z][a-zA-Z0-9_/]*\\.go): ([A-Za-z0-9_.]+)`")

// TestWalks checks the code references of the pages for contributors: each named declaration must
// be in the named file.
func TestWalks(t *testing.T) {
	for page, least := range map[string]int{"docs/contributing/architecture.md": 60, "CONTRIBUTING.md": 6} {
		text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(page)))
		if err != nil {
			t.Fatal(err)
		}
		found := reference.FindAllStringSubmatch(string(text), -1)
		if len(found) < least {
			t.Errorf("%s has %d references, want %d at least: is their form the one that this test reads?", page, len(found), least)
		}
		for _, r := range found {
			if !declares(t, r[1], r[2]) {
				t.Errorf("%s names %s in %s, which doesn't declare it", page, r[2], r[1])
			}
		}
	}
}

// declares reports whether a file of the module declares a function, a method or a type.
func declares(t *testing.T, path, name string) bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", filepath.FromSlash(path)), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return false
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == name || d.Recv != nil && receiverOf(d)+"."+d.Name.Name == name {
				return true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if spec, ok := s.(*ast.TypeSpec); ok && spec.Name.Name == name {
					return true
				}
			}
		}
	}
	return false
}

// receiverOf returns the name of a method's type.
func receiverOf(d *ast.FuncDecl) string {
	kind := d.Recv.List[0].Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	if generic, ok := kind.(*ast.IndexExpr); ok {
		kind = generic.X
	}
	if name, ok := kind.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// TestDecisions checks the form of docs/adr: numbers without gaps, the sections, a date, and a row
// in the index for each record.
func TestDecisions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "docs", "adr", "[0-9]*.md"))
	if err != nil || len(files) == 0 {
		t.Fatal("docs/adr has no records: ", err)
	}
	index := read(t, filepath.Join("..", "docs", "adr", "README.md"))
	for i, file := range files {
		name := filepath.Base(file)
		form := regexp.MustCompile(fmt.Sprintf(`(?s)^# %04d: ([^\n]+)\n\nDate: (\d{4}-\d\d-\d\d)\. Status: (?:accepted|replaced by [^\n]+)\.\n\n`+
			`## Context\n\n.+\n\n## Decision\n\n.+\n\n## Consequences\n\n.+\n\n## Evidence\n\n.+\n$`, i+1))
		found := form.FindStringSubmatch(read(t, file))
		if found == nil || !strings.HasPrefix(name, fmt.Sprintf("%04d-", i+1)) {
			t.Errorf("%s isn't record %04d with its date, status and sections", name, i+1)
			continue
		}
		if row := fmt.Sprintf("| [%04d](%s) | %s | %s |\n", i+1, name, found[1], found[2]); !strings.Contains(index, row) {
			t.Errorf("docs/adr/README.md lacks the row\n%s", row)
		}
	}
}

var (
	// link matches a Markdown link; its target has no blank.
	link = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	// heading matches a Markdown heading. Renderers generate an anchor for it.
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	// fence matches a code block.
	fence = regexp.MustCompile("(?ms)^ *```[^\n]*\n.*?\n *```$")
)

// TestLinks checks the links of all Markdown files to files of the repository and to headings in
// them.
func TestLinks(t *testing.T) {
	links := 0
	headings := map[string]map[string]bool{} // of the pages that were read
	for _, file := range pages(t) {
		for _, target := range link.FindAllStringSubmatch(fence.ReplaceAllString(read(t, file), ""), -1) {
			if strings.Contains(target[1], "://") || strings.HasPrefix(target[1], "mailto:") {
				continue
			}
			links++
			path, anchor, _ := strings.Cut(target[1], "#")
			to := file
			if path != "" {
				to = filepath.Join(filepath.Dir(file), filepath.FromSlash(path))
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which there isn't", file, target[1])
				continue
			}
			if anchor == "" || !strings.HasSuffix(to, ".md") {
				continue
			}
			if headings[to] == nil {
				headings[to] = anchors(read(t, to))
			}
			if !headings[to][anchor] {
				t.Errorf("%s links to %s, but that page has no such heading", file, target[1])
			}
		}
	}
	if links < 100 {
		t.Errorf("%d links, want 100 at least: does the pattern still match?", links)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pages lists the Markdown files that git tracks or would add, without those of other authors.
func pages(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "*.md")
	cmd.Dir = ".."
	text, err := cmd.Output()
	if err != nil {
		t.Skip("needs git and a clone: ", err)
	}
	var list []string
	for path := range strings.FieldsSeq(string(text)) {
		if _, err := fs.Stat(os.DirFS(".."), path); err == nil && !strings.HasPrefix(path, "third_party/") && !strings.Contains(path, "testdata/") {
			list = append(list, filepath.Join("..", filepath.FromSlash(path)))
		}
	}
	return list
}

// anchors returns the names that GitHub gives to the headings of a page.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		var b strings.Builder
		for _, r := range strings.ToLower(plain.ReplaceAllString(h[1], "$1")) {
			switch {
			case r == ' ':
				b.WriteByte('-')
			case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127:
				b.WriteRune(r)
			}
		}
		all[b.String()] = true
	}
	return all
}

// plain matches a link in a heading and captures its text.
var plain = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
