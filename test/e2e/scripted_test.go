package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// scriptedLoad makes the chat model's load take some seconds, as that of a real model does.
const scriptedLoad = "SCRIPTED_LOAD_SECONDS=3"

// scripted returns Triton's options for these demo models. The chat model uses testdata/scripted
// instead of llama.cpp: the scripted model starts at once and uses almost no CPU time. Tensors,
// slots, metrics and cancellation are the demo's.
func scripted(t *testing.T, names ...string) tritonserver.Options {
	t.Helper()
	repository := t.TempDir()
	for _, name := range names {
		if err := scriptedModel(root(t), repository, name); err != nil {
			t.Fatal(err)
		}
	}
	return tritonserver.Options{Repositories: []string{repository}}
}

func scriptedModel(root, repository, name string) error {
	source, copied := filepath.Join(root, "models", name), filepath.Join(repository, name)
	if name != "chat" {
		return os.Symlink(source, copied)
	}
	if err := os.MkdirAll(filepath.Join(copied, "1"), 0o755); err != nil {
		return err
	}
	for link, target := range map[string]string{
		"config.pbtxt": filepath.Join(source, "config.pbtxt"), "tokenizer": filepath.Join(source, "tokenizer"), "1/sampling.py": filepath.Join(source, "1", "sampling.py"),
		"1/scripted.py": filepath.Join(root, "test", "e2e", "testdata", "scripted", "scripted.py"),
	} {
		if err := os.Symlink(target, filepath.Join(copied, link)); err != nil {
			return err
		}
	}
	model, err := os.ReadFile(filepath.Join(source, "1", "model.py"))
	if err != nil {
		return err
	}
	text := strings.Replace(string(model), "import xllamacpp\n", "import scripted as xllamacpp\n", 1)
	return os.WriteFile(filepath.Join(copied, "1", "model.py"), []byte(text), 0o600)
}
