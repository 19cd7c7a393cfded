package serving_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestGenerateJoinsTheStream(t *testing.T) {
	s, engine := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("Hel", "lo", ""), inferencetest.WithTemplate())
	a := inferencetest.Collect(t.Context(), s, inferencetest.ChatRequest(1))
	if a.Err != nil || a.Texts[0] != "Hello" || a.Finish[0] != inference.FinishStop {
		t.Fatalf("got %+v", a)
	}
	if *a.Usage != (inference.Usage{PromptTokens: 7, CompletionTokens: 3}) {
		t.Errorf("usage %+v", *a.Usage)
	}
	if prompt := inferencetest.Input(engine.Requests()[0], "text_input"); prompt != "[user]hi[assistant]" {
		t.Errorf("prompt %q", prompt)
	}
}

// TestGenerateKeepsCodePointsWhole checks that no Delta has a part of a UTF-8 code point, wherever
// the engine's responses split the text.
func TestGenerateKeepsCodePointsWhole(t *testing.T) {
	const text = "aé€😀\x00z"
	for i := range len(text) + 1 {
		for j := i; j <= len(text); j++ {
			s, _ := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText(text[:i], text[i:j], text[j:]), inferencetest.WithTemplate())
			var got strings.Builder
			for d, err := range inferencetest.Generate(t.Context(), s, inferencetest.ChatRequest(1)) {
				if err != nil {
					t.Fatal(err)
				}
				if valid := strings.ToValidUTF8(string(d.Text), "?"); valid != string(d.Text) {
					t.Fatalf("split at %d and %d: piece %q is not whole", i, j, d.Text)
				}
				got.Write(d.Text)
			}
			if got.String() != text {
				t.Fatalf("split at %d and %d: got %q", i, j, got.String())
			}
		}
	}
}

func TestGeneratePassesInvalidUTF8AtTheEnd(t *testing.T) {
	s, _ := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("ok\xe2\x82"), inferencetest.WithTemplate())
	if a := inferencetest.Collect(t.Context(), s, inferencetest.ChatRequest(1)); a.Texts[0] != "ok\xe2\x82" {
		t.Fatalf("got %q", a.Texts[0])
	}
}

// TestStopSequenceStopsTheModel checks that the model is stopped when its backend doesn't apply stop
// sequences.
func TestStopSequenceStopsTheModel(t *testing.T) {
	script := func(ctx context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		for _, text := range []string{"one", " S", "TOP two", " three"} {
			if !send(inferencetest.Token(text, "")) {
				return nil
			}
		}
		<-ctx.Done()
		return ctx.Err()
	}
	for _, tt := range []struct {
		name  string
		steer func(*inference.Sampling)
		want  string
	}{
		{"left out", func(*inference.Sampling) {}, "one "},
		{"kept", func(s *inference.Sampling) { s.IncludeStop = new(true) }, "one STOP"},
		{"not before min_tokens", func(s *inference.Sampling) { s.MinTokens, s.Stop = new(2), []string{"o"} }, "one STOP tw"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, engine := inferencetest.Serve(t, serving.Config{}, script, inferencetest.WithTemplate())
			req := inferencetest.ChatRequest(1)
			req.Sampling.Stop = []string{"STOP"}
			tt.steer(&req.Sampling)
			a := inferencetest.Collect(t.Context(), s, req)
			if a.Err != nil || a.Texts[0] != tt.want || a.Finish[0] != inference.FinishStop || engine.Active() != 0 {
				t.Errorf("got %+v, %d streams are left", a, engine.Active())
			}
			if want := (inference.Usage{PromptTokens: 7, CompletionTokens: 3}); *a.Usage != want {
				t.Errorf("usage %+v", *a.Usage)
			}
		})
	}
}

// TestNoTokenWaitsForTheNext checks that a Delta has More set only because another response has arrived.
// If that response has nothing to show, an empty Delta follows, so that the consumer flushes.
func TestNoTokenWaitsForTheNext(t *testing.T) {
	for _, n := range []int{1, 2} {
		flushed := make(chan struct{})
		script := func(ctx context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
			first := inferencetest.Token("A", "")
			first.More = true
			send(first)
			send(inferencetest.Token("\xe2", "")) // the token is the first of the three bytes of a character
			select {
			case <-flushed:
			case <-ctx.Done():
				return ctx.Err()
			}
			send(inferencetest.Token("\x82\xac", "stop"))
			return nil
		}
		s, _ := inferencetest.Serve(t, serving.Config{}, script, inferencetest.WithTemplate())
		text, waiting := "", true
		for d, err := range inferencetest.Generate(t.Context(), s, inferencetest.ChatRequest(n)) {
			if err != nil {
				t.Fatal(err)
			}
			text += string(d.Text)
			if waiting && !d.More && strings.Count(text, "A") == n {
				waiting = false
				close(flushed) // otherwise the test times out
			}
		}
		if strings.Count(text, "A") != n || strings.Count(text, "€") != n {
			t.Errorf("got %q", text)
		}
	}
}

func TestFinishReasonIsDerivedFromCounts(t *testing.T) {
	silent := func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		for range 3 {
			send(&inference.Response{Outputs: []inference.Output{inferencetest.Bytes("text_output", "x"), inferencetest.Uint32("num_output_tokens", 1)}})
		}
		send(&inference.Response{Final: true})
		return nil
	}
	for limit, want := range map[int]inference.FinishReason{3: inference.FinishLength, 4: inference.FinishStop} {
		s, _ := inferencetest.Serve(t, serving.Config{}, silent, inferencetest.WithTemplate())
		req := inferencetest.ChatRequest(1)
		req.Sampling.MaxTokens = &limit
		if a := inferencetest.Collect(t.Context(), s, req); a.Finish[0] != want || a.Texts[0] != "xxx" {
			t.Errorf("limit %d: finish %q text %q", limit, a.Finish[0], a.Texts[0])
		}
	}
}

func TestFanOut(t *testing.T) {
	var calls atomic.Int32
	script := func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		own := fmt.Sprintf("<%d>", calls.Add(1))
		for range 20 {
			if !send(inferencetest.Token(own, "")) {
				return nil
			}
		}
		send(inferencetest.Token("", "stop"))
		return nil
	}
	s, engine := inferencetest.Serve(t, serving.Config{}, script, inferencetest.WithTemplate())
	const n = 100 // more than maxParallelJobs
	req := inferencetest.ChatRequest(n)
	req.Sampling.Seed = new(int64(5))
	a := inferencetest.Collect(t.Context(), s, req)
	if a.Err != nil || len(a.Texts) != n {
		t.Fatalf("%d choices, error %v", len(a.Texts), a.Err)
	}
	seen := map[string]bool{}
	for i, text := range a.Texts {
		own := text[:strings.Index(text, ">")+1]
		if text != strings.Repeat(own, 20) || seen[own] || a.Finish[i] != inference.FinishStop {
			t.Errorf("choice %d: %q finish %q: texts are mixed", i, text, a.Finish[i])
		}
		seen[own] = true
	}
	if *a.Usage != (inference.Usage{PromptTokens: 7, CompletionTokens: n * 21}) {
		t.Errorf("usage %+v", *a.Usage)
	}
	seeds := map[string]bool{}
	for _, r := range engine.Requests() {
		_, seed, _ := strings.Cut(inferencetest.Input(r, "sampling_parameters"), `"seed":`)
		seeds[strings.SplitN(seed, ",", 2)[0]] = true
	}
	if len(seeds) != n {
		t.Errorf("%d different seeds for %d choices", len(seeds), n)
	}
}

func TestFanOutFailsWithTheFirstError(t *testing.T) {
	var calls atomic.Int32
	broken := &inference.Error{Code: inference.CodeInternal, Message: "out of tokens"}
	script := func(ctx context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		if calls.Add(1) == 3 {
			return broken
		}
		for send(inferencetest.Token("x", "")) {
		}
		return ctx.Err()
	}
	s, engine := inferencetest.Serve(t, serving.Config{}, script, inferencetest.WithTemplate())
	a := inferencetest.Collect(t.Context(), s, inferencetest.ChatRequest(8))
	if a.Err != broken || a.Usage != nil {
		t.Fatalf("error %v usage %v", a.Err, a.Usage)
	}
	if engine.Active() != 0 {
		t.Errorf("%d jobs still run", engine.Active())
	}
}

func TestPanicInAJobFailsItsRequest(t *testing.T) {
	script := func(context.Context, *kserve.ModelInferRequest, func(*inference.Response) bool) error {
		panic("odd model")
	}
	s, _ := inferencetest.Serve(t, serving.Config{}, script, inferencetest.WithTemplate())
	a := inferencetest.Collect(t.Context(), s, inferencetest.ChatRequest(2))
	if a.Err == nil || a.Err.Code != inference.CodeInternal || strings.Contains(a.Err.Message, "odd") {
		t.Fatalf("error %v", a.Err)
	}
}

func TestLeavingStopsTheModel(t *testing.T) {
	for _, n := range []int{1, 4} {
		endless := func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
			for send(inferencetest.Token("x", "")) {
			}
			return nil
		}
		s, engine := inferencetest.Serve(t, serving.Config{}, endless, inferencetest.WithTemplate())
		for range inferencetest.Generate(t.Context(), s, inferencetest.ChatRequest(n)) {
			break
		}
		if engine.Active() != 0 {
			t.Errorf("n=%d: %d jobs still run after the client disconnected", n, engine.Active())
		}
	}
}

// waiting is a model that never answers.
func waiting(ctx context.Context, _ *kserve.ModelInferRequest, _ func(*inference.Response) bool) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestEndsInBoundedTime(t *testing.T) {
	stop := func(s *serving.Service, _ context.CancelFunc) { inferencetest.Drain(s) }
	tests := []struct {
		name string
		n    int
		end  func(s *serving.Service, cancel context.CancelFunc)
		want inference.Code
	}{
		{"the deadline passes", 1, func(*serving.Service, context.CancelFunc) {}, inference.CodeDeadlineExceeded},
		{"the deadline passes in a fan-out", 3, func(*serving.Service, context.CancelFunc) {}, inference.CodeDeadlineExceeded},
		{"the client leaves", 1, func(_ *serving.Service, cancel context.CancelFunc) { cancel() }, inference.CodeCanceled},
		{"the client leaves a fan-out", 3, func(_ *serving.Service, cancel context.CancelFunc) { cancel() }, inference.CodeCanceled},
		{"the server stops", 1, stop, inference.CodeUnavailable},
		{"the server stops during a fan-out", 3, stop, inference.CodeUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, engine := inferencetest.Serve(t, serving.Config{Bounds: admission.Bounds{RequestTimeout: time.Minute}}, waiting, inferencetest.WithTemplate())
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan *inferencetest.Answer)
				go func() { done <- inferencetest.Collect(ctx, s, inferencetest.ChatRequest(tt.n)) }()
				synctest.Wait()
				tt.end(s, cancel)
				a := <-done
				if a.Err == nil || a.Err.Code != tt.want || a.Usage != nil {
					t.Errorf("error %v, want code %v", a.Err, tt.want)
				}
				if engine.Active() != 0 {
					t.Error("the model still runs")
				}
			})
		})
	}
}

func TestDrainLetsRequestsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
			time.Sleep(5 * time.Second) //nolint:forbidigo // synctest's clock
			send(inferencetest.Token("done", "stop"))
			return nil
		}
		s, _ := inferencetest.Serve(t, serving.Config{}, slow, inferencetest.WithTemplate())
		first := make(chan *inferencetest.Answer)
		go func() { first <- inferencetest.Collect(t.Context(), s, inferencetest.ChatRequest(1)) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		drained := make(chan struct{})
		go func() { s.Admission().Drain(ctx); close(drained) }()
		synctest.Wait()
		if a := inferencetest.Collect(t.Context(), s, inferencetest.ChatRequest(1)); a.Err == nil || a.Err.Reason != inference.ReasonShuttingDown {
			t.Errorf("a new request got %+v", a)
		}
		if a := <-first; a.Err != nil || a.Texts[0] != "done" {
			t.Errorf("the request in flight got %+v", a)
		}
		<-drained
		s.Admission().Drain(ctx) // a second drain is harmless
	})
}

func TestEmbeddings(t *testing.T) {
	tests := []struct {
		name       string
		vector     []float32
		dimensions int
		want       []float32
		param      string
	}{
		{"brought to unit length", []float32{3, 4}, 0, []float32{0.6, 0.8}, ""},
		{"cut and brought to unit length", []float32{0, 2, 9}, 2, []float32{0, 1}, ""},
		{"more dimensions than there are", []float32{1, 0}, 3, nil, "dimensions"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := inferencetest.Serve(t, serving.Config{}, inferencetest.Embed(tt.vector...), nil)
			req := &inference.EncodeRequest{
				Model: "m", Task: inference.TaskEmbed, Dimensions: tt.dimensions,
				Inputs: inference.EncodeInputs([]inference.Input{{Text: "a"}, {TokenIDs: []int{1, 2}}}),
			}
			a, err := inferencetest.Encode(t.Context(), s, req)
			if tt.param != "" {
				if err == nil || inference.AsError(err).Param != tt.param {
					t.Fatalf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range req.Inputs {
				if fmt.Sprint(a.Results[i].Vector) != fmt.Sprint(tt.want) {
					t.Errorf("vector %d is %v, want %v", i, a.Results[i].Vector, tt.want)
				}
			}
			if a.Usage != (inference.Usage{PromptTokens: 6}) {
				t.Errorf("usage %+v", a.Usage)
			}
		})
	}
}

func TestMaxTokens(t *testing.T) {
	context100 := map[string]string{"trident.chat_template": inferencetest.ChatTemplate, "trident.context_length": "100"}
	tests := []struct {
		name   string
		cfg    serving.Config
		params map[string]string
		asked  *int
		want   string
		reason inference.Reason
		param  string
	}{
		{"as asked", serving.Config{}, context100, new(5), `"max_tokens":5`, inference.ReasonNone, ""},
		{"the room in the context", serving.Config{}, context100, nil, `"max_tokens":100`, inference.ReasonNone, ""},
		{"the flag", serving.Config{DefaultMaxTokens: 9}, context100, nil, `"max_tokens":9`, inference.ReasonNone, ""},
		{"the model's own", serving.Config{DefaultMaxTokens: 9}, map[string]string{"trident.chat_template": inferencetest.ChatTemplate, "trident.default_max_tokens": "8"}, nil, `"max_tokens":8`, inference.ReasonNone, ""},
		{"unknown context", serving.Config{}, inferencetest.WithTemplate(), nil, `"max_tokens":16`, inference.ReasonNone, ""},
		{"more than the context", serving.Config{}, context100, new(101), "", inference.ReasonContextLength, "max_tokens"},
		{"none at all", serving.Config{}, context100, new(0), "", inference.ReasonInvalidValue, "max_tokens"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, engine := inferencetest.Serve(t, tt.cfg, inferencetest.StreamText("x"), tt.params)
			req := inferencetest.ChatRequest(1)
			req.Sampling.MaxTokens = tt.asked
			a := inferencetest.Collect(t.Context(), s, req)
			if tt.reason != inference.ReasonNone {
				if a.Err == nil || a.Err.Reason != tt.reason || a.Err.Param != tt.param {
					t.Fatalf("got %+v", a.Err)
				}
				return
			}
			if sent := inferencetest.Input(engine.Requests()[0], "sampling_parameters"); !strings.Contains(sent, tt.want) {
				t.Errorf("sent %s, want %s", sent, tt.want)
			}
		})
	}
}

// TestSamplingDefaults checks that the options of the model's configuration reach the model unless the
// request sets them, and that the service reports them.
func TestSamplingDefaults(t *testing.T) {
	params := map[string]string{
		"trident.chat_template": inferencetest.ChatTemplate, "trident.context_length": "100",
		"trident.sampling_defaults": `{"temperature": 0.2, "top_p": 0.9, "top_k": -1, "repetition_penalty": 1.1}`,
	}
	for _, tt := range []struct {
		name     string
		sampling inference.Sampling
		want     string
	}{
		{"none set", inference.Sampling{}, `{"temperature":0.2,"top_p":0.9,"top_k":0,"repetition_penalty":1.1,"max_tokens":100`},
		{
			"zero and others",
			inference.Sampling{Temperature: new(0.0), TopK: new(5), RepetitionPenalty: new(1.0), MinP: new(0.1)},
			`{"temperature":0,"top_p":0.9,"top_k":5,"min_p":0.1,"repetition_penalty":1,"max_tokens":100`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, engine := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("x"), params)
			req := inferencetest.ChatRequest(1)
			req.Sampling = tt.sampling
			if a := inferencetest.Collect(t.Context(), s, req); a.Err != nil {
				t.Fatal(a.Err)
			}
			if sent := inferencetest.Input(engine.Requests()[0], "sampling_parameters"); !strings.HasPrefix(sent, tt.want) {
				t.Errorf("sent %s, want %s", sent, tt.want)
			}
			if req.Sampling.TopP != nil {
				t.Error("the caller's request was changed")
			}
		})
	}
}

func TestNoTemplate(t *testing.T) {
	s, _ := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("x"), nil)
	a := inferencetest.Collect(t.Context(), s, inferencetest.ChatRequest(1))
	if a.Err == nil || a.Err.Param != "messages" || !strings.Contains(a.Err.Message, "trident.chat_template") {
		t.Fatalf("got %v", a.Err)
	}
}

// TestInfer checks that Infer passes on the only response of a model that isn't decoupled, and that
// it refuses another number of responses and decoupled models.
func TestInfer(t *testing.T) {
	engine := inferencetest.New()
	for name, script := range map[string]inferencetest.Script{
		"one": respondWith(false, []string{"a"}), "two": respondWith(false, []string{"a"}, []string{"b"}), "none": respondWith(true),
	} {
		config := plainModel(nil)
		config.Name, config.ModelTransactionPolicy = name, nil
		engine.AddOther(name, config, script)
	}
	engine.AddModel("decoupled", inferencetest.StreamText("a"), nil)
	s := inferencetest.Service(t, serving.Config{}, engine)
	for model, want := range map[string]string{
		"one": "", "two": "expected a single response, got 2", "none": "expected a single response, got 0",
		"decoupled": "ModelInfer RPC doesn't support models with decoupled transaction policy",
	} {
		var texts []string
		err := inferencetest.Infer(t.Context(), s, inference.InferRequestOf(&kserve.ModelInferRequest{ModelName: model}), func(resp *inference.Response) error {
			texts = append(texts, string(resp.Outputs[0].Raw))
			return nil
		})
		if want == "" && (err != nil || len(texts) != 1 || texts[0] != string(inferencetest.Bytes("", "a").Raw)) {
			t.Errorf("%s: responses %q, %v", model, texts, err)
		}
		if want != "" && (err == nil || inference.AsError(err).Message != want) {
			t.Errorf("%s: got %v, want %s", model, err, want)
		}
	}
}

func TestForward(t *testing.T) {
	s, _ := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("a", "b"), nil)
	var n int
	for resp, err := range inferencetest.Forward(t.Context(), s, inference.InferRequestOf(&kserve.ModelInferRequest{ModelName: "m"})) {
		if err != nil {
			t.Fatal(err)
		}
		if resp.Outputs[0].Name != "text_output" {
			t.Errorf("output %s", resp.Outputs[0].Name)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d responses", n)
	}
	for _, err := range inferencetest.Forward(t.Context(), s, inference.InferRequestOf(&kserve.ModelInferRequest{ModelName: "nope"})) {
		if inference.AsError(err).Code != inference.CodeNotFound {
			t.Errorf("unknown model: %v", err)
		}
	}
}
