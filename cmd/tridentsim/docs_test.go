package main

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/trident-inference/trident/test/tier"
)

var update = flag.Bool("update", false, "write the tables of docs/simulation.md")

// docsBlock is a command in docs/simulation.md with what it prints.
var docsBlock = regexp.MustCompile(`(?s)(<!-- tridentsim ?([^\n]*) -->\n)(.*?)(<!-- end of tridentsim -->)`)

// TestDocs compares the tables of docs/simulation.md with what their commands print. With -update
// it writes them.
func TestDocs(t *testing.T) {
	tier.OnlySlow(t)
	withoutRace(t)
	const page = "../../docs/simulation.md"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := docsBlock.FindAllStringSubmatch(string(data), -1)
	if len(blocks) < 5 {
		t.Fatalf("%d tables, which are too few", len(blocks))
	}
	for _, block := range blocks {
		t.Run(block[2], func(t *testing.T) {
			args := strings.Fields(block[2])
			for i, arg := range args {
				if name, ok := strings.CutPrefix(arg, "--trace="); ok {
					args[i] = "--trace=" + findTrace(t, name)
				}
			}
			var out bytes.Buffer
			if err := run(args, &out, &out); err != nil {
				t.Fatal(err)
			}
			if out.String() == block[3] {
				return
			}
			if !*update {
				t.Errorf("the page has\n%s\nthe command prints\n%s", block[3], out.String())
				return
			}
			data = bytes.Replace(data, []byte(block[0]), []byte(block[1]+out.String()+block[4]), 1)
			if err := os.WriteFile(page, data, 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}
