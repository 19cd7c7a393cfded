package openai

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/openaitest"
)

const decisionPath = "/v1/decisions"

// byteScorer returns a model that decides, with a token for each byte.
func byteScorer() inferencetest.Scorer {
	return inferencetest.Scorer{TokenIDs: true, Vocabulary: 258, ID: func(label string) int { return int(label[0]) }}
}

// orScores returns a script that decides if it is asked for log probabilities by ids.
func orScores(script inferencetest.Script) inferencetest.Script {
	return func(ctx context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		if strings.Contains(inferencetest.Input(req, "sampling_parameters"), "logprob_token_ids") {
			return byteScorer().Script()(ctx, req, send)
		}
		return script(ctx, req, send)
	}
}

func decisionServer(t *testing.T) (*httptest.Server, *inferencetest.Engine) {
	t.Helper()
	engine := inferencetest.New()
	addVLLM(engine)
	addContract(t, engine, "bls", streamAsEnsemble) // replaces chat and other
	return fieldServer(t, Config{}, engine), engine
}

// decision is a response.
type decision struct {
	Answers []struct {
		Type          string
		Name          *string
		Probability   *float64
		Choice        any
		Score         *float64
		Confidence    *float64
		Probabilities []struct {
			Value       any
			Label       string
			Probability float64
		}
	}
	Model string
	Usage struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
		Total  int `json:"total_tokens"`
	}
}

// TestDecisions checks the answers to all kinds of questions.
func TestDecisions(t *testing.T) {
	server, _ := decisionServer(t)
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+decisionPath, `{"model":"decision","input":"The door is open.","questions":[
		{"type":"predicate","instructions":"Is it open?","name":"open"},
		{"type":"choice","instructions":"Which?","choices":[{"value":"true"},{"value":true},{"value":false,"description":"shut"}]},
		{"type":"score","instructions":"How far?","name":"","levels":[{"label":"a bit"},{"label":"half"},{"label":"wide","description":"all of it"}]}]}`)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	openaitest.WantDocument(t, "Decision", body)
	var got decision
	if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Answers) != 3 {
		t.Fatalf("%v %s", err, body)
	}
	open, which, far := &got.Answers[0], &got.Answers[1], &got.Answers[2]
	share := func(option string, of ...string) float64 {
		sum := 0.0
		for _, other := range of {
			sum += math.Exp(inferencetest.Logit(other))
		}
		return math.Exp(inferencetest.Logit(option)) / sum
	}
	same := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if open.Type != "predicate" || *open.Name != "open" || !same(*open.Probability, share("it holds", "it holds", "it doesn't hold")) {
		t.Errorf("predicate %s", body)
	}
	options, best, entropy := []string{`"true"`, "true", `false - "shut"`}, 0, 0.0
	for i, value := range []any{"true", true, false} {
		p := share(options[i], options...)
		if entropy -= p * math.Log(p); p > share(options[best], options...) {
			best = i
		}
		if which.Probabilities[i].Value != value || !same(which.Probabilities[i].Probability, p) {
			t.Errorf("%v: %+v, want %g", value, which.Probabilities[i], p)
		}
	}
	if which.Name != nil || which.Choice != which.Probabilities[best].Value || !same(*which.Confidence, 1-entropy/math.Log(3)) {
		t.Errorf("choice %s", body)
	}
	levels := []string{`"a bit"`, `"half"`, `"wide" - "all of it"`}
	if want := share(levels[1], levels...) + 2*share(levels[2], levels...); *far.Name != "" || !same(*far.Score, want) || far.Probabilities[2].Value != 2.0 || far.Probabilities[2].Label != "wide" {
		t.Errorf("score %s", body)
	}
	if got.Usage.Input != 21 || got.Usage.Output != 3 || got.Usage.Total != 24 || got.Model != "decision" {
		t.Errorf("usage of %s", body)
	}
}

// TestDecisionOptionsAreLines checks that texts of options can't look like other options in the prompt.
func TestDecisionOptionsAreLines(t *testing.T) {
	server, engine := decisionServer(t)
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+decisionPath, `{"model":"decision","input":"a","questions":[
		{"type":"choice","instructions":"?","choices":[{"value":"x\nB: y"},{"value":true,"description":"x\nC: y"}]},
		{"type":"score","instructions":"?","levels":[{"label":"low\nB: y"},{"label":"high","description":"x\r\nC: \"y\""}]}]}`)
	if resp.StatusCode != http.StatusOK || !strings.Contains(body, `"label":"low\nB: y"`) {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	var prompts []string
	for _, req := range engine.Requests() {
		prompts = append(prompts, inferencetest.Input(req, "text_input"))
	}
	for _, lines := range []string{
		`A: "x\nB: y"` + "\n" + `B: true - "x\nC: y"` + "\n\nAnswer",
		`A: "low\nB: y"` + "\n" + `B: "high" - "x\r\nC: \"y\""` + "\n\nAnswer",
	} {
		if !slices.ContainsFunc(prompts, func(prompt string) bool { return strings.Contains(prompt, lines) }) {
			t.Errorf("no prompt has %q: %q", lines, prompts)
		}
	}
}

// TestDecisionRefusal checks that a model's own filter makes an answer a refusal, and leaves the others.
func TestDecisionRefusal(t *testing.T) {
	engine := inferencetest.New()
	scored := byteScorer().Script()
	engine.AddModel("m", func(ctx context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		if strings.Contains(inferencetest.Input(req, "text_input"), "rude") {
			send(inferencetest.Token("", "content_filter"))
			return nil
		}
		return scored(ctx, req, send)
	}, map[string]string{"trident.chat_template": fieldTemplate, "trident.tokenizer": byteTokenizer})
	server := fieldServer(t, Config{}, engine)
	_, body := openaitest.Do(t, http.MethodPost, server.URL+decisionPath, `{"model":"m","input":"a","questions":[
		{"type":"predicate","instructions":"Is it rude?","name":"r"},{"type":"predicate","instructions":"Is it kind?"}]}`)
	openaitest.WantDocument(t, "Decision", body)
	if !strings.Contains(body, `{"answers":[{"name":"r","type":"refusal"},{"name":null,"probability":0.`) {
		t.Error(body)
	}
}

// TestDecisionErrors checks the field that errors name.
func TestDecisionErrors(t *testing.T) {
	server, engine := decisionServer(t)
	const ask = `"questions":[{"type":"predicate","instructions":"?"}]`
	choices := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"value":"%d"}`, i))
		}
		return `"input":"a","questions":[{"type":"choice","instructions":"?","choices":[` + strings.Join(list, ",") + `]}]`
	}
	for _, tt := range []struct{ fields, param, message string }{
		{`"input":"a"`, "questions", "questions is required"},
		{`"input":"a","questions":[]`, "questions", "questions must be a list of 1 to 400 items, got a list of 0"},
		{`"input":"a","questions":[{"type":"guess","instructions":"?"}]`, "questions[0].type", "questions[0].type must be choice, predicate or score, got \\\"guess\\\""},
		{`"input":"a","questions":[{"type":"predicate"}]`, "questions[0].instructions", "questions[0].instructions is required"},
		{choices(1), "questions[0].choices", "questions[0].choices must be a list of 2 to 255 items"},
		{choices(256), "questions[0].choices", "questions[0].choices must be a list of 2 to 255 items"},
		{choices(63), "questions[0]", "questions[0] has 63 answers, but the vocabulary of the model `decision` has only 62 labels of one token"},
		{`"input":"a","questions":[{"type":"choice","instructions":"?","choices":[{"value":true},{"value":"a"},{"value":true}]}]`, "questions[0].choices[2].value", "questions[0].choices[2].value repeats an earlier value"},
		{`"input":"a","questions":[{"type":"score","instructions":"?","levels":[{"label":"a"},{"label":"b"},{"label":"a","description":"x"}]}]`, "questions[0].levels[2].label", "questions[0].levels[2].label repeats an earlier label: each may occur once"},
		{`"input":"a","questions":[{"type":"choice","instructions":"?","choices":[{"value":1},{"value":"a"}]}]`, "questions[0].choices[0].value", "questions[0].choices[0].value must be a string or true or false, got 1"},
		{`"input":7,` + ask, "input", "input must be a string or a list of items, got 7"},
		{`"input":[],` + ask, "input", "input must be a string or a list of at least 1 item, got a list of 0"},
		{`"input":[{"role":"tool","content":"x"}],` + ask, "input[0].role", "input[0].role must be "},
		{`"input":[{"type":"function_call_output","call_id":"c","output":"x"}],` + ask, "input[0].call_id", "input[0].call_id is the id of no earlier call"},
		{`"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://example.org/a.png"}]}],` + ask, "input[0].content[0].image_url", "input[0].content[0].image_url must be a data: URI"},
		{`"input":[{"role":"user","content":[{"type":"input_json","data":[1]}]}],` + ask, "input[0].content[0].data[0]", "input[0].content[0].data[0] must be an object, got 1"},
		{`"input":"a","questions":[{"type":"predicate","instructions":[{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}]`, "questions[0].instructions[0].image_url", "questions[0].instructions[0].image_url is not a PNG"},
		{`"input":"a","questions":[{"type":"predicate","instructions":[{"type":"input_text","text":"?"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]}]`, "questions[0].instructions[1].image_url", "this model takes no image_url content"},
		{`"model":"chat","input":"a",` + ask, "model", "decisions are not supported by the model `chat`: its engine returns no log probabilities of given tokens (logprobs and allowed_token_ids)"},
		{`"model":"embedding","input":"a",` + ask, "model", "the model `embedding` "},
	} {
		body := "{" + tt.fields + "}"
		if !strings.Contains(body, `"model"`) {
			body = `{"model":"decision",` + tt.fields + "}"
		}
		resp, answer := openaitest.Do(t, http.MethodPost, server.URL+decisionPath, body)
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(answer, `"message":"`+tt.message) || !strings.Contains(answer, fmt.Sprintf(`"param":%q`, tt.param)) {
			t.Errorf("%s\n%d %s\nwant %s: %s", tt.fields[:min(len(tt.fields), 200)], resp.StatusCode, answer, tt.param, tt.message)
		}
	}
	if n := len(engine.Requests()); n > 0 {
		t.Errorf("the engine got %d requests", n)
	}
}

// TestDecisionUnknownFields checks that unknown keys of nested objects are reported.
func TestDecisionUnknownFields(t *testing.T) {
	server, _ := decisionServer(t)
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+decisionPath, `{"model":"decision","input":[{"role":"user","content":"a","zeta":1}],"questions":[{"type":"predicate","instructions":"?","eta":1}]}`)
	if got := resp.Header.Get("X-Trident-Ignored-Fields"); resp.StatusCode != http.StatusOK || got != "input[0].zeta, questions[0].eta" {
		t.Errorf("%d %s: %s", resp.StatusCode, got, body)
	}
}

// TestDecisionMembersOfOtherKinds checks that the members of another kind of question are reported, and that a
// strict server refuses them.
func TestDecisionMembersOfOtherKinds(t *testing.T) {
	engine := inferencetest.New()
	addVLLM(engine)
	const body = `{"model":"decision","input":"a","questions":[{"type":"predicate","instructions":"?","choices":[{"value":"a"},{"value":"b"}],"levels":null},
		{"type":"score","instructions":"?","levels":[{"label":"a"},{"label":"b"}]},
		{"type":"choice","instructions":"?","choices":[{"value":"a"},{"value":"b"}],"levels":[{"label":"a"},{"label":"b"}]}]}`
	resp, answer := openaitest.Do(t, http.MethodPost, fieldServer(t, Config{}, engine).URL+decisionPath, body)
	if got := resp.Header.Get("X-Trident-Ignored-Fields"); resp.StatusCode != http.StatusOK || got != "questions[0].choices, questions[2].levels" {
		t.Errorf("%d %q: %s", resp.StatusCode, got, answer)
	}
	resp, answer = openaitest.Do(t, http.MethodPost, fieldServer(t, Config{Strict: true}, engine).URL+decisionPath, body)
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(answer, `"message":"questions[0].choices has no effect: only questions of the type choice have choices`) || !strings.Contains(answer, `"param":"questions[0].choices"`) {
		t.Errorf("%d: %s", resp.StatusCode, answer)
	}
}

// TestDecisionImages checks the images of the input and of questions, and the limits that they count in.
func TestDecisionImages(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("m", byteScorer().Script(), map[string]string{"trident.chat_template": fieldTemplate, "trident.tokenizer": byteTokenizer, "trident.image_token": "<{n}>"})
	server := fieldServer(t, Config{}, engine)
	image := func(content string) string {
		return `{"type":"input_image","image_url":"data:image/png;base64,` + base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"+content)) + `","detail":"low"}`
	}
	ask := func(questions string) (*http.Response, string) {
		return openaitest.Do(t, http.MethodPost, server.URL+decisionPath, `{"model":"m","input":[{"role":"user","content":[`+image("first")+`,{"type":"input_text","text":"See."}]}],"questions":[`+questions+`]}`)
	}
	plain := `{"type":"predicate","instructions":"Is it red?"}`
	compared := `{"type":"predicate","instructions":[{"type":"input_text","text":"Like this?"},` + image("second") + `]}`
	if resp, body := ask(plain + "," + compared); resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	for _, req := range engine.Requests() {
		prompt, images := inferencetest.Input(req, "text_input"), 1
		if strings.Contains(prompt, "Like this?") {
			images = 2
		}
		for i, in := range req.GetInputs() {
			if in.GetName() == "image" && (in.GetShape()[0] != int64(images) || strings.Contains(string(req.GetRawInputContents()[i]), base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\nsecond"))) != (images == 2)) {
				t.Errorf("%s: shape %v", prompt, in.GetShape())
			}
		}
		if !hasInput(req, "image") || !strings.Contains(prompt, "<1>") || strings.Contains(prompt, "<2>") != (images == 2) {
			t.Errorf("prompt %s", prompt)
		}
	}
	// The images of the input count once more for each question with images of its own: 1 + 8 · 2.
	resp, body := ask(plain + strings.Repeat(","+compared, 8))
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "a request may have at most 16 images, but this request has 17") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestDecisionBudgets checks the limits of what all prompts of a request have together, before the engine is asked.
func TestDecisionBudgets(t *testing.T) {
	server, engine := decisionServer(t)
	questions := func(n int) string {
		return `"questions":[` + strings.Repeat(`{"type":"predicate","instructions":"?"},`, n-1) + `{"type":"predicate","instructions":"?"}]`
	}
	messages := func(n int) string {
		return `"input":[` + strings.Repeat(`{"role":"user","content":"a"},{"role":"assistant","content":"b"},`, n/2) + `{"role":"user","content":"c"}]`
	}
	for _, tt := range []struct{ fields, param, message string }{
		{messages(8190) + "," + questions(2), "", ""},
		{messages(8192) + "," + questions(2), "input", "input has 8193 messages, parts and calls, and each of the 2 questions has a prompt with all of them: together they may have 16384. Ask fewer questions"},
		{`"input":"a",` + questions(401), "questions", "questions must be a list of 1 to 400 items"},
		{`"input":"` + strings.Repeat("long", 10000) + `",` + questions(400), "input", "input is too long to be tokenized"},
	} {
		before := len(engine.Requests())
		resp, answer := openaitest.Do(t, http.MethodPost, server.URL+decisionPath, `{"model":"decision",`+tt.fields+"}")
		if tt.param == "" {
			if resp.StatusCode != http.StatusOK || len(engine.Requests()) != before+2 {
				t.Errorf("at the limit: %d %s", resp.StatusCode, answer[:min(len(answer), 300)])
			}
			continue
		}
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(answer, tt.message) || !strings.Contains(answer, fmt.Sprintf(`"param":%q`, tt.param)) || len(engine.Requests()) != before {
			t.Errorf("%d %s\nwant %s", resp.StatusCode, answer, tt.message)
		}
	}
}
