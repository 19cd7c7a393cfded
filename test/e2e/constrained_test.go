package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/test/tier"
)

// TestConstrained checks that a real model's responses to many requests with a JSON schema all
// match the schema.
func TestConstrained(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"sea":{"enum":["calm","rough"]},"ships":{"type":"integer","minimum":0,"maximum":99}},"required":["sea","ships"],"additionalProperties":false}`
	s := serving(t)
	good, requests := 0, tier.Size(10, 25)
	for seed := range requests {
		a := s.post(t, "/v1/chat/completions", ask("Describe the harbour.", "n", slots, "seed", 1000*seed, "temperature", 1.2, "max_tokens", 60,
			"response_format", object{"type": "json_schema", "json_schema": object{"name": "harbour", "schema": json.RawMessage(schema)}})).want(t, http.StatusOK)
		for _, choice := range decode[completion](t, a).Choices {
			var got struct {
				Sea   string
				Ships *int
			}
			decoder := json.NewDecoder(strings.NewReader(choice.Message.Content))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&got); err != nil || decoder.More() || !slices.Contains([]string{"calm", "rough"}, got.Sea) || got.Ships == nil || *got.Ships < 0 || *got.Ships > 99 {
				t.Errorf("seed %d: %q, %v", seed, choice.Message.Content, err)
				continue
			}
			good++
		}
	}
	if good != requests*slots {
		t.Errorf("%d of %d", good, requests*slots)
	}
}
