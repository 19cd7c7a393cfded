package backend

import (
	"encoding/json"
	"fmt"
	"maps"
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

// textModel tells whether a model takes and gives texts, and needs no input that
// isn't known here: without it Triton would refuse every request.
func textModel(config *kserve.ModelConfig) bool {
	inputs := declared(config)
	if inputs[inText].GetDataType() != kserve.DataType_TYPE_STRING || !declares(config, outText) {
		return false
	}
	known := map[string]bool{}
	for input := range aliases {
		known[nameOf(inputs, input)] = true
	}
	return !slices.ContainsFunc(config.GetInput(), func(in *kserve.ModelInput) bool { return !in.GetOptional() && !known[in.GetName()] })
}

// separate encodes for these contracts. The first error stays.
type separate struct {
	*tensors

	card *inference.Card
	err  error
}

func newSeparate(card *inference.Card) *separate {
	return &separate{tensors: newTensors(card), card: card}
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
	e.fail(inference.Unsupported(param, "%s is not supported by the model `%s`: it declares no input %s that takes it", param, e.card.Name, input))
}

// optional sends a parameter of the client's. One that changes nothing is never
// refused.
func optional[T int | int64 | float64](e *separate, input string, value *T, neutral ...T) {
	switch {
	case value == nil:
	case e.has(input):
		sendNumber(e, input, *value)
	case !slices.Contains(neutral, *value):
		e.refuse(input, input)
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
		e.fail(inference.Invalid(input, "%s can't be %v: the model `%s` takes it as %s", input, value, e.card.Name, strings.TrimPrefix(declared.String(), "TYPE_")))
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
			e.fail(inference.Unsupported(p.param, "%s is not supported by the model `%s`: its backend takes it with no request", p.param, e.card.Name))
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

// bias sends the biases of tokens as TensorRT-LLM takes them: by words, each of
// which its preprocessing turns into token ids, with what the tokenizer puts before
// a text. Only tokens whose text comes back as that one token can be had so. What
// stands before it gets the bias too, which is harmless only where it is negative.
func (e *separate) bias(biases map[int]float64) {
	const param = "logit_bias"
	switch {
	case len(biases) == 0:
		return
	case !e.has(inBiasWords) || !e.has(inBiasWeights):
		e.refuse(param, inBiasWords)
		return
	case e.card.Tokenizer == nil:
		e.fail(inference.Unsupported(param, "logit_bias needs the tokenizer of the model `%s`: set the parameter trident.tokenizer in its config.pbtxt", e.card.Name))
		return
	}
	var words, weights []byte
	count := 0
	for _, id := range slices.Sorted(maps.Keys(biases)) {
		word, err := wordOf(e.card.Tokenizer, id, biases[id])
		if err != nil {
			e.fail(err)
			return
		}
		_, weight := number(kserve.DataType_TYPE_FP32, biases[id])
		words, weights, count = appendText(words, word), append(weights, weight...), count+1
	}
	if !e.list(inBiasWords, "BYTES", words, count) || !e.list(inBiasWeights, "FP32", weights, count) {
		e.fail(inference.Unsupported(param, "logit_bias can't have %d tokens: the model `%s` declares fewer", count, e.card.Name))
	}
}

// wordOf is the text that is read as this token.
func wordOf(tokenizer inference.Tokenizer, id int, bias float64) (string, error) {
	const param = "logit_bias"
	if id >= tokenizer.Size() {
		return "", inference.Invalid(param, "logit_bias holds the token id %d, but the model has %d tokens", id, tokenizer.Size())
	}
	word := tokenizer.Decode([]int{id}, false)
	ids, err := tokenizer.Encode(word, true)
	if err != nil {
		return "", fmt.Errorf("tokenize a word of logit_bias: %w", err)
	}
	around, err := tokenizer.Encode("", true)
	if err != nil {
		return "", fmt.Errorf("tokenize no text: %w", err)
	}
	if len(around) > 0 && bias > 0 || !slices.Equal(ids, append(around, id)) {
		return "", inference.Unsupported(param, "logit_bias can't be had of token %d: this model's backend takes words, and the text of this token isn't read as it alone", id)
	}
	return word, nil
}

// guide sends a constraint on the answer's form.
func (e *separate) guide(c *inference.Structured) {
	switch {
	case c == nil:
		return
	case !e.has(inGuideType) || !e.has(inGuide):
		e.refuse(c.Param, inGuide)
		return
	}
	kind, guide, err := guideOf(c)
	if err != nil {
		e.fail(err)
		return
	}
	e.text(inGuideType, kind)
	if guide != "" {
		e.text(inGuide, guide)
	}
}

// guideOf is a constraint in TensorRT-LLM's words. A choice becomes a grammar.
func guideOf(c *inference.Structured) (kind, guide string, err error) {
	switch c.Kind {
	case "json":
		return "json_schema", string(c.Value), nil
	case "json_object":
		return "json", "", nil
	case "regex":
		kind, err = "regex", json.Unmarshal(c.Value, &guide)
	case "grammar":
		kind, err = "ebnf_grammar", json.Unmarshal(c.Value, &guide)
	case "choice":
		kind = "ebnf_grammar"
		guide, err = choiceGrammar(c.Value)
	default:
		return "", "", inference.Unsupported(c.Param, "%s is not supported by models of TensorRT-LLM", c.Param)
	}
	if err != nil || guide == "" {
		return "", "", inference.Invalid(c.Param, "%s is no valid %s", c.Param, c.Kind)
	}
	return kind, guide, nil
}

// choiceGrammar is the EBNF of a list of texts.
func choiceGrammar(list json.RawMessage) (string, error) {
	var choices []string
	if err := json.Unmarshal(list, &choices); err != nil || len(choices) == 0 {
		return "", err
	}
	for i, choice := range choices {
		quoted, err := marshal(choice) // EBNF's strings have JSON's escapes
		if err != nil {
			return "", err
		}
		choices[i] = quoted
	}
	return "root ::= " + strings.Join(choices, " | "), nil
}

// contract is what kinds of models with such inputs differ in.
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
}

// encode makes the request of one job.
func (c contract) encode(card *inference.Card, req *inference.Request, job *inference.Job) (*kserve.ModelInferRequest, error) {
	if err := refuseParts(req.Messages); err != nil {
		return nil, err
	}
	e, s := newSeparate(card), &req.Sampling
	e.text(inText, job.Prompt)
	e.limit(s, job)
	c.sample(e, s, job)
	if len(s.BadWords) > 0 && !e.words(inBadWords, s.BadWords) {
		e.refuse(inBadWords, inBadWords)
	}
	e.ignoreEnd(s.IgnoreEOS)
	e.bias(s.LogitBias)
	e.guide(s.Structured)
	e.never(s)
	e.logprobs(req)
	c.outputs(e, req)
	if err := e.priority(card, req.Priority); err != nil {
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
	optional(e, inMinTokens, s.MinTokens, 0)
}

func (c contract) sample(e *separate, s *inference.Sampling, job *inference.Job) {
	one := 1.0
	likeliest := s.Temperature != nil && *s.Temperature == 0 || s.TopP != nil && *s.TopP == 0
	switch {
	case c.greedy && likeliest && e.has(inTopK):
		// Not every version takes zeros, and top_p of 0 is none.
		sendNumber(e, inTopK, 1)
	case c.greedy && s.Temperature != nil && s.TopP == nil && (s.TopK == nil || *s.TopK <= 0):
		optional(e, inTemperature, s.Temperature, 1)
		sendNumber(e, inTopP, one)
	default:
		optional(e, inTemperature, s.Temperature, 1)
		optional(e, inTopP, s.TopP, 1)
		if s.TopK != nil && *s.TopK < 0 {
			optional(e, inTopK, new(0), 0) // vLLM's -1 is everybody else's 0
		} else {
			optional(e, inTopK, s.TopK, 0)
		}
	}
	optional(e, inMinP, s.MinP, 0)
	optional(e, inFrequency, s.FrequencyPenalty, 0)
	optional(e, inPresence, s.PresencePenalty, 0)
	optional(e, inRepetition, s.RepetitionPenalty, 1)
	optional(e, inSeed, job.Seed)
}

// logprobs are those of the chosen tokens. They come without the tokens' texts:
// only an answer that comes token by token tells which is whose.
func (e *separate) logprobs(req *inference.Request) {
	top := req.Sampling.Logprobs
	switch {
	case top == nil:
	case !e.has(inReturnLogprob) || !e.has(inReturnOutput) || !declares(e.card.Config, outLogprobs):
		e.refuse("logprobs", inReturnLogprob)
	case !e.decoupled():
		e.fail(inference.Unsupported("logprobs", "logprobs need an answer token by token, but the model `%s` is not decoupled", e.card.Name))
	case *top > 0 && req.Messages != nil:
		e.fail(inference.Unsupported("top_logprobs", "top_logprobs are not supported by the model `%s`: it tells the probabilities of the chosen tokens alone", e.card.Name))
	case *top > 0:
		e.fail(inference.Unsupported("logprobs", "logprobs above 0 are not supported by the model `%s`: it tells the probabilities of the chosen tokens alone", e.card.Name))
	default:
		e.flag(inReturnLogprob, true)
	}
}

func (e *separate) decoupled() bool { return e.card.Config.GetModelTransactionPolicy().GetDecoupled() }

// stops tells whether the model itself looks for the stop texts, which the core
// does in any case.
func (c contract) stops(e *separate, s *inference.Sampling) bool {
	stays := s.IncludeStop != nil && *s.IncludeStop
	return len(s.Stop) == 0 || (c.keepsStop || !stays) && e.words(inStop, s.Stop)
}

// outputs says how to answer. A model that isn't decoupled answers once, whatever
// was asked for. Others answer in pieces where that is better for more than the
// client: to end at a stop text that they don't look for, to tell tokens apart, and
// without the prompt where they can't be told to leave it out.
func (c contract) outputs(e *separate, req *inference.Request) {
	pieces := !c.stops(e, &req.Sampling) || req.Stream || req.Sampling.Logprobs != nil || c.echoes && !e.has(inExclude)
	e.flag(inStream, pieces && e.decoupled())
	e.flag(inExclude, true)
	e.flag(inReturnInput, true)
	e.flag(inReturnOutput, true)
	e.flag(inReturnFinish, true)
}
