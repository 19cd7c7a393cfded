package modelfiles

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/trident-inference/trident/services/inference"
)

// Files of Hugging Face's layout.
const (
	fileTokenizer       = "tokenizer.json"
	fileTokenizerConfig = "tokenizer_config.json"
	fileSpecialTokens   = "special_tokens_map.json"
	fileConfig          = "config.json"
	fileTemplate        = "chat_template.jinja"
	fileTemplateJSON    = "chat_template.json" // chat template file that older versions write for processors
	folderTemplates     = "additional_chat_templates"
	extTemplate         = ".jinja"
)

// defaultTemplate is the name of the template without a name.
const defaultTemplate = "default"

// tokenizerConfig is the content of tokenizer_config.json with all its fields.
type tokenizerConfig map[string]json.RawMessage

// readFolder reads those of Hugging Face's files that the folder has.
func readFolder(folder string) (*inference.Published, error) {
	p := &inference.Published{Folder: folder}
	_, err := os.Stat(filepath.Join(folder, fileTokenizer))
	p.HasTokenizer = err == nil
	var config tokenizerConfig
	errs := []error{readJSON(folder, fileTokenizerConfig, &config)}
	tokens, err := specialTokens(folder, config)
	errs = append(errs, err)
	named, origin, err := templates(folder, config)
	errs = append(errs, err)
	p.Template = inference.TemplateSource{Source: named[defaultTemplate], Tokens: tokens}
	if p.Template.Source == "" && len(named) > 0 {
		errs = append(errs, fmt.Errorf("%s: no template has the name %q", origin, defaultTemplate))
	}
	delete(named, defaultTemplate)
	if len(named) > 0 {
		p.Template.Named = named
	}
	p.TemplateOrigin = origin
	var model modelConfig
	errs = append(errs, readJSON(folder, fileConfig, &model))
	p.ContextLength, p.ImageToken = contextLength(model, config), imageToken(model)
	errs = append(errs, readEncoder(folder, model, p))
	return p, errors.Join(errs...)
}

// readJSON decodes a file. It leaves the value unchanged if the file is
// missing.
func readJSON(folder, name string, into any) error {
	data, err := readFile(filepath.Join(folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// tokenNames are the names of the special tokens that transformers passes to
// templates.
func tokenNames() []string {
	return []string{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}
}

// specialTokens returns the strings of the special tokens by name.
// special_tokens_map.json takes precedence if the tokenizer's configuration is of a
// version without added_tokens_decoder.
func specialTokens(folder string, config tokenizerConfig) (map[string]string, error) {
	tokens := tokensOf(config)
	if _, ok := config["added_tokens_decoder"]; ok {
		return tokens, nil
	}
	var older tokenizerConfig
	err := readJSON(folder, fileSpecialTokens, &older)
	maps.Copy(tokens, tokensOf(older))
	return tokens, err
}

func tokensOf(config tokenizerConfig) map[string]string {
	tokens := map[string]string{}
	for _, name := range tokenNames() {
		if text := tokenText(config[name]); text != "" {
			tokens[name] = text
		}
	}
	return tokens
}

// tokenText returns the string of a token, which is written as a string, or as
// an object with its content.
func tokenText(raw json.RawMessage) string {
	var object struct {
		Content string `json:"content"`
	}
	if json.Unmarshal(raw, &object) == nil {
		return object.Content
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// templates returns the chat templates by name, and the file or key that has
// them. As in transformers, template files replace the templates of the
// tokenizer's configuration.
func templates(folder string, config tokenizerConfig) (named map[string]string, origin string, err error) {
	if named, origin, err = templateFiles(folder); err != nil || len(named) > 0 {
		return named, origin, err
	}
	origin = fileTokenizerConfig + ": chat_template"
	raw := config["chat_template"]
	if len(raw) == 0 || string(raw) == "null" {
		var processor tokenizerConfig
		origin, err = fileTemplateJSON, readJSON(folder, fileTemplateJSON, &processor)
		if raw = processor["chat_template"]; err != nil || len(raw) == 0 {
			return nil, "", err
		}
	}
	named, err = parseTemplates(raw)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", origin, err)
	}
	return named, origin, nil
}

// templateFiles returns the templates of chat_template.jinja and of the folder
// of additional templates.
func templateFiles(folder string) (named map[string]string, origin string, err error) {
	named = map[string]string{}
	text, err := readText(filepath.Join(folder, fileTemplate))
	if err == nil {
		named[defaultTemplate] = text
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("%s: %w", fileTemplate, err)
	}
	others, err := os.ReadDir(filepath.Join(folder, folderTemplates))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	for _, file := range others {
		name, is := strings.CutSuffix(file.Name(), extTemplate)
		if !is {
			continue
		}
		if named[name], err = readText(filepath.Join(folder, folderTemplates, file.Name())); err != nil {
			return nil, "", fmt.Errorf("%s/%s: %w", folderTemplates, file.Name(), err)
		}
	}
	return named, fileTemplate, nil
}

// readText reads a file as text, with Python's universal newlines.
func readText(path string) (string, error) {
	data, err := readFile(path)
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data)), err
}

// parseTemplates decodes one template, or a list of named templates.
func parseTemplates(raw json.RawMessage) (map[string]string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return map[string]string{defaultTemplate: text}, nil
	}
	var list []struct {
		Name     string `json:"name"`
		Template string `json:"template"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, errors.New("the chat template is neither a string nor a list of named templates")
	}
	named := map[string]string{}
	for _, t := range list {
		named[t.Name] = t.Template
	}
	return named, nil
}

// endless is the lower bound of values of model_max_length that mean "no limit":
// transformers writes 1e30.
const endless = 1 << 40

// contextLength returns the smaller of the model's context length and the
// tokenizer's limit, in tokens.
func contextLength(config modelConfig, tokenizer tokenizerConfig) inference.Setting {
	length, key := config.length()
	origin := fileConfig + ": " + key
	var limit float64
	_ = json.Unmarshal(tokenizer["model_max_length"], &limit) // absent, or not a number
	if limit >= 1 && limit < endless && (length == 0 || int(limit) < length) {
		length, origin = int(limit), fileTokenizerConfig+": model_max_length"
	}
	if length == 0 {
		return inference.Setting{}
	}
	return inference.Setting{Name: inference.SettingContextLength, Value: strconv.Itoa(length), Origin: origin}
}

// imageTokens are the strings that represent an image in prompts, by model family.
// It lists families whose chat templates possibly don't show the string.
//
// Source: get_placeholder_str of vLLM's models.
var imageTokens = map[string]string{ //nolint:gochecknoglobals // a constant table
	"blip-2":         inference.NoImageToken,
	"chameleon":      "<image>",
	"deepseek_vl_v2": "<image>",
	"dots_ocr":       "<|img|><|imgpad|><|endofimg|>",
	"fuyu":           inference.NoImageToken,
	"internvl_chat":  "<image>",
	"llava":          "<image>",
	"llava_next":     "<image>",
	"minicpmv":       "(<image>./</image>)",
	"paligemma":      inference.NoImageToken,
	"phi3_v":         "<|image_{n}|>",
	"qwen2_vl":       "<|vision_start|><|image_pad|><|vision_end|>",
	"qwen2_5_vl":     "<|vision_start|><|image_pad|><|vision_end|>",
	"qwen3_vl":       "<|vision_start|><|image_pad|><|vision_end|>",
}

// imageToken returns the image token of the model's family.
func imageToken(config modelConfig) inference.Setting {
	var family string
	_ = json.Unmarshal(config["model_type"], &family) // absent, or not a string
	token := imageTokens[family]
	if token == "" {
		return inference.Setting{}
	}
	return inference.Setting{Name: inference.SettingImageToken, Value: token, Origin: fileConfig + ": model_type " + family}
}

// modelConfig is a model's config.json.
type modelConfig map[string]json.RawMessage

// lengthKeys are the keys that model families use for the context length, as
// vLLM reads them. The smallest value applies.
func lengthKeys() []string {
	return []string{"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", "max_sequence_length", "max_seq_length", "seq_len"}
}

// length returns the model's context length in tokens, or 0, and the key that
// has it.
func (c modelConfig) length() (length int, key string) {
	var text modelConfig // the nested configuration of models that read images
	if json.Unmarshal(c["text_config"], &text) == nil && text != nil {
		if length, key = text.length(); length > 0 {
			return length, "text_config." + key
		}
	}
	for _, k := range lengthKeys() {
		var n float64
		if json.Unmarshal(c[k], &n) == nil && n >= 1 && n < endless && (length == 0 || int(n) < length) {
			length, key = int(n), k
		}
	}
	return c.scaled(length-c.reserved(), key)
}

// reserved returns the number of positions that the RoBERTa family reserves: its positions start after
// that of padding.
func (c modelConfig) reserved() int {
	var family string
	pad := 1
	_ = json.Unmarshal(c["model_type"], &family) // absent, or not a string
	_ = json.Unmarshal(c["pad_token_id"], &pad)  // absent, or not a number
	if slices.Contains([]string{"camembert", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl", "xmod"}, family) {
		return pad + 1
	}
	return 0
}

// scaled returns the length after the scaling of rotary positions that config.json
// asks for. For Llama 3 and longrope the length includes the scaling already.
func (c modelConfig) scaled(length int, key string) (int, string) {
	var scaling struct {
		Type     string  `json:"type"`
		RopeType string  `json:"rope_type"`
		Factor   float64 `json:"factor"`
		Original int     `json:"original_max_position_embeddings"`
	}
	raw := c["rope_scaling"]
	if len(raw) == 0 {
		raw = c["rope_parameters"] // the key's name since transformers 5
	}
	if length == 0 || json.Unmarshal(raw, &scaling) != nil || scaling.Factor <= 1 || math.IsInf(scaling.Factor, 0) {
		return length, key
	}
	kind := cmp.Or(scaling.RopeType, scaling.Type)
	if !slices.Contains([]string{"linear", "dynamic", "yarn"}, kind) {
		return length, key
	}
	if kind == "yarn" && scaling.Original > 0 {
		length = scaling.Original
	}
	return int(min(float64(length)*scaling.Factor, endless)), key + " and rope_scaling"
}
