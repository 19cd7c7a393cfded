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

func texts(name string, elements ...string) inference.Output {
	var raw []byte
	for _, e := range elements {
		raw = appendText(raw, e)
	}
	return output(name, "BYTES", raw)
}

func count(name string, n int32) inference.Output {
	return output(name, "INT32", binary.LittleEndian.AppendUint32(nil, uint32(n)))
}

func floats(name string, values ...float32) inference.Output {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return output(name, "FP32", raw)
}

// response returns a response with outputs.
func response(final bool, outs ...inference.Output) *inference.Response {
	return &inference.Response{Final: final, Outputs: outs}
}

// steps returns the steps that a decoder reads: for each step its sequence, text, finish reason,
// token counts of prompt and answer, and log probabilities.
func steps(d inference.Decoder, responses []*inference.Response) (string, error) {
	var all []string
	for _, resp := range responses {
		var first inference.Step
		if err := d.Decode(resp, &first); err != nil {
			return "", err
		}
		for _, s := range append([]inference.Step{first}, first.Others...) {
			line := fmt.Sprintf("%d:%q %s %d+%d", s.Sequence, s.Text, s.Finish, s.PromptTokens, s.OutputTokens)
			for _, l := range s.Logprobs {
				line += fmt.Sprintf(" %q=%v", l.Token, l.Logprob)
			}
			all = append(all, line)
		}
	}
	return strings.Join(all, "; "), nil
}

func TestTextDecode(t *testing.T) {
	bare := tensorsOf(0, true, []string{"text_input STRING 1"}, "text_output")
	inf := float32(math.Inf(-1))
	tests := []struct {
		name      string
		kind      inference.Backend
		config    *kserve.ModelConfig
		responses []*inference.Response
		want, err string
	}{
		{"deltas and counts", TensorRTLLM{}, ensembleConfig(), []*inference.Response{
			response(false, texts("text_output", "a"), count("num_input_tokens", 7), count("num_output_tokens", 1), count("batch_index", 0)),
			response(false, texts("text_output", "b"), count("num_input_tokens", 7), count("num_output_tokens", 2)),
			response(true),
		}, `0:"a"  7+1; 0:"b"  7+2; 0:""  0+0`, ""},
		{"accumulated texts", TensorRTLLM{}, accumulating(), []*inference.Response{
			response(false, texts("text_output", "a"), count("num_output_tokens", 1)),
			response(false, texts("text_output", "ab\ufffd"), count("num_output_tokens", 1)),
			response(false, texts("text_output", "abé\ufffd"), count("num_output_tokens", 1)),
			response(true),
		}, "0:\"a\"  0+1; 0:\"b\"  0+1; 0:\"é\"  0+1; 0:\"\"  0+0; 0:\"\ufffd\"  0+0", ""},
		{"several texts at once", TensorRTLLM{}, ensembleConfig(), []*inference.Response{
			response(true, texts("text_output", "a", "b"), count("num_output_tokens", 6), floats("output_log_probs", -1, -2, -3, -4, -5, -6)),
		}, `0:"a"  0+3 "a"=-6; 1:"b"  0+3 "b"=-15`, ""},
		{"several texts by their index", TensorRTLLM{}, ensembleConfig(), []*inference.Response{
			response(false, texts("text_output", "a"), count("sequence_index", 1)),
			response(true, texts("text_output", "b"), count("sequence_index", 0)),
		}, `1:"a"  0+0; 0:"b"  0+0`, ""},
		{"logprobs of each token", TensorRTLLM{}, ensembleConfig(), []*inference.Response{
			response(false, texts("text_output", "a"), count("num_output_tokens", 1), floats("output_log_probs", -0.5)),
			response(false, texts("text_output", "b"), count("num_output_tokens", 1), floats("output_log_probs", inf)),
		}, `0:"a"  0+1 "a"=-0.5; 0:"b"  0+1 "b"=-9999`, ""},
		{"logprobs that repeat the earlier ones", TensorRTLLM{}, ensembleConfig(), []*inference.Response{
			response(false, texts("text_output", "a"), count("num_output_tokens", 1), floats("output_log_probs", -0.5)),
			response(false, texts("text_output", "b"), count("num_output_tokens", 1), floats("output_log_probs", -0.5, -0.25)),
		}, `0:"a"  0+1 "a"=-0.5; 0:"b"  0+1 "b"=-0.25`, ""},
		{"logprobs of two tokens that the tokenizer tells apart", TensorRTLLM{}, ensembleConfig(), []*inference.Response{
			response(false, texts("text_output", "aba"), count("num_output_tokens", 2), floats("output_log_probs", -0.5, -0.25)),
		}, `0:"aba"  0+2 "ab"=-0.5 "a"=-0.25`, ""},
		{"logprobs of two tokens that it reads as others", TensorRTLLM{}, ensembleConfig(), []*inference.Response{
			response(false, texts("text_output", "ab"), count("num_output_tokens", 2), floats("output_log_probs", -0.5, -0.25)),
		}, `0:"ab"  0+2 "ab"=-0.75`, ""},
		{"no logprobs", TensorRTLLM{}, ensembleConfig(), []*inference.Response{response(false, texts("text_output", "a"), floats("output_log_probs"))}, `0:"a"  0+0`, ""},
		{"llmapi", LLMAPI{}, llmapiConfig(), []*inference.Response{
			response(false, texts("text_output", "a"), texts("finish_reason", "None")),
			response(false, texts("text_output", "ab"), texts("finish_reason", "None")),
			response(true, texts("text_output", "abc"), texts("finish_reason", "stop")),
		}, `0:"a"  0+0; 0:"b"  0+0; 0:"c" stop 0+0`, ""},
		{"llmapi: reasons", LLMAPI{}, llmapiConfig(), []*inference.Response{
			response(false, texts("text_output", "", "", "", ""), texts("finish_reason", "length", "timeout", "cancelled", "content_filter")),
		}, `0:"" length 0+0; 1:"" length 0+0; 2:"" length 0+0; 3:"" content_filter 0+0`, ""},
		{"llmapi: the last word is no text", LLMAPI{}, llmapiConfig(), []*inference.Response{response(true, texts("text_output", "a\ufffd"))}, "0:\"a\ufffd\"  0+0", ""},
		{"plain without a limit", Python{}, bare, []*inference.Response{response(false, texts("text_output", "a")), response(true)}, `0:"a" stop 0+0; 0:""  0+0`, ""},
		{"counts of 64 bits", Python{}, bare, []*inference.Response{response(false, output("num_input_tokens", "INT64", binary.LittleEndian.AppendUint64(nil, 5)))}, `0:""  5+0`, ""},
		{"no text", TensorRTLLM{}, ensembleConfig(), []*inference.Response{response(false, texts("text_output"))}, `0:""  0+0`, ""},
		{"a count below 0", TensorRTLLM{}, ensembleConfig(), []*inference.Response{response(false, count("num_output_tokens", -3))}, `0:""  0+0`, ""},
		{"an index below 0", TensorRTLLM{}, ensembleConfig(), []*inference.Response{response(false, texts("text_output", "a"), count("sequence_index", -1))}, "", "more than 128 texts"},
		{"an index too high", TensorRTLLM{}, accumulating(), []*inference.Response{response(false, texts("text_output", "a"), count("sequence_index", 1<<30))}, "", "more than 128 texts"},
		{"a text that is cut", TensorRTLLM{}, ensembleConfig(), []*inference.Response{response(false, output("text_output", "BYTES", []byte{9, 0, 0, 0, 'x'}))}, "", "9 bytes, but only 1 bytes follow"},
		{"a reason that is cut", LLMAPI{}, llmapiConfig(), []*inference.Response{response(false, texts("text_output", "a"), output("finish_reason", "BYTES", []byte{9, 0}))}, "", "model m: output text_output: an element of a BYTES tensor is shorter than its 4-byte length prefix"},
		{"a text of another type", TensorRTLLM{}, ensembleConfig(), []*inference.Response{response(false, count("text_output", 1))}, "", "INT32 instead of BYTES"},
		{"probabilities of another type", TensorRTLLM{}, ensembleConfig(), []*inference.Response{response(false, count("output_log_probs", 1))}, "", "INT32 instead of FP32"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			target := &inference.Target{Name: "m", Config: tt.config, Tokenizer: letters(t, false)}
			req := &inference.Request{Sampling: inference.Sampling{Logprobs: new(0)}}
			got, err := steps(tt.kind.Decoder(target, req), tt.responses)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("got  %s (%v)\nwant %s", got, err, tt.want)
			}
		})
	}
}

// TestDecodeAllocates checks that decoding a token's text allocates nothing in any form: every
// token of every stream pays that cost.
func TestDecodeAllocates(t *testing.T) {
	const runs = 1000
	long := strings.Repeat("x", runs+10)
	var grown []*inference.Response
	for i := range long {
		grown = append(grown, response(false, texts("text_output", long[:i]), count("num_output_tokens", 1), count("num_input_tokens", 1)))
	}
	for _, config := range []*kserve.ModelConfig{ensembleConfig(), accumulating()} {
		d := TensorRTLLM{}.Decoder(&inference.Target{Config: config}, &inference.Request{})
		i := 0
		var step inference.Step
		allocations := testing.AllocsPerRun(runs, func() {
			if err := d.Decode(grown[i], &step); err != nil {
				t.Fatal(err)
			}
			i++
		})
		if allocations >= 1 {
			t.Errorf("%v allocations a token, accumulated: %v", allocations, accumulates(config))
		}
	}
}

// BenchmarkDecode measures the cost of decoding a token's response, in the kinds that stream.
// Compare the kinds with each other.
func BenchmarkDecode(b *testing.B) {
	counts := []inference.Output{count("num_output_tokens", 1), count("num_input_tokens", 9)}
	long := strings.Repeat(" word", 500)
	for _, bench := range []struct {
		name    string
		kind    inference.Backend
		config  *kserve.ModelConfig
		outputs []inference.Output
	}{
		{"vllm", VLLM{}, vllmConfig(), []inference.Output{texts("text_output", " word"), texts("finish_reason", "None"), output("num_output_tokens", "UINT32", counts[0].Raw), output("num_input_tokens", "UINT32", counts[1].Raw)}},
		{"ensemble", TensorRTLLM{}, ensembleConfig(), append([]inference.Output{texts("text_output", " word")}, counts...)},
		{"bls, 500 words accumulated", TensorRTLLM{}, accumulating(), append([]inference.Output{texts("text_output", long)}, counts...)},
		{"llmapi, 500 words accumulated", LLMAPI{}, llmapiConfig(), []inference.Output{texts("text_output", long), texts("finish_reason", "None")}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			d := bench.kind.Decoder(&inference.Target{Config: bench.config}, &inference.Request{Task: inference.TaskGenerate})
			resp := response(false, bench.outputs...)
			var step inference.Step
			b.ReportAllocs()
			for b.Loop() {
				step = inference.Step{}
				if err := d.Decode(resp, &step); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// FuzzTextDecode checks that decoding any text response of a model ends without a panic and without
// too many texts.
func FuzzTextDecode(f *testing.F) {
	f.Add("text_output", "BYTES", []byte{1, 0, 0, 0, 'a', 1, 0, 0, 0, 'b'}, "sequence_index", []byte{1, 0, 0, 0})
	f.Add("output_log_probs", "FP32", []byte{1, 2, 3, 4, 5}, "num_output_tokens", []byte{255, 255, 255, 255})
	f.Add("finish_reason", "BYTES", []byte{1, 0, 0, 0, 'x'}, "text_output", []byte{1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, name, datatype string, raw []byte, other string, more []byte) {
		for _, b := range []inference.Backend{TensorRTLLM{}, LLMAPI{}} {
			target := &inference.Target{Config: ensembleConfig(), Tokenizer: letters(t, false)}
			d := b.Decoder(target, &inference.Request{Sampling: inference.Sampling{Logprobs: new(0)}})
			for range 2 {
				var s inference.Step
				_ = d.Decode(response(true, texts("text_output", "ab"), output(name, datatype, raw), output(other, "INT32", more)), &s)
				if len(s.Others) > 2*maxTexts {
					t.Fatalf("%d texts", len(s.Others))
				}
			}
		}
	})
}
