package serving_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// minute is a client's tokens of a minute in these tests.
const minute = 100_000

func limited(t *testing.T) context.Context {
	t.Helper()
	return inference.WithClient(t.Context(), &inference.Client{Name: "team", Limits: inference.Limits{TokensPerMinute: minute}})
}

// spent returns the number of tokens that the client has used.
func spent(ctx context.Context, s *serving.Service) int {
	left, _ := s.Admission().Tokens(ctx)
	return minute - left.Remaining
}

// TestSpentTokens checks the tokens that requests of each kind reserve while the model works, and those
// that they have spent at their end.
func TestSpentTokens(t *testing.T) {
	prompt := func(text string) *inference.Request {
		return &inference.Request{Model: "m", Task: inference.TaskGenerate, Prompts: []inference.Input{{Text: text}}, Stream: true}
	}
	for name, test := range map[string]struct {
		script          inferencetest.Script
		parameters      map[string]string
		ask             func(ctx context.Context, s *serving.Service) error
		reserved, spent int
		fails           bool
	}{
		// The model counts 7 tokens of each prompt, and 1 of each piece. Without a tokenizer, the
		// prompt is estimated from its bytes.
		"completion": {
			ask: func(ctx context.Context, s *serving.Service) error {
				return inferencetest.Collect(ctx, s, prompt(strings.Repeat("x", 41))).Failure()
			},
			reserved: 11 + 16, spent: 9,
		},
		"maximum of the client": {
			ask: func(ctx context.Context, s *serving.Service) error {
				req := prompt("x")
				req.N, req.Sampling.MaxTokens = 2, new(1000)
				return inferencetest.Collect(ctx, s, req).Failure()
			},
			reserved: 1 + 2*1000, spent: 7 + 2*2,
		},
		"more than a minute has": {
			ask: func(ctx context.Context, s *serving.Service) error {
				req := prompt("x")
				req.Sampling.MaxTokens = new(10 * minute)
				return inferencetest.Collect(ctx, s, req).Failure()
			},
			reserved: minute, spent: 9,
		},
		"chat with a tokenizer": {
			parameters: withTokenizer(t, "{{ messages[0].content }}"), // <s> and hi, of which no letter is a token
			ask: func(ctx context.Context, s *serving.Service) error {
				req := inferencetest.ChatRequest(1)
				req.Messages[0].Text = "abab"
				return inferencetest.Collect(ctx, s, req).Failure()
			},
			reserved: 8, spent: 9,
		},
		"client disconnects": {
			ask: func(ctx context.Context, s *serving.Service) error {
				for _, err := range inferencetest.Generate(ctx, s, prompt("x")) {
					return err // the first Delta has 1 token
				}
				return nil
			},
			reserved: 1 + 16, spent: 8,
		},
		"model fails": {
			script: func(context.Context, *kserve.ModelInferRequest, func(*inference.Response) bool) error {
				return errors.New("broken")
			},
			ask: func(ctx context.Context, s *serving.Service) error {
				return inferencetest.Collect(ctx, s, prompt("x")).Failure()
			},
			fails: true, reserved: 1 + 16,
		},
		"embedding": {
			script: inferencetest.Embed(3, 4), parameters: map[string]string{"trident.task": "embed"},
			ask: func(ctx context.Context, s *serving.Service) error {
				_, err := inferencetest.Encode(ctx, s, &inference.EncodeRequest{Model: "m", Task: inference.TaskEmbed, Inputs: texts(strings.Repeat("x", 41), "y")})
				return err
			},
			reserved: 11 + 1, spent: 2 * 3,
		},
		"tensors": {
			ask: func(ctx context.Context, s *serving.Service) error {
				return inferencetest.Last(inferencetest.Forward(ctx, s, inferencetest.EncodedRequest(t, &kserve.ModelInferRequest{ModelName: "m", Id: strings.Repeat("x", 395)})))
			},
			// The message has 401 bytes. Each of the two responses has tensors of 5, 8, 4 and 4 bytes, and the last one a finish reason of 8.
			reserved: 101, spent: (401 + 2*(5+8+4+4) + 3) / 4,
		},
		"tensors that the model refuses": {
			script: func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
				send(&inference.Response{Err: inference.Invalid("", "broken"), Final: true})
				return nil
			},
			ask: func(ctx context.Context, s *serving.Service) error {
				return inferencetest.Last(inferencetest.Forward(ctx, s, inferencetest.EncodedRequest(t, &kserve.ModelInferRequest{ModelName: "m", Id: strings.Repeat("x", 395)})))
			},
			reserved: 101,
		},
		"tensors of another model": {
			parameters: map[string]string{"trident.task": "none"},
			ask: func(ctx context.Context, s *serving.Service) error {
				return inferencetest.Last(inferencetest.Forward(ctx, s, inferencetest.EncodedRequest(t, &kserve.ModelInferRequest{ModelName: "other"})))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := test.script
				if script == nil {
					script = inferencetest.StreamText("a", "b")
				}
				ctx := limited(t)
				var s *serving.Service
				var reserved atomic.Int64 // choices are generated in parallel
				reserved.Store(-1)
				engine := inferencetest.New()
				watched := func(ctx2 context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
					reserved.Store(int64(spent(ctx, s)))
					return script(ctx2, req, send)
				}
				engine.AddModel("m", watched, test.parameters)
				engine.AddOther("other", &kserve.ModelConfig{Name: "other", Input: []*kserve.ModelInput{{Name: "x"}}, Output: []*kserve.ModelOutput{{Name: "y"}}}, watched)
				s = inferencetest.Service(t, serving.Config{}, engine)
				if _, err := s.Catalog().Model(t.Context(), "m"); err != nil { // waits for the first refresh
					t.Fatal(err)
				}
				if err := test.ask(ctx, s); (err != nil) != test.fails {
					t.Error(err)
				}
				if got := spent(ctx, s); int(reserved.Load()) != test.reserved || got != test.spent {
					t.Errorf("%d tokens were reserved, want %d; %d are spent, want %d", reserved.Load(), test.reserved, got, test.spent)
				}
			})
		})
	}
}

// TestTooManyTokens checks that a request that needs more tokens than are left reaches no model, for each
// kind of request.
func TestTooManyTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := inferencetest.New()
		engine.AddModel("m", inferencetest.StreamText("x"), inferencetest.WithTemplate())
		engine.AddModel("vectors", inferencetest.Embed(1), map[string]string{"trident.task": "embed"})
		s := inferencetest.Service(t, serving.Config{}, engine)
		ctx := inference.WithClient(t.Context(), &inference.Client{Name: "team", Limits: inference.Limits{TokensPerMinute: 10}})
		long := strings.Repeat("x", 100)
		first := inferencetest.PlainRequest("m")
		first.Sampling.MaxTokens = new(1)
		if err := inferencetest.Collect(ctx, s, first).Failure(); err != nil { // spends 8 of 10
			t.Fatal(err)
		}
		for name, ask := range map[string]func() error{
			"chat":       func() error { return inferencetest.Collect(ctx, s, inferencetest.ChatRequest(1)).Failure() },
			"completion": func() error { return inferencetest.Collect(ctx, s, inferencetest.PlainRequest("m")).Failure() },
			"embedding": func() error {
				_, err := inferencetest.Encode(ctx, s, &inference.EncodeRequest{Model: "vectors", Task: inference.TaskEmbed, Inputs: texts(long)})
				return err
			},
			"stream of tensors": func() error {
				return inferencetest.Last(inferencetest.Forward(ctx, s, inferencetest.EncodedRequest(t, &kserve.ModelInferRequest{ModelName: "m", Id: long})))
			},
			"tensors": func() error {
				return inferencetest.Infer(ctx, s, inference.InferRequestOf(&kserve.ModelInferRequest{ModelName: "m", Id: long}), func(*inference.Response) error { return nil })
			},
		} {
			if e := inference.AsError(ask()); e.Code != inference.CodeLimited || e.RetryAfter <= 0 || !strings.Contains(e.Message, "the limit is 10 tokens per minute, and this request needs 10") {
				t.Errorf("%s: %v", name, e)
			}
		}
		if n := len(engine.Requests()); n != 1 {
			t.Errorf("%d requests reached a model", n)
		}
		if left, _ := s.Admission().Tokens(ctx); left.Remaining != 2 {
			t.Errorf("%+v are left", left)
		}
	})
}
