package toolparser

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDocs checks that the table of docs/guides/models.md has each parser's name, the form of its forced calls,
// and the families that users look for.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../docs/guides/models.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(data), "\n## Tool calls and reasoning\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatal("docs/guides/models.md has no section about tool calls and reasoning")
	}
	var rows []string
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "| ") {
			rows = append(rows, line)
		}
	}
	in := func(column int, name string) bool {
		for _, row := range rows {
			if cells := strings.Split(row, " |"); len(cells) > column && strings.Contains(cells[column], "`"+name+"`") {
				return true
			}
		}
		return false
	}
	for _, family := range []string{
		"Apertus", "Command A", "DeepSeek", "dots", "ERNIE", "Firefunction", "Gemma", "GigaChat", "GLM", "gpt-oss", "Granite", "Hermes", "Hunyuan", "Inkling", "InternLM", "Jamba", "K2 Horizon", "Kimi",
		"LFM", "Ling", "Llama", "LongCat", "Magistral", "MiMo", "MiniCPM", "MiniMax", "Mistral", "Muse", "Nemotron", "Olmo", "Phi", "PLaMo", "Qwen", "QwQ", "Seed-OSS", "Step", "ToolACE", "xLAM",
	} {
		if !slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(strings.Split(row, " | ")[0], family) }) {
			t.Errorf("no row has the family %s", family)
		}
	}
	for _, row := range rows[1:] {
		cells := strings.Split(row, " |")
		name, _, _ := strings.Cut(strings.TrimPrefix(cells[1], " `"), "`")
		d, err := toolsNamed(name)
		want := map[bool]string{false: " JSON", true: " own form"}[d.forced != nil]
		if err != nil || len(cells) != 7 || cells[3] != want {
			t.Errorf("row %q, %v: the form of forced calls is%s", row, err, want)
		}
	}
	for _, d := range toolDialects() {
		for _, name := range d.names {
			if !in(1, name) {
				t.Errorf("no row has the tool-call parser %s", name)
			}
		}
	}
	for _, d := range reasoningDialects() {
		for _, name := range d.names {
			if !in(2, name) {
				t.Errorf("no row has the reasoning parser %s", name)
			}
		}
	}
}
