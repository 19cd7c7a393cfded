package catalog_test

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/contracts"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/tokenizer"
)

// smallTokenizer has the tokens a and <s>, which starts every text.
const smallTokenizer = `{
  "version": "1.0", "truncation": null, "normalizer": null, "pre_tokenizer": null, "decoder": null,
  "padding": {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": null, "pad_id": 1, "pad_type_id": 0, "pad_token": "a"},
  "added_tokens": [{"id": 0, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}},
  "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null,
    "fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": {"a": 1}, "merges": []}
}`

// TestEncoderSettings checks the settings of encoders with their origins, and the tasks.
func TestEncoderSettings(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "tokenizer.json"), []byte(smallTokenizer), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens := func() *kserve.ModelConfig { return inferencetest.EncoderConfig("m", 8, "last_hidden_state", -1, 2) }
	logits := func(n int64) *kserve.ModelConfig { return inferencetest.EncoderConfig("m", 8, "logits", n) }
	found := func(pairs ...string) (list []inference.Setting) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, inference.Setting{Name: pairs[i], Value: pairs[i+1], Origin: "file"})
		}
		return list
	}
	const trident, none = "max_batch_tokens=16384 (the default), batching=Trident (config.pbtxt: no dynamic_batching)", "the model takes token ids, and no tokenizer is known: set trident.tokenizer, or put tokenizer.json beside the model"
	pad := "pad_token_id=1 (tokenizer.json: padding), " + trident
	for _, tt := range []struct {
		name       string
		config     *kserve.ModelConfig
		published  *inference.Published
		parameters map[string]string
		overrides  []inference.Override
		tasks      string
		want       string // settings, without the tokenizer
		log        string
	}{
		{name: "defaults", config: tokens(), tasks: "embed token_embed", want: "pooling=mean (the default), " + pad},
		{
			name: "the maker's files", config: tokens(), published: &inference.Published{Encoder: found("pooling", "cls", "normalize", "false", "prompts", `{"q":"x"}`, "default_prompt_name", "q", "pad_token_id", "0")},
			tasks: "embed token_embed", want: `pooling=cls (file), normalize=false (file), prompts={"q":"x"} (file), default_prompt_name=q (file), pad_token_id=0 (file), ` + trident,
		},
		{
			name: "config.pbtxt before the files, the operator before both", config: tokens(), published: &inference.Published{Encoder: found("pooling", "cls", "normalize", "false")},
			parameters: map[string]string{"trident.pooling": "last", "trident.normalize": "true"}, overrides: []inference.Override{override("m", "pooling", "max")},
			tasks: "embed token_embed", want: "pooling=max (flag for m), normalize=true (config.pbtxt: trident.normalize), " + pad,
		},
		{
			name: "values that can't be read", config: tokens(), parameters: map[string]string{"trident.pooling": "median", "trident.normalize": "si", "trident.prompts": "[", "trident.pad_token_id": "-1", "trident.max_batch_tokens": "0"},
			tasks: "embed token_embed", want: "pooling=mean (the default), " + pad,
			log: `config.pbtxt: trident.pooling: "median" is not one of mean, cls, last, max, weighted_mean, mean_sqrt`,
		},
		{name: "one class", config: logits(1), tasks: "score classify", want: pad},
		{name: "three classes", config: logits(3), published: &inference.Published{Encoder: found("labels", `["a","b","c"]`, "activation", "sigmoid")}, tasks: "classify", want: `labels=["a","b","c"] (file), activation=sigmoid (file), ` + pad},
		{name: "too few labels", config: logits(3), published: &inference.Published{Encoder: found("labels", `["a","b"]`)}, tasks: "classify", want: `labels=["a","b"] (file), ` + pad, log: "file: the list has 2 labels, but the model returns 3 classes"},
		{name: "an unknown activation", config: logits(1), parameters: map[string]string{"trident.activation": "relu"}, tasks: "score classify", want: pad, log: `"relu" is not one of softmax, sigmoid, none`},
		{name: "an output of another name", config: inferencetest.EncoderConfig("m", 8, "out", 4), tasks: "embed", want: pad},
		{name: "an output of another name, of a classifier", config: inferencetest.EncoderConfig("m", 8, "out", 4), published: &inference.Published{Encoder: found("task", "classify")}, tasks: "classify", want: "task=classify (file), " + pad},
		{name: "a task", config: logits(1), parameters: map[string]string{"trident.task": "score"}, tasks: "score", want: "task=score (config.pbtxt: trident.task), " + pad},
		{name: "no tokenizer", config: tokens(), parameters: map[string]string{"trident.tokenizer": "none"}, tasks: "", want: "pooling=mean (the default), " + trident + ", texts=none (" + none + ")"},
		{
			name: "a layer after the pooling", config: tokens(), published: &inference.Published{Unsupported: inference.Setting{Name: "module", Value: "Dense", Origin: "modules.json"}},
			want: "pooling=mean (the default), " + pad + ", texts=none (modules.json: Trident doesn't compute the module Dense: export the model with the output sentence_embedding)",
		},
		{name: "TensorRT", config: func() *kserve.ModelConfig { c := tokens(); c.Platform = "tensorrt_plan"; return c }(), tasks: "embed token_embed", want: "pooling=mean (the default), pad_token_id=1 (tokenizer.json: padding), pad_to_multiple_of=8 (TensorRT), " + trident},
		{
			name: "lengths and sizes", config: tokens(), parameters: map[string]string{"trident.pad_to_lengths": "512, 64", "trident.preferred_batch_sizes": "4,8"}, tasks: "embed token_embed",
			want: "pooling=mean (the default), pad_token_id=1 (tokenizer.json: padding), pad_to_lengths=512, 64 (config.pbtxt: trident.pad_to_lengths), max_batch_tokens=16384 (the default), " +
				"preferred_batch_sizes=4,8 (config.pbtxt: trident.preferred_batch_sizes), batching=Trident (config.pbtxt: no dynamic_batching)",
		},
		{
			name: "lengths that can't be read", config: tokens(), parameters: map[string]string{"trident.pad_to_lengths": "64,0"}, tasks: "embed token_embed", want: "pooling=mean (the default), " + pad,
			log: `config.pbtxt: trident.pad_to_lengths: "0" is not a number: write numbers of 1 or more with commas between them`,
		},
		{
			name: "lengths above the context length", config: tokens(), parameters: map[string]string{"trident.pad_to_lengths": "64,512", "trident.context_length": "256"}, tasks: "embed token_embed",
			want: "context_length=256 (config.pbtxt: trident.context_length), pooling=mean (the default), " + pad,
			log:  `config.pbtxt: trident.pad_to_lengths: 512 is above the model's context length of 256 tokens`,
		},
		{
			name: "fixed dims", config: func() *kserve.ModelConfig {
				c := tokens()
				for _, in := range c.GetInput() {
					in.Dims = []int64{128}
				}
				return c
			}(), parameters: map[string]string{"trident.pad_to_lengths": "64"}, tasks: "embed token_embed", want: "context_length=128 (config.pbtxt: dims), pooling=mean (the default), " + pad,
		},
		{
			name: "logits of the vocabulary by another name", config: inferencetest.EncoderConfig("m", 8, "out", -1, 2), published: &inference.Published{Encoder: found("task", "sparse")}, tasks: "sparse",
			want: "task=sparse (file), " + pad,
		},
		{
			name: "the pooling of sparse vectors", config: inferencetest.EncoderConfig("m", 8, "logits", -1, 2), published: &inference.Published{Encoder: found("sparse_pooling", "sum", "sparse_activation", "gelu")}, tasks: "sparse",
			want: "sparse_pooling=sum (file), " + pad, log: `file: "gelu" is not one of relu, log1p_relu`,
		},
		{
			name: "hidden states of a model that was trained to fill masks", config: inferencetest.EncoderConfig("m", 8, "out", -1, 1), published: &inference.Published{Encoder: found("task", "sparse")}, tasks: "embed token_embed",
			want: "pooling=mean (the default), " + pad,
		},
		{
			name: "logits of a large vocabulary", config: inferencetest.EncoderConfig("m", 8, "logits", -1, 32768), tasks: "sparse",
			want: "pad_token_id=1 (tokenizer.json: padding), max_batch_tokens=2048 (config.pbtxt: 32768 logits of each token), batching=Trident (config.pbtxt: no dynamic_batching)",
		},
		{
			name: "a layer after the vectors of tokens", config: tokens(), parameters: map[string]string{"trident.task": "token_embed"},
			published: &inference.Published{Unsupported: inference.Setting{Name: "module", Value: "Dense", Origin: "modules.json"}},
			want:      "task=token_embed (config.pbtxt: trident.task), " + pad + ", texts=none (modules.json: Trident doesn't compute the module Dense: export the model with it, and with the output token_embeddings)",
		},
		{
			name: "a layer that the export has", config: inferencetest.EncoderConfig("m", 8, "token_embeddings", -1, 2), parameters: map[string]string{"trident.task": "token_embed"}, tasks: "token_embed",
			published: &inference.Published{Unsupported: inference.Setting{Name: "module", Value: "Dense", Origin: "modules.json"}}, want: "task=token_embed (config.pbtxt: trident.task), " + pad,
		},
		{
			name: "an output that the model lacks", config: tokens(), parameters: map[string]string{"trident.output": "x"},
			log: `config.pbtxt: trident.output: "x" isn't an output of floats for each input or each token of an encoder`,
		},
		{name: "an output", config: tokens(), parameters: map[string]string{"trident.output": "last_hidden_state"}, tasks: "embed token_embed", want: "output=last_hidden_state (config.pbtxt: trident.output), pooling=mean (the default), " + pad},
		{
			name: "a dynamic batcher with sizes", tasks: "embed token_embed",
			config: func() *kserve.ModelConfig {
				c := tokens()
				c.SchedulingChoice = &kserve.ModelConfig_DynamicBatching{DynamicBatching: &kserve.ModelDynamicBatching{PreferredBatchSize: []int32{2, 4}}}
				return c
			}(),
			want: "pooling=mean (the default), pad_token_id=1 (tokenizer.json: padding), preferred_batch_sizes=2,4 (config.pbtxt: dynamic_batching), batching=Triton (config.pbtxt: dynamic_batching)",
		},
		{
			name: "a dynamic batcher", tasks: "embed token_embed",
			config: func() *kserve.ModelConfig {
				c := tokens()
				c.SchedulingChoice = &kserve.ModelConfig_DynamicBatching{DynamicBatching: &kserve.ModelDynamicBatching{}}
				return c
			}(),
			want: "pooling=mean (the default), pad_token_id=1 (tokenizer.json: padding), batching=Triton (config.pbtxt: dynamic_batching)",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			published := &inference.Published{}
			if tt.published != nil {
				published = tt.published
			}
			published.Folder, published.HasTokenizer = folder, true
			parameters := map[string]string{"trident.tokenizer": folder}
			maps.Copy(parameters, tt.parameters)
			engine := inferencetest.New()
			engine.AddEncoder(tt.config, parameters, nil)
			log := &strings.Builder{}
			models := catalog.New(catalog.Config{}, []inference.Engine{engine}, contracts.All(contracts.Config{}), tokenizer.NewFolders(), slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})))
			models.Consult(&fakeLibrary{published: published}, tt.overrides)
			if err := models.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			card := models.Cards()[0]
			var settings []string
			for _, s := range card.Settings {
				if s.Name != inference.SettingTokenizer {
					settings = append(settings, s.Name+"="+s.Value+" ("+s.Origin+")")
				}
			}
			if got := strings.Join(settings, ", "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if got := strings.Join(card.Tasks.Names(), " "); got != tt.tasks || (card.Tasks == 0) != (card.Kind() == "tensors only") {
				t.Errorf("a model of kind %s has the tasks %q", card.Kind(), got)
			}
			if _, reason, refused := strings.Cut(tt.want, "texts=none ("); refused {
				model := models.Resolve(card.Name)
				want := "the model `" + card.Name + "` supports neither text generation nor embeddings: " + strings.TrimSuffix(reason, ")")
				if err := model.Confirm(t.Context()); err == nil || err.Error() != want {
					t.Errorf("got  %v\nwant %s", err, want)
				}
			}
			if (tt.log == "") != (log.String() == "") || !strings.Contains(strings.ReplaceAll(log.String(), `\"`, `"`), tt.log) {
				t.Errorf("log %s", log)
			}
		})
	}
}
