package toolparser

import (
	"encoding/json"
	"testing"
)

func TestPythonic(t *testing.T) {
	check(t, tools("pythonic"), []example{
		{name: "text", in: "[1] is a note", text: "[1] is a note"},
		{name: "a list of numbers", in: "[1, 2]", text: "[1, 2]"},
		{name: "a comprehension", in: "[x for x in f(a=b)]", text: "[x for x in f(a=b)]"},
		{name: "a call within text", in: "Call [now()]", text: "Call [now()]"},
		{name: "a call", in: `[get_weather(city="Paris", days=3)]`, calls: []call{{"get_weather", `{"city": "Paris", "days": 3}`}}},
		{name: "two calls", in: `[a(x=1), b(y='2')]`, calls: []call{{"a", `{"x": 1}`}, {"b", `{"y": "2"}`}}},
		{name: "no arguments", in: `[now()]`, calls: []call{{"now", `{}`}}},
		{name: "spread over lines", in: "\n[\n  a(\n    x = 1,\n    y = [1,\n 2],\n  ),\n  now( )\n]\n", calls: []call{{"a", `{"x": 1, "y": [1, 2]}`}, {"now", "{}"}}},
		{name: "values", in: `[a(t=True, n=None, l=[1, -2.5, 'x,)'], d={'k': (1,), 2: {}})]`, calls: []call{{"a", `{"t": true, "n": null, "l": [1, -2.5, "x,)"], "d": {"k": [1], "2": {}}}`}}},
		{name: "quotes", in: `[a(x='it\'s "so"', y="\u00e9\n")]`, calls: []call{{"a", `{"x": "it's \"so\"", "y": "é\n"}`}}},
		{name: "text after", in: `[now()] ok`, text: "ok", calls: []call{{"now", "{}"}}},
		{name: "a first value that is no literal", in: `[f(x=y)]`, text: `[f(x=y)]`},
		{name: "a value that is no literal", in: `[f(x=1, y=z+1)]`, calls: []call{{"f", `{"x": 1, "y": "z+1"}`}}},
		{name: "a position", in: `[f(1)]`, text: `[f(1)]`},
		{name: "a position after a key", in: `[f(x=1, "b")]`, calls: []call{{"f", `{"x": 1, "": "b"}`}}},
		{name: "no call follows", in: `[f(x=1), 2]`, text: `, 2]`, calls: []call{{"f", `{"x": 1}`}}},
		{name: "cut off before it is certain", in: `[f(x="a`, text: `[f(x="a`},
		{name: "cut off", in: `[f(x=1, y="a`, calls: []call{{"f", `{"x": 1, "y": "a`}}, broken: true},
		{name: "a bracket that nothing opened", in: `[f(x=1, y=]2)]`, calls: []call{{"f", `{"x": 1, "y": "]2"}`}}},
	})
	check(t, tools("llama4_pythonic"), []example{
		{name: "markers", in: `<|python_start|>[get_weather(city="Rome")]<|python_end|>`, calls: []call{{"get_weather", `{"city": "Rome"}`}}},
		{name: "text before", in: "Sure. <|python_start|>[now()]<|python_end|>", text: "Sure. ", calls: []call{{"now", "{}"}}},
		{name: "bare", in: `[now()]`, calls: []call{{"now", "{}"}}},
		{name: "no calls between the markers", in: `<|python_start|>print(1)<|python_end|>`, text: `<|python_start|>print(1)<|python_end|>`},
	})
}

func TestPythonLiterals(t *testing.T) {
	tests := []struct{ in, want string }{ // want is "" if in isn't a literal
		{`1`, `1`},
		{`-0.5e3`, `-0.5e3`},
		{`.5`, `0.5`},
		{`5.`, `5`},
		{`007`, `7`},
		{`0x1F`, `31`},
		{`+2`, `2`},
		{`1_000`, `1000`},
		{`inf`, ``},
		{`nan`, ``},
		{`1e999`, `1e999`},
		{`true`, `true`},
		{`null`, `null`},
		{`''`, `""`},
		{`'a' 'b'`, ``},
		{`'\x41\u00e9\U0001F600\q'`, `"Aé😀\\q"`},
		{`'\x4'`, ``},
		{`'\U00110000'`, ``},
		{"'\xff'", "\"\xff\""},
		{`[]`, `[]`},
		{`[1,]`, `[1]`},
		{`[1 2]`, ``},
		{`(1, 2)`, `[1, 2]`},
		{`{}`, `{}`},
		{`{'a': 1, None: [True]}`, `{"a": 1, "null": [true]}`},
		{`{1, 2}`, ``},
		{`{'a'}`, ``},
		{`{[1]: 2}`, ``},
		{`f(1)`, ``},
		{`[`, ``},
		{``, ``},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			got, ok := appendPython(nil, []byte(tt.in))
			if ok != (tt.want != "") || ok && string(got) != tt.want {
				t.Errorf("got %s, %v", got, ok)
			}
			if ok && !json.Valid(got) {
				t.Errorf("%s is no JSON", got)
			}
		})
	}
}
