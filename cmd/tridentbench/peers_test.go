package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/test/backends/burst"
)

// TestPeerScenarios checks that the servers of other projects take part in the scenarios of the models that
// they serve, beside Trident, and that the scenarios of most streams are last.
func TestPeerScenarios(t *testing.T) {
	known := models(false)
	var took [2][]string
	for i, p := range []program{frontend("x"), trtllm("x")} {
		running := peer{name: p.name, models: map[string]string{}}
		for _, name := range p.models {
			if !slices.ContainsFunc(known, func(m burst.Model) bool { return m.Name == name }) {
				t.Errorf("%s serves %s, which isn't a model of the bench", p.name, name)
			}
			running.models[name] = name
		}
		for _, s := range peerScenarios() {
			if s.includes(&column{name: p.name, peer: &running}) {
				took[i] = append(took[i], s.name)
			}
			if !slices.Contains(s.columns, colLocal) || !slices.Contains(s.columns, colRemote) && !s.job.Ensemble {
				t.Errorf("%s has the columns %q", s.name, s.columns)
			}
			if slices.Contains(s.columns, colCanned) || slices.Contains(s.columns, colOver) {
				t.Errorf("%s has columns without a counterpart: %q", s.name, s.columns)
			}
		}
	}
	if got := strings.Join(took[0], " "); got != "first-token flat-64 paced-1 paced-64 paced-20ms-1 paced-20ms-64 paced-256" {
		t.Errorf("Triton's frontend takes part in %s", got)
	}
	if got := strings.Join(took[1], " "); got != "ensemble-first-token ensemble-flat-64 ensemble-paced-64 ensemble-paced-20ms-64" {
		t.Errorf("openai_trtllm takes part in %s", got)
	}
}

// TestPrograms checks the files and the arguments with which the servers of other projects are started.
func TestPrograms(t *testing.T) {
	f := &fleet{folder: t.TempDir(), tritonAt: tritonAddress{grpc: "127.0.0.1:8001"}}
	rust := trtllm("x")
	got, err := rust.arguments(t.Context(), f, "3000")
	if want := "--host 127.0.0.1 --port 3000 --triton-endpoint http://127.0.0.1:8001"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("openai_trtllm gets %q, %v", got, err)
	}
	if !rust.triton {
		t.Error("the CPU time of openai_trtllm's tritonserver isn't measured")
	}
	python := frontend("x")
	got, err = python.arguments(t.Context(), f, "9000")
	folder := filepath.Join(f.folder, "frontend")
	want := "--model-repository " + folder + "/models --tokenizer " + folder + "/tokenizer --backend vllm --host 127.0.0.1 --openai-port 9000"
	if err != nil || strings.Join(got, " ") != want {
		t.Fatalf("Triton's frontend gets %q, %v", got, err)
	}
	for _, name := range python.models {
		config, err := os.ReadFile(filepath.Join(folder, "models", name, "config.pbtxt"))
		if err != nil || !strings.Contains(string(config), `"return_logprobs"`) {
			t.Errorf("the model %s doesn't declare return_logprobs, which the frontend sends: %v", name, err)
		}
	}
	var config map[string]string
	text, err := os.ReadFile(filepath.Join(folder, "tokenizer", "tokenizer_config.json"))
	if err != nil || json.Unmarshal(text, &config) != nil || config["chat_template"] == "" {
		t.Errorf("the tokenizer has no chat template: %s, %v", text, err)
	}
}

// TestPeersCommand checks that a server that isn't named is reported, and that a wrong path fails before the
// first process starts.
func TestPeersCommand(t *testing.T) {
	for flag, c := range map[string]*peersCommand{
		"--frontend":      {Frontend: filepath.Join(t.TempDir(), "none")},
		"--openai-trtllm": {OpenaiTrtllm: filepath.Join(t.TempDir(), "none")},
	} {
		if err := c.Run(context.Background()); err == nil || !strings.HasPrefix(err.Error(), flag+": ") {
			t.Errorf("%s: got %v", flag, err)
		}
	}
}
