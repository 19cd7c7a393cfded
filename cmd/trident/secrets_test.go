package main

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/server/servertest"
)

// Strings that must not occur in a log, in a metric or in another client's response. The
// strings use base64's alphabet, so that they stay visible in data: URIs.
const (
	markedPrompt = "MARKEDPROMPT"
	markedAnswer = "MARKEDANSWER"
	markedImage  = "MARKEDIMAGE0"
	markedKey    = "sk-MARKEDKEY"
	markedSeal   = "MARKEDSEALAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" // 32 bytes in base64
)

// failingEngine returns an engine whose models answer, fail or panic.
func failingEngine() *inferencetest.Engine {
	engine := textModels()
	parameters := map[string]string{"trident.chat_template": inferencetest.ChatTemplate, "trident.tool_call_parser": "hermes"}
	engine.AddModel("chat", inferencetest.StreamText(markedAnswer, " ", markedAnswer), parameters)
	engine.AddModel("fails", func(context.Context, *kserve.ModelInferRequest, func(*inference.Response) bool) error {
		return &inference.Error{Code: inference.CodeInternal, Message: "the model failed"}
	}, parameters)
	engine.AddModel("late", func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		send(inferencetest.Token(markedAnswer, ""))
		return &inference.Error{Code: inference.CodeUnavailable, Message: "the model went away"}
	}, parameters)
	engine.AddModel("panics", func(context.Context, *kserve.ModelInferRequest, func(*inference.Response) bool) error {
		panic("a defect")
	}, parameters)
	engine.AddModel("vectors", inferencetest.Embed(1, 2), map[string]string{"trident.task": "embed"})
	return engine
}

// marked returns marked request bodies by path. Some are valid. Others are invalid in
// every way in which an error could quote a client's text.
func marked() map[string][]string {
	const image = `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + markedImage + `"}}`
	return map[string][]string{
		"/v1/chat/completions": {
			`{"model":"MODEL","messages":[{"role":"user","content":"` + markedPrompt + `"}]}`,
			`{"model":"MODEL","stream":true,"messages":[{"role":"user","content":"` + markedPrompt + `"}]}`,
			`{"model":"MODEL","messages":[{"role":"user","content":[{"type":"text","text":"` + markedPrompt + `"},` + image + `]}]}`,
			`{"model":"MODEL","messages":[{"role":"user","content":"` + markedPrompt + `"}],"temperature":9}`,
			`{"model":"MODEL","messages":[{"role":"user","content":"` + markedPrompt + `"`,
			`{"model":"MODEL","messages":"` + markedPrompt + `"}`,
			`{"model":"MODEL","messages":[{"role":"user","content":{"text":"` + markedPrompt + `"}}]}`,
			`{"model":"MODEL","messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{` + markedPrompt + `"}}]}]}`,
			`{"model":"MODEL","messages":[{"role":"user","content":"x"}],"stop":[1,"` + markedPrompt + `"]}`,
			`{"model":"MODEL","messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"` + markedPrompt + `"}}}}`,
			"{\"model\":\"MODEL\",\"messages\":[{\"role\":\"user\",\"content\":\"" + markedPrompt + "\xff\"}]}",
		},
		"/v1/completions": {
			`{"model":"MODEL","prompt":"` + markedPrompt + `"}`, `{"model":"MODEL","prompt":["` + markedPrompt + `"],"stream":true}`,
			`{"model":"MODEL","prompt":{"a":"` + markedPrompt + `"}}`, `{"model":"MODEL","prompt":"x","suffix":"` + markedPrompt + `"}`,
		},
		"/v1/embeddings": {`{"model":"vectors","input":"` + markedPrompt + `"}`, `{"model":"MODEL","input":["` + markedPrompt + `",5]}`},
		"/v1/responses": {
			`{"model":"MODEL","input":"` + markedPrompt + `","instructions":"` + markedPrompt + `"}`, `{"model":"MODEL","input":[{"type":"` + markedPrompt + `"}]}`,
			`{"model":"MODEL","stream":true,"input":"` + markedPrompt + `"}`,
			`{"model":"MODEL","include":["reasoning.encrypted_content"],"input":[{"type":"reasoning","encrypted_content":"` + markedPrompt + `"},{"role":"user","content":"` + markedPrompt + `"}]}`,
		},
		"/v1/tokenize": {`{"model":"MODEL","prompt":"` + markedPrompt + `"}`},
		"/trident.v1.ChatService/Chat": {
			`{"model":"MODEL","messages":[{"role":"ROLE_USER","content":"` + markedPrompt + `"}]}`,
			`{"model":"MODEL","messages":[{"role":"ROLE_USER","content":{"` + markedPrompt + `":1}}]}`,
			`{"model":"MODEL","messages":[{"role":"ROLE_USER","content":"` + markedPrompt,
			`{"model":"MODEL","temperature":9,"messages":[{"role":"ROLE_USER","content":"` + markedPrompt + `"}]}`,
		},
		"/v2/models/MODEL/generate":        {`{"text_input":"` + markedPrompt + `"}`, `{"text_input":{"a":"` + markedPrompt + `"}}`, `{"text_input":"` + markedPrompt},
		"/v2/models/MODEL/generate_stream": {`{"text_input":"` + markedPrompt + `"}`},
		"/v2/models/echo/infer": {
			`{"inputs":[{"name":"TEXT","datatype":"BYTES","shape":[1],"data":["` + markedPrompt + `"]}]}`,
			`{"inputs":[{"name":"TEXT","datatype":"FP32","shape":[1],"data":["` + markedPrompt + `"]}]}`,
			`{"inputs":[{"name":"TEXT","datatype":"BYTES","shape":[1],"data":[{"` + markedPrompt + `":1}]}]}`,
		},
	}
}

// TestNoSecretsLeak sends marked prompts, images and keys to every API of trident, for models that
// respond, fail, panic or don't exist. The marks must not occur in the log at its most verbose
// level, nor in data that other clients may read.
func TestNoSecretsLeak(t *testing.T) {
	keys := servertest.Write(t, t.TempDir(), "keys", []byte("- {name: one, key: "+markedKey+"}\n- {name: other, key: sk-other}"))
	seals := servertest.Write(t, t.TempDir(), "seals", []byte(markedSeal))
	d := deploy(t, failingEngine(), "--api-keys-file="+keys, "--seal-key-file="+seals, "--openai-restricted-api", "metrics", "metrics-key", markedKey)
	sent := 0
	for path, bodies := range marked() {
		for _, body := range bodies {
			for _, model := range []string{"chat", "fails", "late", "panics", "missing"} {
				target := strings.ReplaceAll(path, "MODEL", model)
				body := strings.ReplaceAll(body, "MODEL", model)
				_, answer, header := d.send(t, http.MethodPost, d.openai+target, body, "Authorization", "Bearer "+markedKey)
				if strings.Contains(answer, markedKey) || strings.Contains(header.Get("X-Request-Id"), "MARKED") {
					t.Errorf("%s contains the key: %s", path, answer)
				}
				sent++
			}
			d.send(t, http.MethodPost, d.openai+strings.ReplaceAll(path, "MODEL", "chat"), body, "Authorization", "Bearer wrong-"+markedKey)
		}
	}
	client := kserve.NewGRPCInferenceServiceClient(dial(t, d.native))
	for _, datatype := range []string{"BYTES", "FP32"} {
		for _, key := range []string{markedKey, "wrong-" + markedKey} {
			ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+key)
			_, _ = client.ModelInfer(ctx, &kserve.ModelInferRequest{ModelName: "echo", Inputs: []*kserve.ModelInferRequest_InferInputTensor{
				{Name: "TEXT", Datatype: datatype, Shape: []int64{1}, Contents: &kserve.InferTensorContents{BytesContents: [][]byte{[]byte(markedPrompt)}}},
			}})
		}
	}
	log := d.log.String()
	if sent < 100 || strings.Count(log, "msg=request") < sent || !strings.Contains(log, "msg=panic") && !strings.Contains(log, "panic") {
		t.Errorf("the log has %[2]d of %[1]d requests, so the test can't check them", sent, strings.Count(log, "msg=request"))
	}
	outputs := map[string]string{"the log": log}
	for _, path := range []string{"/metrics", "/v1/models", "/v2/models/stats", "/trident.v1.ModelService/List"} {
		method, body := http.MethodGet, ""
		if strings.HasSuffix(path, "List") {
			method, body = http.MethodPost, "{}"
		}
		_, outputs[path], _ = d.send(t, method, d.openai+path, body, "Authorization", "Bearer sk-other", "metrics-key", markedKey)
	}
	_, outputs["another's answer"], _ = d.send(t, http.MethodPost, d.openai+"/v1/embeddings", `{"model":"vectors","input":"x"}`, "Authorization", "Bearer sk-other")
	for where, text := range outputs {
		for _, mark := range []string{markedPrompt, markedAnswer, markedImage, markedKey, markedSeal} {
			for line := range strings.Lines(text) {
				if strings.Contains(line, mark) {
					t.Errorf("%s has %s: %.600s", where, mark, line)
				}
			}
		}
	}
}
