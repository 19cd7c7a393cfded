// Package constraints generates constraints of structured outputs, and checks responses against
// them. It is for tests of engines. services/structured describes which constraints an engine
// supports.
package constraints

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A Constraint is a member of structured_outputs: its name (json, regex, grammar, choice,
// json_object), and its value as JSON.
type Constraint struct {
	Kind    string
	Value   json.RawMessage
	pattern string // regular expression of all strings of a grammar, if known
}

// Make generates constraints. The same seed generates the same constraints. Of ten, six are JSON
// Schemas, two are regular expressions and two are grammars.
func Make(number int, seed uint64) ([]Constraint, error) {
	g := &generator{rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // the same each time
	all := make([]Constraint, number)
	for i := range all {
		var err error
		if all[i], err = g.constraint(i); err != nil {
			return nil, err
		}
	}
	return all, nil
}

type generator struct{ *rand.Rand }

type object = map[string]any

func (g *generator) constraint(i int) (c Constraint, err error) {
	var v any
	switch {
	case i%10 < 6:
		c.Kind, v = "json", g.root()
	case i%10 < 8:
		c.Kind, v = "regex", g.regex(3)
	default:
		c.Kind = "grammar"
		v, c.pattern = g.grammar()
	}
	c.Value, err = json.Marshal(v)
	return c, err
}

func (g *generator) one(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

// root returns a schema with a definition that other schemas may refer to.
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
		s["maxLength"] = pick(g, g.IntN(6), g.IntN(6), 20+g.IntN(200))
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
		s["maxItems"] = pick(g, g.IntN(5), g.IntN(5), 20+g.IntN(40))
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
		b.WriteString(pick(g, "", "", "", "*", "+", "?", "{2}", "{1,3}", "+?", pick(g, "{4}", "{2,9}", "{0,40}", "{20,}")))
	}
	return b.String()
}

// grammar generates a grammar without recursion, and a regular expression that matches the
// same strings.
func (g *generator) grammar() (text, pattern string) {
	if g.one(10) {
		return "start: \"a\" X\nX: /[a-z]+/", "a[a-z]+"
	}
	elements := [][2]string{ // each element has its regular expression
		{`"x"`, `x`},
		{`"y\n"`, `y\n`},
		{`"\"q\\"`, `"q\\`},
		{"[a-z0-9]", "[a-z0-9]"},
		{"[^x\\n]", `[^x\n]`},
		{`"ü"`, `ü`},
		{`("a" | "b")`, `(?:a|b)`},
		{`"\x41"`, `A`},
		{"[+-]", `[+-]`},
		{`""`, ``},
	}
	names := []string{"root", "a-b", "a_b", "Num", "x"}
	rules, patterns := make([]string, len(names)), make([]string, len(names))
	for i := len(names) - 1; i >= 0; i-- {
		var rule, re strings.Builder
		for n := range 1 + g.IntN(3) {
			if n > 0 {
				between := pick(g, " | ", " ", " |\n  ")
				rule.WriteString(between)
				re.WriteString(strings.Trim(between, " \n"))
			}
			element := pick(g, elements...)
			if i+1 < len(names) && g.one(2) {
				other := i + 1 + g.IntN(len(names)-i-1)
				element = [2]string{names[other], patterns[other]}
			}
			times := pick(g, "", "", "", "?", "+", "{1,2}", pick(g, "{3}", "{2,9}", "{0,40}", "{20,}"))
			rule.WriteString(element[0] + times)
			re.WriteString("(?:" + element[1] + ")" + times)
		}
		rules[i] = names[i] + " ::= " + rule.String() + pick(g, "\n", " # why\n", "\n\n")
		patterns[i] = "(?:" + re.String() + ")"
	}
	return strings.Join(rules, ""), patterns[0]
}

// Violation returns how a response violates the constraint. It is empty for a response that
// satisfies the constraint, and for a constraint that can't be checked here.
func (c Constraint) Violation(answer string) string {
	value := c.Value
	switch c.Kind {
	case "choice":
		var choices []string
		if json.Unmarshal(value, &choices) == nil && !slices.Contains(choices, answer) {
			return "it is none of the choices"
		}
	case "regex":
		var pattern string
		_ = json.Unmarshal(value, &pattern)
		if strings.Contains(pattern, `\s`) { // Go's \s lacks \v
			answer = strings.ReplaceAll(answer, "\v", "\f")
		}
		another := strings.Contains(pattern, "&&") // Go reads these as characters
		if re, err := regexp.Compile(`^(?:` + pattern + `)$`); err == nil && !another && !re.MatchString(answer) {
			return "it doesn't match"
		}
	case "grammar":
		if re, err := regexp.Compile(`^(?:` + c.pattern + `)$`); err == nil && c.pattern != "" && !re.MatchString(answer) {
			return "it doesn't match " + c.pattern
		}
	case "json_object":
		var object map[string]any
		if err := json.Unmarshal([]byte(answer), &object); err != nil {
			return err.Error()
		}
	case "json":
		return schemaViolation(value, answer)
	}
	return ""
}

// calendar matches the library's errors about days and times that don't exist. Formats are checked
// by syntax only.
var calendar = regexp.MustCompile(`is not valid (?:date|time|date-time):`)

func schemaViolation(schema json.RawMessage, answer string) string {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return ""
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if compiler.AddResource("schema.json", doc) != nil {
		return ""
	}
	compiled, err := compiler.Compile("schema.json")
	if err != nil {
		return "" // the library can't check a schema that it can't read
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(answer))
	if err != nil {
		return err.Error()
	}
	if err := compiled.Validate(value); err != nil {
		lines := strings.Split(err.Error(), "\n")
		if why := lines[len(lines)-1]; !calendar.MatchString(why) {
			return why
		}
	}
	return ""
}
