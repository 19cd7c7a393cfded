package toolparser

import "testing"

func TestQwen3Coder(t *testing.T) {
	check(t, tools("qwen3_coder"), []example{
		{name: "text", in: "a < b, <tool> and <func>", text: "a < b, <tool> and <func>"},
		{
			name:  "a call",
			in:    "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
			calls: []call{{"get_weather", `{"city": "Paris", "days": 3}`}},
		},
		{
			name:  "types",
			in:    "<tool_call><function=get_weather><parameter=metric>True</parameter><parameter=near>[\"a\", 1]</parameter><parameter=box>{'x': None}</parameter><parameter=note>null</parameter><parameter=limit>null</parameter><parameter=any>5</parameter><parameter=more>6</parameter><parameter=zip>00501</parameter></function></tool_call>",
			calls: []call{{"get_weather", `{"metric": true, "near": ["a", 1], "box": {"x": null}, "note": null, "limit": null, "any": "5", "more": "6", "zip": "00501"}`}},
		},
		{
			name:  "values of another type than the schema's",
			in:    "<tool_call><function=get_weather><parameter=days>few</parameter><parameter=metric>perhaps</parameter><parameter=near>Rome</parameter><parameter=limit>none</parameter></function></tool_call>",
			calls: []call{{"get_weather", `{"days": "few", "metric": "perhaps", "near": "Rome", "limit": null}`}},
		},
		{
			name:  "code with tags",
			in:    "<tool_call>\n<function=get_weather>\n<parameter=city>\n<a href=\"x\">\n\n  if a < b: <parameter=y></function>\n\n</parameter>\n</function>\n</tool_call>",
			calls: []call{{"get_weather", `{"city": "<a href=\"x\">\n\n  if a < b: <parameter=y></function>\n"}`}},
		},
		{name: "no parameters", in: "Ok.\n<tool_call>\n<function=now>\n</function>\n</tool_call>", text: "Ok.\n", calls: []call{{"now", "{}"}}},
		{name: "two calls", in: "<tool_call>\n<function=now>\n</function>\n</tool_call>\n<tool_call>\n<function=f>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>", calls: []call{{"now", "{}"}, {"f", `{"x": "1"}`}}},
		{name: "two functions in one tag", in: "<tool_call><function=now></function><function=now></function></tool_call>", calls: []call{{"now", "{}"}, {"now", "{}"}}},
		{name: "without the outer tag", in: "<function=now>\n</function>", calls: []call{{"now", "{}"}}},
		{name: "no end of a parameter", in: "<tool_call>\n<function=f>\n<parameter=x>\n1\n<parameter=y>\n2\n</function>\n</tool_call>", calls: []call{{"f", `{"x": "1", "y": "2"}`}}},
		{name: "no end of the function", in: "<tool_call>\n<function=f>\n<parameter=x>\n1\n</parameter>\n</tool_call>", calls: []call{{"f", `{"x": "1"}`}}},
		{name: "what is no parameter", in: "<tool_call><function=f>stray\n</function></tool_call>", calls: []call{{"f", `{"": "stray"}`}}},
		{name: "no function", in: "<tool_call>{}</tool_call>", text: "<tool_call>{}</tool_call>"},
		{name: "no name", in: "<function=>x", text: "<function=>x"},
		{name: "line breaks of another kind", in: "<function=f>\r\n<parameter=x>\r\na\r\n\r\n</parameter>\r\n<parameter=y>\r\n</parameter>\r\n</function>", calls: []call{{"f", `{"x": "a\r\n", "y": ""}`}}},
		{name: "empty values", in: "<function=f><parameter=x></parameter><parameter=y>\n\n</parameter></function>", calls: []call{{"f", `{"x": "", "y": ""}`}}},
		{name: "cut off in a number", in: "<function=get_weather><parameter=days>\n1", calls: []call{{"get_weather", `{"days": "1`}}, broken: true},
		{name: "cut off in a value", in: "<tool_call><function=f><parameter=x>\nlong \"te", calls: []call{{"f", `{"x": "long \"te`}}, broken: true},
		{name: "cut off in the name", in: "<tool_call><function=f", text: "<tool_call><function=f"},
	})
}
