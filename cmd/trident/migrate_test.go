package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var flagName = regexp.MustCompile("`--([a-z0-9-]+)")

// TestMigrateFlags checks that the flags of Trident in the tables of docs/guides/migrate.md exist. If a row
// has no flag of Trident, Trident must reject the other server's flag.
func TestMigrateFlags(t *testing.T) {
	page, err := os.ReadFile("../../docs/guides/migrate.md")
	if err != nil {
		t.Fatal(err)
	}
	known := knownFlags(t)
	tables, rows := 0, 0
	columns := map[int]bool{} // true for the numbers of columns with Trident's flags; empty outside of a table
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "|") {
			columns = map[int]bool{}
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(columns) == 0 {
			tables++
			for i, head := range cells {
				head = strings.TrimSpace(head)
				columns[i] = head == "Trident" || head == "as before"
			}
			continue
		}
		rows++
		for i, cell := range cells {
			for _, name := range flagName.FindAllStringSubmatch(cell, -1) {
				if columns[i] && !known[name[1]] {
					t.Errorf("trident has no --%s: %s", name[1], line)
				}
			}
		}
		if len(cells) == 3 && strings.TrimSpace(cells[1]) == "none" && !columns[2] {
			for _, name := range flagName.FindAllStringSubmatch(cells[0], -1) {
				if known[name[1]] {
					t.Errorf("trident has --%s: %s", name[1], line)
				}
			}
		}
	}
	if tables != 9 || rows < 90 {
		t.Errorf("%d tables with %d rows", tables, rows)
	}
}

// TestMigrateIsComplete checks that the tables have all flags of the servers that Trident can
// replace with the same flags, and that Trident accepts each of these flags by name.
func TestMigrateIsComplete(t *testing.T) {
	page, err := os.ReadFile("../../docs/guides/migrate.md")
	if err != nil {
		t.Fatal(err)
	}
	known := knownFlags(t)
	for _, server := range []struct{ section, flags string }{
		{"From Triton's OpenAI frontend", "model-repository tokenizer backend lora-separator tritonserver-log-verbose-level host tool-call-parser max-tool-call-parse-bytes chat-template default-max-tokens model-control-mode load-model openai-port uvicorn-log-level openai-restricted-api http-max-input-size enable-kserve-frontends kserve-http-port kserve-grpc-port"},
		{"From the Rust proxy openai_trtllm", "host port triton-endpoint history-template history-template-file otlp-endpoint api-key"},
		{"From the Python proxy for TensorRT-LLM", "tokenizer_dir engine_dir default_max_tokens host port"},
	} {
		_, text, found := strings.Cut(string(page), "\n## "+server.section+"\n")
		if !found {
			t.Errorf("no section %s", server.section)
		}
		text, _, _ = strings.Cut(text, "\n## ")
		_, table, _ := strings.Cut(text, "\n### Flags\n")
		var theirs strings.Builder // the cells of the table's first column, which has the other server's flags
		for line := range strings.Lines(table) {
			if cells := strings.Split(line, "|"); len(cells) > 1 {
				theirs.WriteString(cells[1])
			}
		}
		for flag := range strings.FieldsSeq(server.flags) {
			if !strings.Contains(theirs.String(), "`--"+flag+"`") {
				t.Errorf("%s: no row for --%s", server.section, flag)
			}
			if !known[flag] {
				t.Errorf("%s: trident takes no --%s", server.section, flag)
			}
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
