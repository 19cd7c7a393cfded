//go:build cgo && linux

package local

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// TestLoadTakesTooLong checks that the local engine ends a model load at the start of the server
// that takes longer than LoadTimeout, and loads the model again.
func TestLoadTakesTooLong(t *testing.T) {
	config := configOf(t, map[string]string{"misbehaving": misbehavingModel})
	config.LoadTimeout = 4 * time.Second // longer than a load takes on a busy machine
	lower := raise(t, config, "slow")
	engine := begin(t, config)
	defer stop(t, engine)
	if err := inference.AsError(engine.Ready(t.Context())); err != errLoading {
		t.Errorf("while loading: %v", err)
	}
	if err := engine.AwaitModels(t.Context()); err == nil || !strings.Contains(err.Error(), "the load took longer than local.LoadTimeout, and") {
		t.Errorf("the start gave %v", err)
	}
	checkBroken(t, engine, "misbehaving", "wasn't loaded in 4s")
	lower()
	until(t, engine, "the model is there", func() bool { return engine.Ready(t.Context()) == nil })
	if err := ask(t, engine, "misbehaving", 1); err != nil {
		t.Error(err)
	}
}

// hangingConfigModel is a model that hangs in its auto-completion.
const hangingConfigModel = `import time

class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        time.sleep(3600)

    def execute(self, requests):
        return []
`

// TestLoadHangs checks that other models are served while the load of one model hangs. The test kills
// the model's process before it has imported the model. Triton up to 25.07 waits for that process
// forever.
func TestLoadHangs(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	config := suiteConfig(t)
	config.Repositories = append(config.Repositories, repositoryOf(t, map[string]string{"hanging_config": hangingConfigModel}))
	config.ControlMode, config.LoadModels = ControlExplicit, []string{"hanging_config", "echo"}
	engine := begin(t, config)
	until(t, engine, "it is asked", func() bool {
		return len(engine.core.stubsOfModel("hanging_config")) == 1 && model(t, engine, "echo").State == inference.ModelReady
	})
	killStubs(t, engine, "hanging_config")
	began := time.Now()
	if err := engine.AwaitModels(t.Context()); err == nil || !strings.Contains(err.Error(), "model hanging_config: ") {
		t.Errorf("the start gave %v", err)
	}
	if took := time.Since(began); took > deathDetectionLimit+2*lastLook {
		t.Errorf("that took %s", took)
	}
	hangs := engine.core.health.model("hanging_config").hanging
	if !hangs {
		t.Log("this Triton has noticed the death")
	}
	if e := inference.AsError(engine.Ready(t.Context())); !strings.Contains(e.Message, "`hanging_config`") {
		t.Errorf("the engine is %v", e)
	}
	if _, err := engine.RepositoryModelLoad(t.Context(), &kserve.RepositoryModelLoadRequest{ModelName: "hanging_config"}); hangs && !errors.Is(err, errHung) {
		t.Errorf("another load gave %v", err)
	}
	if err := reload(t, engine, nil); err != nil {
		t.Errorf("the load of another model: %v", err)
	}
	for _, err := range engine.Stream(t.Context(), numbered(3)) {
		if err != nil {
			t.Error(err)
		}
	}
	stopped(t, engine, config.StopLimit())
}
