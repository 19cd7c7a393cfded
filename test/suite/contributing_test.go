package main

import (
	"os"
	"strings"
	"testing"
)

// TestContributing compares the table of CONTRIBUTING.md with the list of suites. Each suite has
// one row with its tier and its description, in the order of the list.
func TestContributing(t *testing.T) {
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "| suite | tier | seconds | what it shows |\n|---|---|---|---|\n")
	if !ok {
		t.Fatal("CONTRIBUTING.md has no table of suites")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	if len(rows) != len(suites()) {
		t.Errorf("%d rows, want %d", len(rows), len(suites()))
	}
	for i, s := range suites() {
		tier := "check"
		if s.Slow {
			tier = "slow"
		}
		if i >= len(rows) {
			t.Errorf("no row for %s", s.Name)
			continue
		}
		cells := strings.Split(strings.Trim(rows[i], "| "), " | ")
		if len(cells) != 4 || cells[0] != s.Name || cells[1] != tier || cells[2] == "" || cells[3] != s.Shows {
			t.Errorf("row %q, want %s, %s, seconds, %s", rows[i], s.Name, tier, s.Shows)
		}
	}
}

// TestTargets checks that each suite without Go tests is a target of the Makefile.
func TestTargets(t *testing.T) {
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range suites() {
		if len(s.Packages) == 0 && !strings.Contains(string(text), "\n"+s.Name+":") {
			t.Errorf("the Makefile has no target %s", s.Name)
		}
	}
}
