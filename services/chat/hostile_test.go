package chat

import (
	"runtime"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/test/tier"
)

// TestHostile checks that no template hangs the process or fills its memory when it is
// compiled, probed or rendered. It limits the total allocations, including garbage. The
// templates get a fraction of the limits, except one that takes time and one that takes
// memory.
func TestHostile(t *testing.T) {
	tier.Computes(t)
	if testing.Short() {
		t.Skip("takes every limit to its end")
	}
	const each, end = "{% for a in range(99999) %}", "{% endfor %}"
	const grow = "{% set ns = namespace(s='0123456789abcdef', l=[1]) %}{% for i in range(99999) %}"
	whole := map[string]bool{"loops in loops": true, "text grows by a block": true}
	tests := []struct{ name, source string }{
		{"loops in loops", each + each + each + end + end + end},
		{"loops that print", each + each + "{{ a }}" + end + end},
		{"loops that do nothing but set", each + "{% set x = range(99999) | list %}" + end},
		{"text doubles by plus", grow + "{% set ns.s = ns.s + ns.s %}" + end},
		{"text doubles by tilde", grow + "{% set ns.s = ns.s ~ ns.s %}" + end},
		{"text grows by a factor", grow + "{% set ns.s = ns.s * 1000 %}" + end},
		{"text grows by replace", grow + "{% set ns.s = ns.s | replace('0', ns.s) %}" + end},
		{"text grows by join", grow + "{% set ns.s = [ns.s, ns.s, ns.s] | join(ns.s) %}" + end},
		{"text grows by format", grow + "{% set ns.s = '%s%s' % (ns.s, ns.s) %}" + end},
		{"text grows by a block", grow + "{% set ns.s %}{{ ns.s }}{{ ns.s }}{% endset %}" + end},
		{"text grows by a filter block", grow + "{% set ns.s %}{% filter indent(ns.s) %}{{ ns.s }}\n{{ ns.s }}{% endfilter %}{% endset %}" + end},
		{"text grows by JSON", grow + "{% set ns.s = ns.s | tojson | tojson %}" + end},
		{"a factor without end", "{{ 'x' * 10 ** 18 }}{{ [0] * 10 ** 18 }}"},
		{"lists double", grow + "{% set ns.l = ns.l + ns.l %}" + end},
		{"lists in lists", grow + "{% set ns.l = [ns.l, ns.l] %}" + end + "{{ ns.l }}"},
		{"lists in lists as JSON", grow + "{% set ns.l = [ns.l, ns.l] %}" + end + "{{ ns.l | tojson(indent=4) }}"},
		{"integers grow", "{% set ns = namespace(n=3) %}" + each + "{% set ns.n = ns.n ** 3 %}" + end},
		{"a macro calls itself", "{% macro m(x) %}{{ m(x + x) }}{{ m(x) }}{% endmacro %}{{ m('ab') }}"},
		{"a macro calls itself twice, not deep", "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(100) }}"},
		{"macros call each other", "{% macro a() %}{{ caller() }}{{ b() }}{% endmacro %}{% macro b() %}{% call a() %}x{% endcall %}{% endmacro %}{{ b() }}"},
		{"a caller calls itself", "{% macro m() %}{{ caller() }}{{ caller() }}{% endmacro %}" + strings.Repeat("{% call m() %}", 60) + "x" + strings.Repeat("{% endcall %}", 60)},
		{"a loop calls itself", "{% for x in [[1]] recursive %}{{ loop([[1], [2]]) }}" + end},
		{"sorts", each + "{% set x = range(99999) | sort(reverse=true) %}" + end},
		{"groups", each + "{% set x = range(9999) | map('string') | unique | list %}" + end},
		{"searches", "{% set s = 'ab' * 500000 %}" + each + "{% set x = s.count('ba') + s.find('zz') %}" + end},
		{"splits", "{% set s = 'a ' * 500000 %}" + each + "{% set x = s.split() %}" + end},
		{"comparisons", "{% set l = range(99999) | list %}" + each + "{% if l == range(99999) | list %}{% endif %}" + end},
		{"iterators over iterators", grow + "{% set ns.l = ns.l | map('string') %}" + end + "{{ ns.l | list }}"},
		{"a namespace in itself", "{% set ns = namespace() %}{% set ns.a = [ns, ns] %}{{ ns.a | string }}"},
		{"widths", "{{ '%999999999d' % 1 }}{{ '{:>999999999}'.format(1) }}{{ 'x' * 10 ** 12 }}"},
		{"a long date", "{{ strftime_now('%c' * 30000000) }}"},
		{"dates", each + "{{ strftime_now('%Y' * 10000) }}" + end},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			part := 16
			if whole[tt.name] {
				part = 1
			}
			_, err := renderWith(t, compiler{part: part}, tt.source, &inference.Request{Messages: []inference.Message{{Role: "user", Text: "x"}}})
			runtime.ReadMemStats(&after)
			if e := inference.AsError(err); err == nil || e.Param != "messages" || !strings.Contains(e.Err.Error(), "template needs more than") {
				t.Fatalf("got %v", err)
			}
			// Two probes precede the render, so the factor is three. Growing buffers are
			// copied.
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 4*3*maxMemory/uint64(part) {
				t.Errorf("it took %d MB", taken>>20)
			} else {
				t.Logf("%d MB", taken>>20)
			}
		})
	}
}
