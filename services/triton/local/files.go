package local

import (
	"os"
	"path/filepath"

	"github.com/trident-inference/trident/services/inference"
)

// modelFile reads a file of a version's folder in the first of the repositories
// that has the model and is a folder of this machine.
func modelFile(repositories []string, model, version, name string) ([]byte, error) {
	path := filepath.Join(model, version, name)
	if !filepath.IsLocal(path) {
		return nil, inference.ErrNoFolder
	}
	for _, repository := range repositories {
		if info, err := os.Stat(filepath.Join(repository, model)); err == nil && info.IsDir() {
			return os.ReadFile(filepath.Join(repository, path))
		}
	}
	return nil, inference.ErrNoFolder
}
