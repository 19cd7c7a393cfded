package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/trident-inference/trident/services/chat"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/modelfiles"
	"github.com/trident-inference/trident/services/toolparser"
)

// modelFlags override the models' own metadata. Most flags accept MODEL=VALUE for
// one model, or a VALUE for all models without a MODEL=VALUE. In the environment
// variable of a repeatable flag, each line is a value.
type modelFlags struct {
	Tokenizer       []perModel `sep:"\n" type:"lines" placeholder:"[MODEL=]FOLDER|ID" help:"Source of a model's tokenizer, chat template and context length: a folder in Hugging Face's layout, or a repository id on its hub; repeatable. A value with the prefix MODEL= applies to that model; any other value applies to all models without a value of their own."`
	ChatTemplate    []perModel `sep:"\n" type:"lines" placeholder:"[MODEL=]FILE" help:"Jinja chat template of a model: a file, the template itself, or none; repeatable. A value with the prefix MODEL= applies to that model; any other value applies to all models without a value of their own."`
	ToolCallParser  []perModel `sep:"\n" type:"lines" placeholder:"[MODEL=]NAME" help:"Parser of a model's tool calls, by vLLM's name, or none to disable parsing; repeatable. A value with the prefix MODEL= applies to that model; any other value applies to all models without a value of their own. Default: detected from the chat template."`
	ReasoningParser []perModel `sep:"\n" type:"lines" placeholder:"[MODEL=]NAME" help:"Parser of a model's reasoning, by vLLM's name, or none to disable parsing; repeatable. A value with the prefix MODEL= applies to that model; any other value applies to all models without a value of their own. Default: detected from the chat template."`

	EngineDir string `placeholder:"FOLDER" help:"Folder of a TensorRT-LLM engine. Its config.json provides the context length of models whose config.pbtxt doesn't set a context length."`

	HistoryTemplate     string `placeholder:"TEXT" help:"Liquid template that builds the prompt of chats for models without a chat template."`
	HistoryTemplateFile string `placeholder:"FILE" help:"File with a Liquid template that builds the prompt of chats for models without a chat template; can't be combined with --history-template."`

	MaxToolCallParseBytes size     `default:"${max_tool_call_parse_bytes}" help:"Maximum size of the tool calls in one choice of a response, in bytes or with a unit such as 1MiB; a choice with larger tool calls ends with finish_reason length. 0 means the default."`
	TritonModelRepository []string `placeholder:"DIR" help:"Path on this machine of the model repository of the tritonserver at --triton-endpoint; repeatable. Trident then finds tokenizers and chat templates in the models' files."`
}

// perModel is a flag's value for one model, or for all models.
type perModel struct{ model, value string }

// modelName matches a model's name before "=". It excludes paths, except simple file
// names; a user can put ./ before such a path.
var modelName = regexp.MustCompile(`^[A-Za-z0-9_][\w.-]*$`)

// UnmarshalText reads [MODEL=]VALUE.
func (p *perModel) UnmarshalText(text []byte) error {
	p.value = string(text)
	if model, value, found := strings.Cut(p.value, "="); found && modelName.MatchString(model) {
		p.model, p.value = model, value
	}
	if p.value == "" {
		return errors.New("must not be empty")
	}
	return nil
}

// MarshalText is the reverse of UnmarshalText.
func (p perModel) MarshalText() ([]byte, error) { //nolint:unparam // encoding.TextMarshaler has an error
	if p.model == "" {
		return []byte(p.value), nil
	}
	return []byte(p.model + "=" + p.value), nil
}

// overrides returns the validated settings of the flags.
func (f *modelFlags) overrides() ([]inference.Override, error) {
	dialects := toolparser.Dialects{}
	var all []inference.Override
	for _, row := range []struct {
		flag, setting string
		values        []perModel
		read          func(value string) (string, error)
	}{
		{"--tokenizer", inference.SettingTokenizer, f.Tokenizer, asIs},
		{"--chat-template", inference.SettingChatTemplate, f.ChatTemplate, readChatTemplate},
		{"--tool-call-parser", inference.SettingToolParser, f.ToolCallParser, checked(func(name string) error { return dialects.Check(name, "") })},
		{"--reasoning-parser", inference.SettingReasoningParser, f.ReasoningParser, checked(func(name string) error { return dialects.Check("", name) })},
	} {
		for i, v := range row.values {
			if slices.ContainsFunc(row.values[:i], func(other perModel) bool { return other.model == v.model }) {
				return nil, fmt.Errorf("%s: is set twice for %s: keep one value", row.flag, modelPhrase(v.model))
			}
			value, err := row.read(v.value)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", row.flag, err)
			}
			origin := row.flag
			if value != v.value {
				origin += " " + v.value
			}
			all = append(all, inference.Override{Model: v.model, Setting: inference.Setting{Name: row.setting, Value: value, Origin: origin}})
		}
	}
	engine, engineErr := f.engine()
	history, err := f.history()
	return append(append(all, engine...), history...), errors.Join(engineErr, err)
}

// engine returns the context length that an engine was built for.
func (f *modelFlags) engine() ([]inference.Override, error) {
	if f.EngineDir == "" {
		return nil, nil
	}
	if _, err := os.Stat(filepath.Join(f.EngineDir, "config.json")); err != nil {
		return nil, fmt.Errorf("--engine-dir: %w", err)
	}
	length, key, err := modelfiles.EngineLength(f.EngineDir)
	if err != nil {
		return nil, fmt.Errorf("--engine-dir: %w", err)
	}
	if length == 0 {
		return nil, fmt.Errorf("--engine-dir: %s has no context length of the engine", filepath.Join(f.EngineDir, "config.json"))
	}
	return []inference.Override{{Setting: inference.Setting{
		Name: inference.SettingContextLength, Value: strconv.Itoa(length), Origin: "--engine-dir " + f.EngineDir + ": " + key,
	}}}, nil
}

func modelPhrase(model string) string {
	if model == "" {
		return "all models"
	}
	return "the model " + model
}

const noValue = "none"

func asIs(value string) (string, error) { return value, nil }

// checked returns a function that accepts "none" and names that check accepts.
func checked(check func(string) error) func(string) (string, error) {
	return func(name string) (string, error) {
		if name == noValue {
			return name, nil
		}
		return name, check(name)
	}
}

// readChatTemplate returns the text of a template file. A value that isn't a file,
// and contains braces or lines, is the template itself, as in vLLM.
func readChatTemplate(file string) (string, error) {
	if file == noValue {
		return file, nil
	}
	if _, err := os.Stat(file); err != nil && strings.ContainsAny(file, "{}\n") {
		_, err := chat.Compile("", inference.TemplateSource{Source: file})
		return file, err
	}
	source, err := modelfiles.LoadTemplate(file)
	switch {
	case err != nil:
		return "", err
	case source.Liquid:
		return "", fmt.Errorf("%s is a Liquid template: set --history-template-file to this file instead", file)
	case source.Tokens != nil: // the tokens and named templates would be lost
		return "", fmt.Errorf("%s is more than a Jinja template: set --tokenizer to the folder of tokenizer_config.json instead", file)
	}
	if _, err := chat.Compile(file, source); err != nil {
		return "", err
	}
	return source.Source, nil
}

// history returns the template for models without a chat template.
func (f *modelFlags) history() ([]inference.Override, error) {
	s := inference.Setting{Name: inference.SettingHistoryTemplate, Value: f.HistoryTemplate, Origin: "--history-template"}
	switch {
	case f.HistoryTemplate != "" && f.HistoryTemplateFile != "":
		return nil, errors.New("--history-template, --history-template-file: both are set: keep one")
	case f.HistoryTemplateFile != "":
		text, err := os.ReadFile(f.HistoryTemplateFile)
		if err != nil {
			return nil, fmt.Errorf("--history-template-file: %w", err)
		}
		s.Value, s.Origin = string(text), "--history-template-file "+f.HistoryTemplateFile
	case f.HistoryTemplate == "":
		return nil, nil
	}
	if _, err := checkedHistory(s.Value); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Origin, err)
	}
	return []inference.Override{{Setting: s}}, nil
}
