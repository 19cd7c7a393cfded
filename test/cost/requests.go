package main

import (
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/trident-inference/trident/gen/go/kserve"
	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/openapi"
)

// all returns the measured requests of all APIs.
func all() ([]*target, error) {
	var list []*target
	for _, d := range []document{openAIDocument(), anthropicDocument(), encodersDocument(), kserveDocument()} {
		found, err := d.targets()
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	typed := []protoreflect.FileDescriptor{
		tridentv1.File_trident_v1_chat_proto, tridentv1.File_trident_v1_completion_proto, tridentv1.File_trident_v1_embedding_proto,
		tridentv1.File_trident_v1_encoder_proto,
		tridentv1.File_trident_v1_infer_proto, tridentv1.File_trident_v1_model_proto, tridentv1.File_trident_v1_server_proto,
	}
	for _, p := range protocols() {
		files := []protoreflect.FileDescriptor{kserve.File_kserve_grpc_service_proto}
		if !p.native {
			files = slices.Concat(typed, files)
		}
		found, err := p.services(files...)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

func openAIDocument() document {
	const chat = `{"model":"text","max_tokens":1,"messages":[{"role":"user","content":"a"}]}`
	return document{
		surface: "OpenAI", text: openapi.OpenAI(),
		bases: map[string]string{
			"createChatCompletion":     chat,
			"createCompletion":         `{"model":"text","max_tokens":1,"prompt":"a"}`,
			"createDecision":           `{"model":"vllm","input":"a","questions":[{"type":"predicate","instructions":"a"}]}`,
			"createEmbedding":          `{"model":"vllm","input":"a"}`,
			"countChatInputTokens":     chat,
			"renderChatCompletion":     chat,
			"renderCompletion":         `{"model":"text","max_tokens":1,"prompt":"a"}`,
			"tokenize":                 `{"model":"text","prompt":"a"}`,
			"detokenize":               `{"model":"text","tokens":[1]}`,
			"createResponse":           `{"model":"text","max_output_tokens":16,"input":"a","store":false}`,
			"countResponseInputTokens": `{"model":"text","input":"a"}`,
			"loadModel":                `{}`,
		},
		fields: map[string]string{
			"tokenize messages":             `{"model":"text"}`,
			"tokenize tools":                `{"model":"text","messages":[{"role":"user","content":"a"}]}`,
			"tokenize chat_template_kwargs": `{"model":"text","messages":[{"role":"user","content":"a"}]}`,
		},
	}
}

func anthropicDocument() document {
	assistant := [2]string{`"role":"user"`, `"role":"assistant"`}
	return document{
		surface: "Anthropic", text: openapi.Anthropic(),
		bases: map[string]string{
			"createMessage":      `{"model":"text","max_tokens":1,"messages":[{"role":"user","content":"a"}]}`,
			"countMessageTokens": `{"model":"text","messages":[{"role":"user","content":"a"}]}`,
		},
		fields: map[string]string{},
		around: map[string][2]string{"tool_use": assistant, "thinking": assistant, "redacted_thinking": assistant},
	}
}

func encodersDocument() document {
	const ranks, inputs = `{"model":"vllm","query":"a","documents":["a"]}`, `{"inputs":"a"}`
	return document{
		surface: "encoders", text: openapi.Encoders(),
		bases: map[string]string{
			"rerank":           ranks,
			"rerankV2":         ranks,
			"infinityRerank":   ranks,
			"score":            `{"model":"vllm","text_1":"a","text_2":"a"}`,
			"classify":         `{"model":"vllm","input":"a"}`,
			"infinityClassify": `{"model":"vllm","input":["a"]}`,
			"createModeration": `{"model":"vllm","input":"a"}`,
			"pool":             `{"model":"vllm","input":"a","task":"embed"}`,
			"teiRun":           inputs,
			"teiEmbed":         inputs,
			"teiEmbedAll":      inputs,
			"teiEmbedSparse":   inputs,
			"teiPredict":       inputs,
			"teiRerank":        `{"query":"a","texts":["a"]}`,
			"teiSimilarity":    `{"inputs":{"source_sentence":"a","sentences":["a"]}}`,
		},
		fields: map[string]string{},
	}
}

func kserveDocument() document {
	// The output is binary, so that the response is cheap compared to the request.
	const infer = `{"inputs":[{"name":"input","datatype":"UINT8","shape":[1],"data":[0]}],"outputs":[{"name":"output","parameters":{"binary_data":true}}]}`
	return document{
		surface: "KServe REST", text: openapi.KServe(),
		bases: map[string]string{
			"inferModel":                       infer,
			"generateModel":                    `{"text_input":"a","sampling_parameters":"{\"max_tokens\":1}"}`,
			"setTraceSetting":                  `{}`,
			"setModelTraceSetting":             `{}`,
			"registerSystemSharedMemoryRegion": `{"key":"/none","byte_size":1}`,
		},
		fields: map[string]string{
			"inferModel.inputs[]":      `{"name":"input","datatype":"UINT8","shape":[1],"data":[0]}`,
			"inferModel.outputs[]":     `{"name":"output"}`,
			"inferModel.inputs[] data": `{"name":"input","datatype":"UINT8","shape":["@n"]}`,
		},
	}
}

// special is the smallest valid message for fields whose full name has a prefix, if the rules of
// its fields alone don't give a valid one. "@n" is the number of units.
type special struct{ message, leaf, text string }

func specialMessages() []special {
	const (
		message   = "trident.v1.ChatMessage"
		infer     = "inference.ModelInferRequest"
		input     = infer + ".InferInputTensor"
		contents  = "inference.InferTensorContents."
		unitInput = `"name":"input","datatype":"UINT8","shape":["1"]`
	)
	list := []special{
		{"trident.v1.ChatRequest", "", `{"model":"text","maxTokens":1,"messages":[{"role":"ROLE_USER","content":"a"}]}`},
		{"trident.v1.CompleteRequest", "", `{"model":"text","maxTokens":1,"prompt":[{"text":"a"}]}`},
		{"trident.v1.EmbedRequest", "", `{"model":"vllm","input":[{"text":"a"}]}`},
		{"trident.v1.RerankRequest", "", `{"model":"vllm","query":"a","documents":["a"]}`},
		{"trident.v1.ScoreRequest", "", `{"model":"vllm","first":["a"],"second":["a"]}`},
		{"trident.v1.ClassifyRequest", "", `{"model":"vllm","input":[{"text":"a"}]}`},
		{"trident.v1.EmbedTokensRequest", "", `{"model":"vllm","input":[{"text":"a"}]}`},
		{"trident.v1.EmbedSparseRequest", "", `{"model":"vllm","input":[{"text":"a"}]}`},
		{message, message + ".tool_calls", `{"role":"ROLE_ASSISTANT"}`},
		{message, "trident.v1.ToolCall", `{"role":"ROLE_ASSISTANT"}`},
		{message, message + ".refusal", `{"role":"ROLE_ASSISTANT"}`},
		{message, message + ".reasoning", `{"role":"ROLE_ASSISTANT"}`},
		{message, message + ".tool_call_id", `{"role":"ROLE_TOOL","content":"a"}`},
		{message, message + ".parts", `{"role":"ROLE_USER"}`},
		{message, "trident.v1.ContentPart", `{"role":"ROLE_USER"}`},
		{message, "trident.v1.ImageUrl", `{"role":"ROLE_USER"}`},
		{message, "", `{"role":"ROLE_USER","content":"a"}`},
		{infer, contents, `{"modelName":"tensor"}`},
		{infer, input + ".contents", `{"modelName":"tensor"}`},
		{infer, infer + ".raw_input_contents", `{"modelName":"tensor","inputs":[{"name":"input","datatype":"UINT8","shape":["@n"]}]}`},
		{infer, "", `{"modelName":"tensor","inputs":[{` + unitInput + `}],"rawInputContents":["AA=="]}`},
	}
	for field, datatype := range map[string]string{
		"bool": "BOOL", "int": "INT32", "int64": "INT64", "uint": "UINT8", "uint64": "UINT64", "fp32": "FP32", "fp64": "FP64", "bytes": "BYTES",
	} {
		list = append(list, special{input, contents + field + "_contents", `{"name":"input","datatype":"` + datatype + `","shape":["@n"]}`})
	}
	return append(list, special{input, "", "{" + unitInput + "}"})
}
