package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestModelFlags(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	jinja, liquid := file("a=b.jinja", "{{ messages }}"), file("a.liquid", "{{ items[0].content }}")
	config := file("tokenizer_config.json", `{"chat_template": "{{ eos_token }}", "eos_token": "</s>"}`)
	bad, badLiquid := file("bad.jinja", "\n{% for %}"), file("bad.liquid", "{% for %}")
	t.Setenv("TRIDENT_TOOL_CALL_PARSER", "hermes\nchat=mistral")
	got, err := parse("--tokenizer=org/a", "--tokenizer=chat=/weights", "--chat-template="+jinja, "--chat-template=chat=none",
		"--reasoning-parser=chat=qwen3", "--history-template-file="+liquid, "--max-tool-call-parse-bytes=7",
		"--triton-model-repository=/shared")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, o := range got.Overrides {
		lines = append(lines, strings.Join([]string{o.Model, o.Name, o.Value, o.Origin}, "|"))
	}
	want := []string{
		"|tokenizer|org/a|--tokenizer", "chat|tokenizer|/weights|--tokenizer",
		"|chat_template|{{ messages }}|--chat-template " + jinja, "chat|chat_template|none|--chat-template",
		"|tool_call_parser|hermes|--tool-call-parser", "chat|tool_call_parser|mistral|--tool-call-parser",
		"chat|reasoning_parser|qwen3|--reasoning-parser",
		"|history_template|{{ items[0].content }}|--history-template-file " + liquid,
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if got.Inference.MaxCallBytes != 7 || !slices.Equal(got.Models.Repositories, []string{"/shared"}) {
		t.Errorf("got %+v, %+v", got.Inference, got.Models)
	}
	t.Setenv("TRIDENT_TOOL_CALL_PARSER", "")

	for args, want := range map[string]string{
		"--chat-template=" + bad:               "--chat-template: template " + bad + ", line 2",
		"--chat-template=chat=/no/such":        "--chat-template: stat /no/such",
		"--chat-template=" + liquid:            "--chat-template: " + liquid + " is a Liquid template",
		"--chat-template=" + config:            "--chat-template: " + config + " is more than a Jinja template",
		"--tokenizer=chat=":                    "--tokenizer: must not be empty",
		"--tool-call-parser=x":                 `--tool-call-parser: unknown tool-call parser "x"`,
		"--reasoning-parser=chat=x":            `--reasoning-parser: unknown reasoning parser "x"`,
		"--history-template={{ x | y }}":       "--history-template: history template",
		"--history-template-file=" + badLiquid: "--history-template-file " + badLiquid,
		"--history-template-file=/no/such":     "--history-template-file: open /no/such",
		"--max-tool-call-parse-bytes=-1":       "--max-tool-call-parse-bytes",
	} {
		if _, err := parse(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", args, err)
		}
	}
	for want, args := range map[string][]string{
		"both are set: keep one":       {"--history-template=x", "--history-template-file=" + liquid},
		"is set twice for the model m": {"--tokenizer=m=a", "--tokenizer=b", "--tokenizer=m=c"},
		"is set twice for all models":  {"--tokenizer=a", "--tokenizer=b"},
	} {
		if _, err := parse(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v", args, err)
		}
	}
}

// repository creates a vLLM model whose weights are in a separate folder.
func repository(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"weights/tokenizer_config.json": `{"chat_template": [{"name": "default", "template": "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"}, {"name": "tool_use", "template": "{{ tools[0].function.name }} of {{ day }}"}], "bos_token": "<s>"}`,
		"weights/config.json":           `{"max_position_embeddings": 64}`,
		"models/llm/config.pbtxt":       `backend: "vllm"`,
		"models/llm/1/model.json":       `{"model": "` + folder + `/weights", "enable_lora": true}`,
		"models/llm/1/multi_lora.json":  `{"doll": "/loras/doll"}`,
		"models/broken/config.pbtxt":    `nonsense`,
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// flagsOf parses a command line without running its command.
func flagsOf(t *testing.T, args ...string) *flags {
	t.Helper()
	var cli commandLine
	parser, err := newParser(&cli)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	return &cli.flags
}

func TestModels(t *testing.T) {
	folder := repository(t)
	cards, err := flagsOf(t, "--model-repository="+folder+"/models").cards()
	if err != nil {
		t.Fatal(err)
	}
	table := strings.ReplaceAll(settingsTable(cards, nil), folder, "DIR")
	for _, want := range []string{
		"MODEL   SETTING         VALUE ",
		"broken  state           UNAVAILABLE: config.pbtxt: ",
		"\nllm     state           not loaded",
		"\n        kind            vllm ",
		"\n        tokenizer       DIR/weights ",
		"\n        context_length  64 ",
		"\n        chat_template   Jinja, 79 characters, tool_use ",
		"\n        loras           doll ",
		" 1/model.json: model\n", " config.json: max_position_embeddings\n", " tokenizer_config.json: chat_template\n", " 1/multi_lora.json\n",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	var json strings.Builder
	if err := printJSON(&json, cards, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"name": "context_length",`, `"value": "64",`, `"origin": "config.json: max_position_embeddings"`, `"state": "not loaded"`, `"settings": []`} {
		if !strings.Contains(json.String(), want) {
			t.Errorf("no %s in\n%s", want, &json)
		}
	}
	if _, err := flagsOf(t, "--model-repository=/no/such").cards(); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no repository: %v", err)
	}
	if _, err := flagsOf(t, "--triton-endpoint=127.0.0.1:1").cards(); err == nil || !strings.Contains(err.Error(), "can't be reached") {
		t.Errorf("no tritonserver: %v", err)
	}
}

func TestTemplateCommand(t *testing.T) {
	folder := repository(t)
	serve := "--model-repository=" + folder + "/models"
	tools := filepath.Join(folder, "tools.json")
	liquid := filepath.Join(folder, "a.liquid")
	document := filepath.Join(folder, "documents.jinja")
	for path, text := range map[string]string{document: "{% for d in documents or [] %}{{ d.t }}{% endfor %}{% for m in messages %}<{{ m.content }}>{% endfor %}{% if add_generation_prompt %}next{% endif %}", tools: `[{"type": "function", "function": {"name": "f"}}]`, liquid: "{% for i in items %}{{ i.identity }} {% endfor %}"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name       string
		command    templateCommand
		body, want string
		err        string
	}{
		{"messages", templateCommand{Model: "llm"}, `[{"role": "user", "content": "hi"}]`, "<s>[user]hi", ""},
		{"a request", templateCommand{Model: "llm"}, `{"messages": [{"role": "user", "content": "hi"}], "tools": [{"type": "function", "function": {"name": "g"}}], "chat_template_kwargs": {"day": 5}}`, "g of 5", ""},
		{"tools that mustn't be called", templateCommand{Model: "llm"}, `{"messages": [{"role": "user", "content": "hi"}], "tools": [{}], "tool_choice": "none"}`, "<s>[user]hi", ""},
		{"tools of a file", templateCommand{Model: "llm", Tools: tools}, `[{"role": "user", "content": "hi"}]`, "f of ", ""},
		{"a template's file", templateCommand{File: folder + "/weights/tokenizer_config.json"}, `[{"role": "user", "content": "hi"}]`, "<s>[user]hi", ""},
		{"documents", templateCommand{File: document}, `{"messages": [{"role": "user", "content": "hi"}], "documents": [{"t": "D"}]}`, "D<hi>next", ""},
		{"without the next message", templateCommand{File: document}, `{"messages": [{"role": "user", "content": "hi"}], "add_generation_prompt": false}`, "<hi>", ""},
		{"a message to continue", templateCommand{File: document}, `{"messages": [{"role": "assistant", "content": "hi"}], "add_generation_prompt": false, "continue_final_message": true}`, "<hi", ""},
		{"a message to continue before the next one", templateCommand{File: document}, `{"messages": [{"role": "assistant", "content": "hi"}], "continue_final_message": true}`, "", "continue_final_message needs add_generation_prompt: false"},
		{"Liquid", templateCommand{File: liquid}, `[{"role": "user", "content": "hi"}]`, "User ", ""},
		{"no model", templateCommand{}, `[{"role": "user", "content": "hi"}]`, "", "set --model NAME or --file FILE"},
		{"an unknown model", templateCommand{Model: "x"}, `[{"role": "user", "content": "hi"}]`, "", "model x doesn't exist"},
		{"a model without a template", templateCommand{Model: "broken"}, `[{"role": "user", "content": "hi"}]`, "", "has no chat template"},
		{"no JSON", templateCommand{Model: "llm"}, `hello`, "", "standard input must be a JSON list of messages"},
		{"no messages", templateCommand{Model: "llm"}, `[]`, "", "messages"},
		{"a bad message", templateCommand{Model: "llm"}, `[{"role": "robot", "content": "x"}]`, "", "messages[0].role"},
		{"no tools", templateCommand{Model: "llm", Tools: "/no/such"}, `[{"role": "user", "content": "hi"}]`, "", "--tools: open /no/such"},
		{"an effort that the template doesn't read", templateCommand{Model: "llm"}, `{"messages": [{"role": "user", "content": "hi"}], "reasoning_effort": "high"}`, "", "does not support the reasoning effort high"},
		{"a template that fails", templateCommand{Model: "llm", Tools: tools}, `{"messages": [{"role": "user", "content": "hi"}], "chat_template_kwargs": {"tools": []}}`, "", "tools can't be set"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			err := tt.command.show(flagsOf(t, serve), []byte(tt.body), &out)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got error %v, want %q", err, tt.err)
			}
			if out.String() != tt.want {
				t.Errorf("got %q, want %q", out.String(), tt.want)
			}
		})
	}
}
