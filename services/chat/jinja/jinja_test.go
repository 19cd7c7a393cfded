package jinja_test

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/chat/jinja"
	"github.com/trident-inference/trident/test/tier"
)

func mustParse(tb testing.TB, source string, opts ...jinja.Option) *jinja.Template {
	tb.Helper()
	tmpl, err := jinja.Parse("test", source, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return tmpl
}

func decode(tb testing.TB, source string) *jinja.Dict {
	tb.Helper()
	v, err := jinja.DecodeJSON([]byte(source))
	if err != nil {
		tb.Fatal(err)
	}
	return v.(*jinja.Dict)
}

// TestRender checks the output of simple Jinja templates without Python. TestOracle compares the
// details with Python's jinja2.
func TestRender(t *testing.T) {
	vars := decode(t, `{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}],
		"tools": [{"z": 1, "a": [1.0, null, true, "é"]}], "n": null, "s": "añb"}`)
	tests := []struct{ name, template, want string }{
		{"text", "plain", "plain"},
		{"values print as in Python", "{{ [none, true, 1.0, 1e16, 'it\\'s', (1,), {'k': 2}] }}", `[None, True, 1.0, 1e+16, "it's", (1,), {'k': 2}]`},
		{"undefined prints nothing", "[{{ nope }}{{ n.attr }}]", "[]"},
		{"trim and lstrip blocks", "a\n  {% if true %}\nb\n  {% endif %}\nc\n", "a\nb\nc"},
		{"minus strips", "a \n {%- if true -%} \n b {%- endif %} c", "ab c"},
		{"for with loop", "{% for m in messages %}{{ loop.index }}{{ m.role }}{{ ', ' if not loop.last }}{% endfor %}", "1user, 2assistant"},
		{"set in for does not leak", "{% set x = 0 %}{% for i in [1] %}{% set x = i %}{% endfor %}{{ x }}", "0"},
		{"namespace does", "{% set ns = namespace(x=0) %}{% for i in [1] %}{% set ns.x = i %}{% endfor %}{{ ns.x }}", "1"},
		{"slices count code points", "{{ s[1:] }}{{ s[::-1] }}{{ s|length }}", "ñbbña3"},
		{"tojson keeps order and types", "{{ tools|tojson }}", `[{"z": 1, "a": [1.0, null, true, "é"]}]`},
		{"tojson with indent", "{{ {'a': []}|tojson(indent=2) }}", "{\n  \"a\": []\n}"},
		{"macro", "{% macro m(a, b='d') %}{{ a }}{{ b }}{{ varargs }}{% endmacro %}{{ m(1) }}{{ m(1, 2, 3) }}", "1d()12(3,)"},
		{"call block", "{% macro m() %}<{{ caller('x') }}>{% endmacro %}{% call(v) m() %}{{ v }}{% endcall %}", "<x>"},
		{"recursive loop", "{% for n in [1, [2, [3]]] recursive %}{{ n if n is number else loop(n) }}{% endfor %}", "123"},
		{"break and continue", "{% for i in range(9) %}{% if i == 1 %}{% continue %}{% elif i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %}", "023"},
		{"generation block", "{% generation %}x{% endgeneration %}", "x"},
		{"floor and sign", "{{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 70 }}", "-4 2 3.5 1180591620717411303424"},
		{"chained comparison", "{{ 1 < 2 < 3 }} {{ 3 > 2 > 2 }}", "True False"},
		{"methods that change lists are not there", "{{ messages.append is defined }}", "False"},
		{"names with an underscore are not there", "{{ s.__class__ is defined }}", "False"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := mustParse(t, tt.template).Render(t.Context(), vars)
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v\nwant %q", got, err, tt.want)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		name, template string
		line           int
		message        string
	}{
		{"include", "a\n{% include 'x' %}", 2, "'include' is not supported"},
		{"import", "{% import 'x' as y %}", 1, "'import' is not supported"},
		{"extends", "\n\n{% extends 'x' %}", 3, "'extends' is not supported"},
		{"autoescape", "{% autoescape true %}{% endautoescape %}", 1, "'autoescape' is not supported"},
		{"unknown tag", "{% wat %}", 1, "unknown tag 'wat'"},
		{"unknown tag inside", "{% if a %}\n{% wat %}{% endif %}", 2, "inside 'if', which needs 'elif' or 'else' or 'endif'"},
		{"missing end", "{% for x in y %}\n{% if x %}{% endif %}\n", 2, "the template ends inside 'for'"},
		{"unknown filter", "a\nb {{ x|wat }}", 2, "no filter is named 'wat'"},
		{"unknown test", "{{ x is wat }}", 1, "no test is named 'wat'"},
		{"block", "a\n{% block b %}{% endblock %}", 2, "'block' is not supported"},
		{"filter without a use in chats", "{{ x|xmlattr }}", 1, "no filter is named 'xmlattr'"},
		{"test without a use in chats", "{{ x is escaped }}", 1, "no test is named 'escaped'"},
		{"break outside", "{% break %}", 1, "'break' is outside of a loop"},
		{"bad character", "{{ a ? b }}", 1, "unexpected character"},
		{"open string", "\n{{ 'a }}", 2, "the string is not closed"},
		{"open comment", "{# a", 1, "the comment is not closed"},
		{"named character", `{{ '\N{BULLET}' }}`, 1, "escapes are not supported"},
		{"parentheses", "{{ " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000) + " }}", 1, "levels of nesting"},
		{"lists", "{{ " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + " }}", 1, "levels of nesting"},
		{"blocks", strings.Repeat("{% if a %}", 5000), 1, "levels of nesting"},
		{"signs", "{{ " + strings.Repeat("-", 5000) + "1 }}", 1, "levels of nesting"},
		{"nots", "{{ " + strings.Repeat("not ", 5000) + "1 }}", 1, "levels of nesting"},
		{"else chain", "{{ " + strings.Repeat("1 if 0 else ", 5000) + "1 }}", 1, "levels of nesting"},
		{"targets", "{% set " + strings.Repeat("(", 5000) + "a" + strings.Repeat(")", 5000) + " = 1 %}", 1, "levels of nesting"},
		{"long sum", "{{ 1" + strings.Repeat(" + 1", 5000) + " }}", 0, "operations in a row"},
		{"long filter chain", "{{ 1" + strings.Repeat("|abs", 5000) + " }}", 0, "operations in a row"},
		{"long attribute chain", "{{ a" + strings.Repeat(".b", 5000) + " }}", 0, "operations in a row"},
		{"long number", "{{ " + strings.Repeat("9", 5000) + " }}", 1, "too long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := jinja.Parse("chat", tt.template)
			var syntax *jinja.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("got %v, want a SyntaxError", err)
			}
			if syntax.Name != "chat" || syntax.Line != tt.line || !strings.Contains(syntax.Message, tt.message) {
				t.Errorf("got line %d, %q; want line %d, %q", syntax.Line, syntax.Message, tt.line, tt.message)
			}
		})
	}
}

func TestRenderErrors(t *testing.T) {
	tests := []struct {
		name, template string
		line           int
		message        string
	}{
		{"attribute of undefined", "a\n{{ nope.x }}", 2, "'nope' is undefined"},
		{"attribute of missing attribute", "{{ d.x.y }}", 1, "dict has no attribute or element 'x'"},
		{"types", "{% if true %}\n\n{{ 1 + 'a' }}{% endif %}", 3, "can't add int and str"},
		{"condition", "{% if true %}{% endif %}\n{% if 1 < 'a' %}{% endif %}", 2, "can't be ordered"},
		{"in a macro", "{% macro m() %}\n{{ 1 / 0 }}\n{% endmacro %}\n\n{{ m() }}", 2, "division by zero"},
		{"in a loop", "{% for x in [1] %}\n{% set y = x.z.w %}\n{% endfor %}", 2, "int has no attribute"},
		{"iteration", "\n{% for x in 5 %}{% endfor %}", 2, "'int' is not iterable"},
		{"call of undefined", "{{ nope() }}", 1, "'nope' is undefined"},
		{"changing a list", "{{ [].append(1) }}", 1, "list has no attribute or element 'append'"},
		{"method without a use in chats", "{{ 'x'.swapcase() }}", 1, "str has no attribute or element 'swapcase'"},
		{"global without a use in chats", "{{ joiner() }}", 1, "'joiner' is undefined"},
		{"underscore in a namespace", "{% set ns = namespace() %}{% set ns._x = 1 %}", 1, "must not begin with an underscore"},
		{"underscore in a new namespace", "{{ namespace(_x=1) }}", 1, "must not begin with an underscore"},
		{"filter argument", "{{ 1|round(wat=2) }}", 1, "unexpected keyword argument 'wat'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := mustParse(t, tt.template).Render(t.Context(), decode(t, `{"d": {}}`))
			var re *jinja.RenderError
			if !errors.As(err, &re) {
				t.Fatalf("got %v, want a RenderError", err)
			}
			if re.Name != "test" || re.Line != tt.line || !strings.Contains(re.Message, tt.message) {
				t.Errorf("got line %d, %q; want line %d, %q", re.Line, re.Message, tt.line, tt.message)
			}
		})
	}
}

func TestRaisedError(t *testing.T) {
	tmpl := mustParse(t, "{% macro m(r) %}{{ raise_exception('no ' ~ r) }}{% endmacro %}{% for m in ms %}{{ m(1) if no }}{{ raise_exception('no ' ~ m) }}{% endfor %}")
	_, err := tmpl.Render(t.Context(), decode(t, `{"ms": ["tools"]}`))
	var raised *jinja.RaisedError
	if !errors.As(err, &raised) || raised.Message != "no tools" {
		t.Errorf("got %v, want a RaisedError that says \"no tools\"", err)
	}
}

// TestLimits checks that the limits of a render end templates that would otherwise hang or kill the
// process.
func TestLimits(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, template, limit string }{
		{"loops in loops", "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "steps"},
		{"loops that would end", "{% for a in range(999) %}{% for b in range(2999) %}{% endfor %}{% endfor %}", "steps"},
		{"macro calls itself", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "depth"},
		{"two macros call each other", "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}", "depth"},
		{"recursive loop", "{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}", "depth"},
		{"string times number", "{{ 'x' * 10 ** 12 }}", "output bytes"},
		{"string times huge number", "{{ 'xx' * 9223372036854775807 }}", "output bytes"},
		{"list times number", "{{ [1] * 10 ** 12 }}", "output bytes"},
		{"string doubles", "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}", ""},
		{"string doubles with plus", "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}", ""},
		{"string doubles in a block", "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s %}{{ ns.s }}{{ ns.s }}{% endset %}{% endfor %}", ""},
		{"list doubles", "{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}", ""},
		{"list of itself twice", "{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}", ""},
		{"list of itself twice as JSON", "{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s|tojson }}", ""},
		{"list of itself twice compared", "{% set a = namespace(s=[1]) %}{% set b = namespace(s=[1]) %}{% for i in range(60) %}{% set a.s = [a.s, a.s] %}{% set b.s = [b.s, b.s] %}{% endfor %}{{ a.s == b.s }}", "steps"},
		{"tuple of itself twice as key", "{% set ns = namespace(s=(1,)) %}{% for i in range(60) %}{% set ns.s = (ns.s, ns.s) %}{% endfor %}{{ {ns.s: 1} }}", ""},
		{"deep list", "{% set ns = namespace(s=[1]) %}{% for i in range(9999) %}{% set ns.s = [ns.s] %}{% endfor %}{{ ns.s }}", "depth"},
		{"namespace holds itself", "{% set ns = namespace() %}{% set ns.s = ns %}{{ ns }}", "depth"},
		{"replace grows", "{{ ('x' * 99999)|replace('x', 'x' * 99999) }}", "output bytes"},
		{"join grows", "{{ range(99999)|join('x' * 99999) }}", "output bytes"},
		{"padding", "{{ 'x'|indent(10 ** 15) }}", "output bytes"},
		{"percent width", "{{ '%2000000000d' % 1 }}", "output bytes"},
		{"format width", "{{ '{:2000000000}'.format(1) }}", "output bytes"},
		{"grouped format width", "{{ '{:02000000000,}'.format(1) }}", "output bytes"},
		{"indent", "{{ ('\\n' * 99999)|indent('x' * 99999, blank=true) }}", "output bytes"},
		{"JSON indent", "{{ [[[[1]]]]|tojson(indent='x' * 25000000) }}", "output bytes"},
		{"batch fill", "{{ [1]|batch(10 ** 15, 'x')|list }}", "output bytes"},
		{"power", "{{ 10 ** 10000000 }}", "integer bits"},
		{"squares", "{% set ns = namespace(n=9) %}{% for i in range(99) %}{% set ns.n = ns.n * ns.n %}{% endfor %}", "integer bits"},
		{"long integer printed", "{{ 10 ** 5000 }}", "integer digits"},
		{"output", "{% for i in range(99999) %}{{ 'x' * 99999 }}{% endfor %}", ""},
		{"garbage", "{% for i in range(99999) %}{% set x = 'x' * 60000000 %}{% endfor %}", ""},
		{"sort", "{% for i in range(99999) %}{% set x = range(99999)|sort %}{% endfor %}", ""},
		{"search", "{% set s = 'x' * 999999 %}{% for i in range(99999) %}{% set x = s.find('y') %}{% endfor %}", "steps"},
		{"generator over generator", "{% set ns = namespace(g=range(9)) %}{% for i in range(99999) %}{% set ns.g = ns.g|map('string') %}{% endfor %}{{ ns.g|list }}", "depth"},
		{"generator of generators", "{% set ns = namespace(g=range(9)) %}{% for i in range(9999) %}{% set ns.g = [ns.g]|map('first') %}{% endfor %}{{ ns.g|list }}", "depth"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := mustParse(t, tt.template, jinja.WithLimits(jinja.Limits{Steps: tier.Size[int64](500_000, 2_000_000)})).Render(t.Context(), nil)
			var limit *jinja.LimitError
			if !errors.As(err, &limit) {
				t.Fatalf("got %v, want a LimitError", err)
			}
			if tt.limit != "" && limit.Limit != tt.limit {
				t.Errorf("the limit is %q, want %q", limit.Limit, tt.limit)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := mustParse(t, "{% for i in range(99999) %}{% endfor %}").Render(ctx, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestClock(t *testing.T) {
	clock := func() time.Time { return time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC) }
	got, err := mustParse(t, "{{ strftime_now('%d %B %Y') }}", jinja.WithClock(clock)).Render(t.Context(), nil)
	if err != nil || got != "03 February 2031" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestConcurrentRenders(t *testing.T) {
	tmpl := mustParse(t, chatTemplate)
	vars := chat(t, 20)
	want, err := tmpl.Render(t.Context(), vars)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got, err := tmpl.Render(t.Context(), vars); err != nil || got != want {
					t.Errorf("got %d bytes, %v; want %d bytes", len(got), err, len(want))
				}
			}
		})
	}
	wg.Wait()
}

func TestDecodeJSON(t *testing.T) {
	tests := []struct{ name, json, want string }{
		{"order and last value", `{"b": 1, "a": 2, "b": 3}`, `{'b': 3, 'a': 2}`},
		{"many keys", `{"k9":0,"k8":0,"k7":0,"k6":0,"k5":0,"k4":0,"k3":0,"k2":0,"k1":0,"k0":0,"k9":1}`, `{'k9': 1, 'k8': 0, 'k7': 0, 'k6': 0, 'k5': 0, 'k4': 0, 'k3': 0, 'k2': 0, 'k1': 0, 'k0': 0}`},
		{"numbers", `[1, 1.0, -0, -0.0, 1e2, 1E400, 12345678901234567890]`, `[1, 1.0, 0, -0.0, 100.0, inf, 12345678901234567890]`},
		{"others", `[null, true, false, "a\u00e9\ud83d\ude00\ud800"]`, "[None, True, False, 'aé😀\ufffd']"},
		{"empty", `[[], {}, ""]`, `[[], {}, '']`},
		{"blanks", " \t\r\n{ \"a\" :\t[ 1 ,\r\n2 ] , \"b\":\n{ } }\n", `{'a': [1, 2], 'b': {}}`},
		{"marks in texts", `{"{\"a\":": "],}", "\\": "\\\"", ",": ":", "\/\b": "\u0022,"}`, `{'{"a":': '],}', '\\': '\\"', ',': ':', '/\x08': '",'}`},
		{"texts beyond ASCII", `["größer", "雨", "` + "\x7f" + `"]`, `['größer', '雨', '\x7f']`},
		{"no UTF-8", "[\"a\xffb\"]", "['a\ufffdb']"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := jinja.DecodeJSON([]byte(tt.json))
			if err != nil {
				t.Fatal(err)
			}
			vars := jinja.NewDict()
			vars.Set("v", v)
			got, err := mustParse(t, "{{ v }}").Render(t.Context(), vars)
			if err != nil || got != tt.want {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}

func TestDecodeJSONErrors(t *testing.T) {
	for name, source := range map[string]string{
		"empty":         ``,
		"open":          `{"a": [1`,
		"two values":    `1 2`,
		"comma":         `[1,]`,
		"deep":          strings.Repeat("[", 600) + strings.Repeat("]", 600),
		"long integer":  strings.Repeat("9", 5000),
		"number as key": `{1: 2}`,
		"a word":        `nul`,
		"half a number": `[1.]`,
		"plain line":    "\"a\nb\"",
		"no colon":      `{"a" 1}`,
	} {
		t.Run(name, func(t *testing.T) {
			if v, err := jinja.DecodeJSON([]byte(source)); err == nil {
				t.Errorf("got %v, want an error", v)
			}
		})
	}
}

func TestDict(t *testing.T) {
	d := jinja.NewDict()
	for k := range strings.SplitSeq("q w e r t y u i o p", " ") {
		d.Set(k, k+k)
	}
	d.Set("q", int64(5))
	if v, ok := d.Get("q"); !ok || v != int64(5) {
		t.Errorf("Get(q) is %v, %v", v, ok)
	}
	if v, ok := d.Get("p"); !ok || v != "pp" {
		t.Errorf("Get(p) is %v, %v", v, ok)
	}
	if _, ok := d.Get("z"); ok {
		t.Error("Get(z) finds a value")
	}
	if got := strings.Join(d.Keys(), " "); got != "q w e r t y u i o p" || d.Len() != 10 {
		t.Errorf("keys are %q, length %d", got, d.Len())
	}
}

func TestGoValues(t *testing.T) {
	d := jinja.NewDict()
	d.Set("v", []any{nil, true, 1, int32(2), int64(3), 1.5, "s", []string{"a"}, jinja.NewList(4), big.NewInt(5), []any{}})
	got, err := mustParse(t, "{{ v }}").Render(t.Context(), d)
	if want := "[None, True, 1, 2, 3, 1.5, 's', ['a'], [4], 5, []]"; err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	d.Set("w", jinja.NewList(struct{ X int }{1}))
	if _, err := mustParse(t, "x").Render(t.Context(), d); err == nil || !strings.Contains(err.Error(), "struct { X int }") {
		t.Errorf("a Go struct gives %v", err)
	}
	loop := jinja.NewDict()
	loop.Set("self", loop)
	var limit *jinja.LimitError
	if _, err := mustParse(t, "x").Render(t.Context(), loop); !errors.As(err, &limit) {
		t.Errorf("a dict that holds itself gives %v", err)
	}
}

// FuzzTemplate checks that Parse and Render of any Jinja template don't panic, hang or exceed the
// limits of a render.
func FuzzTemplate(f *testing.F) {
	for _, r := range append(expressionRows(f), templateRows(f)...) {
		f.Add(r.template)
	}
	vars := decode(f, readFile(f, "testdata/vars.json"))
	limits := jinja.Limits{Steps: 50_000, Depth: 40, Output: 1 << 20, Memory: 8 << 20}
	f.Fuzz(func(t *testing.T, source string) {
		tmpl, err := jinja.Parse("fuzz", source, jinja.WithLimits(limits))
		if err != nil {
			if _, ok := errors.AsType[*jinja.SyntaxError](err); !ok {
				t.Fatalf("Parse failed with %T: %v", err, err)
			}
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		out, err := tmpl.Render(ctx, vars)
		if ctx.Err() != nil {
			t.Fatalf("the limits let a template run for 5 s")
		}
		var render *jinja.RenderError
		var raised *jinja.RaisedError
		var limit *jinja.LimitError
		if err != nil && !errors.As(err, &render) && !errors.As(err, &raised) && !errors.As(err, &limit) {
			t.Fatalf("Render failed with %T: %v", err, err)
		}
		if len(out) > 2<<20 {
			t.Fatalf("the output has %d bytes", len(out))
		}
	})
}

// chatTemplate has the structure of Llama 3's and related templates.
const chatTemplate = `{{- bos_token }}
{%- if custom_tools is defined %}{%- set tools = custom_tools %}{%- endif %}
{%- if not date_string is defined %}{%- set date_string = "26 Jul 2024" %}{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|begin|>system<|end|>\n\n" }}
{{- "Today: " + date_string + "\n\n" }}{{- system_message }}{{- "<|stop|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'tool' or message.role == 'ipython' or 'tool_calls' in message) %}
        {{- '<|begin|>' + message['role'] + '<|end|>\n\n' + message['content'] | trim + '<|stop|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}{{- raise_exception("one call at a time") }}{%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '{"name": "' + tool_call.name + '", "parameters": ' }}{{- tool_call.arguments | tojson }}{{- "}" }}
    {%- else %}
        {{- "<|begin|>ipython<|end|>\n\n" }}
        {%- if message.content is mapping or message.content is iterable and message.content is not string %}
            {{- message.content | tojson }}
        {%- else %}{{- message.content }}{%- endif %}
        {{- "<|stop|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|begin|>assistant<|end|>\n\n' }}{%- endif %}`

func chat(tb testing.TB, n int) *jinja.Dict {
	tb.Helper()
	messages := jinja.NewList()
	for i := range n {
		m := jinja.NewDict()
		m.Set("role", [...]string{"user", "assistant"}[i%2])
		m.Set("content", "Tell me more about lanterns, candles and the long nights of the north. ")
		messages.Append(m)
	}
	vars := jinja.NewDict()
	vars.Set("messages", messages)
	vars.Set("bos_token", "<s>")
	vars.Set("add_generation_prompt", true)
	return vars
}

// BenchmarkRender measures the cost of the prompt of a 20-message chat. It should stay below 100
// µs. Compare two commits with benchstat.
func BenchmarkRender(b *testing.B) {
	tmpl := mustParse(b, chatTemplate)
	vars := chat(b, 20)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tmpl.Render(b.Context(), vars); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParse measures the cost of compiling a template, which happens once per model.
func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := jinja.Parse("chat", chatTemplate); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecodeJSON measures the cost of reading the messages of a request.
func BenchmarkDecodeJSON(b *testing.B) {
	one := `{"role": "user", "content": "Tell me more about lanterns, candles and the long nights of the north. "}`
	data := []byte(`{"messages": [` + strings.Repeat(one+",", 19) + one + `]}`)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := jinja.DecodeJSON(data); err != nil {
			b.Fatal(err)
		}
	}
}
