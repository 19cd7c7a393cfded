package tokenizer

import (
	"os"
	"sync"
	"time"

	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/inference"
)

// Module provides the reader of the models' tokenizers.
var Module = fx.Module("tokenizer", fx.Provide(NewFolders))

// Folders reads tokenizers from folders in Hugging Face's layout. It caches them, because
// large ones take a second to read. It may be used concurrently.
type Folders struct {
	mu   sync.Mutex
	read map[string]folder
}

// folder is a tokenizer and the modification time of its file.
type folder struct {
	tokenizer *Tokenizer
	modified  time.Time
}

// NewFolders returns an empty Folders.
func NewFolders() *Folders { return &Folders{read: map[string]folder{}} }

// Load reads the tokenizer.json in a folder, unless it is cached and the file is unchanged.
// It applies the settings of tokenizer_config.json about special tokens around a text.
// Errors are for the log, because they may name the folder.
func (f *Folders) Load(path string) (inference.Tokenizer, error) {
	info, err := os.Stat(path + "/tokenizer.json")
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.read[path]; ok && known.modified.Equal(info.ModTime()) {
		return known.tokenizer, nil
	}
	tokenizer, config, err := Load(os.DirFS(path))
	if err == nil {
		tokenizer, err = tokenizer.With(config)
	}
	if err != nil {
		return nil, err
	}
	f.read[path] = folder{tokenizer, info.ModTime()}
	return tokenizer, nil
}
