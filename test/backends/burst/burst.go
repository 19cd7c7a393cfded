// Package burst creates model repositories for measurements. The models respond with words from a
// list, one response per token, with the tensor contract of Triton's vLLM backend, or of TensorRT-LLM's
// ensemble. Most models run
// in the project's own Triton backend in C++, which uses almost no CPU time. One model runs in the
// python backend, to measure the additional cost of real models.
package burst

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

//go:embed config.pbtxt.tmpl ensemble.pbtxt.tmpl echo.pbtxt.tmpl python/model.py
var files embed.FS

// words are the words of every response, repeated. Their average length is that of an engine's
// tokens.
const words = "the quick brown fox jumps over a lazy dog while seven wise owls watch from old trees near quiet water and " +
	"count every small step it takes toward home before night falls on green hills again"

// Model is one model of a repository.
type Model struct {
	Name string
	// Python selects Triton's python backend instead of the C++ backend.
	Python bool
	// Pace is the time between steps, in whole microseconds. In each step every request gets a
	// token. At 0 the model is as fast as Triton takes its responses.
	Pace time.Duration
	// Counts makes the tokens identify their request, see [Token]. Python doesn't support it.
	Counts bool
	// Context is the maximum number of tokens of a request; 0 means 1,000,000.
	Context int
	// Outputs is the memory in which outputs are allocated. Empty means Host, the only one that
	// Python supports.
	Outputs Memory
	// Ensemble selects the tensor contract of TensorRT-LLM's ensemble. Python doesn't support it.
	Ensemble bool
	// Logprobs declares the input return_logprobs of the vLLM backend, which Triton's OpenAI frontend
	// sends with each request. The model ignores its value. Python and Ensemble don't support it.
	Logprobs bool
	// Tokenizer adds a tokenizer whose tokens are words, as the model counts them.
	Tokenizer bool
	// Scheduler makes the model work like vLLM with a prefix cache, instead of at a pace. Python and
	// Ensemble don't support it.
	Scheduler *Scheduler
	// Echo selects another kind of model. It returns its input as output, a list of UINT8, and
	// supports no other option.
	Echo bool
}

// Scheduler has the constants of a model that works in steps, with a KV cache of limited size.
// cmd/tridentsim simulates the same model, and its help has the sources of the constants. All are
// above 0. Prompts are cached in blocks, and the time to a first token depends on the tokens of
// the prompt that aren't in the cache. The metrics burst_prompt_tokens_total and
// burst_cached_tokens_total of tritonserver, with the label model, count the tokens of the prompts
// and those that were in the cache.
type Scheduler struct {
	// CacheTokens is the number of tokens of the cache. BlockTokens is the number of tokens of a
	// block.
	CacheTokens, BlockTokens int
	// TokenBytes is the number of bytes of a token of a prompt, instead of a word. The tokens of
	// answers are words.
	TokenBytes int
	// BatchTokens is the maximum number of tokens of a step, and BatchRequests that of requests.
	BatchTokens, BatchRequests int
	// Step is the time of a step, in microseconds. Prompt is the additional time for each token of a
	// prompt that the step computes. Context is that for each token of the contexts of streams.
	Step, Prompt, Context float64
	// TimeFactor is a factor of all times.
	TimeFactor float64
}

// Memory is the memory in which a model allocates its outputs.
type Memory string

const (
	// Host is this machine's own memory.
	Host Memory = "CPU"
	// GPU is the memory of the first GPU. Without a GPU the model doesn't load.
	GPU Memory = "GPU"
	// Mislabelled is Host's memory, which the model reports as a GPU's. This simulates a defect.
	Mislabelled Memory = "MISLABELLED"
)

// Models returns the models of the bench: one without a wait, three with a pace, and the python one.
func Models() []Model {
	return []Model{
		{Name: "burst"},
		{Name: "burst_10ms", Pace: 10 * time.Millisecond},
		{Name: "burst_20ms", Pace: 20 * time.Millisecond},
		{Name: "burst_50ms", Pace: 50 * time.Millisecond},
		{Name: "python", Python: true},
	}
}

// Text returns the text of a model's response with the given number of tokens, which is the same for
// all models. The token i, from 0, is a space and a word.
func Text(tokens int) string {
	all := strings.Fields(words)
	var text strings.Builder
	for i := range tokens {
		text.WriteString(" " + all[i%len(all)])
	}
	return text.String()
}

// Repository creates a model repository in a folder, and creates the folder. It builds the backend
// with g++, unless the source tree's cache contains it. The working directory must be in the source
// tree. The folder needs no files outside: Triton finds the backend beside the model. Repository
// may be called concurrently.
func Repository(ctx context.Context, dir string, models ...Model) error {
	for _, m := range models {
		if err := m.write(ctx, filepath.Join(dir, m.Name)); err != nil {
			return fmt.Errorf("model %s: %w", m.Name, err)
		}
	}
	return nil
}

// Token returns the token i, from 0, of a model with Counts. It contains the prompt and the id of
// the request as the model got them. The id is empty if the request has none.
func Token(prompt, id string, i int) string { return fmt.Sprintf(" %s@%s/%d", prompt, id, i) }

// Counted returns the text of a response of a model with Counts.
func Counted(prompt, id string, tokens int) string {
	var text strings.Builder
	for i := range tokens {
		text.WriteString(Token(prompt, id, i))
	}
	return text.String()
}

// Backend returns the name of the Triton backend that runs the model.
func (m Model) Backend() string {
	if m.Python {
		return "python"
	}
	return "burst"
}

// Words returns the words of the responses, separated by spaces.
func (Model) Words() string { return words }

func (m Model) write(ctx context.Context, dir string) error {
	m.Outputs, m.Context = cmp.Or(m.Outputs, Host), cmp.Or(m.Context, 1_000_000)
	if m.Python && m.Outputs != Host {
		return errors.New("a python model makes its outputs in host memory")
	}
	if m.Python && (m.Counts || m.Ensemble) {
		return errors.New("a python model doesn't count, and has no contract except that of vLLM")
	}
	if m.Logprobs && (m.Python || m.Ensemble) {
		return errors.New("only a model in C++ with the contract of vLLM declares return_logprobs")
	}
	if m.Scheduler != nil && (m.Python || m.Ensemble) {
		return errors.New("a model with a scheduler is in C++, and has the contract of vLLM")
	}
	version := filepath.Join(dir, "1")
	if err := os.MkdirAll(version, 0o750); err != nil {
		return err
	}
	if err := m.writeConfig(filepath.Join(dir, "config.pbtxt")); err != nil {
		return err
	}
	if m.Python {
		source, err := files.ReadFile("python/model.py")
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(version, "model.py"), source, 0o600)
	}
	library, err := build(ctx)
	if err != nil {
		return err
	}
	return place(library, filepath.Join(dir, libraryName))
}

func (m Model) writeConfig(path string) error {
	name := "config.pbtxt.tmpl"
	switch {
	case m.Echo:
		name = "echo.pbtxt.tmpl"
	case m.Ensemble:
		name = "ensemble.pbtxt.tmpl"
	}
	config, err := template.ParseFS(files, name)
	if err != nil {
		return err
	}
	values := struct {
		Model

		Folder string // folder of the tokenizer, or ""
	}{Model: m}
	if m.Tokenizer {
		if values.Folder, err = writeTokenizer(filepath.Dir(path)); err != nil {
			return err
		}
	}
	var text strings.Builder
	if err := config.Execute(&text, values); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text.String()), 0o600)
}

// tokenizer has one token, which stands for any word. Words are separated by white space.
const tokenizer = `{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
  "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": false},
  "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0}}}
`

// writeTokenizer writes the tokenizer of a model in a folder. It returns the absolute path of the
// tokenizer's own folder.
func writeTokenizer(dir string) (string, error) {
	folder, err := filepath.Abs(filepath.Join(dir, "tokenizer"))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return "", err
	}
	return folder, os.WriteFile(filepath.Join(folder, "tokenizer.json"), []byte(tokenizer), 0o600)
}

// place copies a file, because Triton refuses a backend outside of the model's folder, even behind
// a link.
func place(library, path string) error {
	all, err := os.ReadFile(library)
	if err != nil {
		return err
	}
	return os.WriteFile(path, all, 0o600) //nolint:gosec // the folder is the caller's choice
}
