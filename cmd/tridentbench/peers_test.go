package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

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

// serverVariable makes the test's own program a server of another project, see [TestStartProgram].
const serverVariable = "TRIDENTBENCH_TEST_SERVER"

// serve serves a health endpoint on a port, after it has written a log that fills a pipe.
func serve(port string) {
	fmt.Println(strings.Repeat("a line of a log\n", 10_000))
	server := http.Server{Addr: "127.0.0.1:" + port, ReadHeaderTimeout: time.Second}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ready" {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	fmt.Println(server.ListenAndServe())
	os.Exit(1)
}

// TestStartProgram checks that a server of another project is started with its arguments, that the bench waits until
// it is ready, reads its log, measures its process and that of tritonserver, and ends it.
func TestStartProgram(t *testing.T) {
	runtime.LockOSThread() // the kernel ends the child with the thread that started it
	defer runtime.UnlockOSThread()
	t.Setenv(serverVariable, "1")
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	f := &fleet{folder: t.TempDir(), columns: []*column{{name: colLocal, worker: &worker{}}}, tritonAt: tritonAddress{"127.0.0.1:1", os.Getpid()}}
	p := program{
		name: "other", flag: "other", path: path, ready: "/ready", models: []string{ensembleModel}, triton: true,
		arguments: func(_ context.Context, _ *fleet, port string) ([]string, error) { return []string{port}, nil },
	}
	if err := f.startProgram(ctx, &p); err != nil {
		t.Fatal(errors.Join(err, f.stop()))
	}
	c := f.column("other")
	if c == nil || c.path != chatPath || c.model(ensembleModel) != ensembleModel || c.model(flatModel) != "" || c.worker != f.column(colLocal).worker {
		t.Fatalf("the column is %+v", c)
	}
	if len(c.roles) != 2 || c.roles[0].name != roleTrident || c.roles[0].pid != f.children[0].cmd.Process.Pid || c.roles[1] != (role{roleTriton, os.Getpid()}) {
		t.Errorf("its processes are %v", c.roles)
	}
	if err := f.stop(); err != nil {
		t.Error(err)
	}
	if _, err := get(ctx, "http://"+c.address+"/ready"); err == nil {
		t.Error("it is still there")
	}
	p.arguments = func(context.Context, *fleet, string) ([]string, error) { return nil, errors.New("no files") }
	if err := f.startProgram(ctx, &p); err == nil || err.Error() != "no files" {
		t.Errorf("got %v", err)
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
