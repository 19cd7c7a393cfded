package catalog_test

import (
	"context"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// strict is an engine that isn't ready while one of its models isn't ready, as tritonserver by
// default.
type strict struct{ *inferencetest.Engine }

func (e strict) Ready(ctx context.Context) error {
	if err := e.Engine.Ready(ctx); err != nil {
		return err
	}
	models, err := e.Models(ctx)
	for _, m := range models {
		if m.State != inference.ModelReady && m.Reason != "unloaded" {
			return &inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady, Message: "the inference server isn't ready yet"}
		}
	}
	return err
}

// TestReadyWithoutOtherModels checks that the server is ready when the configured models are, or
// else the models of the start. Other models aren't required.
func TestReadyWithoutOtherModels(t *testing.T) {
	type step struct {
		model string
		state inference.ModelState
		why   string
		ready string // part of the error; empty if the server is ready
	}
	for name, c := range map[string]struct {
		required []string
		steps    []step
	}{
		"those of the start": {nil, []step{
			{"late", inference.ModelLoading, "", ""},
			{"late", inference.ModelUnavailable, "it broke", ""},
			{"a", inference.ModelUnavailable, "it broke", "`a` isn't ready: it broke"},
			{"a", inference.ModelReady, "", ""},
			{"b", inference.ModelUnavailable, "unloaded", ""}, // unloaded on purpose
		}},
		"named": {[]string{"b"}, []step{
			{"late", inference.ModelLoading, "", ""},
			{"a", inference.ModelUnavailable, "it broke", ""},
			{"b", inference.ModelUnavailable, "unloaded", "`b` isn't ready: unloaded"},
			{"b", inference.ModelReady, "", ""},
		}},
		"named, and not there": {[]string{"c"}, []step{{"a", inference.ModelReady, "", "`c` isn't ready: it isn't loaded"}}},
	} {
		t.Run(name, func(t *testing.T) {
			engine := strict{inferencetest.New()}
			engine.AddModel("a", inferencetest.StreamText("x"), nil)
			engine.AddModel("b", inferencetest.StreamText("x"), nil)
			s := inferencetest.Service(t, serving.Config{RequiredModels: c.required}, engine)
			if err := s.Catalog().Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			first := s.Started(t.Context()) == nil
			engine.AddModel("late", inferencetest.StreamText("x"), nil)
			for _, step := range c.steps {
				engine.SetState(step.model, step.state, step.why)
				_ = s.Catalog().Refresh(t.Context())
				err := s.Ready(t.Context())
				if (err == nil) != (step.ready == "") || err != nil && !strings.Contains(err.Error(), step.ready) {
					t.Errorf("%s is %s: %v", step.model, step.state, err)
				}
				if started := s.Started(t.Context()) == nil; started != first {
					t.Errorf("started: %v, then %v", first, started)
				}
			}
			if err := s.Ready(t.Context()); first != (len(c.required) == 0 || c.required[0] == "b") {
				t.Errorf("started %v, %v", first, err)
			}
			engine.SetDown(&inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonEngineGone, Message: "gone"})
			if err := s.Ready(t.Context()); err == nil || (s.Started(t.Context()) == nil) != first {
				t.Errorf("an engine that is away: %v", err)
			}
		})
	}
}
