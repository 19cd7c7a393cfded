package catalog_test

import (
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

func TestListHasEveryName(t *testing.T) {
	for _, tt := range []struct{ name, separator, want string }{
		{"without adapters", "", "a_lora_b away ghost gpt-4o org/chat org/small other plain vectors"},
		{
			"with adapters", "_lora_", "a_lora_b a_lora_b_lora_c away ghost gpt-4o gpt-4o_lora_doll gpt-4o_lora_sheep " +
				"org/chat org/chat_lora_doll org/chat_lora_sheep org/small org/small_lora_doll org/small_lora_sheep other plain vectors",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := inferencetest.ServiceWithSeparator(t, tt.separator, serving.Config{}, inferencetest.EngineWithManyNames())
			if _, err := s.Catalog().Model(t.Context(), "plain"); err != nil { // waits for the first refresh
				t.Fatal(err)
			}
			var names []string
			for _, n := range s.Catalog().Models(t.Context()) {
				names = append(names, n.Name)
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestNamesResolveToModels(t *testing.T) {
	s := inferencetest.ServiceWithSeparator(t, "_lora_", serving.Config{}, inferencetest.EngineWithManyNames())
	tests := []struct {
		name, model string
		want, lora  string // if want is empty, the request must fail with message
		message     string
	}{
		{"its own", "org/chat", "org/chat", "", ""},
		{"an alias", "org/small", "org/chat", "", ""},
		{"an alias of two goes to the first", "gpt-4o", "org/chat", "", ""},
		{"its own before an alias", "plain", "plain", "", ""},
		{"an alias of a hidden one", "whisper", "secret", "", ""},
		{"an adapter", "org/chat_lora_sheep", "org/chat", "sheep", ""},
		{"an adapter by an alias", "gpt-4o_lora_doll", "org/chat", "doll", ""},
		{"an adapter where nobody knows", "away_lora_any", "away", "any", ""},
		{"a name with the separator", "a_lora_b", "a_lora_b", "", ""},
		{"an adapter of one with the separator", "a_lora_b_lora_c", "a_lora_b", "c", ""},
		{"an adapter with the separator", "away_lora_x_lora_y", "away", "x_lora_y", ""},
		{"an adapter that the model hasn't", "org/chat_lora_cow", "", "", "the model `org/chat` has no LoRA adapter `cow`"},
		{"an adapter where there are none", "plain_lora_wolf", "", "", "the model `plain` has no LoRA adapter `wolf`"},
		{"no adapter after the separator", "org/chat_lora_", "", "", "the model `org/chat_lora_` does not exist or is not loaded"},
		{"no model before the separator", "_lora_doll", "", "", "the model `_lora_doll` does not exist or is not loaded"},
		{"another case", "GPT-4o", "", "", "the model `GPT-4o` does not exist or is not loaded"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.Catalog().Model(t.Context(), tt.model)
			if tt.want == "" {
				if e := inference.AsError(err); err == nil || e.Code != inference.CodeNotFound || e.Reason != inference.ReasonModelNotFound || e.Message != tt.message {
					t.Fatalf("got %+v, %v", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Name != tt.model || got.Card.Name != tt.want || got.LoRA != tt.lora {
				t.Errorf("got %s, %s, LoRA %q", got.Name, got.Card.Name, got.LoRA)
			}
		})
	}
}

func TestAdapterReachesTheModel(t *testing.T) {
	engine := inferencetest.EngineWithManyNames()
	s := inferencetest.ServiceWithSeparator(t, ":", serving.Config{}, engine)
	prompt := []inference.Input{{Text: "hello"}}
	a := inferencetest.Collect(t.Context(), s, &inference.Request{Model: "gpt-4o:doll", Task: inference.TaskGenerate, Prompts: prompt})
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	sent := engine.Requests()[0]
	if sampling := inferencetest.Input(sent, "sampling_parameters"); sent.GetModelName() != "org/chat" || !strings.Contains(sampling, `"lora_name":"doll"`) {
		t.Errorf("%s got %s", sent.GetModelName(), sampling)
	}
	_, err := inferencetest.Encode(t.Context(), s, &inference.EncodeRequest{Model: "vectors:x", Task: inference.TaskEmbed, Inputs: inference.EncodeInputs(prompt)})
	if e := inference.AsError(err); err == nil || e.Param != "model" || e.Message != "the model `vectors:x` is a LoRA adapter, which doesn't support embeddings" {
		t.Errorf("embeddings by an adapter: %v", err)
	}
	if n := len(engine.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}
