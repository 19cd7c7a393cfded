package openai

import (
	"context"
	"encoding/binary"
	"net/http"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/openaitest"
)

// TestCachedTokens checks the number of cached tokens in the usage of chats, completions and responses, and that it is
// absent where the engine doesn't report it.
func TestCachedTokens(t *testing.T) {
	number := func(name string, value uint32) inference.Output {
		return inference.Output{Name: name, Type: "INT32", Shape: []int64{1, 1}, Raw: binary.LittleEndian.AppendUint32(nil, value)}
	}
	// Each prompt has as many reused blocks as its first character says, of those of the request's seed.
	script := func(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		resp := &inference.Response{Final: true, Outputs: []inference.Output{inferencetest.Bytes("text_output", "a"), number("num_input_tokens", 7), number("num_output_tokens", 1)}}
		if text := inferencetest.Input(req, "text_input"); hasInput(req, "return_perf_metrics") && text[0] != 'x' {
			blocks := uint32(text[0] - '0')
			for i, in := range req.GetInputs() {
				if in.GetName() == "seed" { // the further choices of a prompt
					blocks += binary.LittleEndian.Uint32(req.GetRawInputContents()[i])
				}
			}
			resp.Outputs = append(resp.Outputs, number("kv_cache_reused_blocks", blocks))
		}
		send(resp)
		return nil
	}
	engine := inferencetest.New()
	addContract(t, engine, "ensemble", script)
	for model, block := range map[string]string{"chat": "3", "other": ""} {
		engine.Configure(model, func(c *kserve.ModelConfig) {
			c.Parameters = map[string]*kserve.ModelParameter{
				"trident.chat_template":    {StringValue: "{{ messages[0].content }}"},
				"trident.tokens_per_block": {StringValue: block},
			}
			if block == "" {
				delete(c.GetParameters(), "trident.tokens_per_block")
			}
		})
	}
	server := fieldServer(t, Config{}, engine)
	const details = `"prompt_tokens_details":{"cached_tokens":`
	tests := []struct {
		name, path, body, want string // without want, the details must be absent
	}{
		{"a chat", chatPath, `"model":"chat","messages":[{"role":"user","content":"2"}]`, details + `6}`},
		{"nothing cached", chatPath, `"model":"chat","messages":[{"role":"user","content":"0"}]`, details + `0}`},
		{"more than the prompt", chatPath, `"model":"chat","messages":[{"role":"user","content":"5"}]`, details + `7}`},
		{"not reported", chatPath, `"model":"chat","messages":[{"role":"user","content":"x"}]`, ""},
		{"blocks of unknown size", chatPath, `"model":"other","messages":[{"role":"user","content":"2"}]`, ""},
		{"a stream", chatPath, `"model":"chat","messages":[{"role":"user","content":"2"}],"stream":true,"stream_options":{"include_usage":true}`, `"total_tokens":8,` + details + `6}}`},
		{"a stream without it", chatPath, `"model":"other","messages":[{"role":"user","content":"2"}],"stream":true,"stream_options":{"include_usage":true}`, ""},
		{"several choices", chatPath, `"model":"chat","messages":[{"role":"user","content":"1"}],"n":2,"seed":0`, details + `3}`},
		{"a completion", completionPath, `"model":"chat","prompt":"1"`, details + `3}`},
		{"several prompts", completionPath, `"model":"chat","prompt":["1","2"]`, details + `9}`},
		{"several prompts, one not reported", completionPath, `"model":"chat","prompt":["1","x"]`, ""},
		{"a response", "/v1/responses", `"model":"chat","input":"2"`, `"input_tokens_details":{"cache_write_tokens":0,"cached_tokens":6}`},
		{"a response without it", "/v1/responses", `"model":"other","input":"2"`, `"input_tokens_details":{"cache_write_tokens":0,"cached_tokens":0}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := openaitest.Do(t, http.MethodPost, server.URL+tt.path, `{`+tt.body+`}`)
			if resp.StatusCode != http.StatusOK || !strings.Contains(body, "usage") || !strings.Contains(body, tt.want) || tt.want == "" && strings.Contains(body, "details") {
				t.Errorf("%d %s\nwant %q", resp.StatusCode, body, tt.want)
			}
		})
	}
}
