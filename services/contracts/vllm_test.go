package contracts

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// vllmConfig declares the whole contract except the named inputs.
func vllmConfig(without ...string) *kserve.ModelConfig {
	config := &kserve.ModelConfig{
		Backend:                "vllm",
		ModelTransactionPolicy: &kserve.ModelTransactionPolicy{Decoupled: true},
		Output:                 []*kserve.ModelOutput{{Name: "text_output"}},
	}
	for _, name := range []string{
		"text_input", "stream", "sampling_parameters", "exclude_input_in_output", "embedding_request",
		"return_finish_reason", "return_logprobs", "return_num_input_tokens", "return_num_output_tokens",
	} {
		if !strings.Contains(strings.Join(without, " "), name) {
			config.Input = append(config.Input, &kserve.ModelInput{Name: name})
		}
	}
	return config
}

func TestVLLMTasks(t *testing.T) {
	const both = inference.TaskGenerate | inference.TaskEmbed
	tests := []struct {
		name   string
		config *kserve.ModelConfig
		want   inference.Task
	}{
		{"the whole contract", vllmConfig(), both},
		{"no embeddings", vllmConfig("embedding_request"), inference.TaskGenerate},
		{"embeddings only", vllmConfig("sampling_parameters"), inference.TaskEmbed},
		{"no text", vllmConfig("text_input"), 0},
		{"another model", &kserve.ModelConfig{Input: []*kserve.ModelInput{{Name: "IMAGE"}}}, 0},
		{"no text output", &kserve.ModelConfig{Input: vllmConfig().GetInput()}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := (VLLM{}).Tasks(tt.config); got != tt.want {
				t.Errorf("got %b, want %b", got, tt.want)
			}
		})
	}
}

// sent returns a request's inputs as strings, by name.
func sent(t *testing.T, req *kserve.ModelInferRequest) map[string]string {
	t.Helper()
	inputs := map[string]string{}
	if len(req.GetInputs()) != len(req.GetRawInputContents()) {
		t.Fatalf("%d inputs, %d contents", len(req.GetInputs()), len(req.GetRawInputContents()))
	}
	for i, in := range req.GetInputs() {
		raw := req.GetRawInputContents()[i]
		if in.GetDatatype() == "BYTES" {
			if n := binary.LittleEndian.Uint32(raw); int(n) != len(raw)-4 {
				t.Errorf("%s: length prefix %d for %d bytes", in.GetName(), n, len(raw)-4)
			}
			raw = raw[4:]
		} else {
			raw = fmt.Append(nil, raw[0] == 1)
		}
		inputs[in.GetName()] = string(raw)
		if fmt.Sprint(in.GetShape()) != "[1]" && fmt.Sprint(in.GetShape()) != "[1 1]" {
			t.Errorf("%s: shape %v", in.GetName(), in.GetShape())
		}
	}
	return inputs
}

func TestVLLMEncode(t *testing.T) {
	full := inference.Sampling{
		Temperature: new(0.7), TopP: new(0.9), TopK: new(40), MinP: new(0.05),
		FrequencyPenalty: new(0.5), PresencePenalty: new(-0.5), RepetitionPenalty: new(1.1),
		MinTokens: new(2), Stop: []string{"\n", "</s>"}, StopTokenIDs: []int{2}, IncludeStop: new(true), IgnoreEOS: new(true),
		BadWords: []string{"no"}, AllowedTokenIDs: []int{1, 2}, SkipSpecialTokens: new(false), SpacesBetweenSpecialTokens: new(false),
		TruncatePromptTokens: new(10), Logprobs: new(3),
		Structured: &inference.Structured{Kind: "json", Value: json.RawMessage(`{"type":"object"}`)},
	}
	req := &inference.Request{Task: inference.TaskGenerate, Stream: true, Sampling: full}
	job := &inference.Job{Prompt: "a<b>\x00c", Seed: new(int64(7)), MaxTokens: 12}
	got, err := VLLM{}.Encode(&inference.Target{Name: "m", Config: vllmConfig()}, req, job)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"text_input": "a<b>\x00c", "stream": "true", "exclude_input_in_output": "true", "return_finish_reason": "true",
		"return_num_input_tokens": "true", "return_num_output_tokens": "true", "return_logprobs": "true",
		"sampling_parameters": `{"temperature":0.7,"top_p":0.9,"top_k":40,"min_p":0.05,"seed":7,"frequency_penalty":0.5,` +
			`"presence_penalty":-0.5,"repetition_penalty":1.1,"max_tokens":12,"min_tokens":2,"stop":["\n","</s>"],"stop_token_ids":[2],` +
			`"ignore_eos":true,"bad_words":["no"],"allowed_token_ids":[1,2],"include_stop_str_in_output":true,"skip_special_tokens":false,` +
			`"spaces_between_special_tokens":false,"truncate_prompt_tokens":10,"logprobs":3,"structured_outputs":"{\"json\":{\"type\":\"object\"}}"}`,
	}
	inputs := sent(t, got)
	for name, value := range want {
		if inputs[name] != value {
			t.Errorf("%s:\n got %s\nwant %s", name, inputs[name], value)
		}
	}
	if len(inputs) != len(want) || got.GetModelName() != "m" {
		t.Errorf("model %q, %d inputs, want %d: %v", got.GetModelName(), len(inputs), len(want), inputs)
	}
}

func TestVLLMEncodeVariants(t *testing.T) {
	priority := vllmConfig()
	priority.SchedulingChoice = &kserve.ModelConfig_DynamicBatching{DynamicBatching: &kserve.ModelDynamicBatching{PriorityLevels: 3}}
	batched := vllmConfig()
	batched.MaxBatchSize = 4
	single := vllmConfig()
	single.ModelTransactionPolicy = nil
	another := vllmConfig("embedding_request")
	another.Backend = "python"
	red := func(r *inference.Request) {
		r.Sampling.Structured = &inference.Structured{Kind: "choice", Value: json.RawMessage(`["red"]`), Param: "guided_choice"}
	}
	generate := inference.Request{Task: inference.TaskGenerate, Stream: true}
	tests := []struct {
		name   string
		config *kserve.ModelConfig
		change func(*inference.Request)
		param  string            // the error's field
		inputs map[string]string // some of the inputs that must be sent: contents, keyed by the input's name
		not    string            // an input that must not be sent
	}{
		{"plain", vllmConfig(), nil, "", map[string]string{"sampling_parameters": `{"max_tokens":9}`}, "return_logprobs"},
		{"undeclared inputs are left out", vllmConfig("return_num_input_tokens"), nil, "", nil, "return_num_input_tokens"},
		{"a batch dimension", batched, nil, "", map[string]string{"stream": "true"}, ""},
		{"a model that is not decoupled", single, nil, "", map[string]string{"stream": "false"}, ""},
		{"top_p of 0", vllmConfig(), func(r *inference.Request) { r.Sampling.TopP = new(0.0) }, "", map[string]string{"sampling_parameters": `{"top_k":1,"max_tokens":9}`}, ""},
		{"one call", vllmConfig(), func(r *inference.Request) { r.Stream, r.SingleCall, r.Tools = false, true, make([]json.RawMessage, 1) }, "", map[string]string{"stream": "true"}, ""},
		{"one call without tools", vllmConfig(), func(r *inference.Request) { r.Stream, r.SingleCall = false, true }, "", map[string]string{"stream": "false"}, ""},
		{"a constraint", vllmConfig(), red, "", map[string]string{"sampling_parameters": `{"max_tokens":9,"structured_outputs":"{\"choice\":[\"red\"]}"}`}, ""},
		{"a constraint of an older backend", vllmConfig("embedding_request"), red, "", map[string]string{"sampling_parameters": `{"max_tokens":9,"guided_decoding":"{\"choice\":[\"red\"]}"}`}, ""},
		{"a constraint of another model", another, red, "", map[string]string{"sampling_parameters": `{"max_tokens":9,"structured_outputs":"{\"choice\":[\"red\"]}"}`}, ""},
		{"special tokens for a parser", vllmConfig(), func(r *inference.Request) { r.Sampling.KeepSpecialTokens = inference.SettingToolParser }, "", map[string]string{"sampling_parameters": `{"max_tokens":9,"skip_special_tokens":false}`}, ""},
		{"a stop sequence to report", vllmConfig(), func(r *inference.Request) { r.Sampling.ReportStop, r.Sampling.Stop = true, []string{"."} }, "", map[string]string{"sampling_parameters": `{"max_tokens":9,"stop":["."],"include_stop_str_in_output":true}`}, ""},
		{"a constraint that isn't JSON", vllmConfig(), func(r *inference.Request) {
			r.Sampling.Structured = &inference.Structured{Kind: "json", Value: json.RawMessage(`{`), Param: "guided_json"}
		}, "guided_json", nil, ""},
		{"logit_bias", vllmConfig(), func(r *inference.Request) { r.Sampling.LogitBias = map[int]float64{1: 2} }, "logit_bias", nil, ""},
		{"logprobs undeclared", vllmConfig("return_logprobs"), func(r *inference.Request) { r.Sampling.Logprobs = new(0) }, "logprobs", nil, ""},
		{"priority without levels", vllmConfig(), func(r *inference.Request) { r.Priority = new(-1) }, "", map[string]string{"stream": "true"}, ""},
		{"priority above the levels", priority, func(r *inference.Request) { r.Priority = new(4) }, "priority", nil, ""},
		{"priority", priority, func(r *inference.Request) { r.Priority = new(2) }, "", map[string]string{"stream": "true"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := generate
			if tt.change != nil {
				tt.change(&req)
			}
			got, err := VLLM{}.Encode(&inference.Target{Config: tt.config}, &req, &inference.Job{Prompt: "p", MaxTokens: 9})
			if tt.param != "" {
				if e := inference.AsError(err); e.Param != tt.param || e.Code != inference.CodeInvalid {
					t.Fatalf("got %v, want an error about %s", err, tt.param)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			inputs := sent(t, got)
			for name, value := range tt.inputs {
				if inputs[name] != value {
					t.Errorf("%s: got %q, want %q", name, inputs[name], value)
				}
			}
			if _, there := inputs[tt.not]; there {
				t.Errorf("%s was sent", tt.not)
			}
			levels, sent := tt.config.GetDynamicBatching().GetPriorityLevels(), got.GetParameters()["priority"]
			if levels > 0 && sent.GetUint64Param() != 2 || levels == 0 && sent != nil {
				t.Errorf("priority %v", got.GetParameters())
			}
		})
	}
}

// TestVLLMEncodeJob checks the sampling parameters that belong to a job: its adapter, and the tokens whose log
// probabilities are needed, in each form in which vLLM returns them.
func TestVLLMEncodeJob(t *testing.T) {
	candidates := func(s inference.Scoring) inference.Job {
		return inference.Job{Candidates: &inference.Candidates{IDs: []int{7, 9}, Scoring: s, Most: 20}}
	}
	for _, tt := range []struct {
		name string
		job  inference.Job
		want string
	}{
		{"an adapter", inference.Job{LoRA: &inference.LoRA{Name: "doll", ID: 7}}, `{"max_tokens":1,"lora_name":"doll"}`},
		{"the likeliest tokens", candidates(inference.ScoringTop), `{"max_tokens":1,"logprobs":20}`},
		{"allowed tokens", candidates(inference.ScoringAllowed), `{"max_tokens":1,"allowed_token_ids":[7,9],"logprobs":20}`},
		{"tokens by their ids", candidates(inference.ScoringIDs), `{"max_tokens":1,"allowed_token_ids":[7,9],"logprob_token_ids":[7,9]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.job.Prompt, tt.job.MaxTokens = "p", 1
			got, err := VLLM{}.Encode(&inference.Target{Config: vllmConfig()}, &inference.Request{Task: inference.TaskGenerate}, &tt.job)
			if err != nil {
				t.Fatal(err)
			}
			if sampling := sent(t, got)["sampling_parameters"]; sampling != tt.want {
				t.Errorf("got %s, want %s", sampling, tt.want)
			}
		})
	}
}

func TestVLLMEncodeEmbedding(t *testing.T) {
	tests := []struct {
		name  string
		input inference.Input
		want  string
	}{
		{"a text", inference.Input{Text: `a "b"`}, `{"input":"a \"b\""}`},
		{"token ids", inference.Input{TokenIDs: []int{1, 2}}, `{"input":[1,2]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			batch := &inference.EncodeBatch{ID: "embd-1", Items: []*inference.EncodeItem{{Input: &inference.EncodeInput{Input: tt.input}}}}
			got, err := VLLM{}.EncodeBatch(&inference.Target{Config: vllmConfig()}, batch)
			if err != nil {
				t.Fatal(err)
			}
			inputs := sent(t, got)
			if inputs["embedding_request"] != tt.want || inputs["text_input"] != "" || inputs["stream"] != "false" {
				t.Errorf("sent %v", inputs)
			}
			if _, there := inputs["text_input"]; !there {
				t.Error("text_input is required, even empty")
			}
		})
	}
}

func output(name, datatype string, raw []byte) inference.Output {
	return inference.Output{Name: name, Type: datatype, Raw: raw}
}

func bytesOutput(name, text string) inference.Output {
	return output(name, "BYTES", append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...))
}

func TestVLLMDecode(t *testing.T) {
	count := binary.LittleEndian.AppendUint32(nil, 3)
	logprobs := bytesOutput("logprobs", `[{"9": {"logprob": -1.5, "rank": 3, "decoded_token": "b"}, "7": {"logprob": -0.5, "rank": 1, "decoded_token": "a"}, `+
		`"8": {"logprob": -Infinity, "rank": 2, "decoded_token": "\"logprob\": -Infinity"}}]`)
	tests := []struct {
		name string
		outs []inference.Output
		want string // the expected Step
		err  string
	}{
		{"text and counts", []inference.Output{
			bytesOutput("text_output", "hi"), bytesOutput("finish_reason", "None"), output("num_input_tokens", "UINT32", count), output("num_output_tokens", "UINT32", count),
		}, `{hi [] "" [] 3 3}`, ""},
		{"length", []inference.Output{bytesOutput("finish_reason", "length")}, `{ [] "length" [] 0 0}`, ""},
		{"stop", []inference.Output{bytesOutput("finish_reason", "stop")}, `{ [] "stop" [] 0 0}`, ""},
		{"abort", []inference.Output{bytesOutput("finish_reason", "abort")}, `{ [] "stop" [] 0 0}`, ""},
		{"empty tensors", []inference.Output{output("text_output", "BYTES", nil), output("num_input_tokens", "UINT32", nil)}, `{ [] "" [] 0 0}`, ""},
		{"unknown outputs are passed over", []inference.Output{bytesOutput("other", "x")}, `{ [] "" [] 0 0}`, ""},
		{
			"logprobs: the sampled token first, alternatives by rank",
			[]inference.Output{logprobs},
			`{ [{b 9 -1.5 [{a 7 -0.5} {"logprob": -Infinity 8 -9999}]}] "" [] 0 0}`, "",
		},
		{
			"logprobs: a sampled token of unknown rank",
			[]inference.Output{bytesOutput("logprobs",
				`[{"9": {"logprob": -9.5, "rank": null, "decoded_token": "b"}, "7": {"logprob": -0.5, "rank": 1, "decoded_token": "a"}, "6": {"logprob": -0.7, "rank": 2, "decoded_token": "c"}}]`)},
			`{ [{b 9 -9.5 [{a 7 -0.5} {c 6 -0.7}]}] "" [] 0 0}`, "",
		},
		{"logprobs null", []inference.Output{bytesOutput("logprobs", "null")}, `{ [] "" [] 0 0}`, ""},
		{"a filter", []inference.Output{bytesOutput("finish_reason", "content_filter")}, `{ [] "content_filter" [] 0 0}`, ""},
		{"logprobs of a position without tokens", []inference.Output{bytesOutput("logprobs", "[{}]")}, `{ [] "" [] 0 0}`, ""},
		{"logprobs of a position that is a list", []inference.Output{bytesOutput("logprobs", "[[1]]")}, "", "model m: output logprobs: expected a JSON object, got ["},
		{"logprobs of no token id", []inference.Output{bytesOutput("logprobs", `[{"a": {"logprob": -1}}]`)}, "", `model m: output logprobs: token id "a"`},
		{"logprobs that are texts", []inference.Output{bytesOutput("logprobs", `[{"1": {"logprob": "-1"}}]`)}, "", "model m: output logprobs: json: cannot unmarshal string"},
		{"logprobs of another type", []inference.Output{output("logprobs", "FP32", count)}, "", "model m: output logprobs: the output tensor has datatype FP32 instead of BYTES"},
		{"a reason of another type", []inference.Output{output("finish_reason", "INT32", count)}, "", "model m: output finish_reason: the output tensor has datatype INT32 instead of BYTES"},
		{"logprobs that are no JSON", []inference.Output{bytesOutput("logprobs", "[{")}, "", "output logprobs"},
		{"a lying length", []inference.Output{output("text_output", "BYTES", []byte{9, 0, 0, 0, 'x'})}, "", "9 bytes, but only 1 bytes follow"},
		{"a cut length", []inference.Output{output("text_output", "BYTES", []byte{9, 0})}, "", "shorter than its 4-byte length prefix"},
		{"a wrong type", []inference.Output{output("text_output", "INT32", count)}, "", "INT32 instead of BYTES"},
		{"a cut count", []inference.Output{output("num_output_tokens", "UINT32", []byte{1})}, "", "shorter than one element"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := &inference.Request{Task: inference.TaskGenerate, Sampling: inference.Sampling{Logprobs: new(2)}}
			var s inference.Step
			err := VLLM{}.Decoder(&inference.Target{Name: "m"}, req).Decode(&inference.Response{Outputs: tt.outs}, &s)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("{%s %v %q %v %d %d}", s.Text, s.Logprobs, s.Finish, s.Others, s.PromptTokens, s.OutputTokens); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestVLLMDecodeUnrequestedLogprobs checks that log probabilities that the client hasn't requested aren't read.
func TestVLLMDecodeUnrequestedLogprobs(t *testing.T) {
	var s inference.Step
	d := VLLM{}.Decoder(&inference.Target{Name: "m"}, &inference.Request{Task: inference.TaskGenerate})
	outs := []inference.Output{bytesOutput("text_output", "hi"), bytesOutput("logprobs", "[{")}
	if err := d.Decode(&inference.Response{Outputs: outs}, &s); err != nil || string(s.Text) != "hi" || s.Logprobs != nil {
		t.Errorf("got %q with %v, %v", s.Text, s.Logprobs, err)
	}
}

func TestVLLMDecodeEmbedding(t *testing.T) {
	var result inference.Encoded
	target, batch := &inference.Target{Name: "m"}, &inference.EncodeBatch{Items: []*inference.EncodeItem{{Result: &result}}}
	count := output("num_input_tokens", "UINT32", []byte{5, 0, 0, 0})
	if err := (VLLM{}).DecodeBatch(target, batch, &inference.Response{Outputs: []inference.Output{bytesOutput("text_output", "[0.5, -1e-3]"), count}}); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(result.Vector) != "[0.5 -0.001]" || result.PromptTokens != 5 {
		t.Errorf("got %+v", result)
	}
	if err := (VLLM{}).DecodeBatch(target, batch, &inference.Response{Outputs: []inference.Output{bytesOutput("text_output", "oops")}}); err == nil {
		t.Error("no error for a vector that is no JSON")
	}
}

func TestVLLMExplain(t *testing.T) {
	chat := &inference.Request{Task: inference.TaskGenerate, Messages: []inference.Message{{}}}
	constrained := &inference.Request{Task: inference.TaskGenerate, Sampling: inference.Sampling{Structured: &inference.Structured{Param: "guided_regex"}}}
	tests := []struct {
		name, text string
		req        *inference.Request
		param      string
		reason     inference.Reason
		message    string
	}{
		{"a long chat", "The prompt (total length 3031) is longer than the maximum model length of 2048, which must hold", chat, "messages", inference.ReasonContextLength, "2048 tokens, but messages has 3031"},
		{"a long prompt, as vLLM 0.13 has it", "The decoder prompt (length 3000) is longer than the maximum model length of 2048. Make sure", constrained, "prompt", inference.ReasonContextLength, "2048 tokens, but prompt has 3000"},
		{"a long prompt of unknown length", "The decoder prompt is longer than the maximum model length of 2048", chat, "messages", inference.ReasonContextLength, "2048 tokens, but messages has more"},
		{"a parameter that the model lacks", "sampling parameter 'min_tokens' is not supported by this model", chat, "min_tokens", inference.ReasonUnsupported, "min_tokens"},
		{"a parameter's value", "sampling parameter 'top_k' must be an integer", chat, "top_k", inference.ReasonInvalidValue, "top_k"},
		{"a constraint", "sampling parameter 'structured_outputs.regex' is not valid: x", constrained, "guided_regex", inference.ReasonInvalidValue, "guided_regex is not valid: x"},
		{"no prompt", "Error generating stream: The decoder prompt cannot be empty", constrained, "prompt", inference.ReasonInvalidValue, "prompt must not be empty"},
		{"no prompt, as the demo model has it", "text_input must not be empty", chat, "messages", inference.ReasonInvalidValue, "messages must not be empty"},
		{"allowed ids", "Error generating stream: allowed_token_ids contains out-of-vocab token id!", chat, "allowed_token_ids", inference.ReasonInvalidValue, "that this model doesn't have"},
		{"what vLLM doesn't say", "Error generating stream: 'NoneType' object has no attribute 'lora_name'", chat, "", inference.ReasonUnsupported, "refuses one of the request's sampling parameters"},
		{"a regular expression", "Error generating stream: Grammar error: at 1(8): invalid regex \"(\" (in regex)", constrained, "guided_regex", inference.ReasonInvalidValue, "can't be enforced by this model's engine: Grammar error: at 1(8)"},
		{"a grammar", "Error generating stream: Failed to convert the grammar from GBNF to Lark: Expected ')'", constrained, "guided_regex", inference.ReasonInvalidValue, "can't be enforced by this model's engine: Failed to convert"},
		{"a structural tag without a trigger", "Error generating stream: Trigger <f> not found in triggers ['<g']", constrained, "guided_regex", inference.ReasonInvalidValue, "Trigger <f> not found"},
		{"a structural tag, of which nothing is told", "Error generating stream:", constrained, "guided_regex", inference.ReasonInvalidValue, "can't be enforced by this model's engine"},
		{"what of the prompt is kept", "Error generating stream: truncate_prompt_tokens value (100000) is greater than max_model_len (2048). Please", chat, "truncate_prompt_tokens", inference.ReasonInvalidValue, "must be at most 2048"},
		{"log probabilities", "Error generating stream: Requested sample logprobs of 6, which is greater than max allowed: 5", chat, "top_logprobs", inference.ReasonInvalidValue, "must be at most 5"},
		{"a chat with a model for embeddings", "Error generating stream: Model llm does not support 'generate' request", chat, "model", inference.ReasonUnsupported, "doesn't support text generation"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := VLLM{}.Explain(tt.req, &inference.Error{Code: inference.CodeInternal, Message: tt.text})
			if got.Code != inference.CodeInvalid || got.Param != tt.param || got.Reason != tt.reason || !strings.Contains(got.Message, tt.message) {
				t.Errorf("got %+v", got)
			}
		})
	}
	for _, text := range []string{
		"LoRA cow is not supported, we currently support ['doll']", "LoRA feature is not enabled.", "sampling parameter 'lora_name' is not supported by this model",
	} {
		got := VLLM{}.Explain(&inference.Request{Model: "m:cow"}, &inference.Error{Code: inference.CodeInternal, Message: text})
		if got.Code != inference.CodeNotFound || got.Param != "model" || got.Message != "the model `m:cow` does not exist: there is no such LoRA adapter" {
			t.Errorf("%s: %+v", text, got)
		}
	}
	dead := &inference.Error{Code: inference.CodeInternal, Message: "Error generating stream: EngineCore encountered an issue. See stack trace (above) for the root cause."}
	if got := (VLLM{}).Explain(constrained, dead); got.Code != inference.CodeUnavailable || got.Reason != inference.ReasonModelNotReady || !strings.Contains(got.Message, "has stopped") {
		t.Errorf("an engine that has ended: %+v", got)
	}
	away := &inference.Error{Code: inference.CodeUnavailable, Message: "sampling parameter 'top_k' must be an integer"}
	if got := (VLLM{}).Explain(chat, away); got != away {
		t.Errorf("an error of an unavailable server became %+v", got)
	}
	for _, text := range []string{"out of memory", "Error generating stream:"} { // the request has no constraint, so the error stays as it is
		other := &inference.Error{Code: inference.CodeInternal, Message: text}
		if got := (VLLM{}).Explain(chat, other); got != other {
			t.Errorf("%s became %+v", text, got)
		}
	}
}

// TestVLLMExplainBatch checks the errors of embeddings.
func TestVLLMExplainBatch(t *testing.T) {
	for _, tt := range []struct {
		name, text, param string
		reason            inference.Reason
		message           string
	}{
		{"a long input", "The input (total length 300) is longer than the maximum model length of 256", "input", inference.ReasonContextLength, "256 tokens, but input has 300"},
		{"no text", "text_input must not be empty", "input", inference.ReasonInvalidValue, "input must not be empty"},
		{"embeddings of a model for chats", "Error generating stream: Model llm does not support 'embed' request", "model", inference.ReasonUnsupported, "doesn't support embeddings"},
		{"a token id", "input holds a token id that is not in [0, 30522)", "input", inference.ReasonInvalidValue, "check_embedding_ctx_length=False"},
		{"a token id, as vLLM has it", "Token id 99999 is out of vocabulary", "input", inference.ReasonInvalidValue, "check_embedding_ctx_length=False"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := VLLM{}.ExplainBatch(&inference.EncodeRequest{Task: inference.TaskEmbed}, &inference.Error{Code: inference.CodeInternal, Message: tt.text})
			if got.Code != inference.CodeInvalid || got.Param != tt.param || got.Reason != tt.reason || !strings.Contains(got.Message, tt.message) {
				t.Errorf("got %+v", got)
			}
		})
	}
	away := &inference.Error{Code: inference.CodeUnavailable, Message: "Token id 99999 is out of vocabulary"}
	if got := (VLLM{}).ExplainBatch(&inference.EncodeRequest{Task: inference.TaskEmbed}, away); got != away {
		t.Errorf("an error of an unavailable server became %+v", got)
	}
}

// TestVLLMExplainAdded checks that the client isn't blamed for a parameter that Trident added. The
// error names the field that the client sent, and the setting of the operator.
func TestVLLMExplainAdded(t *testing.T) {
	sampled := func(s inference.Sampling) *inference.Request {
		return &inference.Request{Model: "m", Task: inference.TaskGenerate, Messages: []inference.Message{{}}, Sampling: s}
	}
	constrained := func(param string) *inference.Request {
		return sampled(inference.Sampling{Structured: &inference.Structured{Kind: "json", Param: param}})
	}
	const unsupported, bad = "sampling parameter '%s' is not supported by this model", "sampling parameter '%s' must be in [1, 5], got 9"
	tests := []struct {
		name, parameter, text string
		req                   *inference.Request
		param                 string
		reason                inference.Reason
		message, never        string
	}{
		{"special tokens for calls", "skip_special_tokens", unsupported, sampled(inference.Sampling{KeepSpecialTokens: inference.SettingToolParser}), "tools", inference.ReasonUnsupported, "inference.SettingToolParser or the model's parameter trident.tool_call_parser", "sampling parameter"},
		{"special tokens for calls, beside the client's own default", "skip_special_tokens", unsupported, sampled(inference.Sampling{KeepSpecialTokens: inference.SettingToolParser, SkipSpecialTokens: new(true)}), "tools", inference.ReasonUnsupported, "tools are not supported by the model `m`", "sampling parameter"},
		{"special tokens for reasoning", "skip_special_tokens", unsupported, sampled(inference.Sampling{KeepSpecialTokens: inference.SettingReasoningParser}), "model", inference.ReasonUnsupported, "inference.SettingReasoningParser or the model's parameter trident.reasoning_parser", "sampling parameter"},
		{"special tokens that the client wants", "skip_special_tokens", unsupported, sampled(inference.Sampling{SkipSpecialTokens: new(false)}), "skip_special_tokens", inference.ReasonUnsupported, "skip_special_tokens", "trident."},
		{"a forced call", "structured_outputs", unsupported, constrained("tool_choice"), "tool_choice", inference.ReasonUnsupported, "trident.structured_outputs", "sampling parameter"},
		{"a forced call, whose schema is refused", "structured_outputs.json", "sampling parameter '%s' is not valid: no", constrained("tool_choice"), "tool_choice", inference.ReasonInvalidValue, "tool_choice is not valid: no", "structured_outputs"},
		{"a strict tool", "structured_outputs", unsupported, constrained("tools[0].function.strict"), "tools[0].function.strict", inference.ReasonUnsupported, "tools[0].function.strict is not supported", "sampling parameter"},
		{"a response format", "structured_outputs.json", "sampling parameter '%s' is not valid: no", constrained("response_format.json_schema.schema"), "response_format.json_schema.schema", inference.ReasonInvalidValue, "response_format.json_schema.schema is not valid: no", "sampling parameter"},
		{"a response format, by an older engine", "guided_decoding", unsupported, constrained("response_format"), "response_format", inference.ReasonUnsupported, "response_format is not supported by the model `m`", "guided_decoding"},
		{"the client's own constraint", "structured_outputs.regex", bad, constrained("structured_outputs.regex"), "structured_outputs.regex", inference.ReasonInvalidValue, "structured_outputs.regex must be in", "sampling parameter"},
		{"a limit that the client didn't send", "max_tokens", bad, sampled(inference.Sampling{}), "model", inference.ReasonUnsupported, "serving.DefaultMaxTokens", "sampling parameter"},
		{"a limit of the client's", "max_tokens", bad, sampled(inference.Sampling{MaxTokens: new(9)}), "max_tokens", inference.ReasonInvalidValue, "must be in [1, 5], got 9", "trident."},
		{"top_k for top_p", "top_k", bad, sampled(inference.Sampling{TopP: new(0.0)}), "top_p", inference.ReasonUnsupported, "top_p of 0", "top_k"},
		{"top_k of the client's", "top_k", bad, sampled(inference.Sampling{TopK: new(9)}), "top_k", inference.ReasonInvalidValue, "must be in [1, 5], got 9", "top_p"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := VLLM{}.Explain(tt.req, &inference.Error{Code: inference.CodeInvalid, Message: fmt.Sprintf(tt.text, tt.parameter)})
			if got.Code != inference.CodeInvalid || got.Param != tt.param || got.Reason != tt.reason || !strings.Contains(got.Message, tt.message) || strings.Contains(got.Message, tt.never) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// FuzzVLLMDecode checks that decoding any response of a vLLM model ends without a panic.
func FuzzVLLMDecode(f *testing.F) {
	f.Add("logprobs", "BYTES", []byte{2, 0, 0, 0, '[', ']'})
	f.Add("num_output_tokens", "UINT32", []byte{1, 2, 3})
	f.Fuzz(func(_ *testing.T, name, datatype string, raw []byte) {
		req := &inference.Request{Task: inference.TaskGenerate, Sampling: inference.Sampling{Logprobs: new(1)}}
		var s inference.Step
		_ = VLLM{}.Decoder(&inference.Target{}, req).Decode(&inference.Response{Outputs: []inference.Output{output(name, datatype, raw)}}, &s)
	})
}
