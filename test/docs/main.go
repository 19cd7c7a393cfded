// Command docs counts the code blocks of the documentation by the way in which each is kept true, or
// prints them as JSON. The tests beside it check the pages by the rules of the package blocks, and read
// the check blocks with their tools.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/trident-inference/trident/test/docs/blocks"
)

func main() {
	list := flag.Bool("json", false, "print the blocks as JSON")
	unrun := flag.Bool("unrun", false, "print the blocks that are never run, with their reasons")
	flag.Parse()
	if err := run(os.Stdout, *list, *unrun); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// run prints the blocks of the source tree in the current folder.
func run(w io.Writer, list, unrun bool) error {
	all, err := blocks.Read(".")
	if err != nil {
		return err
	}
	if list {
		return printJSON(w, all)
	}
	if unrun {
		return printUnrun(w, all)
	}
	return printCounts(w, all)
}

// printJSON prints the blocks with the tools that read them.
func printJSON(w io.Writer, all []blocks.Block) error {
	type row struct {
		blocks.Block

		Tool string `json:"tool"` // empty if no tool reads the block
	}
	var rows []row
	for _, b := range all {
		r := row{Block: b}
		if b.Kind == blocks.Check {
			var err error
			if r.Tool, err = b.Tool(); err != nil {
				return fmt.Errorf("%s: %w", b, err)
			}
		}
		rows = append(rows, r)
	}
	return json.NewEncoder(w).Encode(rows)
}

func printUnrun(w io.Writer, all []blocks.Block) error {
	for _, b := range all {
		if b.Kind == blocks.Unrun {
			if _, err := fmt.Fprintf(w, "%s: %s\n", b, b.Note); err != nil {
				return err
			}
		}
	}
	return nil
}

// printCounts prints a row for each page, and the sums.
func printCounts(w io.Writer, all []blocks.Block) error {
	var pages []string
	counts := map[string]map[blocks.Kind]int{"all pages": {}}
	for _, b := range all {
		if counts[b.Page] == nil {
			pages = append(pages, b.Page)
			counts[b.Page] = map[blocks.Kind]int{}
		}
		counts[b.Page][b.Kind]++
		counts["all pages"][b.Kind]++
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(page string, of map[blocks.Kind]int) {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\n", page, of[blocks.Run], of[blocks.Check], of[blocks.Unrun]) // Flush has the error
	}
	_, _ = fmt.Fprintln(table, "page\trun\tcheck\tunrun")
	for _, page := range append(pages, "all pages") {
		row(page, counts[page])
	}
	return table.Flush()
}
