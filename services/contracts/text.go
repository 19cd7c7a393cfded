package contracts

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/trident-inference/trident/services/inference"
)

// Names of the output tensors of the contracts with one tensor for each parameter.
const (
	outText     = "text_output"
	outFinish   = "finish_reason"
	outInput    = "num_input_tokens"
	outOutput   = "num_output_tokens"
	outLogprobs = "output_log_probs"
	outSequence = "sequence_index"
	outReused   = "kv_cache_reused_blocks"

	outReusedLLMAPI = "kv_cache_reused_block"
)

// maxTexts is the maximum number of texts that a model may generate for one request.
const maxTexts = 128

// textDecoder decodes the responses of the contracts TensorRTLLM, LLMAPI and Python: one or several
// texts, each as a delta or as the whole text so far.
type textDecoder struct {
	target *inference.Target
	// endless is true for models without an input for the answer's length. Their answers never end
	// at a limit.
	endless  bool
	logprobs bool
	stops    []string
	// cumulative has the texts by sequence. It is nil if texts are deltas.
	cumulative []*cumulative
	others     []inference.Step
	tokens     []inference.TokenLogprob
}

func (c contract) decoder(target *inference.Target, req *inference.Request) inference.Decoder {
	decoder := &textDecoder{
		target: target, logprobs: req.Sampling.Logprobs != nil, stops: req.Sampling.Stop,
		endless: nameOf(declared(target.Config), inMaxTokens) == "",
	}
	if c.cumulative {
		decoder.cumulative = []*cumulative{{stops: decoder.stops}}
	}
	return decoder
}

// found are the tensors of one response that are decoded together, without their names.
type found struct{ text, finish, logprobs []byte }

// Decode reads one response. Its first text goes to step, the others to step.Others. The token
// counts of a response are those of all its texts.
func (d *textDecoder) Decode(resp *inference.Response, step *inference.Step) error {
	var f found
	for i := range resp.Outputs {
		if err := d.output(&resp.Outputs[i], &f, step); err != nil {
			return fmt.Errorf("model %s: output %s: %w", d.target.Name, resp.Outputs[i].Name, err)
		}
	}
	d.others, d.tokens = d.others[:0], d.tokens[:0]
	if err := d.read(f, resp.Final, step); err != nil {
		return fmt.Errorf("model %s: output %s: %w", d.target.Name, outText, err)
	}
	if resp.Final {
		d.rest()
	}
	step.Others = d.others
	return nil
}

func (d *textDecoder) output(out *inference.Output, f *found, step *inference.Step) (err error) {
	switch out.Name {
	case outText:
		f.text, err = allBytes(out)
	case outFinish:
		f.finish, err = allBytes(out)
	case outLogprobs:
		if d.logprobs && out.Type != "FP32" {
			return fmt.Errorf("the output tensor has datatype %s instead of FP32", out.Type)
		}
		f.logprobs = out.Raw
	case outInput:
		step.PromptTokens, err = firstInt(out)
	case outOutput:
		step.OutputTokens, err = firstInt(out)
		step.OutputTokens = max(step.OutputTokens, 0)
	case outReused, outReusedLLMAPI:
		step.CachedTokens, err = d.cachedTokens(out)
	case outSequence:
		step.Sequence, err = firstInt(out)
	}
	return err
}

// cachedTokens returns the number of tokens in the reused blocks of the KV cache. The LLM API's model sends the
// number of blocks as text, although it declares an integer.
func (d *textDecoder) cachedTokens(out *inference.Output) (*int, error) {
	if d.target.TokensPerBlock == 0 || len(out.Raw) == 0 {
		return nil, nil //nolint:nilnil // the number isn't known
	}
	var blocks int
	var err error
	if out.Type == "BYTES" {
		var text []byte
		if text, err = firstBytes(out); err == nil {
			blocks, err = strconv.Atoi(string(text))
		}
	} else {
		blocks, err = firstInt(out)
	}
	if err != nil || blocks < 0 || blocks > math.MaxInt32 {
		return nil, err
	}
	return new(blocks * d.target.TokensPerBlock), nil
}

func (d *textDecoder) read(f found, final bool, step *inference.Step) error {
	count, err := elements(f.text)
	if err != nil || count == 0 {
		return err
	}
	first := step.Sequence * count
	if first < 0 || first+count > maxTexts {
		return fmt.Errorf("the model's response has more than %d texts", maxTexts)
	}
	step.OutputTokens /= count
	row := len(f.logprobs) / count
	for i := range count {
		s := step
		if i > 0 {
			d.others = append(d.others, inference.Step{OutputTokens: step.OutputTokens})
			s = &d.others[i-1]
		}
		var text, reason []byte
		text, f.text, _ = nextBytes(f.text) // can't fail: elements has parsed the tensor
		if reason, f.finish, err = nextBytes(f.finish); err != nil {
			return err
		}
		s.Sequence, s.Text, s.Finish = first+i, d.delta(first+i, text, final), d.finish(string(reason))
		if d.logprobs {
			s.Logprobs = d.tokenLogprobs(f.logprobs[i*row:(i+1)*row], s)
		}
	}
	return nil
}

// delta returns the part that a text adds.
func (d *textDecoder) delta(sequence int, text []byte, final bool) []byte {
	if d.cumulative == nil {
		return text
	}
	for len(d.cumulative) <= sequence {
		d.cumulative = append(d.cumulative, &cumulative{stops: d.stops})
	}
	return d.cumulative[sequence].add(text, final)
}

// rest adds the withheld parts of cumulative texts.
func (d *textDecoder) rest() {
	for i, text := range d.cumulative {
		if len(text.held) > 0 {
			d.others = append(d.others, inference.Step{Sequence: i, Text: text.held})
		}
	}
}

// finish maps the finish reasons of vLLM and TensorRT-LLM. vLLM and TensorRT-LLM send None until
// the end. An answer that was aborted is truncated, as an answer at its limit is.
func (d *textDecoder) finish(word string) inference.FinishReason {
	switch word {
	case "", "None":
		if d.endless {
			return inference.FinishStop
		}
		return inference.FinishNone
	case "length", "timeout", "cancelled":
		return inference.FinishLength
	case string(inference.FinishContentFilter):
		return inference.FinishContentFilter
	}
	return inference.FinishStop
}

// tokenLogprobs returns the log probabilities of a step's tokens, which are the last ones of
// values: some versions repeat the earlier ones in a stream. If a response has several tokens, the
// tokenizer splits the text into tokens. If the tokenizer finds other tokens than the response has,
// the response's tokens become one entry with the sum of their log probabilities.
func (d *textDecoder) tokenLogprobs(values []byte, step *inference.Step) []inference.TokenLogprob {
	count := min(step.OutputTokens, len(values)/4)
	values = values[len(values)-4*count:]
	first := len(d.tokens)
	texts := d.split(string(step.Text), count)
	for i := range count {
		logprob := max(float64(math.Float32frombits(binary.LittleEndian.Uint32(values[4*i:]))), inference.MinLogprob)
		if i < len(texts) {
			d.tokens = append(d.tokens, inference.TokenLogprob{Token: texts[i], ID: -1, Logprob: logprob})
		} else {
			d.tokens[first].Logprob += logprob
		}
	}
	return d.tokens[first:]
}

// split splits a text into the texts of its tokens. It returns the whole text if it can't be split
// into count tokens.
func (d *textDecoder) split(text string, count int) []string {
	if count > 1 && d.target.Tokenizer != nil {
		ids, err := d.target.Tokenizer.Encode(context.Background(), text, false, nil) // the string is short, because it is the text of a few tokens
		texts := make([]string, len(ids))
		for i := range ids {
			texts[i] = d.target.Tokenizer.Decode(ids[i:i+1], false)
		}
		if err == nil && len(ids) == count && strings.Join(texts, "") == text {
			return texts
		}
	}
	return []string{text}
}

// allBytes returns the raw elements of a BYTES tensor.
func allBytes(out *inference.Output) ([]byte, error) {
	if out.Type != "BYTES" {
		return nil, fmt.Errorf("the output tensor has datatype %s instead of BYTES", out.Type)
	}
	return out.Raw, nil
}

// elements returns the number of elements of a BYTES tensor.
func elements(raw []byte) (int, error) {
	n := 0
	for len(raw) > 0 {
		var err error
		if _, raw, err = nextBytes(raw); err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}
