package openai

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/tokenizer"
)

// fieldKinds are the kinds of models by their column in docs/reference/openai.md.
var fieldKinds = map[string]func(t *testing.T, engine *inferencetest.Engine){
	"vLLM": func(_ *testing.T, engine *inferencetest.Engine) { addVLLM(engine) },
	"ensemble, bls": func(t *testing.T, engine *inferencetest.Engine) {
		t.Helper()
		addContract(t, engine, "bls", streamAsEnsemble)
	},
	"llmapi": func(t *testing.T, engine *inferencetest.Engine) {
		t.Helper()
		addContract(t, engine, "llmapi", streamAsLLMAPI)
	},
}

func addVLLM(engine *inferencetest.Engine) {
	model := map[string]string{"trident.chat_template": fieldTemplate, "trident.context_length": "100", "trident.tool_call_parser": "hermes", "trident.image_token": "<image>"}
	for _, name := range []string{"chat", "other"} {
		engine.AddModel(name, streamWithLogprobs, model)
		engine.Configure(name, withPriorities)
	}
	for _, name := range []string{"decision", "decision2"} {
		engine.AddModel(name, byteScorer().Script(), map[string]string{"trident.chat_template": fieldTemplate, "trident.tokenizer": byteTokenizer})
	}
	engine.AddModel("embedding", inferencetest.Embed(3, 4), map[string]string{"trident.task": "embed"})
	engine.AddModel("embedding2", inferencetest.Embed(3, 4), map[string]string{"trident.task": "embed"})
}

func withPriorities(c *kserve.ModelConfig) {
	c.SchedulingChoice = &kserve.ModelConfig_DynamicBatching{DynamicBatching: &kserve.ModelDynamicBatching{PriorityLevels: 3}}
}

// addContract adds models with the tensors of a model in test/models-contract.
func addContract(t *testing.T, engine *inferencetest.Engine, contract string, script inferencetest.Script) {
	t.Helper()
	const folder = "../../test/models-contract/"
	text, err := os.ReadFile(folder + contract + "/config.pbtxt")
	if err != nil {
		t.Fatal(err)
	}
	var config kserve.ModelConfig
	if err := prototext.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	config.Parameters = map[string]*kserve.ModelParameter{}
	for name, value := range map[string]string{
		"chat_template": fieldTemplate, "context_length": "300", "tool_call_parser": "hermes", "tokenizer": folder + "ensemble/tokenizer",
		"vision": "true",
	} {
		config.Parameters["trident."+name] = &kserve.ModelParameter{StringValue: value}
	}
	withPriorities(&config)
	for _, name := range []string{"chat", "other"} {
		engine.AddOther(name, &config, script)
	}
}

// fieldTemplate shows everything that a request can pass to a template.
const fieldTemplate = `{% for m in messages %}[{{ m.role }}]{{ m.content }}{% if m.name %}@{{ m.name }}{% endif %}{% if m.tool_call_id %}={{ m.tool_call_id }}{% endif %}` +
	`{% for c in m.tool_calls or [] %}{{ c.function.name }}({{ c.function.arguments.x }}){% endfor %}{% endfor %}{% for t in tools or [] %}<{{ t.function.name }}>{% endfor %}` +
	`{% if color %}({{ color }}){% endif %}{% if reasoning_effort %}effort {{ reasoning_effort }}{% endif %}` +
	`{% for d in documents or [] %}({{ d.title }}:{{ d.text }}){% endfor %}{{ '[assistant]' if add_generation_prompt else ';' }}`

// hasInput reports whether the request has an input.
func hasInput(req *kserve.ModelInferRequest, input string) bool {
	return slices.ContainsFunc(req.GetInputs(), func(in *kserve.ModelInferRequest_InferInputTensor) bool { return in.GetName() == input })
}

// streamWithLogprobs generates Hello in the form of vLLM's backend, with log
// probabilities if requested.
func streamWithLogprobs(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
	for i, text := range []string{"Hel", "lo"} {
		resp := inferencetest.Token(text, []string{"", "stop"}[i])
		if hasInput(req, "return_logprobs") {
			resp.Outputs = append(resp.Outputs, inferencetest.Bytes("logprobs", fmt.Sprintf(`[{"5":{"logprob":-0.5,"rank":1,"decoded_token":%q}}]`, text)))
		}
		send(resp)
	}
	return nil
}

// streamAsEnsemble generates Hello in the form of TensorRT-LLM's ensemble.
func streamAsEnsemble(ctx context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
	number := func(name string, value uint32) inference.Output {
		return inference.Output{Name: name, Type: "INT32", Shape: []int64{1, 1}, Raw: binary.LittleEndian.AppendUint32(nil, value)}
	}
	if hasInput(req, "return_context_logits") {
		send(&inference.Response{Final: true, Outputs: []inference.Output{inferencetest.Bytes("text_output", "H"), contextLogits(ctx, inferencetest.Input(req, "text_input"))}})
		return nil
	}
	for i, text := range []string{"Hel", "lo"} {
		resp := &inference.Response{Final: i == 1, Outputs: []inference.Output{inferencetest.Bytes("text_output", text), number("num_input_tokens", 7), number("num_output_tokens", 1)}}
		if hasInput(req, "return_log_probs") {
			resp.Outputs = append(resp.Outputs, inference.Output{
				Name: "output_log_probs", Type: "FP32", Shape: []int64{1, 1, 1}, Raw: binary.LittleEndian.AppendUint32(nil, math.Float32bits(-0.5)),
			})
		}
		send(resp)
	}
	return nil
}

// ensembleTokenizer is the tokenizer of test/models-contract/ensemble.
var ensembleTokenizer = sync.OnceValue(func() *tokenizer.Tokenizer {
	t, _, err := tokenizer.Load(os.DirFS("../../test/models-contract/ensemble/tokenizer"))
	if err != nil {
		panic(err)
	}
	return t
})

// ensembleLogit is the logit of a token after another one. The next token of the vocabulary is the likeliest.
func ensembleLogit(before, id int) float64 {
	if id == (before+1)%ensembleTokenizer().Size() {
		return 4
	}
	return float64(id%7) / 4
}

// contextLogits returns the logits of a prompt, with two columns of padding.
func contextLogits(ctx context.Context, prompt string) inference.Output {
	ids, err := ensembleTokenizer().Encode(ctx, prompt, true, nil)
	if err != nil {
		panic(err)
	}
	columns := ensembleTokenizer().Size() + 2
	out := inference.Output{Name: "context_logits", Type: "FP32", Shape: []int64{1, int64(len(ids)), int64(columns)}}
	for _, before := range ids {
		for id := range columns {
			out.Raw = binary.LittleEndian.AppendUint32(out.Raw, math.Float32bits(float32(ensembleLogit(before, id))))
		}
	}
	return out
}

// streamAsLLMAPI generates Hello in the form of TensorRT-LLM's LLM API, which repeats
// the whole text each time. It calls a tool twice if the prompt contains "twice".
func streamAsLLMAPI(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
	texts := []string{"Hel", "Hello"}
	if strings.Contains(inferencetest.Input(req, "text_input"), "twice") {
		const call = `<tool_call>{"name":"f","arguments":{}}</tool_call>`
		texts = []string{call, call + call}
	}
	for i, text := range texts {
		send(&inference.Response{Final: i == 1, Outputs: []inference.Output{
			inferencetest.Bytes("text_output", text), inferencetest.Bytes("finish_reason", []string{"None", "stop"}[i]),
		}})
	}
	return nil
}

// probesOf returns the probes of an operation for a kind. The probes are those of
// vLLM, except for fields that the kind receives differently.
func probesOf(kind, operation string) map[string][]probe {
	probes := fieldProbes()[operation]
	others := map[string]map[string][]probe{"ensemble, bls": ensembleProbes(operation), "llmapi": llmapiProbes(operation)}
	maps.Copy(probes, others[kind])
	return probes
}

// separateProbes are the probes of parameters that are separate inputs, with the
// kind's names for them.
func separateProbes(name func(string) string) map[string][]probe {
	sends := func(field, value string) []probe {
		return []probe{{fields: fmt.Sprintf("%q:%s", field, value), sent: name(field) + "=" + value + " "}}
	}
	return map[string][]probe{
		"stream_options":        {{fields: `"stream_options":{"include_usage":true}`, with: `"stream":true`, got: `"usage":{"prompt_tokens":`}},
		"temperature":           sends("temperature", "0.7"),
		"top_p":                 append(sends("top_p", "0.9"), probe{fields: `"top_p":0`, sent: name("top_k") + "=1 "}),
		"top_k":                 sends("top_k", "5"),
		"frequency_penalty":     sends("frequency_penalty", "-1.5"),
		"presence_penalty":      sends("presence_penalty", "0.3"),
		"seed":                  append(sends("seed", "5"), probe{fields: `"seed":5`, with: `"n":2`, sent: name("seed") + "=6 "}),
		"stop":                  {{fields: `"stop":"lo"`, sent: name("stop") + "=lo ", got: `"Hel"`}, {fields: `"stop":["x","y"]`, sent: name("stop") + "=x,y "}},
		"max_tokens":            sends("max_tokens", "9"),
		"max_completion_tokens": {{fields: `"max_completion_tokens":5`, sent: name("max_tokens") + "=5 "}, {fields: `"max_completion_tokens":5`, with: `"max_tokens":9`, sent: name("max_tokens") + "=5 "}},
	}
}

func ensembleProbes(operation string) map[string][]probe {
	const tools = `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`
	const schema = `guided_decoding_guide_type=json_schema guided_decoding_guide={"type":"array"}`
	probes := separateProbes(func(field string) string {
		if field == "stop" {
			return "stop_words"
		}
		return field
	})
	maps.Copy(probes, map[string][]probe{
		"logit_bias":                 {{fields: `"logit_bias":{"72":10}`, sent: "embedding_bias_words=H embedding_bias_weights=10 "}},
		"repetition_penalty":         {{fields: `"repetition_penalty":1.2`, sent: "repetition_penalty=1.2 "}},
		"min_tokens":                 {{fields: `"min_tokens":3`, with: `"max_tokens":9`, sent: "min_tokens=3 "}},
		"bad_words":                  {{fields: `"bad_words":["no"]`, sent: "bad_words=no "}},
		"ignore_eos":                 {{fields: `"ignore_eos":true`, sent: "end_id=-1 "}},
		"include_stop_str_in_output": {{fields: `"include_stop_str_in_output":true`, with: `"stop":"el"`, got: `"Hel"`}},
		"response_format": {
			{fields: `"response_format":{"type":"json_object"}`, sent: "guided_decoding_guide_type=json "},
			{fields: `"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"array"}}}`, sent: schema},
		},
		"structured_outputs": {
			{fields: `"structured_outputs":{"json":{"type":"array"}}`, sent: schema},
			{fields: `"structured_outputs":{"json_object":true}`, sent: "guided_decoding_guide_type=json "},
			{fields: `"structured_outputs":{"regex":"a+"}`, sent: "guided_decoding_guide_type=regex guided_decoding_guide=a+ "},
			{fields: `"structured_outputs":{"grammar":"root ::= \"a\""}`, sent: "guided_decoding_guide_type=ebnf_grammar guided_decoding_guide=root "},
			{fields: `"structured_outputs":{"choice":["a","b"]}`, sent: `guided_decoding_guide=root ::= "a" | "b" `},
		},
		"guided_json":               {{fields: `"guided_json":{"type":"array"}`, sent: schema}},
		"guided_regex":              {{fields: `"guided_regex":"a+"`, sent: "guided_decoding_guide_type=regex guided_decoding_guide=a+ "}},
		"guided_choice":             {{fields: `"guided_choice":["a","b"]`, sent: `guided_decoding_guide_type=ebnf_grammar guided_decoding_guide=root ::= "a" | "b" `}},
		"guided_grammar":            {{fields: `"guided_grammar":"root ::= \"a\""`, sent: "guided_decoding_guide_type=ebnf_grammar guided_decoding_guide=root "}},
		"tool_choice":               {{fields: `"tool_choice":"required"`, with: tools, sent: "guided_decoding_guide_type=json_schema "}, {fields: `"tool_choice":{"type":"function","function":{"name":"f"}}`, with: tools, sent: "guided_decoding_guide_type=json_schema "}},
		"tool_choice.allowed_tools": {{fields: `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"f"}}]}}`, with: tools, sent: "guided_decoding_guide_type=json_schema "}},
		"tool_choice.custom":        {{fields: `"tool_choice":{"type":"custom","custom":{"name":"f"}}`, with: `"tools":[{"type":"custom","custom":{"name":"f"}}]`, sent: "guided_decoding_guide_type=json_schema "}},
		"parallel_tool_calls":       {{fields: `"parallel_tool_calls":false`, with: tools + `,"tool_choice":"required"`, sent: `guided_decoding_guide={"anyOf":`}},
		"logprobs":                  {{fields: `"logprobs":true`, sent: "return_log_probs=true ", got: `"logprobs":{"content":[{"bytes":[72,101,108]`}},
		"top_logprobs":              {{fields: `"top_logprobs":2`, with: `"logprobs":true`}},
		"prompt_logprobs":           {{fields: `"prompt_logprobs":1`, sent: "return_context_logits=true ", got: `"prompt_logprobs":[null,{"`}},

		"messages[].content[].image_url": {{fields: oneImage, sent: "image_url_input=data:image/jpeg;base64,iVBORw0KGgo= "}},
	})
	if operation == "POST "+completionPath {
		probes["logprobs"] = []probe{
			{fields: `"logprobs":0`, sent: "return_log_probs=true ", got: `"token_logprobs":[-0.5,-0.5]`},
			{fields: `"logprobs":0`, with: `"echo":true`, sent: "return_context_logits=true ", got: `"token_logprobs":[null,-`},
		}
		probes["best_of"] = []probe{{fields: `"best_of":2`, with: `"seed":1`, sent: "seed=2 "}}
	}
	return keepKnown(probes, operation)
}

func llmapiProbes(operation string) map[string][]probe {
	const tools = `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`
	probes := separateProbes(func(field string) string { return "sampling_param_" + field })
	maps.Copy(probes, map[string][]probe{
		"include_stop_str_in_output": {{fields: `"include_stop_str_in_output":true`, with: `"stop":"el"`, got: `"Hel"`}},
		"top_logprobs":               {{fields: `"logprobs":true,"top_logprobs":2`, param: "logprobs"}},
		"tool_choice":                {{fields: `"tool_choice":"none"`, with: tools, sent: "[user]hi[assistant]"}},
		"tool_choice.allowed_tools":  {{fields: `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"f"}}]}}`, with: tools, param: "tool_choice"}},
		"tool_choice.custom":         {{fields: `"tool_choice":{"type":"custom","custom":{"name":"f"}}`, with: `"tools":[{"type":"custom","custom":{"name":"f"}}]`, param: "tool_choice"}},
		"parallel_tool_calls": {{
			fields: `"parallel_tool_calls":true`, with: tools + `,"parallel_tool_calls":false,"messages":[{"role":"user","content":"twice"}]`, got: `"type":"function"},{"function":`,
		}},
		"response_format": {
			{fields: `"response_format":{"type":"json_object"}`},
			{fields: `"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"array"}}}`, param: "response_format.json_schema.schema"},
		},
		"structured_outputs": {
			{fields: `"structured_outputs":{"json":{"type":"array"}}`, param: "structured_outputs.json"},
			{fields: `"structured_outputs":{"regex":"a+"}`, param: "structured_outputs.regex"},
		},
		"response_format.json_schema.strict": {{
			fields: `"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":{"type":"array"}}}`, param: "response_format.json_schema.schema",
		}},
		"best_of": {{fields: `"best_of":2`}},

		"messages[].content[].image_url": {{fields: oneImage, sent: "image_url=data:image/png;base64,iVBORw0KGgo= "}},
		"stream_options.include_usage": {{
			fields: `"stream_options":{"include_usage":true}`, with: `"stream":true`, got: `"choices":[],"usage":{"prompt_tokens":`,
		}},
	})
	return keepKnown(probes, operation)
}

// keepKnown removes the fields that an operation doesn't have.
func keepKnown(probes map[string][]probe, operation string) map[string][]probe {
	known := fieldProbes()[operation]
	maps.DeleteFunc(probes, func(field string, _ []probe) bool { return known[field] == nil })
	return probes
}

// elements returns the elements of an input as strings; texts are unchanged.
func elements(in *kserve.ModelInferRequest_InferInputTensor, raw []byte) string {
	var values []string
	for len(raw) > 0 {
		switch in.GetDatatype() {
		case "BYTES":
			n := binary.LittleEndian.Uint32(raw)
			values, raw = append(values, string(raw[4:4+n])), raw[4+n:]
		case "BOOL":
			values, raw = append(values, fmt.Sprint(raw[0] == 1)), raw[1:]
		case "FP32":
			values, raw = append(values, fmt.Sprint(math.Float32frombits(binary.LittleEndian.Uint32(raw)))), raw[4:]
		case "INT32":
			values, raw = append(values, fmt.Sprint(int32(binary.LittleEndian.Uint32(raw)))), raw[4:]
		case "UINT64":
			values, raw = append(values, fmt.Sprint(binary.LittleEndian.Uint64(raw))), raw[8:]
		default:
			return "a tensor of " + in.GetDatatype()
		}
	}
	return strings.Join(values, ",")
}
