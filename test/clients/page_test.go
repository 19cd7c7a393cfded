package clients

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// pages is the folder of the pages about clients, relative to this package.
const pages = "../../docs/clients"

// served is the address at which the pages expect Trident.
const served = "127.0.0.1:9000"

// page is a page about a client: its text, and the parts that a reader copies.
type page struct {
	text   string
	files  map[string]string // contents of code blocks by their name, such as "python agent.py"
	script string            // the code blocks "sh run", which a shell runs
}

// codeBlock matches a code block. Its first line has the language and a file name, "run", or nothing more.
var codeBlock = regexp.MustCompile("(?s)\n```([a-z]+)(?: ([^\n]+))?\n(.*?\n)```\n")

// readPage reads the page of a client.
func readPage(name string) (page, error) {
	raw, err := os.ReadFile(filepath.Join(pages, name+".md"))
	if err != nil {
		return page{}, err
	}
	p := page{text: string(raw), files: map[string]string{}}
	for _, block := range codeBlock.FindAllStringSubmatch(p.text, -1) {
		switch name := block[2]; name {
		case "":
		case "run":
			p.script += block[3]
		default:
			if _, twice := p.files[name]; twice {
				return page{}, fmt.Errorf("two code blocks are named %s", name)
			}
			p.files[name] = block[3]
		}
	}
	if p.script == "" {
		return page{}, fmt.Errorf("the page has no code block `sh run`")
	}
	return p, nil
}

// lines returns the number of lines that a reader copies, without blank ones.
func (p page) lines() int {
	n := 0
	for _, text := range append(slices.Collect(maps.Values(p.files)), p.script) {
		for line := range strings.Lines(text) {
			if strings.TrimSpace(line) != "" {
				n++
			}
		}
	}
	return n
}

// write writes the page's files into a folder, and its commands as run.sh. replace changes addresses.
func (p page) write(dir string, replace *strings.Replacer) error {
	files := map[string]string{"run.sh": "set -e\n" + p.script}
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
