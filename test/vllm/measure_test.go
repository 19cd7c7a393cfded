package vllm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/structured"
	"github.com/trident-inference/trident/test/tier"
	"github.com/trident-inference/trident/test/vllm/constraints"
)

var update = flag.Bool("update", false, "write what was measured")

const (
	constructsFile = "../../services/structured/testdata/constructs.jsonl"
	measuredFile   = "../../services/structured/testdata/vllm.jsonl"
)

// construct is a constraint with texts that satisfy it and texts that don't.
type construct struct {
	probeCase

	Crashes bool `json:"killer"`
}

// measured is a line of the table: the result of each backend for a form of a construct. The
// results are: taken; narrow (a text that satisfies it can't be written); refused; ends the engine;
// and lets through, with the text.
type measured struct {
	ID        string            `json:"id"`
	Form      string            `json:"form"` // form of the constraint: given, or its rewritten form for a setting
	Kind      string            `json:"kind"`
	Value     json.RawMessage   `json:"value"`
	Backends  map[string]string `json:"backends"`
	Auto      string            `json:"auto,omitempty"`       // the backend that "auto" picks
	AutoFails []string          `json:"auto_fails,omitempty"` // the backends that end the engine then
}

// forms are the settings for which constraints are rewritten.
var forms = []struct {
	name     string
	set      structured.Backends
	backends []string
}{
	{"auto", structured.Auto, []string{"xgrammar", "guidance"}},
	{"xgrammar", structured.XGrammar, []string{"xgrammar"}},
	{"outlines", structured.Outlines, []string{"outlines"}},
}

// TestMeasure computes the table of constructs by backends, and compares it with the recorded one;
// -update records it.
func TestMeasure(t *testing.T) {
	tier.OnlySlow(t)
	all := constructs(t)
	versions, table := measure(t, all, "given", func(c construct) (string, json.RawMessage, bool) { return c.Kind, c.Value, true }, "xgrammar", "guidance", "outlines")
	for _, f := range forms {
		_, more := measure(t, all, f.name, func(c construct) (string, json.RawMessage, bool) {
			kind, value, err := f.set.Judge(c.Kind, c.Value)
			return kind, value, err == nil
		}, f.backends...)
		table = append(table, more...)
	}
	var fresh bytes.Buffer
	fresh.Write(append(versions, '\n'))
	for _, line := range table {
		encoder := json.NewEncoder(&fresh)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	if *update {
		if err := os.WriteFile(measuredFile, fresh.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	recorded, err := os.ReadFile(measuredFile)
	if err != nil {
		t.Fatal(err)
	}
	got, want := strings.Split(fresh.String(), "\n"), strings.Split(string(recorded), "\n")
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("measured %s\nrecorded %s", got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("measured %d lines, recorded %d", len(got), len(want))
	}
}

// constructs reads the list of constructs.
func constructs(t *testing.T) []construct {
	t.Helper()
	raw, err := os.ReadFile(constructsFile)
	if err != nil {
		t.Fatal(err)
	}
	var all []construct
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c construct
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// measure probes the given form of each construct that has the form.
func measure(t *testing.T, all []construct, form string, of func(construct) (string, json.RawMessage, bool), backends ...string) (json.RawMessage, []measured) {
	t.Helper()
	var cases []probeCase
	var from []construct
	for _, c := range all {
		kind, value, ok := of(c)
		if !ok {
			continue
		}
		p := c.probeCase
		p.Kind, p.Value = kind, value
		cases, from = append(cases, p), append(from, c)
	}
	versions, results := probe(t, cases, backends...)
	table := make([]measured, len(results))
	for i, r := range results {
		m := measured{ID: r.ID, Form: form, Kind: cases[i].Kind, Value: cases[i].Value, Backends: map[string]string{}}
		for name := range r.Backends {
			m.Backends[name] = outcome(&r, name, from[i])
		}
		if r.Auto != nil {
			m.Auto = *r.Auto
		}
		for name := range r.Fails {
			m.AutoFails = append(m.AutoFails, name)
		}
		slices.Sort(m.AutoFails)
		table[i] = m
	}
	return versions, table
}

// clock matches the time in xgrammar's messages.
var clock = regexp.MustCompile(`\[\d\d:\d\d:\d\d\] /project/cpp/\S+ `)

// outcome returns a backend's result in one word. Responses are checked against the original
// construct.
func outcome(r *probed, name string, c construct) string {
	b := r.Backends[name]
	switch {
	case b.Refused != nil:
		return "refused"
	case b.Failed != nil:
		return "ends the engine: " + clock.ReplaceAllString(*b.Failed, "")
	}
	if i := slices.Index(b.Bad, true); i >= 0 {
		return "lets through " + c.Bad[i]
	}
	for _, answer := range b.Answers {
		if answer == nil {
			continue
		}
		if why := (constraints.Constraint{Kind: c.Kind, Value: c.Value}).Violation(*answer); why != "" {
			return fmt.Sprintf("lets through a text of random tokens: %s", strings.TrimLeft(why, "- "))
		}
	}
	if slices.Contains(b.Good, false) {
		return "narrow"
	}
	return "taken"
}
