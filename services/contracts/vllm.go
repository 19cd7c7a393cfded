// Package contracts translates between Trident's requests for text and the tensors of each kind of
// model. It is pure: no network, clock or logger. Sending the tensors belongs to the engines, and
// parsing the text of an answer to package serving.
package contracts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/structured"
)

// VLLM is the tensor contract of Triton's vLLM backend. The inputs are text_input and the sampling
// parameters as JSON. The outputs are text_output and those that the return_* inputs request. Any
// model that declares this contract is supported, with any name of its backend.
//
// Source: the inputs and outputs that vllm_backend's model.py declares, and vLLM's SamplingParams.
type VLLM struct {
	// Names has the operators' names of the fields. If it is nil, the fields have their own names.
	Names *configfield.Names
}

// Names of the tensors of the vLLM backend.
const (
	vllmText           = "text_input"
	vllmStream         = "stream"
	vllmSampling       = "sampling_parameters"
	vllmExcludeInput   = "exclude_input_in_output"
	vllmEmbedding      = "embedding_request"
	vllmReturnFinish   = "return_finish_reason"
	vllmReturnLogprobs = "return_logprobs"
	vllmReturnInput    = "return_num_input_tokens"
	vllmReturnOutput   = "return_num_output_tokens"
	vllmOutput         = "text_output"
	vllmFinish         = "finish_reason"
	vllmLogprobs       = "logprobs"
	vllmInputTokens    = "num_input_tokens"
	vllmOutputTokens   = "num_output_tokens"
)

// Name returns "vllm".
func (VLLM) Name() string { return "vllm" }

// Tasks returns the tasks that the declared inputs allow.
func (VLLM) Tasks(config *kserve.ModelConfig) inference.Task {
	var tasks inference.Task
	in := declared(config)
	if in[vllmText] == nil || !declares(config, vllmOutput) {
		return 0
	}
	if in[vllmSampling] != nil {
		tasks |= inference.TaskGenerate
	}
	if in[vllmEmbedding] != nil {
		tasks |= inference.TaskEmbed
	}
	return tasks
}

// Extras returns images by the input image, which all models of the backend declare, and adapters
// by name in the sampling parameters. Text-only models fail on images, and their chat templates
// print none. The defaults are those of vLLM's SamplingParams. Models of other backends may have
// other defaults.
func (VLLM) Extras(config *kserve.ModelConfig) inference.Extras {
	gives := declared(config)[vllmReturnLogprobs] != nil
	e := inference.Extras{Images: imagesOf(config), LoRA: inference.LoRAByName, Logprobs: gives, TopLogprobs: gives, Structured: true, StructuredOutputs: structured.SettingAuto}
	if gives {
		e.Scoring = inference.ScoringIDs
	}
	if config.GetBackend() == "vllm" {
		e.Defaults = inference.Sampling{
			Temperature: new(1.0), TopP: new(1.0), TopK: new(0), MinP: new(0.0),
			PresencePenalty: new(0.0), FrequencyPenalty: new(0.0), RepetitionPenalty: new(1.0),
		}
	}
	return e
}

// Encode returns the request of one job.
func (v VLLM) Encode(target *inference.Target, req *inference.Request, job *inference.Job) (*kserve.ModelInferRequest, error) {
	t := newTensors(target)
	sampling, err := vllmSamplingJSON(req, job, vllmGuides(target.Config))
	if err != nil {
		return nil, err
	}
	if err := t.require(req.Sampling.Logprobs != nil, vllmReturnLogprobs, "logprobs"); err != nil {
		return nil, err
	}
	t.text(vllmText, job.Prompt)
	t.images(job.Images)
	t.text(vllmSampling, sampling)
	// The answer must be streamed so that it can end after one call. A model that isn't decoupled
	// sends one response for any value of this input.
	pieces := req.Stream || req.SingleCall && len(req.Tools) > 0
	t.bool(vllmStream, pieces && target.Config.GetModelTransactionPolicy().GetDecoupled())
	t.bool(vllmExcludeInput, true)
	t.bool(vllmReturnFinish, true)
	t.bool(vllmReturnInput, job.PromptTokens == 0)
	t.bool(vllmReturnOutput, true)
	if req.Sampling.Logprobs != nil {
		t.bool(vllmReturnLogprobs, true)
	}
	return t.req, t.priority(target, req.Priority)
}

// vllmSamplingParams has the names of vllm.SamplingParams. vLLM's defaults apply to nil fields.
type vllmSamplingParams struct {
	Temperature       *float64 `json:"temperature,omitempty"`
	TopP              *float64 `json:"top_p,omitempty"`
	TopK              *int     `json:"top_k,omitempty"`
	MinP              *float64 `json:"min_p,omitempty"`
	Seed              *int64   `json:"seed,omitempty"`
	FrequencyPenalty  *float64 `json:"frequency_penalty,omitempty"`
	PresencePenalty   *float64 `json:"presence_penalty,omitempty"`
	RepetitionPenalty *float64 `json:"repetition_penalty,omitempty"`
	MaxTokens         int      `json:"max_tokens"`
	MinTokens         *int     `json:"min_tokens,omitempty"`
	Stop              []string `json:"stop,omitempty"`
	StopTokenIDs      []int    `json:"stop_token_ids,omitempty"`
	IgnoreEOS         *bool    `json:"ignore_eos,omitempty"`
	BadWords          []string `json:"bad_words,omitempty"`
	AllowedTokenIDs   []int    `json:"allowed_token_ids,omitempty"`
	IncludeStop       *bool    `json:"include_stop_str_in_output,omitempty"`
	SkipSpecial       *bool    `json:"skip_special_tokens,omitempty"`
	SpaceSpecial      *bool    `json:"spaces_between_special_tokens,omitempty"`
	TruncatePrompt    *int     `json:"truncate_prompt_tokens,omitempty"`
	Logprobs          *int     `json:"logprobs,omitempty"`
	LogprobTokenIDs   []int    `json:"logprob_token_ids,omitempty"` // vLLM 0.13 refuses it
	StructuredOutputs string   `json:"structured_outputs,omitempty"`
	GuidedDecoding    string   `json:"guided_decoding,omitempty"` // the older name of structured_outputs
	LoRA              string   `json:"lora_name,omitempty"`       // a parameter of the Triton backend, not of vLLM
}

// vllmGuides reports whether the backend takes constraints under their older name, as Triton 25.01
// to 25.10 does. The next release renamed them, and was the first to support embeddings.
func vllmGuides(config *kserve.ModelConfig) bool {
	return config.GetBackend() == "vllm" && declared(config)[vllmEmbedding] == nil
}

func vllmSamplingJSON(req *inference.Request, job *inference.Job, guides bool) (string, error) {
	s := &req.Sampling
	if len(s.LogitBias) > 0 {
		// The backend passes the JSON object's keys on as strings, on which vLLM fails.
		return "", inference.Unsupported("logit_bias", "logit_bias is not supported by vLLM models")
	}
	keepStop := s.IncludeStop
	if s.KeepsStop() {
		keepStop = new(true)
	}
	params := vllmSamplingParams{
		Temperature: s.Temperature, TopP: s.TopP, TopK: s.TopK, MinP: s.MinP, Seed: job.Seed,
		FrequencyPenalty: s.FrequencyPenalty, PresencePenalty: s.PresencePenalty, RepetitionPenalty: s.RepetitionPenalty,
		MaxTokens: job.MaxTokens, MinTokens: s.MinTokens, Stop: s.Stop, StopTokenIDs: s.StopTokenIDs,
		IgnoreEOS: s.IgnoreEOS, BadWords: s.BadWords, AllowedTokenIDs: s.AllowedTokenIDs, IncludeStop: keepStop,
		SkipSpecial: s.SkipSpecialTokens, SpaceSpecial: s.SpacesBetweenSpecialTokens, TruncatePrompt: s.TruncatePromptTokens,
		Logprobs: s.Logprobs,
	}
	if job.Candidates != nil {
		params.score(job.Candidates)
	}
	if job.LoRA != nil {
		params.LoRA = job.LoRA.Name
	}
	if s.KeepSpecialTokens != "" {
		params.SkipSpecial = new(false)
	}
	if s.TopP != nil && *s.TopP == 0 {
		// vLLM refuses a top_p of 0, which means only the likeliest token.
		params.TopP, params.TopK = nil, new(1)
	}
	if c := s.Structured; c != nil {
		// The value is JSON inside a JSON string.
		constraint, err := marshal(map[string]json.RawMessage{c.Kind: c.Value})
		if err != nil {
			return "", inference.Invalid(c.Param, "%s is not valid JSON", c.Param)
		}
		if guides {
			params.GuidedDecoding = constraint
		} else {
			params.StructuredOutputs = constraint
		}
	}
	text, err := marshal(params)
	if err != nil {
		return "", fmt.Errorf("sampling parameters: %w", err)
	}
	return text, nil
}

// score asks for the log probabilities of given tokens. With logprob_token_ids vLLM takes no other
// number of logprobs than theirs.
func (p *vllmSamplingParams) score(c *inference.Candidates) {
	if c.Scoring >= inference.ScoringAllowed {
		p.AllowedTokenIDs = c.IDs
	}
	if c.Scoring >= inference.ScoringIDs {
		p.LogprobTokenIDs, p.Logprobs = c.IDs, nil
		return
	}
	p.Logprobs = &c.Most
}

// marshal is json.Marshal without HTML escaping, which would lengthen prompts.
func marshal(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// Decoder returns a decoder of this contract's responses.
func (VLLM) Decoder(target *inference.Target, req *inference.Request) inference.Decoder {
	return &vllmDecoder{model: target.Name, logprobs: req.Sampling.Logprobs}
}

type vllmDecoder struct {
	model    string
	logprobs *int
}

// Decode reads one response. Text and output token counts are deltas. The prompt's token count is
// repeated in each response.
func (d *vllmDecoder) Decode(resp *inference.Response, step *inference.Step) error {
	for i := range resp.Outputs {
		if err := d.output(&resp.Outputs[i], step); err != nil {
			return fmt.Errorf("model %s: output %s: %w", d.model, resp.Outputs[i].Name, err)
		}
	}
	return nil
}

func (d *vllmDecoder) output(out *inference.Output, step *inference.Step) error {
	var err error
	switch out.Name {
	case vllmOutput:
		text, err := firstBytes(out)
		if err != nil {
			return err
		}
		step.Text = text
	case vllmFinish:
		reason, err := firstBytes(out)
		if err != nil {
			return err
		}
		step.Finish = vllmFinishReason(string(reason))
	case vllmInputTokens:
		step.PromptTokens, err = firstInt(out)
	case vllmOutputTokens:
		step.OutputTokens, err = firstInt(out)
	case vllmLogprobs:
		if d.logprobs == nil {
			return nil
		}
		text, err := firstBytes(out)
		if err != nil {
			return err
		}
		step.Logprobs, err = vllmTokenLogprobs(text, *d.logprobs)
		return err
	}
	return err
}

// vllmFinishReason maps vLLM's finish reasons, and content_filter, which models with a filter of their own
// send. The reason is "None" in every response except the last.
func vllmFinishReason(word string) inference.FinishReason {
	switch word {
	case "", "None":
		return inference.FinishNone
	case "length":
		return inference.FinishLength
	case string(inference.FinishContentFilter):
		return inference.FinishContentFilter
	}
	return inference.FinishStop
}

// vllmTokenLogprobs decodes the list of a response. It has one object for each position. The first
// key of an object is the sampled token's id, so the order of keys matters.
func vllmTokenLogprobs(text []byte, top int) ([]inference.TokenLogprob, error) {
	// Python writes the logarithm of the probability 0 as -Infinity, which isn't valid JSON. OpenAI
	// uses -9999 for it. Unescaped quotes as in this key can't occur inside a JSON string.
	text = bytes.ReplaceAll(text, []byte(`"logprob": -Infinity`), []byte(`"logprob": -9999.0`))
	var positions []orderedLogprobs
	if err := json.Unmarshal(text, &positions); err != nil {
		return nil, err
	}
	tokens := make([]inference.TokenLogprob, 0, len(positions))
	for _, p := range positions {
		if len(p) == 0 {
			continue
		}
		sampled := p[0]
		slices.SortStableFunc(p, func(a, b vllmLogprob) int { return cmp.Compare(a.rank(), b.rank()) })
		token := inference.TokenLogprob{Token: sampled.Token, ID: sampled.ID, Logprob: sampled.Logprob}
		for _, alt := range p[:min(top, len(p))] {
			token.Top = append(token.Top, inference.TopLogprob{Token: alt.Token, ID: alt.ID, Logprob: alt.Logprob})
		}
		tokens = append(tokens, token)
	}
	return tokens, nil
}

type vllmLogprob struct {
	ID      int     `json:"-"`
	Logprob float64 `json:"logprob"`
	Rank    *int    `json:"rank"` // the token's rank among all tokens, from 1; null if the model doesn't report it
	Token   string  `json:"decoded_token"`
}

// rank returns the rank of a token. A token of unknown rank isn't among the likeliest and comes
// last.
func (l *vllmLogprob) rank() int {
	if l.Rank == nil {
		return math.MaxInt
	}
	return *l.Rank
}

// orderedLogprobs keeps the order of a JSON object's keys.
type orderedLogprobs []vllmLogprob

func (o *orderedLogprobs) UnmarshalJSON(data []byte) error {
	entries, err := orderedObject(data)
	if err != nil {
		return err
	}
	for _, e := range entries {
		var l vllmLogprob
		if err := json.Unmarshal(e.value, &l); err != nil {
			return err
		}
		if _, err := fmt.Sscanf(e.key, "%d", &l.ID); err != nil {
			return fmt.Errorf("token id %q: %w", e.key, err)
		}
		*o = append(*o, l)
	}
	return nil
}

// Error messages of vLLM, and of models that refuse the same requests as vLLM.
var (
	vllmTooLong      = regexp.MustCompile(`(?i)(prompt|input).*longer than the (maximum model length|model's context length|maximum length) of (\d+)`)
	vllmLength       = regexp.MustCompile(`length (\d+)`)
	vllmBadParameter = regexp.MustCompile(`^sampling parameter '(\w+)[^']*' (is not supported)?`)
	vllmBadLoRA      = regexp.MustCompile(`^(LoRA .* is not supported|LoRA feature is not enabled|sampling parameter 'lora_name')`)
	vllmEmpty        = regexp.MustCompile(`(?i)\b(prompt can ?not be empty|text_input must not be empty)`)
	vllmBadAllowed   = regexp.MustCompile(`\ballowed_token_ids (contains out-of-vocab|is not None and empty)`)
	vllmBadToken     = regexp.MustCompile(`(?i)token id.* (out of vocabulary|is not in \[)`)
	vllmTruncate     = regexp.MustCompile(`truncate_prompt_tokens value \(\d+\) is greater than max_model_len \((\d+)\)`)
	vllmManyLogprobs = regexp.MustCompile(`Requested sample logprobs of \d+, which is greater than max allowed: (\d+)`)
	vllmOtherTask    = regexp.MustCompile(`does not support '(embed|generate)' request`)
	vllmEnded        = regexp.MustCompile(`EngineCore encountered an issue`)
)

// vllmRefused is the end of the backend's message if it can't build vLLM's SamplingParams from its
// input. The message comes from a later failure.
const vllmRefused = "'NoneType' object has no attribute 'lora_name'"

// Explain recognizes errors caused by the request. vLLM raises them as plain exceptions, which
// Triton reports as internal errors.
func (v VLLM) Explain(req *inference.Request, err *inference.Error) *inference.Error {
	if err.Code != inference.CodeInternal && err.Code != inference.CodeInvalid {
		return err
	}
	if about := explainImages(req, err); about != nil {
		return about
	}
	for _, explain := range []func(*inference.Request, string) *inference.Error{vllmExplainConstraint, vllmExplainEngine} {
		if about := explain(req, err.Message); about != nil {
			return because(err, about)
		}
	}
	explained := *err
	explained.Code, explained.RetryAfter = inference.CodeInvalid, 0
	switch {
	case vllmBadLoRA.MatchString(err.Message):
		explained.Code, explained.Reason, explained.Param = inference.CodeNotFound, inference.ReasonModelNotFound, "model"
		explained.Message = fmt.Sprintf("the model `%s` does not exist: there is no such LoRA adapter", req.Model)
	case vllmEmpty.MatchString(err.Message):
		explained.Reason, explained.Param = inference.ReasonInvalidValue, req.TextParam()
		explained.Message = req.TextParam() + " must not be empty: this model's tokenizer adds no start token"
	case vllmBadAllowed.MatchString(err.Message):
		explained.Reason, explained.Param = inference.ReasonInvalidValue, "allowed_token_ids"
		explained.Message = "allowed_token_ids is empty or has token ids that this model doesn't have"
	case strings.HasSuffix(err.Message, vllmRefused):
		explained.Reason = inference.ReasonUnsupported
		explained.Message = "this model's version of vLLM refuses one of the request's sampling parameters; the log of the model's server names the parameter"
	case vllmTooLong.MatchString(err.Message):
		return because(err, vllmLong(req.TextParam(), err.Message))
	case vllmBadParameter.MatchString(err.Message):
		m := vllmBadParameter.FindStringSubmatch(err.Message)
		if added := v.explainAdded(req, m[1], err.Message[len(m[0]):], m[2] != ""); added != nil {
			return because(err, added)
		}
		explained.Reason, explained.Param = inference.ReasonInvalidValue, m[1]
		if m[2] != "" {
			explained.Reason = inference.ReasonUnsupported
		}
	default:
		return err
	}
	return &explained
}

// vllmLong returns the error of a text that exceeds the context length.
func vllmLong(param, message string) *inference.Error {
	limit := vllmTooLong.FindStringSubmatch(message)[3]
	return longerThan(limit, param, lengthIn(message, limit))
}

// vllmConstraints matches the messages of vLLM, and of its structured outputs libraries, about
// constraints that they can't parse or enforce. The last alternatives are Python's own messages
// about an invalid structural tag, some of which are empty.
var vllmConstraints = regexp.MustCompile(`^Error generating stream: ?(Grammar error: |Failed to (?:transform|convert) |EOF while parsing |Choice '\[\]' |structured_outputs\.|` +
	`Invalid (?:JSON )?(?:grammar|structural tag) |Error parsing regex: |Regex (?:uses|does not have) |The provided JSON schema contains |No structural tags found |Trigger |Expecting |'\w+'$|$)`)

// vllmExplainConstraint explains an error about a constraint. It returns nil for other messages.
func vllmExplainConstraint(req *inference.Request, message string) *inference.Error {
	c := req.Sampling.Structured
	if c == nil {
		return nil
	}
	m := vllmConstraints.FindStringSubmatchIndex(message)
	if m == nil {
		return nil
	}
	if why := message[m[2]:]; why != "" {
		return inference.Invalid(c.Param, "%s can't be enforced by this model's engine: %s", c.Param, why)
	}
	return inference.Invalid(c.Param, "%s can't be enforced by this model's engine", c.Param)
}

// vllmExplainEngine explains errors about the limits of an engine's configuration, and about an
// engine that has terminated. It returns nil for other messages.
func vllmExplainEngine(req *inference.Request, message string) *inference.Error {
	if m := vllmTruncate.FindStringSubmatch(message); m != nil {
		const param = "truncate_prompt_tokens"
		return inference.Invalid(param, "%s must be at most %s, which is this model's context length in tokens", param, m[1])
	}
	if m := vllmManyLogprobs.FindStringSubmatch(message); m != nil {
		return inference.Invalid("top_logprobs", "top_logprobs must be at most %s for this model", m[1])
	}
	if vllmOtherTask.MatchString(message) {
		return inference.NoTask(req.Model, req.Task)
	}
	if vllmEnded.MatchString(message) {
		return &inference.Error{
			Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady, Param: "model",
			Message: fmt.Sprintf("the engine of the model `%s` has stopped: the server must load the model again", req.Model),
		}
	}
	return nil
}

// lengthIn returns the number of tokens that exceeded the limit, or "more": not every version of
// vLLM reports it.
func lengthIn(message, limit string) string {
	for _, m := range vllmLength.FindAllStringSubmatch(message, -1) {
		if m[1] != limit {
			return m[1]
		}
	}
	return "more"
}
