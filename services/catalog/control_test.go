package catalog_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// controlled returns an engine with the models ready, off (unloaded) and new (never loaded).
func controlled() *inferencetest.Engine {
	engine := inferencetest.New()
	for name, state := range map[string]inference.ModelState{
		"ready": inference.ModelReady, "off": inference.ModelUnavailable, "new": inference.ModelNeverLoaded,
		"starting": inference.ModelLoading, "ending": inference.ModelUnloading,
	} {
		engine.AddModel(name, inferencetest.StreamText("x"), nil)
		engine.SetState(name, state, "")
	}
	return engine
}

const notExplicit = "explicit model load / unload is not allowed if polling is enabled"

func TestControl(t *testing.T) {
	broken := &inference.Error{Code: inference.CodeInternal, Message: "load failed for model 'off'"}
	tests := []struct {
		name, model string
		explicit    bool
		loading     error
		load        *inference.Error // the wanted error of a load
		unload      *inference.Error
	}{
		{
			name: "loaded", model: "ready", explicit: true,
			load: &inference.Error{Code: inference.CodeInvalid, Reason: inference.ReasonModelLoaded, Message: "the model `ready` is already loaded"},
		},
		{
			name: "unloaded", model: "off", explicit: true,
			unload: &inference.Error{Code: inference.CodeInvalid, Reason: inference.ReasonModelNotFound, Message: "unknown model `off`: it does not exist or is not loaded"},
		},
		{
			name: "never loaded", model: "new", explicit: true,
			unload: &inference.Error{Code: inference.CodeInvalid, Reason: inference.ReasonModelNotFound, Message: "unknown model `new`: it does not exist or is not loaded"},
		},
		{
			name: "unknown", model: "org/nobody", explicit: true,
			load:   &inference.Error{Code: inference.CodeInvalid, Reason: inference.ReasonModelNotFound, Message: "failed to load 'org/nobody', failed to poll from model repository"},
			unload: &inference.Error{Code: inference.CodeInvalid, Reason: inference.ReasonModelNotFound, Message: "unknown model `org/nobody`: it does not exist or is not loaded"},
		},
		{
			name: "loading", model: "starting", explicit: true,
			load:   &inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady, Message: "the model `starting` is loading"},
			unload: &inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady, Message: "the model `starting` is loading"},
		},
		{
			name: "unloading", model: "ending", explicit: true,
			load:   &inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady, Message: "the model `ending` is unloading"},
			unload: &inference.Error{Code: inference.CodeInvalid, Reason: inference.ReasonModelNotFound, Message: "unknown model `ending`: it does not exist or is not loaded"},
		},
		{name: "can't be loaded", model: "off", explicit: true, loading: broken, load: broken, unload: &inference.Error{
			Code: inference.CodeInvalid, Reason: inference.ReasonModelNotFound, Message: "unknown model `off`: it does not exist or is not loaded",
		}},
		{
			name: "loaded, control mode none", model: "ready",
			load:   &inference.Error{Code: inference.CodeUnsupported, Reason: inference.ReasonNotImplemented, Message: notExplicit},
			unload: &inference.Error{Code: inference.CodeUnsupported, Reason: inference.ReasonNotImplemented, Message: notExplicit},
		},
		{
			name: "unloaded, control mode none", model: "off",
			load:   &inference.Error{Code: inference.CodeUnsupported, Reason: inference.ReasonNotImplemented, Message: notExplicit},
			unload: &inference.Error{Code: inference.CodeUnsupported, Reason: inference.ReasonNotImplemented, Message: notExplicit},
		},
		{
			name: "unknown, control mode none", model: "nobody",
			load:   &inference.Error{Code: inference.CodeUnsupported, Reason: inference.ReasonNotImplemented, Message: notExplicit},
			unload: &inference.Error{Code: inference.CodeUnsupported, Reason: inference.ReasonNotImplemented, Message: notExplicit},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, action := range []string{"load", "unload"} {
				engine := controlled()
				if tt.explicit {
					engine.Control(func(string) error { return tt.loading })
				}
				s := inferencetest.Service(t, serving.Config{Bounds: admission.Bounds{Server: inference.Limits{InFlight: 1, Queued: inference.NoQueue}}}, engine)
				if action == "unload" {
					err := s.UnloadModel(t.Context(), tt.model)
					checkControl(t, action, err, tt.unload)
					checkServed(t, s, tt.model, false, err)
					continue
				}
				card, err := s.LoadModel(t.Context(), tt.model)
				checkControl(t, action, err, tt.load)
				checkServed(t, s, tt.model, true, err)
				if err == nil && (card.Name != tt.model || card.State != inference.ModelReady || card.Loaded.IsZero()) {
					t.Errorf("the card is %+v", card)
				}
			}
		})
	}
}

func checkControl(t *testing.T, action string, err error, want *inference.Error) {
	t.Helper()
	if want == nil {
		if err != nil {
			t.Errorf("%s: %v", action, err)
		}
		return
	}
	var got *inference.Error
	if !errors.As(err, &got) || got.Code != want.Code || got.Reason != want.Reason || got.Message != want.Message {
		t.Errorf("%s: got %+v, want %+v", action, got, want)
	}
}

// checkServed checks the result of the next request, without a wait, after a load or unload. If
// the load or unload failed, checkServed checks nothing.
func checkServed(t *testing.T, s *serving.Service, model string, want bool, failed error) {
	t.Helper()
	if failed != nil {
		return
	}
	a := inferencetest.Collect(t.Context(), s, &inference.Request{Model: model, Task: inference.TaskGenerate, Prompts: []inference.Input{{Text: "x"}}})
	switch {
	case want && a.Err != nil:
		t.Errorf("after the load: %v", a.Err)
	case !want && (a.Err == nil || a.Err.Code != inference.CodeNotFound):
		t.Errorf("after the unload: %v", a.Err)
	}
}

// TestLoadsTakeTurns checks that Triton receives one of several concurrent loads of one model.
// Loads of other models don't wait for it.
func TestLoadsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := controlled()
		loads, gate := make(chan string, 10), make(chan struct{})
		engine.Control(func(model string) error {
			loads <- model
			if model == "off" {
				<-gate
			}
			return nil
		})
		s := inferencetest.Service(t, serving.Config{}, engine)
		results := make(chan error, 3)
		for range 3 {
			go func() {
				_, err := s.LoadModel(t.Context(), "off")
				results <- err
			}()
		}
		synctest.Wait()
		if _, err := s.LoadModel(t.Context(), "new"); err != nil {
			t.Errorf("another model: %v", err)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.UnloadModel(cancelled, "off"); inference.AsError(err).Code != inference.CodeCanceled {
			t.Errorf("a client that disconnected: %v", err)
		}
		close(gate)
		served := 0
		for range 3 {
			if err := <-results; err == nil {
				served++
			} else if inference.AsError(err).Reason != inference.ReasonModelLoaded {
				t.Error(err)
			}
		}
		if len(loads) != 2 || served != 1 {
			t.Errorf("%d loads in the engine, %d of three succeeded", len(loads), served)
		}
	})
}

// TestUnloadWaitsForRequests checks that an unload waits for requests in flight and refuses new
// ones.
func TestUnloadWaitsForRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := controlled()
		engine.Control(nil)
		gate := make(chan struct{})
		engine.AddModel("busy", func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
			<-gate
			send(inferencetest.Token("x", "stop"))
			return nil
		}, nil)
		s := inferencetest.Service(t, serving.Config{}, engine)
		var all sync.WaitGroup
		all.Go(func() { checkServed(t, s, "busy", true, nil) })
		synctest.Wait()
		unloaded := make(chan error, 1)
		go func() { unloaded <- s.UnloadModel(t.Context(), "busy") }()
		synctest.Wait()
		a := inferencetest.Collect(t.Context(), s, &inference.Request{Model: "busy", Task: inference.TaskGenerate, Prompts: []inference.Input{{Text: "x"}}})
		if a.Err == nil || a.Err.Code != inference.CodeUnavailable || a.Err.Message != "the model `busy` is unloading" {
			t.Errorf("during the unload: %v", a.Err)
		}
		select {
		case err := <-unloaded:
			t.Errorf("unloaded with a request in flight: %v", err)
		default:
		}
		close(gate)
		all.Wait()
		if err := <-unloaded; err != nil {
			t.Error(err)
		}
		checkServed(t, s, "busy", false, nil)
	})
}

// TestControlEnds checks that a shutdown refuses loads, waits for running loads, and then abandons
// them.
func TestControlEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := controlled()
		gate := make(chan struct{})
		engine.Control(func(string) error { <-gate; return errors.New("gone") })
		s := inferencetest.Service(t, serving.Config{}, engine)
		go func() { _, _ = s.LoadModel(t.Context(), "off") }()
		synctest.Wait()
		drained := make(chan struct{})
		go func() { s.Admission().Drain(t.Context()); close(drained) }()
		synctest.Wait()
		select {
		case <-drained:
			t.Error("drained during a load")
		default:
		}
		if err := s.UnloadModel(t.Context(), "ready"); inference.AsError(err).Reason != inference.ReasonShuttingDown {
			t.Errorf("while stopping: %v", err)
		}
		close(gate)
		<-drained
	})
}

// TestControlWhileAway checks that a model isn't reported as unknown while an engine doesn't
// answer.
func TestControlWhileAway(t *testing.T) {
	engine := controlled()
	away := &inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonEngineGone, Message: "away"}
	engine.SetDown(away)
	s := inferencetest.Service(t, serving.Config{}, engine)
	_, err := s.LoadModel(t.Context(), "off")
	checkControl(t, "load", err, away)
	checkControl(t, "unload", s.UnloadModel(t.Context(), "ready"), away)
}
