package decisions

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
)

// oneQuestion decodes a question.
func oneQuestion(t *testing.T, raw string) *question {
	t.Helper()
	questions, err := decodeQuestions([]json.RawMessage{json.RawMessage(raw)})
	if err != nil {
		t.Fatal(err)
	}
	return &questions[0]
}

// TestQuestions checks the task and the options that a model is asked for, and the members that have no effect.
func TestQuestions(t *testing.T) {
	for raw, want := range map[string]struct {
		task    string
		options []string
		words   []string
		unused  []string
	}{
		`{"type":"predicate","instructions":"?","levels":[]}`:                                             {"Does this hold for the input?", []string{"it holds", "it doesn't hold"}, []string{"Yes", "No"}, []string{"questions[0].levels"}},
		`{"type":"choice","instructions":"?","choices":[{"value":"a\n"},{"value":true}],"levels":null}`:   {"Options:", []string{`"a\n"`, "true"}, nil, nil},
		`{"type":"score","instructions":"?","levels":[{"label":"1","description":"low"}],"choices":[{}]}`: {"Levels, from the lowest to the highest:", []string{`"1" - "low"`}, nil, []string{"questions[0].choices"}},
	} {
		q := oneQuestion(t, raw)
		var unused []string
		for _, field := range q.unused {
			unused = append(unused, field.Name)
		}
		if q.asked.Task != want.task || !slices.Equal(q.asked.Options, want.options) || !slices.Equal(q.asked.Words, want.words) || !slices.Equal(unused, want.unused) {
			t.Errorf("%s: %+v, unused %v", raw, q.asked, unused)
		}
		if q.asked.Instructions[0].Text != "?" || q.name != nil {
			t.Errorf("%s: %+v, name %v", raw, q.asked.Instructions, q.name)
		}
	}
}

// TestQuestionErrors checks the fields that errors of questions name.
func TestQuestionErrors(t *testing.T) {
	for raw, want := range map[string]struct{ param, message string }{
		`{"type":"choice","instructions":"?","choices":[{"value":"a"},{"value":true},{"value":"a"}]}`: {"questions[1].choices[2].value", "questions[1].choices[2].value repeats an earlier value: each may occur once"},
		`{"type":"score","instructions":"?","levels":[{"label":"a"},{"label":"a"}]}`:                  {"questions[1].levels[1].label", "questions[1].levels[1].label repeats an earlier label: each may occur once"},
		`{"type":"predicate","instructions":[]}`:                                                      {"questions[1].instructions", "questions[1].instructions must be a string or a list of at least 1 part, got a list of 0"},
		`{"type":"rank","instructions":"?"}`:                                                          {"questions[1].type", `questions[1].type must be predicate, choice or score, got "rank"`},
		`{"type":"predicate","instructions":[{"type":"input_image","image_url":"https://a/b"}]}`:      {"questions[1].instructions[0].image_url", "questions[1].instructions[0].image_url must be a data: URI that contains the image in base64: other addresses aren't supported here"},
		`{"type":"predicate","type":"choice"}`:                                                        {"questions[1].type", "questions[1].type is given twice"},
	} {
		_, err := decodeQuestions([]json.RawMessage{json.RawMessage(`{"type":"predicate","instructions":"?"}`), json.RawMessage(raw)})
		inferencetest.WantInvalid(t, err, want.param, want.message)
	}
}

// TestAnswers checks the answers to each kind of question by the probabilities of its options.
func TestAnswers(t *testing.T) {
	predicate := oneQuestion(t, `{"type":"predicate","instructions":"?","name":"p"}`)
	choice := oneQuestion(t, `{"type":"choice","instructions":"?","choices":[{"value":"true"},{"value":true},{"value":false}]}`)
	score := oneQuestion(t, `{"type":"score","instructions":"?","levels":[{"label":"low"},{"label":"mid"},{"label":"high"}]}`)
	if got, ok := predicate.answer(nil).(api.DecisionRefusalAnswer); !ok || got.Type != "refusal" || *got.Name != "p" {
		t.Errorf("%+v", got)
	}
	if got, ok := predicate.answer([]float64{0.75, 0.25}).(api.DecisionPredicateAnswer); !ok || got.Type != "predicate" || *got.Name != "p" || got.Probability != 0.75 {
		t.Errorf("%+v", got)
	}
	chosen, ok := choice.answer([]float64{0.25, 0.5, 0.25}).(api.DecisionChoiceAnswer)
	if want := 1 - 1.5*math.Ln2/math.Log(3); !ok || string(chosen.Choice) != "true" || chosen.Name != nil || math.Abs(chosen.Confidence-want) > 1e-9 {
		t.Errorf("%+v", chosen)
	}
	for i, want := range []string{`"true"`, "true", "false"} {
		if string(chosen.Probabilities[i].Value) != want {
			t.Errorf("%d: %s, want %s", i, chosen.Probabilities[i].Value, want)
		}
	}
	graded, ok := score.answer([]float64{0, 0.5, 0.5}).(api.DecisionScoreAnswer)
	if !ok || graded.Score != 1.5 || len(graded.Probabilities) != 3 || graded.Probabilities[2] != (api.DecisionScoreProbability{Label: "high", Value: 2, Probability: 0.5}) {
		t.Errorf("%+v", graded)
	}
}

// TestConfidence checks the bounds of the confidence.
func TestConfidence(t *testing.T) {
	for _, tt := range []struct {
		probabilities []float64
		want          float64
	}{{[]float64{0, 1, 0}, 1}, {[]float64{0.5, 0.5}, 0}, {[]float64{0.25, 0.25, 0.25, 0.25}, 0}, {[]float64{0.5, 0.5, 0, 0}, 0.5}} {
		if got := confidence(tt.probabilities); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%v: %g, want %g", tt.probabilities, got, tt.want)
		}
	}
}

// TestClientsNames checks that errors name the input as clients do, and that other errors keep their names.
func TestClientsNames(t *testing.T) {
	for param, want := range map[string]string{"messages": "input", "messages[2].content[0].image_url": "input", "questions": "questions", "messagesX": "messagesX"} {
		original := &inference.Error{Code: inference.CodeInvalid, Param: param, Message: param + " is too long"}
		err := clientsNames(original)
		inferencetest.WantInvalid(t, err, want, want+" is too long")
		if original.Param != param {
			t.Errorf("the error of the core has changed: %v", original)
		}
	}
}
