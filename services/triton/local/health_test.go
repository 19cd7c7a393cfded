//go:build cgo && linux

package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
)

// backTime is the time limit for loading a model on a busy machine.
const backTime = 30 * time.Second

// until fails the test if a condition isn't met within backTime.
func until(t *testing.T, engine *Engine, what string, met func() bool) {
	t.Helper()
	if !engine.core.await(t.Context(), backTime, met) {
		t.Fatalf("waited in vain until %s", what)
	}
}

// model returns the engine's list entry of a model.
func model(t *testing.T, engine *Engine, name string) inference.Model {
	t.Helper()
	models, err := engine.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range models {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("%s isn't listed: %v", name, models)
	return inference.Model{}
}

// checkBroken checks the list entry and the errors of a broken model.
func checkBroken(t *testing.T, engine *Engine, name, fault string) {
	t.Helper()
	if m := model(t, engine, name); m.State != inference.ModelUnavailable || !m.Recovering || !strings.Contains(m.Reason, fault) || m.Config != nil {
		t.Errorf("it is listed as %+v", m)
	}
	if e := inference.AsError(engine.Ready(t.Context())); e.Reason != inference.ReasonModelNotReady || !strings.Contains(e.Message, "`"+name+"`") {
		t.Errorf("the engine is %v", e)
	}
	answer, err := engine.ModelReady(t.Context(), &kserve.ModelReadyRequest{Name: name})
	if err != nil || answer.GetReady() {
		t.Errorf("the model is %v, %v", answer, err)
	}
	index, err := engine.RepositoryIndex(t.Context(), &kserve.RepositoryIndexRequest{Ready: true})
	if err != nil || strings.Contains(index.String(), name) {
		t.Errorf("ready are %v, %v", index, err)
	}
	began := time.Now()
	e := inference.AsError(ask(t, engine, name, 1))
	if e.Code != inference.CodeUnavailable || e.Reason != inference.ReasonModelNotReady || e.RetryAfter <= 0 || !strings.Contains(e.Message, fault) {
		t.Errorf("a request got %v, retry after %s", e, e.RetryAfter)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("the refusal took %s", took)
	}
}

func killStubs(t *testing.T, engine *Engine, model string) {
	t.Helper()
	all := engine.core.stubsOfModel(model)
	if len(all) != 1 {
		t.Fatalf("processes of the model: %v", all)
	}
	if err := syscall.Kill(all[0].pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// TestStubDies checks that streams end at once when the Python process of their model is killed, and
// that the model recovers.
func TestStubDies(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	config := suiteConfig(t)
	config.Inactivity = time.Minute
	engine := start(t, config)
	const rounds, streams = 2, 4
	for round := range rounds {
		running, ended := make(chan struct{}, streams), make(chan error, streams)
		for i := range streams {
			go func() {
				got := 0
				var failed error
				for _, failed = range engine.Stream(t.Context(), numbered(1_000_000, number("DELAY", int32(i)))) { // the first request has no delay
					got++
					if got == 3 {
						running <- struct{}{}
					}
				}
				ended <- failed
			}()
		}
		for range streams {
			<-running
		}
		died := time.Now()
		killStubs(t, engine, "stream")
		for range streams {
			if e := inference.AsError(<-ended); e.Code != inference.CodeUnavailable || e.Reason != inference.ReasonEngineGone ||
				!strings.Contains(e.Message, "the model's process ended by signal: killed") || e.RetryAfter <= 0 {
				t.Errorf("a stream ended with %v", e)
			}
		}
		if took := time.Since(died); took > time.Second {
			t.Errorf("the streams ended %s after the process", took)
		}
		checkBroken(t, engine, "stream", "the model's process ended by signal: killed")
		if m := model(t, engine, "echo"); m.State != inference.ModelReady {
			t.Errorf("the other model is %+v", m)
		}
		until(t, engine, "the model is back", func() bool { return engine.Ready(t.Context()) == nil })
		t.Logf("round %d: back after %s", round, time.Since(died))
		for _, err := range engine.Stream(t.Context(), numbered(3)) {
			if err != nil {
				t.Errorf("afterwards: %v", err)
			}
		}
	}
	stopped(t, engine, config.StopLimit())
}

// misbehavingModel is a model that behaves as the number in the request demands.
const misbehavingModel = `import os, time
import numpy as np
import triton_python_backend_utils as pb_utils

HERE = os.path.dirname(__file__)

def flag(name):
    return os.path.exists(os.path.join(HERE, name))

class TritonPythonModel:
    def initialize(self, args):
        if flag("broken"):
            raise ValueError("broken for now")
        while flag("slow"):
            time.sleep(0.01)
        self.dead = False
        if os.fork() == 0: # it looks like the model's process
            while not flag("over"):
                time.sleep(0.01)
            os._exit(3)

    def execute(self, requests):
        responses = []
        for request in requests:
            wish = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()[0]
            if wish == 2:
                time.sleep(3600)
            if wish == 3:
                os._exit(0)
            self.dead = self.dead or wish == 4
            if self.dead:
                error = pb_utils.TritonError("Error generating stream: EngineCore encountered an issue. See stack trace (above) for the root cause.")
                responses.append(pb_utils.InferenceResponse(error=error))
            elif wish == 5:
                error = pb_utils.TritonError("what you wrote is wrong: Stub process is not healthy. EngineCore encountered an issue")
                responses.append(pb_utils.InferenceResponse(error=error))
            else:
                responses.append(pb_utils.InferenceResponse(output_tensors=[pb_utils.Tensor("OUT", np.array([wish], dtype=np.int32))]))
        return responses
`

// raise sets a flag that changes the behavior of the misbehaving model, and returns a function that
// clears the flag.
func raise(t *testing.T, config Config, flag string) (lower func()) {
	t.Helper()
	path := touch(t, config.Repositories[0], "misbehaving", "1", flag)
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

func TestModelFaults(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	config := configOf(t, map[string]string{"misbehaving": misbehavingModel})
	config.FirstResponse = 2 * time.Second // longer than a response takes on a busy machine
	engine := start(t, config)
	defer stopped(t, engine, config.StopLimit())
	t.Run("a process that it forked ends", func(t *testing.T) {
		if n := len(stubsOf(engine.core.prefix)); n != 2 {
			t.Fatalf("it has %d processes", n)
		}
		lower := raise(t, config, "over")
		until(t, engine, "it has ended", func() bool { return len(stubsOf(engine.core.prefix)) == 1 })
		lower()
		if err := ask(t, engine, "misbehaving", 1); err != nil {
			t.Error(err)
		}
		if engine.core.health.model("misbehaving").faults != 0 {
			t.Error("it counts as the model's breakdown")
		}
	})
	for _, test := range []struct {
		name  string
		wish  int32
		times int
		fault string
	}{
		{"its process ends by itself", 3, 1, "the model's process ended with exit code 0"},
		{"its engine dies", 4, 1, "the model's engine has ended"},
		{"it hangs", 2, triton.MaxUnanswered, "the model doesn't answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			lower := raise(t, config, "slow") // a slow load keeps the model away until the checks
			for range test.times {
				if err := ask(t, engine, "misbehaving", test.wish); err == nil {
					t.Fatal("the model answered")
				}
			}
			until(t, engine, "the model is marked", func() bool { return model(t, engine, "misbehaving").Recovering })
			checkBroken(t, engine, "misbehaving", test.fault)
			lower()
			until(t, engine, "the model is back", func() bool { return engine.Ready(t.Context()) == nil })
			if err := ask(t, engine, "misbehaving", 1); err != nil {
				t.Errorf("afterwards: %v", err)
			}
			ageRecovery(engine, "misbehaving")
		})
	}
	t.Run("an error quotes what a client wrote", func(t *testing.T) {
		if err := ask(t, engine, "misbehaving", 5); err == nil || model(t, engine, "misbehaving").State != inference.ModelReady {
			t.Errorf("got %v, and the model is %+v", err, model(t, engine, "misbehaving"))
		}
	})
	t.Run("a late end of a stream that began before the recovery", func(t *testing.T) {
		dead := &inference.Error{Code: inference.CodeInternal, Err: errors.New("EngineCore encountered an issue")}
		if triton.VerdictOn(dead) != triton.DeadEngine {
			t.Fatal("the error doesn't mean that the engine is dead")
		}
		engine.core.health.ended(&stream{model: "misbehaving"}, dead)
		if m := model(t, engine, "misbehaving"); m.State != inference.ModelReady || m.Recovering {
			t.Errorf("the model is %+v", m)
		}
	})
	t.Run("some requests without an answer", func(t *testing.T) {
		for range 2 {
			for range triton.MaxUnanswered - 1 {
				engine.core.health.ended(&stream{model: "misbehaving", id: engine.core.queue.number()}, inference.AsError(&inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonInactive}))
			}
			if err := ask(t, engine, "misbehaving", 1); err != nil {
				t.Error(err)
			}
		}
	})
}

// ageRecovery moves the time of a model's last recovery into the past.
func ageRecovery(engine *Engine, name string) {
	h := engine.core.health
	h.mu.Lock()
	defer h.mu.Unlock()
	h.models[name].healed = time.Time{}
}

// TestControlBroken checks that a load of a broken model fails while its recovery fails, that a
// client can load the model once the cause is removed, and that a broken model can be unloaded.
func TestControlBroken(t *testing.T) {
	config := configOf(t, map[string]string{"misbehaving": misbehavingModel})
	config.ControlMode, config.LoadModels = ControlExplicit, []string{"misbehaving"}
	engine := start(t, config)
	defer stop(t, engine)
	load := func() error {
		_, err := engine.RepositoryModelLoad(t.Context(), &kserve.RepositoryModelLoadRequest{ModelName: "misbehaving"})
		return err
	}
	lower := raise(t, config, "broken")
	killStubs(t, engine, "misbehaving")
	h := engine.core.health
	attempts := func(n int) func() bool {
		return func() bool { h.mu.Lock(); defer h.mu.Unlock(); return h.models["misbehaving"].attempts >= n }
	}
	until(t, engine, "it was tried for the third time", attempts(3))
	checkBroken(t, engine, "misbehaving", "the model's process ended")
	if err := load(); err == nil || !strings.Contains(err.Error(), "broken for now") {
		t.Errorf("the load gave %v", err)
	}
	if pause := h.pause(h.model("misbehaving")); pause < 4*time.Second {
		t.Errorf("the next attempt comes in %s", pause)
	}
	lower()
	if err := load(); err != nil {
		t.Fatal(err)
	}
	if err := engine.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if err := ask(t, engine, "misbehaving", 1); err != nil {
		t.Error(err)
	}

	lower = raise(t, config, "broken")
	killStubs(t, engine, "misbehaving")
	until(t, engine, "the model is marked", func() bool { return model(t, engine, "misbehaving").Recovering })
	if _, err := engine.RepositoryModelUnload(t.Context(), &kserve.RepositoryModelUnloadRequest{ModelName: "misbehaving"}); err != nil {
		t.Fatal(err)
	}
	lower()
	if m := model(t, engine, "misbehaving"); m.Recovering || m.State == inference.ModelReady {
		t.Errorf("the unloaded model is %+v", m)
	}
	until(t, engine, "it is unloaded", func() bool { return engine.Ready(t.Context()) == nil })
	if m := model(t, engine, "misbehaving"); m.State != inference.ModelUnavailable {
		t.Errorf("it wasn't left alone: %+v", m)
	}
	if err := load(); err != nil {
		t.Error(err)
	}
}

// TestEnsemble checks that a stream of an ensemble ends with an error when the process of one of its
// models is killed.
func TestEnsemble(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	config := suiteConfig(t)
	repository := t.TempDir()
	touch(t, repository, "whole", "1", "none")
	const settings = `platform: "ensemble"
model_transaction_policy { decoupled: true }
input [ { name: "COUNT" data_type: TYPE_INT32 dims: [ 1 ] }, { name: "DELAY" data_type: TYPE_INT32 dims: [ 1 ] } ]
output [ { name: "INDEX" data_type: TYPE_INT32 dims: [ 1 ] } ]
ensemble_scheduling { step [ { model_name: "stream" model_version: -1
  input_map { key: "COUNT" value: "COUNT" } input_map { key: "DELAY" value: "DELAY" } output_map { key: "INDEX" value: "INDEX" } } ] }
`
	if err := os.WriteFile(filepath.Join(repository, "whole", "config.pbtxt"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	config.Repositories = append(config.Repositories, repository)
	engine := start(t, config)
	req := numbered(1_000_000, number("DELAY", 1))
	req.ModelName = "whole"
	got := 0
	var failed error
	for _, failed = range engine.Stream(t.Context(), req) {
		got++
		if got == 3 {
			killStubs(t, engine, "stream")
		}
	}
	if e := inference.AsError(failed); e.Reason != inference.ReasonEngineGone {
		t.Errorf("the stream ended with %v", failed)
	}
	until(t, engine, "all is back", func() bool { return engine.Ready(t.Context()) == nil })
	req = numbered(3, number("DELAY", 1))
	req.ModelName = "whole"
	for _, err := range engine.Stream(t.Context(), req) {
		if err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
	stopped(t, engine, config.StopLimit())
}
