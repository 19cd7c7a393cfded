package toolform

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/trident-inference/trident/services/requests"
	"github.com/trident-inference/trident/test/cputime"
)

// decode decodes arguments that come in pieces of n bytes.
func decode(arguments string, n int) string {
	var d Input
	var dst []byte
	for rest := arguments; rest != ""; {
		piece := rest[:min(n, len(rest))]
		rest = rest[len(piece):]
		if next := d.Append(nil, []byte(piece)); len(next) > 0 {
			dst = append(dst, next...)
		}
	}
	return string(d.Finish(dst))
}

// TestInput checks the input of well-formed and of broken arguments, split at every byte.
func TestInput(t *testing.T) {
	for _, tt := range []struct{ name, arguments, want string }{
		{"text", `{"input": "a\nb"}`, "a\nb"},
		{"escapes", `{"input":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é😀"}`, "\"\\/\b\f\n\r\té😀é😀"},
		{"half of a pair", `{"input":"\ud83dx\ude00"}`, "\ufffdx\ufffd"},
		{"a half pair at the end", `{"input":"\ud83d"}`, "\ufffd"},
		{"two halves of the same kind", `{"input":"\ud83d\ud83d\ude00"}`, "\ufffd😀"},
		{"an escape that isn't one", `{"input":"\d \u12x"}`, `\d \u12x`},
		{"line breaks that aren't escaped", "{\"input\": \"a\n\tb\"}", "a\n\tb"},
		{"other keys before", `{"a": {"input": "no", "b": [1, "]}\"{"]}, "c": "d,", "input" : "yes", "e": 1}`, "yes"},
		{"the key twice", `{"input":"a","input":"b"}`, "a"},
		{"a cut input", `{"input":"a\u00`, "a"},
		{"a cut escape", `{"input":"a\`, "a"},
		{"an empty input", `{"input":""}`, ""},
		{"nothing", ``, ""},
		{"no arguments", `{}`, ""},
		{"another key", `{"patch": "a\nb"}`, "a\nb"},
		{"two other keys", `{"patch": "a", "b": 1}`, `{"patch": "a", "b": 1}`},
		{"a number", `{"input": 4}`, `{"input": 4}`},
		{"an object", `{"input": {"input": "a"}}`, `{"input": {"input": "a"}}`},
		{"a string", `"a\nb"`, "a\nb"},
		{"plain text", ` text("{"input": "x"}") `, `text("{"input": "x"}")`},
		{"a longer key", `{"inputs": "a", "input": "b"}`, "b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for n := 1; n <= len(tt.arguments)+1; n++ {
				if got := decode(tt.arguments, n); got != tt.want {
					t.Fatalf("pieces of %d bytes: %q, want %q", n, got, tt.want)
				}
			}
		})
	}
}

// TestInputStreams checks that the input is decoded as soon as its bytes are there, and in whole
// characters.
func TestInputStreams(t *testing.T) {
	var d Input
	var got []string
	for _, piece := range []string{`{"in`, `put": "`, `ab`, `\`, `n`, "\xc3", "\xa9", `"`, `}`} {
		got = append(got, string(d.Append(nil, []byte(piece))))
	}
	if want := "||ab||\n||é||"; strings.Join(got, "|") != want {
		t.Errorf("%q", got)
	}
}

// TestInputOfArguments checks that any text survives the way into arguments and back.
func TestInputOfArguments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		arguments := Arguments(text)
		if !json.Valid(arguments) {
			t.Fatalf("%s", arguments)
		}
		if got := decode(string(arguments), rapid.IntRange(1, 9).Draw(t, "n")); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	})
}

// TestInputIsLinear checks the CPU time of long inputs and of long arguments without an input.
func TestInputIsLinear(t *testing.T) {
	for _, unit := range []string{`\n`, `\ud83d`, "\xc3", `"a":{},`, `{`, `x`} {
		for _, head := range []string{`{"input":"`, `{"a":`, ``} {
			arguments := head + strings.Repeat(unit, 1<<18/len(unit))
			if took := cputime.Of(t, func() { decode(arguments, 3) }); took > time.Second {
				t.Errorf("%s%s: %v", head, unit, took)
			}
		}
	}
}

// FuzzInput checks that any arguments lead to the same input, however they are split.
func FuzzInput(f *testing.F) {
	f.Add(`{"a":[1,"]"],"input":"\ud83d\ude00\n"}`, 2)
	f.Fuzz(func(t *testing.T, arguments string, n int) {
		n = max(1, min(n, len(arguments)))
		whole, pieces := decode(arguments, len(arguments)+1), decode(arguments, n)
		if whole != pieces {
			t.Errorf("%q in pieces of %d: %q, want %q", arguments, n, pieces, whole)
		}
		var proper struct{ Input *string }
		if strings.Count(arguments, `"`) == 4 && utf8.ValidString(arguments) && json.Unmarshal([]byte(arguments), &proper) == nil && proper.Input != nil && strings.Contains(arguments, `"input"`) && *proper.Input != whole {
			t.Errorf("%q: %q, want %q", arguments, whole, *proper.Input)
		}
	})
}

// TestFunction checks what models see of custom tools.
func TestFunction(t *testing.T) {
	for _, tt := range []struct {
		name string
		tool Tool
		want string
	}{
		{"no description", Tool{Name: "f"}, callRule},
		{"text", Tool{Name: "f", Description: `Run "it".`}, `Run "it".` + "\n\n" + callRule},
		{"lark", Tool{Name: "f", Description: "D", Format: Format{Lark, "start: \"a\"\n"}}, "D\n\n" + callRule + "\n\n" + larkRule + "\nstart: \"a\"\n"},
		{"regex", Tool{Name: "f", Format: Format{Regex, `\d+`}}, callRule + "\n\n" + regexRule + "\n" + `\d+`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got struct {
				Type     string
				Function struct {
					Name, Description string
					Parameters        json.RawMessage
				}
			}
			definition := tt.tool.Function()
			if err := json.Unmarshal(definition, &got); err != nil {
				t.Fatal(err)
			}
			if got.Type != requests.FunctionType || got.Function.Name != "f" || got.Function.Description != tt.want ||
				!strings.Contains(string(got.Function.Parameters), `"required":["input"]`) {
				t.Errorf("%s", definition)
			}
		})
	}
}

// TestStructured checks the constraints of formats.
func TestStructured(t *testing.T) {
	if c := (Format{}).Structured("f"); c != nil {
		t.Errorf("%v", c)
	}
	for syntax, kind := range map[string]string{Lark: "grammar", Regex: "regex"} {
		if c := (Format{syntax, `a"`}).Structured("f"); c == nil || c.Kind != kind || string(c.Value) != `"a\""` || c.Param != "f" {
			t.Errorf("%v", c)
		}
	}
}

// TestFlatten checks the names by which models call tools of namespaces.
func TestFlatten(t *testing.T) {
	for _, tt := range [][3]string{{"", "f", "f"}, {"functions", "f", "f"}, {"mcp__a", "f", "mcp__a__f"}, {"mcp__a__", "_f", "mcp__a__f"}} {
		if got := Flatten(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%q %q: %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
	for _, tt := range [][3]string{{"a", " ", ""}, {"functions", "D", "D"}, {"a", "D", "About all tools whose names start with a__: D"}} {
		if got := NamespaceDescription(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%q %q: %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
}
