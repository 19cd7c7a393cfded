package toolparser

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/trident-inference/trident/services/inference"
)

// every returns parser options for each tool dialect alone, for each reasoning dialect
// alone and with qwen3_coder, and for forced calls in each form.
func every() []*inference.ParserOptions {
	var all []*inference.ParserOptions
	for _, d := range toolDialects() {
		all = append(all, options(d.names[0], ""))
	}
	for _, d := range reasoningDialects() {
		all = append(all, options("", d.names[0]), options("qwen3_coder", d.names[0]))
	}
	for _, d := range toolDialects() {
		if d.forced != nil {
			all = append(all, native(d.names[0], "deepseek_r1", inference.ToolChoice{Mode: inference.ToolRequired}, false)())
		}
	}
	for _, mode := range []inference.ToolMode{inference.ToolRequired, inference.ToolNamed} {
		for _, tools := range []string{"hermes", "openai"} {
			o := options(tools, "qwen3")
			o.Choice = inference.ToolChoice{Mode: mode, Name: "now"}
			all = append(all, o)
		}
	}
	return all
}

// endless returns, by dialect name, a text that starts a call whose arguments never
// end.
func endless() map[string]string {
	return map[string]string{
		"openai": "<|channel|>commentary to=functions.f<|message|>{\"x\": \"", "deepseek_v3": deepseekCall + "function" + deepseekSep + "f\n```json\n{\"x\": \"",
		"deepseek_v31": deepseekCall + "f" + deepseekSep + "{\"x\": \"", "mistral": "[TOOL_CALLS]f[ARGS]{\"x\": \"", "llama4_pythonic": "[f(x=\"",
		"llama3_json": `{"name": "f", "parameters": {"x": "`, "qwen3_coder": "<tool_call><function=f><parameter=x>", "granite": `<|tool_call|>[{"name": "f", "arguments": {"x": "`,
		"granite-20b-fc": `<function_call>{"name": "f", "arguments": {"x": "`, "hermes": `<tool_call>{"arguments": {"x": "`, "jamba": `<tool_calls>[{"name": "f", "arguments": {"x": "`,
		"deepseek_v32": `<｜DSML｜function_calls><｜DSML｜invoke name="f"><｜DSML｜parameter name="x" string="true">`,
		"deepseek_v4":  `<｜DSML｜tool_calls><｜DSML｜invoke name="f"><｜DSML｜parameter name="x" string="true">`,
		"deepseek_v41": `<｜DSML｜ calls><｜DSML｜ invoke name="f"><｜DSML｜ parameter name="x" string="true">`,
		"kimi_k2":      `<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"x": "`,
		"kimi_k3":      `<|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|><|open|>argument key="x" type="string"<|sep|>`,
		"minimax_m2":   `<minimax:tool_call><invoke name="f"><parameter name="x">`, "minimax_m3": m3Outer + m3Call + `"f">` + m3Open + "x>",
		"dots": `<dots_function_call><invoke name="f"><parameter name="x">`, "glm45": "<tool_call>f<arg_key>x</arg_key><arg_value>", "hy_v3": "<tool_calls><tool_call>f<tool_sep><arg_key>x</arg_key><arg_value>",
		"gemma4": `<|tool_call>call:f{x:<|"|>`, "functiongemma": "<start_function_call>call:f{x:<escape>", "seed_oss": "<seed:tool_call><function=f><parameter=x>",
		"mimo": "<tool_call><function=f><parameter=x>", "minicpm5": `<function name="f"><param name="x">`, "lfm2": `<|tool_call_start|>[f(x="`, "olmo3": `<function_calls>f(x="`,
		"step3":   `<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="f"><steptml:parameter name="x">`,
		"longcat": `<longcat_tool_call>{"name": "f", "arguments": {"x": "`, "apertus": `<|tools_prefix|>[{"f": {"x": "`, "internlm": `<|action_start|><|plugin|>{"name": "f", "parameters": {"x": "`,
		"gigachat3": `<|function_call|>{"name": "f", "arguments": {"x": "`, "hunyuan_a13b": `<tool_calls>[{"name": "f", "arguments": {"x": "`, "ernie45": `<tool_call>{"name": "f", "arguments": {"x": "`,
		"xlam": "```json\n[{\"name\": \"f\", \"arguments\": {\"x\": \"", "cohere_command3": `<|START_ACTION|>[{"tool_name": "f", "parameters": {"x": "`,
		"cohere_command4": `<|START_ACTION|>[{"tool_name": "f", "parameters": {"x": "`,
		"inkling":         `<|content_invoke_tool_json|>{"name": "f", "args": {"x": "`,
		"muse":            `to=f<|message|><atem:invoke name="f"><atem:parameter name="x">`,
		"muse_glimmer":    `to=f<|message|><atem:invoke name="f"><atem:parameter name="x">`,
		"hy_v4":           "<tool_calls><tool_call>f<arg_key>x</arg_key><arg_value>",
		"k2_horizon":      "<ifm|tool_calls><ifm|tool_call>f<ifm|arg_key>x</ifm|arg_key><ifm|arg_value>",
		"plamo3":          `<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>f<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>{"x": "`,
		"phi4_mini_json":  `functools[{"name": "f", "arguments": {"x": "`, "pythonic": "[f(x=\"", "json": `{"name": "f", "arguments": {"x": "`,
	}
}

// TestBound checks that every dialect stops with ParseTooLong when a call never ends.
func TestBound(t *testing.T) {
	const limit = 4096
	for name, start := range endless() {
		t.Run(name, func(t *testing.T) {
			o := options(name, "")
			o.MaxBytes = limit
			p, err := Dialects{}.Parser(o)
			if err != nil {
				t.Fatal(err)
			}
			_, state := p.Parse([]byte(start))
			fed := len(start)
			for state == inference.ParseOpen && fed < 2*limit {
				_, state = p.Parse([]byte("0123456789abcdef"))
				fed += 16
			}
			if state != inference.ParseTooLong || fed > limit+64 {
				t.Errorf("state %d after %d bytes", state, fed)
			}
			pieces, state := p.Parse([]byte("more"))
			if len(pieces) > 0 || state != inference.ParseTooLong || len(p.Finish()) > 0 {
				t.Errorf("it reads on: %+v", pieces)
			}
		})
	}
	if len(endless()) != len(toolDialects()) {
		t.Error("a dialect has no row")
	}
}

// altersText reports whether a parser changes text that has no calls. This is so if the
// answer starts in the reasoning or if the dialect drops wrappers of text.
func altersText(t *testing.T, o *inference.ParserOptions) bool {
	t.Helper()
	d, err := toolsNamed(o.Tools)
	if err != nil {
		t.Fatal(err)
	}
	r, err := reasoningNamed(o.Reasoning)
	if err != nil {
		t.Fatal(err)
	}
	return d.unified != nil || r.unified != nil || d.drop != nil || r.drop != nil || r.lead != "" || r.tags != nil && r.tags("").assumed
}

// TestBoundIsForCalls checks that MaxBytes doesn't limit text that looks like calls
// repeatedly.
func TestBoundIsForCalls(t *testing.T) {
	text := strings.Repeat("\n{ <tool_call> {\"name\": [TOOL_CALLS] x\n", 5000)
	for _, o := range every() {
		got := parse(t, o, text)
		if o.Choice.Mode == inference.ToolAuto && !altersText(t, o) && (got.Text != text || got.State != inference.ParseOpen) {
			t.Errorf("%s %s: state %d, %d of %d bytes of text", o.Tools, o.Reasoning, got.State, len(got.Text), len(text))
		}
	}
}

func TestDepth(t *testing.T) {
	deep := func(n int) string {
		return `<tool_call>{"name":"f","arguments":{"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}}</tool_call>ok`
	}
	got := parse(t, options("hermes", ""), deep(maxDepth-1))
	if len(got.Calls) != 1 || got.Calls[0].Arguments != `{"x":`+strings.Repeat("[", maxDepth-1)+strings.Repeat("]", maxDepth-1)+"}" || got.Text != "ok" {
		t.Errorf("got %+v", got)
	}
	// The parser doesn't follow deeper nesting. It passes the bytes on up to the end of
	// the call.
	if got = parse(t, options("hermes", ""), deep(10_000)); len(got.Calls) != 1 || len(got.Calls[0].Arguments) < 20_000 || got.Text != "ok" {
		t.Errorf("got %d calls, text %q", len(got.Calls), got.Text)
	}
	nested := "[f(x=1, y=" + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + ")]"
	if got = parse(t, options("pythonic", ""), nested[:100_000]); len(got.Calls) != 1 {
		t.Errorf("got %+v", got)
	}
}

// TestSingle checks that a parser for a single tool call stops after the first call.
func TestSingle(t *testing.T) {
	tests := []struct{ tools, in string }{
		{"hermes", nowCall + nowCall},
		{"llama3", `{"name": "now", "parameters": {}}; {"name": "now", "parameters": {}}`},
		{"mistral", `[TOOL_CALLS][{"name": "now", "arguments": {}}, {"name": "now", "arguments": {}}]`},
		{"mistral", `[TOOL_CALLS]now[ARGS]{}[TOOL_CALLS]now[ARGS]{}`},
		{"pythonic", "[now(), now()]"},
		{"qwen3_coder", "<function=now></function><function=now></function>"},
		{"deepseek_v31", deepseekCall + "now" + deepseekSep + "{}" + deepseekCallEnd + deepseekCall + "now" + deepseekSep + "{}" + deepseekCallEnd},
		{"openai", "<|channel|>commentary to=functions.now<|message|>{}<|call|><|channel|>commentary to=functions.now<|message|>{}<|call|>"},
	}
	want := answered{Calls: []call{{"now", "{}"}}, State: inference.ParseComplete}
	for _, tt := range tests {
		t.Run(tt.tools, func(t *testing.T) {
			single := func() *inference.ParserOptions {
				o := options(tt.tools, "")
				o.Single = true
				return o
			}
			checkSplits(t, single, tt.in, want)
		})
	}
}

func TestUniqueIDs(t *testing.T) {
	p, err := Dialects{}.Parser(options("hermes", ""))
	if err != nil {
		t.Fatal(err)
	}
	pieces, _ := p.Parse([]byte(nowCall + nowCall))
	var ids []string
	for _, piece := range pieces {
		if piece.Call.ID != "" {
			ids = append(ids, piece.Call.ID)
		}
	}
	if len(ids) != 2 || ids[0] == ids[1] || !strings.HasPrefix(ids[0], "call_") {
		t.Errorf("ids %q", ids)
	}
}

// TestOrder checks that Parser.Parse returns reasoning, text and tool calls in the order of the
// model's output, if one call has all of them.
func TestOrder(t *testing.T) {
	p, err := Dialects{}.Parser(options("hermes", "qwen3"))
	if err != nil {
		t.Fatal(err)
	}
	pieces, _ := p.Parse([]byte("<think>r</think>a" + nowCall + "b" + nowCall))
	var kinds []inference.PieceKind
	for _, piece := range pieces {
		kinds = append(kinds, piece.Kind)
	}
	reason, text, call := inference.PieceReasoning, inference.PieceText, inference.PieceCall
	if !slices.Equal(kinds, []inference.PieceKind{reason, text, call, call, text, call, call}) {
		t.Errorf("got %v", kinds)
	}
}

// TestStreamsText checks that a string argument within an XML tag is emitted while it is read, and
// not only at its end.
func TestStreamsText(t *testing.T) {
	p, err := Dialects{}.Parser(options("qwen3_coder", ""))
	if err != nil {
		t.Fatal(err)
	}
	p.Parse([]byte("<tool_call>\n<function=get_weather>\n<parameter=city>\nline"))
	pieces, _ := p.Parse([]byte(" \"two\"\n"))
	if len(pieces) != 1 || string(pieces[0].Call.Arguments) != ` \"two\"` {
		t.Errorf("got %+v", pieces)
	}
}

// TestStreams checks that Parser.Parse emits text and the arguments of tool calls as it reads them.
func TestStreams(t *testing.T) {
	p, err := Dialects{}.Parser(options("hermes", "qwen3"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, part := range []string{"<thi", "nk>so ", "it", " is</think>", "\n\nText", " <", "b>", " <tool_call>", `{"name": "f", `, `"arguments": {"a`, `": "b `, `c`, `"}`, "}</tool_call>"} {
		pieces, _ := p.Parse([]byte(part))
		var shown strings.Builder
		for _, piece := range pieces {
			fmt.Fprintf(&shown, "%s%s%s", piece.Text, piece.Call.Name, piece.Call.Arguments)
		}
		got = append(got, shown.String())
	}
	want := []string{"", "so ", "it", " is", "Text", " ", "<b>", " ", "", `f{"a`, `": "b `, "c", `"}`, ""}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestUnknownNames(t *testing.T) {
	if err := (Dialects{}).Check("xyz", "abc"); err == nil || !strings.Contains(err.Error(), `"xyz"`) || !strings.Contains(err.Error(), `"abc"`) {
		t.Errorf("got %v", err)
	}
	if err := (Dialects{}).Check("", "qwen3"); err != nil {
		t.Error(err)
	}
	if _, err := (Dialects{}).Parser(&inference.ParserOptions{}); err == nil || !strings.Contains(err.Error(), "ID") {
		t.Errorf("got %v", err)
	}
	if _, err := (Dialects{}).Parser(options("xyz", "")); err == nil || !strings.Contains(err.Error(), `"xyz"`) || !strings.Contains(err.Error(), "hermes") {
		t.Errorf("got %v", err)
	}
	if _, err := (Dialects{}).Parser(options("", "xyz")); err == nil || !strings.Contains(err.Error(), `"xyz"`) || !strings.Contains(err.Error(), "qwen3") {
		t.Errorf("got %v", err)
	}
}

// FuzzParsers feeds any text to every dialect, whole and in parts. Both results must
// agree. A text without a possible marker must come out unchanged.
func FuzzParsers(f *testing.F) {
	for _, start := range endless() {
		f.Add([]byte(start+"\"}}</tool_call> and [1] more"), uint64(7))
	}
	f.Add([]byte("<think>\xff a</think>\xc3 b"), uint64(1))
	f.Add([]byte("Here is my thought process: a Here is my response: b"), uint64(3))
	f.Add([]byte(`[TOOL_CALLS][{"name": "f", "arguments": "{}"}]`), uint64(5))
	f.Add([]byte("[f(x=1, y={'a': [True, None]})]"), uint64(9))
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		if len(text) > 10_000 {
			return
		}
		plainText := !bytes.ContainsAny(text, "<[]{Hft`助")
		for _, o := range every() {
			whole := parse(t, o, string(text))
			if parts := cut(text, seed); !parse(t, o, parts...).equal(whole) {
				t.Fatalf("%s %s: in parts %q\ngot  %+v\nwhole %+v", o.Tools, o.Reasoning, parts, parse(t, o, parts...), whole)
			}
			if shown := whole.Reasoning + whole.Text; plainText && o.Reasoning != "minimax_m2_append_think" && shown != string(text) && (o.Reasoning == "" || strings.TrimSpace(shown) != strings.TrimSpace(string(text))) {
				t.Fatalf("%s %s: of %q\ngot %+v", o.Tools, o.Reasoning, text, whole)
			}
			if utf8.Valid(text) {
				wholeRunes(t, o, string(text))
			}
		}
	})
}

// wholeRunes checks that parts of whole UTF-8 characters yield pieces of whole
// characters.
func wholeRunes(t *testing.T, o *inference.ParserOptions, text string) {
	t.Helper()
	p, err := Dialects{}.Parser(o)
	if err != nil {
		t.Fatal(err)
	}
	check := func(pieces []inference.Piece) {
		for _, piece := range pieces {
			if !utf8.Valid(piece.Text) || !utf8.Valid(piece.Call.Arguments) {
				t.Fatalf("%s %s: of %q comes half a code point: %+v", o.Tools, o.Reasoning, text, piece)
			}
		}
	}
	for _, r := range text {
		pieces, state := p.Parse([]byte(string(r)))
		check(pieces)
		if state != inference.ParseOpen {
			break
		}
	}
	check(p.Finish())
}

// cut cuts a text into parts of 0 to 7 bytes.
func cut(text []byte, seed uint64) []string {
	var parts []string
	for len(text) > 0 {
		seed = seed*6364136223846793005 + 1442695040888963407
		n := min(int(seed>>61), len(text))
		parts = append(parts, string(text[:n]))
		text = text[n:]
	}
	return parts
}

// fragments returns the building blocks of texts in the dialects.
func fragments() []string {
	f := []string{
		"{", "}", "[", "]", "(", ")", "\"", "'", ",", ":", ";", "=", "\\", "\n", " ", "<", ">", "</", "é", "｜", "\xff", "\x01", "1", "-2.5e3", "true", "None", "null", "x",
		`"name"`, `"arguments"`, `"parameters"`, `"f"`, `"now"`, "now", "get_weather", `{"name": "now", "arguments": `, `{"city": "Paris", "days": [1, {}]}`, "{}", "}}", "now()", "[now(", "x=1", ", y='a'", ")]",
		"<think>", "</think>", "[THINK]", "[/THINK]", "Here is my thought process:", "Here's my response:", "[ARGS]", "[CALL_ID]abcdefghi", "functions.now", "to=", "commentary", "analysis", "final",
		qwenCall, qwenCallEnd, qwenFunction, "now>", qwenFunctionEnd, qwenParameter, "city>", qwenParameterEnd, "```json", "```", "function", deepseekCallsEnd, deepseekCallEnd, deepseekSep, "<|end|>", "<|call|>", "<|start|>assistant",
		"<|python_end|>", "</tool_calls>",
	}
	for _, d := range toolDialects() {
		f = append(f, ownFragments(d)...)
	}
	return f
}

// ownFragments returns the markers of one dialect.
func ownFragments(d toolDialect) []string {
	var f []string
	if d.drop != nil {
		f = d.drop().texts()
	}
	r := newReader(&sink{}, &inference.ParserOptions{}, nil)
	read := d.read
	if d.unified != nil {
		read = func(r *reader) dialect { return d.unified(r, true, nil) }
	}
	switch d := read(r).(type) {
	case *jsonCalls:
		f = append(append(f, d.markers.texts...), d.format.end...)
	case *mistral:
		f = append(f, d.markers.texts...)
	case *headedCalls:
		f = append(append(f, d.markers.texts...), d.headed.sep, d.headed.callEnd)
	case *xmlCalls:
		f = append(append(f, d.fragments()...), d.format.drop.texts()...)
	case *hyV3:
		f = append(f, d.fragments()...)
	case *taggedOrJSON:
		f = append(append(f, d.markers.texts...), d.tags.fragments()...)
	case *gemma:
		f = append(append(append(f, d.opens.texts...), d.ends.texts...), d.opens.texts[0]+"call:now{", "x:", "city:"+d.quote)
	case *miniMaxM3:
		f = append(append(f, d.opens.texts...), m3CallEnd, m3OuterEnd, m3Open, m3Close, m3Call+"now>", m3Open+"x>", m3Close+"x>")
	case *pythonic:
		f = append(append(f, d.markers.texts...), d.end)
	case *harmony:
		f = append(f, d.outside.texts...)
	case *blocks:
		f = append(f, d.markers.texts...)
		f = append(f, "to=self<|message|>", "to=now<|message|>", `<atem:invoke name="now">`, `<atem:parameter name="x">`, "</atem:parameter>", "</atem:invoke>")
	}
	return f
}

// fragments returns the tags of a format, and starts of calls and parameters.
func (x *xmlCalls) fragments() []string {
	f := x.format
	call, param := f.call+"now"+f.nameEnd[0], f.param+"city"+f.keyEnd+f.value
	if f.name != nil {
		call, param = f.call+`tool="now"`+f.nameEnd[0], f.param+`key="city" type="string"`+f.keyEnd
	}
	return append(append([]string{f.call, call, f.param, param, f.keyEnd, f.value, f.paramEnd, f.callEnd}, f.outer...), f.outerEnd...)
}

// TestFragments reads random sequences of fragments, whole and in parts. If they
// contain no call, every byte must be emitted.
func TestFragments(t *testing.T) {
	parts, starts, random := fragments(), endless(), rand.New(rand.NewPCG(3, 4))
	ends := []string{`"}}</tool_call>`, `"}}]`, "\"}\n```" + deepseekCallEnd, `"}<|call|>`, `")]`, "\n</parameter>", `"`, ""}
	all := every()
	for n := range 6_000 {
		o := all[n%len(all)]
		own := []string{"<think>", "</think>"}
		if d, err := toolsNamed(o.Tools); err == nil && d.names != nil {
			own = append(own, ownFragments(d)...)
		}
		var text []byte
		for range random.IntN(12) {
			switch random.IntN(12) {
			case 2, 3, 4, 5:
				text = append(text, own[random.IntN(len(own))]...)
			case 0:
				text = append(text, starts[o.Tools]...)
			case 1:
				text = append(text, ends[random.IntN(len(ends))]...)
			default:
				text = append(text, parts[random.IntN(len(parts))]...)
			}
		}
		whole := parse(t, o, string(text))
		if split := cut(text, random.Uint64()); !parse(t, o, split...).equal(whole) {
			t.Fatalf("%s %s: in parts %q\ngot   %+v\nwhole %+v", o.Tools, o.Reasoning, split, parse(t, o, split...), whole)
		}
		if len(whole.Calls) == 0 && o.Reasoning == "" && !altersText(t, o) && whole.Text != string(text) {
			t.Fatalf("%s: of %q\ngot %+v", o.Tools, text, whole)
		}
		if utf8.Valid(text) {
			wholeRunes(t, o, string(text))
		}
	}
}
