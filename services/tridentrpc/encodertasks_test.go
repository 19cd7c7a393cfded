package tridentrpc_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// taskEngine returns an engine with a cross-encoder, a classifier, a model of vectors of tokens and a sparse model, whose
// results depend on the numbers of tokens.
func taskEngine() *inferencetest.Engine {
	engine := inferencetest.New()
	settings := func(more ...string) map[string]string {
		all := map[string]string{"trident.tokenizer": "../../models/chat/tokenizer", "trident.context_length": "16"}
		for i := 0; i < len(more); i += 2 {
			all["trident."+more[i]] = more[i+1]
		}
		return all
	}
	engine.AddEncoder(inferencetest.EncoderConfig("cross", 8, "logits", 1), settings("task", "score"), func(ids []int) []float32 { return []float32{float32(len(ids))} })
	engine.AddEncoder(inferencetest.EncoderConfig("classes", 8, "logits", 3), settings("labels", "toxic, insult, safe"), func(ids []int) []float32 { return []float32{float32(len(ids)), 0, 2} })
	engine.AddEncoder(inferencetest.EncoderConfig("tokens", 8, "last_hidden_state", -1, 2), settings("normalize", "false", "prompts", `{"query":"one two ","other":"one "}`), func(ids []int) []float32 {
		var values []float32
		for i := range ids {
			values = append(values, 1, float32(i))
		}
		return values
	})
	engine.AddEncoder(inferencetest.EncoderConfig("sparse", 8, "sparse_weights", -1), settings(), func(ids []int) []float32 {
		values := make([]float32, len(ids))
		for i := range values {
			values[i] = float32(i+1) / 2
		}
		return values
	})
	return engine
}

func taskClient(t *testing.T, opts ...connect.ClientOption) tridentv1connect.EncoderServiceClient {
	t.Helper()
	httpClient, address := serveAll(t, inferencetest.Service(t, serving.Config{}, taskEngine()), auth.Config{})
	return tridentv1connect.NewEncoderServiceClient(httpClient, address, opts...)
}

// TestTasksOfEncoders checks the tasks of models that score, classify and embed.
func TestTasksOfEncoders(t *testing.T) {
	httpClient, address := serveAll(t, inferencetest.Service(t, serving.Config{}, taskEngine()), auth.Config{})
	client := tridentv1connect.NewModelServiceClient(httpClient, address)
	const infer = tridentv1.ModelTask_MODEL_TASK_INFER
	for name, want := range map[string][]tridentv1.ModelTask{
		"cross":   {tridentv1.ModelTask_MODEL_TASK_SCORE, infer},
		"classes": {tridentv1.ModelTask_MODEL_TASK_CLASSIFY, infer},
		"tokens":  {tridentv1.ModelTask_MODEL_TASK_EMBED, infer},
	} {
		got, err := client.Get(t.Context(), &tridentv1.ModelServiceGetRequest{Model: name})
		if err != nil || !slices.Equal(got.GetModel().GetTasks(), want) {
			t.Errorf("%s has the tasks %v, %v, want %v", name, got.GetModel().GetTasks(), err, want)
		}
	}
}

func textInput(text string) *tridentv1.TextInput {
	return &tridentv1.TextInput{Input: &tridentv1.TextInput_Text{Text: text}}
}

func idInput(ids ...uint32) *tridentv1.TextInput {
	return &tridentv1.TextInput{Input: &tridentv1.TextInput_TokenIds{TokenIds: &tridentv1.TokenIds{Ids: ids}}}
}

// TestEncoderTasks checks classes, vectors of tokens and sparse vectors of texts and token ids in all protocols.
func TestEncoderTasks(t *testing.T) {
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }
	for name, opts := range protocols {
		t.Run(name, func(t *testing.T) {
			client := taskClient(t, opts...)
			classes, err := client.Classify(t.Context(), &tridentv1.ClassifyRequest{Model: "classes", Input: []*tridentv1.TextInput{textInput("one"), idInput(yesToken, noToken, yesToken)}})
			if err != nil || classes.GetModel() != "classes" || !slices.Equal(classes.GetLabels(), []string{"toxic", "insult", "safe"}) || len(classes.GetResults()) != 2 || classes.GetUsage().GetPromptTokens() != 4 {
				t.Fatalf("%v, %v", classes, err)
			}
			for i, want := range []struct {
				label  uint32
				logits []float64
			}{{2, []float64{1, 0, 2}}, {0, []float64{3, 0, 2}}} {
				sum := 0.0
				for _, logit := range want.logits {
					sum += math.Exp(logit)
				}
				result := classes.GetResults()[i]
				for c, p := range result.GetProbabilities() {
					if !near(p, math.Exp(want.logits[c])/sum) {
						t.Errorf("class %d: %v", c, result)
					}
				}
				if result.GetIndex() != uint32(i) || result.GetLabel() != want.label || len(result.GetProbabilities()) != 3 {
					t.Errorf("%v", result)
				}
			}
			raw, err := client.Classify(t.Context(), &tridentv1.ClassifyRequest{Model: "classes", Raw: true, Input: []*tridentv1.TextInput{textInput("one")}})
			if err != nil || !slices.Equal(raw.GetResults()[0].GetProbabilities(), []float64{1, 0, 2}) {
				t.Errorf("%v, %v", raw, err)
			}
			tokens, err := client.EmbedTokens(t.Context(), &tridentv1.EmbedTokensRequest{Model: "tokens", Input: []*tridentv1.TextInput{textInput("one two"), idInput(yesToken)}})
			if err != nil || tokens.GetModel() != "tokens" || len(tokens.GetResults()) != 2 || tokens.GetUsage().GetPromptTokens() != 3 {
				t.Fatalf("%v, %v", tokens, err)
			}
			for i, want := range [][]float32{{1, 0, 1, 1}, {1, 0}} {
				if got := tokens.GetResults()[i]; got.GetIndex() != uint32(i) || got.GetDimensions() != 2 || !slices.Equal(got.GetValues(), want) {
					t.Errorf("%v, want %v", got, want)
				}
			}
			sparse, err := client.EmbedSparse(t.Context(), &tridentv1.EmbedSparseRequest{Model: "sparse", Input: []*tridentv1.TextInput{textInput("one two"), idInput(noToken, yesToken)}})
			if err != nil || sparse.GetModel() != "sparse" || len(sparse.GetResults()) != 2 || sparse.GetUsage().GetPromptTokens() != 4 {
				t.Fatalf("%v, %v", sparse, err)
			}
			if got := sparse.GetResults()[1]; got.GetIndex() != 1 || !slices.Equal(got.GetTokenIds(), []uint32{noToken, yesToken}) || !slices.Equal(got.GetWeights(), []float32{1 / 2.0, 1}) {
				t.Errorf("%v", got)
			}
		})
	}
}

// TestEncoderPairs checks that each first text is scored with the second one at its index.
func TestEncoderPairs(t *testing.T) {
	client := taskClient(t)
	scores, err := client.Score(t.Context(), &tridentv1.ScoreRequest{Model: "cross", Raw: true, First: []string{"one", "one two three"}, Second: []string{"one two", "one"}})
	if err != nil || !slices.Equal(scores.GetScores(), []float64{3, 4}) {
		t.Errorf("%v, %v", scores, err)
	}
	if _, err := client.Score(t.Context(), &tridentv1.ScoreRequest{Model: "tokens", First: []string{"a"}, Second: []string{"b"}, Raw: true, Instruction: "i"}); err == nil || detail(t, err).GetParam() != "instruction" {
		t.Error(err)
	}
}

// TestEncoderTruncation checks that texts are cut on the side that the client asks for, and are refused without one.
func TestEncoderTruncation(t *testing.T) {
	client := taskClient(t)
	ask := func(truncation *tridentv1.Truncation) (*tridentv1.EmbedSparseResponse, error) {
		return client.EmbedSparse(t.Context(), &tridentv1.EmbedSparseRequest{Model: "sparse", Truncation: truncation, Input: []*tridentv1.TextInput{textInput("yes" + strings.Repeat(" one", 20))}})
	}
	if _, err := ask(nil); connect.CodeOf(err) != connect.CodeInvalidArgument || detail(t, err).GetParam() != "input[0]" || !strings.Contains(err.Error(), "maximum context length is 16 tokens, but input[0] has 21 tokens") {
		t.Error(err)
	}
	for side, keepsStart := range map[tridentv1.TruncationSide]bool{tridentv1.TruncationSide_TRUNCATION_SIDE_RIGHT: true, tridentv1.TruncationSide_TRUNCATION_SIDE_LEFT: false} {
		got, err := ask(&tridentv1.Truncation{Side: side, MaxTokens: 4})
		if err != nil || got.GetUsage().GetPromptTokens() != 4 || slices.Contains(got.GetResults()[0].GetTokenIds(), yesToken) != keepsStart {
			t.Errorf("%s: %v, %v", side, got, err)
		}
	}
}

// TestEncoderPrompts checks that an input type selects a prompt of the model, by its purpose or its name.
func TestEncoderPrompts(t *testing.T) {
	client := taskClient(t)
	for kind, want := range map[string]uint32{"": 1, "query": 3, "other": 2} {
		got, err := client.EmbedTokens(t.Context(), &tridentv1.EmbedTokensRequest{Model: "tokens", InputType: kind, Input: []*tridentv1.TextInput{textInput("two")}})
		if err != nil || got.GetUsage().GetPromptTokens() != want {
			t.Errorf("%q: %v, %v", kind, got, err)
		}
	}
	_, err := client.EmbedTokens(t.Context(), &tridentv1.EmbedTokensRequest{Model: "tokens", InputType: "clustering", Input: []*tridentv1.TextInput{textInput("two")}})
	if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), `has no prompt "clustering", but: other, query`) {
		t.Error(err)
	}
	if param := detail(t, err).GetParam(); param != "input_type" {
		t.Errorf("the error names %q", param)
	}
}
