package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/trident-inference/trident/test/docs/blocks"
)

// maxReadmeWords is the maximum number of words of the README, as wc -w counts them.
const maxReadmeWords = 900

// TestReadme checks the length of the README, that its first block has the commands that build and test, and that it
// shows the pictures that the benches and the recording write.
func TestReadme(t *testing.T) {
	text := pages(t)["README.md"]
	if n := len(strings.Fields(text)); n > maxReadmeWords {
		t.Errorf("README.md has %d words, at most %d are allowed: move a part to docs/", n, maxReadmeWords)
	}
	list, err := blocks.Parse("README.md", text)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 || !regexp.MustCompile(`^make run .*\nmake test .*\n$`).MatchString(list[0].Code) {
		t.Error("the first block of README.md doesn't have make run and make test")
	}
	for _, picture := range []string{"performance-readme", "terminal"} {
		for _, theme := range []string{"light", "dark"} {
			file := "docs/" + picture + "-" + theme + ".svg"
			if !strings.Contains(text, `="`+file+`"`) {
				t.Errorf("README.md doesn't show %s", file)
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Error(err)
			}
		}
	}
}
