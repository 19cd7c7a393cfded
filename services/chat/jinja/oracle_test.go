package jinja_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/chat/jinja"
)

// row is one template that must give what Python's jinja2 gives.
type row struct{ name, template string }

// expressionRows reads testdata/expressions.txt: each line is an expression.
func expressionRows(tb testing.TB) []row {
	tb.Helper()
	var rows []row
	group := ""
	for line := range strings.Lines(readFile(tb, "testdata/expressions.txt")) {
		line = strings.TrimSuffix(line, "\n")
		switch name, isGroup := strings.CutPrefix(line, "== "); {
		case isGroup:
			group = name
		case group != "" && line != "":
			rows = append(rows, row{group + "/" + line, "{{ " + line + " }}"})
		}
	}
	return rows
}

// templateRows reads testdata/templates.txt.
func templateRows(tb testing.TB) []row {
	tb.Helper()
	var rows []row
	parts := strings.Split("\n"+readFile(tb, "testdata/templates.txt"), "\n=== ")
	for _, part := range parts[1:] {
		name, template, _ := strings.Cut(part, "\n")
		template = strings.NewReplacer("␤", "\r\n", "␍", "\r").Replace(template)
		rows = append(rows, row{"templates/" + name, template})
	}
	return rows
}

func readFile(tb testing.TB, name string) string {
	tb.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// answer is what Python gave for a row.
type answer struct {
	Output *string `json:"output"`
	Error  string  `json:"error"`
	Raised bool    `json:"raised"`
}

// python is the interpreter with the pinned jinja2 and transformers.
func python(t *testing.T) string {
	t.Helper()
	path := os.Getenv("TRIDENT_TEST_PYTHON")
	if path == "" {
		path, _ = filepath.Abs("../../../.venv-test/bin/python")
	}
	if _, err := os.Stat(path); err != nil {
		if testing.Short() {
			t.Skip("no Python with jinja2 and transformers: run make setup-test")
		}
		t.Fatalf("no Python with jinja2 and transformers at %s: run make setup-test, or name one in TRIDENT_TEST_PYTHON", path)
	}
	return path
}

// ask renders all rows with Python.
func ask(t *testing.T, rows []row, vars, now string) []answer {
	t.Helper()
	var in bytes.Buffer
	enc := json.NewEncoder(&in)
	for _, r := range rows {
		request := map[string]any{"template": r.template, "vars": json.RawMessage(vars), "now": now}
		if err := enc.Encode(request); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python(t), "-W", "ignore", "../../../test/jinja/oracle.py")
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "HF_HUB_OFFLINE=1")
	cmd.Stdin = &in
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("oracle.py: %v\n%s", err, &stderr)
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	answers := make([]answer, len(rows))
	for i := range answers {
		if err := dec.Decode(&answers[i]); err != nil {
			t.Fatalf("answer %d of oracle.py: %v\n%s", i, err, &stderr)
		}
	}
	return answers
}

// TestOracle compares every row byte for byte with jinja2 as transformers configures it. Where Python fails
// we must fail, and pass on the message of raise_exception.
func TestOracle(t *testing.T) {
	const now = "2024-07-26T09:05:03.000120"
	rows := append(expressionRows(t), templateRows(t)...)
	source := readFile(t, "testdata/vars.json")
	decoded, err := jinja.DecodeJSON([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	answers := ask(t, rows, source, now)
	for i, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got, err := render(r.template, decoded.(*jinja.Dict))
			compare(t, answers[i], got, err)
		})
	}
}

func render(template string, vars *jinja.Dict) (string, error) {
	clock := func() time.Time { return time.Date(2024, 7, 26, 9, 5, 3, 120_000, time.UTC) }
	tmpl, err := jinja.Parse("test", template, jinja.WithClock(clock))
	if err != nil {
		return "", err
	}
	return tmpl.Render(context.Background(), vars)
}

func compare(t *testing.T, want answer, got string, err error) {
	t.Helper()
	var raised *jinja.RaisedError
	switch isRaised := errors.As(err, &raised); {
	case want.Output != nil && err != nil:
		t.Errorf("we fail with %q, Python gives %q", err, *want.Output)
	case want.Output != nil && got != *want.Output:
		t.Errorf("got    %q\nPython %q", got, *want.Output)
	case want.Output == nil && err == nil:
		t.Errorf("we give %q, Python fails with %s", got, want.Error)
	case isRaised != want.Raised, isRaised && raised.Message != want.Error:
		t.Errorf("we fail with %v, Python with %s", err, want.Error)
	}
}
