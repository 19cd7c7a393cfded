// Package encoders creates model repositories of text encoders, and texts for them. The models are
// trained ones from Python packages, and small ones with random weights: make.py describes them.
// Triton runs them in ONNX Runtime, with the tensors of Hugging Face's exports.
package encoders

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

//go:embed config.pbtxt.tmpl
var files embed.FS

// Program returns the folder of the model's program, which is that of the demo's embedding model.
func Program() (string, error) {
	root, err := tritonserver.SourceRoot()
	return filepath.Join(root, "models", "embedding", "1"), err
}

// Model is an encoder.
type Model struct {
	Name string
	// Types reports whether the model has the input token_type_ids.
	Types bool
	// Labels is the number of labels of a model whose output is logits, or 0.
	Labels int
	// Vocabulary is the number of logits of each token of a model that predicts tokens, or 0.
	Vocabulary int
	// Hidden is the size of a token's vector.
	Hidden int
	// Batch is max_batch_size. At 0 the leading dimension of the tensors is the batch.
	Batch int
	// Parameters has further parameters of config.pbtxt.
	Parameters map[string]string
	// Threads is the number of threads of ONNX Runtime; 0 means the number of cores.
	Threads int
}

// Models returns all models.
func Models() []Model {
	return []Model{
		{Name: "embedding", Types: true, Hidden: 384, Batch: 32},
		{Name: "reranker", Types: true, Labels: 1, Batch: 32},
		{Name: "bge", Types: true, Hidden: 384, Batch: 32},
		{Name: "colbert", Types: true, Hidden: 384, Batch: 32, Parameters: map[string]string{"trident.task": "token_embed"}},
		{Name: "multilingual", Hidden: 32},
		{Name: "topics", Types: true, Labels: 3, Batch: 32},
		{Name: "flags", Types: true, Labels: 3},
		{Name: "splade", Types: true, Vocabulary: 30522, Batch: 32},
	}
}

// Named returns the models with these names.
func Named(names ...string) (found []Model, err error) {
	byName := map[string]Model{}
	for _, m := range Models() {
		byName[m.Name] = m
	}
	for _, name := range names {
		m, ok := byName[name]
		if !ok {
			return nil, fmt.Errorf("there is no encoder model %s", name)
		}
		found = append(found, m)
	}
	return found, nil
}

// Repository writes a model repository of these models into a folder. It makes models that are used
// for the first time. The working directory must be in the source tree.
func Repository(ctx context.Context, dir string, models ...Model) error {
	for _, m := range models {
		if err := m.write(ctx, filepath.Join(dir, m.Name)); err != nil {
			return fmt.Errorf("model %s: %w", m.Name, err)
		}
	}
	return nil
}

func (m Model) write(ctx context.Context, dir string) error {
	folder, err := m.Folder(ctx)
	if err != nil {
		return err
	}
	config, err := template.ParseFS(files, "config.pbtxt.tmpl")
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := config.Execute(&text, struct {
		Model

		Folder string
	}{m, folder}); err != nil {
		return err
	}
	program, err := Program()
	if err != nil {
		return err
	}
	version := filepath.Join(dir, "1")
	if err := os.MkdirAll(version, 0o750); err != nil {
		return err
	}
	failed := os.WriteFile(filepath.Join(dir, "config.pbtxt"), []byte(text.String()), 0o600)
	for _, name := range []string{"model.py", "graph.py"} {
		source, err := os.ReadFile(filepath.Join(program, name))
		failed = errors.Join(failed, err, os.WriteFile(filepath.Join(version, name), source, 0o600)) //nolint:gosec // a copy of a file of the source tree
	}
	return failed
}
