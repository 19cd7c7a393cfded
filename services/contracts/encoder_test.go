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

// encoderConfig returns a configuration with tensors such as "input_ids INT64 -1"; outputs come after ">".
func encoderConfig(maxBatch int32, tensors ...string) *kserve.ModelConfig {
	config := &kserve.ModelConfig{Name: "m", MaxBatchSize: maxBatch}
	outputs := false
	for _, tensor := range tensors {
		if tensor == ">" {
			outputs = true
			continue
		}
		parts := strings.Fields(tensor)
		var dims []int64
		for _, d := range parts[2:] {
			var n int64
			_, _ = fmt.Sscan(d, &n)
			dims = append(dims, n)
		}
		kind := kserve.DataType(kserve.DataType_value["TYPE_"+parts[1]])
		if outputs {
			config.Output = append(config.Output, &kserve.ModelOutput{Name: parts[0], DataType: kind, Dims: dims})
		} else {
			name, optional := strings.CutSuffix(parts[0], "?")
			config.Input = append(config.Input, &kserve.ModelInput{Name: name, DataType: kind, Dims: dims, Optional: optional})
		}
	}
	return config
}

// named sets the parameter that names the output of a model.
func named(output string, config *kserve.ModelConfig) *kserve.ModelConfig {
	config.Parameters = map[string]*kserve.ModelParameter{"trident.output": {StringValue: output}}
	return config
}

// TestEncoderTasks checks which contract and which tasks follow from the declared tensors.
func TestEncoderTasks(t *testing.T) {
	const ids, mask = "input_ids INT64 -1", "attention_mask INT64 -1"
	const ids2, mask2 = "input_ids INT32 -1 -1", "attention_mask INT32 -1 -1"
	for _, tt := range []struct {
		name   string
		config *kserve.ModelConfig
		want   string
		pools  bool
	}{
		{"tokens", encoderConfig(8, ids, mask, ">", "last_hidden_state FP32 -1 384"), "encoder: embed token_embed", true},
		{"tokens, with the batch in the dims", encoderConfig(0, ids2, mask2, "token_type_ids INT32 -1 -1", ">", "last_hidden_state FP16 -1 -1 384"), "encoder: embed token_embed", true},
		{"BERT's own names", encoderConfig(8, ids, "input_mask INT64 -1", "segment_ids INT64 -1", ">", "pooler_output FP32 384"), "encoder: embed", false},
		{"tokens are better than the pooler", encoderConfig(8, ids, mask, ">", "last_hidden_state FP32 -1 384", "pooler_output FP32 384"), "encoder: embed token_embed", true},
		{"a sentence's embedding is better than tokens", encoderConfig(8, ids, mask, ">", "token_embeddings FP32 -1 384", "sentence_embedding BF16 384"), "encoder: embed token_embed", false},
		{"one logit", encoderConfig(8, ids, mask, ">", "logits FP32 1"), "encoder: score classify", false},
		{"three logits", encoderConfig(8, ids, mask, ">", "logits FP32 3"), "encoder: classify", false},
		{"logits of unknown number", encoderConfig(0, ids2, mask2, ">", "logits FP32 -1 -1"), "encoder: score classify", false},
		{"logits of the vocabulary", encoderConfig(8, ids, mask, ">", "logits FP32 -1 30522"), "encoder: sparse", false},
		{"BGE-M3", encoderConfig(0, ids2, mask2, ">", "dense_vecs FP32 -1 1024", "sparse_vecs FP32 -1 -1 1", "colbert_vecs FP32 -1 -1 1024"), "encoder: embed token_embed sparse", false},
		{"another name", encoderConfig(8, ids, mask, ">", "out FP32 -1 384"), "encoder: embed token_embed sparse", true},
		{"two other names", encoderConfig(8, ids, mask, ">", "out_0 FP32 -1 384", "out_1 FP32 384"), "", false},
		{"the parameter names tokens", named("out_0", encoderConfig(8, ids, mask, ">", "out_0 FP32 -1 384", "out_1 FP32 384")), "encoder: embed token_embed sparse", true},
		{"the parameter names a vector", named("out_1", encoderConfig(8, ids, mask, ">", "out_0 FP32 -1 384", "out_1 FP32 384")), "encoder: embed classify", false},
		{"the parameter names the pooler", named("pooler_output", encoderConfig(8, ids, mask, ">", "last_hidden_state FP32 -1 384", "pooler_output FP32 384")), "encoder: embed", false},
		{"the parameter names no output", named("x", encoderConfig(8, ids, mask, ">", "last_hidden_state FP32 -1 384")), "", false},
		{"another name, pooled or logits", encoderConfig(8, ids, mask, ">", "out FP32 384"), "encoder: embed classify", false},
		{"an optional input", encoderConfig(8, ids, mask, "scale? FP32 1", ">", "logits FP32 3"), "encoder: classify", false},
		{"a further input", encoderConfig(8, ids, mask, "scale FP32 1", ">", "logits FP32 3"), "", false},
		{"no mask", encoderConfig(8, ids, ">", "logits FP32 3"), "", false},
		{"ids of another type", encoderConfig(8, "input_ids FP32 -1", mask, ">", "logits FP32 3"), "", false},
		{"ids of another rank", encoderConfig(8, "input_ids INT64 -1 -1", mask, ">", "logits FP32 3"), "", false},
		{"integers come out", encoderConfig(8, ids, mask, ">", "logits INT64 3"), "", false},
		{"a text", encoderConfig(8, "input_text STRING 1", ">", "vector FP32 384"), "text_encoder: embed classify", false},
		{"a text with the batch in the dims", encoderConfig(0, "TEXT STRING -1", "lang? STRING -1", ">", "vector FP16 -1 384"), "text_encoder: embed classify", false},
		{"two outputs", encoderConfig(8, "input_text STRING 1", ">", "a FP32 384", "b FP32 384"), "", false},
		{"the parameter names one of two outputs", named("b", encoderConfig(8, "input_text STRING 1", ">", "a FP32 384", "b FP32 384")), "text_encoder: embed classify", false},
		{"several texts at once", encoderConfig(8, "input_text STRING 3", ">", "a FP32 384"), "", false},
		{"a pair", encoderConfig(8, "query STRING 1", "document STRING 1", ">", "score FP32 1"), "pair_encoder: score classify", false},
		{"a pair with one dim", encoderConfig(0, "query STRING -1", "document STRING -1", ">", "score FP32 -1"), "pair_encoder: score classify", false},
		{"a pair with classes", encoderConfig(8, "a STRING 1", "b STRING 1", ">", "score FP32 3"), "pair_encoder: classify", false},
		{"three texts", encoderConfig(8, "a STRING 1", "b STRING 1", "c STRING 1", ">", "score FP32 3"), "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, pools := "", false
			for _, b := range All(Config{}) {
				if tasks := b.Tasks(tt.config); tasks != 0 {
					got = b.Name() + ": " + strings.Join(tasks.Names(), " ")
					pools = b.(interface {
						Pools(config *kserve.ModelConfig) bool
					}).Pools(tt.config)
					break
				}
			}
			if got != tt.want || pools != tt.pools {
				t.Errorf("got %q, pools %t", got, pools)
			}
		})
	}
}

// TestEncoderForm checks the bounds that declared dims set.
func TestEncoderForm(t *testing.T) {
	for want, config := range map[string]*kserve.ModelConfig{
		"8 0":   encoderConfig(8, "input_ids INT64 -1", "attention_mask INT64 -1", ">", "logits FP32 1"),
		"8 128": encoderConfig(8, "input_ids INT64 128", "attention_mask INT64 128", ">", "logits FP32 1"),
		"0 0":   encoderConfig(0, "input_ids INT64 -1 -1", "attention_mask INT64 -1 -1", ">", "logits FP32 -1 1"),
		"4 16":  encoderConfig(0, "input_ids INT64 4 16", "attention_mask INT64 4 16", ">", "logits FP32 4 1"),
	} {
		if f := (Encoder{}).EncoderForm(config); fmt.Sprint(f.MaxBatch, " ", f.Length) != want || !f.TokenIDs {
			t.Errorf("got %+v, want %s", f, want)
		}
	}
}

// TestEncoderFixedDims checks that dims of a fixed size are filled, and that rows without an input have a
// mask that isn't empty.
func TestEncoderFixedDims(t *testing.T) {
	config := encoderConfig(0, "input_ids INT32 2 3", "attention_mask INT32 2 3", "position_ids INT32 2 3", ">", "logits FP32 2 1")
	target := &inference.Target{Name: "m", Config: config, Encoder: &inference.EncoderSettings{PadID: 7}}
	batch := &inference.EncodeBatch{Items: []*inference.EncodeItem{{Task: inference.TaskScore, Sequence: inference.Sequence{IDs: []int32{5, 6}}, Result: &inference.Encoded{}}}}
	req, err := Encoder{}.EncodeBatch(target, batch)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, in := range req.GetInputs() {
		var numbers []int32
		for raw := req.GetRawInputContents()[i]; len(raw) > 0; raw = raw[4:] {
			numbers = append(numbers, int32(binary.LittleEndian.Uint32(raw)))
		}
		got = append(got, fmt.Sprint(in.GetName(), in.GetDatatype(), in.GetShape(), numbers))
	}
	if text := strings.Join(got, " "); text != "input_idsINT32[2 3] [5 6 7 7 7 7] attention_maskINT32[2 3] [1 1 0 1 0 0] position_idsINT32[2 3] [0 1 0 0 0 0]" {
		t.Errorf("got %s", text)
	}
}

// TestPairTensors checks the texts and shapes that models of pairs get, in the order of their roles.
func TestPairTensors(t *testing.T) {
	second := "doc"
	item := &inference.EncodeItem{Task: inference.TaskScore, Input: &inference.EncodeInput{Input: inference.Input{Text: "q"}, Second: &second}, Result: &inference.Encoded{}}
	for _, tt := range []struct {
		config *kserve.ModelConfig
		want   string
	}{
		{encoderConfig(8, "query STRING 1", "document STRING 1", ">", "score FP32 1"), "query[2 1]q q document[2 1]doc doc"},
		{encoderConfig(0, "passage STRING -1", "question STRING -1", ">", "score FP32 -1"), "question[2]q q passage[2]doc doc"},
		{encoderConfig(0, "a STRING -1 1", "b STRING -1 1", ">", "score FP32 -1 1"), "a[2 1]q q b[2 1]doc doc"},
	} {
		req, err := PairEncoder{}.EncodeBatch(&inference.Target{Config: tt.config}, &inference.EncodeBatch{Items: []*inference.EncodeItem{item, item}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, in := range req.GetInputs() {
			raw := req.GetRawInputContents()[i]
			first, rest, _ := nextBytes(raw)
			other, _, _ := nextBytes(rest)
			got = append(got, fmt.Sprintf("%s%v%s %s", in.GetName(), in.GetShape(), first, other))
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("got %s, want %s", text, tt.want)
		}
	}
}

func floatOutput(name string, shape []int64, values ...float32) inference.Output {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return inference.Output{Name: name, Type: "FP32", Shape: shape, Raw: raw}
}

// TestEncoderDecode checks results by datatype and shape, and the errors of answers that can't be read.
func TestEncoderDecode(t *testing.T) {
	tokens := encoderConfig(8, "input_ids INT64 -1", "attention_mask INT64 -1", ">", "last_hidden_state FP32 -1 2")
	weights := encoderConfig(0, "input_ids INT64 -1 -1", "attention_mask INT64 -1 -1", ">", "sparse_vecs FP32 -1 -1 1")
	for _, tt := range []struct {
		name   string
		config *kserve.ModelConfig
		task   inference.Task
		out    inference.Output
		want   string // results of two inputs, with the ids 0 5 and 0 5 5
		err    string
	}{
		{"mean", tokens, inference.TaskEmbed, floatOutput("last_hidden_state", []int64{2, 3, 2}, 1, 2, 3, 4, 99, 99, 1, 1, 1, 1, 4, 4), "[2 3] [2 2]", ""},
		{"half", tokens, inference.TaskEmbed, inference.Output{Name: "last_hidden_state", Type: "FP16", Shape: []int64{2, 3, 2}, Raw: []byte(strings.Repeat("\x00\x3c", 12))}, "[1 1] [1 1]", ""},
		{"weights of tokens", weights, inference.TaskSparse, floatOutput("sparse_vecs", []int64{2, 3, 1}, 9, 0.5, 9, 9, 0.25, 0.75), "[{5 0.5}] [{5 0.75}]", ""},
		{"no output", tokens, inference.TaskEmbed, floatOutput("other", []int64{1}, 1), "", "the response lacks the output last_hidden_state"},
		{"integers", tokens, inference.TaskEmbed, inference.Output{Name: "last_hidden_state", Type: "INT64", Shape: []int64{1}, Raw: make([]byte, 8)}, "", "INT64 instead of FP32, FP16 or BF16"},
		{"a shape that doesn't fit", tokens, inference.TaskEmbed, floatOutput("last_hidden_state", []int64{2, 3, 2}, 1), "", "4 bytes of FP32 have the shape [2 3 2]"},
		{"no shape", tokens, inference.TaskEmbed, floatOutput("last_hidden_state", nil, 1), "", "4 bytes of FP32 have the shape []"},
		{"a negative shape", tokens, inference.TaskEmbed, floatOutput("last_hidden_state", []int64{-1, -1}, 1), "", "have the shape [-1 -1]"},
		{"a shape that overflows", tokens, inference.TaskEmbed, floatOutput("last_hidden_state", []int64{1 << 31, 1 << 31, 4}, 1), "", "have the shape"},
		{"fewer rows", tokens, inference.TaskEmbed, floatOutput("last_hidden_state", []int64{1, 3, 2}, 1, 2, 3, 4, 5, 6), "", "the output has 1 rows, but the batch has more"},
		{"fewer tokens", tokens, inference.TaskEmbed, floatOutput("last_hidden_state", []int64{2, 1, 2}, 1, 2, 3, 4), "", "the output has the vectors of 1 tokens, but the input has 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			settings := &inference.EncoderSettings{Pooling: "mean", Special: []int32{0}}
			batch := &inference.EncodeBatch{}
			for _, ids := range [][]int32{{0, 5}, {0, 5, 5}} {
				batch.Items = append(batch.Items, &inference.EncodeItem{Task: tt.task, Sequence: inference.Sequence{IDs: ids}, Result: &inference.Encoded{}})
			}
			err := Encoder{}.DecodeBatch(&inference.Target{Name: "m", Config: tt.config, Encoder: settings}, batch, &inference.Response{Outputs: []inference.Output{tt.out}})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, item := range batch.Items {
				if item.Result.Sparse != nil {
					got = append(got, fmt.Sprint(item.Result.Sparse))
				} else {
					got = append(got, fmt.Sprint(item.Result.Vector))
				}
			}
			if text := strings.Join(got, " "); text != tt.want || batch.Items[1].Result.PromptTokens != 3 {
				t.Errorf("got %s, want %s", text, tt.want)
			}
		})
	}
}

// FuzzEncoderDecode checks that no answer of a model makes the decoder panic, or return a result of
// another size than the tensor's.
func FuzzEncoderDecode(f *testing.F) {
	f.Add("FP32", int64(2), int64(3), int64(2), uint8(0), []byte(strings.Repeat("\x00\x00\x80\x3f", 12)))
	f.Add("FP16", int64(1), int64(1), int64(1), uint8(1), []byte("\x00\x3c"))
	f.Add("BF16", int64(1<<32), int64(1<<32), int64(-1), uint8(2), []byte{})
	f.Add("FP32", int64(0), int64(0), int64(0), uint8(3), []byte{1})
	configs := []*kserve.ModelConfig{
		encoderConfig(8, "input_ids INT64 -1", "attention_mask INT64 -1", ">", "out FP32 -1 2"),
		encoderConfig(8, "input_ids INT64 -1", "attention_mask INT64 -1", ">", "out FP32 2"),
		encoderConfig(8, "input_ids INT64 -1", "attention_mask INT64 -1", ">", "logits FP32 -1 4"),
		encoderConfig(8, "input_ids INT64 -1", "attention_mask INT64 -1", ">", "sparse_vecs FP32 -1"),
	}
	tasks := []inference.Task{inference.TaskEmbed, inference.TaskTokenEmbed, inference.TaskSparse, inference.TaskClassify, inference.TaskScore}
	f.Fuzz(func(t *testing.T, datatype string, a, b, c int64, kind uint8, raw []byte) {
		config := configs[int(kind)%len(configs)]
		out := inference.Output{Name: config.GetOutput()[0].GetName(), Type: datatype, Shape: []int64{a, b, c}[:1+int(kind/4)%3], Raw: raw}
		for _, task := range tasks {
			if (Encoder{}).Tasks(config)&task == 0 {
				continue
			}
			item := &inference.EncodeItem{Task: task, Sequence: inference.Sequence{IDs: []int32{0, 5}}, Result: &inference.Encoded{}}
			target := &inference.Target{Name: "m", Config: config, Encoder: &inference.EncoderSettings{Pooling: "mean"}}
			if (Encoder{}).DecodeBatch(target, &inference.EncodeBatch{Items: []*inference.EncodeItem{item}}, &inference.Response{Outputs: []inference.Output{out}}) != nil {
				continue
			}
			if n := len(item.Result.Vector) + len(item.Result.Tokens.Values) + len(item.Result.Sparse) + len(item.Result.Classes); n > len(raw)/2 {
				t.Errorf("%d values of %d bytes", n, len(raw))
			}
		}
	})
}
