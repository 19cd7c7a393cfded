package catalog_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/contracts"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// TestWarningsAtLoad checks that properties of a model with surprising effects on answers are logged
// once when the model is loaded, and not again while the model stays loaded.
func TestWarningsAtLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := inferencetest.New()
		engine.AddModel("whole", inferencetest.StreamText("x"), map[string]string{"trident.context_length": "100"})
		engine.Configure("whole", func(c *kserve.ModelConfig) { c.ModelTransactionPolicy = nil })
		engine.AddModel("unbounded", inferencetest.StreamText("x"), nil)
		engine.AddModel("good", inferencetest.StreamText("x"), map[string]string{"trident.context_length": "100"})
		engine.AddModel("vectors", inferencetest.Embed(1), map[string]string{"trident.task": "embed"})
		engine.Configure("vectors", func(c *kserve.ModelConfig) { c.ModelTransactionPolicy = nil })
		engine.AddModel("function", inferencetest.StreamText("x"), map[string]string{"trident.backend": "python"}) // without max_tokens
		engine.Configure("function", func(c *kserve.ModelConfig) {
			c.Input = []*kserve.ModelInput{{Name: "text_input", DataType: kserve.DataType_TYPE_STRING, Dims: []int64{1}}}
		})
		var log strings.Builder
		models := catalog.New(catalog.Config{}, []inference.Engine{engine}, []inference.Backend{contracts.VLLM{}, contracts.Python{}}, nil,
			slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})))
		models.Start()
		defer models.Stop()
		<-time.After(time.Minute) // many refreshes
		synctest.Wait()
		for _, want := range []string{
			`msg="the model doesn't stream: a streamed answer arrives as a whole at its end" model=whole`,
			`msg="the context length of the model is unknown: answers are short unless the request sets max_tokens" model=unbounded`,
		} {
			if n := strings.Count(log.String(), want); n != 1 {
				t.Errorf("%d times: %s", n, want)
			}
		}
		if n := strings.Count(log.String(), "\n"); n != 2 {
			t.Errorf("%d lines:\n%s", n, log.String())
		}
	})
}

// TestFingerprint checks that two models have the same Card.Fingerprint only if their configuration
// is the same.
func TestFingerprint(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("m", inferencetest.StreamText("x"), nil)
	first := fingerprintOf(t, engine)
	if !strings.HasPrefix(first, "fp_") || len(first) != len("fp_")+10 {
		t.Errorf("fingerprint %q", first)
	}
	if again := fingerprintOf(t, engine); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	engine.Configure("m", func(c *kserve.ModelConfig) { c.MaxBatchSize = 4 })
	if changed := fingerprintOf(t, engine); changed == first {
		t.Errorf("%s for another configuration", changed)
	}
	if none := inferencetest.Service(t, serving.Config{}, engine).Resolve("none"); none.Fingerprint() != "" {
		t.Errorf("%q of no model", none.Fingerprint())
	}
}

func fingerprintOf(t *testing.T, engine *inferencetest.Engine) string {
	t.Helper()
	named, err := inferencetest.Service(t, serving.Config{}, engine).Catalog().Model(t.Context(), "m")
	if err != nil {
		t.Fatal(err)
	}
	return named.Card.Fingerprint
}

// elsewhere is an engine that runs on another server, and reports that server's address.
type elsewhere struct{ *inferencetest.Engine }

// Address returns the address of the server.
func (elsewhere) Address() string { return "triton.example:8001" }

// TestEngineAway checks that the log names the address of a server that doesn't answer, and the setting of
// the address, once.
func TestEngineAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := inferencetest.New()
		engine.SetDown(&inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonEngineGone, Message: "gone"})
		var log strings.Builder
		models := catalog.New(catalog.Config{}, []inference.Engine{elsewhere{engine}}, nil, nil, slog.New(slog.NewTextHandler(&log, nil)))
		models.Start()
		<-time.After(time.Minute) // many refreshes
		engine.SetDown(nil)
		<-time.After(time.Minute)
		models.Stop()
		for _, want := range []string{
			`msg="Triton doesn't answer" address=triton.example:8001 flag=triton.Endpoint error=gone`,
			`msg="Triton answers again" address=triton.example:8001 flag=triton.Endpoint`,
		} {
			if n := strings.Count(log.String(), want); n != 1 {
				t.Errorf("%d times: %s\n%s", n, want, log.String())
			}
		}
	})
}
