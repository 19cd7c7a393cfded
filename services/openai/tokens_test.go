package openai

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/openaitest"
	"github.com/trident-inference/trident/services/serving"
)

// byteTokenizer has a token for each byte, and <|im_start|> and <|im_end|>.
const byteTokenizer = "../../test/models-contract/vllm/tokenizer"

func TestTokens(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("m", nil, map[string]string{"trident.tokenizer": byteTokenizer, "trident.context_length": "64", "trident.aliases": "org/m", "trident.chat_template": "" +
		`{{ tools | length if tools else '' }}{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}{{ mark }}{% if add_generation_prompt %}<|im_start|>{% endif %}`})
	engine.AddModel("blind", nil, map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	engine.AddModel("plain", nil, map[string]string{"trident.tokenizer": byteTokenizer})
	handler, err := New(Config{}, inferencetest.Service(t, serving.Config{}, engine), nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	const tokenize, detokenize = "/v1/tokenize", "/v1/detokenize"
	user := func(content, more string) string {
		return `{"model":"m","messages":[{"role":"user","content":` + content + `}]` + more + `}`
	}
	tests := []struct {
		name, path, body string
		status           int
		want             string // part of the body
	}{
		{"a text", tokenize, `{"model":"m","prompt":"aé"}`, 200, `{"count":3,"max_model_len":64,"token_strs":null,"tokens":[97,195,169]}`},
		{"an empty text", tokenize, `{"model":"m","prompt":""}`, 200, `{"count":0,"max_model_len":64,"token_strs":null,"tokens":[]}`},
		{"an alias, the other path", "/tokenize", `{"model":"org/m","prompt":"a"}`, 200, `"tokens":[97]`},
		{"no context", tokenize, `{"model":"plain","prompt":"a"}`, 200, `{"count":1,"max_model_len":null,`},
		{"the vocabulary's texts", tokenize, `{"model":"m","prompt":"a <|im_end|>","return_token_strs":true}`, 200, `"token_strs":["a","Ġ","<|im_end|>"],"tokens":[97,32,257]}`},
		{"a chat", tokenize, user(`"a"`, ""), 200, `"tokens":[97,257,256]}`},
		{"a chat without the next turn", tokenize, user(`"a"`, `,"add_generation_prompt":false`), 200, `"tokens":[97,257]}`},
		{"a chat to continue", tokenize, user(`" a "`, `,"add_generation_prompt":false,"continue_final_message":true`), 200, `"tokens":[32,97,32]}`},
		{"parts to continue", tokenize, user(`[{"type":"text","text":"a"}]`, `,"add_generation_prompt":false,"continue_final_message":true`), 200, `"tokens":[97]}`},
		{"a space to continue", tokenize, user(`" "`, `,"add_generation_prompt":false,"continue_final_message":true`), 200, `"tokens":[32]}`},
		{"nothing to continue", tokenize, `{"model":"m","messages":[{"role":"assistant","content":null}],"add_generation_prompt":false,"continue_final_message":true}`, 400, `"param":"continue_final_message"`},
		{"both turns open", tokenize, user(`"a"`, `,"continue_final_message":true`), 400, "continue_final_message needs add_generation_prompt: false"},
		{"variables and tools", tokenize, user(`"a"`, `,"chat_template_kwargs":{"mark":"!"},"tools":[{"type":"function","function":{"name":"f"}}]`), 200, `"tokens":[49,97,257,33,256]}`},
		{"a bad tool", tokenize, user(`"a"`, `,"tools":[{"type":"web"}]`), 400, `"param":"tools[0].type"`},
		{"a custom tool", tokenize, user(`"a"`, `,"tools":[{"type":"custom","custom":{"name":"f"}}]`), 200, `"tokens":[49,97,257,256]`},
		{"a bad message", tokenize, `{"model":"m","messages":[{"role":"king","content":"a"}]}`, 400, `"param":"messages[0].role"`},
		{"both", tokenize, user(`"a"`, `,"prompt":"a"`), 400, "prompt and messages can't be used together"},
		{"neither", tokenize, `{"model":"m","messages":[]}`, 400, "prompt or messages is required"},
		{"tools of a text", tokenize, `{"model":"m","prompt":"a","tools":[{"type":"function","function":{"name":"f"}}]}`, 400, "tools can only be used with messages"},
		{"a template", tokenize, user(`"a"`, `,"chat_template":"{{ 1 }}"`), 400, `"param":"chat_template"`},
		{"no tokenizer", tokenize, `{"model":"blind","prompt":"a"}`, 400, "the tokenizer of the model `blind` isn't known: set it by inference.SettingTokenizer, or by the parameter trident.tokenizer in its config.pbtxt"},
		{"no template", tokenize, `{"model":"plain","messages":[{"role":"user","content":"a"}]}`, 400, "trident.chat_template"},
		{"no model", tokenize, `{"model":"nope","prompt":"a"}`, 404, `"code":"model_not_found"`},
		{"an unknown field", tokenize, `{"model":"m","prompt":"a","colour":1}`, 200, `"tokens":[97]`},
		{"ids", detokenize, `{"model":"m","tokens":[97,195,169,256]}`, 200, `{"prompt":"aé\u003c|im_start|\u003e"}`},
		{"ids, the other path", "/detokenize", `{"model":"m","tokens":[97]}`, 200, `{"prompt":"a"}`},
		{"half a character", detokenize, `{"model":"m","tokens":[195]}`, 200, "{\"prompt\":\"\uFFFD\"}"},
		{"no ids", detokenize, `{"model":"m","tokens":[]}`, 200, `{"prompt":""}`},
		{"an id too high", detokenize, `{"model":"m","tokens":[97,258]}`, 400, "tokens[1]: the model `m` has no token 258"},
		{"an id below 0", detokenize, `{"model":"m","tokens":[-1]}`, 400, `"param":"tokens[0]"`},
		{"a text for an id", detokenize, `{"model":"m","tokens":["a"]}`, 400, `"param":"tokens[0]"`},
		{"as much as is tokenized", tokenize, `{"model":"m","prompt":"` + strings.Repeat("a ", budget.TextBytes/2) + `"}`, 200, `{"count":524288,`},
		{"more than is tokenized", tokenize, `{"model":"m","prompt":"` + strings.Repeat("a ", budget.TextBytes/2) + `a"}`, 400, `"prompt has 524289 bytes, but Trident tokenizes at most 524288 bytes for this model: send less text, or split it into several requests","type":"invalid_request_error","param":"prompt","code":"context_length_exceeded"`},
		{"a chat of more", tokenize, user(`"`+strings.Repeat("a", budget.TextBytes)+`"`, ""), 400, `messages has 524310 bytes, but Trident tokenizes at most 524288 bytes for this model`},
		{"ids of a long text", detokenize, `{"model":"m","tokens":[` + strings.Repeat("256,", budget.TextBytes/2) + `97]}`, 400, "the text of the token ids in tokens is longer than 2097152 bytes: send fewer token ids in one request"},
		{"ids without tokenizer", detokenize, `{"model":"blind","tokens":[1]}`, 400, "trident.tokenizer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if resp, body := openaitest.Do(t, http.MethodPost, server.URL+tt.path, tt.body); resp.StatusCode != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("%d %s\nwant %d %s", resp.StatusCode, body, tt.status, tt.want)
			}
		})
	}
	if n := len(engine.Requests()); n > 0 {
		t.Errorf("the engine got %d requests", n)
	}
}
