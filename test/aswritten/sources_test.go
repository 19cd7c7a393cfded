package aswritten

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sourcesVariable names a folder with clones of the documents' repositories, in folders of their names.
const sourcesVariable = "TRIDENT_TEST_SOURCES"

// file returns a file of the document's repository. The test is skipped without the clones.
func (d *document) file(t *testing.T, name string) string {
	t.Helper()
	folder := os.Getenv(sourcesVariable)
	if folder == "" {
		t.Skip("needs clones of the documents' repositories: " + sourcesVariable + "=FOLDER")
	}
	repository := filepath.Join(folder, path.Base(d.Repository))
	text, err := exec.CommandContext(t.Context(), "git", "-C", repository, "show", d.Commit+":"+name).Output()
	if err != nil {
		t.Fatalf("%s of %s: %v", name, repository, err)
	}
	return string(text)
}

var (
	fence     = regexp.MustCompile("(?ms)^ *```[a-z]*\n(.*?\\n)? *```$")
	blanks    = regexp.MustCompile(`\s+`)
	continued = regexp.MustCompile(`\\\n\s*`)
)

// blocks returns the code blocks of a page, the first one at index 1.
func blocks(page string) []string {
	all := []string{""}
	for _, found := range fence.FindAllStringSubmatch(page, -1) {
		all = append(all, found[1])
	}
	return all
}

// oneLine joins the lines of a command, so that its layout doesn't matter.
func oneLine(code string) string {
	return strings.TrimSpace(blanks.ReplaceAllString(continued.ReplaceAllString(code, " "), " "))
}

// TestSources checks that the tables have all code blocks of the documents, and each command as it is written there.
func TestSources(t *testing.T) {
	for _, d := range documents() {
		t.Run(d.Title, func(t *testing.T) {
			code := blocks(d.file(t, d.File))
			named := slices.Clone(d.Other)
			for _, g := range d.Groups {
				for _, c := range g.Commands {
					named = append(named, c.Block)
					if c.Block >= len(code) {
						t.Errorf("%s: no block %d", c.Line, c.Block)
					} else if c.Block > 0 && c.Program == "" && !strings.Contains(oneLine(code[c.Block]), oneLine(c.Line)) {
						t.Errorf("block %d hasn't the command\n%s\n%s", c.Block, oneLine(c.Line), code[c.Block])
					}
				}
			}
			for i, text := range code[1:] {
				if !slices.Contains(named, i+1) {
					t.Errorf("the table lacks block %d:\n%s", i+1, text)
				}
			}
		})
	}
}

// sourceProgram writes the document's own program of a command into a file and returns its path. It returns "" if there
// are no clones.
func sourceProgram(t *testing.T, d *document, c command) string {
	t.Helper()
	if os.Getenv(sourcesVariable) == "" || c.Program == "" {
		return ""
	}
	var text string
	if c.Source != "" {
		text = d.file(t, c.Source)
	} else {
		text = blocks(d.file(t, d.File))[c.Block]
	}
	file := filepath.Join(t.TempDir(), "program"+strconv.Itoa(c.Block)+".py")
	write(t, file, text)
	return file
}
