package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trident-inference/trident/test/docs/blocks"
)

const root = "../.."

// pages returns all pages with their text.
func pages(t *testing.T) map[string]string {
	t.Helper()
	names, err := blocks.Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(text)
	}
	return all
}

// TestBlocks checks that each code block of the documentation has a kind, and prints the number
// of blocks of each kind.
func TestBlocks(t *testing.T) {
	for page, text := range pages(t) {
		for _, wrong := range blocks.Verify(page, text) {
			t.Error(wrong)
		}
	}
	all, err := blocks.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	count := map[blocks.Kind]int{}
	for _, b := range all {
		count[b.Kind]++
	}
	if count[blocks.Run] < 100 || count[blocks.Check] < 50 {
		t.Errorf("%v blocks, want 100 that run and 50 that are checked at least: does the pattern still match?", count)
	}
	t.Logf("%d blocks run, %d checked, %d unrun", count[blocks.Run], count[blocks.Check], count[blocks.Unrun])
}

// TestIndexes checks that the index of each folder links to all pages of the folder, so that the
// site's navigation has them.
func TestIndexes(t *testing.T) {
	all := pages(t)
	for page := range all {
		dir, name := filepath.Split(page)
		index := dir + "README.md"
		if name == "README.md" {
			if dir == "" || dir == "docs/" {
				continue
			}
			index, name = "docs/README.md", strings.TrimPrefix(page, "docs/")
		}
		if !strings.Contains(all[index], "("+name+")") {
			t.Errorf("%s doesn't link to %s", index, page)
		}
	}
}

// TestCommand checks the output of the command.
func TestCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"README.md":     "# A\n\nOne command was never run.\n\n```sh unrun: needs a GPU\na\n```\n",
		"docs/guide.md": "# B\n\n```sh run\na\n```\n\n```text output\na\n```\n\n```json check\n1\n```\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		list, unrun bool
		want        string
	}{
		{false, false, "page           run  check  unrun\nREADME.md      0    0      1\ndocs/guide.md  1    1      0\nall pages      1    1      1\n"},
		{false, true, "README.md:5: needs a GPU\n"},
	} {
		var out bytes.Buffer
		if err := run(&out, c.list, c.unrun); err != nil || out.String() != c.want {
			t.Errorf("%v: got\n%s, want\n%s", err, &out, c.want)
		}
	}
	var out bytes.Buffer
	var all []blocks.Block
	if err := run(&out, true, false); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &all); err != nil || len(all) != 4 || all[3].Code != "1\n" || all[3].Kind != blocks.Check {
		t.Errorf("%v: %+v", err, all)
	}
}
