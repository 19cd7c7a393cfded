package jinja_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/chat/jinja"
	"github.com/trident-inference/trident/test/golden"
)

// row is one template whose output must equal that of Python's jinja2.
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

// oracle is jinja2 as transformers configures it.
var oracle = golden.Oracle{Script: "test/jinja/oracle.py", File: "testdata/oracle.golden", Form: form}

// form converts the oracle's answer to the format of [outcome].
func form(data json.RawMessage) (string, error) {
	var answer struct {
		Output *string
		Error  string
		Raised bool
	}
	err := json.Unmarshal(data, &answer)
	switch {
	case answer.Output != nil:
		return "output: " + *answer.Output, err
	case answer.Raised:
		return "raise_exception: " + answer.Error, err
	}
	return "error", err
}

// outcome describes the result of a render. Error texts differ from Python's, except those of
// raise_exception.
func outcome(got string, err error) string {
	var raised *jinja.RaisedError
	switch {
	case err == nil:
		return "output: " + got
	case errors.As(err, &raised):
		return "raise_exception: " + raised.Message
	}
	return "error"
}

// TestOracle compares every row byte for byte with jinja2 as transformers configures it. If Python
// fails, this package must fail, and must pass on the message of raise_exception.
func TestOracle(t *testing.T) {
	const now = "2024-07-26T09:05:03.000120"
	rows := append(expressionRows(t), templateRows(t)...)
	source := readFile(t, "testdata/vars.json")
	decoded, err := jinja.DecodeJSON([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var questions []golden.Question
	for _, r := range rows {
		questions = append(questions, golden.Question{Name: r.name, Body: map[string]any{"template": r.template, "vars": json.RawMessage(source), "now": now}})
	}
	answers := oracle.Answers(t, questions)
	for i, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got, err := render(r.template, decoded.(*jinja.Dict))
			if differs := answers[i].Differs(outcome(got, err)); differs != "" {
				t.Errorf("%s (%v)", differs, err)
			}
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
