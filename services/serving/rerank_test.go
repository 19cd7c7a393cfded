package serving_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// judge returns a generative reranker: its logit of yes depends on the document, and that of no on the query.
func judge(t *testing.T) inferencetest.Scorer {
	t.Helper()
	model := scorer(t, inferencetest.Scorer{TokenIDs: true})
	ids := map[string]int{"<Document>": model.ID("yes"), "<Query>": model.ID("no")}
	model.ID = func(label string) int { return ids[label] }
	return model
}

// score scores pairs by the model m with the tokenizer of the demo model.
func score(t *testing.T, script inferencetest.Script, parameters map[string]string, req *inference.EncodeRequest, instruction string) (*inference.EncodeAnswer, *inferencetest.Engine, error) {
	t.Helper()
	settings := inferencetest.WithTemplate()
	settings["trident.tokenizer"] = chatTokenizer
	maps.Copy(settings, parameters)
	s, engine := inferencetest.Serve(t, serving.Config{}, script, settings)
	req.Model, req.Task, req.Param = "m", inference.TaskScore, func(i int) string { return fmt.Sprintf("documents[%d]", i) }
	model := s.Resolve("m")
	a, err := s.Score(t.Context(), &model, req, instruction)
	return a, engine, err
}

// TestScoreByGeneration checks the probabilities and the logits of a generative reranker, its chat and its usage.
func TestScoreByGeneration(t *testing.T) {
	const system = `[system]Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be "yes" or "no".`
	for _, tt := range []struct {
		name, instruction string
		raw               bool
		most              int // MaxSecond
		chat              string
	}{
		{"probabilities", "", false, 0, "<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n<Query>: q\n<Document>: one two"},
		{"logits", "", true, 0, "<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n<Query>: q\n<Document>: one two"},
		{"an instruction", "Find numbers", false, 9, "<Instruct>: Find numbers\n<Query>: q\n<Document>: one two"},
		{"a document that is cut", "", false, 1, "<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n<Query>: q\n<Document>: one"},
		{"a document of as many tokens", "", false, 2, "<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n<Query>: q\n<Document>: one two"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, engine, err := score(t, judge(t).Script(), nil, &inference.EncodeRequest{Inputs: pairs("q", "one two", "q", "x"), Raw: tt.raw, MaxSecond: tt.most}, tt.instruction)
			if err != nil {
				t.Fatal(err)
			}
			chats := map[string]bool{}
			for _, req := range engine.Requests() {
				chats[inferencetest.Input(req, "text_input")] = true
			}
			if want := system + "[user]" + tt.chat + "[assistant]"; !chats[want] || len(chats) != 2 {
				t.Errorf("the chats are %v\nwant %q", chats, want)
			}
			for i, document := range []string{tt.chat[strings.LastIndex(tt.chat, ": ")+2:], "x"} {
				want := inferencetest.Logit(document+"[assistant]") - inferencetest.Logit("q")
				if !tt.raw {
					want = 1 / (1 + math.Exp(-want))
				}
				if got := a.Results[i]; math.Abs(got.Score-want) > 1e-9 || got.PromptTokens != 7 {
					t.Errorf("document %d: got %+v, want %g", i, got, want)
				}
			}
			if a.Usage.PromptTokens != 14 || a.Usage.Unknown {
				t.Errorf("usage %+v", a.Usage)
			}
		})
	}
}

// chatML is a chat template of the form of Qwen3's, which ends a prompt without reasoning with an empty block of thoughts.
const chatML = `{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking is defined and enable_thinking is false %}<think>

</think>

{% endif %}{% endif %}`

// TestScorePrompt checks that the prompt is that of Qwen3-Reranker, to the last byte.
//
// Source: the prefix, the suffix and the instruction of https://huggingface.co/Qwen/Qwen3-Reranker-0.6B, which vLLM's example of
// that model has too.
func TestScorePrompt(t *testing.T) {
	const want = "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n" +
		"<|im_start|>user\n<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n<Query>: a query\n<Document>: a document<|im_end|>\n" +
		"<|im_start|>assistant\n<think>\n\n</think>\n\n"
	_, engine, err := score(t, judge(t).Script(), map[string]string{"trident.chat_template": chatML}, &inference.EncodeRequest{Inputs: pairs("a query", "a document")}, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := engine.Requests(); len(got) != 1 || inferencetest.Input(got[0], "text_input") != want {
		t.Errorf("%d requests, the first with %q\nwant %q", len(got), inferencetest.Input(got[0], "text_input"), want)
	}
}

// TestScoreShortens checks that a document is cut at the side of the request until the chat fits the context of a
// generative reranker, and that it is refused without a truncation.
func TestScoreShortens(t *testing.T) {
	document := "first " + strings.Repeat("word ", 200) + "last"
	req := func(side inference.TruncateSide) *inference.EncodeRequest {
		return &inference.EncodeRequest{Inputs: pairs("q", "x", "q", document), Truncate: side}
	}
	settings := map[string]string{"trident.context_length": "120"}
	tokenizer, err := inferencetest.Tokenizers().Load(chatTokenizer)
	if err != nil {
		t.Fatal(err)
	}
	for side, kept := range map[inference.TruncateSide]string{inference.TruncateRight: "<Document>: first word", inference.TruncateLeft: " word last[assistant]"} {
		a, engine, err := score(t, judge(t).Script(), settings, req(side), "")
		if err != nil || len(a.Results) != 2 {
			t.Fatalf("%v: got %+v, %v", side, a, err)
		}
		longest := ""
		for _, sent := range engine.Requests() {
			if prompt := inferencetest.Input(sent, "text_input"); len(prompt) > len(longest) {
				longest = prompt
			}
		}
		n, err := tokenizer.Count(t.Context(), longest, true, nil)
		if err != nil || n >= 120 || n < 110 || !strings.Contains(longest, kept) || strings.Contains(longest, "first") == strings.Contains(longest, "last") {
			t.Errorf("%v: %d tokens, %v: %q", side, n, err, longest)
		}
	}
	_, engine, err := score(t, judge(t).Script(), settings, req(inference.TruncateNever), "")
	if e := inference.AsError(err); err == nil || e.Reason != inference.ReasonContextLength || e.Param != "documents[1]" || !strings.HasPrefix(e.Message, "This model's maximum context length is 120 tokens, but documents[1] has ") || len(engine.Requests()) > 0 {
		t.Errorf("without a truncation: %v of %s", err, e.Param)
	}
}

// TestScoreByEncoders checks that models that don't generate return their own scores, or the cosines of their
// embeddings, and which of its two tasks a model of vLLM has.
func TestScoreByEncoders(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config *kserve.ModelConfig
		row    func([]int) []float32
		want   string
	}{
		{"a reranker", inferencetest.EncoderConfig("m", 8, "logits", 1), sum, "0.953; 0.5"},
		{"embeddings", inferencetest.EncoderConfig("m", 8, "last_hidden_state", -1, 2), perToken, "0.999; 1"},
	} {
		s, _ := serveEncoder(t, tt.config, tt.row)
		model := s.Resolve("m")
		req := &inference.EncodeRequest{Model: "m", Task: inference.TaskScore, Inputs: pairs("b", "ab", "a", "a"), Priority: new(1)}
		if a, err := s.Score(t.Context(), &model, req, ""); err != nil || showEncoded(a) != tt.want {
			t.Errorf("%s: got %+v, %v, want %s", tt.name, a, err, tt.want)
		}
		_, err := s.Score(t.Context(), &model, req, "Find letters")
		if e := inference.AsError(err); err == nil || e.Param != "instruction" || e.Message != "instruction is not supported by the model `m`: only models that generate text read it" {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	embeds := inferencetest.Embed(3, 4)
	for name, tt := range map[string]struct {
		parameters map[string]string
		want       float64
	}{
		"without a chat template":  {map[string]string{"trident.chat_template": ""}, 1},
		"with the task embed":      {map[string]string{"trident.task": "embed"}, 1},
		"with the chat of a judge": {nil, 1 / (1 + math.Exp(inferencetest.Logit("q")-inferencetest.Logit("x[assistant]")))},
	} {
		chat := judge(t).Script()
		a, _, err := score(t, func(ctx context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
			if inferencetest.Input(req, "embedding_request") != "" {
				return embeds(ctx, req, send)
			}
			return chat(ctx, req, send)
		}, tt.parameters, &inference.EncodeRequest{Inputs: pairs("q", "x")}, "")
		if err != nil || math.Abs(a.Results[0].Score-tt.want) > 1e-9 {
			t.Errorf("%s: got %+v, %v, want %g", name, a, err, tt.want)
		}
	}
}

// TestScoreRefused checks the errors of pairs that a generative model can't score.
func TestScoreRefused(t *testing.T) {
	fails := func(context.Context, *kserve.ModelInferRequest, func(*inference.Response) bool) error {
		return &inference.Error{Code: inference.CodeUnavailable, Message: "out of memory"}
	}
	many := pairs(strings.Split(strings.Repeat("q ", 2*(budget.Embedded+1)), " ")...)
	for _, tt := range []struct {
		name           string
		script         inferencetest.Script
		parameters     map[string]string
		req            inference.EncodeRequest
		param, message string
	}{
		{"too many pairs", fails, nil, inference.EncodeRequest{Inputs: many}, "documents[4096]", "documents[4096] exceeds the maximum of 4096 pairs for a model that generates text: send fewer"},
		{"no tokens for the answers", fails, encoderParameters(t, "chat_template", inferencetest.ChatTemplate), inference.EncodeRequest{Inputs: pairs("q", "x")}, "model", "scores are not supported by the model `m`: its vocabulary doesn't have each of yes, no as one token"},
		{"no tokenizer", fails, map[string]string{"trident.tokenizer": "none"}, inference.EncodeRequest{Inputs: pairs("q", "x"), MaxSecond: 1}, "model", "scores need the tokenizer of the model `m`"},
		{"reasoning", fails, map[string]string{"trident.reasoning_parser": "deepseek_r1", "trident.chat_template": inferencetest.ChatTemplate + "<think>\n"}, inference.EncodeRequest{Inputs: pairs("q", "x")}, "model", "scores are not supported by the model `m`: its chat template has no switch that turns reasoning off"},
		{"a document beyond the budget", fails, nil, inference.EncodeRequest{Inputs: pairs("q", "x", "q", strings.Repeat("ab", 9<<20)), MaxSecond: 1}, "documents[1]", "documents[1] has 18874368 bytes, but Trident tokenizes at most "},
		{"the model's own error", fails, nil, inference.EncodeRequest{Inputs: pairs("q", "x")}, "", "out of memory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, _, err := score(t, tt.script, tt.parameters, &tt.req, "")
			if e := inference.AsError(err); err == nil || a != nil || e.Param != tt.param || !strings.HasPrefix(e.Message, tt.message) {
				t.Errorf("got  %v of %s\nwant %s", err, e.Param, tt.message)
			}
		})
	}
}
