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
	fileTemplateJSON    = "chat_template.json" // of processors, in older versions
	folderTemplates     = "additional_chat_templates"
	extTemplate         = ".jinja"
)

// defaultTemplate is the name of the template without a name.
const defaultTemplate = "default"

// tokenizerConfig is tokenizer_config.json with all its fields.
type tokenizerConfig map[string]json.RawMessage

// readFolder reads what there is of Hugging Face's files.
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
		errs = append(errs, fmt.Errorf("%s: none of its templates is named %q", origin, defaultTemplate))
	}
	delete(named, defaultTemplate)
	if len(named) > 0 {
		p.Template.Named = named
	}
	p.TemplateOrigin = origin
	var model modelConfig
	errs = append(errs, readJSON(folder, fileConfig, &model))
	p.ContextLength, p.ImageToken = contextLength(model, config), imageToken(model)
	return p, errors.Join(errs...)
}

// readJSON leaves the value as it is when there is no such file.
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

// tokenNames are the special tokens that transformers gives templates.
func tokenNames() []string {
	return []string{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}
}

// specialTokens are the texts of special tokens. special_tokens_map.json holds where
// the tokenizer's config is of a version that has no added_tokens_decoder.
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

// tokenText is a token written as a string, or as an object with its content.
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

// templates are the chat templates by name, and where they stand. As in
// transformers, files of templates replace those of the tokenizer's config.
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

// templateFiles are chat_template.jinja and the files of the folder for others.
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

// readText reads a text with Python's universal line ends.
func readText(path string) (string, error) {
	data, err := readFile(path)
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data)), err
}

// parseTemplates reads one template, or a list of templates with names.
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
		return nil, errors.New("it is neither a text nor a list of templates with names")
	}
	named := map[string]string{}
	for _, t := range list {
		named[t.Name] = t.Template
	}
	return named, nil
}

// endless is where model_max_length stops being a length: transformers writes 1e30
// for none.
const endless = 1 << 40

// contextLength is the smaller of what the model was made for and what its tokenizer
// says.
func contextLength(config modelConfig, tokenizer tokenizerConfig) inference.Setting {
	length, key := config.length()
	origin := fileConfig + ": " + key
	var limit float64
	_ = json.Unmarshal(tokenizer["model_max_length"], &limit) // none, or not a number
	if limit >= 1 && limit < endless && (length == 0 || int(limit) < length) {
		length, origin = int(limit), fileTokenizerConfig+": model_max_length"
	}
	if length == 0 {
		return inference.Setting{}
	}
	return inference.Setting{Name: inference.SettingContextLength, Value: strconv.Itoa(length), Origin: origin}
}

// imageTokens are the texts that stand for an image in the prompts of families whose
// chat templates may show none.
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

// imageToken is that of the model's family.
func imageToken(config modelConfig) inference.Setting {
	var family string
	_ = json.Unmarshal(config["model_type"], &family) // none, or not a text
	token := imageTokens[family]
	if token == "" {
		return inference.Setting{}
	}
	return inference.Setting{Name: inference.SettingImageToken, Value: token, Origin: fileConfig + ": model_type " + family}
}

// modelConfig is a model's config.json.
type modelConfig map[string]json.RawMessage

// lengthKeys are the names that families of models have for the length of their
// context, as vLLM reads them; the smallest holds.
func lengthKeys() []string {
	return []string{"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", "max_sequence_length", "max_seq_length", "seq_len"}
}

// length is the model's context in tokens, or 0, and the key that says so.
func (c modelConfig) length() (length int, key string) {
	var text modelConfig // of models that read images, too
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
	return c.scaled(length, key)
}

// scaled is the length under a scaling of rotary positions that config.json asks for.
// Those of Llama 3 and of longrope are in the length already.
func (c modelConfig) scaled(length int, key string) (int, string) {
	var scaling struct {
		Type     string  `json:"type"`
		RopeType string  `json:"rope_type"`
		Factor   float64 `json:"factor"`
		Original int     `json:"original_max_position_embeddings"`
	}
	raw := c["rope_scaling"]
	if len(raw) == 0 {
		raw = c["rope_parameters"] // its name since transformers 5
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
