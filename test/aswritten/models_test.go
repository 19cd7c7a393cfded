package aswritten

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// kind is the model of the source tree that takes the place of a document's model.
type kind int

const (
	vllmModel     kind = iota // the tensors of Triton's vLLM backend; it repeats the last message
	scriptedModel             // the same tensors; it follows the scripts in testdata/scripts.json
	minilmModel               // all-MiniLM-L6-v2 itself, as an encoder
	blsModel                  // the tensors of TensorRT-LLM's tensorrt_llm_bls; it repeats the prompt
	ensembleModel             // the tensors of its ensemble; it repeats the prompt
)

// modelFolder is a model in the folder of a group.
type modelFolder struct {
	Path string // its folder; the last part is the model's name
	Kind kind
}

// The models of the source tree. Each is copied with another name, without what the documents' models don't declare.
var sources = map[kind]struct {
	folder     string
	parameters string
}{
	vllmModel:     {"test/models-contract/vllm", parameter("trident.context_length", "4096")},
	scriptedModel: {"test/clients/models/chat", parameter("trident.context_length", "4096")},
	minilmModel:   {"models/embedding", ""},
	blsModel:      {"test/models-contract/bls", parameter("trident.context_length", "4096") + parameter("accumulate_tokens", "true")},
	ensembleModel: {"test/models-contract/ensemble", parameter("trident.context_length", "4096")},
}

func parameter(key, value string) string {
	return fmt.Sprintf("parameters { key: %q value: { string_value: %q } }\n", key, value)
}

var (
	nameLine     = regexp.MustCompile(`(?m)^name: .*\n`)
	parentFolder = regexp.MustCompile(`os\.path\.dirname\(os\.path\.dirname\(os\.path\.dirname\(os\.path\.\w+\(__file__\)\)\)\)`)
)

// write creates the model in a group's folder.
func (m modelFolder) write(t *testing.T, root, dir string) {
	t.Helper()
	from := sources[m.Kind]
	source, target := filepath.Join(root, filepath.FromSlash(from.folder)), filepath.Join(dir, filepath.FromSlash(m.Path))
	if err := os.MkdirAll(filepath.Join(target, "1"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := nameLine.ReplaceAllString(read(t, filepath.Join(source, "config.pbtxt")), "")
	if m.Kind != minilmModel {
		config, _, _ = strings.Cut(config, "\n# Parameters that Trident reads.")
	}
	write(t, filepath.Join(target, "config.pbtxt"), config+"\n"+from.parameters)
	entries, err := filepath.Glob(filepath.Join(source, "*"))
	if err != nil {
		t.Fatal(err)
	}
	versions, err := filepath.Glob(filepath.Join(source, "1", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range append(entries, versions...) {
		name, err := filepath.Rel(source, entry)
		if err != nil {
			t.Fatal(err)
		}
		m.copy(t, entry, filepath.Join(target, name), filepath.Join(root, "test", "models-contract"))
	}
}

// copy links one file or folder of a model, or copies it if it changes.
func (m modelFolder) copy(t *testing.T, from, to, modules string) {
	t.Helper()
	switch name := filepath.Base(to); {
	case name == "1" || name == "config.pbtxt" || name == "__pycache__":
	case name == "tokenizer" && m.Kind != minilmModel: // the documents name the tokenizer, or have none
	case name == "model.json":
		write(t, to, `{"model": "meta-llama/Meta-Llama-3.1-8B-Instruct", "limit_mm_per_prompt": {"image": 3}, "enable_lora": true, "max_model_len": 4096}`)
	case name == "multi_lora.json" && m.Kind != vllmModel, name == "loras":
	case name == "model.py":
		write(t, to, parentFolder.ReplaceAllString(read(t, from), fmt.Sprintf("%q", modules)))
	default:
		if err := os.Symlink(from, to); err != nil {
			t.Fatal(err)
		}
	}
}

// llama is the id of the tokenizer in the documents' commands.
const llama = "meta-llama/Meta-Llama-3.1-8B-Instruct"

// chatTemplate is the chat template of that tokenizer's stand-in.
const chatTemplate = "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}" +
	"{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}" +
	"{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"

// writeTokenizer puts a tokenizer with that id into a cache of Hugging Face's layout. Its tokens are those of the models.
func writeTokenizer(t *testing.T, root, cache string) {
	t.Helper()
	const commit = "0000000000000000000000000000000000000001"
	folder := filepath.Join(cache, "hub", "models--"+strings.ReplaceAll(llama, "/", "--"))
	snapshot := filepath.Join(folder, "snapshots", commit)
	for _, dir := range []string{filepath.Join(folder, "refs"), snapshot} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(folder, "refs", "main"), commit)
	tokenizerFiles(t, root, snapshot)
}

// tokenizerFiles writes the files of the tokenizer into a folder.
func tokenizerFiles(t *testing.T, root, folder string) {
	t.Helper()
	write(t, filepath.Join(folder, "tokenizer.json"), read(t, filepath.Join(root, "test", "models-contract", "vllm", "tokenizer", "tokenizer.json")))
	write(t, filepath.Join(folder, "tokenizer_config.json"), fmt.Sprintf(`{"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "chat_template": %q}`, chatTemplate))
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
