package inference

import (
	"errors"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// ParamPrefix is the prefix of the names of settings in a model's config.pbtxt.
const ParamPrefix = "trident."

// The settings of a model. Given in its own config.pbtxt they travel with the
// model, so that a remote Triton's models describe themselves.
const (
	SettingTask             = "task"               // generate or embed; default: what the tensors allow
	SettingBackend          = "backend"            // name of the contract; default: the first that the tensors allow
	SettingChatTemplate     = "chat_template"      // Jinja source
	SettingContextLength    = "context_length"     // tokens of prompt and answer together
	SettingDefaultMaxTokens = "default_max_tokens" // of answers whose request sets no limit
	SettingBOSToken         = "bos_token"
	SettingEOSToken         = "eos_token"
	SettingTokenizer        = "tokenizer"        // folder of Hugging Face's layout on Trident's machine, in config.pbtxt also relative to that file, or an id on the hub
	SettingHidden           = "hidden"           // "true" keeps the model out of lists
	SettingAliases          = "aliases"          // further names, separated by commas
	SettingLoRAs            = "loras"            // names of its LoRA adapters, separated by commas, with their numbers or paths after "="; or none
	SettingToolParser       = "tool_call_parser" // dialect; default: what the chat template teaches; none for none
	SettingReasoningParser  = "reasoning_parser" // likewise
	SettingVision           = "vision"           // whether the model reads images; default: what its files and tensors say
	SettingImageToken       = "image_token"      // text of an image in the prompt where the template shows none, or none
	SettingHistoryTemplate  = "history_template" // Liquid source, where there is no chat template
	// SettingStructuredOutputs is the backend by which the engine holds to constraints: one
	// of [StructuredOutputs]; default: what its files say, or auto for vLLM's.
	SettingStructuredOutputs = "structured_outputs"
)

// StructuredOutputs are the values of [SettingStructuredOutputs]: auto for an engine that
// chooses by the request, none for one without structured outputs.
func StructuredOutputs() []string {
	return []string{"auto", "xgrammar", "guidance", "outlines", "none"}
}

// Setting is a value of a model's card and where it came from, for people.
type Setting struct {
	Name   string
	Value  string
	Origin string // such as "config.pbtxt: trident.context_length"
}

// Override is a setting that the operator gives: on the command line, or in a file of
// settings.
type Override struct {
	Setting

	// Model that it is for; empty for every model that has none of its own.
	Model string
}

// Library finds what is known of models beside their tensors. It may be used
// concurrently, and nothing in it waits for a network.
type Library interface {
	// Detect gives the settings that stand in the files of a model's repository, and
	// in the configurations of the models that it is made of, which others finds by
	// name. Files that can't be read are an error beside what the others say.
	Detect(m Model, others func(name string) *kserve.ModelConfig) ([]Setting, error)
	// Locate returns the folder of that relative path in a model's folder of the
	// repository, or the reference itself where there is none.
	Locate(model, reference string) string
	// Open reads what a model's maker published in a folder of Hugging Face's layout,
	// which is given as a path or as an id on the hub, with @ and a revision if not
	// main. It is [ErrFetching] while the hub is asked for it. Beside another error may
	// come what could be read.
	Open(reference string) (*Published, error)
	// LoRAPath is the folder of a model's adapter, and LoRAWeights reads what is in it;
	// empty and nil where the model's files aren't at hand, or don't list the adapter.
	// Adapters outside of the model's repository are an error.
	LoRAPath(model, version, adapter string) (string, error)
	LoRAWeights(model, version, adapter string) (*LoRAWeights, error)
}

// ErrFetching says that a folder is being fetched from the hub: ask again.
var ErrFetching = errors.New("being fetched from the Hugging Face hub")

// Published is what a model's maker published with it.
type Published struct {
	// Folder on this machine.
	Folder string
	// Template of chats with the tokens that it may print; without a Source for none.
	Template TemplateSource
	// TemplateOrigin is where the template stands.
	TemplateOrigin string
	// ImageToken with where it comes from; a zero Setting when unknown.
	ImageToken Setting
	// HasTokenizer tells whether there is a tokenizer.json.
	HasTokenizer bool
	// ContextLength with where it stands; a zero Setting when unknown.
	ContextLength Setting
}
