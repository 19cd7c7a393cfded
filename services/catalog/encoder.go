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
	if e.form.OwnSettings {
		return nil
	}
	if e.form.Length > 0 {
		e.settings.Lengths = []int{e.form.Length}
		if d.card.ContextLength == 0 || d.card.ContextLength > e.form.Length {
			d.card.ContextLength = e.form.Length
			d.keep(inference.SettingContextLength, strconv.Itoa(e.form.Length), "config.pbtxt: dims")
		}
	}
	e.settings.TextsOnly = !e.form.TokenIDs
	for _, read := range []func(){e.ambiguous, e.pooling, e.sparse, e.normalize, e.prompts, e.lowerCase, e.classes, e.padding, e.batches} {
		read()
	}
	if reason := e.refusal(); reason != "" {
		d.card.Backend, d.card.Tasks, d.card.Encoder = nil, 0, nil
		d.keep(settingTexts, "none", reason)
	}
	return errors.Join(e.errs...)
}

// settingTexts is the row of a model that takes only tensors in the list of its settings. Its origin is the reason.
const settingTexts = "texts"

// refusal returns the reason why the model takes only tensors, or "".
func (e *encoderDescription) refusal() string {
	switch {
	case e.card.Fetching || !e.form.TokenIDs:
		return ""
	case e.card.Tokenizer == nil:
		return "the model takes token ids, and no tokenizer is known: set " + inference.ParamPrefix + inference.SettingTokenizer + ", or put tokenizer.json beside the model"
	case e.published.Unsupported.Value == "":
		return ""
	case e.settings.Pooling != "" && e.card.Tasks&inference.TaskEmbed != 0:
		return fmt.Sprintf("%s: Trident doesn't compute the %s %s: export the model with the output sentence_embedding", e.published.Unsupported.Origin, e.published.Unsupported.Name, e.published.Unsupported.Value)
	case e.published.Unsupported.Name == "module" && e.find(inference.SettingPooling).Value == "" && e.states() && e.card.Tasks&inference.TaskTokenEmbed != 0:
		return fmt.Sprintf("%s: Trident doesn't compute the %s %s: export the model with it, and with the output token_embeddings", e.published.Unsupported.Origin, e.published.Unsupported.Name, e.published.Unsupported.Value)
	}
	return ""
}

// states reports whether the model returns hidden states as the vectors of tokens.
func (e *encoderDescription) states() bool {
	backend, ok := e.card.Backend.(interface {
		States(config *kserve.ModelConfig) bool
	})
	return ok && backend.States(e.card.Config)
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

// ambiguous decides between embeddings and logits where the tensors don't: by the setting, or else by the model's
// files, or else for embeddings. The files of many encoders name the architecture of their training, so that
// logits of the vocabulary must have its size.
func (e *encoderDescription) ambiguous() {
	const logits = tasksClasses | inference.TaskSparse
	if !e.form.Ambiguous || e.card.Tasks&inference.TaskEmbed == 0 || e.card.Tasks&logits == 0 {
		return
	}
	s := e.find(inference.SettingTask)
	vocabulary := e.card.Tokenizer != nil && e.form.Width >= e.card.Tokenizer.Size()
	switch {
	case s.Value == "classify" && e.card.Tasks&tasksClasses != 0:
		e.card.Tasks &= tasksClasses
	case s.Value == "sparse" && e.card.Tasks&inference.TaskSparse != 0 && vocabulary:
		e.card.Tasks &= inference.TaskSparse
	default:
		e.card.Tasks &^= logits
		return
	}
	e.keep(s.Name, s.Value, s.Origin)
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

// sparse reads how sparse vectors are computed from the logits of the vocabulary.
func (e *encoderDescription) sparse() {
	if e.card.Tasks&inference.TaskSparse != 0 {
		e.settings.SparseSum = e.second(inference.SettingSparsePooling, "max", "sum")
		e.settings.SparseLog = e.second(inference.SettingSparseActivation, "relu", "log1p_relu")
	}
}

// second reports whether a setting has the second one of two values, of which the first one is the default.
func (e *encoderDescription) second(name, first, second string) bool {
	s := e.find(name)
	switch s.Value {
	case first, second:
		e.keep(name, s.Value, s.Origin)
	case "":
	default:
		e.failf(s, "%q is not one of %s, %s", s.Value, first, second)
	}
	return s.Value == second
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
		if n := e.form.Width; n > 0 && n != len(e.settings.Labels) && e.card.Tasks&^tasksClasses == 0 {
			e.failf(s, "the list has %d labels, but the model returns %d classes", len(e.settings.Labels), n)
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
	if e.form.Length == 0 {
		e.settings.Lengths = e.numbers(inference.SettingPadLengths, e.card.ContextLength)
	}
	if n, ok := e.number(inference.SettingPadMultiple, 1); ok {
		e.settings.Multiple = n
	} else if reason := multipleReason(e.card.Config); reason != "" && e.form.Length == 0 {
		e.settings.Multiple = tensorMultiple
		e.keep(inference.SettingPadMultiple, strconv.Itoa(tensorMultiple), reason)
	}
}

// numbers reads a setting that is a comma-separated list of numbers, in any order, which must not be above most
// if that isn't 0: the model's context length.
func (e *encoderDescription) numbers(name string, most int) (list []int) {
	s := e.find(name)
	for _, text := range nameList(s.Value) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1<<30 {
			e.failf(s, "%q is not a number: write numbers of 1 or more with commas between them", text)
			return nil
		}
		if most > 0 && n > most {
			e.failf(s, "%d is above the model's context length of %d tokens", n, most)
			return nil
		}
		list = append(list, n)
	}
	if list != nil {
		slices.Sort(list)
		e.keep(name, s.Value, s.Origin)
	}
	return slices.Compact(list)
}

// preferred reads the numbers of inputs that batches should have. A model that Triton batches has a list of them.
func (e *encoderDescription) preferred() {
	if e.settings.Preferred = e.numbers(inference.SettingPreferredBatches, 0); e.settings.Preferred != nil {
		return
	}
	list := e.card.Config.GetDynamicBatching().GetPreferredBatchSize()
	if len(list) == 0 {
		return
	}
	var texts []string
	for _, n := range list {
		e.settings.Preferred = append(e.settings.Preferred, int(n))
		texts = append(texts, strconv.Itoa(int(n)))
	}
	e.keep(inference.SettingPreferredBatches, strings.Join(texts, ","), "config.pbtxt: dynamic_batching")
}

// mostLogits is the maximum number of logits of the vocabulary that a batch's response has: 256 MiB as FP32. A single
// text may have more.
const mostLogits = 64 << 20

// batches reads the maximum size of a batch, and shows which of Trident and Triton makes batches.
func (e *encoderDescription) batches() {
	if n, ok := e.number(inference.SettingMaxBatchTokens, 1); ok {
		e.settings.MaxBatchTokens = n
	} else {
		origin := defaultOrigin
		if most := mostLogits / max(1, e.form.Width); e.card.Tasks == inference.TaskSparse && most < e.settings.MaxBatchTokens {
			e.settings.MaxBatchTokens = max(1, most)
			origin = fmt.Sprintf("config.pbtxt: %d logits of each token", e.form.Width)
		}
		if !e.form.SelfBatching || origin != defaultOrigin {
			e.keep(inference.SettingMaxBatchTokens, strconv.Itoa(e.settings.MaxBatchTokens), origin)
		}
	}
	e.preferred()
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
