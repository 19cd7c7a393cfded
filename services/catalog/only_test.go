package catalog_test

import (
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// TestOnly checks which model gets the requests without a model.
func TestOnly(t *testing.T) {
	say := inferencetest.StreamText("x")
	adapted := map[string]string{"trident.aliases": "gpt-4o,small", "trident.loras": "doll,sheep"}
	tests := []struct {
		name    string
		models  map[string]map[string]string
		allowed []string // names that the client's key allows; nil for all
		change  func(*inferencetest.Engine)
		want    string
		failure string
	}{
		{"one model", map[string]map[string]string{"m": nil}, nil, nil, "m", ""},
		{"with aliases and adapters", map[string]map[string]string{"m": adapted}, nil, nil, "m", ""},
		{"beside a hidden model", map[string]map[string]string{"m": nil, "h": {"trident.hidden": "true"}}, nil, nil, "m", ""},
		{"two models", map[string]map[string]string{"m": nil, "n": nil}, nil, nil, "", "model is required, because this server has several models: GET /v1/models lists their names"},
		{"a chat and an embedding model", map[string]map[string]string{"m": nil, "n": {"trident.task": "embed"}}, nil, nil, "", "several models"},
		{"two models, one for the key", map[string]map[string]string{"m": nil, "n": nil}, []string{"n"}, nil, "n", ""},
		{"the key's only alias", map[string]map[string]string{"m": adapted}, []string{"small"}, nil, "small", ""},
		{"the key's only adapter", map[string]map[string]string{"m": adapted, "n": nil}, []string{"m_lora_doll"}, nil, "m_lora_doll", ""},
		{"two adapters for the key", map[string]map[string]string{"m": adapted}, []string{"m_lora_doll", "m_lora_sheep"}, nil, "", "the model has several names"},
		{"none for the key", map[string]map[string]string{"m": nil}, []string{"other"}, nil, "", "no model is ready"},
		{"no model", nil, nil, nil, "", "no model is ready"},
		{"the other model is loading", map[string]map[string]string{"m": nil, "n": nil}, nil, func(e *inferencetest.Engine) { e.SetState("n", inference.ModelLoading, "") }, "", "further models are loading"},
		{"the other model is restored", map[string]map[string]string{"m": nil, "n": nil}, nil, func(e *inferencetest.Engine) { e.Break("n", "its process ended") }, "", "further models are loading"},
		{"another key's model is loading", map[string]map[string]string{"m": nil, "n": nil}, []string{"m"}, func(e *inferencetest.Engine) { e.SetState("n", inference.ModelLoading, "") }, "m", ""},
		{"the other model is unloaded", map[string]map[string]string{"m": nil, "n": nil}, nil, func(e *inferencetest.Engine) { e.SetState("n", inference.ModelUnavailable, "unloaded") }, "m", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			engine := inferencetest.New()
			for name, parameters := range tt.models {
				engine.AddModel(name, say, parameters)
			}
			if tt.change != nil {
				tt.change(engine)
			}
			c := inferencetest.ServiceWithSeparator(t, "_lora_", serving.Config{}, engine).Catalog()
			if err := c.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			if tt.allowed != nil {
				ctx = inference.WithClient(ctx, &inference.Client{Name: "k", Models: tt.allowed})
			}
			got, err := c.Only(ctx)
			if got.Name != tt.want || (err == nil) != (tt.failure == "") || err != nil && !strings.Contains(err.Error(), tt.failure) {
				t.Errorf("got %q, %v", got.Name, err)
			}
			if e := inference.AsError(err); err != nil && (e.Param != "model" || (e.Code == inference.CodeUnavailable) != (tt.failure == "no model is ready")) {
				t.Errorf("got %+v", e)
			}
		})
	}
}
