package contracts

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// integersOf returns the numbers of a tensor of integers.
func integersOf(in *kserve.ModelInferRequest_InferInputTensor, raw []byte) []int64 {
	var numbers []int64
	for len(raw) > 0 {
		if in.GetDatatype() == "INT64" {
			numbers, raw = append(numbers, int64(binary.LittleEndian.Uint64(raw))), raw[8:]
		} else {
			numbers, raw = append(numbers, int64(int32(binary.LittleEndian.Uint32(raw)))), raw[4:]
		}
	}
	return numbers
}

// TestEncoderPadding checks that inputs of a free length are padded to the longest one, or to a multiple of the
// setting, and that the types of tokens are those of the sequence.
func TestEncoderPadding(t *testing.T) {
	items := []*inference.EncodeItem{
		{Task: inference.TaskScore, Sequence: inference.Sequence{IDs: []int32{5, 6, 8}, TypeIDs: []int32{0, 1, 1}}},
		{Task: inference.TaskScore, Sequence: inference.Sequence{IDs: []int32{9}}},
	}
	for _, tt := range []struct {
		name, datatype string
		multiple       int
		want           string
		lengths        []int
	}{
		{"the longest input", "INT64", 0, "input_ids[2 3][5 6 8 9 7 7] attention_mask[2 3][1 1 1 1 0 0] token_type_ids[2 3][0 1 1 0 0 0]", nil},
		{"a multiple", "INT32", 4, "input_ids[2 4][5 6 8 7 9 7 7 7] attention_mask[2 4][1 1 1 0 1 0 0 0] token_type_ids[2 4][0 1 1 0 0 0 0 0]", nil},
		{"a multiple that is reached", "INT32", 3, "input_ids[2 3][5 6 8 9 7 7] attention_mask[2 3][1 1 1 1 0 0] token_type_ids[2 3][0 1 1 0 0 0]", nil},
		{"one of several lengths", "INT32", 2, "input_ids[2 5][5 6 8 7 7 9 7 7 7 7] attention_mask[2 5][1 1 1 0 0 1 0 0 0 0] token_type_ids[2 5][0 1 1 0 0 0 0 0 0 0]", []int{2, 5, 8}},
		{"longer than all lengths", "INT32", 4, "input_ids[2 4][5 6 8 7 9 7 7 7] attention_mask[2 4][1 1 1 0 1 0 0 0] token_type_ids[2 4][0 1 1 0 0 0 0 0]", []int{1, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := encoderConfig(8, "input_ids "+tt.datatype+" -1", "attention_mask "+tt.datatype+" -1", "token_type_ids "+tt.datatype+" -1", ">", "logits FP32 1")
			target := &inference.Target{Name: "m", Config: config, Encoder: &inference.EncoderSettings{PadID: 7, Multiple: tt.multiple, Lengths: tt.lengths}}
			req, err := Encoder{}.EncodeBatch(target, &inference.EncodeBatch{ID: "id-1", Items: items})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, in := range req.GetInputs() {
				if in.GetDatatype() != tt.datatype {
					t.Errorf("%s has the datatype %s", in.GetName(), in.GetDatatype())
				}
				got = append(got, fmt.Sprintf("%s%v%v", in.GetName(), in.GetShape(), integersOf(in, req.GetRawInputContents()[i])))
			}
			if text := strings.Join(got, " "); text != tt.want || req.GetId() != "id-1" || req.GetModelName() != "m" {
				t.Errorf("got  %s of %s\nwant %s", text, req.GetId(), tt.want)
			}
		})
	}
}

// TestEncoderOutputs checks which output is requested for each task, if a model declares several or has an output
// of other dims than its name says.
func TestEncoderOutputs(t *testing.T) {
	const tokens, pooled = "last_hidden_state FP32 -1 4", "pooler_output FP32 4"
	for _, tt := range []struct {
		name    string
		task    inference.Task
		outputs []string
		want    string
	}{
		{"tokens before the pooler", inference.TaskEmbed, []string{pooled, tokens}, "last_hidden_state"},
		{"a sentence's embedding before tokens", inference.TaskEmbed, []string{tokens, "sentence_embedding FP32 4"}, "sentence_embedding"},
		{"the better of two embeddings", inference.TaskEmbed, []string{"embedding FP32 4", "dense_vecs FP32 4"}, "dense_vecs"},
		{"vectors of tokens", inference.TaskTokenEmbed, []string{"sentence_embedding FP32 4", tokens}, "last_hidden_state"},
		{"tokens that are one vector", inference.TaskEmbed, []string{"last_hidden_state FP32 4"}, "last_hidden_state"},
		{"a pooler with a vector for each token", inference.TaskTokenEmbed, []string{"pooler_output FP32 -1 4"}, "pooler_output"},
		{"a pooler with a vector for each token beside tokens", inference.TaskEmbed, []string{"pooler_output FP32 -1 4", tokens}, "last_hidden_state"},
		{"weights before logits of the vocabulary", inference.TaskSparse, []string{"logits FP32 -1 9", "sparse_weights FP32 -1"}, "sparse_weights"},
		{"logits of the vocabulary", inference.TaskSparse, []string{"logits FP32 -1 9"}, "logits"},
		{"classes", inference.TaskClassify, []string{tokens, "logits FP32 3"}, "logits"},
		{"a score", inference.TaskScore, []string{tokens, "logits FP32 1"}, "logits"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := encoderConfig(8, append([]string{"input_ids INT64 -1", "attention_mask INT64 -1", ">"}, tt.outputs...)...)
			if tasks := (Encoder{}).Tasks(config); tasks&tt.task == 0 {
				t.Fatalf("the model has the tasks %v", tasks.Names())
			}
			item := &inference.EncodeItem{Task: tt.task, Sequence: inference.Sequence{IDs: []int32{5}}}
			req, err := Encoder{}.EncodeBatch(&inference.Target{Name: "m", Config: config, Encoder: &inference.EncoderSettings{}}, &inference.EncodeBatch{Items: []*inference.EncodeItem{item, item}})
			if err != nil {
				t.Fatal(err)
			}
			if outs := req.GetOutputs(); len(outs) != 1 || outs[0].GetName() != tt.want {
				t.Errorf("the outputs %v are requested, want %s", outs, tt.want)
			}
		})
	}
}

// TestSparsePoolings checks the weights of each form of SPLADE, and that padding has no effect.
func TestSparsePoolings(t *testing.T) {
	const e = math.E
	out := floatOutput("logits", []int64{1, 3, 3}, e-1, -1, 0, e-1, 0, 3, 99, 99, 99)
	for _, tt := range []struct {
		settings inference.EncoderSettings
		want     string
	}{
		{inference.EncoderSettings{}, "0:1.0000 2:1.3863"},
		{inference.EncoderSettings{SparseSum: true}, "0:2.0000 2:1.3863"},
		{inference.EncoderSettings{SparseLog: true}, "0:0.6931 2:0.8697"},
		{inference.EncoderSettings{SparseSum: true, SparseLog: true}, "0:1.3863 2:0.8697"},
	} {
		config := encoderConfig(8, "input_ids INT64 -1", "attention_mask INT64 -1", ">", "logits FP32 -1 3")
		item := &inference.EncodeItem{Task: inference.TaskSparse, Sequence: inference.Sequence{IDs: []int32{8, 5}}, Result: &inference.Encoded{}}
		target := &inference.Target{Name: "m", Config: config, Encoder: &tt.settings}
		if err := (Encoder{}).DecodeBatch(target, &inference.EncodeBatch{Items: []*inference.EncodeItem{item}}, &inference.Response{Outputs: []inference.Output{out}}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range item.Result.Sparse {
			got = append(got, fmt.Sprintf("%d:%.4f", w.ID, w.Weight))
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%+v: got %s, want %s", tt.settings, text, tt.want)
		}
	}
}

// TestEncoderResults checks the result of each task, and the errors of outputs that don't fit the task.
func TestEncoderResults(t *testing.T) {
	for _, tt := range []struct {
		name, output string
		task         inference.Task
		out          inference.Output
		want         inference.Encoded
		err          string
	}{
		{
			"vectors of tokens, without padding", "last_hidden_state FP32 -1 2", inference.TaskTokenEmbed,
			floatOutput("last_hidden_state", []int64{1, 3, 2}, 1, 2, 3, 4, 99, 99),
			inference.Encoded{Tokens: inference.Matrix{Rows: 2, Columns: 2, Values: []float32{1, 2, 3, 4}}, PromptTokens: 2},
			"",
		},
		{"the model's vector", "sentence_embedding FP32 3", inference.TaskEmbed, floatOutput("sentence_embedding", []int64{1, 3}, 1, 2, 3), inference.Encoded{Vector: []float32{1, 2, 3}, PromptTokens: 2}, ""},
		{
			"SPLADE: log(1+x) of the highest logits above 0", "logits FP32 -1 4", inference.TaskSparse,
			floatOutput("logits", []int64{1, 3, 4}, 1, -1, 0, 0, 0.5, -2, 3, 0, 99, 99, 99, 99),
			inference.Encoded{Sparse: []inference.TokenWeight{{ID: 0, Weight: 0.6931472}, {ID: 2, Weight: 1.3862944}}, PromptTokens: 2},
			"",
		},
		{"SPLADE without a logit above 0", "logits FP32 -1 2", inference.TaskSparse, floatOutput("logits", []int64{1, 2, 2}, -1, -1, 0, -1), inference.Encoded{Sparse: []inference.TokenWeight{}, PromptTokens: 2}, ""},
		{
			"weights in the order of the ids", "sparse_weights FP32 -1", inference.TaskSparse,
			floatOutput("sparse_weights", []int64{1, 2}, 0.25, 0.75),
			inference.Encoded{Sparse: []inference.TokenWeight{{ID: 5, Weight: 0.75}, {ID: 8, Weight: 0.25}}, PromptTokens: 2},
			"",
		},
		{"a score", "logits FP32 1", inference.TaskScore, floatOutput("logits", []int64{1, 1}, -1.5), inference.Encoded{Score: -1.5, PromptTokens: 2}, ""},
		{"classes", "logits FP32 3", inference.TaskClassify, floatOutput("logits", []int64{1, 3}, 1, 0.5, -1), inference.Encoded{Classes: []float64{1, 0.5, -1}, PromptTokens: 2}, ""},
		{"two values for a score", "logits FP32 -1", inference.TaskScore, floatOutput("logits", []int64{1, 2}, 1, 2), inference.Encoded{}, "model m: output logits: the model returns 2 values for a pair, but a score is one value"},
		{"no logits of the last token", "logits FP32 -1 2", inference.TaskSparse, floatOutput("logits", []int64{1, 1, 2}, 1, 2), inference.Encoded{}, "model m: output logits: the output has the vectors of 1 tokens, but the input has 2"},
		{"no weight of the last token", "sparse_weights FP32 -1", inference.TaskSparse, floatOutput("sparse_weights", []int64{1, 1}, 1), inference.Encoded{}, "model m: output sparse_weights: the output has the vectors of 1 tokens, but the input has 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := encoderConfig(8, "input_ids INT64 -1", "attention_mask INT64 -1", ">", tt.output)
			item := &inference.EncodeItem{Task: tt.task, Sequence: inference.Sequence{IDs: []int32{8, 5}}, Result: &inference.Encoded{}}
			target := &inference.Target{Name: "m", Config: config, Encoder: &inference.EncoderSettings{}}
			err := Encoder{}.DecodeBatch(target, &inference.EncodeBatch{Items: []*inference.EncodeItem{item}}, &inference.Response{Outputs: []inference.Output{tt.out}})
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Errorf("got  %v\nwant %s", err, tt.err)
				}
				return
			}
			if got, want := fmt.Sprintf("%+v", *item.Result), fmt.Sprintf("%+v", tt.want); err != nil || got != want {
				t.Errorf("got  %s, %v\nwant %s", got, err, want)
			}
		})
	}
}
