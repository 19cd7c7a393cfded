package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordedBody is a file of testdata/bodies.
type recordedBody struct {
	name string

	Path    string
	Refused string
	Needs   string // what the body needs from a model, for readers of the file
	Ignored string
	Body    json.RawMessage
}

func recordedBodies(t *testing.T) []recordedBody {
	t.Helper()
	files, err := filepath.Glob("testdata/bodies/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var all []recordedBody
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		body := recordedBody{name: strings.TrimSuffix(filepath.Base(file), ".json")}
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, body)
	}
	return all
}

// TestRecordedBodies sends recorded requests of Open WebUI and LangChain to the demo models.
func TestRecordedBodies(t *testing.T) {
	t.Parallel()
	s := startReady(t, "--default-max-tokens=8") // most tasks of Open WebUI have no limit
	for _, test := range recordedBodies(t) {
		t.Run(test.name, func(t *testing.T) {
			a := s.post(t, "/v1"+test.Path, string(test.Body))
			if test.Refused != "" {
				if e := a.want(t, http.StatusBadRequest).failure(t); text(e.Param) != test.Refused {
					t.Errorf("param %s, want %s: %s", text(e.Param), test.Refused, text(e.Message))
				}
				return
			}
			a.want(t, http.StatusOK)
			if got := a.header.Get("X-Trident-Ignored-Fields"); got != test.Ignored {
				t.Errorf("ignored %q, want %q", got, test.Ignored)
			}
		})
	}
}

// TestPathAliases checks the paths of clients for local models: without /v1, with KServe's prefix,
// and POST for the list of models.
func TestPathAliases(t *testing.T) {
	t.Parallel()
	s := serving(t)
	for _, prefix := range []string{"/v1", "", "/openai/v1"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			list := decode[struct{ Data []model }](t, s.do(t, method, prefix+"/models", nil).want(t, http.StatusOK)).Data
			if len(list) != 2 || list[0].ID != "chat" {
				t.Errorf("%s %s/models: %v", method, prefix, list)
			}
		}
		s.get(t, prefix+"/models/chat").want(t, http.StatusOK)
		s.post(t, prefix+"/chat/completions", ask("Hello.", "max_tokens", 1)).want(t, http.StatusOK)
		s.post(t, prefix+"/completions", object{"model": "chat", "prompt": "One,", "max_tokens": 1}).want(t, http.StatusOK)
		s.post(t, prefix+"/embeddings", object{"model": "embedding", "input": "a cat"}).want(t, http.StatusOK)
	}
}
