package catalog_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/contracts"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
)

// starter is an engine whose models are loaded when the channel is closed.
type starter struct {
	*inferencetest.Engine

	loaded chan struct{}
}

func (s starter) AwaitModels(ctx context.Context) error {
	select {
	case <-s.loaded:
		return errors.New("one failed")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestAnnounce checks that Catalog logs the models of each engine once, when all models of the
// start are known.
func TestAnnounce(t *testing.T) {
	const pause = 10 * time.Second // longer than the catalog's interval
	synctest.Test(t, func(t *testing.T) {
		local, remote := inferencetest.New(), inferencetest.New()
		loaded := make(chan struct{})
		local.AddModel("here", inferencetest.StreamText("x"), nil)
		local.AddModel("broken", nil, nil)
		local.SetState("here", inference.ModelNeverLoaded, "")
		local.SetState("broken", inference.ModelNeverLoaded, "")
		remote.AddModel("there", inferencetest.StreamText("x"), nil)
		remote.SetDown(errors.New("connection refused"))
		models := catalog.New(catalog.Config{}, []inference.Engine{starter{local, loaded}, remote},
			[]inference.Backend{contracts.VLLM{}}, nil, slog.New(slog.DiscardHandler))
		var announced []string
		models.Announce(func(cards []*catalog.Card) {
			var models []string
			for _, card := range cards {
				models = append(models, card.Name+" "+string(card.State))
			}
			announced = append(announced, strings.Join(models, ", "))
		})
		check := func(when string, want ...string) {
			t.Helper()
			<-time.After(pause)
			synctest.Wait()
			if strings.Join(announced, "; ") != strings.Join(want, "; ") {
				t.Errorf("%s: announced %q, want %q", when, announced, want)
			}
		}
		models.Start()
		defer models.Stop()
		local.SetState("here", inference.ModelLoading, "")
		check("while models load")
		local.SetState("here", inference.ModelReady, "")
		local.SetState("broken", inference.ModelUnavailable, "no GPU")
		close(loaded)
		const here = "broken UNAVAILABLE, here READY"
		check("when they are loaded", here)
		remote.SetDown(nil)
		check("when the other engine comes", here, "there READY")
		remote.SetDown(errors.New("connection refused"))
		check("when it goes", here, "there READY")
		remote.SetDown(nil)
		local.SetState("here", inference.ModelUnavailable, "unloaded")
		check("after changes", here, "there READY")
	})
}

// TestReadyAfterAnnouncement checks that the server isn't ready, and that no client sees a model, before the
// models are announced to the operator.
func TestReadyAfterAnnouncement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := inferencetest.New()
		engine.AddModel("m", inferencetest.StreamText("x"), nil)
		loaded := make(chan struct{})
		models := catalog.New(catalog.Config{}, []inference.Engine{starter{engine, loaded}},
			[]inference.Backend{contracts.VLLM{}}, nil, slog.New(slog.DiscardHandler))
		announced := false
		models.Announce(func([]*catalog.Card) { announced = true })
		models.Start()
		defer models.Stop()
		if err := models.Ready(t.Context()); err == nil {
			t.Error("ready before the models of the start are there")
		}
		close(loaded)
		synctest.Wait()
		if err := models.Ready(t.Context()); err != nil || !announced {
			t.Errorf("announced %v, ready %v", announced, err)
		}
	})
	engine := inferencetest.New()
	engine.AddModel("m", inferencetest.StreamText("x"), nil)
	models := catalog.New(catalog.Config{}, []inference.Engine{engine},
		[]inference.Backend{contracts.VLLM{}}, nil, slog.New(slog.DiscardHandler))
	seen := -1
	models.Announce(func([]*catalog.Card) { seen = len(models.Cards()) })
	if err := models.Refresh(t.Context()); err != nil || seen != 0 {
		t.Errorf("%d models were seen before they were announced, %v", seen, err)
	}
}

// TestStartIsLogged checks that Catalog logs the models once and later changes too, if Announce
// isn't called.
func TestStartIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := inferencetest.New()
		engine.AddModel("m", inferencetest.StreamText("x"), nil)
		loaded := make(chan struct{})
		var log strings.Builder
		models := catalog.New(catalog.Config{}, []inference.Engine{starter{engine, loaded}},
			[]inference.Backend{contracts.VLLM{}}, nil, slog.New(slog.NewTextHandler(&log, nil)))
		engine.SetState("m", inference.ModelLoading, "")
		models.Start()
		defer models.Stop()
		<-time.After(time.Minute)
		engine.SetState("m", inference.ModelReady, "")
		close(loaded)
		<-time.After(time.Minute)
		engine.SetState("m", inference.ModelUnavailable, "unloaded")
		<-time.After(time.Minute)
		synctest.Wait()
		var lines []string
		for line := range strings.Lines(log.String()) {
			if _, model, ok := strings.Cut(line, `msg="model state" `); ok {
				lines = append(lines, strings.TrimSpace(model))
			}
		}
		want := `model=m version=1 state=READY backend=vllm template=false parsers=none context=0; model=m version=1 state=UNAVAILABLE reason=unloaded`
		if got := strings.Join(lines, "; "); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	})
}
