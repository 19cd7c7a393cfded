package modelfiles

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/trident-inference/trident/services/inference"
)

// Files of sentence-transformers.
const (
	fileModules       = "modules.json"
	filePooling       = "1_Pooling/config.json"
	fileSentenceBERT  = "sentence_bert_config.json"
	fileSentenceTrans = "config_sentence_transformers.json"
)

// encoderFiles collects the settings of an encoder from its folder.
type encoderFiles struct {
	folder    string
	published *inference.Published
	errs      []error
}

// readEncoder reads the settings of encoders from the files of a folder.
func readEncoder(folder string, config modelConfig, p *inference.Published) error {
	e := encoderFiles{folder: folder, published: p}
	e.modules()
	e.sentenceBERT()
	e.prompts()
	e.classes(config)
	var pad int
	if json.Unmarshal(config["pad_token_id"], &pad) == nil && config["pad_token_id"] != nil {
		e.found(inference.SettingPadToken, strconv.Itoa(pad), fileConfig+": pad_token_id")
	}
	return errors.Join(e.errs...)
}

func (e *encoderFiles) found(name, value, origin string) {
	if value != "" {
		e.published.Encoder = append(e.published.Encoder, inference.Setting{Name: name, Value: value, Origin: origin})
	}
}

// read decodes a file, if it exists.
func (e *encoderFiles) read(name string, into any) {
	if err := readJSON(e.folder, filepath.FromSlash(name), into); err != nil {
		e.errs = append(e.errs, err)
	}
}

// modules reads the parts of a sentence-transformers model: after the transformer usually a pooling and
// a normalization.
func (e *encoderFiles) modules() {
	var modules []struct {
		Path string `json:"path"`
		Type string `json:"type"`
	}
	e.read(fileModules, &modules)
	normalizes := false
	for _, m := range modules {
		if m.Path != "" && !filepath.IsLocal(filepath.FromSlash(m.Path)) {
			e.errs = append(e.errs, fmt.Errorf("%s: the path %q is outside of the folder", fileModules, m.Path))
			continue
		}
		kind := m.Type[strings.LastIndexByte(m.Type, '.')+1:]
		switch kind {
		case "Transformer", "MLMTransformer":
		case "MultiVectorMask": // it selects the tokens that clients compare, and computes nothing
		case "SpladePooling":
			e.sparsePooling(path.Join(m.Path, fileConfig))
		case "Pooling":
			e.pooling(path.Join(m.Path, fileConfig))
		case "Normalize":
			normalizes = true
		default:
			e.published.Unsupported = inference.Setting{Name: "module", Value: kind, Origin: fileModules}
		}
	}
	switch {
	case normalizes:
		e.found(inference.SettingNormalize, "true", fileModules+": Normalize")
	case modules != nil:
		e.found(inference.SettingNormalize, "false", fileModules+": no Normalize")
	default:
		e.pooling(filePooling)
	}
}

// sparsePooling reads how sparse vectors are computed from the logits of the vocabulary.
func (e *encoderFiles) sparsePooling(name string) {
	var config struct {
		Pooling    string `json:"pooling_strategy"`
		Activation string `json:"activation_function"`
	}
	e.read(name, &config)
	if config.Pooling != "" {
		e.found(inference.SettingSparsePooling, config.Pooling, name+": pooling_strategy")
	}
	if config.Activation != "" {
		e.found(inference.SettingSparseActivation, config.Activation, name+": activation_function")
	}
}

// poolingModes are the keys of poolings in the order of sentence-transformers.
var poolingModes = []struct{ key, pooling string }{ //nolint:gochecknoglobals // a constant table
	{"pooling_mode_cls_token", "cls"},
	{"pooling_mode_max_tokens", "max"},
	{"pooling_mode_mean_tokens", "mean"},
	{"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt"},
	{"pooling_mode_weightedmean_tokens", "weighted_mean"},
	{"pooling_mode_lasttoken", "last"},
}

// pooling reads the configuration of a pooling. Several modes at once, whose vectors are joined, aren't
// supported.
func (e *encoderFiles) pooling(name string) {
	config := modelConfig{}
	e.read(name, &config)
	var modes, keys []string
	for _, mode := range poolingModes {
		if string(config[mode.key]) == "true" {
			modes, keys = append(modes, mode.pooling), append(keys, mode.key)
		}
	}
	var named string
	if json.Unmarshal(config["pooling_mode"], &named) == nil && named != "" && len(modes) == 0 {
		modes, keys = []string{map[string]string{"lasttoken": "last", "weightedmean": "weighted_mean", "mean_sqrt_len_tokens": "mean_sqrt"}[named]}, []string{"pooling_mode"}
		if modes[0] == "" {
			modes[0] = named
		}
	}
	switch len(modes) {
	case 0:
	case 1:
		e.found(inference.SettingPooling, modes[0], name+": "+keys[0])
	default:
		e.published.Unsupported = inference.Setting{Name: "pooling", Value: strings.Join(modes, " and "), Origin: name}
	}
	if string(config["include_prompt"]) == "false" {
		e.found(inference.SettingIncludePrompt, "false", name+": include_prompt")
	}
}

// sentenceBERT reads the maximum length, which replaces a longer one of the model.
func (e *encoderFiles) sentenceBERT() {
	var config struct {
		MaxLength int  `json:"max_seq_length"`
		LowerCase bool `json:"do_lower_case"`
	}
	e.read(fileSentenceBERT, &config)
	if known, _ := strconv.Atoi(e.published.ContextLength.Value); config.MaxLength > 0 && (known == 0 || config.MaxLength < known) {
		e.published.ContextLength = inference.Setting{Name: inference.SettingContextLength, Value: strconv.Itoa(config.MaxLength), Origin: fileSentenceBERT + ": max_seq_length"}
	}
	if config.LowerCase {
		e.found(inference.SettingLowerCase, "true", fileSentenceBERT+": do_lower_case")
	}
}

// prompts reads the texts that are put before inputs.
func (e *encoderFiles) prompts() {
	var config struct {
		Prompts map[string]string `json:"prompts"`
		Default string            `json:"default_prompt_name"`
	}
	e.read(fileSentenceTrans, &config)
	maps.DeleteFunc(config.Prompts, func(_, text string) bool { return text == "" })
	if len(config.Prompts) > 0 {
		list, _ := json.Marshal(config.Prompts) //nolint:errchkjson // strings
		e.found(inference.SettingPrompts, string(list), fileSentenceTrans+": prompts")
	}
	if _, ok := config.Prompts[config.Default]; ok {
		e.found(inference.SettingDefaultPrompt, config.Default, fileSentenceTrans+": default_prompt_name")
	}
}

// The suffixes of the architectures of models with logits of classes, and with logits of the vocabulary.
const (
	headClasses    = "ForSequenceClassification"
	headVocabulary = "ForMaskedLM"
)

// classes reads the labels and the activation function of a classifier.
func (e *encoderFiles) classes(config modelConfig) {
	var architectures []string
	_ = json.Unmarshal(config["architectures"], &architectures) // absent, or another type
	for _, name := range architectures {
		if strings.HasSuffix(name, headVocabulary) {
			e.found(inference.SettingTask, "sparse", fileConfig+": architectures")
		}
	}
	if !slices.ContainsFunc(architectures, func(name string) bool { return strings.HasSuffix(name, headClasses) }) {
		return
	}
	e.found(inference.SettingTask, "classify", fileConfig+": architectures")
	var labels map[string]string
	if json.Unmarshal(config["id2label"], &labels) == nil && len(labels) > 0 {
		e.labels(labels)
	}
	e.activation(config)
}

// labels records the names of the classes in the order of their numbers.
func (e *encoderFiles) labels(labels map[string]string) {
	list := make([]string, len(labels))
	for key, label := range labels {
		n, err := strconv.Atoi(key)
		if err != nil || n < 0 || n >= len(list) {
			e.errs = append(e.errs, fmt.Errorf("%s: id2label has the key %q, but the keys of %d labels are the numbers from 0", fileConfig, key, len(labels)))
			return
		}
		list[n] = label
	}
	value, _ := json.Marshal(list) //nolint:errchkjson // strings
	e.found(inference.SettingLabels, string(value), fileConfig+": id2label")
}

// activation records the activation function: that of a sentence-transformers cross-encoder, or else
// the one of the problem that the model was trained for.
func (e *encoderFiles) activation(config modelConfig) {
	var sentence struct {
		Activation string `json:"activation_fn"`
	}
	_ = json.Unmarshal(config["sentence_transformers"], &sentence) // absent, or another type
	origin := "sentence_transformers.activation_fn"
	if sentence.Activation == "" {
		origin = "sbert_ce_default_activation_function"
		_ = json.Unmarshal(config[origin], &sentence.Activation) // absent, or another type
	}
	function := sentence.Activation[strings.LastIndexByte(sentence.Activation, '.')+1:]
	if value := map[string]string{"Identity": "none", "Sigmoid": "sigmoid", "Softmax": "softmax"}[function]; value != "" {
		e.found(inference.SettingActivation, value, fileConfig+": "+origin)
		return
	}
	if function != "" {
		e.errs = append(e.errs, fmt.Errorf("%s: the function %q of %s is not supported: the number of classes determines the activation", fileConfig, function, origin))
	}
	var problem string
	_ = json.Unmarshal(config["problem_type"], &problem) // absent, or another type
	value := map[string]string{"single_label_classification": "softmax", "multi_label_classification": "sigmoid", "regression": "none"}[problem]
	e.found(inference.SettingActivation, value, fileConfig+": problem_type "+problem)
}
