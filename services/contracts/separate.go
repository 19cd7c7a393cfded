package contracts

import (
	"slices"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Names of the input tensors of the contracts with one tensor for each parameter. The constants are
// the names in TensorRT-LLM's ensemble.
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
	inReturnContext = "return_context_logits"
	inReturnPerf    = "return_perf_metrics"
	inBiasWords     = "embedding_bias_words"
	inBiasWeights   = "embedding_bias_weights"
	inGuideType     = "guided_decoding_guide_type"
	inGuide         = "guided_decoding_guide"
	inLoRATask      = "lora_task_id"
	inLoRAWeights   = "lora_weights"
	inLoRAConfig    = "lora_config"
	inLoRAID        = "lora_id" // this input and the following ones are the LLM API's
	inLoRAName      = "lora_name"
	inLoRAPath      = "lora_path"
)

// aliases are further names of inputs, in other kinds and versions of models.
var aliases = map[string][]string{ //nolint:gochecknoglobals // a constant table
	inText: nil, inStream: {"streaming"},
	inMaxTokens: {"sampling_param_max_tokens"}, inMinTokens: {"sampling_param_min_tokens"},
	inStop: {"sampling_param_stop", "stop"}, inBadWords: {"sampling_param_bad"},
	inEnd: {"sampling_param_end_id"}, inIgnoreEnd: {"sampling_param_ignore_eos"},
	inSeed: {"random_seed", "sampling_param_seed"}, inTemperature: {"sampling_param_temperature"},
	inTopP: {"sampling_param_top_p"}, inTopK: {"sampling_param_top_k"}, inMinP: {"sampling_param_min_p"},
	inFrequency: {"sampling_param_frequency_penalty"}, inPresence: {"sampling_param_presence_penalty"},
	inRepetition: {"sampling_param_repetition_penalty"}, inExclude: {"sampling_param_exclude_input_from_output"},
	inReturnInput: nil, inReturnOutput: nil, inReturnFinish: nil, inReturnLogprob: nil, inReturnContext: nil,
	inReturnPerf: {"sampling_param_return_perf_metrics"},
	inBiasWords:  nil, inBiasWeights: nil, inGuideType: nil, inGuide: nil,
}

// neutral values of numbers have no effect. A parameter with its neutral value is never refused. A
// model that requires the parameter's input gets the neutral value.
var neutral = map[string]float64{ //nolint:gochecknoglobals // a constant table
	inTemperature: 1, inTopP: 1, inTopK: 0, inMinP: 0, inFrequency: 0, inPresence: 0, inRepetition: 1, inMinTokens: 0,
}

// demanding are the inputs without a neutral value.
var demanding = []string{inEnd, inBiasWords, inBiasWeights, inGuideType, inGuide} //nolint:gochecknoglobals // a constant list

// nameOf returns the name under which a model declares an input, or "".
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

// textModel reports whether a model has a text input and a text output, and requires no input that
// is unknown here or that has no value for some requests. Triton refuses requests without a
// required input.
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

// separate encodes one request of a contract with a separate input tensor for each parameter:
// TensorRTLLM, LLMAPI and Python. Its methods record the first error in err and continue.
type separate struct {
	*tensors

	target *inference.Target
	model  string // name of the model as the client wrote it, for errors
	err    error
}

// has reports whether the model declares an input.
func (e *separate) has(input string) bool { return nameOf(e.inputs, input) != "" }

func (e *separate) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// refuse records an error about a field without an input in the model.
func (e *separate) refuse(param, input string) {
	e.fail(inference.Unsupported(param, "%s is not supported by the model `%s`: it does not declare the input %s", param, e.model, input))
}

// optional sends a parameter of the client. A value without an effect is never refused.
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

// required sends neutral values to the required inputs that the client hasn't set.
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
			e.words(input, []string{""}) // the empty string isn't a word
		case inIgnoreEnd, inReturnLogprob, inReturnContext, inReturnPerf:
			e.flag(input, false)
		default:
			sendNumber(e, input, neutral[input])
		}
	}
}

// sendNumber sends a number. It does nothing if the model lacks the input.
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
		e.fail(inference.Invalid(input, "%s can't be %v: the model `%s` declares this input as %s", input, value, e.model, datatypeOf(declared)))
		return
	}
	e.add(name, datatype, raw)
}

func (e *separate) flag(input string, value bool) {
	e.bool(nameOf(e.inputs, input), value)
}

// words sends a list of texts. It returns false if the model can't take them.
func (e *separate) words(input string, words []string) bool {
	name := nameOf(e.inputs, input)
	if name == "" || e.inputs[name].GetDataType() != kserve.DataType_TYPE_STRING { // the input stop of llmapi is a flag, not a list of texts
		return false
	}
	var raw []byte
	for _, word := range words {
		raw = appendText(raw, word)
	}
	return e.list(name, "BYTES", raw, len(words))
}

// never refuses the parameters that no contract of this kind supports.
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
			e.fail(inference.Unsupported(p.param, "%s is not supported by the model `%s`: its backend has no such parameter", p.param, e.model))
		}
	}
}

// ignoreEnd makes the model continue after the end token. It uses an input of that name, or an end
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

// separateExtras returns the extras that a model declares tensors for, if its contract has a
// separate tensor for each parameter.
func separateExtras(config *kserve.ModelConfig, images inference.ImageInput) inference.Extras {
	in := declared(config)
	has := func(input string) bool { return nameOf(in, input) != "" }
	return inference.Extras{
		Images: images, LoRA: loraForm(config), Structured: has(inGuideType) && has(inGuide),
		Logprobs: has(inReturnLogprob) && has(inReturnOutput) && declares(config, outLogprobs) && config.GetModelTransactionPolicy().GetDecoupled(),
	}
}

// contract has the differences between the kinds of models with a separate input for each
// parameter. One encoder and one decoder serve all of these kinds: names, datatypes and shapes come
// from the configuration. Each choice is a separate job, because not every version and kind
// supports n.
type contract struct {
	// greedy models select the likeliest token unless top_p or top_k is set: a temperature alone
	// has no effect.
	greedy bool
	// echoes: a non-streaming response repeats the prompt before the text, unless the request
	// excludes the prompt.
	echoes bool
	// keepsStop: the text includes the stop sequence that ended it.
	keepsStop bool
	// cumulative: each text contains all previous ones.
	cumulative bool
	// perToken: each token of a stream is decoded separately, which breaks characters of several
	// tokens.
	perToken bool
}

// encode returns the request of one job.
func (c contract) encode(target *inference.Target, req *inference.Request, job *inference.Job) (*kserve.ModelInferRequest, error) {
	e, s := &separate{tensors: newTensors(target), target: target, model: req.Model}, &req.Sampling
	e.text(inText, job.Prompt)
	e.images(job.Images)
	e.lora(job.LoRA)
	e.limit(s, job)
	c.sample(e, s, job)
	if len(s.Stop) > 0 && (c.keepsStop || !s.KeepsStop()) {
		e.words(inStop, s.Stop) // the core searches for stop sequences in any case
	}
	if len(s.BadWords) > 0 && !e.words(inBadWords, s.BadWords) {
		e.refuse(inBadWords, inBadWords)
	}
	e.ignoreEnd(s.IgnoreEOS)
	e.bias(s.LogitBias)
	e.guide(s.Structured)
	e.never(s)
	e.logprobs(req)
	c.outputs(e, req, job)
	e.required()
	if err := e.priority(target, req.Priority); err != nil {
		e.fail(err)
	}
	return e.req, e.err
}

// limit sends the maximum length of the answer. A model without an input for the length gets no
// limit.
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
		// Not every version accepts zeros, and a top_p of 0 is invalid.
		sendNumber(e, inTopK, 1)
	case c.greedy && s.Temperature != nil && s.TopP == nil && (s.TopK == nil || *s.TopK <= 0):
		optional(e, inTemperature, s.Temperature)
		sendNumber(e, inTopP, 1.0)
	default:
		optional(e, inTemperature, s.Temperature)
		optional(e, inTopP, s.TopP)
		if s.TopK != nil && *s.TopK < 0 {
			optional(e, inTopK, new(0)) // vLLM's -1 is 0 in other engines
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

// logprobs requests the log probabilities of the sampled tokens. The log probabilities come without
// the tokens' texts. Therefore the answer must be streamed token by token, so that each log
// probability belongs to one token.
func (e *separate) logprobs(req *inference.Request) {
	top := req.Sampling.Logprobs
	switch {
	case top == nil:
	case !e.has(inReturnLogprob) || !e.has(inReturnOutput) || !declares(e.target.Config, outLogprobs):
		e.refuse("logprobs", inReturnLogprob)
	case !e.decoupled():
		e.fail(inference.Unsupported("logprobs", "logprobs are not supported by the model `%s`: they need one response per token, but the model is not decoupled", e.model))
	case *top > 0 && req.Messages != nil:
		e.fail(inference.Unsupported("top_logprobs", "top_logprobs are not supported by the model `%s`: it returns the log probabilities of the chosen tokens only", e.model))
	case *top > 0:
		e.fail(inference.Unsupported("logprobs", "logprobs above 0 are not supported by the model `%s`: it returns the log probabilities of the chosen tokens only", e.model))
	default:
		e.flag(inReturnLogprob, true)
	}
}

func (e *separate) decoupled() bool {
	return e.target.Config.GetModelTransactionPolicy().GetDecoupled()
}

// outputs requests the outputs that the decoder reads, and the form of the answer. A model that isn't decoupled sends one
// response for any request. Other models stream in three cases even if the client requests no
// stream. The first case is an early end: after one call or at a stop sequence, which TensorRT-LLM
// itself finds only if its tokens are those of the text. The first case applies only if streaming
// doesn't break characters. The second case is log probabilities, which need separate tokens. The
// third case is a model that repeats the prompt and has no input to exclude it.
func (c contract) outputs(e *separate, req *inference.Request, job *inference.Job) {
	s := &req.Sampling
	early := len(s.Stop) > 0 || req.SingleCall && len(req.Tools) > 0
	pieces := req.Stream || early && !c.perToken || s.Logprobs != nil || c.echoes && !e.has(inExclude)
	e.flag(inStream, pieces && e.decoupled())
	e.flag(inExclude, true)
	e.flag(inReturnInput, job.PromptTokens == 0)
	e.flag(inReturnOutput, true)
	e.flag(inReturnFinish, true)
	e.requested(outText, true)
	e.requested(outFinish, true)
	e.requested(outOutput, true)
	e.requested(outSequence, e.inputs[inSequences] == nil && e.inputs[inBeams] == nil)
	e.requested(outInput, job.PromptTokens == 0)
	e.requested(outLogprobs, s.Logprobs != nil)
	if e.target.TokensPerBlock > 0 && (declares(e.target.Config, outReused) || declares(e.target.Config, outReusedLLMAPI)) {
		e.flag(inReturnPerf, true)
		e.requested(outReused, true)
		e.requested(outReusedLLMAPI, true)
	}
}

// The number of texts of a request. A model that declares one of these inputs generates one text
// without it, and Trident sends neither.
const (
	inSequences = "num_return_sequences"
	inBeams     = "beam_width"
)

// requested names an output that is read, if the model declares it. Triton takes a request that
// names no output as a request for all of them: TensorRT-LLM's ensemble declares nineteen, and each
// costs the server some µs in each response.
func (e *separate) requested(output string, needed bool) {
	if needed && declares(e.target.Config, output) {
		e.req.Outputs = append(e.req.Outputs, &kserve.ModelInferRequest_InferRequestedOutputTensor{Name: output})
	}
}
