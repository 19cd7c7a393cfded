package catalog_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/contracts"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/tokenizer"
)

// TestSamplingDefaults checks which sampling options a model's configuration may set. A value that can't
// be honoured is logged, and the engine's defaults apply.
func TestSamplingDefaults(t *testing.T) {
	for _, test := range []struct {
		name, value string
		log         string // part of the log, or empty if the value is valid
	}{
		{"all options", `{"temperature": 0, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "presence_penalty": -1, "frequency_penalty": 0.5, "repetition_penalty": 1.1}`, ""},
		{"one option", ` {"repetition_penalty": 1.1} `, ""},
		{"no option", `{}`, ""},
		{"an unknown option", `{"temprature": 1}`, "temprature"},
		{"an option that isn't sampled", `{"max_tokens": 5}`, "max_tokens"},
		{"a string", `{"temperature": "1"}`, "isn't a JSON object of sampling options"},
		{"a list", `[1]`, "it doesn't start with {"},
		{"null", `null`, "it doesn't start with {"},
		{"no JSON", `{"temperature"`, "unexpected EOF"},
		{"two objects", `{} {}`, "text follows the object"},
		{"out of range", `{"temperature": 3}`, "temperature must be from 0 to 2, got 3"},
		{"a penalty of 0", `{"repetition_penalty": 0}`, "repetition_penalty must be above 0, got 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			models, log := consult(inferencetest.New(), &fakeLibrary{}, nil, map[string]string{"trident.context_length": "100", "trident.sampling_defaults": test.value})
			card := lookUp(t, models, "m")
			if valid := test.log == ""; valid != (card.SamplingDefaults != nil) || valid != (log.String() == "") || !strings.Contains(log.String(), test.log) {
				t.Errorf("got %+v, logged %q", card.SamplingDefaults, log)
			}
			shown := strings.Contains(lines(card.Settings), "sampling_defaults="+test.value+" (config.pbtxt: trident.sampling_defaults)\n")
			if shown != (test.log == "") {
				t.Errorf("the settings are %q", lines(card.Settings))
			}
		})
	}
}

// TestSamplingDefaultsOfTensors checks that a model may set only options that its tensors have, unless their
// values have no effect, and that a model without generated text may set none.
func TestSamplingDefaultsOfTensors(t *testing.T) {
	config := func(value string) *kserve.ModelConfig {
		return &kserve.ModelConfig{
			Name: "m",
			Input: []*kserve.ModelInput{
				{Name: "text_input", DataType: kserve.DataType_TYPE_STRING, Dims: []int64{1}},
				{Name: "temperature", DataType: kserve.DataType_TYPE_FP32, Dims: []int64{1}, Optional: true},
			},
			Output:     []*kserve.ModelOutput{{Name: "text_output", DataType: kserve.DataType_TYPE_STRING, Dims: []int64{1}}},
			Parameters: map[string]*kserve.ModelParameter{"trident.sampling_defaults": {StringValue: value}},
		}
	}
	for _, test := range []struct{ name, value, log string }{
		{"an input", `{"temperature": 0.5}`, ""},
		{"no input", `{"repetition_penalty": 1.1}`, "repetition_penalty"},
		{"no input and no effect", `{"repetition_penalty": 1}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			engine, log := inferencetest.New(), &strings.Builder{}
			engine.AddOther("m", config(test.value), inferencetest.StreamText("x"))
			models := catalog.New(catalog.Config{}, []inference.Engine{engine}, []inference.Backend{contracts.Python{}},
				tokenizer.NewFolders(), slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})))
			models.Consult(&fakeLibrary{}, nil)
			card := lookUp(t, models, "m")
			logged := strings.Contains(log.String(), "sampling_defaults") && strings.Contains(log.String(), test.log)
			if valid := test.log == ""; valid != (card.SamplingDefaults != nil) || valid == logged {
				t.Errorf("got %+v, logged %q", card.SamplingDefaults, log)
			}
		})
	}
	models, log := consult(inferencetest.New(), &fakeLibrary{}, nil, map[string]string{"trident.task": "embed", "trident.sampling_defaults": `{"temperature": 0.5}`})
	if card := lookUp(t, models, "m"); card.SamplingDefaults != nil || !strings.Contains(log.String(), "sampling_defaults") {
		t.Errorf("an embedding model got %+v, logged %q", card.SamplingDefaults, log)
	}
}
