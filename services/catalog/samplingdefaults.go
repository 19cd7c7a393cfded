package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/trident-inference/trident/services/inference"
)

// samplingOptions are the options that [inference.SettingSamplingDefaults] may have, by the names of
// OpenAI's API and of vLLM.
type samplingOptions struct {
	Temperature       *float64 `json:"temperature"`
	TopP              *float64 `json:"top_p"`
	TopK              *int     `json:"top_k"`
	MinP              *float64 `json:"min_p"`
	PresencePenalty   *float64 `json:"presence_penalty"`
	FrequencyPenalty  *float64 `json:"frequency_penalty"`
	RepetitionPenalty *float64 `json:"repetition_penalty"`
}

// samplingDefaults reads the setting. It refuses options that the model can't honour: each request
// would otherwise fail for a field that its client hasn't sent.
func (d *description) samplingDefaults(s inference.Setting) error {
	if s.Value == "" {
		return nil
	}
	var o samplingOptions
	if err := decodeObject(s.Value, &o); err != nil {
		return fmt.Errorf("the value isn't a JSON object of sampling options: %w", err)
	}
	if o.TopK != nil {
		*o.TopK = max(*o.TopK, 0) // -1 and 0 both mean all tokens
	}
	given := inference.Sampling{
		Temperature: o.Temperature, TopP: o.TopP, TopK: o.TopK, MinP: o.MinP,
		PresencePenalty: o.PresencePenalty, FrequencyPenalty: o.FrequencyPenalty, RepetitionPenalty: o.RepetitionPenalty,
	}
	if err := d.checkSampling(given); err != nil {
		return errors.New(inference.AsError(err).Message)
	}
	d.card.SamplingDefaults = &given
	d.keepGiven(s)
	return nil
}

// checkSampling encodes a request with these options. The error is an [*inference.Error].
func (d *description) checkSampling(s inference.Sampling) error {
	if d.card.Tasks&inference.TaskGenerate == 0 {
		return inference.NoTask(d.card.Name, inference.TaskGenerate)
	}
	req := &inference.Request{Model: d.card.Name, Task: inference.TaskGenerate, Prompts: []inference.Input{{Text: "a"}}, Sampling: s}
	if err := req.Validate(); err != nil {
		return err
	}
	_, err := d.card.Backend.Encode(&d.card.Target, req, &inference.Job{Prompt: "a", MaxTokens: 1})
	return err
}

// decodeObject decodes one JSON object, and refuses unknown keys and further text.
func decodeObject(text string, to any) error {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return errors.New("it doesn't start with {")
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text follows the object")
	}
	return nil
}
