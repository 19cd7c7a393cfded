package inference

import (
	"errors"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// ParamPrefix is the prefix of the names of settings in a model's config.pbtxt.
const ParamPrefix = "trident."

// The settings of a model. A model's own config.pbtxt can contain them, so that the models of a
// remote Triton describe themselves.
const (
	SettingTask             = "task"               // generate, embed, token_embed, sparse, score or classify; default: the tasks that the tensors allow
	SettingBackend          = "backend"            // name of the contract; default: the first one that the tensors allow
	SettingChatTemplate     = "chat_template"      // chat template in Jinja, as source
	SettingContextLength    = "context_length"     // maximum number of tokens of prompt and answer together
	SettingDefaultMaxTokens = "default_max_tokens" // maximum number of tokens of an answer whose request sets no limit
	SettingSamplingDefaults = "sampling_defaults"  // sampling options of requests that don't set them, as a JSON object
	SettingMaxLogprobs      = "max_logprobs"       // maximum number of log probabilities that the engine returns for one position; -1 for the whole vocabulary
	SettingBOSToken         = "bos_token"
	SettingEOSToken         = "eos_token"
	SettingTokenizer        = "tokenizer"             // folder in Hugging Face's layout on Trident's machine, in config.pbtxt also relative to that file, or an id on the hub
	SettingHidden           = "hidden"                // "true" keeps the model out of lists
	SettingAliases          = "aliases"               // further names, comma-separated
	SettingLoRAs            = "loras"                 // comma-separated names of LoRA adapters, with their numbers or paths after "=", or the word none
	SettingToolParser       = "tool_call_parser"      // dialect; default: the dialect that the chat template teaches; none disables parsing
	SettingReasoningParser  = "reasoning_parser"      // dialect; default: the dialect that the chat template teaches; none disables parsing
	SettingVision           = "vision"                // "true" if the model reads images; the default is derived from the model's files and tensors
	SettingImageToken       = "image_token"           // string of an image in the prompt where the template prints none, or none
	SettingHistoryTemplate  = "history_template"      // history template in Liquid, as source; used without a chat template
	SettingTokensPerBlock   = "tokens_per_block"      // number of tokens of a block of the engine's KV cache, from which the cached tokens of prompts are computed
	SettingPooling          = "pooling"               // way in which vectors of tokens become one: mean, cls, last, max, weighted_mean or mean_sqrt
	SettingNormalize        = "normalize"             // "true" if vectors are scaled to unit length
	SettingLabels           = "labels"                // names of the classes: a JSON list, or comma-separated
	SettingActivation       = "activation"            // softmax, sigmoid or none; default: sigmoid for one class, softmax for more
	SettingPrompts          = "prompts"               // JSON object of texts that are put before inputs, by name
	SettingDefaultPrompt    = "default_prompt_name"   // name of the prompt of inputs that select none
	SettingIncludePrompt    = "include_prompt"        // "false" leaves the prompt's tokens out of the pooling
	SettingLowerCase        = "lower_case"            // "true" changes texts to lower case
	SettingPadToken         = "pad_token_id"          // token id of padding
	SettingPadMultiple      = "pad_to_multiple_of"    // number to a multiple of which batches are padded
	SettingPadLengths       = "pad_to_lengths"        // numbers of tokens to which batches are padded, comma-separated
	SettingPreferredBatches = "preferred_batch_sizes" // numbers of inputs that batches should have, comma-separated; the largest one is a maximum
	SettingSparsePooling    = "sparse_pooling"        // max or sum: way in which the logits after all tokens become a weight of a sparse vector
	SettingSparseActivation = "sparse_activation"     // relu or log1p_relu: function of such a logit, before log1p
	SettingMaxBatchTokens   = "max_batch_tokens"      // maximum number of tokens of a batch with its padding
	// SettingStructuredOutputs is the backend that enforces structured outputs in the engine: one
	// of [StructuredOutputs]. The default comes from the model's files, or is auto for vLLM.
	SettingStructuredOutputs = "structured_outputs"
	// OutputParameter is the name of the output that is read, only in config.pbtxt: it decides which
	// tasks the model has. Default: the best one whose name is known.
	OutputParameter = "output"
)

// StructuredOutputs returns the values of [SettingStructuredOutputs]. The value auto means that
// the engine chooses for each request, none that the engine has no structured outputs.
func StructuredOutputs() []string {
	return []string{"auto", "xgrammar", "guidance", "outlines", "none"}
}

// Setting is a value of a model's card and its origin, for display.
type Setting struct {
	Name   string
	Value  string
	Origin string // place that sets the value, such as "config.pbtxt: trident.context_length"
}

// Override is a setting by the operator, from the command line or from a file of settings.
type Override struct {
	Setting

	// Model that the setting applies to. If it is empty, the setting applies to every model
	// without its own value.
	Model string
}

// Library provides facts about models that their tensors don't contain. It may be used
// concurrently. No method waits for a network.
type Library interface {
	// Detect returns the settings found in the files of a model's repository, and in the
	// configurations of the models that it is composed of; others returns these by name. If some
	// files can't be read, Detect returns an error together with the other files' settings.
	Detect(m Model, others func(name string) *kserve.ModelConfig) ([]Setting, error)
	// Locate resolves a relative path within a model's folder of the repository. It returns the
	// reference itself if that folder doesn't exist.
	Locate(model, reference string) string
	// Open reads the files that a model's maker published in a folder of Hugging Face's layout.
	// The reference is a path or an id on the hub, with @ and a revision if not main. The error
	// is [ErrFetching] while the hub is being asked. With another error, Open may also return the
	// part that it could read.
	Open(reference string) (*Published, error)
	// LoRAPath returns the folder of a model's adapter, and LoRAWeights reads its weights. The
	// methods return "" and nil if the model's files aren't available or don't list the adapter.
	// An adapter outside of the model's repository is an error.
	LoRAPath(model, version, adapter string) (string, error)
	LoRAWeights(model, version, adapter string) (*LoRAWeights, error)
}

// ErrFetching is returned while a folder is being fetched from the hub. The caller should retry.
var ErrFetching = errors.New("the model's files haven't been fetched from the Hugging Face hub yet")

// Published has the properties that a model's maker published.
type Published struct {
	// Folder is the path of the tokenizer's folder on this machine.
	Folder string
	// Template is the chat template with the tokens that it may print. Its Source is empty if
	// there is no template.
	Template TemplateSource
	// TemplateOrigin is the file from which the chat template was read.
	TemplateOrigin string
	// ImageToken is the image token with its origin, or a zero Setting if it isn't known.
	ImageToken Setting
	// HasTokenizer reports whether there is a tokenizer.json.
	HasTokenizer bool
	// ContextLength is the context length with its origin, or a zero Setting if it isn't known.
	ContextLength Setting
	// Encoder are the settings of encoders, with their origins.
	Encoder []Setting
	// Unsupported is a part of the model that Trident doesn't compute, such as a layer after the
	// pooling, with its origin. It is a zero Setting if there is none.
	Unsupported Setting
}
