package e2e

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
)

// TestModelControl checks that a model is loaded and unloaded through the OpenAI API, with the same
// responses for in-process Triton and for a tritonserver.
func TestModelControl(t *testing.T) {
	t.Parallel()
	options := demoOptions(t)
	options.Args = []string{"--model-control-mode=explicit"}
	for _, test := range []struct {
		name  string
		start func(t *testing.T) *trident
	}{
		{"in process", func(t *testing.T) *trident {
			t.Helper()
			return start(t, append(options.Args, "--model-repository="+options.Repositories[0])...)
		}},
		{"remote", func(t *testing.T) *trident {
			t.Helper()
			return ownEngine(t, options).start(t)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			checkModelControl(t, test.start(t))
		})
	}
}

func checkModelControl(t *testing.T, s *trident) {
	t.Helper()
	s.awaitReady(t) // Trident is ready without models
	control := func(model, action string) answer { return s.post(t, "/v1/models/"+model+"/"+action, nil) }
	wantFailure := func(a answer, status int, code, words string) {
		t.Helper()
		if e := a.want(t, status).failure(t); text(e.Code) != code || !strings.Contains(text(e.Message), words) {
			t.Errorf("code %s: %s", text(e.Code), text(e.Message))
		}
	}
	embed := object{"model": "embedding", "input": "Hello."}

	wantFailure(s.post(t, "/v1/embeddings", embed), http.StatusNotFound, "model_not_found", "does not exist or is not loaded")
	loaded := decode[model](t, control("embedding", "load").want(t, http.StatusOK))
	if loaded.ID != "embedding" || loaded.Created == 0 {
		t.Errorf("the model is %+v", loaded)
	}
	s.embed(t, "Hello.", nil)
	wantFailure(control("embedding", "load"), http.StatusBadRequest, "model_already_loaded", "already loaded")
	wantFailure(control("nobody", "load"), http.StatusBadRequest, "model_not_found", "failed to load 'nobody', failed to poll from model repository")
	wantFailure(control("..%2Fmodels%2Fembedding", "load"), http.StatusBadRequest, "model_not_found", "failed to load '../models/embedding'")
	wantFailure(control("nobody", "unload"), http.StatusBadRequest, "model_not_found", "unknown model")
	if body := string(control("embedding", "unload").want(t, http.StatusOK).body); !strings.Contains(body, `"status":"success"`) {
		t.Errorf("unloaded: %s", body)
	}
	wantFailure(s.post(t, "/v1/embeddings", embed), http.StatusNotFound, "model_not_found", "does not exist or is not loaded")
	wantFailure(control("embedding", "unload"), http.StatusBadRequest, "model_not_found", "unknown model")
	control("embedding", "load").want(t, http.StatusOK)
	s.embed(t, "Hello.", nil)
	checkTypedControl(t, s)
}

// checkTypedControl unloads the model embedding with ModelService and loads it again. It checks that
// ModelService.Watch sends each state, that InferService runs the model, and that the status of
// ServerService.Watch has the model's load (its number of requests).
func checkTypedControl(t *testing.T, s *trident) {
	t.Helper()
	models := tridentv1connect.NewModelServiceClient(client, s.url)
	watch, err := models.Watch(t.Context(), &tridentv1.ModelServiceWatchRequest{All: true})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	next := func(state tridentv1.ModelState) {
		t.Helper()
		for watch.Receive() {
			for _, m := range watch.Msg().GetModels() {
				if m.GetName() != "embedding" {
					continue
				}
				if m.GetState() != state {
					t.Errorf("the model is %s, want %s", m.GetState(), state)
				}
				return
			}
		}
		t.Fatal(watch.Err())
	}
	next(tridentv1.ModelState_MODEL_STATE_READY)
	if _, err := models.Unload(t.Context(), &tridentv1.ModelServiceUnloadRequest{Model: "embedding"}); err != nil {
		t.Fatal(err)
	}
	next(tridentv1.ModelState_MODEL_STATE_UNLOADING)
	next(tridentv1.ModelState_MODEL_STATE_UNAVAILABLE)
	loaded, err := models.Load(t.Context(), &tridentv1.ModelServiceLoadRequest{Model: "embedding"})
	if err != nil || loaded.GetModel().GetState() != tridentv1.ModelState_MODEL_STATE_READY || !loaded.GetModel().GetUnloadAllowed() {
		t.Fatal(loaded, err)
	}
	next(tridentv1.ModelState_MODEL_STATE_LOADING)
	next(tridentv1.ModelState_MODEL_STATE_READY)

	row := func(name string, values ...int64) *kserve.ModelInferRequest_InferInputTensor {
		return &kserve.ModelInferRequest_InferInputTensor{
			Name: name, Datatype: "INT64", Shape: []int64{1, int64(len(values))}, Contents: &kserve.InferTensorContents{Int64Contents: values},
		}
	}
	stream, err := tridentv1connect.NewInferServiceClient(client, s.url).InferStream(t.Context(), &kserve.ModelInferRequest{
		ModelName: "embedding", Id: "7", Inputs: []*kserve.ModelInferRequest_InferInputTensor{
			row("input_ids", 101, 7592, 102), row("attention_mask", 1, 1, 1), row("token_type_ids", 0, 0, 0),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if answer := stream.Msg; !stream.Receive() || answer().GetErrorMessage() != "" || answer().GetInferResponse().GetId() != "7" || answer().GetInferResponse().GetOutputs()[0].GetName() != "last_hidden_state" {
		t.Errorf("by tensors: %v, %v", answer(), stream.Err())
	}
	load, err := tridentv1connect.NewServerServiceClient(client, s.url).Watch(t.Context(), &tridentv1.ServerServiceWatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	defer load.Close()
	if !load.Receive() {
		t.Fatal(load.Err())
	}
	status := load.Msg().GetStatus()
	if !status.GetReady() || len(status.GetModels()) != 1 || status.GetModels()[0].GetModel() != "embedding" || status.GetModels()[0].GetLoad().GetRequests() < 3 {
		t.Errorf("the server's load: %v", status)
	}
}

// Triton's message without explicit model control, and the remedy that Trident adds for other
// clients than Triton's own.
const (
	notExplicit    = "explicit model load / unload is not allowed if polling is enabled"
	explicitRemedy = ": start the inference server with --model-control-mode=explicit"
)

// TestNoModelControl checks that both engines refuse to load a model without explicit model
// control, with Triton's message and the remedy.
func TestNoModelControl(t *testing.T) {
	t.Parallel()
	s := serving(t)
	for _, path := range []string{"embedding/load", "embedding/unload", "nobody/load", "nobody/unload"} {
		e := s.post(t, "/v1/models/"+path, nil).want(t, http.StatusBadRequest).failure(t)
		if text(e.Message) != notExplicit+explicitRemedy || text(e.Code) != "not_implemented" {
			t.Errorf("%s: %s: %s", path, text(e.Code), text(e.Message))
		}
	}
}

// TestModelsFail starts trident with models that can't be loaded. All of them are logged, and
// trident exits unless a flag allows such models.
func TestModelsFail(t *testing.T) {
	t.Parallel()
	repository := t.TempDir()
	for _, name := range []string{"one", "two"} {
		if err := os.MkdirAll(filepath.Join(repository, name, "1"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(repository, name, "config.pbtxt"), []byte(`backend: "nonsense"`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("exit", func(t *testing.T) {
		cmd := exec.Command(tridentBinary(t), "--host=127.0.0.1", "--openai-port=0", "--model-repository="+repository, "--enable-kserve-frontends", "--kserve-http-port=0", "--kserve-grpc-port=0",
			"--metrics-port=0", "--profile-address=127.0.0.1:0")
		cmd.Dir, cmd.Env = root(t), environment(raceOptions)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("it ended with %v", err)
		}
		for _, words := range []string{"error=\"model two: ", "trident: can't load model one: ", "and 1 more can't be loaded; --exit-on-error=false serves the other models"} {
			if !strings.Contains(string(out), words) {
				t.Errorf("no %q in\n%s", words, out)
			}
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "trident: ") || strings.Contains(last, "UNAVAILABLE") {
			t.Errorf("the last line is %q", last)
		}
		if addressLine.Match(out) || strings.Contains(string(out), "CudaDriverHelper") || strings.Contains(string(out), "pinned system memory") {
			t.Errorf("addresses, or Triton's messages about a GPU, in\n%s", out)
		}
	})
	t.Run("go on", func(t *testing.T) {
		s := start(t, "--model-repository="+repository, "--exit-on-error=false", "--log-format=text")
		table := regexp.MustCompile(`(?s)MODEL +VERSION +STATUS.*\none +1 +UNAVAILABLE: .*\ntwo +1 +UNAVAILABLE: .*\nOpenAI API +` + s.url + "/v1\n")
		if !poll(startLimit, func() bool { return table.MatchString(s.log.String()) }) {
			t.Errorf("no table with both:\n%s", s.log)
		}
		s.get(t, "/health/ready").want(t, http.StatusServiceUnavailable)
	})
}
