package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// runTrident runs a command of trident to its end.
func runTrident(t *testing.T, input string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tridentBinary(t), args...)
	cmd.Env = environment(raceOptions, "HF_HUB_OFFLINE=1")
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("%s: %v\n%s", cmd, err, exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestModelsCommand checks the output for the models of a real Triton: from their parameters, from
// flags and from files of a local repository.
func TestModelsCommand(t *testing.T) {
	t.Parallel()
	repository := t.TempDir()
	if err := os.MkdirAll(filepath.Join(repository, "embedding"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root(t), "models", "embedding", "tokenizer"), filepath.Join(repository, "embedding", "tokenizer")); err != nil {
		t.Fatal(err)
	}
	template := filepath.Join(repository, "a.jinja")
	if err := os.WriteFile(template, []byte("{{ messages[0].content }}{{ eos_token }}"), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := append(slices.Clone(demoModels(t).flags), "--chat-template=chat="+template)
	if !inProcess() {
		flags = append(flags, "--triton-model-repository="+repository)
	}
	var models []struct {
		Name     string `json:"name"`
		Kind     string `json:"kind"`
		Settings []struct {
			Name, Value, Origin string
		} `json:"settings"`
	}
	out := runTrident(t, "", append([]string{"models", "--json"}, flags...)...)
	if err := json.Unmarshal([]byte(out), &models); err != nil || len(models) != 2 || models[0].Kind != "vllm" {
		t.Fatalf("got %s, %v", out, err)
	}
	got := map[string]string{}
	for _, m := range models {
		for _, s := range m.Settings {
			got[m.Name+" "+s.Name] = s.Value + " from " + s.Origin
		}
	}
	want := map[string]string{
		"chat context_length":      "2048 from config.pbtxt: trident.context_length",
		"chat chat_template":       "Jinja, 40 characters from --chat-template " + template,
		"embedding context_length": "256 from sentence_bert_config.json: max_seq_length",
		"embedding tokenizer":      filepath.Join(repository, "embedding", "tokenizer") + " from config.pbtxt: trident.tokenizer",
		"embedding pooling":        "mean from 1_Pooling/config.json: pooling_mode_mean_tokens",
		"embedding batching":       "Trident from config.pbtxt: no dynamic_batching",
	}
	if inProcess() {
		want["embedding tokenizer"] = filepath.Join(root(t), "models", "embedding", "tokenizer") + " from config.pbtxt: trident.tokenizer"
	}
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s: got %q, want %q", key, got[key], value)
		}
	}
	prompt := runTrident(t, `{"messages": [{"role": "user", "content": "Hi"}]}`, append([]string{"template", "--model=chat"}, flags...)...)
	if prompt != "Hi<|im_end|>" {
		t.Errorf("the prompt is %q", prompt)
	}
}

// TestModelsShowsParsers checks which parsers `trident models` finds in the chat templates of a
// repository's models, and that the output has the texts by which they were found.
func TestModelsShowsParsers(t *testing.T) {
	t.Parallel()
	repository := t.TempDir()
	for name, files := range map[string][2]string{
		"kimi":  {"", "<|tool_calls_section_begin|><|tool_call_begin|>{{ id }}<|tool_call_argument_begin|><think></think>"},
		"plain": {"", "{{ messages[0].content }}"},
		"named": {`parameters { key: "trident.tool_call_parser" value { string_value: "glm47" } }`, "{{ messages[0].content }}</think>"},
	} {
		folder := filepath.Join(repository, name)
		tokenizer := filepath.Join(folder, "tokenizer")
		for path, text := range map[string]string{
			"config.pbtxt": `backend: "vllm"` + "\n" + files[0], "1/model.json": `{"model": "` + tokenizer + `"}`, "tokenizer/chat_template.jinja": files[1],
		} {
			file := filepath.Join(folder, filepath.FromSlash(path))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	var found []string
	for line := range strings.Lines(runTrident(t, "", "models", "--model-repository="+repository)) {
		if words := strings.Fields(line); strings.Contains(line, "_parser ") {
			found = append(found, strings.Join(words, " "))
		}
	}
	want := []string{
		"tool_call_parser kimi_k2 the chat template: <|tool_calls_section_begin|> <|tool_call_argument_begin|>",
		"reasoning_parser kimi_k2 the chat template: <|tool_calls_section_begin|> </think>",
		"tool_call_parser glm47 config.pbtxt: trident.tool_call_parser",
		"reasoning_parser qwen3 the chat template: </think>",
	}
	if !slices.Equal(found, want) {
		t.Errorf("got %q", found)
	}
}
