package serving_test

import (
	"context"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// TestClientsModels checks that no operation of Service reveals models to a client that may not use
// them.
func TestClientsModels(t *testing.T) {
	engine := inferencetest.EngineWithManyNames()
	engine.Control(nil)
	s := inferencetest.ServiceWithSeparator(t, "_lora_", serving.Config{}, engine)
	ctx := inference.WithClient(t.Context(), &inference.Client{Name: "team", Models: []string{"plain", "gpt-4o_lora_doll", "org/small", "secret", "nobody's"}})
	if _, err := s.Catalog().Model(ctx, "plain"); err != nil { // waits for the first refresh
		t.Fatal(err)
	}
	// Unload is last, so that the others reach the model plain.
	operations := []struct {
		name string
		call func(model string) error
	}{
		{"find", func(model string) error { _, err := s.Catalog().Model(ctx, model); return err }},
		{"generate", func(model string) error {
			return inferencetest.Collect(ctx, s, inferencetest.PlainRequest(model)).Failure()
		}},
		{"count", func(model string) error {
			_, err := inferencetest.CountPrompt(ctx, s, inferencetest.PlainRequest(model))
			return err
		}},
		{"forward", func(model string) error {
			return inferencetest.Last(inferencetest.Forward(ctx, s, inference.InferRequestOf(&kserve.ModelInferRequest{ModelName: model})))
		}},
		{"infer", func(model string) error {
			return inferencetest.Infer(ctx, s, inference.InferRequestOf(&kserve.ModelInferRequest{ModelName: model}), func(*inference.Response) error { return nil })
		}},
		{"engine", func(model string) error { _, err := s.Catalog().EngineOf(ctx, model); return err }},
		{"config", func(model string) error {
			r := s.Catalog().ResolveOwn(model)
			_, err := r.Config(ctx)
			return err
		}},
		{"load", func(model string) error { _, err := s.LoadModel(ctx, model); return err }},
		{"control", func(model string) error {
			return s.Control(ctx, model, inference.ModelUnloading, func(context.Context, inference.Repository) error { return nil })
		}},
		{"unload", func(model string) error { return s.UnloadModel(ctx, model) }},
	}
	for _, operation := range operations {
		for _, model := range []string{"org/chat", "other", "gpt-4o", "vectors", "org/chat_lora_doll", "missing", ""} {
			e := inference.AsError(operation.call(model))
			if e.Code != inference.CodeNotFound || e.Reason != inference.ReasonModelNotFound || e.Message != "the model `"+model+"` does not exist or this API key may not use it" {
				t.Errorf("%s of %q: %v", operation.name, model, e)
			}
		}
		if err := operation.call("plain"); err != nil && strings.Contains(err.Error(), "this API key") {
			t.Errorf("%s: %v", operation.name, err)
		}
	}
	if requests := len(engine.Requests()); requests > 3 { // only requests to the model that the client may use reach the engine
		t.Errorf("%d requests reached the engine", requests)
	}
	var listed []string
	for _, n := range s.Catalog().Models(ctx) {
		listed = append(listed, n.Name)
	}
	if got := strings.Join(listed, " "); got != "gpt-4o_lora_doll org/small" { // plain has been unloaded
		t.Errorf("listed are %s", got)
	}
	known := s.Catalog().Known(ctx)
	var listing []string
	for _, card := range known.Cards {
		listing = append(listing, known.Name(card)+"="+strings.Join(known.Names(card), ","))
	}
	if got := strings.Join(listing, " "); !strings.Contains(got, "gpt-4o_lora_doll=gpt-4o_lora_doll,org/small") || strings.Contains(got, "other") || strings.Contains(got, "vectors") || !strings.Contains(got, "secret=") {
		t.Errorf("the client receives %s", got)
	}
}
