package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/vector"
)

// defaultOrigin is the origin of a setting that no source sets.
const defaultOrigin = "the default"

// tasksClasses are the tasks of a model whose output has logits of classes.
const tasksClasses = inference.TaskClassify | inference.TaskScore

// encoderDescription is the state while the settings of an encoder are read.
type encoderDescription struct {
	*description

	form     inference.EncoderForm
	settings *inference.EncoderSettings
	errs     []error
}

// encoder reads the settings of an encoder. An encoder of token ids without a tokenizer takes only
// tensors, and Settings have the reason.
func (d *description) encoder(inference.Setting) error {
	encoder, ok := d.card.Backend.(inference.Encoder)
	if !ok || d.card.Tasks&inference.TasksEncode == 0 {
		return nil
	}
	e := encoderDescription{description: d, form: encoder.EncoderForm(d.card.Config), settings: &inference.EncoderSettings{MaxBatchTokens: inference.DefaultMaxBatchTokens, Normalize: true}}
	d.card.Encoder = e.settings
	if d.card.Tasks&inference.TaskGenerate != 0 || d.card.Backend.Name() == "vllm" { // the engine applies the model's own settings
		return nil
	}
	if e.form.Length > 0 && (d.card.ContextLength == 0 || d.card.ContextLength > e.form.Length) {
		d.card.ContextLength = e.form.Length
		d.keep(inference.SettingContextLength, strconv.Itoa(e.form.Length), "config.pbtxt: dims")
	}
	e.settings.TextsOnly = !e.form.TokenIDs
	for _, read := range []func(){e.ambiguous, e.pooling, e.normalize, e.prompts, e.lowerCase, e.classes, e.padding, e.batches} {
		read()
	}
	if reason := e.refusal(); reason != "" {
		d.card.Backend, d.card.Tasks, d.card.Encoder = nil, 0, nil
		d.keep("texts", "none", reason)
	}
	return errors.Join(e.errs...)
}

// refusal returns the reason why the model takes only tensors, or "".
func (e *encoderDescription) refusal() string {
	switch {
	case e.card.Fetching || !e.form.TokenIDs:
		return ""
	case e.card.Tokenizer == nil:
		return "the model takes token ids, and no tokenizer is known: set " + inference.ParamPrefix + inference.SettingTokenizer + ", or put tokenizer.json beside the model"
	case e.settings.Pooling != "" && e.published.Unsupported.Value != "" && e.card.Tasks&inference.TaskEmbed != 0:
		return fmt.Sprintf("%s: Trident doesn't compute the %s %s: export the model with the output sentence_embedding", e.published.Unsupported.Origin, e.published.Unsupported.Name, e.published.Unsupported.Value)
	}
	return ""
}

// find returns the setting that applies: the given one, or else the published one.
func (e *encoderDescription) find(name string) inference.Setting {
	if s := e.given.get(name); s.Value != "" {
		return s
	}
	for _, s := range e.published.Encoder {
		if s.Name == name {
			return s
		}
	}
	return inference.Setting{Name: name}
}

// failf records a setting that can't be used.
func (e *encoderDescription) failf(s inference.Setting, format string, args ...any) {
	e.errs = append(e.errs, fmt.Errorf("%s: %w", cmp.Or(s.Origin, s.Name), fmt.Errorf(format, args...)))
}

// ambiguous decides between embeddings and classes where the tensors don't: by the setting, or else by the
// model's files, or else for embeddings.
func (e *encoderDescription) ambiguous() {
	if !e.form.Ambiguous || e.card.Tasks&inference.TaskEmbed == 0 || e.card.Tasks&tasksClasses == 0 {
		return
	}
	if s := e.find(inference.SettingTask); s.Value == "classify" {
		e.card.Tasks &= tasksClasses
		e.keep(s.Name, s.Value, s.Origin)
		return
	}
	e.card.Tasks &^= tasksClasses
}

// pools is a backend that knows whether a model's embeddings are pooled from vectors of tokens.
type pools interface {
	Pools(config *kserve.ModelConfig) bool
}

func (e *encoderDescription) pooling() {
	backend, ok := e.card.Backend.(pools)
	if !ok || e.card.Tasks&inference.TaskEmbed == 0 || !backend.Pools(e.card.Config) {
		return
	}
	s := e.find(inference.SettingPooling)
	if s.Value != "" && !vector.Pooling(s.Value).Known() {
		e.failf(s, "%q is not one of %s", s.Value, strings.Join(vector.Poolings(), ", "))
		s = inference.Setting{}
	}
	e.settings.Pooling = cmp.Or(s.Value, string(vector.PoolMean))
	e.keep(inference.SettingPooling, e.settings.Pooling, cmp.Or(s.Origin, defaultOrigin))
	e.settings.ExcludePrompt = !e.bool(inference.SettingIncludePrompt, true)
}

// bool reads a setting that is true or false, and keeps it if a source sets it.
func (e *encoderDescription) bool(name string, without bool) bool {
	s := e.find(name)
	if s.Value == "" {
		return without
	}
	value, err := strconv.ParseBool(s.Value)
	if err != nil {
		e.failf(s, "%q is not a boolean: write true or false", s.Value)
		return without
	}
	e.keep(name, s.Value, s.Origin)
	return value
}

func (e *encoderDescription) normalize() {
	if e.card.Tasks&(inference.TaskEmbed|inference.TaskTokenEmbed) != 0 {
		e.settings.Normalize = e.bool(inference.SettingNormalize, true)
	}
}

func (e *encoderDescription) lowerCase() {
	e.settings.LowerCase = e.bool(inference.SettingLowerCase, false)
}

func (e *encoderDescription) prompts() {
	s := e.find(inference.SettingPrompts)
	if s.Value != "" {
		if err := json.Unmarshal([]byte(s.Value), &e.settings.Prompts); err != nil {
			e.failf(s, "the prompts are not a JSON object of texts: %w", err)
			return
		}
		e.keep(s.Name, s.Value, s.Origin)
	}
	s = e.find(inference.SettingDefaultPrompt)
	if s.Value == "" {
		return
	}
	if _, ok := e.settings.Prompts[s.Value]; !ok {
		e.failf(s, "the model has no prompt %q, but %s", s.Value, strings.Join(slices.Sorted(maps.Keys(e.settings.Prompts)), ", "))
		return
	}
	e.settings.DefaultPrompt = s.Value
	e.keep(s.Name, s.Value, s.Origin)
}

// classes reads the labels and the activation function of classes and scores.
func (e *encoderDescription) classes() {
	if e.card.Tasks&tasksClasses == 0 {
		return
	}
	if s := e.find(inference.SettingLabels); s.Value != "" {
		e.settings.Labels = labelList(s.Value)
		e.keep(s.Name, s.Value, s.Origin)
		if len(e.settings.Labels) > 1 {
			e.card.Tasks &^= inference.TaskScore
		}
	}
	s := e.find(inference.SettingActivation)
	known := []string{string(inference.ActivationSoftmax), string(inference.ActivationSigmoid), string(inference.ActivationNone)}
	switch {
	case s.Value == "":
	case !slices.Contains(known, s.Value):
		e.failf(s, "%q is not one of %s", s.Value, strings.Join(known, ", "))
	default:
		e.settings.Activation = inference.Activation(s.Value)
		e.keep(s.Name, s.Value, s.Origin)
	}
}

// labelList reads a JSON list of names, or names with commas between them.
func labelList(value string) []string {
	var list []string
	if json.Unmarshal([]byte(value), &list) == nil {
		return list
	}
	return nameList(value)
}

// number reads a setting that is a number, which must not be below least.
func (e *encoderDescription) number(name string, least int) (n int, ok bool) {
	s := e.find(name)
	if s.Value == "" {
		return 0, false
	}
	n, err := strconv.Atoi(s.Value)
	if err != nil || n < least || n > 1<<30 {
		e.failf(s, "%q is not a number: write %d or more", s.Value, least)
		return 0, false
	}
	e.keep(name, s.Value, s.Origin)
	return n, true
}

// padding reads the token of padding, and the multiple of the length of batches.
func (e *encoderDescription) padding() {
	if !e.form.TokenIDs {
		return
	}
	var of *inference.Padding
	if sequences, ok := e.card.Tokenizer.(inference.SequenceEncoder); ok {
		of = sequences.Padding()
		if empty, err := sequences.Sequence(context.Background(), inference.Texts{}, inference.SequenceOptions{}); err == nil {
			e.settings.Special = empty.IDs
		}
	}
	if n, ok := e.number(inference.SettingPadToken, 0); ok {
		e.settings.PadID = int32(n)
	} else if of != nil {
		e.settings.PadID = int32(of.ID)
		e.keep(inference.SettingPadToken, strconv.Itoa(of.ID), "tokenizer.json: padding")
	}
	if n, ok := e.number(inference.SettingPadMultiple, 1); ok {
		e.settings.Multiple = n
	} else if reason := multipleReason(e.card.Config); reason != "" && e.form.Length == 0 {
		e.settings.Multiple = tensorMultiple
		e.keep(inference.SettingPadMultiple, strconv.Itoa(tensorMultiple), reason)
	}
}

// batches reads the maximum size of a batch, and shows which of Trident and Triton makes batches.
func (e *encoderDescription) batches() {
	if n, ok := e.number(inference.SettingMaxBatchTokens, 1); ok {
		e.settings.MaxBatchTokens = n
	} else if !e.form.SelfBatching {
		e.keep(inference.SettingMaxBatchTokens, strconv.Itoa(e.settings.MaxBatchTokens), defaultOrigin)
	}
	if e.form.SelfBatching {
		e.keep("batching", "Triton", "config.pbtxt: dynamic_batching")
		return
	}
	e.keep("batching", "Trident", "config.pbtxt: no dynamic_batching")
}

// tensorMultiple is the number of elements to a multiple of which the tensor cores of GPUs compute.
const tensorMultiple = 8

// multipleReason returns the reason why a model's batches are padded to a multiple of [tensorMultiple],
// or "".
func multipleReason(config *kserve.ModelConfig) string {
	if config.GetPlatform() == "tensorrt_plan" || config.GetBackend() == "tensorrt" {
		return "TensorRT"
	}
	for _, out := range config.GetOutput() {
		if out.GetDataType() == kserve.DataType_TYPE_FP16 {
			return "config.pbtxt: the output " + out.GetName() + " is FP16"
		}
	}
	return ""
}
