package modelfiles

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// writeFiles writes files into a new folder.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// show formats settings, one a line.
func show(settings []inference.Setting) string {
	lines := make([]string, len(settings))
	for i, s := range settings {
		lines[i] = fmt.Sprintf("%s=%s (%s)", s.Name, s.Value, s.Origin)
	}
	return strings.Join(lines, "\n")
}

func config(name string, parameters ...string) *kserve.ModelConfig {
	c := &kserve.ModelConfig{Name: name, Parameters: map[string]*kserve.ModelParameter{}}
	for i := 0; i < len(parameters); i += 2 {
		c.Parameters[parameters[i]] = &kserve.ModelParameter{StringValue: parameters[i+1]}
	}
	return c
}

func ensemble(steps ...string) *kserve.ModelConfig {
	e := &kserve.ModelEnsembling{}
	for _, step := range steps {
		e.Step = append(e.Step, &kserve.ModelEnsembling_Step{ModelName: step})
	}
	return &kserve.ModelConfig{Name: "m", SchedulingChoice: &kserve.ModelConfig_EnsembleScheduling{EnsembleScheduling: e}}
}

func TestDetect(t *testing.T) {
	engine := writeFiles(t, map[string]string{"config.json": `{"build_config": {"max_seq_len": 4096, "max_input_len": 2048, "plugin_config": {"tokens_per_block": 32}}}`})
	old := writeFiles(t, map[string]string{"config.json": `{"builder_config": {"max_input_len": 1000, "max_output_len": 24}, "plugin_config": {"tokens_per_block": 64}}`})
	broken := writeFiles(t, map[string]string{"config.json": `{`})
	local := t.TempDir()
	parts := map[string]*kserve.ModelConfig{
		"preprocessing": config("preprocessing", "tokenizer_dir", "/weights", "multimodal_model_path", "${multimodal_model_path}"),
		"pre_vision":    config("pre_vision", "tokenizer_dir", "/weights", "multimodal_model_path", "/vision"),
		"tensorrt_llm":  config("tensorrt_llm", "gpt_model_path", engine),
		"old":           config("old", "gpt_model_path", old),
		"broken":        config("broken", "gpt_model_path", broken),
		"elsewhere":     config("elsewhere", "gpt_model_path", "/no/such/folder"),
		"sample":        config("sample", "tokenizer_dir", "${tokenizer_dir}", "gpt_model_path", "${engine_dir}"),
	}
	tests := []struct {
		name   string
		files  map[string]string
		config *kserve.ModelConfig
		want   []string
		err    string
	}{
		{name: "nothing", config: config("m")},
		{
			name: "vLLM with a backend of structured outputs", config: config("m"),
			files: map[string]string{"m/1/model.json": `{"structured_outputs_config": {"backend": "guidance"}, "guided_decoding_backend": "outlines"}`},
			want:  []string{"structured_outputs=guidance (1/model.json: structured_outputs_config.backend)"},
		},
		{
			name: "vLLM with a configuration in a string", config: config("m"),
			files: map[string]string{"m/1/model.json": `{"structured_outputs_config": "{\"backend\": \"xgrammar\"}"}`},
			want:  []string{"structured_outputs=xgrammar (1/model.json: structured_outputs_config.backend)"},
		},
		{
			name: "vLLM of before", config: config("m"),
			files: map[string]string{"m/1/model.json": `{"guided_decoding_backend": "xgrammar:no-fallback"}`},
			want:  []string{"structured_outputs=xgrammar (1/model.json: guided_decoding_backend)"},
		},
		{
			name: "vLLM with a bad configuration", config: config("m"),
			files: map[string]string{"m/1/model.json": `{"structured_outputs_config": 5}`}, err: "1/model.json: structured_outputs_config is not an object",
		},
		{
			name: "vLLM", config: config("m"),
			files: map[string]string{"m/1/model.json": `{"model": "org/a", "max_model_len": 2048, "max_logprobs": -1, "gpu_memory_utilization": 0.5}`},
			want:  []string{"tokenizer=org/a (1/model.json: model)", "context_length=2048 (1/model.json: max_model_len)", "max_logprobs=-1 (1/model.json: max_logprobs)"},
		},
		{
			name: "vLLM with a tokenizer and revisions", config: config("m"),
			files: map[string]string{"m/1/model.json": `{"model": "org/a", "revision": "r1", "tokenizer": "org/b", "tokenizer_revision": "r2"}`},
			want:  []string{"tokenizer=org/b@r2 (1/model.json: tokenizer)"},
		},
		{
			name: "vLLM with a revision", config: config("m"),
			files: map[string]string{"m/1/model.json": `{"model": "org/a", "revision": "r1"}`},
			want:  []string{"tokenizer=org/a@r1 (1/model.json: model)"},
		},
		{
			name: "vLLM with a folder", config: config("m"),
			files: map[string]string{"m/1/model.json": `{"model": "` + local + `", "revision": "r1"}`},
			want:  []string{"tokenizer=" + local + " (1/model.json: model)"},
		},
		{name: "another version", config: config("m"), files: map[string]string{"m/2/model.json": `{"model": "org/a"}`}},
		{name: "another model", config: config("m"), files: map[string]string{"n/1/model.json": `{"model": "org/a"}`}},
		{name: "no JSON", config: config("m"), files: map[string]string{"m/1/model.json": `{"model"`}, err: "1/model.json: unexpected end of JSON input"},
		{
			name: "LLM API", config: config("m"),
			files: map[string]string{"m/1/model.yaml": "model: org/a\nbackend: pytorch\nbuild_config:\n  max_seq_len: 1024\ntriton_config:\n  decoupled: true\n"},
			want:  []string{"tokenizer=org/a (1/model.yaml: model)", "context_length=1024 (1/model.yaml: build_config.max_seq_len)"},
		},
		{
			name: "LLM API with a tokenizer", config: config("m"),
			files: map[string]string{"m/1/model.yaml": "model: org/a\ntokenizer: org/b\nmax_seq_len: 512\n"},
			want:  []string{"tokenizer=org/b (1/model.yaml: tokenizer)", "context_length=512 (1/model.yaml: max_seq_len)"},
		},
		{
			name: "LLM API with blocks", config: config("m"),
			files: map[string]string{"m/1/model.yaml": "model: org/a\nkv_cache_config:\n  enable_block_reuse: true\n  tokens_per_block: 16\n"},
			want:  []string{"tokenizer=org/a (1/model.yaml: model)", "tokens_per_block=16 (1/model.yaml: kv_cache_config.tokens_per_block)"},
		},
		{
			name: "LLM API that reads images", config: config("m"),
			files: map[string]string{"m/1/model.yaml": "model: org/a\ntriton_config:\n  multimodal: true\n"},
			want:  []string{"tokenizer=org/a (1/model.yaml: model)", "vision=true (1/model.yaml: triton_config.multimodal)"},
		},
		{name: "no YAML", config: config("m"), files: map[string]string{"m/1/model.yaml": "a: [b"}, err: "1/model.yaml: yaml"},
		{
			name: "ensemble", config: ensemble("preprocessing", "tensorrt_llm", "postprocessing"),
			want: []string{
				"tokenizer=/weights (preprocessing/config.pbtxt: tokenizer_dir)",
				"context_length=4096 (config.json of tensorrt_llm/config.pbtxt's gpt_model_path: build_config.max_seq_len)",
				"tokens_per_block=32 (config.json of tensorrt_llm/config.pbtxt's gpt_model_path: build_config.plugin_config.tokens_per_block)",
			},
		},
		{
			name: "ensemble over an old engine", config: ensemble("old"),
			want: []string{
				"context_length=1024 (config.json of old/config.pbtxt's gpt_model_path: builder_config.max_input_len + max_output_len)",
				"tokens_per_block=64 (config.json of old/config.pbtxt's gpt_model_path: plugin_config.tokens_per_block)",
			},
		},
		{name: "an engine that can't be read", config: ensemble("broken"), err: "broken/config.pbtxt: gpt_model_path: config.json:"},
		{name: "an engine elsewhere", config: ensemble("elsewhere")},
		{name: "parameters as in the samples", config: ensemble("sample")},
		{
			name: "ensemble that reads images", config: ensemble("pre_vision"),
			want: []string{"tokenizer=/weights (pre_vision/config.pbtxt: tokenizer_dir)", "vision=true (pre_vision/config.pbtxt: multimodal_model_path)"},
		},
		{
			name: "bls", config: config("m", "tensorrt_llm_model_name", "tensorrt_llm"),
			want: []string{
				"tokenizer=/weights (preprocessing/config.pbtxt: tokenizer_dir)",
				"context_length=4096 (config.json of tensorrt_llm/config.pbtxt's gpt_model_path: build_config.max_seq_len)",
				"tokens_per_block=32 (config.json of tensorrt_llm/config.pbtxt's gpt_model_path: build_config.plugin_config.tokens_per_block)",
			},
		},
		{
			name: "bls with a folder of its own", config: config("tensorrt_llm_bls", "tokenizer_dir", "/own"),
			want: []string{
				"tokenizer=/own (config.pbtxt: tokenizer_dir)", "tokenizer=/weights (preprocessing/config.pbtxt: tokenizer_dir)",
				"context_length=4096 (config.json of tensorrt_llm/config.pbtxt's gpt_model_path: build_config.max_seq_len)",
				"tokens_per_block=32 (config.json of tensorrt_llm/config.pbtxt's gpt_model_path: build_config.plugin_config.tokens_per_block)",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := New(Config{Repositories: []string{"s3://bucket/models", writeFiles(t, tt.files)}}, slog.New(slog.DiscardHandler))
			got, err := l.Detect(inference.Model{Name: "m", Version: "1", Config: tt.config}, func(name string) *kserve.ModelConfig { return parts[name] })
			// TestDetectLoRAs covers the adapters.
			got = slices.DeleteFunc(got, func(s inference.Setting) bool { return s.Name == inference.SettingLoRAs })
			if show(got) != strings.Join(tt.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", show(got), strings.Join(tt.want, "\n"))
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got error %v, want %q", err, tt.err)
			}
		})
	}
}

// TestDetectLoRAs checks that Library.Detect returns the names of a model's LoRA adapters if a
// local repository has the model's folder.
func TestDetectLoRAs(t *testing.T) {
	const adapters = `{"wolf": "/loras/wolf", "bear": {}}`
	tests := []struct {
		name, backend string
		files         map[string]string
		want, err     string
	}{
		{"elsewhere", "vllm", map[string]string{"n/1/multi_lora.json": adapters}, "", ""},
		{"another version", "python", map[string]string{"m/2/multi_lora.json": adapters}, "loras=none (1/multi_lora.json)", ""},
		{"of a Python model", "python", map[string]string{"m/1/multi_lora.json": adapters}, "loras=bear,wolf (1/multi_lora.json)", ""},
		{"none", "python", map[string]string{"m/1/model.py": ""}, "loras=none (1/multi_lora.json)", ""},
		{"of vLLM", "vllm", map[string]string{"m/1/model.json": `{"enable_lora": true}`, "m/1/multi_lora.json": adapters}, "loras=bear,wolf (1/multi_lora.json)", ""},
		{"of vLLM, as a text", "vllm", map[string]string{"m/1/model.json": `{"enable_lora": "True"}`, "m/1/multi_lora.json": adapters}, "loras=bear,wolf (1/multi_lora.json)", ""},
		{"off in vLLM", "vllm", map[string]string{"m/1/model.json": `{"enable_lora": false}`, "m/1/multi_lora.json": adapters}, "loras=none (1/model.json: enable_lora)", ""},
		{"off in vLLM by default", "vllm", map[string]string{"m/1/model.json": `{}`, "m/1/multi_lora.json": adapters}, "loras=none (1/model.json: enable_lora)", ""},
		{"no arguments of vLLM", "vllm", map[string]string{"m/1/multi_lora.json": adapters}, "", ""},
		{"arguments of vLLM that can't be read", "vllm", map[string]string{"m/1/model.json": `{`, "m/1/multi_lora.json": adapters}, "", "1/model.json: unexpected end of JSON input"},
		{"a list", "python", map[string]string{"m/1/multi_lora.json": `["wolf"]`}, "", "1/multi_lora.json: json: cannot unmarshal array"},
		{"a comma", "python", map[string]string{"m/1/multi_lora.json": `{"a,b": ""}`}, "", "1/multi_lora.json: the name of a LoRA adapter must not contain a comma"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := New(Config{Repositories: []string{writeFiles(t, tt.files)}}, slog.New(slog.DiscardHandler))
			got, err := l.Detect(inference.Model{Name: "m", Version: "1", Config: &kserve.ModelConfig{Name: "m", Backend: tt.backend}}, func(string) *kserve.ModelConfig { return nil })
			if show(got) != tt.want {
				t.Errorf("got %s, want %s", show(got), tt.want)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
				t.Errorf("got error %v, want %q", err, tt.err)
			}
		})
	}
}

// TestDetectStaysInTheRepository checks that Library.Detect reads no file outside the model
// repository if a model's name contains "../".
func TestDetectStaysInTheRepository(t *testing.T) {
	root := writeFiles(t, map[string]string{"up/1/model.json": `{"model": "org/a"}`, "repository/m/config.pbtxt": ""})
	l := New(Config{Repositories: []string{filepath.Join(root, "repository")}}, slog.New(slog.DiscardHandler))
	got, err := l.Detect(inference.Model{Name: "../up", Version: "1"}, func(string) *kserve.ModelConfig { return nil })
	if len(got) > 0 || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestDisk(t *testing.T) {
	repository := writeFiles(t, map[string]string{
		"a/config.pbtxt": `backend: "vllm" unheard_of: 1`, "a/1/model.json": "{}", "a/12/model.json": "{}", "a/notes/x": "",
		"b/3/model.py":   "",
		"c/config.pbtxt": `backend: `,
		"docs/README.md": "", "README.md": "",
	})
	got, err := NewDisk([]string{repository}).Models(t.Context())
	if err != nil || len(got) != 3 {
		t.Fatalf("got %v, %v", got, err)
	}
	if m := got[0]; m.Name != "a" || m.Version != "12" || m.Config.GetBackend() != "vllm" || m.Config.GetName() != "a" || m.State != inference.ModelReady {
		t.Errorf("got %+v", m)
	}
	if m := got[1]; m.Name != "b" || m.Version != "3" || m.Config == nil {
		t.Errorf("got %+v", m)
	}
	if m := got[2]; m.Name != "c" || m.State != inference.ModelUnavailable || !strings.Contains(m.Reason, "config.pbtxt") {
		t.Errorf("got %+v", m)
	}
	for path, want := range map[string]string{"s3://bucket": "only Triton can list", "/no/such": "no such file"} {
		if _, err := NewDisk([]string{path}).Models(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
