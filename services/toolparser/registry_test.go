package toolparser

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// registry has the names of the parsers of another server.
type registry struct {
	Source    string   `json:"source"`
	Version   string   `json:"version"`
	Commit    string   `json:"commit"`
	Tools     []string `json:"tools"`
	Reasoning []string `json:"reasoning"`
	// Absent are the names that Trident doesn't have, with the reasons.
	Absent map[string]string `json:"absent"`
}

// TestRegistry checks that each name of vLLM's registries is the name of a dialect, or is listed as
// absent with a reason.
func TestRegistry(t *testing.T) {
	data, err := os.ReadFile("testdata/registry.json")
	if err != nil {
		t.Fatal(err)
	}
	var r registry
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if r.Source == "" || r.Version == "" || r.Commit == "" || len(r.Tools) < 50 || len(r.Reasoning) < 40 {
		t.Errorf("testdata/registry.json is incomplete: %d and %d names", len(r.Tools), len(r.Reasoning))
	}
	check := func(kind, name string, err error) {
		reason, absent := r.Absent[name]
		switch {
		case absent && (err == nil || len(strings.Fields(reason)) < 4):
			t.Errorf("%s parser %s: it is listed as absent for the reason %q, and its check returns %v", kind, name, reason, err)
		case !absent && err != nil:
			t.Errorf("%s parser %s: %v", kind, name, err)
		}
	}
	for _, name := range r.Tools {
		check("tool-call", name, Dialects{}.Check(name, ""))
	}
	for _, name := range r.Reasoning {
		check("reasoning", name, Dialects{}.Check("", name))
	}
}
