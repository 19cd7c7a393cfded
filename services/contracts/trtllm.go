package contracts

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// TensorRTLLM is the contract of the ensemble and of tensorrt_llm_bls in TensorRT-LLM's model
// repositories, and of models of that form. Every parameter is a separate input, including
// max_tokens.
//
// Source: the configurations and models in triton_backend/all_models of NVIDIA/TensorRT-LLM.
type TensorRTLLM struct{}

// Name returns "tensorrtllm".
func (TensorRTLLM) Name() string { return "tensorrtllm" }

// Tasks returns TaskGenerate for a model with the inputs text_input and max_tokens and the output
// text_output.
func (TensorRTLLM) Tasks(config *kserve.ModelConfig) inference.Task {
	if declared(config)[inMaxTokens] == nil || !textModel(config) {
		return 0
	}
	return inference.TaskGenerate
}

// Extras returns images by the input image_url_input, and adapters by the inputs that the model
// declares for them. The preprocessing model ignores images unless it has a multimodal_model_path.
// With that path, the preprocessing model inserts the images' tokens into the prompt.
func (TensorRTLLM) Extras(config *kserve.ModelConfig) inference.Extras { return selfPlacing(config) }

func selfPlacing(config *kserve.ModelConfig) inference.Extras {
	images := imagesOf(config)
	images.Placed, images.Silent = true, true
	return separateExtras(config, images)
}

// Encode returns the request of one job.
func (TensorRTLLM) Encode(target *inference.Target, req *inference.Request, job *inference.Job) (*kserve.ModelInferRequest, error) {
	return trtContract(target).encode(target, req, job)
}

// Decoder returns a decoder of this contract's responses.
func (TensorRTLLM) Decoder(target *inference.Target, req *inference.Request) inference.Decoder {
	return trtContract(target).decoder(target, req)
}

func trtContract(target *inference.Target) contract {
	whole := accumulates(target.Config)
	return contract{greedy: true, echoes: true, keepsStop: true, cumulative: whole, perToken: !whole}
}

// accumulates reads tensorrt_llm_bls's parameter accumulate_tokens, with its spellings of true.
func accumulates(config *kserve.ModelConfig) bool {
	switch strings.ToLower(config.GetParameters()["accumulate_tokens"].GetStringValue()) {
	case "true", "yes", "1", "t":
		return true
	}
	return false
}

// Explain recognizes errors caused by the request.
func (TensorRTLLM) Explain(req *inference.Request, err *inference.Error) *inference.Error {
	return trtExplain(req, err)
}

// Error messages about prompts that are too long: of TensorRT-LLM's executor, of its LLM API, and of
// models that refuse the same requests. The groups match the number of the prompt's tokens and the
// maximum.
var trtTooLong = []*regexp.Regexp{ //nolint:gochecknoglobals // a constant list
	regexp.MustCompile(`Prompt length \((\d+)\) exceeds maximum (?:input|sequence) length \((\d+)\)`),
	regexp.MustCompile(`sum of prompt length \((\d+)[^)]*\).* should not exceed max_(?:num_tokens|seq_len) \((\d+)\)`),
}

// trtNoGuide is the message of an engine without guided decoding.
const trtNoGuide = "GuidedDecoder is not setup"

// trtNoContext is a part of the message of an engine that returns no logits of prompts.
const trtNoContext = "gather_context_logits"

// Error messages of TensorRT-LLM about LoRA adapters. The first is about an adapter that the engine
// lacks or has replaced. The second is about an adapter without room beside those in use. The third
// is about a folder that doesn't exist on the engine's machine.
const (
	trtNoLoRA = "not found in cache. Please send LoRA weights"
	trtFull   = "PEFT Cache is full"
	trtNoPath = "lora_path"
)

func trtExplain(req *inference.Request, err *inference.Error) *inference.Error {
	if err.Code != inference.CodeInternal && err.Code != inference.CodeInvalid {
		return err
	}
	if about := explainImages(req, err); about != nil {
		return about
	}
	if c := req.Sampling.Structured; c != nil && strings.Contains(err.Message, trtNoGuide) {
		return because(err, inference.Unsupported(c.Param, "%s is not supported by the model `%s`: its engine runs without guided decoding (set guided_decoding_backend in the model's configuration)", c.Param, req.Model))
	}
	if _, scores := req.Scores(); scores && strings.Contains(err.Message, trtNoContext) {
		return because(err, req.UnsupportedScore("its engine returns no logits of prompts: build it with gather_context_logits"))
	}
	if explained := trtExplainLoRA(req, err); explained != nil {
		return because(err, explained)
	}
	for _, text := range trtTooLong {
		if m := text.FindStringSubmatch(err.Message); m != nil {
			return because(err, longerThan(m[2], req.TextParam(), m[1]))
		}
	}
	return err
}

// longerThan returns the error of a field whose text has more tokens than the context length.
func longerThan(limit, param, has string) *inference.Error {
	return &inference.Error{
		Code: inference.CodeInvalid, Reason: inference.ReasonContextLength, Param: param,
		Message: fmt.Sprintf("This model's maximum context length is %s tokens, but %s has %s", limit, param, has),
	}
}

// trtExplainLoRA explains an error about adapters. It returns nil for other errors.
func trtExplainLoRA(req *inference.Request, err *inference.Error) *inference.Error {
	switch {
	case strings.Contains(err.Message, trtNoLoRA):
		return &inference.Error{
			Code: inference.CodeNotFound, Reason: inference.ReasonModelNotFound, Param: "model",
			Message: fmt.Sprintf("the model `%s` does not exist: its engine has no such LoRA adapter", req.Model),
			Err:     inference.ErrNoLoRA,
		}
	case strings.Contains(err.Message, trtFull):
		return &inference.Error{
			Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady, Param: "model", RetryAfter: time.Second,
			Message: fmt.Sprintf("the engine of the model `%s` has no room for another LoRA adapter now: try again", req.Model),
		}
	case strings.Contains(err.Message, trtNoPath) && strings.Contains(err.Message, "does not exist"):
		return &inference.Error{
			Code: inference.CodeNotFound, Reason: inference.ReasonModelNotFound, Param: "model",
			Message: fmt.Sprintf("the model `%s` does not exist: its engine can't find the folder of this LoRA adapter", req.Model),
		}
	}
	return nil
}

// because adds the cause of an error to its explanation.
func because(err, explained *inference.Error) *inference.Error {
	explained.Err = errors.Join(explained.Err, err.Err)
	return explained
}
