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
		name: "models", help: "Settings of single models, by their names. They win over flags and over the models' config.pbtxt.",
		read: (*settingsReader).models, schema: modelsSchema,
	}, {
		name: "keys", help: "Keys of clients, as in a file of --api-keys-file, and beside those. The file should be readable by Trident's user alone.",
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
		{"tokenizer", inference.SettingTokenizer, "Folder of Hugging Face's layout, id on its hub, or none.", kindText, false, asIs},
		{"chat-template", inference.SettingChatTemplate, "File of a Jinja chat template, the template itself, or none.", kindText, false, readChatTemplate},
		{"history-template", inference.SettingHistoryTemplate, "Liquid template, where there is no chat template.", kindText, false, checkedHistory},
		{"history-template-file", inference.SettingHistoryTemplate, "The same from a file.", kindText, false, readHistory},
		{"tool-call-parser", inference.SettingToolParser, "How the model writes tool calls, or none.", kindText, false, checked(func(name string) error { return dialects.Check(name, "") })},
		{"reasoning-parser", inference.SettingReasoningParser, "How the model marks its reasoning, or none.", kindText, false, checked(func(name string) error { return dialects.Check("", name) })},
		{"context-length", inference.SettingContextLength, "Tokens of prompt and answer together.", kindInt, false, positiveNumber},
		{"default-max-tokens", inference.SettingDefaultMaxTokens, "Length limit of answers whose request sets none.", kindInt, false, positiveNumber},
		{"backend", inference.SettingBackend, "Contract of the model: vllm, tensorrtllm, llmapi or python.", kindText, false, backendName},
		{"task", inference.SettingTask, "generate or embed, where the tensors allow both.", kindText, false, oneOf("generate", "embed")},
		{"vision", inference.SettingVision, "Whether the model reads images.", kindBool, false, asIs},
		{"structured-outputs", inference.SettingStructuredOutputs, "Backend by which the engine holds answers to constraints: auto, xgrammar, guidance, outlines or none.", kindText, false, oneOf(inference.StructuredOutputs()...)},
		{"image-token", inference.SettingImageToken, "Text that stands for an image in the prompt, or none.", kindText, false, asIs},
		{"bos-token", inference.SettingBOSToken, "Token that begins a text, for the chat template.", kindText, false, asIs},
		{"eos-token", inference.SettingEOSToken, "Token that ends it.", kindText, false, asIs},
		{"loras", inference.SettingLoRAs, "Names of its LoRA adapters, NAME=NUMBER or NAME=PATH where their files aren't at hand, or none.", kindText, true, withoutComma},
		{"aliases", inference.SettingAliases, "Further names of the model.", kindText, true, withoutComma},
		{"hidden", inference.SettingHidden, "Whether the model is left out of lists.", kindBool, false, asIs},
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
		given := map[string]string{} // keyed by setting
		r.eachKey(settings, model.Value, func(key, value *yaml.Node) {
			i := slices.Index(names, key.Value)
			if i < 0 {
				r.problemf(key, "models: %s: unknown key %s%s", model.Value, key.Value, didYouMean(nearest(strings.ReplaceAll(key.Value, "_", "-"), names)))
				return
			}
			k := keys[i]
			if other := given[k.setting]; other != "" {
				r.problemf(key, "models: %s: %s and %s: give one of them, not both", model.Value, other, k.name)
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
			return "", fmt.Errorf("%q is none of %s", text, strings.Join(names, ", "))
		}
		return text, nil
	}
}

// withoutComma returns a string that can be an item of a setting's list, or an error.
func withoutComma(text string) (string, error) {
	if strings.Contains(text, ",") {
		return "", fmt.Errorf("%q: write a list of names, each of its own", text)
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
