package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// TestProxyFlags checks that Trident accepts the command lines in the documentation of the proxies
// that it replaces, except for intended differences.
func TestProxyFlags(t *testing.T) {
	cfg, err := parse("-H", "127.0.0.1", "-p", "3000", "-t", "http://triton:8001", "--history-template", "{{ items[0].content }}")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Server.Host != "127.0.0.1" || cfg.Server.Port != 3000 || cfg.Triton.Endpoint != "http://triton:8001" || cfg.Overrides[0].Value != "{{ items[0].content }}" {
		t.Errorf("got %+v, %+v, %+v", cfg.Server, cfg.Triton, cfg.Overrides)
	}
	engine := t.TempDir()
	if err := os.WriteFile(filepath.Join(engine, "config.json"), []byte(`{"build_config": {"max_input_len": 5, "max_seq_len": 77}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err = parse("--tokenizer_dir", "/models/tokenizer", "--engine_dir", engine, "--port=11434", "--default_max_tokens=512")
	if err != nil {
		t.Fatal(err)
	}
	want := []inference.Override{
		{Setting: inference.Setting{Name: "tokenizer", Value: "/models/tokenizer", Origin: "--tokenizer"}},
		{Setting: inference.Setting{Name: "context_length", Value: "77", Origin: "--engine-dir " + engine + ": build_config.max_seq_len"}},
	}
	if len(cfg.Overrides) != 2 || cfg.Overrides[0] != want[0] || cfg.Overrides[1] != want[1] || cfg.Server.Port != 11434 || cfg.Inference.DefaultMaxTokens != 512 {
		t.Errorf("got %+v, %+v, %+v", cfg.Overrides, cfg.Server, cfg.Inference)
	}
	if _, err := parse("--engine_dir=" + t.TempDir()); err == nil || !strings.Contains(err.Error(), "--engine-dir") || !strings.Contains(err.Error(), "config.json: no such file") {
		t.Errorf("a folder without an engine: %v", err)
	}
	if err := os.WriteFile(filepath.Join(engine, "config.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := parse("--engine_dir=" + engine); err == nil || !strings.Contains(err.Error(), "has no context length") {
		t.Errorf("an engine without a length: %v", err)
	}
}

func TestProxyVariables(t *testing.T) {
	t.Setenv("OPENAI_TRTLLM_PORT", "3001")
	t.Setenv("OPENAI_TRTLLM_HOST", "::1")
	t.Setenv("OPENAI_TRTLLM_TRITON_ENDPOINT", "http://a:1")
	t.Setenv("TRIDENT_TRITON_ENDPOINT", "b:2")
	t.Setenv("OPENAI_TRTLLM_HISTORY_TEMPLATE", "{{ items }}")
	cfg, err := parse("--host=127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Server.Port != 3001 || cfg.Server.Host != "127.0.0.1" || cfg.Triton.Endpoint != "b:2" || len(cfg.Overrides) != 1 {
		t.Errorf("got %+v, %+v, %+v", cfg.Server, cfg.Triton, cfg.Overrides)
	}
}

// TestSpellings checks that each row is an existing flag, and that no spelling is the
// flag's own name.
func TestSpellings(t *testing.T) {
	parser, err := newParser(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	names, shorts := map[string]string{}, map[rune]string{}
	for _, flag := range parser.Model.Flags {
		for _, name := range append([]string{flag.Name}, flag.Aliases...) {
			if names[name] != "" {
				t.Errorf("--%s is --%s and --%s", name, flag.Name, names[name])
			}
			names[name] = flag.Name
		}
		if flag.Short != 0 && shorts[flag.Short] != "" {
			t.Errorf("-%c is --%s and --%s", flag.Short, flag.Name, shorts[flag.Short])
		}
		shorts[flag.Short] = flag.Name
		if isSetting(flag) && flag.Envs[0] != variableOf(flag.Name) {
			t.Errorf("--%s has %s first", flag.Name, flag.Envs[0])
		}
	}
	for _, s := range spellings {
		if names[s.flag] != s.flag && s.flag != "otlp-endpoint" && s.flag != "api-key" {
			t.Errorf("trident has no --%s", s.flag)
		}
	}
}
