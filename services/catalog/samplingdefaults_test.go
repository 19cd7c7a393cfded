package catalog_test

import (
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
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
