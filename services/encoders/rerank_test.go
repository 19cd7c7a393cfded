package encoders

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
)

// ranks is a response of each of the APIs.
type ranks struct {
	ID      string
	Object  string
	Model   string
	Results []struct {
		Index    int
		Score    float64 `json:"relevance_score"`
		Document any
	}
	Usage *struct{ Prompt, Total int }
	Meta  struct {
		Version struct{ Version string } `json:"api_version"`
		Billed  struct {
			Units int `json:"search_units"`
		} `json:"billed_units"`
		Tokens *struct {
			Input int `json:"input_tokens"`
		}
	}
}

// sigmoid is the probability of yes if its logit is that much higher than that of no.
func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// wantRanks checks that documents are in the order of their scores.
func wantRanks(t *testing.T, got *ranks, documents []string, most int, score func(string) float64) {
	t.Helper()
	if len(got.Results) != most {
		t.Fatalf("%d results, want %d", len(got.Results), most)
	}
	left := map[string]bool{}
	for _, d := range documents {
		left[d] = true
	}
	last := math.Inf(1)
	for _, r := range got.Results {
		want := score(documents[r.Index])
		if !near(r.Score, want) || r.Score > last {
			t.Errorf("%q has the score %g after %g, want %g", documents[r.Index], r.Score, last, want)
		}
		last = r.Score
		delete(left, documents[r.Index])
	}
	for d := range left {
		if score(d) > last {
			t.Errorf("%q is missing", d)
		}
	}
}

// TestGenerativeRerank checks the ranks of a model that answers yes or no, in all forms: probabilities over the two
// labels, and the difference of their logits for raw scores.
func TestGenerativeRerank(t *testing.T) {
	f := serve(t, Config{})
	documents := []string{"Paris is a city.", "cheese", "Berlin is a city.", "the capital of France"}
	const list = `["Paris is a city.",{"text":"cheese"},"Berlin is a city.","the capital of France"]`
	probability := func(d string) float64 { return sigmoid(judged("France?", d)) }
	var got ranks
	for _, path := range []string{"/v1/rerank", "/rerank"} {
		got = ranks{}
		f.ask(t, path, `{"model":"judge","query":"France?","documents":`+list+`}`, "RerankResponse", &got)
		wantRanks(t, &got, documents, 4, probability)
		first := got.Results[0].Document.(map[string]any)
		if got.Model != "judge" || got.Object != "list" || first["text"] != documents[got.Results[0].Index] {
			t.Errorf("%+v", got)
		}
	}
	got = ranks{}
	f.ask(t, "/v1/rerank", `{"model":"judge","query":"France?","top_n":2,"return_documents":false,"use_activation":false,"documents":`+list+`}`, "RerankResponse", &got)
	wantRanks(t, &got, documents, 2, func(d string) float64 { return judged("France?", d) })
	if got.Results[0].Document != nil {
		t.Errorf("%+v", got)
	}
	got = ranks{}
	f.ask(t, "/v2/rerank", `{"model":"judge","query":"France?","top_n":3,"documents":`+list+`}`, "CohereRerankResponse", &got)
	wantRanks(t, &got, documents, 3, probability)
	if got.Meta.Version.Version != "2" || got.Meta.Billed.Units != 1 || got.Meta.Tokens.Input != 4*7 || got.Results[0].Document != nil {
		t.Errorf("%+v %+v", got, got.Meta.Tokens)
	}
	got = ranks{}
	f.ask(t, "/infinity/rerank", `{"model":"judge","query":"France?","return_documents":true,"documents":["a","b"]}`, "InfinityRerankResponse", &got)
	wantRanks(t, &got, []string{"a", "b"}, 2, probability)
	if got.Object != "rerank" || got.Results[1].Document != []string{"a", "b"}[got.Results[1].Index] {
		t.Errorf("%+v", got)
	}
}

// TestGenerativePrompt checks the chat that a generative model gets, with the client's instruction.
func TestGenerativePrompt(t *testing.T) {
	f := serve(t, Config{})
	f.ask(t, "/v1/score", `{"model":"judge","text_1":"q","text_2":["d","e"],"instruction":"Find cheese"}`, "ScoreResponse", nil)
	requests := f.engine.Requests()
	if len(requests) != 2 {
		t.Fatalf("%d requests", len(requests))
	}
	want := map[string]bool{"d": false, "e": false}
	for _, req := range requests {
		prompt := inferencetest.Input(req, "text_input")
		for document := range want {
			want[document] = want[document] || strings.HasSuffix(prompt, "[user]<Instruct>: Find cheese\n<Query>: q\n<Document>: "+document+"[assistant]")
		}
		if !strings.HasPrefix(prompt, "[system]Judge whether the Document meets") {
			t.Errorf("%q", prompt)
		}
	}
	if !want["d"] || !want["e"] {
		t.Errorf("the prompts lack a document: %v", want)
	}
}

// TestGenerativeTruncation checks that documents of a generative model are cut to the tokens that the client asked for,
// or to the model's context, from either side. A document that doesn't fit is named by its index otherwise.
func TestGenerativeTruncation(t *testing.T) {
	engine := inferencetest.New()
	settings := judgeSettings()
	settings["trident.context_length"] = "120"
	engine.AddModel("judge", judge().Script(), settings)
	f := serveOn(t, Config{}, engine)
	long := strings.TrimSpace(strings.Repeat("one two ", 100))
	got := f.post(t, "/v1/rerank", fmt.Sprintf(`{"query":"q","documents":["short",%q]}`, long))
	if want := `"param":"documents[1]"`; got.Code != 400 || !strings.Contains(got.Body.String(), want) || !strings.Contains(got.Body.String(), "context_length_exceeded") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if len(engine.Requests()) != 0 {
		t.Error("a refused request reached the model")
	}
	for _, tt := range []struct{ fields, document string }{
		{`"max_tokens_per_doc":4`, "one two one two"},
		{`"truncate":true,"max_tokens_per_doc":5`, "one two one two one"},
	} {
		f.ask(t, "/v1/rerank", fmt.Sprintf(`{"query":"q","documents":[%q],%s}`, long, tt.fields), "RerankResponse", nil)
		all := engine.Requests()
		if prompt := inferencetest.Input(all[len(all)-1], "text_input"); !strings.HasSuffix(prompt, "<Document>: "+tt.document+"[assistant]") {
			t.Errorf("%s: %q", tt.fields, prompt)
		}
	}
	for side, wanted := range map[string]string{"left": "one two[assistant]", "right": "<Document>: one two one"} {
		f.ask(t, "/v1/rerank", fmt.Sprintf(`{"query":"q","documents":[%q],"truncate_prompt_tokens":-1,"truncation_side":%q}`, long, side), "RerankResponse", nil)
		all := engine.Requests()
		prompt := inferencetest.Input(all[len(all)-1], "text_input")
		if !strings.Contains(prompt, wanted) || strings.Contains(prompt, long) {
			t.Errorf("%s: %q", side, prompt)
		}
	}
}

// TestGenerativeLabels checks that a model without a label is refused with the setting that helps, and that no score is
// made up.
func TestGenerativeLabels(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("raw", inferencetest.Scorer{Vocabulary: vocabulary, Others: 25, ID: judge().ID}.Script(), judgeSettings())
	bytes := judgeSettings()
	bytes["trident.tokenizer"] = "../../test/models-contract/vllm/tokenizer"
	engine.AddModel("bytes", judge().Script(), bytes)
	without := judgeSettings()
	delete(without, "trident.tokenizer")
	engine.AddModel("without", judge().Script(), without)
	f := serveOn(t, Config{}, engine)
	for model, want := range map[string]string{
		"raw":     "documents[0]: the engine of the model `raw` returned no log probability of 1 of the 2 answers. They aren't among the 20 likeliest tokens: set logprobs_mode of the engine to processed_logprobs, or raise its max_logprobs",
		"bytes":   "scores are not supported by the model `bytes`: its vocabulary doesn't have each of yes, no as one token",
		"without": "scores need the tokenizer of the model `without`: set it",
	} {
		got := f.post(t, "/v1/rerank", fmt.Sprintf(`{"model":%q,"query":"q","documents":["d"]}`, model))
		if got.Code != 400 || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: %d %s", model, got.Code, got.Body)
		}
	}
}

// TestScore checks the scores of pairs, in the order of the pairs, by each of the names of their sides.
func TestScore(t *testing.T) {
	f := serve(t, Config{})
	for _, tt := range []struct {
		fields string
		pairs  [][2]string
	}{
		{`"text_1":"q","text_2":"d"`, [][2]string{{"q", "d"}}},
		{`"text_1":"q","text_2":["d","e"]`, [][2]string{{"q", "d"}, {"q", "e"}}},
		{`"queries":["q","r"],"documents":["d","e"]`, [][2]string{{"q", "d"}, {"r", "e"}}},
		{`"data_1":["q"],"data_2":["d","e","f"]`, [][2]string{{"q", "d"}, {"q", "e"}, {"q", "f"}}},
	} {
		var got struct {
			Data []struct {
				Index int
				Score float64
			}
		}
		for _, path := range []string{"/v1/score", "/score"} {
			f.ask(t, path, `{"model":"judge",`+tt.fields+`}`, "ScoreResponse", &got)
			if len(got.Data) != len(tt.pairs) {
				t.Fatalf("%s: %+v", tt.fields, got)
			}
			for i, pair := range tt.pairs {
				if got.Data[i].Index != i || !near(got.Data[i].Score, sigmoid(judged(pair[0], pair[1]))) {
					t.Errorf("%s: %+v", tt.fields, got.Data[i])
				}
			}
		}
	}
}
