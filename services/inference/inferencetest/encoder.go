package inferencetest

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// EncoderConfig returns a configuration with the tensors of an encoder. Its only output has the given
// name and dims after the batch.
func EncoderConfig(name string, maxBatch int32, output string, dims ...int64) *kserve.ModelConfig {
	config := &kserve.ModelConfig{Name: name, Backend: "python", MaxBatchSize: maxBatch, Parameters: map[string]*kserve.ModelParameter{}}
	in := []int64{-1}
	if maxBatch == 0 {
		in, dims = []int64{-1, -1}, append([]int64{-1}, dims...)
	}
	for _, tensor := range []string{"input_ids", "attention_mask", "token_type_ids"} {
		config.Input = append(config.Input, &kserve.ModelInput{Name: tensor, DataType: kserve.DataType_TYPE_INT64, Dims: in})
	}
	config.Output = []*kserve.ModelOutput{{Name: output, DataType: kserve.DataType_TYPE_FP32, Dims: dims}}
	return config
}

// AddEncoder adds a ready model of the encoder contract, with parameters of its config.pbtxt. The
// function row returns the values of an input from its token ids, which are those of its output.
func (e *Engine) AddEncoder(config *kserve.ModelConfig, parameters map[string]string, row func(ids []int) []float32) {
	for key, value := range parameters {
		config.Parameters[key] = &kserve.ModelParameter{StringValue: value}
	}
	e.AddOther(config.GetName(), config, Encoder(config.GetOutput()[0], row))
}

// Encoder returns a script that answers each row of input_ids, without its padding, by a function. An
// output of tokens gets the values of padding as 99.
func Encoder(out *kserve.ModelOutput, row func(ids []int) []float32) Script {
	return func(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		rows := Sequences(req)
		longest, shape := int(req.GetInputs()[0].GetShape()[1]), []int64{int64(len(rows))}
		var raw []byte
		for _, ids := range rows {
			values := row(ids)
			if perToken := len(values) / max(len(ids), 1); len(values) > 0 && isTokens(out) {
				for len(values) < longest*perToken {
					values = append(values, 99)
				}
				shape = []int64{int64(len(rows)), int64(longest), int64(perToken)}
			} else {
				shape = []int64{int64(len(rows)), int64(len(values))}
			}
			for _, v := range values {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
			}
		}
		send(&inference.Response{Final: true, Outputs: []inference.Output{{Name: out.GetName(), Type: "FP32", Shape: shape, Raw: raw}}})
		return nil
	}
}

// isTokens reports whether an output has a vector for each token.
func isTokens(out *kserve.ModelOutput) bool {
	n := 0
	for _, d := range out.GetDims() {
		if d < 0 {
			n++
		}
	}
	return n == 2 || n == 1 && len(out.GetDims()) == 2 && out.GetDims()[0] < 0 && out.GetName() != "logits"
}

// Sequences returns the token ids of each input of a request to an encoder, without padding.
func Sequences(req *kserve.ModelInferRequest) [][]int {
	shape := req.GetInputs()[0].GetShape()
	tensors := map[string][]int{}
	for i, in := range req.GetInputs() {
		raw := req.GetRawInputContents()[i]
		for n := 0; n+8 <= len(raw); n += 8 {
			tensors[in.GetName()] = append(tensors[in.GetName()], int(int64(binary.LittleEndian.Uint64(raw[n:]))))
		}
	}
	rows := make([][]int, shape[0])
	for r := range rows {
		rows[r] = []int{}
		for c := range int(shape[1]) {
			if at := r*int(shape[1]) + c; tensors["attention_mask"][at] == 1 {
				rows[r] = append(rows[r], tensors["input_ids"][at])
			}
		}
	}
	return rows
}
