package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var flagName = regexp.MustCompile("`--([a-z0-9-]+)")

// migrationPages are the pages that lead from another server to Trident, with that server's flags, which Trident accepts
// by name. TestMigrateNamesTritonserver has those of tritonserver.
var migrationPages = []struct{ name, flags string }{
	{"from-tritonserver", ""},
	{"from-triton-openai-frontend", "model-repository tokenizer backend lora-separator tritonserver-log-verbose-level host tool-call-parser max-tool-call-parse-bytes chat-template default-max-tokens model-control-mode load-model openai-port uvicorn-log-level openai-restricted-api http-max-input-size enable-kserve-frontends kserve-http-port kserve-grpc-port"},
	{"from-openai-trtllm", "host port triton-endpoint history-template history-template-file otlp-endpoint api-key"},
	{"from-tritonopenaiserver", "tokenizer_dir engine_dir default_max_tokens host port"},
	{"from-litellm", ""},
}

func migrationPage(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/guides/" + name + ".md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// TestMigrateFlags checks that the flags of Trident in the tables of the migration pages exist. If a row
// has no flag of Trident, Trident must reject the other server's flag.
func TestMigrateFlags(t *testing.T) {
	known := knownFlags(t)
	tables, rows := 0, 0
	for _, p := range migrationPages {
		columns := map[int]bool{} // true for the numbers of columns with Trident's flags; empty outside of a table
		for line := range strings.Lines(migrationPage(t, p.name)) {
			if !strings.HasPrefix(line, "|") {
				columns = map[int]bool{}
				continue
			}
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
			if len(columns) == 0 {
				tables++
				for i, head := range cells {
					head = strings.TrimSpace(head)
					columns[i] = head == "Trident" || head == "keep the old behavior"
				}
				continue
			}
			rows++
			checkMigrationRow(t, known, columns, cells)
		}
	}
	if tables != 10 || rows < 100 {
		t.Errorf("%d tables with %d rows", tables, rows)
	}
}

func checkMigrationRow(t *testing.T, known map[string]bool, columns map[int]bool, cells []string) {
	t.Helper()
	for i, cell := range cells {
		for _, name := range flagName.FindAllStringSubmatch(cell, -1) {
			if columns[i] && !known[name[1]] {
				t.Errorf("trident has no --%s: %s", name[1], cells)
			}
		}
	}
	if len(cells) == 3 && strings.TrimSpace(cells[1]) == "none" && !columns[2] {
		for _, name := range flagName.FindAllStringSubmatch(cells[0], -1) {
			if known[name[1]] {
				t.Errorf("trident has --%s: %s", name[1], cells)
			}
		}
	}
}

// TestMigrateIsComplete checks that the tables have all flags of the servers that Trident can
// replace with the same flags, and that Trident accepts each of these flags by name.
func TestMigrateIsComplete(t *testing.T) {
	known := knownFlags(t)
	for _, p := range migrationPages {
		if p.flags == "" {
			continue
		}
		_, table, found := strings.Cut(migrationPage(t, p.name), "\n## Flags\n")
		if !found {
			t.Errorf("%s has no section Flags", p.name)
		}
		var theirs strings.Builder // the cells of the table's first column, which has the other server's flags
		for line := range strings.Lines(table) {
			if cells := strings.Split(line, "|"); len(cells) > 1 {
				theirs.WriteString(cells[1])
			}
		}
		for flag := range strings.FieldsSeq(p.flags) {
			if !strings.Contains(theirs.String(), "`--"+flag+"`") {
				t.Errorf("%s: no row for --%s", p.name, flag)
			}
			if !known[flag] {
				t.Errorf("%s: trident takes no --%s", p.name, flag)
			}
		}
	}
}

// TestMigrateNamesTritonserver checks that docs/guides/from-tritonserver.md has a row for each of
// tritonserver's flags, those of newer versions than the tests run included.
func TestMigrateNamesTritonserver(t *testing.T) {
	page := migrationPage(t, "from-tritonserver")
	for _, f := range tritonserverFlags() {
		if !strings.Contains(page, "\n| `--"+f.name+"`") && !strings.Contains(page, ", `--"+f.name+"`") {
			t.Errorf("from-tritonserver.md has no row for --%s", f.name)
		}
	}
}

// knownFlags returns all flags that trident --help lists, and their aliases.
func knownFlags(t *testing.T) map[string]bool {
	t.Helper()
	parser, err := newParser(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, group := range parser.Model.AllFlags(true) {
		for _, f := range group {
			known[f.Name] = true
			for _, alias := range f.Aliases {
				known[alias] = true
			}
		}
	}
	return known
}
