package toolparser

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// answered is the result of a parser for a text.
type answered struct {
	Text, Reasoning string
	Calls           []call
	State           inference.ParseState
}

type call struct{ Name, Arguments string }

// weather is a tool that examples call, with a parameter of every type.
var weather = json.RawMessage(`{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{
	"city":{"type":"string"},"days":{"type":"integer"},"metric":{"type":"boolean"},"near":{"type":"array","items":{"type":"string"}},
	"box":{"type":"object"},"note":{"anyOf":[{"type":"string"},{"type":"null"}]},"limit":{"type":["integer","null"]},"any":{},"zip":{"type":"string"}}}}}`)

var clock = json.RawMessage(`{"type":"function","function":{"name":"now"}}`)

func options(tools, reasoning string) *inference.ParserOptions {
	n := 0
	return &inference.ParserOptions{
		Tools: tools, Reasoning: reasoning, Definitions: []json.RawMessage{weather, clock},
		ID: func() string { n++; return fmt.Sprintf("%09d%015d", n, n) },
	}
}

// parse feeds the parts to a new parser. The parts share one buffer, which is
// overwritten like the engine's buffer.
func parse(t *testing.T, opts *inference.ParserOptions, parts ...string) answered {
	t.Helper()
	p, err := Dialects{}.Parser(opts)
	if err != nil {
		t.Fatal(err)
	}
	var got collector
	var buf []byte
	state := inference.ParseOpen
	for _, part := range parts {
		buf = append(buf[:0], part...)
		var pieces []inference.Piece
		pieces, state = p.Parse(buf)
		got.add(t, pieces)
		for i := range buf {
			buf[i] = '?'
		}
		if state != inference.ParseOpen {
			break
		}
	}
	got.add(t, p.Finish())
	return got.answered(state)
}

// collector joins pieces. It fails the test if a call is continued after anything else of the answer.
type collector struct {
	text, reasoning []byte
	names           []string
	arguments       [][]byte
	apart           bool // something else was read after the last call
}

func (c *collector) add(t *testing.T, pieces []inference.Piece) {
	t.Helper()
	for _, p := range pieces {
		c.apart = c.apart || p.Kind != inference.PieceCall && len(p.Text) > 0
		switch p.Kind {
		case inference.PieceText:
			c.text = append(c.text, p.Text...)
		case inference.PieceReasoning:
			c.reasoning = append(c.reasoning, p.Text...)
		case inference.PieceCall:
			c.addCall(t, p.Call)
		}
	}
}

func (c *collector) addCall(t *testing.T, p inference.ToolCallPiece) {
	t.Helper()
	if p.Name != "" || p.ID != "" {
		if p.Index != len(c.names) || p.Name == "" || p.ID == "" {
			t.Fatalf("call %d begins with %+v", len(c.names), p)
		}
		c.names, c.arguments, c.apart = append(c.names, p.Name), append(c.arguments, nil), false
	}
	if c.apart {
		t.Fatalf("a piece of call %d comes after a piece of another kind: %+v", p.Index, p)
	}
	if p.Index != len(c.names)-1 {
		t.Fatalf("after %d calls comes a piece of call %d", len(c.names), p.Index)
	}
	c.arguments[p.Index] = append(c.arguments[p.Index], p.Arguments...)
}

func (c *collector) answered(state inference.ParseState) answered {
	a := answered{Text: string(c.text), Reasoning: string(c.reasoning), State: state}
	for i, name := range c.names {
		a.Calls = append(a.Calls, call{name, string(c.arguments[i])})
	}
	return a
}

func (a answered) equal(b answered) bool {
	return a.Text == b.Text && a.Reasoning == b.Reasoning && a.State == b.State && slices.Equal(a.Calls, b.Calls)
}

// example is a text in a dialect and its expected result.
type example struct {
	name, in  string
	text      string
	reasoning string
	calls     []call
	broken    bool // the arguments aren't JSON and stay as the model wrote them
}

// check parses each example whole and in every split.
func check(t *testing.T, opts func() *inference.ParserOptions, examples []example) {
	t.Helper()
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			want := answered{Text: e.text, Reasoning: e.reasoning, Calls: e.calls}
			if got := parse(t, opts(), e.in); !got.equal(want) {
				t.Fatalf("of %q\ngot  %+v\nwant %+v", e.in, got, want)
			}
			for _, c := range e.calls {
				if !e.broken && !json.Valid([]byte(c.Arguments)) {
					t.Errorf("arguments %q are no JSON", c.Arguments)
				}
			}
			checkSplits(t, opts, e.in, want)
		})
	}
}

// checkSplits expects the same result for the text byte by byte, cut at every
// position, and cut at every pair of positions if those aren't too many.
func checkSplits(t *testing.T, opts func() *inference.ParserOptions, in string, want answered) {
	t.Helper()
	expect := func(parts ...string) {
		if got := parse(t, opts(), parts...); !got.equal(want) {
			t.Fatalf("in parts %q\ngot  %+v\nwant %+v", parts, got, want)
		}
	}
	expect(bytewise(in)...)
	for i := range len(in) {
		expect(in[:i], in[i:])
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		i, j := random.IntN(len(in)+1), random.IntN(len(in)+1)
		expect(in[:min(i, j)], in[min(i, j):max(i, j)], in[max(i, j):])
	}
	if len(in) > 60 {
		return
	}
	for i := range len(in) {
		for j := i; j < len(in); j++ {
			expect(in[:i], in[i:j], in[j:])
		}
	}
}

// bytewise splits a text into its bytes.
func bytewise(s string) []string {
	parts := make([]string, len(s))
	for i := range len(s) {
		parts[i] = s[i : i+1]
	}
	return parts
}

func tools(name string) func() *inference.ParserOptions {
	return func() *inference.ParserOptions { return options(name, "") }
}
