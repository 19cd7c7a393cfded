package inferencetest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Scorer is a model whose next token after a question is the label of an option. The logit of a label
// depends on its option alone. The log probabilities and the refusals are those of vLLM.
type Scorer struct {
	// Vocabulary is the number of tokens. ID returns the id of a label.
	Vocabulary int
	ID         func(label string) int
	// Others is the number of tokens that are likelier than all labels.
	Others int
	// Processed makes the model return log probabilities of the allowed tokens alone (logprobs_mode
	// processed_logprobs). Otherwise they are those of the whole vocabulary, as by default.
	Processed bool
	// TokenIDs makes the model take logprob_token_ids, as new versions do.
	TokenIDs bool
	// Most is the maximum of logprobs; 0 means 20.
	Most int
}

// Logit returns the logit of an option's label, from 0 to 4.
func Logit(option string) float64 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(option)) // writes to a hash can't fail
	return float64(hash.Sum32()%1000) / 250
}

// Options returns the options of the last question in a prompt by their labels.
func Options(prompt string) map[string]string {
	head, _, _ := strings.Cut(prompt[max(strings.LastIndex(prompt, "Question about the input above:"), 0):], "\n\nAnswer with the label")
	options := map[string]string{}
	for line := range strings.SplitSeq(head[strings.LastIndex(head, "\n\n")+1:], "\n") {
		if label, option, found := strings.Cut(line, ": "); found {
			options[label] = option
		}
	}
	return options
}

// Script returns the model's inference.
func (s Scorer) Script() Script {
	return func(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		var asked struct {
			Logprobs *int  `json:"logprobs"`
			Allowed  []int `json:"allowed_token_ids"`
			IDs      []int `json:"logprob_token_ids"`
		}
		if err := json.Unmarshal([]byte(Input(req, "sampling_parameters")), &asked); err != nil {
			return err
		}
		most := cmp.Or(s.Most, inference.DefaultMaxLogprobs)
		switch {
		case slices.ContainsFunc(asked.Allowed, func(id int) bool { return id >= s.Vocabulary }):
			return refusal("Error generating stream: allowed_token_ids contains out-of-vocab token id!")
		case asked.IDs != nil && !s.TokenIDs:
			return refusal("'NoneType' object has no attribute 'lora_name'")
		case len(asked.IDs) > inference.MaxScoredIDs:
			return refusal("Error generating stream: Requested logprob_token_ids of length %d, which is greater than max allowed: %d", len(asked.IDs), inference.MaxScoredIDs)
		case asked.IDs != nil && asked.Logprobs != nil && *asked.Logprobs != len(asked.IDs):
			return refusal("Error generating stream: When both logprobs and logprob_token_ids are set, logprobs must equal len(logprob_token_ids).")
		case asked.Logprobs != nil && *asked.Logprobs > most:
			return refusal("Error generating stream: Requested sample logprobs of %d, which is greater than max allowed: %d", *asked.Logprobs, most)
		}
		logits := s.logits(Input(req, "text_input"))
		masked := mask(logits, asked.Allowed)
		sampled := slices.Index(masked, slices.Max(masked))
		if s.Processed {
			logits = masked
		}
		logprobs, ids := logSoftmax(logits), asked.IDs
		if ids == nil && asked.Logprobs != nil {
			ids = ranked(logits)[:*asked.Logprobs]
		}
		send(s.response(sampled, ids, logprobs))
		return nil
	}
}

func refusal(format string, args ...any) error {
	return &inference.Error{Code: inference.CodeInternal, Message: fmt.Sprintf(format, args...)}
}

// logits returns the logits of all tokens.
func (s Scorer) logits(prompt string) []float64 {
	logits := make([]float64, s.Vocabulary)
	for id := range logits {
		logits[id] = -10
	}
	for label, option := range Options(prompt) {
		logits[s.ID(label)] = Logit(option)
	}
	for i := range s.Others {
		logits[s.Vocabulary-1-i] = 5
	}
	return logits
}

// mask returns the logits of the allowed tokens. Those of the others are negative infinity, unless allowed is nil.
func mask(logits []float64, allowed []int) []float64 {
	if allowed == nil {
		return logits
	}
	masked := slices.Repeat([]float64{math.Inf(-1)}, len(logits))
	for _, id := range allowed {
		masked[id] = logits[id]
	}
	return masked
}

// ranked returns the ids of the tokens, the likeliest first.
func ranked(logits []float64) []int {
	ids := make([]int, len(logits))
	for id := range ids {
		ids[id] = id
	}
	slices.SortStableFunc(ids, func(a, b int) int { return cmp.Compare(logits[b], logits[a]) })
	return ids
}

func logSoftmax(logits []float64) []float64 {
	sum := 0.0
	for _, logit := range logits {
		sum += math.Exp(logit)
	}
	total := math.Log(sum)
	result := make([]float64, len(logits))
	for id, logit := range logits {
		result[id] = logit - total
	}
	return result
}

// response returns a token with the log probabilities of the sampled token and of ids.
func (s Scorer) response(sampled int, ids []int, logprobs []float64) *inference.Response {
	ranks := make([]int, len(logprobs))
	for i, id := range ranked(logprobs) {
		ranks[id] = i + 1
	}
	var entries bytes.Buffer
	for i, id := range append([]int{sampled}, slices.DeleteFunc(slices.Clone(ids), func(id int) bool { return id == sampled })...) {
		if i > 0 {
			entries.WriteString(", ")
		}
		value := fmt.Sprint(logprobs[id])
		if math.IsInf(logprobs[id], -1) {
			value = "-Infinity" // as Python writes it
		}
		fmt.Fprintf(&entries, `"%d": {"logprob": %s, "rank": %d, "decoded_token": "t%d"}`, id, value, ranks[id], id)
	}
	response := Token("x", "length")
	if ids != nil {
		response.Outputs = append(response.Outputs, Bytes("logprobs", "[{"+entries.String()+"}]"))
	}
	return response
}
