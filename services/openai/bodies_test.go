package openai

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/openaitest"
)

// TestRecordedBodies sends recorded requests of other programs to a model that can
// call tools. The end-to-end tests send the same bodies to the demo models, which
// refuse some of them.
func TestRecordedBodies(t *testing.T) {
	files, err := filepath.Glob("../../test/e2e/testdata/bodies/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	engine := inferencetest.New()
	engine.AddModel("chat", streamWithLogprobs, map[string]string{"trident.chat_template": fieldTemplate, "trident.tool_call_parser": "hermes"})
	engine.AddModel("embedding", inferencetest.Embed(slices.Repeat([]float32{1}, 32)...), map[string]string{"trident.task": "embed"})
	server := fieldServer(t, Config{}, engine)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var recorded struct {
				Path string
				Body json.RawMessage
			}
			if err := json.Unmarshal(raw, &recorded); err != nil {
				t.Fatal(err)
			}
			resp, body := openaitest.Do(t, http.MethodPost, server.URL+recorded.Path, string(recorded.Body))
			want := http.StatusOK
			if strings.Contains(string(recorded.Body), "image_url") { // this model doesn't read images
				want = http.StatusBadRequest
			}
			if resp.StatusCode != want {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		})
	}
}
