package modelfiles

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// maxFile is the maximum size of a settings file, in bytes. tokenizer_config.json is
// the largest of these files: that file has some MB where a vocabulary has many special
// tokens.
const maxFile = 32 << 20

// none is the value of a setting that is known to be absent.
const none = "none"

// Detect reads the settings from the files and configurations of the kinds of
// models that Triton's backends have.
func (l *Library) Detect(m inference.Model, others func(name string) *kserve.ModelConfig) ([]inference.Setting, error) {
	d := &detection{folder: l.folderOf(m.Name), version: m.Version, config: m.Config, others: others}
	d.vllm()
	d.llmapi()
	d.tensorrtLLM()
	d.loras()
	d.beside()
	return d.settings, errors.Join(d.errs...)
}

// detection collects the settings of one model, with the errors of files that
// can't be read.
type detection struct {
	folder  string // path of the model's folder in a repository; empty if no local repository has the model
	version string
	config  *kserve.ModelConfig
	others  func(name string) *kserve.ModelConfig
	engine  *vllmArguments // nil if there is no readable model.json

	settings []inference.Setting
	errs     []error
}

// found adds a setting, unless its value is empty.
func (d *detection) found(name, value, origin string) {
	if value != "" {
		d.settings = append(d.settings, inference.Setting{Name: name, Value: value, Origin: origin})
	}
}

// beside finds a tokenizer in the folder of the model or of its version, where nothing else names one.
func (d *detection) beside() {
	if d.folder == "" {
		return
	}
	for _, folder := range []string{d.version, ""} {
		name := filepath.Join(folder, fileTokenizer)
		if info, err := os.Stat(filepath.Join(d.folder, name)); err == nil && info.Mode().IsRegular() {
			d.found(inference.SettingTokenizer, filepath.Join(d.folder, folder), filepath.ToSlash(name))
			return
		}
	}
}

// read decodes a file of the model's version into a value. It returns false if
// the file is missing or can't be read.
func (d *detection) read(name string, decode func([]byte, any) error, into any) bool {
	if d.folder == "" || d.version == "" {
		return false
	}
	data, err := readFile(filepath.Join(d.folder, d.version, name))
	if err == nil {
		err = decode(data, into)
	}
	switch {
	case err == nil:
		return true
	case !errors.Is(err, fs.ErrNotExist):
		d.errs = append(d.errs, fmt.Errorf("%s/%s: %w", d.version, name, err))
	}
	return false
}

// readFile reads a file of a bounded size.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("the file has more than %d bytes", maxFile)
	}
	return data, err
}

// fileVLLM has the engine's arguments of Triton's vLLM backend.
const fileVLLM = "model.json"

type vllmArguments struct {
	Model             string      `json:"model"`
	Tokenizer         string      `json:"tokenizer"`
	Revision          string      `json:"revision"`
	TokenizerRevision string      `json:"tokenizer_revision"`
	MaxModelLen       json.Number `json:"max_model_len"`
	MaxLogprobs       json.Number `json:"max_logprobs"`
	EnableLoRA        any         `json:"enable_lora"`

	// StructuredOutputs is an object, or JSON in a string. GuidedBackend is vLLM's name
	// of the setting before 0.10.2.
	StructuredOutputs json.RawMessage `json:"structured_outputs_config"`
	GuidedBackend     string          `json:"guided_decoding_backend"`
}

// vllm reads the engine's arguments of Triton's vLLM backend.
func (d *detection) vllm() {
	var args vllmArguments
	if !d.read(fileVLLM, json.Unmarshal, &args) {
		return
	}
	d.engine = &args
	origin := d.version + "/" + fileVLLM + ": "
	if args.Tokenizer != "" {
		d.reference(args.Tokenizer, args.TokenizerRevision, origin+"tokenizer")
	} else {
		revision := args.Revision
		if args.TokenizerRevision != "" {
			revision = args.TokenizerRevision
		}
		d.reference(args.Model, revision, origin+"model")
	}
	d.found(inference.SettingContextLength, args.MaxModelLen.String(), origin+"max_model_len")
	if args.MaxLogprobs != "0" { // without log probabilities there is nothing to limit
		d.found(inference.SettingMaxLogprobs, args.MaxLogprobs.String(), origin+"max_logprobs")
	}
	d.structuredOutputs(&args, origin)
}

// structuredOutputs adds the backend of structured outputs that the engine is
// configured to use. Older versions append options after a colon.
func (d *detection) structuredOutputs(args *vllmArguments, origin string) {
	var config struct {
		Backend string `json:"backend"`
	}
	raw := args.StructuredOutputs
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		_ = json.Unmarshal(raw, &text) // a string without an object yields no backend
		raw = json.RawMessage(text)
	}
	if len(raw) > 0 && json.Unmarshal(raw, &config) != nil {
		d.errs = append(d.errs, fmt.Errorf("%sstructured_outputs_config is not an object", origin))
	}
	backend, key := config.Backend, "structured_outputs_config.backend"
	if backend == "" {
		backend, key = args.GuidedBackend, "guided_decoding_backend"
	}
	backend, _, _ = strings.Cut(backend, ":")
	d.found(inference.SettingStructuredOutputs, backend, origin+key)
}

// reference adds the tokenizer's location: a folder, or an id of the hub.
func (d *detection) reference(value, revision, origin string) {
	if value != "" && revision != "" {
		if info, err := os.Stat(value); err != nil || !info.IsDir() {
			value += "@" + revision
		}
	}
	d.found(inference.SettingTokenizer, value, origin)
}

// llmapi reads the arguments of TensorRT-LLM's LLM API.
func (d *detection) llmapi() {
	const file = "model.yaml"
	var args struct {
		Model       string `yaml:"model"`
		Tokenizer   string `yaml:"tokenizer"`
		Revision    string `yaml:"revision"`
		MaxSeqLen   int    `yaml:"max_seq_len"`
		BuildConfig struct {
			MaxSeqLen int `yaml:"max_seq_len"`
		} `yaml:"build_config"`
		KVCache struct {
			TokensPerBlock int `yaml:"tokens_per_block"`
		} `yaml:"kv_cache_config"`
		Triton struct {
			Multimodal bool `yaml:"multimodal"`
		} `yaml:"triton_config"`
	}
	if !d.read(file, yaml.Unmarshal, &args) {
		return
	}
	origin := d.version + "/" + file + ": "
	if args.Tokenizer != "" {
		d.reference(args.Tokenizer, "", origin+"tokenizer")
	} else {
		d.reference(args.Model, args.Revision, origin+"model")
	}
	d.found(inference.SettingContextLength, positive(args.MaxSeqLen), origin+"max_seq_len")
	d.found(inference.SettingContextLength, positive(args.BuildConfig.MaxSeqLen), origin+"build_config.max_seq_len")
	d.found(inference.SettingTokensPerBlock, positive(args.KVCache.TokensPerBlock), origin+"kv_cache_config.tokens_per_block")
	if args.Triton.Multimodal {
		d.found(inference.SettingVision, "true", origin+"triton_config.multimodal")
	}
}

func positive(n int) string {
	if n < 1 {
		return ""
	}
	return strconv.Itoa(n)
}

// Parameters of TensorRT-LLM's models, and the names of the models that a bls model
// calls by default.
const (
	paramTokenizerDir  = "tokenizer_dir"
	paramEngineDir     = "gpt_model_path"
	paramEngineModel   = "tensorrt_llm_model_name"
	paramVisionDir     = "multimodal_model_path"
	modelPreprocessing = "preprocessing"
	modelEngine        = "tensorrt_llm"
)

// tensorrtLLM reads the models that an ensemble consists of, or that a bls model
// calls.
func (d *detection) tensorrtLLM() {
	var parts []string
	for _, step := range d.config.GetEnsembleScheduling().GetStep() {
		parts = append(parts, step.GetModelName())
	}
	if engine := parameter(d.config, paramEngineModel); engine != "" {
		parts = append(parts, modelPreprocessing, engine)
	} else if strings.HasSuffix(d.config.GetName(), "_bls") {
		parts = append(parts, modelPreprocessing, modelEngine)
	}
	d.tensorrtPart(d.config, "")
	for _, part := range parts {
		d.tensorrtPart(d.others(part), part+"/")
	}
}

func (d *detection) tensorrtPart(config *kserve.ModelConfig, prefix string) {
	origin := prefix + "config.pbtxt: "
	d.found(inference.SettingTokenizer, parameter(config, paramTokenizerDir), origin+paramTokenizerDir)
	if prefix != "" && parameter(config, paramVisionDir) != "" {
		d.found(inference.SettingVision, "true", origin+paramVisionDir)
	}
	engine := parameter(config, paramEngineDir)
	if engine == "" {
		return
	}
	file, err := readEngine(engine)
	if err != nil {
		d.errs = append(d.errs, fmt.Errorf("%s%s: %w", origin, paramEngineDir, err))
	}
	if file == nil {
		return
	}
	origin = "config.json of " + prefix + "config.pbtxt's " + paramEngineDir + ": "
	length, key := file.length()
	d.found(inference.SettingContextLength, positive(length), origin+key)
	block, key := file.blockTokens()
	d.found(inference.SettingTokensPerBlock, positive(block), origin+key)
}

// parameter returns the string value of a parameter. It returns an empty string for
// a placeholder that TensorRT-LLM's samples contain, such as "${tokenizer_dir}".
func parameter(config *kserve.ModelConfig, name string) string {
	value := config.GetParameters()[name].GetStringValue()
	if strings.HasPrefix(value, "${") {
		return ""
	}
	return value
}

// engineFile is the config.json of a TensorRT-LLM engine.
type engineFile struct {
	Build struct {
		MaxSeqLen   int          `json:"max_seq_len"`
		MaxInputLen int          `json:"max_input_len"`
		Plugin      enginePlugin `json:"plugin_config"`
	} `json:"build_config"`
	Builder struct { // old versions have this object
		MaxInputLen  int `json:"max_input_len"`
		MaxOutputLen int `json:"max_output_len"`
	} `json:"builder_config"`
	Plugin enginePlugin `json:"plugin_config"` // in old versions
}

type enginePlugin struct {
	TokensPerBlock int `json:"tokens_per_block"`
}

// readEngine reads the config.json of an engine's folder. It returns nil if this machine doesn't have it.
func readEngine(folder string) (*engineFile, error) {
	var file engineFile
	data, err := readFile(filepath.Join(folder, "config.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // the file doesn't exist
	}
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		return nil, fmt.Errorf("config.json: %w", err)
	}
	return &file, nil
}

// blockTokens returns the number of tokens of a block of the KV cache, and the key of config.json that has it.
func (f *engineFile) blockTokens() (tokens int, key string) {
	if n := f.Build.Plugin.TokensPerBlock; n > 0 {
		return n, "build_config.plugin_config.tokens_per_block"
	}
	return f.Plugin.TokensPerBlock, "plugin_config.tokens_per_block"
}

// EngineLength returns the longest sequence that a TensorRT-LLM engine was built for,
// in tokens, and the key of config.json that has it. It returns 0 if the folder has no
// config.json on this machine.
func EngineLength(folder string) (length int, key string, err error) {
	file, err := readEngine(folder)
	if file == nil {
		return 0, "", err
	}
	length, key = file.length()
	return length, key, nil
}

func (f *engineFile) length() (length int, key string) {
	if n := f.Build.MaxSeqLen; n > 0 {
		return n, "build_config.max_seq_len"
	}
	if f.Builder.MaxInputLen > 0 {
		return f.Builder.MaxInputLen + f.Builder.MaxOutputLen, "builder_config.max_input_len + max_output_len"
	}
	return 0, ""
}
