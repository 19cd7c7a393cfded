package anthropic

import (
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
)

// fieldTables returns the treatment of each field by the heading of its table in docs/reference/anthropic.md.
func fieldTables(t *testing.T) map[string]map[string]string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/reference/anthropic.md")
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]map[string]string{}
	heading, fields := "", false
	for line := range strings.Lines(string(doc)) {
		if strings.HasPrefix(line, "#") {
			heading, fields = strings.Trim(line, "# \n"), false
		}
		cells := strings.Split(line, "|")
		switch {
		case len(cells) < 4:
		case strings.TrimSpace(cells[1]) == "field":
			fields, tables[heading] = true, map[string]string{}
		case fields && strings.HasPrefix(cells[1], " `"):
			tables[heading][strings.Trim(cells[1], " `")] = strings.TrimSpace(cells[2])
		}
	}
	return tables
}

// probe has the JSON that a client sends for a field, and a part of the prompt or of the sampling parameters
// that the model gets for the field.
type probe struct{ messages, fields, sent string }

const probed = `[{"role":"user","content":"a"}]`

func blockProbe(block, sent string) probe {
	return probe{messages: `[{"role":"user","content":[{"type":"text","text":"a"},` + block + `]}]`, sent: sent}
}

func turnProbe(block, sent string) probe {
	return probe{messages: `[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"t"},` + block + `]},{"role":"user","content":"b"}]`, sent: sent}
}

func toolProbe(members string) probe {
	return probe{fields: `"tools":[{"name":"f","input_schema":{},` + members + `}]`}
}

// probes have a probe for each row of the tables.
func probes(sealed string) map[string]probe {
	image := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}`
	return map[string]probe{
		"model":          {sent: "<user>a"},
		"messages":       {messages: `[{"role":"user","content":"b"}]`, sent: "<user>b"},
		"max_tokens":     {sent: `"max_tokens":5`},
		"system":         {fields: `"system":"s"`, sent: "<system>s"},
		"stream":         {fields: `"stream":true`, sent: "message_start"},
		"stop_sequences": {fields: `"stop_sequences":["E"]`, sent: `"stop":["E"]`},
		"temperature":    {fields: `"temperature":0.5`, sent: `"temperature":0.5`},
		"top_p":          {fields: `"top_p":0.5`, sent: `"top_p":0.5`},
		"top_k":          {fields: `"top_k":3`, sent: `"top_k":3`},
		"tools":          {fields: `"tools":[{"name":"f","input_schema":{}}]`, sent: `"name": "f"`},
		"tool_choice":    {fields: `"tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"any"}`, sent: "structured_outputs"},
		"thinking":       {fields: `"thinking":{"type":"disabled"}`, sent: "no thinking"},
		"output_config":  {fields: `"output_config":{"format":{"type":"json_schema","schema":{}}}`, sent: "structured_outputs"},
		"cache_control":  {fields: `"cache_control":{"type":"ephemeral"}`},
		"metadata":       {fields: `"metadata":{"user_id":"u"}`},
		"service_tier":   {fields: `"service_tier":"auto"`},

		"messages[].content[].text":                    blockProbe(`{"type":"text","text":"b"}`, "a\nb"),
		"messages[].content[].image":                   blockProbe(image, "<1>"),
		"messages[].content[].document":                blockProbe(`{"type":"document","source":{"type":"content","content":"d"}}`, "<document>\nd\n</document>"),
		"messages[].content[].search_result":           blockProbe(`{"type":"search_result","title":"","source":"","content":[{"type":"text","text":"d"}]}`, "\nd\n</search_result>"),
		"messages[].content[].tool_use":                turnProbe(`{"type":"tool_use","id":"i","name":"f","input":{}}`, "[f {}]"),
		"messages[].content[].tool_result":             blockProbe(`{"type":"tool_result","tool_use_id":"i","content":"o"}`, "<tool>o"),
		"messages[].content[].thinking":                turnProbe(`{"type":"thinking","thinking":"h","signature":""}`, "<think>h"),
		"messages[].content[].redacted_thinking":       turnProbe(`{"type":"redacted_thinking","data":"`+sealed+`"}`, "<think>I thought"),
		"messages[].content[].server_tool_use":         turnProbe(`{"type":"server_tool_use","id":"i","name":"f","input":{}}`, ""),
		"messages[].content[].search_result.citations": blockProbe(`{"type":"search_result","title":"","source":"","content":[],"citations":{"enabled":true}}`, ""),
		"messages[].content[].document.citations":      blockProbe(`{"type":"document","source":{"type":"content","content":"d"},"citations":{"enabled":true}}`, ""),
		"tools[].defer_loading":                        toolProbe(`"defer_loading":true`),
		"tools[].eager_input_streaming":                toolProbe(`"eager_input_streaming":true`),
		"tools[].input_examples":                       toolProbe(`"input_examples":[{}]`),
		"tools[].strict":                               {fields: `"tools":[{"name":"f","input_schema":{},"strict":true}]`, sent: "structural_tag"},
		"tools[].allowed_callers":                      toolProbe(`"allowed_callers":["code_execution_20250825"]`),
		"tools[].type":                                 toolProbe(`"type":"bash_20250124"`),
		"thinking.budget_tokens":                       {fields: `"thinking":{"type":"enabled","budget_tokens":9}`},
		"context_management":                           {fields: `"context_management":{"edits":[]}`},
		"anthropic-beta":                               {},
		"thread":                                       {fields: `"thread":{"type":"create"}`, sent: `"details":{"error_code":"thread_unsupported_request","unsupported":["thread"]}`},
	}
}

// TestFields checks that the tables of docs/reference/anthropic.md have all fields of the document, and what each row says:
// honoured fields reach the model, others don't, and ignored fields are named.
func TestFields(t *testing.T) {
	tables := fieldTables(t)
	rows := maps.Clone(tables["POST /v1/messages"])
	if documented, listed := slices.Sorted(maps.Keys(schema(t, "CreateMessageRequest").Properties)), slices.Sorted(maps.Keys(rows)); !slices.Equal(documented, listed) {
		t.Errorf("the document has %v\nthe table %v", documented, listed)
	}
	maps.Copy(rows, tables["Inside the fields of a message"])
	params := abilities()
	params["trident.structured_outputs"] = "xgrammar"
	params["trident.chat_template"] = `{% if enable_thinking is defined and not enable_thinking %}no thinking{% endif %}` + callTemplate
	f := serve(t, Config{}, inferencetest.StreamText("x"), params)
	sealed, err := f.seals.Seal("I thought", "")
	if err != nil {
		t.Fatal(err)
	}
	all := probes(sealed)
	if a, b := slices.Sorted(maps.Keys(rows)), slices.Sorted(maps.Keys(all)); !slices.Equal(a, b) {
		t.Fatalf("the rows are   %v\nthe probes are %v", a, b)
	}
	for field, word := range rows {
		t.Run(field, func(t *testing.T) { f.checkField(t, field, word, all[field]) })
	}
}

func (f *frontend) checkField(t *testing.T, field, word string, p probe) {
	t.Helper()
	messages := probed
	if p.messages != "" {
		messages = p.messages
	}
	fields := ""
	if p.fields != "" {
		fields = "," + p.fields
	}
	var lines []string
	if field == "anthropic-beta" {
		lines = []string{field, "some-2026-01-01"}
	}
	answer := f.post(t, "/v1/messages?beta=true", request(messages, fields), lines...)
	if word == "refused" {
		wantDocument(t, "ErrorResponse", answer.Body.String())
		if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), p.sent) {
			t.Errorf("%d %s", answer.Code, answer.Body)
		}
		return
	}
	if answer.Code != http.StatusOK {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	requests := f.engine.Requests()
	last := requests[len(requests)-1]
	sent := inferencetest.Input(last, "text_input") + inferencetest.Input(last, "sampling_parameters") + answer.Body.String()
	ignored := answer.Header().Get("X-Trident-Ignored-Fields")
	switch word {
	case "honoured":
		if p.sent == "" || !strings.Contains(sent, p.sent) || ignored != "" {
			t.Errorf("%q isn't in %q; ignored: %q", p.sent, sent, ignored)
		}
	case "metadata":
		if plain := "<user>a</><assistant>" + `{"max_tokens":5}`; !strings.HasPrefix(sent, plain) || ignored != "" {
			t.Errorf("sent %q; ignored: %q", sent, ignored)
		}
	case "ignored":
		if ignored == "" {
			t.Error("the header doesn't name the field")
		}
	default:
		t.Errorf("the treatment is %q", word)
	}
}
