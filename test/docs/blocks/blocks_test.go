package blocks

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	const page = "# A\n\n```sh run\necho a\n```\n\n```text output\na\n```\n\n1. B\n\n   ```yaml check settings trident.yaml\n   a: 1\n     b: 2\n   ```\n\n" +
		"````text figure\n```sh\nno block\n```\n````\n\n```sh unrun: needs a GPU\nx\n```\n\n```python client.py\nimport a\n```\n"
	got, err := Parse("docs/recipes/a.md", page)
	if err != nil {
		t.Fatal(err)
	}
	want := []Block{
		{Page: "docs/recipes/a.md", Line: 3, Lang: "sh", Kind: Run, Code: "echo a\n"},
		{Page: "docs/recipes/a.md", Line: 7, Lang: "text", Kind: Output, Code: "a\n"},
		{Page: "docs/recipes/a.md", Line: 13, Lang: "yaml", Kind: Check, Note: "settings trident.yaml", Code: "a: 1\n  b: 2\n"},
		{Page: "docs/recipes/a.md", Line: 18, Lang: "text", Kind: Figure, Code: "```sh\nno block\n```\n"},
		{Page: "docs/recipes/a.md", Line: 24, Lang: "sh", Kind: Unrun, Note: "needs a GPU", Code: "x\n"},
		{Page: "docs/recipes/a.md", Line: 28, Lang: "python", Kind: Run, Note: "client.py", Code: "import a\n"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got[2].File() != "trident.yaml" || got[5].File() != "client.py" || got[4].File() != "" {
		t.Errorf("files %q, %q and %q", got[2].File(), got[5].File(), got[4].File())
	}
	if _, err := Parse("a.md", "```sh\n"); err == nil {
		t.Error("a block without an end is no error")
	}
}

// TestVerify checks that each rule finds what breaks it, and that a page that follows them passes.
func TestVerify(t *testing.T) {
	const never = "# A\n\nThe second command was never run here.\n\n"
	for _, c := range []struct{ name, page, want string }{
		{"a page without blocks", "# A\n", ""},
		{"run with output", "# A\n\n```sh run\na\n```\n\nIt prints:\n\n```json output\n{}\n```\n", ""},
		{"unrun and said so", never + "```sh unrun: needs a GPU\na\n```\n", ""},
		{"a drawing", "# A\n\n```mermaid\na\n```\n", ""},
		{"no language", "# A\n\n```\na\n```\n", "A.md:3: the block has no language"},
		{"no kind", "# A\n\n```sh\na\n```\n", "A.md:3: the block isn't marked"},
		{"a file name is no kind", "# A\n\n```python a.py\na\n```\n", "A.md:3: the block isn't marked"},
		{"text without a kind", "# A\n\n```text\na\n```\n", "A.md:3: the block isn't marked"},
		{"no reason", never + "```sh unrun\na\n```\n", "A.md:5: unrun needs a reason"},
		{"a short reason", never + "```sh unrun: no GPU\na\n```\n", "A.md:5: unrun needs a reason"},
		{"unrun and not said", "# A\n\nThis page has a command.\n\n```sh unrun: needs a GPU\na\n```\n", "A.md: a block is marked unrun"},
		{"said too late", "# A\n\nThis page has a command.\n\nIt was never run.\n\n```sh unrun: needs a GPU\na\n```\n", "A.md: a block is marked unrun"},
		{"output alone", "# A\n\n```text output\na\n```\n", "A.md:3: output follows no run block"},
		{"output of a check block", "# A\n\n```sh check\na\n```\n\n```text output\na\n```\n", "A.md:7: output follows no run block"},
		{"a figure of code", "# A\n\n```sh figure\na\n```\n", "A.md:3: a figure has the language text"},
		{"no tool", "# A\n\n```cobol check\na\n```\n", "A.md:3: no test reads blocks of the language cobol"},
		{"YAML of an unknown tool", "# A\n\n```yaml check\na: 1\n```\n", "A.md:3: the content doesn't show which tool"},
		{"no runner", "# A\n\n```go run\na\n```\n", "A.md:3: no test runs blocks of this language"},
	} {
		got := Verify("A.md", c.page)
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], c.want)) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestTool(t *testing.T) {
	for _, c := range []struct{ lang, note, code, want string }{
		{"sh", "", "a", Shell},
		{"yaml", "keys", "services:\n", Keys},
		{"yaml", "", "# a\nservices:\n  a: {}\n", Compose},
		{"yaml", "", "apiVersion: v1\n", Kube},
		{"yaml", "", "scrape_configs: []\n", Prometheus},
		{"yaml", "", "# yaml-language-server: $schema=config.schema.json\n", Settings},
		{"yaml", "settings trident.yaml", "a: 1\n", Settings},
	} {
		b := Block{Lang: c.lang, Kind: Check, Note: c.note, Code: c.code}
		if got, err := b.Tool(); err != nil || got != c.want {
			t.Errorf("%q is read by %s, want %s: %v", c.code, got, c.want, err)
		}
	}
}
