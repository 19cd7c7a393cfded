package serving_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// abLogits are the logits of the tokens a, b, ab and <s> after each of them.
var abLogits = [4][4]float64{{0, 1, -1, 0.5}, {2, -2, 0, 1}, {-0.5, 3, 1, 0}, {1, 0, 2, -3}}

// abLogprob returns the log probability of a token after another one.
func abLogprob(before, id int) float64 {
	sum := 0.0
	for _, logit := range abLogits[before] {
		sum += math.Exp(logit)
	}
	return math.Log(math.Exp(abLogits[before][id]) / sum)
}

// encodeLogits returns the tensor context_logits. It has a column of padding, with a high value.
func encodeLogits(datatype string, rows ...int) inference.Output {
	const columns = 5
	out := inference.Output{Name: "context_logits", Type: datatype, Shape: []int64{1, int64(len(rows)), columns}}
	for _, before := range rows {
		for _, logit := range append(abLogits[before][:], 50) {
			bits := math.Float32bits(float32(logit))
			switch datatype {
			case "FP32":
				out.Raw = binary.LittleEndian.AppendUint32(out.Raw, bits)
			case "BF16":
				out.Raw = binary.LittleEndian.AppendUint16(out.Raw, uint16(bits>>16))
			case "FP16": // exact for these values
				half := uint16(0)
				if logit != 0 {
					half = uint16(bits>>31)<<15 | uint16(int(bits>>23&0xff)-112)<<10 | uint16(bits>>13&0x3ff)
				}
				out.Raw = binary.LittleEndian.AppendUint16(out.Raw, half)
			}
		}
	}
	return out
}

// scoreWith returns the script of a model: with the logits of a prompt it sends these outputs, without them the
// text b, whose log probability is -0.25.
func scoreWith(outputs ...inference.Output) inferencetest.Script {
	return func(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		for _, in := range req.GetInputs() {
			if in.GetName() == "return_context_logits" {
				send(&inference.Response{Final: true, Outputs: append([]inference.Output{inferencetest.Bytes("text_output", "b")}, outputs...)})
				return nil
			}
		}
		one := inferencetest.Uint32("num_output_tokens", 1)
		logprob := inference.Output{Name: "output_log_probs", Type: "FP32", Shape: []int64{1, 1, 1}, Raw: binary.LittleEndian.AppendUint32(nil, math.Float32bits(-0.25))}
		send(&inference.Response{Final: true, Outputs: []inference.Output{inferencetest.Bytes("text_output", "b"), one, logprob}})
		return nil
	}
}

// scoreModel is plainModel with logits of prompts.
func scoreModel(t *testing.T) *kserve.ModelConfig {
	t.Helper()
	config := plainModel(withTokenizer(t, "{{ messages[0].content }}"))
	config.Input = append(config.Input, &kserve.ModelInput{Name: "return_context_logits", DataType: kserve.DataType_TYPE_BOOL, Dims: []int64{1}, Optional: true})
	config.Output = append(config.Output, &kserve.ModelOutput{Name: "context_logits"})
	return config
}

// scored runs a request and returns the Deltas' first score, the log probabilities and the text.
func scored(t *testing.T, s *serving.Service, req *inference.Request) (*inference.Choice, *inference.Usage, error) {
	t.Helper()
	answer, err := inference.Collect(inferencetest.Generate(t.Context(), s, req), max(req.N, 1)*max(len(req.Prompts), 1))
	if err != nil {
		return nil, nil, err
	}
	return &answer.Choices[len(answer.Choices)-1], &answer.Usage, nil
}

// show returns a score as text: of each token its text, offset and rank, and the alternatives' texts.
func show(score *inference.PromptScore) string {
	if score == nil {
		return "none"
	}
	var tokens []string
	for _, token := range score.Tokens {
		var top []string
		for _, alt := range token.Top {
			top = append(top, alt.Token)
		}
		tokens = append(tokens, fmt.Sprintf("%s@%d#%d(%s)", token.Token, token.Offset, token.Rank, strings.Join(top, " ")))
	}
	return fmt.Sprintf("%d+%d %s", score.Added, score.Length, strings.Join(tokens, " "))
}

// TestPromptScore checks the log probabilities of a prompt's tokens against those computed from the same
// logits, in all datatypes, and that the answer is what it is without them.
func TestPromptScore(t *testing.T) {
	for _, datatype := range []string{"FP32", "FP16", "BF16"} {
		engine := inferencetest.New()
		engine.AddOther("m", scoreModel(t), scoreWith(encodeLogits(datatype, 3, 2, 1, 0)))
		s := inferencetest.Service(t, serving.Config{}, engine)
		req := &inference.Request{Model: "m", Task: inference.TaskGenerate, Prompts: []inference.Input{{Text: "abba"}}}
		req.Sampling = inference.Sampling{PromptLogprobs: new(2), MaxTokens: new(1)}
		choice, usage, err := scored(t, s, req)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := show(choice.Prompt), "1+4 <s>@0#0() ab@0#1(ab a) b@2#1(b ab) a@3#1(a <s>)"; got != want {
			t.Errorf("%s: %s\nwant %s", datatype, got, want)
		}
		before := 3
		for i, id := range []int{2, 1, 0} {
			token := choice.Prompt.Tokens[i+1]
			if token.ID != id || math.Abs(token.Logprob-abLogprob(before, id)) > 1e-6 || math.Abs(token.Top[1].Logprob-abLogprob(before, token.Top[1].ID)) > 1e-6 {
				t.Errorf("%s: token %d has %v, want %v", datatype, i+1, token, abLogprob(before, id))
			}
			before = id
		}
		if string(choice.Text) != "b" || choice.Logprobs != nil || usage.PromptTokens != 4 || usage.CompletionTokens != 1 {
			t.Errorf("%s: the answer is %q, %v, %+v", datatype, choice.Text, choice.Logprobs, usage)
		}
		if n := len(engine.Requests()); n != 2 {
			t.Errorf("%s: %d inferences", datatype, n)
		}
	}
}

// TestScoredChoices checks which tokens of a prompt have log probabilities, by the form of the prompt and the
// request, and how many inferences that takes.
func TestScoredChoices(t *testing.T) {
	tests := []struct {
		name       string
		input      inference.Input
		change     func(*inference.Request)
		rows       []int
		want       string
		text       string
		logprobs   string
		inferences int
		finish     inference.FinishReason
	}{
		{"echo", inference.Input{Text: "abba"}, func(r *inference.Request) { r.Sampling.Logprobs = new(0) }, []int{3, 2, 1, 0}, "1+4 <s>@0#0() ab@0#1() b@2#1() a@3#1()", "abbab", "b -0.25 []", 2, "length"},
		{"alternatives to the only new token", inference.Input{Text: "b"}, func(r *inference.Request) { r.Sampling.Logprobs = new(1) }, []int{3, 1}, "1+1 <s>@0#0() b@0#3(ab)", "bb", "b -0.25 [a]", 2, "length"},
		{"more alternatives to the new token than to those of the prompt", inference.Input{Text: "b"}, func(r *inference.Request) {
			r.Echo, r.Sampling.PromptLogprobs, r.Sampling.Logprobs = false, new(0), new(2)
		}, []int{3, 1}, "1+1 <s>@0#0() b@0#3()", "b", "b -0.25 [a <s>]", 2, "length"},
		{"nothing new", inference.Input{Text: "ab"}, func(r *inference.Request) { r.Sampling.Logprobs, r.Sampling.MaxTokens = new(1), new(0) }, []int{3, 2}, "1+2 <s>@0#0() ab@0#1(ab)", "ab", "", 1, "length"},
		{"nothing new, without log probabilities", inference.Input{Text: "ab"}, func(r *inference.Request) { r.Sampling.MaxTokens = new(0) }, nil, "none", "ab", "", 0, "length"},
		{"token ids", inference.Input{TokenIDs: []int{2}}, func(r *inference.Request) { r.Sampling.Logprobs = new(0) }, []int{3, 2}, "1+2 <s>@0#0() ab@0#1()", "abb", "b -0.25 []", 2, "length"},
		{"token ids with the beginning", inference.Input{TokenIDs: []int{3, 2}}, func(r *inference.Request) { r.Sampling.Logprobs = new(0) }, []int{3, 2}, "0+2 <s>@0#0() ab@0#1()", "abb", "b -0.25 []", 2, "length"},
		{"several choices", inference.Input{Text: "ab"}, func(r *inference.Request) { r.N, r.Sampling.PromptLogprobs = 3, new(0) }, []int{3, 2}, "1+2 <s>@0#0() ab@0#1()", "abb", "", 4, "length"},
		{"the best of several", inference.Input{Text: "ab"}, func(r *inference.Request) { r.BestOf, r.Sampling.PromptLogprobs = 2, new(0) }, []int{3, 2}, "1+2 <s>@0#0() ab@0#1()", "abb", "", 3, "length"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			engine := inferencetest.New()
			engine.AddOther("m", scoreModel(t), scoreWith(encodeLogits("FP32", tt.rows...)))
			s := inferencetest.Service(t, serving.Config{}, engine)
			req := &inference.Request{Model: "m", Task: inference.TaskGenerate, Prompts: []inference.Input{tt.input}, Echo: true}
			req.Sampling.MaxTokens = new(1)
			tt.change(req)
			choice, usage, err := scored(t, s, req)
			if err != nil {
				t.Fatal(err)
			}
			logprobs := ""
			for _, token := range choice.Logprobs {
				top := []string{}
				for _, alt := range token.Top {
					top = append(top, alt.Token)
				}
				logprobs += fmt.Sprintf("%s %v %v", token.Token, token.Logprob, top)
			}
			if got := show(choice.Prompt); got != tt.want || string(choice.Text) != tt.text || logprobs != tt.logprobs || choice.Finish != tt.finish {
				t.Errorf("%s, %q, %q, %s\nwant %s, %q, %q, %s", got, choice.Text, logprobs, choice.Finish, tt.want, tt.text, tt.logprobs, tt.finish)
			}
			if n := len(engine.Requests()); n != tt.inferences {
				t.Errorf("%d inferences, want %d", n, tt.inferences)
			}
			if *req.Sampling.MaxTokens == 0 && (usage.CompletionTokens != 0 || usage.PromptTokens != 2 || usage.Unknown) {
				t.Errorf("usage %+v", usage)
			}
		})
	}
}

// TestRefusedScores checks that a request whose prompt has no log probabilities is refused by name.
func TestRefusedScores(t *testing.T) {
	fails := func(message string) inferencetest.Script {
		return func(context.Context, *kserve.ModelInferRequest, func(*inference.Response) bool) error {
			return &inference.Error{Code: inference.CodeInternal, Message: message}
		}
	}
	without := func(name string) func(*testing.T) *kserve.ModelConfig {
		return func(t *testing.T) *kserve.ModelConfig {
			t.Helper()
			config := scoreModel(t)
			if name == "the tokenizer" {
				delete(config.GetParameters(), "trident.tokenizer")
			}
			if n := len(config.GetInput()) - 1; config.GetInput()[n].GetName() == name {
				config.Input = config.GetInput()[:n]
			}
			if n := len(config.GetOutput()) - 1; config.GetOutput()[n].GetName() == name {
				config.Output = config.GetOutput()[:n]
			}
			return config
		}
	}
	short := encodeLogits("FP32", 3, 2)
	short.Raw = short.Raw[:len(short.Raw)-4]
	tests := []struct {
		name    string
		model   func(*testing.T) *kserve.ModelConfig
		script  inferencetest.Script
		change  func(*inference.Request)
		param   string
		message string
	}{
		{"no input", without("return_context_logits"), nil, nil, "prompt_logprobs", "prompt_logprobs is not supported by the model `m`: it does not declare the input return_context_logits and the output context_logits"},
		{"no output", without("context_logits"), nil, nil, "prompt_logprobs", "the output context_logits"},
		{"no tokenizer", without("the tokenizer"), nil, nil, "prompt_logprobs", "its tokenizer isn't known"},
		{"echo", without("context_logits"), nil, func(r *inference.Request) {
			r.Sampling.PromptLogprobs, r.Echo, r.Sampling.Logprobs = nil, true, new(0)
		}, "echo", "echo together with logprobs is not supported by the model `m`: it does"},
		{"no logits", scoreModel, scoreWith(), nil, "prompt_logprobs", "its engine returns no logits of prompts"},
		{"an engine without them", scoreModel, fails("Executor failed: Return context logit need to build engine with gather_context_logits"), nil, "prompt_logprobs", "build it with gather_context_logits"},
		{"reused blocks", scoreModel, scoreWith(encodeLogits("FP32", 2)), nil, "prompt_logprobs", "its engine returns the logits of 1 tokens, but the prompt has 2 tokens"},
		{"another datatype", scoreModel, scoreWith(inference.Output{Name: "context_logits", Type: "INT32", Shape: []int64{1, 2, 5}, Raw: make([]byte, 40)}), nil, "", "internal"},
		{"cut off", scoreModel, scoreWith(short), nil, "", "internal"},
		{"no columns", scoreModel, scoreWith(inference.Output{Name: "context_logits", Type: "FP32", Shape: []int64{1, 2, 1}, Raw: make([]byte, 8)}), nil, "", "internal"},
		{"too many alternatives", scoreModel, nil, func(r *inference.Request) { r.Sampling.PromptLogprobs = new(21) }, "prompt_logprobs", "prompt_logprobs must be from 0 to 20, got 21"},
		{"the whole vocabulary", scoreModel, nil, func(r *inference.Request) { r.Sampling.PromptLogprobs = new(-1) }, "prompt_logprobs", "prompt_logprobs must be from 0 to 20, got -1"},
		{"a truncated prompt", scoreModel, nil, func(r *inference.Request) { r.Sampling.TruncatePromptTokens = new(1) }, "prompt_logprobs", "truncate_prompt_tokens can't be used with it"},
		{"alternatives to several new tokens", scoreModel, scoreWith(encodeLogits("FP32", 3, 2)), func(r *inference.Request) {
			r.Echo, r.Sampling.Logprobs, r.Sampling.MaxTokens = true, new(1), new(2)
		}, "logprobs", "it returns the log probabilities of the chosen tokens only"},
		{"nothing new without echo", scoreModel, nil, func(r *inference.Request) { r.Sampling.MaxTokens = new(0) }, "max_tokens", "max_tokens must be from 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			engine := inferencetest.New()
			engine.AddOther("m", tt.model(t), tt.script)
			s := inferencetest.Service(t, serving.Config{}, engine)
			req := &inference.Request{Model: "m", Task: inference.TaskGenerate, Prompts: []inference.Input{{Text: "ab"}}}
			req.Sampling = inference.Sampling{PromptLogprobs: new(0), MaxTokens: new(1)}
			if tt.change != nil {
				tt.change(req)
			}
			_, _, err := scored(t, s, req)
			e := inference.AsError(err)
			if err == nil || e.Param != tt.param || tt.message != "internal" && !strings.Contains(e.Message, tt.message) || tt.message == "internal" && e.Code != inference.CodeInternal {
				t.Errorf("got %v, want %s: %s", err, tt.param, tt.message)
			}
			if n := len(engine.Requests()); tt.script == nil && n > 0 {
				t.Errorf("the engine got %d requests", n)
			}
		})
	}
}

// TestScoreBudgets checks the limits of the logits of a prompt and of the log probabilities of a request.
func TestScoreBudgets(t *testing.T) {
	config := scoreModel(t)
	config.Parameters["trident.context_length"] = &kserve.ModelParameter{StringValue: "0"}
	engine := inferencetest.New()
	engine.AddOther("m", config, scoreWith())
	s := inferencetest.Service(t, serving.Config{}, engine)
	req := &inference.Request{Model: "m", Task: inference.TaskGenerate}
	req.Sampling = inference.Sampling{PromptLogprobs: new(20), MaxTokens: new(1)}
	const each = budget.PromptLogprobs/21/4 + 1 // the token <s> isn't in the text
	for range 4 {
		req.Prompts = append(req.Prompts, inference.Input{Text: strings.Repeat("a", each-1)})
	}
	_, _, err := scored(t, s, req)
	inferencetest.WantInvalid(t, err, "prompt_logprobs", fmt.Sprintf("the response has %d log probabilities of prompts, but at most %d are returned for one request: send fewer prompts, or a lower n", 4*each*21, budget.PromptLogprobs))
	req.Prompts = req.Prompts[:1]
	req.N = 4
	_, _, err = scored(t, s, req)
	inferencetest.WantInvalid(t, err, "prompt_logprobs", fmt.Sprintf("the response has %d log probabilities of prompts, but at most %d are returned for one request: send fewer prompts, or a lower n", 4*each*21, budget.PromptLogprobs))
	req.N = 1
	if _, _, err := scored(t, s, req); err == nil || !strings.Contains(err.Error(), "its engine returns no logits") {
		t.Errorf("a request within the limits: %v", err)
	}
}

// TestScoreEndsWithItsClient checks that a score that waits for the engine ends when its client disconnects, and
// releases its memory.
func TestScoreEndsWithItsClient(t *testing.T) {
	began := make(chan struct{}, 1)
	engine := inferencetest.New()
	engine.AddOther("m", scoreModel(t), func(ctx context.Context, _ *kserve.ModelInferRequest, _ func(*inference.Response) bool) error {
		began <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	s := inferencetest.Service(t, serving.Config{}, engine)
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-began; cancel() }()
		req := &inference.Request{Model: "m", Task: inference.TaskGenerate, Prompts: []inference.Input{{Text: "ab"}}, Sampling: inference.Sampling{PromptLogprobs: new(0), MaxTokens: new(1)}}
		_, err := inference.Collect(inferencetest.Generate(ctx, s, req), 1)
		if e := inference.AsError(err); err == nil || e.Code != inference.CodeCanceled {
			t.Errorf("got %v", err)
		}
		cancel()
		if engine.Active() != 0 {
			t.Error("the model still runs")
		}
	}
}
