package modelfiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// TestEncoderFiles checks which settings of encoders are found in a folder, and where.
func TestEncoderFiles(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string // settings with their origins
		err   string
	}{
		{name: "no files", want: ""},
		{
			name: "a sentence-transformers model",
			files: map[string]string{
				"modules.json": `[{"idx":0,"path":"","type":"sentence_transformers.models.Transformer"},{"idx":1,"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},` +
					`{"idx":2,"path":"2_Normalize","type":"sentence_transformers.models.Normalize"}]`,
				"1_Pooling/config.json":             `{"pooling_mode_cls_token":false,"pooling_mode_mean_tokens":true,"include_prompt":false}`,
				"sentence_bert_config.json":         `{"max_seq_length":256,"do_lower_case":true}`,
				"config_sentence_transformers.json": `{"prompts":{"query":"q: ","document":""},"default_prompt_name":"query"}`,
				"config.json":                       `{"architectures":["BertModel"],"max_position_embeddings":512,"pad_token_id":0,"id2label":{"0":"LABEL_0"}}`,
			},
			want: `context_length=256 (sentence_bert_config.json: max_seq_length), pooling=mean (1_Pooling/config.json: pooling_mode_mean_tokens), ` +
				`include_prompt=false (1_Pooling/config.json: include_prompt), normalize=true (modules.json: Normalize), lower_case=true (sentence_bert_config.json: do_lower_case), ` +
				`prompts={"query":"q: "} (config_sentence_transformers.json: prompts), default_prompt_name=query (config_sentence_transformers.json: default_prompt_name), pad_token_id=0 (config.json: pad_token_id)`,
		},
		{
			name: "newer names, another folder, and no normalization",
			files: map[string]string{
				"modules.json":     `[{"path":"","type":"sentence_transformers.base.modules.transformer.Transformer"},{"path":"pool","type":"a.Pooling"}]`,
				"pool/config.json": `{"pooling_mode":"lasttoken"}`,
			},
			want: "pooling=last (pool/config.json: pooling_mode), normalize=false (modules.json: no Normalize)",
		},
		{
			name:  "a layer that Trident doesn't compute",
			files: map[string]string{"modules.json": `[{"path":"","type":"x.Transformer"},{"path":"2_Dense","type":"x.Dense"}]`},
			want:  "module=Dense (modules.json), normalize=false (modules.json: no Normalize)",
		},
		{
			name: "SPLADE",
			files: map[string]string{
				"modules.json":         `[{"path":"","type":"sentence_transformers.sparse_encoder.models.MLMTransformer"},{"path":"1_Splade","type":"x.SpladePooling"}]`,
				"1_Splade/config.json": `{"pooling_strategy":"sum","activation_function":"log1p_relu","word_embedding_dimension":9}`,
			},
			want: "sparse_pooling=sum (1_Splade/config.json: pooling_strategy), sparse_activation=log1p_relu (1_Splade/config.json: activation_function), normalize=false (modules.json: no Normalize)",
		},
		{
			name:  "late interaction",
			files: map[string]string{"modules.json": `[{"path":"","type":"x.Transformer"},{"path":"1_MultiVectorMask","type":"x.MultiVectorMask"},{"path":"2_Normalize","type":"x.Normalize"}]`},
			want:  "normalize=true (modules.json: Normalize)",
		},
		{
			name:  "two poolings",
			files: map[string]string{"1_Pooling/config.json": `{"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":true}`},
			want:  "pooling=cls and mean (1_Pooling/config.json)",
		},
		{
			name:  "a path outside",
			files: map[string]string{"modules.json": `[{"path":"../other","type":"x.Pooling"}]`},
			want:  "normalize=false (modules.json: no Normalize)",
			err:   `modules.json: the path "../other" is outside of the folder`,
		},
		{
			name:  "a classifier",
			files: map[string]string{"config.json": `{"architectures":["BertForSequenceClassification"],"id2label":{"1":"bad","0":"good"},"problem_type":"multi_label_classification"}`},
			want:  `task=classify (config.json: architectures), labels=["good","bad"] (config.json: id2label), activation=sigmoid (config.json: problem_type multi_label_classification)`,
		},
		{
			name:  "a cross-encoder",
			files: map[string]string{"config.json": `{"architectures":["XForSequenceClassification"],"sentence_transformers":{"activation_fn":"torch.nn.modules.linear.Identity"},"problem_type":"regression"}`},
			want:  "task=classify (config.json: architectures), activation=none (config.json: sentence_transformers.activation_fn)",
		},
		{
			name:  "an older cross-encoder",
			files: map[string]string{"config.json": `{"architectures":["XForSequenceClassification"],"sbert_ce_default_activation_function":"torch.nn.modules.activation.Sigmoid"}`},
			want:  "task=classify (config.json: architectures), activation=sigmoid (config.json: sbert_ce_default_activation_function)",
		},
		{
			name:  "another function",
			files: map[string]string{"config.json": `{"architectures":["XForSequenceClassification"],"sentence_transformers":{"activation_fn":"my.Cube"}}`},
			want:  "task=classify (config.json: architectures)", err: `the function "Cube" of sentence_transformers.activation_fn is not supported`,
		},
		{
			name:  "labels with a gap",
			files: map[string]string{"config.json": `{"architectures":["XForSequenceClassification"],"id2label":{"0":"a","2":"c"}}`},
			want:  "task=classify (config.json: architectures)", err: `id2label has the key "2"`,
		},
		{
			name:  "SPLADE",
			files: map[string]string{"config.json": `{"architectures":["DistilBertForMaskedLM"]}`},
			want:  "task=sparse (config.json: architectures)",
		},
		{
			name:  "RoBERTa, whose positions start after that of padding",
			files: map[string]string{"config.json": `{"model_type":"xlm-roberta","max_position_embeddings":8194,"pad_token_id":1}`},
			want:  "context_length=8192 (config.json: max_position_embeddings), pad_token_id=1 (config.json: pad_token_id)",
		},
		{name: "no JSON", files: map[string]string{"modules.json": `{`}, err: "modules.json: unexpected end"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readFolder(writeFiles(t, tt.files))
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got error %v, want %q", err, tt.err)
			}
			var found []string
			for _, s := range append([]inference.Setting{got.ContextLength, got.Unsupported}, got.Encoder...) {
				if s.Value != "" {
					found = append(found, s.Name+"="+s.Value+" ("+s.Origin+")")
				}
			}
			if list := strings.Join(found, ", "); list != tt.want {
				t.Errorf("got  %s\nwant %s", list, tt.want)
			}
		})
	}
}

// TestTokenizerBeside checks that a tokenizer is found in the folder of a model or of its version.
func TestTokenizerBeside(t *testing.T) {
	for file, want := range map[string]string{"m/1/tokenizer.json": "m/1", "m/tokenizer.json": "m", "m/other.json": ""} {
		repository := writeFiles(t, map[string]string{file: "{}", "m/config.pbtxt": ""})
		library := New(Config{Repositories: []string{repository}}, nil)
		settings, err := library.Detect(inference.Model{Name: "m", Version: "1"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, s := range settings {
			if s.Name == inference.SettingTokenizer {
				got, _ = filepath.Rel(repository, s.Value)
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
		if err := os.RemoveAll(repository); err != nil {
			t.Fatal(err)
		}
	}
}
