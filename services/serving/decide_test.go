package serving_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// chatTokenizer is the tokenizer of the demo model, with 49152 tokens.
const chatTokenizer = "../../models/chat/tokenizer"

// scorer returns a model over the tokenizer of the demo model.
func scorer(t *testing.T, s inferencetest.Scorer) inferencetest.Scorer {
	t.Helper()
	tok, err := inferencetest.Tokenizers().Load(chatTokenizer)
	if err != nil {
		t.Fatal(err)
	}
	s.Vocabulary = tok.Size()
	s.ID = func(label string) int {
		ids, err := tok.Encode(t.Context(), label, false, nil)
		if err != nil || len(ids) != 1 {
			t.Errorf("the label %q has the tokens %v: %v", label, ids, err)
		}
		return ids[0]
	}
	return s
}

// decide asks a model questions.
func decide(t *testing.T, script inferencetest.Script, parameters map[string]string, questions ...serving.DecisionQuestion) ([]serving.DecisionAnswer, *inferencetest.Engine, *inference.Usage, error) {
	t.Helper()
	settings := inferencetest.WithTemplate()
	settings["trident.tokenizer"] = chatTokenizer
	maps.Copy(settings, parameters)
	s, engine := inferencetest.Serve(t, serving.Config{}, script, settings)
	model := s.Resolve("m")
	answers, usage, err := s.Decide(t.Context(), &model, &serving.DecisionRequest{
		Model: "m", Input: []inference.Message{{Role: "user", Text: "The kettle whistles."}}, Questions: questions,
	})
	return answers, engine, usage, err
}

func choiceOf(options ...string) serving.DecisionQuestion {
	return serving.DecisionQuestion{Instructions: []inference.Part{{Kind: inference.PartText, Text: "Which one?"}}, Task: "Options:", Options: options}
}

// manyOptions returns options with different logits.
func manyOptions(n int) []string {
	options := make([]string, n)
	for i := range options {
		options[i] = fmt.Sprintf("value %d", i)
	}
	return options
}

// expected returns the shares of the options' logits.
func expected(options []string) []float64 {
	sum := 0.0
	shares := make([]float64, len(options))
	for i, option := range options {
		shares[i] = math.Exp(inferencetest.Logit(option))
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

// TestDecide checks the probabilities against the model's logits, for all forms in which engines return log
// probabilities, and the number of inferences.
func TestDecide(t *testing.T) {
	for _, tt := range []struct {
		name    string
		model   inferencetest.Scorer
		options int
		least   int    // number of inferences
		most    string // setting max_logprobs
	}{
		{"by ids, raw", inferencetest.Scorer{TokenIDs: true, Others: 500}, 5, 1, ""},
		{"by ids, processed", inferencetest.Scorer{TokenIDs: true, Processed: true}, 5, 1, ""},
		{"by ids, several inferences", inferencetest.Scorer{TokenIDs: true, Processed: true}, 255, 2, ""},
		{"by ids, several inferences, raw", inferencetest.Scorer{TokenIDs: true, Others: 500}, 255, 2, ""},
		{"allowed, processed", inferencetest.Scorer{Processed: true, Others: 500}, 5, 2, ""}, // the first one is refused
		{"allowed, processed, several inferences", inferencetest.Scorer{Processed: true, Others: 500}, 255, 14, ""},
		{"allowed, raw", inferencetest.Scorer{Others: 15}, 5, 2, ""},
		{"allowed, raw, more log probabilities", inferencetest.Scorer{Others: 500, Most: 600}, 50, 2, "600"},
		{"allowed, raw, all log probabilities", inferencetest.Scorer{Others: 500, Most: 49152}, 255, 2, "-1"},
		{"allowed, processed, fewer log probabilities", inferencetest.Scorer{Processed: true, Most: 5}, 30, 9, "5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			options := manyOptions(tt.options)
			answers, engine, usage, err := decide(t, scorer(t, tt.model).Script(), map[string]string{"trident.max_logprobs": tt.most}, choiceOf(options...))
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for i, want := range expected(options) {
				got := answers[0].Probabilities[i]
				if sum += got; math.Abs(got-want) > 1e-9 {
					t.Errorf("%s has the probability %g, want %g", options[i], got, want)
				}
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Errorf("the probabilities sum to %g", sum)
			}
			if n := len(engine.Requests()); n < tt.least || n > 2*tt.least {
				t.Errorf("%d inferences", n)
			}
			if usage.PromptTokens != 7 || usage.Unknown {
				t.Errorf("usage %+v", usage)
			}
		})
	}
}

// TestDecideForm checks what the engine is asked for.
func TestDecideForm(t *testing.T) {
	question := choiceOf("a", "b")
	question.Words = []string{"Yes", "No"}
	model := scorer(t, inferencetest.Scorer{TokenIDs: true})
	_, engine, _, err := decide(t, model.Script(), map[string]string{
		"trident.chat_template": inferencetest.ChatTemplate + `{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}`,
	}, question)
	if err != nil {
		t.Fatal(err)
	}
	req := engine.Requests()[0]
	const prompt = "[user]The kettle whistles.\n\nQuestion about the input above:\nWhich one?\n\nOptions:\nYes: a\nNo: b\n\nAnswer with the label before the colon and nothing else.[assistant]<think></think>"
	if got := inferencetest.Input(req, "text_input"); got != prompt {
		t.Errorf("prompt %q", got)
	}
	yes, no := model.ID("Yes"), model.ID("No")
	sampling := fmt.Sprintf(`{"temperature":0,"max_tokens":1,"allowed_token_ids":[%d,%d],"logprob_token_ids":[%d,%d]}`, yes, no, yes, no)
	if got := inferencetest.Input(req, "sampling_parameters"); got != sampling {
		t.Errorf("sampling %s, want %s", got, sampling)
	}
}

// TestDecideStart checks that labels are scored after the markers before the text of an answer.
func TestDecideStart(t *testing.T) {
	model := scorer(t, inferencetest.Scorer{TokenIDs: true})
	for _, tt := range []struct{ setting, parser, after, end string }{
		{"trident.reasoning_parser", "openai_gptoss", "", "[assistant]<|channel|>final<|message|>"},
		{"trident.tool_call_parser", "openai", "", "[assistant]<|channel|>final<|message|>"},
		{"trident.reasoning_parser", "cohere_command4", "<|START_THINKING|><|END_THINKING|>", "[assistant]<|START_THINKING|><|END_THINKING|><|START_TEXT|>"},
		{"trident.tool_call_parser", "cohere_command3", "", "[assistant]<|START_RESPONSE|>"},
		{"trident.reasoning_parser", "hunyuan_a13b", "<think>\n\n</think>\n", "[assistant]<think>\n\n</think>\n<answer>\n"},
		{"trident.reasoning_parser", "kimi_k3", "<|open|>response<|sep|>", "[assistant]<|open|>response<|sep|>"},
		{"trident.reasoning_parser", "qwen3", "<think>\n\n</think>\n\n", "[assistant]<think>\n\n</think>\n\n"},
	} {
		t.Run(tt.parser, func(t *testing.T) {
			_, engine, _, err := decide(t, model.Script(), map[string]string{
				tt.setting: tt.parser, "trident.chat_template": inferencetest.ChatTemplate + "{{ " + strconv.Quote(tt.after) + " }}",
			}, choiceOf("a", "b"))
			if err != nil {
				t.Fatal(err)
			}
			if prompt := inferencetest.Input(engine.Requests()[0], "text_input"); !strings.HasSuffix(prompt, tt.end) {
				t.Errorf("prompt %q", prompt)
			}
		})
	}
}

// TestDecideRemembers checks that an engine is asked by ids only once if it refuses them.
func TestDecideRemembers(t *testing.T) {
	settings := inferencetest.WithTemplate()
	settings["trident.tokenizer"] = chatTokenizer
	s, engine := inferencetest.Serve(t, serving.Config{}, scorer(t, inferencetest.Scorer{Processed: true}).Script(), settings)
	for range 3 {
		model := s.Resolve("m")
		if _, _, err := s.Decide(t.Context(), &model, &serving.DecisionRequest{Model: "m", Questions: []serving.DecisionQuestion{choiceOf("a", "b")}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(engine.Requests()); n != 4 {
		t.Errorf("%d inferences for 3 decisions, want 4", n)
	}
	for i, req := range engine.Requests() {
		if by := strings.Contains(inferencetest.Input(req, "sampling_parameters"), "logprob_token_ids"); by != (i == 0) {
			t.Errorf("inference %d: %s", i, inferencetest.Input(req, "sampling_parameters"))
		}
	}
}

// TestDecideRefused checks the errors of models that can't decide.
func TestDecideRefused(t *testing.T) {
	for _, tt := range []struct {
		name       string
		model      inferencetest.Scorer
		parameters map[string]string
		options    int
		param      string
		message    string
	}{
		{"labels that aren't among the likeliest tokens", inferencetest.Scorer{Others: 16}, nil, 5, "questions[0]", "of 1 of the 5 answers. They aren't among the 20 likeliest tokens: set logprobs_mode of the engine to processed_logprobs, or raise its max_logprobs"},
		{"fewer log probabilities than are asked for", inferencetest.Scorer{Processed: true, Most: 5}, nil, 2, "model", "top_logprobs must be at most 5 for this model. Set the model's parameter trident.max_logprobs to that number, or raise max_logprobs of the engine"},
		{"no tokenizer", inferencetest.Scorer{TokenIDs: true}, map[string]string{"trident.tokenizer": "none"}, 2, "model", "decisions need the tokenizer of the model `m`"},
		{"a context that is too short", inferencetest.Scorer{TokenIDs: true}, map[string]string{"trident.context_length": "10"}, 2, "input", "maximum context length is 10 tokens"},
		{"reasoning without a switch", inferencetest.Scorer{TokenIDs: true}, map[string]string{"trident.reasoning_parser": "deepseek_r1", "trident.chat_template": inferencetest.ChatTemplate + "<think>\n"}, 2, "model", "its chat template has no switch that turns reasoning off"},
		{"answers that start with markers", inferencetest.Scorer{TokenIDs: true}, map[string]string{"trident.reasoning_parser": "inkling"}, 2, "model", "it is not certain which markers it writes before the text of an answer (its parsers are none, inkling)"},
		{"answers that may start with a marker", inferencetest.Scorer{TokenIDs: true}, map[string]string{"trident.tool_call_parser": "ernie45"}, 2, "model", "it is not certain which markers it writes before the text of an answer (its parsers are ernie45, none)"},
		{"reasoning that the prompt has begun", inferencetest.Scorer{TokenIDs: true}, map[string]string{"trident.reasoning_parser": "cohere_command4", "trident.chat_template": inferencetest.ChatTemplate + "<|START_THINKING|>"}, 2, "model", "its chat template has no switch that turns reasoning off"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answers, _, _, err := decide(t, scorer(t, tt.model).Script(), tt.parameters, choiceOf(manyOptions(tt.options)...))
			e := inference.AsError(err)
			if err == nil || e.Code != inference.CodeInvalid || e.Param != tt.param || !strings.Contains(e.Message, tt.message) || answers != nil {
				t.Errorf("%v of %s, answers %v", err, e.Param, answers)
			}
		})
	}
}

// TestDecideWithoutProbabilities checks that probabilities of 0 that leave nothing to compare are an error that names
// the reason, not numbers.
func TestDecideWithoutProbabilities(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options []string
		most    string // setting max_logprobs
		message string
	}{
		{"all labels", []string{"a", "b"}, "", "questions[0]: the engine of the model `m` returned the probability 0 of the label of each answer: there are no probabilities to compare"},
		{"the first label of several inferences", []string{"a", "b", "c"}, "2", "questions[0]: the engine of the model `m` returned the probability 0 of the label of the first answer, by which the inferences of a question with many answers are compared: ask for fewer answers, or for another one first"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			model := scorer(t, inferencetest.Scorer{})
			_, _, _, err := decide(t, func(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
				var asked struct {
					Allowed []int `json:"allowed_token_ids"`
				}
				if err := json.Unmarshal([]byte(inferencetest.Input(req, "sampling_parameters")), &asked); err != nil {
					return err
				}
				if strings.Contains(inferencetest.Input(req, "sampling_parameters"), "logprob_token_ids") {
					return &inference.Error{Code: inference.CodeInternal, Message: "'NoneType' object has no attribute 'lora_name'"}
				}
				var scores []string
				for _, id := range asked.Allowed {
					logprob := "-Infinity"
					if len(tt.options) > 2 && id != model.ID("A") {
						logprob = "-0.5"
					}
					scores = append(scores, fmt.Sprintf(`"%d": {"logprob": %s, "rank": 9, "decoded_token": "t"}`, id, logprob))
				}
				resp := inferencetest.Token("x", "length")
				resp.Outputs = append(resp.Outputs, inferencetest.Bytes("logprobs", "[{"+strings.Join(scores, ", ")+"}]"))
				send(resp)
				return nil
			}, map[string]string{"trident.max_logprobs": tt.most}, choiceOf(tt.options...))
			if e := inference.AsError(err); err == nil || e.Code != inference.CodeInvalid || e.Param != "questions[0]" || e.Message != tt.message {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestDecideWithForeignTokenizer checks that labels whose ids the engine doesn't have are an error about the
// tokenizer, not about a field that no client sent.
func TestDecideWithForeignTokenizer(t *testing.T) {
	model := scorer(t, inferencetest.Scorer{TokenIDs: true})
	model.Vocabulary = 10
	_, _, _, err := decide(t, model.Script(), nil, choiceOf("a", "b"))
	const want = "decisions are not supported by the model `m`: its tokenizer has labels whose token ids its engine doesn't have. Set the model's parameter trident.tokenizer to the tokenizer of the engine"
	if e := inference.AsError(err); err == nil || e.Code != inference.CodeInvalid || e.Param != "model" || e.Message != want {
		t.Errorf("got %v of %s", err, e.Param)
	}
}

// TestDecideWithFewLabels checks that a vocabulary without enough labels is refused, and that labels of other
// alphabets are used before.
func TestDecideWithFewLabels(t *testing.T) {
	const bytesTokenizer = "../../test/models-contract/vllm/tokenizer"
	model := inferencetest.Scorer{TokenIDs: true, Vocabulary: 258, ID: func(label string) int { return int(label[0]) }}
	options := manyOptions(62)
	answers, _, _, err := decide(t, model.Script(), map[string]string{"trident.tokenizer": bytesTokenizer}, choiceOf(options...))
	if err != nil || math.Abs(answers[0].Probabilities[61]-expected(options)[61]) > 1e-9 {
		t.Errorf("62 options: %v %v", answers, err)
	}
	two := []serving.DecisionQuestion{choiceOf("a", "b"), choiceOf(manyOptions(63)...)}
	_, engine, _, err := decide(t, model.Script(), map[string]string{"trident.tokenizer": bytesTokenizer}, two...)
	const want = "questions[1] has 63 answers, but the vocabulary of the model `m` has only 62 labels of one token: ask for fewer answers"
	if e := inference.AsError(err); err == nil || e.Param != "questions[1]" || e.Message != want || len(engine.Requests()) > 0 {
		t.Errorf("63 options: %v, %d inferences", err, len(engine.Requests()))
	}
}

// TestDecideFollowsThePermutation checks that the probability of an option doesn't depend on its position.
func TestDecideFollowsThePermutation(t *testing.T) {
	options := []string{"north", "east", "south", "west"}
	model := scorer(t, inferencetest.Scorer{TokenIDs: true})
	first, _, _, err := decide(t, model.Script(), nil, choiceOf(options...))
	if err != nil {
		t.Fatal(err)
	}
	reversed := slices.Clone(options)
	slices.Reverse(reversed)
	second, _, _, err := decide(t, model.Script(), nil, choiceOf(reversed...))
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(second[0].Probabilities)
	for i := range options {
		if math.Abs(first[0].Probabilities[i]-second[0].Probabilities[i]) > 1e-12 {
			t.Errorf("%s: %g, reversed %g", options[i], first[0].Probabilities[i], second[0].Probabilities[i])
		}
	}
	if first[0].Probabilities[0] == first[0].Probabilities[1] {
		t.Error("all options have the same probability")
	}
}

// TestDecideCanceled checks that the end of the client's context stops the inferences of all questions, and that an
// error of one question stops the others.
func TestDecideCanceled(t *testing.T) {
	for name, fail := range map[string]bool{"by the client": false, "by an error": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				settings := inferencetest.WithTemplate()
				settings["trident.tokenizer"] = chatTokenizer
				s, engine := inferencetest.Serve(t, serving.Config{}, func(ctx context.Context, req *kserve.ModelInferRequest, _ func(*inference.Response) bool) error {
					if fail && strings.Contains(inferencetest.Input(req, "text_input"), "third") {
						return errors.New("the engine is broken")
					}
					<-ctx.Done()
					return ctx.Err()
				}, settings)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if !fail {
					time.AfterFunc(time.Second, cancel)
				}
				model := s.Resolve("m")
				answers, _, err := s.Decide(ctx, &model, &serving.DecisionRequest{Model: "m", Questions: []serving.DecisionQuestion{
					choiceOf("first", "b"), choiceOf("second", "b"), choiceOf("third", "b"),
				}})
				want := inference.CodeCanceled
				if fail {
					want = inference.CodeInternal
				}
				if got := inference.AsError(err).Code; err == nil || got != want || answers != nil {
					t.Errorf("%v %v, answers %v", got, err, answers)
				}
				if n := engine.Active(); n != 0 {
					t.Errorf("%d inferences are running", n)
				}
			})
		})
	}
}
