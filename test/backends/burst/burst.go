// Package burst makes model repositories for measuring: models that answer with
// words from a list, one response a token, by the tensor contract of Triton's
// vLLM backend. Most run in a Triton backend of our own, written in C++, which
// costs next to nothing itself; one runs in the python backend, for what real
// models cost beside.
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

//go:embed config.pbtxt.tmpl echo.pbtxt.tmpl python/model.py
var files embed.FS

// words are those of every answer, in turn. They are as long as an engine's
// tokens are on average.
const words = "the quick brown fox jumps over a lazy dog while seven wise owls watch from old trees near quiet water and " +
	"count every small step it takes toward home before night falls on green hills again"

// Model is one model of a repository.
type Model struct {
	Name string
	// Python is for Triton's python backend instead of our own.
	Python bool
	// Pace is the time from step to step, in whole microseconds; in each step every
	// request gets a token. At 0 the model is as fast as Triton takes its responses.
	Pace time.Duration
	// Counts makes answers that tell whose they are, see [Token]. Python doesn't know it.
	Counts bool
	// Context is how many tokens the model takes, 1,000,000 at 0.
	Context int
	// Outputs says where they are made; empty for Host, the one that Python knows.
	Outputs Memory
	// Echo is a model of another kind: it gives its input back as output, a list of
	// UINT8, and has none of the above.
	Echo bool
}

// Memory is where a model makes its outputs.
type Memory string

const (
	// Host is this machine's own memory.
	Host Memory = "CPU"
	// GPU is that of the first GPU, without which the model doesn't load.
	GPU Memory = "GPU"
	// Mislabelled is Host's, of which the model says that it is a GPU's: a defect.
	Mislabelled Memory = "MISLABELLED"
)

// Models are those of the bench: without a wait, at two paces, and the python one.
func Models() []Model {
	return []Model{
		{Name: "burst"},
		{Name: "burst_10ms", Pace: 10 * time.Millisecond},
		{Name: "burst_50ms", Pace: 50 * time.Millisecond},
		{Name: "python", Python: true},
	}
}

// Text is what every model answers with so many tokens, prompt aside. The token i,
// from 0, is a space and a word.
func Text(tokens int) string {
	all := strings.Fields(words)
	var text strings.Builder
	for i := range tokens {
		text.WriteString(" " + all[i%len(all)])
	}
	return text.String()
}

// Repository makes a model repository in a folder, which it makes too. It builds
// the backend, with g++, unless it lies in the source tree's cache. The working
// directory must be in the source tree. The folder needs nothing outside: Triton
// finds the backend beside the model. Several may be made at once.
func Repository(ctx context.Context, dir string, models ...Model) error {
	for _, m := range models {
		if err := m.write(ctx, filepath.Join(dir, m.Name)); err != nil {
			return fmt.Errorf("model %s: %w", m.Name, err)
		}
	}
	return nil
}

// Token is the token i, from 0, of a model that counts. It tells of the request what
// came to the model: its prompt, and its id, which is empty for none.
func Token(prompt, id string, i int) string { return fmt.Sprintf(" %s@%s/%d", prompt, id, i) }

// Counted is what such a model answers.
func Counted(prompt, id string, tokens int) string {
	var text strings.Builder
	for i := range tokens {
		text.WriteString(Token(prompt, id, i))
	}
	return text.String()
}

// Backend is the name of the Triton backend that runs the model.
func (m Model) Backend() string {
	if m.Python {
		return "python"
	}
	return "burst"
}

// Words are those of the answers, separated by spaces.
func (Model) Words() string { return words }

func (m Model) write(ctx context.Context, dir string) error {
	m.Outputs, m.Context = cmp.Or(m.Outputs, Host), cmp.Or(m.Context, 1_000_000)
	if m.Python && m.Outputs != Host {
		return errors.New("a python model makes its outputs in host memory")
	}
	if m.Python && m.Counts {
		return errors.New("a python model doesn't count")
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
	if m.Echo {
		name = "echo.pbtxt.tmpl"
	}
	config, err := template.ParseFS(files, name)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := config.Execute(&text, m); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text.String()), 0o600)
}

// place copies: Triton refuses a backend that lies outside of the model's folder,
// behind a link too.
func place(library, path string) error {
	all, err := os.ReadFile(library)
	if err != nil {
		return err
	}
	return os.WriteFile(path, all, 0o600) //nolint:gosec // the folder is the caller's choice
}
