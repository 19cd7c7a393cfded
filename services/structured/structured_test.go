package structured

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// construct is a line of testdata/constructs.jsonl.
type construct struct {
	ID      string          `json:"id"`
	Kind    string          `json:"kind"`
	Value   json.RawMessage `json:"value"`
	Crashes bool            `json:"killer"`
}

// measured is a line of testdata/vllm.jsonl, which test/vllm writes.
type measured struct {
	ID        string            `json:"id"`
	Form      string            `json:"form"`
	Kind      string            `json:"kind"`
	Value     json.RawMessage   `json:"value"`
	Backends  map[string]string `json:"backends"`
	AutoFails []string          `json:"auto_fails"`
}

func lines[T any](t *testing.T, file string, skip int) (all []T) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(bytes.NewReader(raw))
	scanner.Buffer(nil, 1<<20)
	for n := 0; scanner.Scan(); n++ {
		var line T
		if n < skip {
			continue
		}
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	return all
}

// TestMeasured compares the checks with the measurements. All backends that the engine may run must
// enforce the sent form of a constraint. A backend that a refusal names must not allow text that
// the construct forbids. If a backend refuses something else in the constraint, the engine returns
// a 400.
func TestMeasured(t *testing.T) {
	type key struct{ id, form string }
	table := map[key]measured{}
	for _, m := range lines[measured](t, "testdata/vllm.jsonl", 1) {
		table[key{m.ID, m.Form}] = m
	}
	holds := func(word string) bool { return word == "taken" || word == "narrow" }
	sent := 0
	for _, c := range lines[construct](t, "testdata/constructs.jsonl", 0) {
		for form, set := range map[string]Backends{"auto": Auto, "xgrammar": XGrammar, "outlines": Outlines} {
			kind, value, err := set.Judge(c.Kind, c.Value)
			if refusal, ok := errors.AsType[*RefusalError](err); ok {
				for _, n := range names {
					word := table[key{c.ID, "given"}].Backends[n.name]
					if form != "outlines" && c.Kind != "structural_tag" && refusal.SupportedBy&n.backend != 0 && !holds(word) && word != "refused" {
						t.Errorf("%s for %s: it is said that %s takes it (%v), measured was: %s", c.ID, form, n.name, refusal, word)
					}
				}
				continue
			}
			sent++
			m, known := table[key{c.ID, form}]
			if err != nil || !known || m.Kind != kind || !sameJSON(t, m.Value, value) {
				t.Errorf("%s for %s is sent as %s %s (%v), measured was %s %s: measure again, as docs/contributing/vllm-testing.md says", c.ID, form, kind, value, err, m.Kind, m.Value)
				continue
			}
			for _, n := range names {
				word := m.Backends[n.name]
				if set&n.backend != 0 && !holds(word) && (kind != "structural_tag" || word != "refused") {
					t.Errorf("%s for %s, sent as %s: %s %s", c.ID, form, value, n.name, word)
				}
			}
			if form == "auto" && len(m.AutoFails) > 0 {
				t.Errorf("%s, sent as %s, ends an engine that runs %v", c.ID, value, m.AutoFails)
			}
		}
	}
	if sent < 500 {
		t.Errorf("only %d forms are sent", sent)
	}
}

func sameJSON(t *testing.T, a, b json.RawMessage) bool {
	t.Helper()
	var x, y bytes.Buffer
	if err := errors.Join(json.Compact(&x, a), json.Compact(&y, b)); err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// TestCrashingConstructs checks that constructs which terminate a vLLM that selects its own backend are never
// sent.
func TestCrashingConstructs(t *testing.T) {
	var killers []string
	for _, c := range lines[construct](t, "testdata/constructs.jsonl", 0) {
		if !c.Crashes {
			continue
		}
		killers = append(killers, c.ID)
		kind, value, err := Auto.Judge(c.Kind, c.Value)
		if err == nil && kind == c.Kind && bytes.Equal(value, c.Value) {
			t.Errorf("%s is sent as it came", c.ID)
		}
		if refusal, ok := errors.AsType[*RefusalError](err); ok && refusal.SupportedBy == 0 {
			t.Errorf("%s: no setting allows it: %v", c.ID, refusal)
		}
	}
	if len(killers) != 12 {
		t.Errorf("the killers are %s", strings.Join(killers, ", "))
	}
}

// TestForms checks that Backends.Judge converts schemas, regular expressions and grammars to
// equivalent ones that each backend in Auto supports.
func TestForms(t *testing.T) {
	for _, tt := range []struct{ name, kind, value, want string }{
		{"a lone limit that xgrammar writes wrongly", "json", `{"type":"integer","minimum":3}`, `json {"anyOf":[{"enum":[3,4,5,6,7,8,9]},{"type":"integer","minimum":10}]}`},
		{"a few integers", "json", `{"type":"integer","minimum":118,"exclusiveMaximum":121}`, `json {"enum":[118,119,120]}`},
		{"a oneOf that can't overlap", "json", `{"oneOf":[{"type":"string"},{"type":"integer"}]}`, `json {"anyOf":[{"type":"string"},{"type":"integer"}]}`},
		{"an allOf of one", "json", `{"title":"T","allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"type":"null"}}}`, `json {"$ref":"#/$defs/a","$defs":{"a":{"type":"null"}}}`},
		{"the order of properties", "json", `{"properties":{"z":{"type":"null"},"a":{"type":"null"}},"required":["z"]}`, `json {"type":"object","properties":{"z":{"type":"null"},"a":{"type":"null"}},"required":["z"]}`},
		{"a required property without a schema", "json", `{"type":"object","required":["a"]}`, `json {"type":"object","properties":{"a":{}},"required":["a"]}`},
		{"an expression", "regex", `"^(?P<x>a|b)+?\\d.[^c]$"`, `regex "(?:a|b)+[0-9][^\\n\\r][^c]"`},
		{"a pattern", "json", `{"type":"string","pattern":"^cat|dog.$"}`, `json {"type":"string","pattern":"^(?:cat|dog[^\"\\\\\\x00-\\x1f])$"}`},
		{"a grammar", "grammar", `"root ::= a-b # why\n  | A_b {1,2}\na-b ::= \"\\x41\\n\"\nA_b ::= [\\]^-]\nunused ::= \"x\""`, `grammar "root ::= r1 | r2{1,2}\nr1 ::= \"A\\n\"\nr2 ::= [\\]^-]"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kind, value, err := Auto.Judge(tt.kind, json.RawMessage(tt.value))
			if got := kind + " " + string(value); err != nil || got != tt.want {
				t.Errorf("got  %s (%v)\nwant %s", got, err, tt.want)
			}
		})
	}
}

// TestGuidance checks that Guidance.Judge rewrites character classes in patterns for llguidance,
// and refuses constructs that llguidance must not receive.
func TestGuidance(t *testing.T) {
	for _, tt := range []struct{ kind, value, want string }{
		{"regex", `"(?i)\\d[\\w.]\\S\\p{L}[^\\s\\]]\\\\d"`, `"(?i)[0-9][a-zA-Z0-9_.][^ \\t\\n\\r\\f\\v]\\p{L}[^ \\t\\n\\r\\f\\v\\]]\\\\d"`},
		{
			"json", `{"properties":{"pattern":{"pattern":"\\d"}},"enum":[{"pattern":"\\d"}],"anyOf":[{"pattern":"\\d"}]}`,
			`{"properties":{"pattern":{"pattern":"[0-9]"}},"enum":[{"pattern":"\\d"}],"anyOf":[{"pattern":"[0-9]"}]}`,
		},
		{"json", `{"items":{"pattern":"a\"b"}}`, "items.pattern: a quote in a pattern"},
		{"json", `{"x-guidance":{"coerce_one_of":true}}`, "x-guidance: the keyword x-guidance"},
	} {
		_, value, err := Guidance.Judge(tt.kind, json.RawMessage(tt.value))
		if got := string(value); got != tt.want && (err == nil || err.Error() != tt.want) {
			t.Errorf("%s: got %s, %v", tt.value, got, err)
		}
	}
}

// TestWorkIsBounded checks that Judge takes limited time and output for schemas of the maximum size
// that a request may have.
func TestWorkIsBounded(t *testing.T) {
	const many = 3000
	list := func(separator string, each func(i int) string) string {
		parts := make([]string, many)
		for i := range parts {
			parts[i] = each(i)
		}
		return strings.Join(parts, separator)
	}
	chain := list(",", func(i int) string {
		return fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1)
	})
	for name, schema := range map[string]string{
		"references":  `{"$defs":{"a":{"type":"null"},` + list(",", func(i int) string { return fmt.Sprintf(`"d%d":{"$ref":"#/$defs/a"}`, i) }) + `},"$ref":"#/$defs/a"}`,
		"a chain":     `{"$ref":"#/$defs/d0","$defs":{` + chain + fmt.Sprintf(`,"d%d":{"type":"null"}}}`, many),
		"a oneOf":     `{"oneOf":[` + list(",", func(i int) string { return fmt.Sprintf(`{"const":"%d"}`, i) }) + `]}`,
		"two enums":   `{"oneOf":[{"enum":[` + list(",", func(i int) string { return fmt.Sprintf(`"a%d"`, i) }) + `]},{"enum":[` + list(",", func(i int) string { return fmt.Sprintf(`"b%d"`, i) }) + `]}]}`,
		"limits":      `{"anyOf":[` + list(",", func(int) string { return `{"type":"integer","minimum":1,"maximum":999}` }) + `]}`,
		"required":    `{"type":"object","required":[` + list(",", func(i int) string { return fmt.Sprintf(`"r%d"`, i) }) + `]}`,
		"a long name": `{"type":"object","properties":{"` + strings.Repeat("n", 100*many) + `":{}}}`,
	} {
		for _, set := range []Backends{Auto, Outlines} {
			began := time.Now()
			_, out, _ := set.Judge("json", json.RawMessage(schema))
			if took := time.Since(began); took > 5*time.Second || len(out) > 4<<20 {
				t.Errorf("%s for %s: %s, %d bytes", name, set, took, len(out))
			}
		}
	}
}

// TestSettings checks that Of and Settings know the backends of vLLM by the names in the operator's
// setting, and that Of refuses other names.
func TestSettings(t *testing.T) {
	for name, want := range map[string]Backends{"auto": Auto, "xgrammar": XGrammar, "guidance": Guidance, "outlines": Outlines, "none": 0} {
		if got, err := Of(name); err != nil || got != want || !slices.Contains(Settings(), name) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := Of("lm-format-enforcer"); err == nil {
		t.Error("an unknown name is taken")
	}
}
