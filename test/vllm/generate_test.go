package vllm

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/structured"
	"github.com/trident-inference/trident/test/tier"
)

// TestGenerated makes up 500 schemas, expressions and grammars. Of those that a setting
// allows, each backend that the engine may run takes the form that is sent, in every order
// of the backends, and all answers satisfy the constraint as it was given.
func TestGenerated(t *testing.T) {
	tier.OnlySlow(t)
	const number = 500
	g := &generator{rand.New(rand.NewPCG(19, 0))}
	var all []probeCase
	for i := range number {
		kind, value := g.constraint(i)
		all = append(all, probeCase{ID: fmt.Sprintf("%d", i), Kind: kind, Value: value, Walks: 4})
	}
	for _, f := range []struct {
		name     string
		set      structured.Backends
		backends []string
		least    int // constraints that are allowed
	}{
		{"auto", structured.Auto, []string{"xgrammar", "guidance"}, 150},
		{"xgrammar", structured.XGrammar, []string{"xgrammar"}, 150},
		{"guidance", structured.Guidance, []string{"guidance"}, 300},
	} {
		t.Run(f.name, func(t *testing.T) {
			var cases, given []probeCase
			for _, c := range all {
				judged := c
				var err error
				if judged.Kind, judged.Value, err = f.set.Judge(c.Kind, c.Value); err == nil {
					cases, given = append(cases, judged), append(given, c)
				}
			}
			if len(cases) < f.least {
				t.Errorf("only %d of %d are allowed", len(cases), number)
			}
			_, results := probe(t, cases, f.backends...)
			answers := 0
			for i, r := range results {
				for name, b := range r.Backends {
					switch {
					case b.Failed != nil, len(r.Fails) > 0 && f.name == "auto":
						t.Errorf("%s ends on %s: %v %s", name, cases[i].Value, r.Fails, textOf(b.Failed))
					case b.Refused != nil && f.name != "guidance": // which judges for itself
						t.Errorf("%s refuses %s: %s", name, cases[i].Value, *b.Refused)
					}
					for _, answer := range b.Answers {
						if answer == nil {
							continue
						}
						answers++
						if why := violation(given[i].Kind, given[i].Value, *answer); why != "" {
							t.Errorf("%s\nby %s, sent as %s\nis answered by %q: %s", given[i].Value, name, cases[i].Value, *answer, why)
						}
					}
				}
			}
			t.Logf("%d of %d are allowed, %d answers", len(cases), number, answers)
		})
	}
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// generator makes up constraints.
type generator struct{ *rand.Rand }

type object = map[string]any

func (g *generator) constraint(i int) (kind string, value json.RawMessage) {
	var v any
	switch {
	case i%10 < 6:
		kind, v = "json", g.root()
	case i%10 < 8:
		kind, v = "regex", g.regex(3)
	default:
		kind, v = "grammar", g.grammar()
	}
	value, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return kind, value
}

func (g *generator) one(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

// root is a schema with a definition that others may refer to.
func (g *generator) root() object {
	s := g.schema(3)
	if g.one(3) {
		s["$defs"] = object{"a": g.schema(1)}
	}
	return s
}

func (g *generator) schema(depth int) object {
	kinds := 7
	if depth > 0 {
		kinds = 14
	}
	switch g.IntN(kinds) {
	case 0, 1:
		return g.text()
	case 2:
		return g.limits(object{"type": "integer"}, func() any { return g.IntN(300) - 50 })
	case 3:
		return g.limits(object{"type": "number"}, func() any { return float64(g.IntN(80)-20) / 4 })
	case 4:
		return object{"type": pick(g, "boolean", "null", "integer", "number", "string")}
	case 5:
		return object{"enum": []any{pick[any](g, "a", 1, true, nil), pick[any](g, "b", 2.5, "ü"), pick[any](g, "c\n", false)}}
	case 6:
		return object{"const": pick[any](g, "x", 7, nil, "q\"")}
	case 7, 8, 9:
		return g.object(depth - 1)
	case 10, 11:
		return g.array(depth - 1)
	case 12:
		return object{pick(g, "anyOf", "anyOf", "oneOf", "allOf"): []any{g.schema(depth - 1), g.schema(depth - 1)}}
	}
	return pick(g, object{"type": []string{"string", "null"}, "maxLength": 3}, object{"not": g.schema(0)}, object{"allOf": []any{g.schema(depth - 1)}},
		object{"minLength": 2}, object{"multipleOf": 3, "type": "integer"})
}

func (g *generator) text() object {
	s := object{"type": "string"}
	if g.one(3) {
		s["minLength"] = g.IntN(4)
	}
	if g.one(3) {
		s["maxLength"] = g.IntN(6)
	}
	if g.one(3) {
		s["pattern"] = pick(g, "^", "") + g.regex(1) + pick(g, "$", "")
	}
	if g.one(5) {
		s["format"] = pick(g, "date", "date-time", "ipv4", "uuid", "uri", "email", "hostname", "time", "int32")
	}
	return s
}

func (g *generator) limits(s object, value func() any) object {
	if g.one(2) {
		s[pick(g, "minimum", "exclusiveMinimum")] = value()
	}
	if g.one(2) {
		s[pick(g, "maximum", "exclusiveMaximum")] = value()
	}
	return s
}

func (g *generator) object(depth int) object {
	s, properties, required := object{"type": "object"}, object{}, []string{}
	for _, name := range []string{"a", "b b", "c", "ü"}[:g.IntN(5)] {
		properties[name] = g.schema(depth)
		if g.one(2) {
			required = append(required, name)
		}
	}
	if g.one(8) {
		required = append(required, "z")
	}
	if len(properties) > 0 {
		s["properties"] = properties
	}
	if len(required) > 0 {
		s["required"] = required
	}
	switch g.IntN(5) {
	case 0, 1:
		s["additionalProperties"] = false
	case 2:
		s["additionalProperties"] = pick[any](g, true, g.schema(0))
	}
	if g.one(12) {
		s[pick(g, "minProperties", "maxProperties")] = 1
	}
	return s
}

func (g *generator) array(depth int) object {
	s := object{"type": "array"}
	if !g.one(5) {
		s["items"] = g.schema(depth)
	}
	if g.one(4) {
		s["prefixItems"] = []any{g.schema(depth), g.schema(depth)}
	}
	if g.one(3) {
		s["minItems"] = g.IntN(3)
	}
	if g.one(2) {
		s["maxItems"] = g.IntN(5)
	}
	if g.one(12) {
		s["uniqueItems"] = true
	}
	return s
}

func (g *generator) regex(depth int) string {
	var b strings.Builder
	for range 1 + g.IntN(3) {
		switch n := g.IntN(9); {
		case n < 2 && depth > 0:
			b.WriteString(pick(g, "(", "(?:", "(?P<x>", "(?i:") + g.regex(depth-1) + "|" + g.regex(depth-1) + ")")
		case n < 4:
			b.WriteString(pick(g, "[a-z]", "[^a-c]", `[\d.]`, "[A-Z_-]", `[^"]`, "[à-é]", `\d`, `\w`, `\s`, `\S`, `\p{L}`, "."))
		default:
			b.WriteString(pick(g, "a", "b c", "-", `\.`, "ü", `\/`, `\n`, "7", `"`))
		}
		b.WriteString(pick(g, "", "", "", "*", "+", "?", "{2}", "{1,3}", "+?"))
	}
	return b.String()
}

func (g *generator) grammar() string {
	var b strings.Builder
	names := []string{"root", "a-b", "a_b", "Num", "x"}
	for i, name := range names {
		b.WriteString(name + " ::= ")
		for n := range 1 + g.IntN(3) {
			if n > 0 {
				b.WriteString(pick(g, " | ", " ", " |\n  "))
			}
			element := pick(g, `"x"`, `"y\n"`, `"\"q\\"`, "[a-z0-9]", "[^x\\n]", `"ü"`, `("a" | "b")`, `"\x41"`, "[+-]", `""`)
			if i+1 < len(names) && g.one(2) {
				element = names[i+1+g.IntN(len(names)-i-1)]
			}
			b.WriteString(element + pick(g, "", "", "", "?", "+", "{1,2}"))
		}
		b.WriteString(pick(g, "\n", " # why\n", "\n\n"))
	}
	if g.one(10) {
		return "start: \"a\" X\nX: /[a-z]+/"
	}
	return b.String()
}
