package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trident-inference/trident/services/chat"
	"github.com/trident-inference/trident/services/contracts"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/toolparser"
	"github.com/trident-inference/trident/services/vector"
)

// section is a key of the settings file that isn't a flag.
type section struct {
	name, help string
	read       func(r *settingsReader, node *yaml.Node)
	schema     func() schema
	hide       func(node *yaml.Node) // removes secrets before printing; may be nil
}

// sections returns the sections that a settings file may have.
func sections() []section {
	return []section{{
		name: "models", help: "Settings of single models: a mapping of model names to settings. They override the flags and the models' config.pbtxt.",
		read: (*settingsReader).models, schema: modelsSchema,
	}, {
		name: "keys", help: "API keys of clients, in the format of --api-keys-file and in addition to that file. Only Trident's user should be able to read the settings file then.",
		read: (*settingsReader).keys, schema: keysSchema, hide: hideKeys,
	}}
}

// printable returns the section as config print shows it.
func (s section) printable(node *yaml.Node) *yaml.Node {
	shown := bare(node)
	if s.hide != nil {
		s.hide(shown)
	}
	return shown
}

// modelKey is a setting of a model in the settings file.
type modelKey struct {
	name, setting, help string
	kind                valueKind
	list                bool
	read                func(text string) (string, error)
}

// modelKeys returns all settings of a model's card. Settings with a flag have the
// flag's name.
func modelKeys() []modelKey {
	dialects := toolparser.Dialects{}
	return []modelKey{
		{"tokenizer", inference.SettingTokenizer, "Source of the tokenizer, chat template and context length: a folder in Hugging Face's layout, a repository id on its hub, or none.", kindString, false, asIs},
		{"chat-template", inference.SettingChatTemplate, "Jinja chat template: a file, the template itself, or none.", kindString, false, readChatTemplate},
		{"history-template", inference.SettingHistoryTemplate, "Liquid template that builds the prompt of chats if the model has no chat template.", kindString, false, checkedHistory},
		{"history-template-file", inference.SettingHistoryTemplate, "File with a Liquid template that builds the prompt of chats if the model has no chat template; can't be combined with history-template.", kindString, false, readHistory},
		{"tool-call-parser", inference.SettingToolParser, "Parser of the model's tool calls, by vLLM's name, or none to disable parsing. Default: detected from the chat template.", kindString, false, checked(func(name string) error { return dialects.Check(name, "") })},
		{"reasoning-parser", inference.SettingReasoningParser, "Parser of the model's reasoning, by vLLM's name, or none to disable parsing. Default: detected from the chat template.", kindString, false, checked(func(name string) error { return dialects.Check("", name) })},
		{"context-length", inference.SettingContextLength, "Maximum number of tokens of the prompt and the output together.", kindInt, false, positiveNumber},
		{"default-max-tokens", inference.SettingDefaultMaxTokens, "Maximum number of output tokens of requests that don't set a maximum.", kindInt, false, positiveNumber},
		{"sampling-defaults", inference.SettingSamplingDefaults, "Sampling options for requests that don't set them: a JSON object with some or all of temperature, top_p, top_k, min_p, presence_penalty, frequency_penalty and repetition_penalty. Default: the engine's options.", kindString, false, asIs},
		{"max-logprobs", inference.SettingMaxLogprobs, "Maximum number of log probabilities that the engine returns for one token (vLLM's max_logprobs); -1 means the whole vocabulary. Default: derived from the model's files, else 20.", kindInt, false, logprobsNumber},
		{"tokens-per-block", inference.SettingTokensPerBlock, "Number of tokens in a block of the engine's KV cache. Trident needs it to compute the cached tokens of prompts from the cached blocks that TensorRT-LLM's models report. Default: derived from the model's files.", kindInt, false, positiveNumber},
		{"backend", inference.SettingBackend, "Triton backend that Trident assumes for the model: vllm, llmapi, tensorrtllm, python, encoder, text_encoder or pair_encoder. Default: the first backend, in this order, that the model's tensors match.", kindString, false, backendName},
		{"task", inference.SettingTask, "Task of a model whose tensors allow several tasks: generate, embed, token_embed, sparse, score or classify.", kindString, false, oneOf((inference.TaskGenerate | inference.TasksEncode).Names()...)},
		{"pooling", inference.SettingPooling, "Pooling of an encoder's vectors of tokens: mean, cls, last, max, weighted_mean or mean_sqrt. Default: derived from the model's files, else mean.", kindString, false, oneOf(vector.Poolings()...)},
		{"sparse-pooling", inference.SettingSparsePooling, "Function that pools the logits of all tokens to one sparse vector: max or sum. Default: derived from the model's files, else max.", kindString, false, oneOf("max", "sum")},
		{"sparse-activation", inference.SettingSparseActivation, "Activation function of sparse vectors: relu or log1p_relu. Default: derived from the model's files, else relu.", kindString, false, oneOf("relu", "log1p_relu")},
		{"normalize", inference.SettingNormalize, "True to scale an encoder's vectors to unit length. Default: derived from the model's files, else true.", kindBool, false, asIs},
		{"labels", inference.SettingLabels, "Names of a classifier's classes: a JSON list or a comma-separated list. Default: id2label in the model's config.json.", kindString, false, asIs},
		{"activation", inference.SettingActivation, "Function that converts logits to scores and probabilities: softmax, sigmoid or none. Default: derived from the model's files, else sigmoid for one class and softmax for more.", kindString, false, oneOf("softmax", "sigmoid", "none")},
		{"prompts", inference.SettingPrompts, "Prompts that are put before an encoder's inputs: a JSON object whose keys are the names of the prompts and whose values are their texts. Default: the prompts of the model's files.", kindString, false, asIs},
		{"default-prompt-name", inference.SettingDefaultPrompt, "Name of the prompt for inputs that don't select a prompt. Default: derived from the model's files.", kindString, false, asIs},
		{"include-prompt", inference.SettingIncludePrompt, "False to leave the prompt's tokens out of the pooling. Default: derived from the model's files, else true.", kindBool, false, asIs},
		{"lower-case", inference.SettingLowerCase, "True to change an encoder's texts to lower case. Default: derived from the model's files, else false.", kindBool, false, asIs},
		{"pad-token-id", inference.SettingPadToken, "Token id of an encoder's padding. Default: derived from the model's files.", kindInt, false, tokenID},
		{"pad-to-multiple-of", inference.SettingPadMultiple, "Number of tokens; an encoder's batches are padded to a multiple of this number. Default: 8 for TensorRT and for models with FP16 outputs, else 1.", kindInt, false, positiveNumber},
		{"pad-to-lengths", inference.SettingPadLengths, "Numbers of tokens to which an encoder's batches are padded, such as the sizes of a TensorRT profile. Longer batches are padded to a multiple of pad-to-multiple-of. Default: the dims of the inputs if these are fixed, else no lengths.", kindInt, true, positiveNumber},
		{"preferred-batch-sizes", inference.SettingPreferredBatches, "Numbers of texts that an encoder's batches should have. The largest number is a maximum. Default: preferred_batch_size of dynamic_batching in config.pbtxt, else any number up to max_batch_size.", kindInt, true, positiveNumber},
		{"max-batch-tokens", inference.SettingMaxBatchTokens, "Maximum number of tokens of an encoder's batch, including padding. Default: 16384, or fewer if the model returns the logits of the vocabulary.", kindInt, false, positiveNumber},
		{"vision", inference.SettingVision, "True if the model reads images, false if it doesn't. Default: derived from the model's files and tensors.", kindBool, false, asIs},
		{"structured-outputs", inference.SettingStructuredOutputs, "Backend that enforces structured outputs in the engine: xgrammar, guidance, outlines, auto to let the engine choose, or none if the engine has no structured outputs.", kindString, false, oneOf(inference.StructuredOutputs()...)},
		{"image-token", inference.SettingImageToken, "String that marks the position of an image in the prompt, for chat templates that print no such string. With the value none, the prompt has no such string, because the model inserts it.", kindString, false, asIs},
		{"bos-token", inference.SettingBOSToken, "Beginning-of-sequence token, which the chat template can print as bos_token.", kindString, false, asIs},
		{"eos-token", inference.SettingEOSToken, "End-of-sequence token, which the chat template can print as eos_token.", kindString, false, asIs},
		{"loras", inference.SettingLoRAs, "Names of the model's LoRA adapters; none disables adapters. If Trident can't read the model's files, an entry may also have the adapter's number in the engine (NAME=NUMBER) or its path on the engine's machine (NAME=PATH).", kindString, true, checkListItem},
		{"aliases", inference.SettingAliases, "Additional names under which the model is served.", kindString, true, checkListItem},
		{"hidden", inference.SettingHidden, "True to omit the model from lists of models; requests can still name the model.", kindBool, false, asIs},
	}
}

// models reads the settings of the section.
func (r *settingsReader) models(node *yaml.Node) {
	keys := modelKeys()
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	r.eachKey(node, "models", func(model, settings *yaml.Node) {
		given := map[string]string{} // names of the keys that set each setting, keyed by setting
		r.eachKey(settings, model.Value, func(key, value *yaml.Node) {
			i := slices.Index(names, key.Value)
			if i < 0 {
				r.problemf(key, "models: %s: unknown key %s%s", model.Value, key.Value, didYouMean(nearest(strings.ReplaceAll(key.Value, "_", "-"), names)))
				return
			}
			k := keys[i]
			if other := given[k.setting]; other != "" {
				r.problemf(key, "models: %s: %s and %s are both set: keep one", model.Value, other, k.name)
			}
			given[k.setting] = k.name
			text, err := k.value(value)
			if err != nil {
				r.problemf(value, "models: %s: %s: %w", model.Value, k.name, err)
				return
			}
			r.file.overrides = append(r.file.overrides, inference.Override{
				Model: model.Value, Setting: inference.Setting{Name: k.setting, Value: text, Origin: r.file.origin(key.Line)},
			})
		})
	})
}

// value returns the setting's validated string.
func (k modelKey) value(node *yaml.Node) (string, error) {
	items := []*yaml.Node{node}
	if k.list && node.Kind == yaml.SequenceNode {
		items = node.Content
	}
	var texts []string
	for _, item := range items {
		text, err := textOf(k.kind, resolved(item))
		if err == nil {
			text, err = k.read(text)
		}
		if err != nil {
			return "", err
		}
		if text == "" {
			return "", errors.New("must not be empty")
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return "", errors.New("must not be empty")
	}
	return strings.Join(texts, ","), nil
}

func positiveNumber(text string) (string, error) {
	if n, err := strconv.Atoi(text); err != nil || n < 1 {
		return "", fmt.Errorf("%s is not a positive number", text)
	}
	return text, nil
}

func tokenID(text string) (string, error) {
	if n, err := strconv.Atoi(text); err != nil || n < 0 {
		return "", fmt.Errorf("%s is not a token id", text)
	}
	return text, nil
}

func logprobsNumber(text string) (string, error) {
	if n, err := strconv.Atoi(text); err != nil || n < -1 || n == 0 {
		return "", fmt.Errorf("%s is not a positive number and not -1", text)
	}
	return text, nil
}

func backendName(name string) (string, error) {
	err := contracts.Config{First: name}.Validate()
	if err != nil {
		err = errors.New(strings.TrimPrefix(err.Error(), "contracts.First: "))
	}
	return name, err
}

func oneOf(names ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		if !slices.Contains(names, text) {
			return "", fmt.Errorf("must be one of %s, not %q", strings.Join(names, ", "), text)
		}
		return text, nil
	}
}

// checkListItem returns a string that can be an item of a setting's list, or an error.
func checkListItem(text string) (string, error) {
	if strings.Contains(text, ",") {
		return "", fmt.Errorf("%q contains a comma: write a list with an item for each name", text)
	}
	return text, nil
}

func readHistory(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	return checkedHistory(string(text))
}

func checkedHistory(text string) (string, error) {
	_, err := chat.Compile("", inference.TemplateSource{Source: text, Liquid: true})
	return text, err
}
