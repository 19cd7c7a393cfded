package vllm

import (
	"strconv"
	"testing"

	"github.com/trident-inference/trident/services/structured"
	"github.com/trident-inference/trident/test/tier"
	"github.com/trident-inference/trident/test/vllm/constraints"
)

// TestGenerated generates 500 schemas, regular expressions and grammars. For those that a setting
// allows, each backend of the engine must accept the sent form, in any order of the backends, and
// all responses must satisfy the original constraint.
func TestGenerated(t *testing.T) {
	tier.OnlySlow(t)
	const number = 500
	made, err := constraints.Make(number, 19)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []struct {
		name     string
		set      structured.Backends
		backends []string
		least    int // minimum number of allowed constraints
	}{
		{"auto", structured.Auto, []string{"xgrammar", "guidance"}, 150},
		{"xgrammar", structured.XGrammar, []string{"xgrammar"}, 150},
		{"guidance", structured.Guidance, []string{"guidance"}, 300},
	} {
		t.Run(f.name, func(t *testing.T) {
			var cases []probeCase
			var given []constraints.Constraint
			for i, c := range made {
				judged := probeCase{ID: strconv.Itoa(i), Walks: 4}
				var err error
				if judged.Kind, judged.Value, err = f.set.Judge(c.Kind, c.Value); err == nil {
					cases, given = append(cases, judged), append(given, c)
				}
			}
			if len(cases) < f.least {
				t.Errorf("only %d of %d generated schemas are allowed", len(cases), number)
			}
			_, results := probe(t, cases, f.backends...)
			answers := 0
			for i, r := range results {
				for name, b := range r.Backends {
					switch {
					case b.Failed != nil, len(r.Fails) > 0 && f.name == "auto":
						t.Errorf("%s ends on %s: %v %s", name, cases[i].Value, r.Fails, textOf(b.Failed))
					case b.Refused != nil && f.name != "guidance": // guidance checks constraints itself
						t.Errorf("%s refuses %s: %s", name, cases[i].Value, *b.Refused)
					}
					for _, answer := range b.Answers {
						if answer == nil {
							continue
						}
						answers++
						if why := given[i].Violation(*answer); why != "" {
							t.Errorf("%s\nby %s, sent as %s\nhas the response %q: %s", given[i].Value, name, cases[i].Value, *answer, why)
						}
					}
				}
			}
			t.Logf("%d of %d generated schemas are allowed, with %d responses", len(cases), number, answers)
		})
	}
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
