package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

func TestModelFile(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(first, "a", "1", "multi_lora.json"):  "first",
		filepath.Join(second, "a", "1", "multi_lora.json"): "second",
		filepath.Join(second, "b", "3", "multi_lora.json"): "b",
		filepath.Join(second, "outside"):                   "no model's",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name, model, version, file string
		want                       string
		err                        error
	}{
		{"of the first repository with the model", "a", "1", "multi_lora.json", "first", nil},
		{"of another", "b", "3", "multi_lora.json", "b", nil},
		{"no such file", "b", "3", "model.json", "", fs.ErrNotExist},
		{"no such version", "b", "1", "multi_lora.json", "", fs.ErrNotExist},
		{"a model that is elsewhere", "c", "1", "multi_lora.json", "", inference.ErrNoFolder},
		{"a way out", "../" + filepath.Base(second), "", "outside", "", inference.ErrNoFolder},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := modelFile([]string{"s3://cloud/models", first, second}, tt.model, tt.version, tt.file)
			if string(got) != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
