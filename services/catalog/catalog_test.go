package catalog_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

func TestModels(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("b", inferencetest.StreamText("x"), inferencetest.WithTemplate())
	engine.AddModel("a", inferencetest.Embed(1), map[string]string{"trident.task": "embed"})
	engine.AddModel("hidden", inferencetest.StreamText("x"), map[string]string{"trident.hidden": "true", "trident.chat_template": inferencetest.ChatTemplate})
	engine.AddModel("off", inferencetest.StreamText("x"), nil)
	engine.SetState("off", inference.ModelLoading, "")
	engine.AddModel("broken", inferencetest.StreamText("x"), nil)
	engine.Break("broken", "its process ended")
	engine.AddModel("unloaded", inferencetest.StreamText("x"), nil)
	engine.SetState("unloaded", inference.ModelUnavailable, "unloaded")
	s := inferencetest.Service(t, serving.Config{}, engine)
	if _, err := s.Catalog().Model(t.Context(), "a"); err != nil { // waits for the first refresh
		t.Fatal(err)
	}
	var names []string
	for _, card := range s.Catalog().Models(t.Context()) {
		names = append(names, card.Name)
	}
	if got := strings.Join(names, " "); got != "a b" {
		t.Errorf("listed %q", got)
	}
	tests := []struct {
		name, model string
		task        inference.Task
		code        inference.Code
		reason      inference.Reason
		message     string
	}{
		{"unknown", "nope", inference.TaskGenerate, inference.CodeNotFound, inference.ReasonModelNotFound, "the model `nope` does not exist or is not loaded"},
		{"unloaded", "unloaded", inference.TaskGenerate, inference.CodeNotFound, inference.ReasonModelNotFound, "the model `unloaded` does not exist or is not loaded"},
		{"loading", "off", inference.TaskGenerate, inference.CodeUnavailable, inference.ReasonModelNotReady, "the model `off` is loading"},
		{"broken", "broken", inference.TaskGenerate, inference.CodeUnavailable, inference.ReasonModelNotReady, "the model `broken` isn't ready: its process ended"},
		{"chat with an embedding model", "a", inference.TaskGenerate, inference.CodeInvalid, inference.ReasonUnsupported, "the model `a` doesn't support text generation"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := inferencetest.Collect(t.Context(), s, &inference.Request{Model: tt.model, Task: tt.task, Prompts: []inference.Input{{Text: "x"}}})
			if a.Err == nil || a.Err.Code != tt.code || a.Err.Reason != tt.reason || a.Err.Param != "model" || a.Err.Message != tt.message {
				t.Errorf("got %+v", a.Err)
			}
			if later := tt.code == inference.CodeUnavailable; a.Err != nil && later != (a.Err.RetryAfter > 0) {
				t.Errorf("retry after %s", a.Err.RetryAfter)
			}
		})
	}
	if a := inferencetest.Collect(t.Context(), s, &inference.Request{Model: "hidden", Task: inference.TaskGenerate, Prompts: []inference.Input{{Text: "x"}}}); a.Err != nil {
		t.Errorf("a hidden model is served: %v", a.Err)
	}
}

// TestEngineGoneAndBack checks that Catalog keeps the descriptions of models (cards) while the
// engine is gone, so that the first request after its return is served.
func TestEngineGoneAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, engine := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("x"), inferencetest.WithTemplate())
		if a := inferencetest.Collect(t.Context(), s, inferencetest.ChatRequest(1)); a.Err != nil {
			t.Fatal(a.Err)
		}
		gone := &inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonEngineGone, Message: "gone"}
		engine.SetDown(gone)
		time.Sleep(time.Minute) //nolint:forbidigo // synctest's clock
		if a := inferencetest.Collect(t.Context(), s, inferencetest.ChatRequest(1)); a.Err != gone {
			t.Errorf("while down: %v", a.Err)
		}
		if err := s.Ready(t.Context()); !errors.Is(err, gone) {
			t.Errorf("ready while down: %v", err)
		}
		if a := inferencetest.Collect(t.Context(), s, &inference.Request{Model: "other", Task: inference.TaskGenerate}); a.Err != gone {
			t.Errorf("an unknown model while down: %v", a.Err)
		}
		engine.SetDown(nil)
		if a := inferencetest.Collect(t.Context(), s, inferencetest.ChatRequest(1)); a.Err != nil || a.Texts[0] != "x" {
			t.Errorf("after its return: %+v", a)
		}
	})
}

// listing is an engine that lists its models only when the test permits it.
type listing struct {
	*inferencetest.Engine

	proceed  chan struct{}
	readyErr error // returned by Ready
}

func (l listing) Models(ctx context.Context) ([]inference.Model, error) {
	select {
	case <-l.proceed:
		return l.Engine.Models(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l listing) Ready(ctx context.Context) error {
	if l.readyErr != nil {
		return l.readyErr
	}
	return l.Engine.Ready(ctx)
}

func TestReadyWhenTheModelsAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := listing{Engine: inferencetest.New(), proceed: make(chan struct{})}
		engine.AddModel("m", inferencetest.StreamText("x"), nil)
		s := inferencetest.Service(t, serving.Config{}, engine)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Ready(ctx); inference.AsError(err).Code != inference.CodeUnavailable {
			t.Errorf("before: %v", err)
		}
		close(engine.proceed)
		synctest.Wait()
		if err := s.Ready(t.Context()); err != nil || len(s.Catalog().Models(t.Context())) != 1 {
			t.Errorf("after: %v, %d models", err, len(s.Catalog().Models(t.Context())))
		}
	})
}

// TestReadyAfterALoad checks that clients find the models that the server was loading as soon as the
// server is ready.
func TestReadyAfterALoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := inferencetest.New()
		s := inferencetest.Service(t, serving.Config{}, engine)
		synctest.Wait()
		for _, name := range []string{"one", "two"} {
			engine.SetDown(&inference.Error{Code: inference.CodeUnavailable, Message: "loading"})
			if err := s.Ready(t.Context()); err == nil {
				t.Error("ready while loading")
			}
			engine.AddModel(name, inferencetest.StreamText("x"), nil)
			engine.SetDown(nil)
			if err := s.Ready(t.Context()); err != nil {
				t.Error(err)
			}
			if models := s.Catalog().Models(t.Context()); models[len(models)-1].Name != name {
				t.Errorf("%s isn't listed", name)
			}
		}
	})
}

// TestUnknownModelBesideABrokenModel checks that a request for an unknown model gets the error about
// an unknown model while another model is broken. Triton isn't ready then, but it lists its models.
func TestUnknownModelBesideABrokenModel(t *testing.T) {
	engine := listing{Engine: inferencetest.New(), proceed: make(chan struct{}), readyErr: errors.New("one model is broken")}
	close(engine.proceed)
	engine.AddModel("m", inferencetest.StreamText("x"), nil)
	s := inferencetest.Service(t, serving.Config{}, engine)
	if _, err := s.Catalog().Model(t.Context(), "nope"); inference.AsError(err).Code != inference.CodeNotFound {
		t.Errorf("unknown: %v", err)
	}
	if _, err := s.Catalog().Model(t.Context(), "m"); err != nil {
		t.Errorf("known: %v", err)
	}
	if err := s.Ready(t.Context()); err == nil {
		t.Error("ready")
	}
}

// TestInvalidParameterAffectsOneProperty checks that an invalid trident.* parameter in a model's
// configuration leaves the other properties of the model's Card unchanged.
func TestInvalidParameterAffectsOneProperty(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("m", inferencetest.StreamText("x"), map[string]string{
		"trident.task": "poem", "trident.context_length": "2k", "trident.max_logprobs": "0", "trident.hidden": "maybe", "trident.chat_template": inferencetest.ChatTemplate,
	})
	s := inferencetest.Service(t, serving.Config{}, engine)
	named, err := s.Catalog().Model(t.Context(), "m")
	if err != nil {
		t.Fatal(err)
	}
	card := named.Card
	if card.Template == nil || card.Tasks != inference.TaskGenerate|inference.TaskEmbed || card.ContextLength != 0 || card.MaxLogprobs != inference.DefaultMaxLogprobs || card.Hidden {
		t.Errorf("got %+v", card)
	}
}

func TestModelLoadedLaterIsFoundAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, engine := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("x"), inferencetest.WithTemplate())
		synctest.Wait()
		time.Sleep(2 * time.Second) //nolint:forbidigo // synctest's clock: past the lookup interval, before the next refresh
		engine.AddModel("new", inferencetest.StreamText("y"), inferencetest.WithTemplate())
		req := inferencetest.ChatRequest(1)
		req.Model = "new"
		if a := inferencetest.Collect(t.Context(), s, req); a.Err != nil || a.Texts[0] != "y" {
			t.Errorf("got %+v", a)
		}
	})
}

// TestTwoEngines checks that a model that both engines have is served by the first engine while the
// model is ready there.
func TestTwoEngines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engines := map[string]*inferencetest.Engine{"first": inferencetest.New(), "second": inferencetest.New()}
		for name, engine := range engines {
			engine.AddModel("m", inferencetest.StreamText(name), nil)
		}
		first := engines["first"]
		s := inferencetest.Service(t, serving.Config{}, first, engines["second"])
		steps := []struct {
			name   string
			change func()
			want   string
		}{
			{"both ready", func() {}, "first"},
			{"never loaded in the first", func() { first.SetState("m", inference.ModelNeverLoaded, "") }, "second"},
			{"loaded", func() { first.SetState("m", inference.ModelReady, "") }, "first"},
			{"unloaded", func() { first.SetState("m", inference.ModelUnavailable, "unloaded") }, "second"},
			{"loaded again", func() { first.SetState("m", inference.ModelReady, "") }, "first"},
			{"the first is away", func() { first.SetDown(errors.New("gone")) }, "second"},
			{"and back", func() { first.SetDown(nil) }, "first"},
		}
		for _, step := range steps {
			step.change()
			<-time.After(time.Minute)
			a := inferencetest.Collect(t.Context(), s, &inference.Request{Model: "m", Task: inference.TaskGenerate, Prompts: []inference.Input{{Text: "x"}}})
			if a.Err != nil || a.Texts[0] != step.want {
				t.Errorf("%s: %v, %v", step.name, a.Texts, a.Err)
			}
		}
	})
}
