package structured

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/test/cputime"
)

func quoted(tb testing.TB, text string) json.RawMessage {
	tb.Helper()
	value, err := marshal(text)
	if err != nil {
		tb.Fatal(err)
	}
	return value
}

// strings of an object, each with a limit of its own.
func objectOf(properties int, schema func(i int) string) string {
	parts := make([]string, properties)
	for i := range parts {
		parts[i] = fmt.Sprintf(`"p%d":%s`, i, schema(i))
	}
	return `{"type":"object","properties":{` + strings.Join(parts, ",") + `}}`
}

func limited(i int) string { return fmt.Sprintf(`{"type":"string","maxLength":%d}`, 100+i) }

// sizeCases are constraints of the sizes around the bound. Constraints with an empty want are sent to an engine
// that chooses its backend. The times are of one core and xgrammar 0.1.27 with a vocabulary of 49,152 tokens;
// "token" is what a token of an answer takes.
var sizeCases = []struct{ kind, value, want string }{
	{"regex", `[0-9]{4}-[0-9]{2}-[0-9]{2}`, ""},                                                                   // 0.00 s
	{"regex", `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, ""},                                 // 0.00 s
	{"regex", `[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}`, ""},                                               // 0.01 s
	{"regex", `[a-z]{1,64}`, ""},                                                                                  // 0.10 s
	{"regex", `.{0,1000}`, ""},                                                                                    // 0.31 s
	{"regex", `.{100}`, ""},                                                                                       // 0.07 s
	{"regex", `(?:[0-9]{1,3}\.){3}[0-9]{1,3}`, ""},                                                                // 0.00 s
	{"regex", `[A-Z][a-z]+(?: [A-Z][a-z]+){0,5}`, ""},                                                             // 0.02 s
	{"regex", `(a{2,5}b?){3,9}`, ""},                                                                              // 0.01 s
	{"regex", `([a-z]{1,15},){1,15}`, ""},                                                                         // 1.62 s
	{"regex", `.{0,100},.{0,100}`, ""},                                                                            // 0.64 s
	{"regex", `[ab]*a[ab]{12}`, ""},                                                                               // 0.79 s
	{"regex", strings.Repeat("(ab)?", 300), ""},                                                                   // 0.85 s
	{"regex", strings.Repeat("a", 16_000), ""},                                                                    // 0.08 s
	{"regex", `(([a-z]{1,15}){1,15}){1,15}`, "most of it in the repetition {1,15}"},                               // minutes
	{"regex", `([a-z]{1,20},){1,100}`, "most of it in the repetition {1,100}"},                                    // 13.0 s
	{"regex", `([a-z]{1,20} ?){1,5}`, "most of it in the repetition {1,5}"},                                       // 22.4 s
	{"regex", `(- .{1,80}\n){3,10}`, "most of it in the repetition {3,10}"},                                       // 20.2 s
	{"regex", `([a-z]{1,64} ){1,10}`, "most of it in the repetition {1,10}"},                                      // 6.5 s
	{"regex", `.*a.{10}`, "a regular expression whose size is above 1000000"},                                     // 14.6 s
	{"regex", `[ab]*a[ab]{13}`, "a regular expression whose size is above 1000000"},                               // 4.5 s
	{"regex", strings.Repeat("[^a]", 400), "a regular expression whose size is above 1000000"},                    // 2.2 s
	{"regex", strings.Repeat("(ab)?", 1000), "a regular expression whose size is above 1000000"},                  // 10 s
	{"regex", `(([a-z]+ ?)+-?)+`, "the repetition + of something whose parts"},                                    // minutes a token
	{"regex", `(.+ ?)+`, "the repetition + of something whose parts"},                                             // 0.04 s a token, and more
	{"regex", `((.{1,2})?.+){2,9}`, ""},                                                                           //
	{"regex", `(([a-z]{1,3}){1,3}){1,3}x?`, "the repetition {1,3} around repetitions"},                            //
	{"grammar", "root ::= a+\na ::= [^xy] \"y\"?", ""},                                                            //
	{"grammar", "root ::= a+\na ::= [^x]+ \"y\"?", "the repetition + of something whose parts"},                   // minutes a token
	{"grammar", "root ::= a{3}\na ::= b{0,40} b | b+\nb ::= \"y\"", "more than 2 repetitions of groups in a row"}, // 12 s and more by llguidance
	{"grammar", "root ::= a (a) (a)\na ::= b+ (b)\nb ::= \"y\"", "more than 2 repetitions of groups in a row"},
	{"grammar", "root ::= a (a)\na ::= b+ (b)\nb ::= \"y\"", ""},
	{"grammar", "root ::= (root) root | [a-z]", "the rule root, which names itself both first and"}, // minutes a token
	{"grammar", "root ::= (a)\na ::= b \"x\"\nb ::= a \"y\" | \"z\"", ""},
	{"grammar", "root ::= [a-z]+ \"-\"? root | \"\"", "the rule root, which repeats itself"},
	{"grammar", "root ::= (e)\ne ::= e \"+\" t | (t)\nt ::= [0-9]+ | \"(\" e \")\"", ""},
	{"grammar", "root ::= (v)\nv ::= \"[\" ws v (\",\" ws v)* \"]\" | [0-9]+ (ws)\nws ::= [ \\t\\n]*", ""},
	{"grammar", "root ::= ([a-z]{1,20} \",\"){1,100}", "a grammar whose size is above 1000000, most of it in the repetition {1,100}"},
	{"grammar", "root ::= i (\",\" i)*\ni ::= [a-z] [a-z0-9]{0,30}", ""}, // 0.10 s
	{"grammar", "root ::= r \"x\" | r \"y\"\nr ::= [a-z]{1,15}", ""},
	{"grammar", "root ::= r \"x\"" + strings.Repeat(" | r \"y\"", 200) + "\nr ::= [a-z]{1,15}", ""},
	{"grammar", "root ::= r" + strings.Repeat(" | r \"y\"", 1000) + "\nr ::= \"yes\"" + strings.Repeat(" | \"no\"", 500), "a grammar whose size is above"},
	{"json", `{"anyOf":[{"$ref":"#/$defs/a"}` + strings.Repeat(`,{"$ref":"#/$defs/a"}`, 999) + `],"$defs":{"a":{"enum":["` + strings.Repeat(`yes","`, 500) + `no"]}}}`, "a schema whose size is above"},
	{"json", objectOf(1, limited), ""}, // 0.39 s
	{"json", objectOf(6, limited), ""}, // 2.4 s
	{"json", objectOf(20, limited), "properties.p6: a schema whose size is above 1000000"},                                // 8.0 s
	{"json", objectOf(20, func(int) string { return `{"type":"string","maxLength":100}` }), ""},                           // 0.40 s
	{"json", objectOf(300, func(int) string { return `{"type":"string"}` }), ""},                                          // 1.3 s
	{"json", objectOf(1000, func(int) string { return `{"type":"string"}` }), "properties: a schema whose size is above"}, // 14 s
	{"json", objectOf(20, func(int) string { return `{"type":"array","items":{"type":"string"},"maxItems":20}` }), ""},    // 0.22 s
	{"json", `{"type":"string","pattern":"^[a-z]{1,64}$"}`, ""},                                                           // 0.11 s
	{"json", `{"type":"string","pattern":"^([a-z]{1,64} ){1,10}$"}`, "pattern: a pattern whose size is above 1000000"},    // 6.5 s
	{"json", `{"type":"array","items":{"type":"string"},"minItems":1000,"maxItems":5000}`, ""},                            // 0.01 s
	{"structural_tag", `{"type":"structural_tag","format":{"type":"regex","pattern":"[a-z]{1,64}"}}`, ""},
	{"structural_tag", `{"type":"structural_tag","format":{"type":"regex","pattern":"([a-z]{1,64} ){1,10}"}}`, "format.pattern: a structural tag whose size is above"},
	{"structural_tag", `{"type":"structural_tag","format":{"type":"grammar","grammar":"root ::= (root) root | [a-z]"}}`, "format.grammar: the rule root"},
	{"structural_tag", `{"triggers":["<f"],"structures":[` + strings.Repeat(`{"begin":"<f>","schema":`+objectOf(2, limited)+`,"end":"</f>"},`, 5) + `{"begin":"<g>","schema":{},"end":"</g>"}]}`, "structures[3].schema.properties.p0: a schema whose size is above"},
	{"choice", `["` + strings.Repeat(`yes","`, 16_000) + `no"]`, ""},                                                          //
	{"choice", `["` + strings.Repeat(strings.Repeat("x", 2000)+`","`, 600) + `no"]`, "a list of choices whose size is above"}, //
}

// TestSizes checks that a constraint that takes too long to compile, or too long for each token of an answer,
// isn't sent to a backend that may be xgrammar.
func TestSizes(t *testing.T) {
	for _, c := range sizeCases {
		value := json.RawMessage(c.value)
		if c.kind == "regex" || c.kind == "grammar" {
			value = quoted(t, c.value)
		}
		set := Auto
		if c.kind == "structural_tag" { // only xgrammar takes structural tags
			set = XGrammar
		}
		_, _, err := set.Judge(c.kind, value)
		name := c.value[:min(len(c.value), 100)]
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		refusal, ok := errors.AsType[*RefusalError](err)
		if !ok || !strings.Contains(err.Error(), c.want) || refusal.SupportedBy&Guidance == 0 {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
		if _, _, err := Guidance.Judge(c.kind, value); err != nil && c.kind != "structural_tag" {
			t.Errorf("%s: guidance: %v", name, err)
		}
	}
}

// TestSizeIsLinear checks that the time to find a text's size is in proportion to the text. Ten
// times the text may take 30 times the CPU time, which leaves room for a busy machine. Quadratic
// work would take 100 times as much.
func TestSizeIsLinear(t *testing.T) {
	took := func(kind, text string) time.Duration {
		return cputime.Of(t, func() { _, _, _ = Auto.Judge(kind, quoted(t, text)) })
	}
	rules := func(rule func(i int) string) func(n int) string {
		return func(n int) string {
			var text strings.Builder
			text.WriteString("root ::= r0\n")
			for i := range n {
				text.WriteString(rule(i))
			}
			fmt.Fprintf(&text, "r%d ::= \"b\"", n)
			return text.String()
		}
	}
	for _, test := range []struct {
		name, kind string
		large      int
		text       func(n int) string
	}{
		{"stars", "regex", 2500, func(n int) string { return strings.Repeat("[ab]*a", n) }},
		{"optional", "regex", 8000, func(n int) string { return strings.Repeat("a?", n) }},
		{"wide", "regex", 3000, func(n int) string { return "(" + strings.Repeat("ab|", n) + "a)" }},
		{"a chain", "grammar", 10_000, rules(func(i int) string { return fmt.Sprintf("r%d ::= r%d? \"a\"*\n", i, i+1) })},
		{"a chain, back", "grammar", 10_000, rules(func(i int) string { return fmt.Sprintf("r%d ::= \"a\"? r%d r0?\n", i, i+1) })},
		{"of many naming", "grammar", 10_000, rules(func(i int) string { return fmt.Sprintf("r%d ::= \"a\"\n", i) })},
	} {
		t.Run(test.name, func(t *testing.T) {
			tenth := test.text(test.large / 10)
			small := min(took(test.kind, tenth), took(test.kind, tenth), took(test.kind, tenth))
			large := took(test.kind, test.text(test.large))
			t.Logf("%s, ten times the text %s", small, large)
			if large > 30*max(small, time.Millisecond) {
				t.Errorf("%s for a tenth of the text, %s for all of it", small, large)
			}
		})
	}
	// Parentheses can't be nested deeper, so that these expressions don't grow.
	deep := strings.Repeat("(", maxGroups) + "a" + strings.Repeat("b?){15}", maxGroups)
	for name, text := range map[string]string{
		"nested numbers":  deep,
		"nested and wide": "(" + strings.Repeat(deep+"|", 15) + "a)",
		"nothing":         strings.Repeat("(", maxGroups) + strings.Repeat("){15}", maxGroups),
	} {
		if took := took("regex", text); took > 3*time.Second {
			t.Errorf("%s: %s", name, took)
		}
	}
}

// FuzzSizes checks that Judge neither fails nor works for long on any expression or grammar. Judge must read a
// constraint that it returned, and must return an expression unchanged the second time.
func FuzzSizes(f *testing.F) {
	for _, c := range sizeCases {
		if c.kind == "regex" || c.kind == "grammar" {
			f.Add(c.value)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 16_384 {
			return
		}
		for _, kind := range []string{"regex", "grammar"} {
			var sent json.RawMessage
			var err error
			if took := cputime.Of(t, func() { _, sent, err = Auto.Judge(kind, quoted(t, text)) }); took > time.Second {
				t.Errorf("%s: %s", kind, took)
			}
			if err != nil || !json.Valid(sent) {
				continue
			}
			_, again, err := Auto.Judge(kind, sent)
			if _, ok := errors.AsType[*RefusalError](err); err != nil && !ok {
				t.Errorf("%s: %q was sent as %s: %v", kind, text, sent, err)
			}
			if err == nil && string(again) != string(sent) && kind == "regex" {
				t.Errorf("%q was sent as %s, then as %s", text, sent, again)
			}
		}
	})
}
