package serving_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// abTokenizer has the tokens a, b, ab and <s>, which starts every text.
const abTokenizer = `{
  "version": "1.0", "truncation": null, "padding": null, "normalizer": null, "pre_tokenizer": null, "decoder": {"type": "Fuse"},
  "added_tokens": [{"id": 3, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [3], "tokens": ["<s>"]}}},
  "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null,
    "fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
}`

func withTokenizer(tb testing.TB, template string) map[string]string {
	tb.Helper()
	folder := tb.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "tokenizer.json"), []byte(abTokenizer), 0o600); err != nil {
		tb.Fatal(err)
	}
	return map[string]string{"trident.tokenizer": folder, "trident.context_length": "8", "trident.chat_template": template}
}

// TestPromptsAreCounted checks that the tokens of a prompt, including its prefix, are counted before
// the engine receives the prompt.
func TestPromptsAreCounted(t *testing.T) {
	const param = "prompt"
	for _, tt := range []struct {
		name    string
		prompt  inference.Input
		asked   int    // 0 for no limit
		sent    string // text that the engine receives
		room    string // limit that the engine receives
		message string
	}{
		{"room left", inference.Input{Text: "abba"}, 0, "abba", "4", ""}, // <s> ab b a
		{"as asked", inference.Input{Text: "abba"}, 2, "abba", "2", ""},
		{"to the last token", inference.Input{Text: "abba"}, 4, "abba", "4", ""},
		{"too much asked", inference.Input{Text: "abba"}, 5, "", "", "This model's maximum context length is 8 tokens, but prompt has 4 tokens and 5 tokens were requested for the answer"},
		{"too long", inference.Input{Text: "aaaaaaa"}, 0, "", "", "This model's maximum context length is 8 tokens, but prompt has 8 tokens"},
		{"token ids", inference.Input{TokenIDs: []int{2, 1, 0}}, 1, "abba", "1", ""},
		{"token ids with the beginning", inference.Input{TokenIDs: []int{3, 2, 1, 0}}, 1, "abba", "1", ""},
		{"token ids that aren't read so", inference.Input{TokenIDs: []int{0, 1}}, 1, "", "", "prompt contains token ids that the tokenizer doesn't return for their text: send the prompt as text"},
		{"more token ids than fit, whatever their text is", inference.Input{TokenIDs: []int{0, 1, 0, 1, 0, 1, 0, 1}}, 1, "", "", "This model's maximum context length is 8 tokens, but prompt has 8 tokens and 1 tokens were requested for the answer"},
		{"no token", inference.Input{TokenIDs: []int{0, 4}}, 1, "", "", "prompt contains the token id 4, but the token ids of the model `m` are below 4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, engine := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("x"), withTokenizer(t, ""))
			req := &inference.Request{Model: "m", Task: inference.TaskGenerate, Prompts: []inference.Input{tt.prompt}}
			if tt.asked > 0 {
				req.Sampling.MaxTokens = &tt.asked
			}
			a := inferencetest.Collect(t.Context(), s, req)
			if tt.message != "" {
				if a.Err == nil || a.Err.Message != tt.message || a.Err.Param != param || a.Err.Code != inference.CodeInvalid || len(engine.Requests()) != 0 {
					t.Errorf("got %+v, %d requests", a.Err, len(engine.Requests()))
				}
				return
			}
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			sent := engine.Requests()[0]
			if got := inferencetest.Input(sent, "text_input"); got != tt.sent {
				t.Errorf("sent %q", got)
			}
			if got := inferencetest.Input(sent, "sampling_parameters"); got != `{"max_tokens":`+tt.room+`}` {
				t.Errorf("sent %s", got)
			}
		})
	}
}

// TestStartPrefixIsSentOnce checks that Service removes a prefix such as <s> from the prompt if the
// engine adds it too.
func TestStartPrefixIsSentOnce(t *testing.T) {
	s, engine := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("x"), withTokenizer(t, "<s>{{ messages[0].content }}"))
	req := inferencetest.ChatRequest(1)
	req.Messages[0].Text = "ab"
	if a := inferencetest.Collect(t.Context(), s, req); a.Err != nil {
		t.Fatal(a.Err)
	}
	if got := inferencetest.Input(engine.Requests()[0], "text_input"); got != "ab" {
		t.Errorf("sent %q", got)
	}
}

func TestInputsAreChecked(t *testing.T) {
	for _, tt := range []struct {
		name           string
		inputs         []inference.Input
		param, message string
	}{
		{"fits", []inference.Input{{Text: "ab"}, {TokenIDs: []int{3, 2}}}, "", ""},
		{"too long", []inference.Input{{Text: "aaaaaaaa"}}, "input", "This model's maximum context length is 8 tokens, but input has 9 tokens"},
		{"another's token", []inference.Input{{Text: "a"}, {TokenIDs: []int{9}}}, "input[1]", "input[1] contains the token id 9, but the token ids of the model `m` are below 4: " +
			"send text (LangChain: check_embedding_ctx_length=False)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := inferencetest.Serve(t, serving.Config{}, inferencetest.Embed(1), withTokenizer(t, ""))
			_, err := inferencetest.Encode(t.Context(), s, &inference.EncodeRequest{Model: "m", Task: inference.TaskEmbed, Inputs: inference.EncodeInputs(tt.inputs)})
			switch e := inference.AsError(err); {
			case tt.message == "":
				if err != nil {
					t.Error(err)
				}
			case err == nil || e.Param != tt.param || e.Message != tt.message:
				t.Errorf("got %+v", err)
			}
		})
	}
}

// TestCountPrompt checks that the token count of a prompt includes the prefix that the engine adds,
// such as <s>.
func TestCountPrompt(t *testing.T) {
	for _, tt := range []struct {
		name   string
		spoil  func(*inference.Request)
		tokens int
		param  string
	}{
		{"a chat", func(*inference.Request) {}, 4, ""}, // <s> ab b a
		{"longer than the context", func(r *inference.Request) { r.Messages[0].Text = "aaaaaaaaa" }, 10, ""},
		{"an unknown model", func(r *inference.Request) { r.Model = "x" }, 0, "model"},
		{"wrong", func(r *inference.Request) { r.Sampling.TopP = new(2.0) }, 0, "top_p"},
		{"tools without a parser", func(r *inference.Request) {
			r.Tools = []json.RawMessage{json.RawMessage(`{"type":"function","function":{"name":"f"}}`)}
		}, 0, "tools"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, engine := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("x"), withTokenizer(t, "{{ messages[0].content }}"))
			req := inferencetest.ChatRequest(1)
			req.Messages[0].Text = "abba"
			tt.spoil(req)
			tokens, err := inferencetest.CountPrompt(t.Context(), s, req)
			if tokens != tt.tokens || (err == nil) != (tt.param == "") || err != nil && inference.AsError(err).Param != tt.param {
				t.Errorf("%d tokens, %v", tokens, err)
			}
			if len(engine.Requests()) != 0 {
				t.Error("the engine was asked")
			}
		})
	}
	s, _ := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("x"), map[string]string{"trident.chat_template": "x"})
	if _, err := inferencetest.CountPrompt(t.Context(), s, inferencetest.ChatRequest(1)); err == nil || !strings.Contains(err.Error(), "by the parameter trident.tokenizer") {
		t.Errorf("without a tokenizer: %v", err)
	}
}

// TestEngineIsAskedForPromptTokens checks that streams don't ask the engine for the number of the
// prompt's tokens after the tokenizer was proven, that the usage stays exact, and which requests
// always ask.
func TestEngineIsAskedForPromptTokens(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*inference.Request)
		engine uint32 // number of the prompt's tokens by the engine: <s> ab b a
		asks   int    // number of the 64 requests after the 16 of the proof that ask
	}{
		{"equal", nil, 4, 2},
		{"different", nil, 5, 64},
		{"without a stream", func(r *inference.Request) { r.Stream = false }, 4, 64},
		{"truncated by the engine", func(r *inference.Request) { r.Sampling.TruncatePromptTokens = new(4) }, 4, 64},
		{"several prompts", func(r *inference.Request) { r.Prompts = append(r.Prompts, r.Prompts[0]) }, 4, 128},
	} {
		t.Run(tt.name, func(t *testing.T) {
			script := func(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
				resp := inferencetest.Token("a", "stop")
				resp.Outputs = slices.DeleteFunc(resp.Outputs, func(o inference.Output) bool { return o.Name == "num_input_tokens" })
				if asksForPromptTokens(req) {
					resp.Outputs = append(resp.Outputs, inferencetest.Uint32("num_input_tokens", tt.engine))
				}
				send(resp)
				return nil
			}
			s, engine := inferencetest.Serve(t, serving.Config{}, script, withTokenizer(t, ""))
			prompts := 1
			for range 16 + 64 {
				req := &inference.Request{Model: "m", Task: inference.TaskGenerate, Stream: true, Prompts: []inference.Input{{Text: "abba"}}}
				req.Sampling.MaxTokens = new(2)
				if tt.change != nil {
					tt.change(req)
				}
				prompts = len(req.Prompts)
				a := inferencetest.Collect(t.Context(), s, req)
				if a.Err != nil || a.Usage == nil || a.Usage.PromptTokens != int(tt.engine)*prompts || a.Usage.CompletionTokens != prompts || a.Usage.Unknown {
					t.Fatalf("got %+v, %v", a.Usage, a.Err)
				}
			}
			asks := 0
			for i, req := range engine.Requests() {
				switch asked := asksForPromptTokens(req); {
				case i < 16*prompts && !asked:
					t.Fatalf("request %d doesn't ask, although nothing is proven", i)
				case i >= 16*prompts && asked:
					asks++
				}
			}
			if asks != tt.asks {
				t.Errorf("%d of the later requests ask, not %d", asks, tt.asks)
			}
		})
	}
}

// asksForPromptTokens reports whether a request asks for the number of the prompt's tokens.
func asksForPromptTokens(req *kserve.ModelInferRequest) bool {
	i := slices.IndexFunc(req.GetInputs(), func(in *kserve.ModelInferRequest_InferInputTensor) bool {
		return in.GetName() == "return_num_input_tokens"
	})
	return i >= 0 && req.GetRawInputContents()[i][0] == 1
}
