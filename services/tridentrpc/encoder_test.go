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

// yesToken and noToken are the ids of the labels in the tokenizer of the test.
const (
	yesToken = 10407
	noToken  = 4607
)

// encoderEngine returns an engine with a generative reranker, whose logit of yes depends on the document and that of no on
// the query.
func encoderEngine() *inferencetest.Engine {
	judge := inferencetest.Scorer{TokenIDs: true, Vocabulary: 49152, ID: func(label string) int {
		return map[string]int{"<Document>": yesToken, "<Query>": noToken}[label]
	}}
	engine := inferencetest.New()
	engine.AddModel("judge", judge.Script(), map[string]string{"trident.tokenizer": "../../models/chat/tokenizer", "trident.chat_template": inferencetest.ChatTemplate})
	engine.AddModel("vectors", inferencetest.Embed(3, 4), map[string]string{"trident.task": "embed"})
	return engine
}

// TestScores checks ranks and scores of the typed services in all protocols.
func TestScores(t *testing.T) {
	httpClient, address := serveAll(t, inferencetest.Service(t, serving.Config{}, encoderEngine()), auth.Config{})
	logit := func(document string) float64 {
		return inferencetest.Logit(document+"[assistant]") - inferencetest.Logit("q")
	}
	for name, opts := range protocols {
		t.Run(name, func(t *testing.T) {
			client := tridentv1connect.NewEncoderServiceClient(httpClient, address, opts...)
			documents := []string{"one", "two", "three"}
			ranked, err := client.Rerank(t.Context(), &tridentv1.RerankRequest{Model: "judge", Query: "q", Documents: documents, TopN: 2, ReturnDocuments: true})
			if err != nil || len(ranked.GetResults()) != 2 || ranked.GetModel() != "judge" || ranked.GetUsage().GetPromptTokens() != 21 {
				t.Fatalf("%v, %v", ranked, err)
			}
			best := slices.MaxFunc(documents, func(a, b string) int {
				if logit(a) < logit(b) {
					return -1
				}
				return 1
			})
			if first := ranked.GetResults()[0]; first.GetDocument() != best || documents[first.GetIndex()] != best || math.Abs(first.GetScore()-1/(1+math.Exp(-logit(best)))) > 1e-6 {
				t.Errorf("%v", ranked)
			}
			scores, err := client.Score(t.Context(), &tridentv1.ScoreRequest{Model: "judge", First: []string{"q"}, Second: documents, Raw: true})
			if err != nil || len(scores.GetScores()) != 3 {
				t.Fatalf("%v, %v", scores, err)
			}
			for i, score := range scores.GetScores() {
				if math.Abs(score-logit(documents[i])) > 1e-6 {
					t.Errorf("%s: %g, want %g", documents[i], score, logit(documents[i]))
				}
			}
		})
	}
}

// TestScoreErrors checks the fields that errors of the typed services name.
func TestScoreErrors(t *testing.T) {
	httpClient, address := serveAll(t, inferencetest.Service(t, serving.Config{}, encoderEngine()), auth.Config{})
	client := tridentv1connect.NewEncoderServiceClient(httpClient, address)
	text := []*tridentv1.TextInput{{Input: &tridentv1.TextInput_Text{Text: "x"}}}
	ask := map[string]func() error{
		"documents[1]": func() error {
			_, err := client.Rerank(t.Context(), &tridentv1.RerankRequest{Model: "judge", Query: "q", Documents: []string{"a", ""}})
			return err
		},
		"instruction": func() error {
			_, err := client.Rerank(t.Context(), &tridentv1.RerankRequest{Model: "vectors", Query: "q", Documents: []string{"a"}, Instruction: "i"})
			return err
		},
		"model": func() error {
			_, err := client.Classify(t.Context(), &tridentv1.ClassifyRequest{Model: "judge", Input: text})
			return err
		},
	}
	for param, call := range ask {
		if err := call(); connect.CodeOf(err) != connect.CodeInvalidArgument || detail(t, err).GetParam() != param {
			t.Errorf("%s: %v", param, err)
		}
	}
	_, err := client.Score(t.Context(), &tridentv1.ScoreRequest{Model: "judge", First: []string{"a", "b"}, Second: []string{"c"}})
	if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "second must have as many texts as first, unless first has one") {
		t.Error(err)
	}
	if _, err := client.EmbedTokens(t.Context(), &tridentv1.EmbedTokensRequest{Model: "vectors", Input: text}); !strings.Contains(err.Error(), "doesn't support embeddings of tokens") {
		t.Error(err)
	}
	if _, err := client.EmbedSparse(t.Context(), &tridentv1.EmbedSparseRequest{Model: "vectors", Input: text}); !strings.Contains(err.Error(), "doesn't support sparse vectors") {
		t.Error(err)
	}
}

// TestEmbedForms checks the types of components, and vectors as the model returns them.
func TestEmbedForms(t *testing.T) {
	httpClient, address := serveAll(t, inferencetest.Service(t, serving.Config{}, encoderEngine()), auth.Config{})
	client := tridentv1connect.NewEmbeddingServiceClient(httpClient, address)
	text := []*tridentv1.TextInput{{Input: &tridentv1.TextInput_Text{Text: "x"}}}
	for kind, want := range map[tridentv1.VectorType][]byte{
		tridentv1.VectorType_VECTOR_TYPE_INT8: {95, 127}, tridentv1.VectorType_VECTOR_TYPE_UINT8: {223, 255},
		tridentv1.VectorType_VECTOR_TYPE_BINARY: {64}, tridentv1.VectorType_VECTOR_TYPE_UBINARY: {192},
	} {
		answer, err := client.Embed(t.Context(), &tridentv1.EmbedRequest{Model: "vectors", Input: text, VectorType: kind})
		if err != nil || !slices.Equal(answer.GetEmbeddings()[0].GetQuantized(), want) || answer.GetEmbeddings()[0].GetValues() != nil {
			t.Errorf("%s: %v, %v", kind, answer, err)
		}
	}
	answer, err := client.Embed(t.Context(), &tridentv1.EmbedRequest{Model: "vectors", Input: text, Normalize: new(false), InputType: "query"})
	if err != nil || !slices.Equal(answer.GetEmbeddings()[0].GetValues(), []float32{3, 4}) {
		t.Errorf("%v, %v", answer, err)
	}
	for _, req := range []*tridentv1.EmbedRequest{
		{Model: "vectors", Input: text, InputType: "clustering"},
		{Model: "vectors", Input: text, Truncation: &tridentv1.Truncation{Side: tridentv1.TruncationSide_TRUNCATION_SIDE_RIGHT, MaxTokens: 4}},
	} {
		if _, err := client.Embed(t.Context(), req); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%v: %v", req, err)
		}
	}
}
