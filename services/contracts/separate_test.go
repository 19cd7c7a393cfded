package contracts

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/tokenizer"
)

// tensorsOf declares inputs from lines such as "stop_words STRING -1". An optional input has a ?
// after its name. Outputs have only names.
func tensorsOf(batch int32, decoupled bool, lines []string, outputs ...string) *kserve.ModelConfig {
	config := &kserve.ModelConfig{
		MaxBatchSize: batch, ModelTransactionPolicy: &kserve.ModelTransactionPolicy{Decoupled: decoupled},
		Parameters: map[string]*kserve.ModelParameter{},
	}
	for _, line := range lines {
		f := strings.Fields(line)
		in := &kserve.ModelInput{Name: strings.TrimSuffix(f[0], "?"), Optional: strings.HasSuffix(f[0], "?"), DataType: kserve.DataType(kserve.DataType_value["TYPE_"+f[1]])}
		for _, dim := range f[2:] {
			d, _ := strconv.ParseInt(dim, 10, 64)
			in.Dims = append(in.Dims, d)
		}
		config.Input = append(config.Input, in)
	}
	for _, name := range outputs {
		config.Output = append(config.Output, &kserve.ModelOutput{Name: name})
	}
	return config
}

// ensembleInputs are the inputs of TensorRT-LLM's ensemble, without prompt tables.
var ensembleInputs = []string{
	"text_input STRING 1", "max_tokens INT32 1", "num_return_sequences? INT32 1", "bad_words? STRING -1", "stop_words? STRING -1",
	"exclude_input_in_output? BOOL 1", "end_id? INT32 1", "pad_id? INT32 1", "top_k? INT32 1", "top_p? FP32 1", "temperature? FP32 1",
	"length_penalty? FP32 1", "repetition_penalty? FP32 1", "min_tokens? INT32 1", "presence_penalty? FP32 1", "frequency_penalty? FP32 1",
	"seed? UINT64 1", "return_log_probs? BOOL 1", "return_num_input_tokens? BOOL 1", "return_num_output_tokens? BOOL 1", "beam_width? INT32 1",
	"stream? BOOL 1", "embedding_bias_words? STRING -1", "embedding_bias_weights? FP32 -1", "lora_task_id? UINT64 1", "lora_weights? FP16 -1 -1", "lora_config? INT32 -1 3",
	"guided_decoding_guide_type? STRING 1", "guided_decoding_guide? STRING 1",
}

var llmapiInputs = []string{
	"text_input STRING -1", "image_url? STRING -1", "streaming? BOOL 1", "sampling_param_best_of? INT32 1", "sampling_param_temperature? FP32 1",
	"sampling_param_top_k? INT32 1", "sampling_param_top_p? FP32 1", "sampling_param_frequency_penalty? FP32 1", "sampling_param_presence_penalty? FP32 1",
	"sampling_param_max_tokens? INT32 1", "sampling_param_stop? STRING -1", "sampling_param_seed? UINT64 1",
	"sampling_param_exclude_input_from_output? BOOL 1", "return_finish_reason? BOOL 1", "return_stop_reason? BOOL 1", "stop? BOOL 1", "lora_id? UINT64 1",
	"lora_name? STRING 1", "lora_path? STRING 1",
}

func ensembleConfig(change ...string) *kserve.ModelConfig {
	return tensorsOf(4, true, edited(ensembleInputs, change), "text_output", "output_log_probs", "num_input_tokens", "num_output_tokens")
}

// accumulating returns a tensorrt_llm_bls whose texts contain all previous ones.
func accumulating() *kserve.ModelConfig {
	config := ensembleConfig()
	config.Parameters["accumulate_tokens"] = &kserve.ModelParameter{StringValue: "True"}
	return config
}

func llmapiConfig(change ...string) *kserve.ModelConfig {
	return tensorsOf(0, true, edited(llmapiInputs, change), "text_output", "finish_reason")
}

// edited removes the inputs listed as "-name" and adds the others.
func edited(lines, change []string) []string {
	lines = slices.Clone(lines)
	for _, c := range change {
		if name, gone := strings.CutPrefix(c, "-"); gone {
			lines = slices.DeleteFunc(lines, func(line string) bool { return strings.TrimSuffix(strings.Fields(line)[0], "?") == name })
		} else {
			lines = append(lines, c)
		}
	}
	return lines
}

func TestTasks(t *testing.T) {
	tests := []struct {
		name   string
		config *kserve.ModelConfig
		want   string // the first backend that supports the model
	}{
		{"vllm", vllmConfig(), "vllm"},
		{"ensemble or bls", ensembleConfig(), "tensorrtllm"},
		{"llmapi", llmapiConfig(), "llmapi"},
		{"a text and nothing else", tensorsOf(0, false, []string{"text_input STRING 1"}, "text_output"), "python"},
		{"an optional input that nobody knows", tensorsOf(0, false, []string{"text_input STRING 1", "mood? STRING 1"}, "text_output"), "python"},
		{"a required input that nobody knows", tensorsOf(0, false, []string{"text_input STRING 1", "mood STRING 1"}, "text_output"), ""},
		{"an ensemble with a required image", ensembleConfig("image_input FP16 -1 3 -1 -1"), ""},
		{"a required input that not every request has", tensorsOf(0, false, []string{"text_input STRING 1", "end_id INT32 1"}, "text_output"), ""},
		{"text that is none", tensorsOf(0, false, []string{"text_input INT32 -1"}, "text_output"), ""},
		{"no text comes out", tensorsOf(0, false, []string{"text_input STRING 1"}, "scores"), ""},
		{"both contracts", tensorsOf(0, true, []string{"text_input STRING 1", "max_tokens INT32 1", "sampling_parameters? STRING 1"}, "text_output"), "vllm"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			for _, b := range All(Config{}) {
				if b.Tasks(tt.config) != 0 {
					got = b.Name()
					break
				}
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	for first, want := range map[string]string{
		"": "vllm llmapi tensorrtllm python", "vllm": "vllm llmapi tensorrtllm python", "llmapi": "llmapi vllm tensorrtllm python",
		"tensorrtllm": "tensorrtllm vllm llmapi python", "python": "python vllm llmapi tensorrtllm",
	} {
		want += " encoder text_encoder pair_encoder"
		var order []string
		for _, b := range All(Config{First: first}) {
			order = append(order, b.Name())
		}
		if got := strings.Join(order, " "); got != want {
			t.Errorf("%q first: got %s, want %s", first, got, want)
		}
		if err := (Config{First: first}).Validate(); err != nil {
			t.Errorf("%q: %v", first, err)
		}
	}
	if err := (Config{First: "nim"}).Validate(); err == nil || !strings.Contains(err.Error(), `contracts.First: "nim" is not one of vllm, llmapi, tensorrtllm, python, encoder`) {
		t.Errorf("got %v", err)
	}
}

// inputsOf returns a request's inputs: name, datatype, shape, elements.
func inputsOf(t *testing.T, req *kserve.ModelInferRequest) map[string]string {
	t.Helper()
	inputs := map[string]string{}
	for i, in := range req.GetInputs() {
		raw, values := req.GetRawInputContents()[i], []string(nil)
		for len(raw) > 0 {
			switch in.GetDatatype() {
			case "BYTES":
				n := binary.LittleEndian.Uint32(raw)
				values, raw = append(values, strconv.Quote(string(raw[4:4+n]))), raw[4+n:]
			case "BOOL":
				values, raw = append(values, strconv.FormatBool(raw[0] == 1)), raw[1:]
			case "FP32":
				values, raw = append(values, fmt.Sprint(math.Float32frombits(binary.LittleEndian.Uint32(raw)))), raw[4:]
			case "FP64":
				values, raw = append(values, fmt.Sprint(math.Float64frombits(binary.LittleEndian.Uint64(raw)))), raw[8:]
			case "UINT32":
				values, raw = append(values, fmt.Sprint(binary.LittleEndian.Uint32(raw))), raw[4:]
			case "INT32":
				values, raw = append(values, fmt.Sprint(int32(binary.LittleEndian.Uint32(raw)))), raw[4:]
			case "UINT64", "INT64":
				values, raw = append(values, fmt.Sprint(int64(binary.LittleEndian.Uint64(raw)))), raw[8:]
			default:
				t.Fatalf("%s has datatype %s", in.GetName(), in.GetDatatype())
			}
		}
		inputs[in.GetName()] = fmt.Sprint(in.GetDatatype(), in.GetShape(), strings.Join(values, " "))
	}
	return inputs
}

// always returns the inputs of every request, extended by more.
func always(kind string, more map[string]string) map[string]string {
	all := map[string]string{
		"text_input": `BYTES[1 1]"p"`, "max_tokens": "INT32[1 1]9", "stream": "BOOL[1 1]false", "exclude_input_in_output": "BOOL[1 1]true",
		"return_num_input_tokens": "BOOL[1 1]true", "return_num_output_tokens": "BOOL[1 1]true",
	}
	if kind == "llmapi" {
		all = map[string]string{
			"text_input": `BYTES[1]"p"`, "sampling_param_max_tokens": "INT32[1]9", "streaming": "BOOL[1]false",
			"sampling_param_exclude_input_from_output": "BOOL[1]true", "return_finish_reason": "BOOL[1]true",
		}
	}
	maps.Copy(all, more)
	return all
}

func TestSeparateEncode(t *testing.T) {
	ensemble, api := TensorRTLLM{}, LLMAPI{}
	tests := []struct {
		name   string
		kind   inference.Backend
		config *kserve.ModelConfig
		set    func(*inference.Request)
		want   map[string]string
	}{
		{"ensemble: nothing set", ensemble, ensembleConfig(), func(*inference.Request) {}, always("", nil)},
		{"ensemble: everything set", ensemble, ensembleConfig(), func(r *inference.Request) {
			r.Stream = true
			r.Sampling = inference.Sampling{
				Temperature: new(0.7), TopP: new(0.9), TopK: new(40), FrequencyPenalty: new(0.5), PresencePenalty: new(-0.5), RepetitionPenalty: new(1.1),
				MinTokens: new(2), Stop: []string{"\n", "</s>"}, BadWords: []string{"no"}, IgnoreEOS: new(true), MinP: new(0.0), Seed: new(int64(-7)),
				SkipSpecialTokens: new(true), IncludeStop: new(true), Logprobs: new(0),
				Structured: &inference.Structured{Kind: "json", Value: json.RawMessage(`{"type":"object"}`)},
			}
		}, always("", map[string]string{
			"stream": "BOOL[1 1]true", "temperature": "FP32[1 1]0.7", "top_p": "FP32[1 1]0.9", "top_k": "INT32[1 1]40", "frequency_penalty": "FP32[1 1]0.5",
			"presence_penalty": "FP32[1 1]-0.5", "repetition_penalty": "FP32[1 1]1.1", "min_tokens": "INT32[1 1]2", "stop_words": `BYTES[1 2]"\n" "</s>"`,
			"bad_words": `BYTES[1 1]"no"`, "end_id": "INT32[1 1]-1", "seed": "UINT64[1 1]-7", "return_log_probs": "BOOL[1 1]true",
			"guided_decoding_guide_type": `BYTES[1 1]"json_schema"`, "guided_decoding_guide": `BYTES[1 1]"{\"type\":\"object\"}"`,
		})},
		{
			"ensemble: a temperature needs top_p", ensemble, ensembleConfig(), func(r *inference.Request) { r.Sampling.Temperature = new(0.7) },
			always("", map[string]string{"temperature": "FP32[1 1]0.7", "top_p": "FP32[1 1]1"}),
		},
		{
			"ensemble: no temperature is the likeliest token", ensemble, ensembleConfig(), func(r *inference.Request) { r.Sampling.Temperature, r.Sampling.TopP = new(0.0), new(0.9) },
			always("", map[string]string{"top_k": "INT32[1 1]1"}),
		},
		{
			"ensemble: top_k of vLLM's for all", ensemble, ensembleConfig(), func(r *inference.Request) { r.Sampling.TopK, r.Sampling.TopP = new(-1), new(0.5) },
			always("", map[string]string{"top_k": "INT32[1 1]0", "top_p": "FP32[1 1]0.5"}),
		},
		{
			"ensemble: an older one", ensemble, ensembleConfig("-seed", "random_seed? INT64 1", "-return_num_output_tokens"), func(r *inference.Request) { r.Sampling.Seed = new(int64(5)) },
			without(always("", map[string]string{"random_seed": "INT64[1 1]5"}), "return_num_output_tokens"),
		},
		{
			"ensemble: one that can't leave out the prompt streams", ensemble, ensembleConfig("-exclude_input_in_output"), func(*inference.Request) {},
			without(always("", map[string]string{"stream": "BOOL[1 1]true"}), "exclude_input_in_output"),
		},
		{
			"bls: stop texts are looked for in pieces", ensemble, accumulating(), func(r *inference.Request) { r.Sampling.Stop = []string{"a"} },
			always("", map[string]string{"stream": "BOOL[1 1]true", "stop_words": `BYTES[1 1]"a"`}),
		},
		{"bls: one call, too", ensemble, accumulating(), func(r *inference.Request) { r.SingleCall, r.Tools = true, []json.RawMessage{nil} }, always("", map[string]string{"stream": "BOOL[1 1]true"})},
		{
			"ensemble: stop texts are not, as characters would break", ensemble, ensembleConfig(), func(r *inference.Request) { r.Sampling.Stop = []string{"a"} },
			always("", map[string]string{"stop_words": `BYTES[1 1]"a"`}),
		},
		{"ensemble: any object", ensemble, ensembleConfig(), constrained("json_object", "true"), always("", map[string]string{"guided_decoding_guide_type": `BYTES[1 1]"json"`})},
		{
			"ensemble: a regular expression", ensemble, ensembleConfig(), constrained("regex", `"a\\d"`),
			always("", map[string]string{"guided_decoding_guide_type": `BYTES[1 1]"regex"`, "guided_decoding_guide": `BYTES[1 1]"a\\d"`}),
		},
		{
			"ensemble: a grammar", ensemble, ensembleConfig(), constrained("grammar", `"root ::= \"a\""`),
			always("", map[string]string{"guided_decoding_guide_type": `BYTES[1 1]"ebnf_grammar"`, "guided_decoding_guide": `BYTES[1 1]"root ::= \"a\""`}),
		},
		{
			"ensemble: a choice", ensemble, ensembleConfig(), constrained("choice", `["a\"<b","\n"]`),
			always("", map[string]string{"guided_decoding_guide_type": `BYTES[1 1]"ebnf_grammar"`, "guided_decoding_guide": `BYTES[1 1]"root ::= \"a\\\"<b\" | \"\\n\""`}),
		},
		{"llmapi: nothing set", api, llmapiConfig(), func(*inference.Request) {}, always("llmapi", nil)},
		{"llmapi: everything set", api, llmapiConfig(), func(r *inference.Request) {
			r.Stream = true
			r.Sampling = inference.Sampling{Temperature: new(0.7), TopP: new(0.9), TopK: new(4), Stop: []string{"a", "b"}, Seed: new(int64(3)), RepetitionPenalty: new(1.0), MinTokens: new(0)}
		}, always("llmapi", map[string]string{
			"streaming": "BOOL[1]true", "sampling_param_temperature": "FP32[1]0.7", "sampling_param_top_p": "FP32[1]0.9", "sampling_param_top_k": "INT32[1]4",
			"sampling_param_stop": `BYTES[2]"a" "b"`, "sampling_param_seed": "UINT64[1]3",
		})},
		{
			"llmapi: a stop text that stays is ours to find", api, llmapiConfig(), func(r *inference.Request) { r.Sampling.Stop, r.Sampling.IncludeStop = []string{"a"}, new(true) },
			always("llmapi", map[string]string{"streaming": "BOOL[1]true"}),
		},
		{"plain: and one that doesn't fit", Python{}, tensorsOf(0, true, []string{"text_input STRING 1", "stream? BOOL 1", "stop_words? STRING 1"}, "text_output"), func(r *inference.Request) {
			r.Sampling.Stop = []string{"a", "b"}
		}, map[string]string{"text_input": `BYTES[1]"p"`, "stream": "BOOL[1]true"}},
		{"llmapi: not decoupled", api, tensorsOf(0, false, llmapiInputs, "text_output"), func(r *inference.Request) { r.Stream = true }, always("llmapi", nil)},
		{"plain: stop texts by another name", Python{}, tensorsOf(0, true, []string{"text_input STRING 1", "stop? STRING -1"}, "text_output"), func(r *inference.Request) { r.Sampling.Stop = []string{"a"} }, map[string]string{"text_input": `BYTES[1]"p"`, "stop": `BYTES[1]"a"`}},
		{"plain: everything is required", Python{}, tensorsOf(0, false, []string{
			"text_input STRING 1", "temperature FP32 1", "top_k INT32 1", "random_seed INT64 1", "stop_words STRING -1", "ignore_eos BOOL 1", "repetition_penalty FP32 1",
		}, "text_output"), func(r *inference.Request) { r.Sampling.Temperature = new(0.5) }, map[string]string{
			"text_input": `BYTES[1]"p"`, "temperature": "FP32[1]0.5", "top_k": "INT32[1]0", "random_seed": "INT64[1]0", "stop_words": `BYTES[1]""`, "ignore_eos": "BOOL[1]false", "repetition_penalty": "FP32[1]1",
		}},
		{"plain: a text alone", Python{}, tensorsOf(0, false, []string{"text_input STRING 1"}, "text_output"), func(r *inference.Request) { r.Stream = true }, map[string]string{"text_input": `BYTES[1]"p"`}},
		{
			"plain: dims of its own",
			Python{},
			tensorsOf(0, true, []string{"text_input STRING 1 -1", "temperature? FP64 1", "stop? STRING 1", "max_tokens INT64 1"}, "text_output"), func(*inference.Request) {},
			map[string]string{"text_input": `BYTES[1 1]"p"`, "max_tokens": "INT64[1]9"},
		},
		{
			"plain: an input to ignore the end token",
			Python{},
			tensorsOf(0, true, []string{"text_input STRING 1", "ignore_eos? BOOL 1", "end_id? INT32 1"}, "text_output"), func(r *inference.Request) { r.Sampling.IgnoreEOS = new(true) },
			map[string]string{"text_input": `BYTES[1]"p"`, "ignore_eos": "BOOL[1]true"},
		},
		{
			"plain: a double and an unsigned number",
			Python{},
			tensorsOf(0, true, []string{"text_input STRING 1", "temperature? FP64 1", "max_tokens UINT32 1"}, "text_output"), func(r *inference.Request) { r.Sampling.Temperature = new(0.7) },
			map[string]string{"text_input": `BYTES[1]"p"`, "temperature": "FP64[1]0.7", "max_tokens": "UINT32[1]9"},
		},
		{
			"plain: a temperature as it is",
			Python{},
			tensorsOf(0, true, []string{"text_input STRING 1", "temperature? FP32 1", "top_k? INT32 1"}, "text_output"), func(r *inference.Request) { r.Sampling.Temperature = new(0.0) },
			map[string]string{"text_input": `BYTES[1]"p"`, "temperature": "FP32[1]0"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := &inference.Request{Task: inference.TaskGenerate, Messages: []inference.Message{}}
			tt.set(req)
			got, err := tt.kind.Encode(&inference.Target{Name: "m", Config: tt.config}, req, &inference.Job{Prompt: "p", MaxTokens: 9, Seed: req.Sampling.Seed})
			if err != nil {
				t.Fatal(err)
			}
			inputs := inputsOf(t, got)
			for name, value := range tt.want {
				if inputs[name] != value {
					t.Errorf("%s: got %s, want %s", name, inputs[name], value)
				}
				delete(inputs, name)
			}
			if len(inputs) > 0 {
				t.Errorf("sent too: %v", inputs)
			}
		})
	}
}

func constrained(kind, value string) func(*inference.Request) {
	return func(r *inference.Request) {
		r.Sampling.Structured = &inference.Structured{Kind: kind, Value: json.RawMessage(value), Param: "response_format"}
	}
}

func without(inputs map[string]string, name string) map[string]string {
	delete(inputs, name)
	return inputs
}

func TestSeparateRefuses(t *testing.T) {
	bare := tensorsOf(0, true, []string{"text_input STRING 1"}, "text_output")
	prioritized := ensembleConfig()
	prioritized.SchedulingChoice = &kserve.ModelConfig_DynamicBatching{DynamicBatching: &kserve.ModelDynamicBatching{PriorityLevels: 3}}
	tests := []struct {
		name           string
		kind           inference.Backend
		config         *kserve.ModelConfig
		set            func(*inference.Request)
		param, message string
	}{
		{"min_p", TensorRTLLM{}, ensembleConfig(), func(r *inference.Request) { r.Sampling.MinP = new(0.1) }, "min_p", "does not declare the input min_p"},
		{"stop_token_ids", TensorRTLLM{}, ensembleConfig(), func(r *inference.Request) { r.Sampling.StopTokenIDs = []int{1} }, "stop_token_ids", ""},
		{"allowed_token_ids", TensorRTLLM{}, ensembleConfig(), func(r *inference.Request) { r.Sampling.AllowedTokenIDs = []int{1} }, "allowed_token_ids", ""},
		{"skip_special_tokens", TensorRTLLM{}, ensembleConfig(), func(r *inference.Request) { r.Sampling.SkipSpecialTokens = new(false) }, "skip_special_tokens", ""},
		{"truncate_prompt_tokens", TensorRTLLM{}, ensembleConfig(), func(r *inference.Request) { r.Sampling.TruncatePromptTokens = new(5) }, "truncate_prompt_tokens", ""},
		{"alternatives of a chat", TensorRTLLM{}, ensembleConfig(), func(r *inference.Request) { r.Sampling.Logprobs = new(2) }, "top_logprobs", "chosen tokens only"},
		{"alternatives of a text", TensorRTLLM{}, ensembleConfig(), func(r *inference.Request) { r.Sampling.Logprobs, r.Messages = new(2), nil }, "logprobs", "chosen tokens only"},
		{"logprobs in one piece", TensorRTLLM{}, tensorsOf(4, false, ensembleInputs, "text_output", "output_log_probs"), func(r *inference.Request) { r.Sampling.Logprobs = new(0) }, "logprobs", "not decoupled"},
		{"logprobs of an older one", TensorRTLLM{}, ensembleConfig("-return_num_output_tokens"), func(r *inference.Request) { r.Sampling.Logprobs = new(0) }, "logprobs", ""},
		{"a structural tag", TensorRTLLM{}, ensembleConfig(), constrained("structural_tag", `{}`), "response_format", "TensorRT-LLM"},
		{"an empty choice", TensorRTLLM{}, ensembleConfig(), constrained("choice", `[]`), "response_format", "not a valid choice"},
		{"a regular expression that is none", TensorRTLLM{}, ensembleConfig(), constrained("regex", `5`), "response_format", "not a valid regex"},
		{"a bias without a tokenizer", TensorRTLLM{}, ensembleConfig(), func(r *inference.Request) { r.Sampling.LogitBias = map[int]float64{1: 1} }, "logit_bias", "trident.tokenizer"},
		{"a seed beyond the input", TensorRTLLM{}, ensembleConfig("-seed", "random_seed? INT32 1"), func(r *inference.Request) { r.Sampling.Seed = new(int64(1 << 40)) }, "seed", "declares this input as INT32"},
		{"a seed below an unsigned input", TensorRTLLM{}, ensembleConfig("-seed", "random_seed? UINT32 1"), func(r *inference.Request) { r.Sampling.Seed = new(int64(-1)) }, "seed", "seed can't be -1: the model `` declares this input as UINT32"},
		{"a seed for a text", TensorRTLLM{}, ensembleConfig("-seed", "random_seed? STRING 1"), func(r *inference.Request) { r.Sampling.Seed = new(int64(1)) }, "seed", "declares this input as STRING"},
		{"llmapi: logprobs", LLMAPI{}, llmapiConfig(), func(r *inference.Request) { r.Sampling.Logprobs = new(0) }, "logprobs", ""},
		{"llmapi: a constraint", LLMAPI{}, llmapiConfig(), constrained("json", `{}`), "response_format", "does not declare the input"},
		{"llmapi: a bias", LLMAPI{}, llmapiConfig(), func(r *inference.Request) { r.Sampling.LogitBias = map[int]float64{1: 1} }, "logit_bias", "does not declare the input"},
		{"llmapi: min_tokens", LLMAPI{}, llmapiConfig(), func(r *inference.Request) { r.Sampling.MinTokens = new(1) }, "min_tokens", ""},
		{"llmapi: ignore_eos", LLMAPI{}, llmapiConfig(), func(r *inference.Request) { r.Sampling.IgnoreEOS = new(true) }, "ignore_eos", ""},
		{"a priority above the levels", TensorRTLLM{}, prioritized, func(r *inference.Request) { r.Priority = new(4) }, "priority", "from 1 to 3"},
		{"plain: a limit", Python{}, bare, func(r *inference.Request) { r.Sampling.MaxTokens = new(5) }, "max_tokens", ""},
		{"plain: temperature", Python{}, bare, func(r *inference.Request) { r.Sampling.Temperature = new(0.5) }, "temperature", ""},
		{"plain: bad_words", Python{}, bare, func(r *inference.Request) { r.Sampling.BadWords = []string{"x"} }, "bad_words", ""},
		{"plain: more bad words than fit", Python{}, tensorsOf(0, true, []string{"text_input STRING 1", "bad_words? STRING 1"}, "text_output"), func(r *inference.Request) {
			r.Sampling.BadWords = []string{"a", "b"}
		}, "bad_words", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := &inference.Request{Task: inference.TaskGenerate, Messages: []inference.Message{}}
			tt.set(req)
			_, err := tt.kind.Encode(&inference.Target{Name: "m", Config: tt.config}, req, &inference.Job{Prompt: "p", MaxTokens: 9, Seed: req.Sampling.Seed})
			if err == nil {
				t.Fatal("not refused")
			}
			if e := inference.AsError(err); e.Param != tt.param || e.Code != inference.CodeInvalid || !strings.Contains(e.Message, tt.message) {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// TestNeutralValues checks that a request with a sampling value that has no effect isn't refused,
// although the model lacks the input for it.
func TestNeutralValues(t *testing.T) {
	for _, b := range []inference.Backend{Python{}, LLMAPI{}, TensorRTLLM{}} {
		req := &inference.Request{Task: inference.TaskGenerate, Sampling: inference.Sampling{
			Temperature: new(1.0), TopP: new(1.0), TopK: new(-1), MinP: new(0.0), FrequencyPenalty: new(0.0), PresencePenalty: new(0.0),
			RepetitionPenalty: new(1.0), MinTokens: new(0), Stop: []string{}, StopTokenIDs: []int{}, BadWords: []string{}, AllowedTokenIDs: []int{},
			IgnoreEOS: new(false), IncludeStop: new(false), SkipSpecialTokens: new(true), SpacesBetweenSpecialTokens: new(true), LogitBias: map[int]float64{},
			KeepSpecialTokens: inference.SettingToolParser,
		}}
		target := &inference.Target{Config: tensorsOf(0, true, []string{"text_input STRING 1"}, "text_output")}
		if _, err := b.Encode(target, req, &inference.Job{Prompt: "p", MaxTokens: 9}); err != nil {
			t.Errorf("%s: %v", b.Name(), err)
		}
	}
}

// letters is a tokenizer of a, b and ab. With begin, it adds <s> before every text.
func letters(t *testing.T, begin bool) inference.Tokenizer {
	t.Helper()
	post := "null"
	if begin {
		post = `{"type": "TemplateProcessing",
			"single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
			"pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
			"special_tokens": {"<s>": {"id": "<s>", "ids": [4], "tokens": ["<s>"]}}}`
	}
	parsed, err := tokenizer.Parse([]byte(`{
		"version": "1.0", "truncation": null, "padding": null, "normalizer": null, "pre_tokenizer": null, "decoder": {"type": "Fuse"},
		"added_tokens": [{"id": 4, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
		"post_processor": ` + post + `,
		"model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null,
			"fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": {"a": 0, "b": 1, "ab": 2, "ba": 3}, "merges": ["a b"]}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// TestLogitBias checks that a word is sent for a token only if the backend tokenizes it to that
// token.
func TestLogitBias(t *testing.T) {
	tests := []struct {
		name           string
		begin          bool
		bias           map[int]float64
		words, weights string
		message        string
	}{
		{"words", false, map[int]float64{2: -100, 0: 5}, `BYTES[1 2]"a" "ab"`, "FP32[1 2]5 -100", ""},
		{"a token that isn't read alone", false, map[int]float64{3: 1}, "", "", "token 3"},
		{"no token", false, map[int]float64{9: 1}, "", "", "the token id 9, but the model has only 5 tokens"},
		{"the beginning would be biased too", true, map[int]float64{0: 1}, "", "", "token 0"},
		{"against it nothing speaks", true, map[int]float64{0: -1}, `BYTES[1 1]"a"`, "FP32[1 1]-1", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			target := &inference.Target{Name: "m", Config: ensembleConfig(), Tokenizer: letters(t, tt.begin)}
			req := &inference.Request{Task: inference.TaskGenerate, Sampling: inference.Sampling{LogitBias: tt.bias}}
			got, err := TensorRTLLM{}.Encode(target, req, &inference.Job{Prompt: "p", MaxTokens: 9})
			if tt.message != "" {
				if e := inference.AsError(err); err == nil || e.Param != "logit_bias" || !strings.Contains(e.Message, tt.message) {
					t.Fatalf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if inputs := inputsOf(t, got); inputs["embedding_bias_words"] != tt.words || inputs["embedding_bias_weights"] != tt.weights {
				t.Errorf("got %s and %s", inputs["embedding_bias_words"], inputs["embedding_bias_weights"])
			}
		})
	}
}

// TestLogitBiasOfFixedSize checks that more biases than the model's inputs have elements are refused.
func TestLogitBiasOfFixedSize(t *testing.T) {
	config := ensembleConfig("-embedding_bias_words", "embedding_bias_words? STRING 1")
	req := &inference.Request{Model: "m", Sampling: inference.Sampling{LogitBias: map[int]float64{0: -1, 1: -1}}}
	_, err := TensorRTLLM{}.Encode(&inference.Target{Name: "m", Config: config, Tokenizer: letters(t, false)}, req, &inference.Job{Prompt: "p", MaxTokens: 9})
	const want = "logit_bias has 2 tokens, which is more than the inputs of the model `m` accept"
	if e := inference.AsError(err); err == nil || e.Param != "logit_bias" || e.Message != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestTensorRTExplain(t *testing.T) {
	chat := &inference.Request{Model: "m", Messages: []inference.Message{{}}}
	constrained := &inference.Request{Model: "m", Sampling: inference.Sampling{Structured: &inference.Structured{Param: "guided_regex"}}}
	tests := []struct {
		name, text string
		req        *inference.Request
		param      string
		reason     inference.Reason
		message    string
	}{
		{"the executor's own", "Executor failed process requestId 5 due to the following error: Encountered an error when fetching new request: Prompt length (200) exceeds maximum input length (128). Set log level to info", chat, "messages", inference.ReasonContextLength, "128 tokens, but messages has 200"},
		{"an older one's", "Cannot process new request: Prompt length (5056) exceeds maximum sequence length (2048)", constrained, "prompt", inference.ReasonContextLength, "2048 tokens, but prompt has 5056"},
		{"the LLM API's", "Error generating request: The sum of prompt length (72417.0), query length (0) should not exceed max_num_tokens (69632)", chat, "messages", inference.ReasonContextLength, "69632 tokens, but messages has 72417"},
		{"the LLM API's of an engine", "Error generating request: The sum of prompt length (90.0) and query length (0) max_tokens (20) should not exceed max_seq_len (100)", chat, "messages", inference.ReasonContextLength, "100 tokens"},
		{"no guided decoding", "Request is specified with GuidedDecodingParams, but GuidedDecoder is not setup. Please provide", constrained, "guided_regex", inference.ReasonUnsupported, "guided_decoding_backend"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, b := range []inference.Backend{TensorRTLLM{}, LLMAPI{}, Python{}} {
				got := b.Explain(tt.req, &inference.Error{Code: inference.CodeInternal, Message: tt.text})
				if got.Code != inference.CodeInvalid || got.Param != tt.param || got.Reason != tt.reason || !strings.Contains(got.Message, tt.message) {
					t.Errorf("%s: got %+v", b.Name(), got)
				}
			}
		})
	}
	other := &inference.Error{Code: inference.CodeInternal, Message: "GuidedDecoder is not setup"}
	if got := (TensorRTLLM{}).Explain(chat, other); got != other {
		t.Errorf("a text that isn't about the request became %+v", got)
	}
	away := &inference.Error{Code: inference.CodeUnavailable, Message: tests[0].text}
	if got := (TensorRTLLM{}).Explain(chat, away); got != away {
		t.Errorf("an error of an unavailable server became %+v", got)
	}
}
