package modelfiles

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/trident-inference/trident/services/inference"
)

// LoadTemplate reads chat templates. path is a file of Jinja, a file of Liquid with
// the suffix .liquid, a tokenizer_config.json, or a folder of Hugging Face's layout.
func LoadTemplate(path string) (inference.TemplateSource, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return inference.TemplateSource{}, err
	case info.IsDir():
		published, err := readFolder(path)
		if err == nil && published.Template.Source == "" {
			err = fmt.Errorf("%s has no chat template: the folder needs a chat_template.jinja, or a tokenizer_config.json with a chat_template", path)
		}
		if err != nil {
			return inference.TemplateSource{}, err
		}
		return published.Template, nil
	case filepath.Ext(path) == ".json":
		return templatesOf(path)
	}
	text, err := readText(path)
	return inference.TemplateSource{Source: text, Liquid: filepath.Ext(path) == ".liquid"}, err
}

// templatesOf returns the templates in a tokenizer_config.json.
func templatesOf(path string) (inference.TemplateSource, error) {
	var config tokenizerConfig
	data, err := readFile(path)
	if err == nil {
		err = json.Unmarshal(data, &config)
	}
	if err != nil {
		return inference.TemplateSource{}, fmt.Errorf("%s: %w", path, err)
	}
	named, err := parseTemplates(config["chat_template"])
	if err != nil || named[defaultTemplate] == "" {
		return inference.TemplateSource{}, fmt.Errorf("%s has no chat_template that is a string, or a list with a template named %q", path, defaultTemplate)
	}
	source := inference.TemplateSource{Source: named[defaultTemplate], Tokens: tokensOf(config)}
	delete(named, defaultTemplate)
	source.Named = named
	return source, nil
}
