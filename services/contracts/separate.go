package contracts

import (
	"slices"
	"strings"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Inputs of the contracts whose parameters are tensors of their own. Constants
// name an input as TensorRT-LLM's ensemble does.
const (
	inText          = "text_input"
	inStream        = "stream"
	inMaxTokens     = "max_tokens"
	inMinTokens     = "min_tokens"
	inStop          = "stop_words"
	inBadWords      = "bad_words"
	inEnd           = "end_id"
	inIgnoreEnd     = "ignore_eos"
	inSeed          = "seed"
	inTemperature   = "temperature"
	inTopP          = "top_p"
	inTopK          = "top_k"
	inMinP          = "min_p"
	inFrequency     = "frequency_penalty"
	inPresence      = "presence_penalty"
	inRepetition    = "repetition_penalty"
	inExclude       = "exclude_input_in_output"
	inReturnInput   = "return_num_input_tokens"
	inReturnOutput  = "return_num_output_tokens"
	inReturnFinish  = "return_finish_reason"
	inReturnLogprob = "return_log_probs"
	inBiasWords     = "embedding_bias_words"
	inBiasWeights   = "embedding_bias_weights"
	inGuideType     = "guided_decoding_guide_type"
	inGuide         = "guided_decoding_guide"
	inLoRATask      = "lora_task_id"
	inLoRAWeights   = "lora_weights"
	inLoRAConfig    = "lora_config"
	inLoRAID        = "lora_id" // of the LLM API, as those that follow
	inLoRAName      = "lora_name"
	inLoRAPath      = "lora_path"
)

// aliases are further names of inputs, in models of other kinds and ages.
var aliases = map[string][]string{ //nolint:gochecknoglobals // a constant table
	inText: nil, inStream: {"streaming"},
	inMaxTokens: {"sampling_param_max_tokens"}, inMinTokens: {"sampling_param_min_tokens"},
	inStop: {"sampling_param_stop", "stop"}, inBadWords: {"sampling_param_bad"},
	inEnd: {"sampling_param_end_id"}, inIgnoreEnd: {"sampling_param_ignore_eos"},
	inSeed: {"random_seed", "sampling_param_seed"}, inTemperature: {"sampling_param_temperature"},
	inTopP: {"sampling_param_top_p"}, inTopK: {"sampling_param_top_k"}, inMinP: {"sampling_param_min_p"},
	inFrequency: {"sampling_param_frequency_penalty"}, inPresence: {"sampling_param_presence_penalty"},
	inRepetition: {"sampling_param_repetition_penalty"}, inExclude: {"sampling_param_exclude_input_from_output"},
	inReturnInput: nil, inReturnOutput: nil, inReturnFinish: nil, inReturnLogprob: nil,
	inBiasWords: nil, inBiasWeights: nil, inGuideType: nil, inGuide: nil,
}

// neutral values of numbers change nothing: they are never refused, and a model
// that requires such an input gets them.
var neutral = map[string]float64{ //nolint:gochecknoglobals // a constant table
	inTemperature: 1, inTopP: 1, inTopK: 0, inMinP: 0, inFrequency: 0, inPresence: 0, inRepetition: 1, inMinTokens: 0,
}

// demanding are the inputs that have no such value.
var demanding = []string{inEnd, inBiasWords, inBiasWeights, inGuideType, inGuide} //nolint:gochecknoglobals // a constant list

// nameOf is the name under which a model declares an input; "" for none.
func nameOf(inputs map[string]*kserve.ModelInput, input string) string {
	if inputs[input] != nil {
		return input
	}
	for _, name := range aliases[input] {
		if inputs[name] != nil {
			return name
		}
	}
	return ""
}

// textModel tells whether a model takes and gives texts, and requires no input that
// isn't known here or not always to be had: without it Triton would refuse requests.
func textModel(config *kserve.ModelConfig) bool {
	inputs := declared(config)
	if inputs[inText].GetDataType() != kserve.DataType_TYPE_STRING || !declares(config, outText) {
		return false
	}
	known := map[string]bool{}
	for input := range aliases {
		known[nameOf(inputs, input)] = !slices.Contains(demanding, input)
	}
	return !slices.ContainsFunc(config.GetInput(), func(in *kserve.ModelInput) bool { return !in.GetOptional() && !known[in.GetName()] })
}

// separate encodes for these contracts. The first error stays.
type separate struct {
	*tensors

	target *inference.Target
	model  string // as the client calls it
	err    error
}

// has tells whether the model declares an input.
func (e *separate) has(input string) bool { return nameOf(e.inputs, input) != "" }

func (e *separate) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// refuse names a field that the model has no input for.
func (e *separate) refuse(param, input string) {
	e.fail(inference.Unsupported(param, "%s is not supported by the model `%s`: it declares no input %s that takes it", param, e.model, input))
}

// optional sends a parameter of the client's. One that changes nothing is never
// refused.
func optional[T int | int64 | float64](e *separate, input string, value *T) {
	if value == nil {
		return
	}
	same, known := neutral[input]
	switch {
	case e.has(input):
		sendNumber(e, input, *value)
	case !known || float64(*value) != same:
		e.refuse(input, input)
	}
}

// required sends neutral values to inputs that the model requires and the client
// said nothing about.
func (e *separate) required() {
	sent := map[string]bool{}
	for _, in := range e.req.GetInputs() {
		sent[in.GetName()] = true
	}
	for input := range aliases {
		name := nameOf(e.inputs, input)
		if in := e.inputs[name]; in == nil || in.GetOptional() || sent[name] {
			continue
		}
		switch input {
		case inStop, inBadWords:
			e.words(input, []string{""}) // which is no word
		case inIgnoreEnd, inReturnLogprob:
			e.flag(input, false)
		default:
			sendNumber(e, input, neutral[input])
		}
	}
}

// sendNumber does nothing where the model lacks the input.
func sendNumber[T int | int64 | float64](e *separate, input string, value T) {
	name := nameOf(e.inputs, input)
	if name == "" {
		return
	}
	var datatype string
	var raw []byte
	declared := e.inputs[name].GetDataType()
	switch v := any(value).(type) {
	case float64:
		datatype, raw = number(declared, v)
	default:
		datatype, raw = number(declared, int64(value))
	}
	if raw == nil {
		e.fail(inference.Invalid(input, "%s can't be %v: the model `%s` takes it as %s", input, value, e.model, strings.TrimPrefix(declared.String(), "TYPE_")))
		return
	}
	e.add(name, datatype, raw)
}

func (e *separate) flag(input string, value bool) {
	e.bool(nameOf(e.inputs, input), value)
}

// words sends a list of texts. It is false where the model can't take them.
func (e *separate) words(input string, words []string) bool {
	name := nameOf(e.inputs, input)
	if name == "" || e.inputs[name].GetDataType() != kserve.DataType_TYPE_STRING { // llmapi's stop is a flag
		return false
	}
	var raw []byte
	for _, word := range words {
		raw = appendText(raw, word)
	}
	return e.list(name, "BYTES", raw, len(words))
}

// never refuses the parameters that no such contract has.
func (e *separate) never(s *inference.Sampling) {
	for _, p := range []struct {
		param string
		used  bool
	}{
		{"stop_token_ids", len(s.StopTokenIDs) > 0},
		{"allowed_token_ids", len(s.AllowedTokenIDs) > 0},
		{"skip_special_tokens", s.SkipSpecialTokens != nil && !*s.SkipSpecialTokens},
		{"spaces_between_special_tokens", s.SpacesBetweenSpecialTokens != nil && !*s.SpacesBetweenSpecialTokens},
		{"truncate_prompt_tokens", s.TruncatePromptTokens != nil},
	} {
		if p.used {
			e.fail(inference.Unsupported(p.param, "%s is not supported by the model `%s`: its backend does not take it from requests", p.param, e.model))
		}
	}
}

// ignoreEnd goes on after the end token: by an input of that name, or by an end
// token that no model has.
func (e *separate) ignoreEnd(ignore *bool) {
	switch {
	case ignore == nil || !*ignore:
	case e.has(inIgnoreEnd):
		e.flag(inIgnoreEnd, true)
	case e.has(inEnd):
		sendNumber(e, inEnd, -1)
	default:
		e.refuse(inIgnoreEnd, inEnd)
	}
}

// separateExtras are what a model of such a contract declares tensors for.
func separateExtras(config *kserve.ModelConfig, images inference.ImageInput) inference.Extras {
	in := declared(config)
	has := func(input string) bool { return nameOf(in, input) != "" }
	return inference.Extras{
		Images: images, LoRA: loraForm(config), Structured: has(inGuideType) && has(inGuide),
		Logprobs: has(inReturnLogprob) && has(inReturnOutput) && declares(config, outLogprobs) && config.GetModelTransactionPolicy().GetDecoupled(),
	}
}

// contract is what kinds of models with such inputs differ in. One encoder and one decoder
// serve all of them: names, datatypes and shapes come from the configuration. Several
// choices are jobs of their own, as not every version and kind takes n.
type contract struct {
	// greedy models take the likeliest token unless top_p or top_k is set: a
	// temperature alone changes nothing.
	greedy bool
	// echoes: in an answer in one piece the prompt stands before the text, unless
	// that is asked for.
	echoes bool
	// keepsStop: the text ends with the stop text that it ended by.
	keepsStop bool
	// cumulative texts hold all that came before.
	cumulative bool
	// alone: each token of a stream is decoded by itself, which breaks characters of
	// several.
	alone bool
}

// encode makes the request of one job.
func (c contract) encode(target *inference.Target, req *inference.Request, job *inference.Job) (*kserve.ModelInferRequest, error) {
	e, s := &separate{tensors: newTensors(target), target: target, model: req.Model}, &req.Sampling
	e.text(inText, job.Prompt)
	e.images(job.Images)
	e.lora(job.LoRA)
	e.limit(s, job)
	c.sample(e, s, job)
	if stays := s.IncludeStop != nil && *s.IncludeStop; len(s.Stop) > 0 && (c.keepsStop || !stays) {
		e.words(inStop, s.Stop) // the core looks for them in any case
	}
	if len(s.BadWords) > 0 && !e.words(inBadWords, s.BadWords) {
		e.refuse(inBadWords, inBadWords)
	}
	e.ignoreEnd(s.IgnoreEOS)
	e.bias(s.LogitBias)
	e.guide(s.Structured)
	e.never(s)
	e.logprobs(req)
	c.outputs(e, req)
	e.required()
	if err := e.priority(target, req.Priority); err != nil {
		e.fail(err)
	}
	return e.req, e.err
}

// limit bounds the answer. A model without a limit of its own takes none.
func (e *separate) limit(s *inference.Sampling, job *inference.Job) {
	if s.MaxTokens != nil && !e.has(inMaxTokens) {
		e.refuse("max_tokens", inMaxTokens)
	}
	sendNumber(e, inMaxTokens, job.MaxTokens)
	optional(e, inMinTokens, s.MinTokens)
}

func (c contract) sample(e *separate, s *inference.Sampling, job *inference.Job) {
	likeliest := s.Temperature != nil && *s.Temperature == 0 || s.TopP != nil && *s.TopP == 0
	switch {
	case c.greedy && likeliest && e.has(inTopK):
		// Not every version takes zeros, and top_p of 0 is none.
		sendNumber(e, inTopK, 1)
	case c.greedy && s.Temperature != nil && s.TopP == nil && (s.TopK == nil || *s.TopK <= 0):
		optional(e, inTemperature, s.Temperature)
		sendNumber(e, inTopP, 1.0)
	default:
		optional(e, inTemperature, s.Temperature)
		optional(e, inTopP, s.TopP)
		if s.TopK != nil && *s.TopK < 0 {
			optional(e, inTopK, new(0)) // vLLM's -1 is everybody else's 0
		} else {
			optional(e, inTopK, s.TopK)
		}
	}
	optional(e, inMinP, s.MinP)
	optional(e, inFrequency, s.FrequencyPenalty)
	optional(e, inPresence, s.PresencePenalty)
	optional(e, inRepetition, s.RepetitionPenalty)
	optional(e, inSeed, job.Seed)
}

// logprobs are those of the chosen tokens. They come without the tokens' texts:
// only an answer that comes token by token tells which is whose.
func (e *separate) logprobs(req *inference.Request) {
	top := req.Sampling.Logprobs
	switch {
	case top == nil:
	case !e.has(inReturnLogprob) || !e.has(inReturnOutput) || !declares(e.target.Config, outLogprobs):
		e.refuse("logprobs", inReturnLogprob)
	case !e.decoupled():
		e.fail(inference.Unsupported("logprobs", "logprobs need an answer token by token, but the model `%s` is not decoupled", e.model))
	case *top > 0 && req.Messages != nil:
		e.fail(inference.Unsupported("top_logprobs", "top_logprobs are not supported by the model `%s`: it tells the probabilities of the chosen tokens alone", e.model))
	case *top > 0:
		e.fail(inference.Unsupported("logprobs", "logprobs above 0 are not supported by the model `%s`: it tells the probabilities of the chosen tokens alone", e.model))
	default:
		e.flag(inReturnLogprob, true)
	}
}

func (e *separate) decoupled() bool {
	return e.target.Config.GetModelTransactionPolicy().GetDecoupled()
}

// outputs says how to answer. A model that isn't decoupled answers once, whatever
// was asked for. Others answer in pieces where the client doesn't ask for that, too:
// to end at a stop text, which TensorRT-LLM finds only where its tokens are those of
// the text, or after one call, if no character suffers from it; to tell tokens
// apart; and without the prompt, where they can't be told to leave it out.
func (c contract) outputs(e *separate, req *inference.Request) {
	s := &req.Sampling
	early := len(s.Stop) > 0 || req.SingleCall && len(req.Tools) > 0
	pieces := req.Stream || early && !c.alone || s.Logprobs != nil || c.echoes && !e.has(inExclude)
	e.flag(inStream, pieces && e.decoupled())
	e.flag(inExclude, true)
	e.flag(inReturnInput, true)
	e.flag(inReturnOutput, true)
	e.flag(inReturnFinish, true)
}
