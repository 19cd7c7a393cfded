// Package vllm tests how vLLM's backends of structured outputs handle constraints, with vLLM's own
// code without a model (probe.py). It compares services/structured with the results.
package vllm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const (
	python    = "../../.venv-vllm/bin/python"
	tokenizer = "../../.cache/vllm/smollm2"
)

// probeCase is an input line of probe.py.
type probeCase struct {
	ID    string          `json:"id"`
	Kind  string          `json:"kind"`
	Value json.RawMessage `json:"value"`
	Good  []string        `json:"good,omitempty"`
	Bad   []string        `json:"bad,omitempty"`
	Walks int             `json:"walks"`
}

// probed is an output line of probe.py.
type probed struct {
	ID       string
	Auto     *string
	Fails    map[string]string
	Backends map[string]struct {
		Refused, Failed *string
		Good, Bad       []bool
		Answers         []*string
	}
}

// probe runs probe.py on the cases. Without vLLM the test is skipped.
func probe(t *testing.T, cases []probeCase, backends ...string) (versions json.RawMessage, results []probed) {
	t.Helper()
	for _, file := range []string{python, tokenizer} {
		if _, err := os.Stat(file); err != nil {
			t.Skip("vLLM isn't installed: run tools/vllm.sh setup")
		}
	}
	if len(cases) == 0 {
		return nil, nil
	}
	var in bytes.Buffer
	for _, c := range cases {
		line, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	folder, err := filepath.Abs(tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, append([]string{"probe.py", folder}, backends...)...)
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("probe.py: %v", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for n := 0; lines.Scan(); n++ {
		if n == 0 {
			versions = bytes.Clone(lines.Bytes())
			continue
		}
		var r probed
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%v in %s", err, lines.Bytes())
		}
		results = append(results, r)
	}
	if len(results) != len(cases) {
		t.Fatalf("%d cases, but %d results", len(cases), len(results))
	}
	return versions, results
}
