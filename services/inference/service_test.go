package inference_test

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
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var withTemplate = map[string]string{"trident.chat_template": inferencetest.ChatTemplate}

// serve makes a service over an engine with one model m.
func serve(t *testing.T, cfg inference.Config, script inferencetest.Script, params map[string]string) (*inference.Service, *inferencetest.Engine) {
	t.Helper()
	engine := inferencetest.New()
	engine.AddModel("m", script, params)
	return inferencetest.Service(t, cfg, engine), engine
}

func chatRequest(n int) *inference.Request {
	return &inference.Request{
		Model: "m", Task: inference.TaskGenerate, N: n, Stream: true,
		Messages: []inference.Message{{Role: "user", Text: "hi"}},
	}
}

// answer is what a request said, by choice.
type answer struct {
	texts   map[int]string
	finish  map[int]inference.FinishReason
	vectors map[int][]float32
	usage   *inference.Usage
	err     *inference.Error
}

func collect(ctx context.Context, s *inference.Service, req *inference.Request) answer {
	a := answer{texts: map[int]string{}, finish: map[int]inference.FinishReason{}, vectors: map[int][]float32{}}
	for d, err := range s.Generate(ctx, req) {
		switch {
		case err != nil:
			a.err = inference.AsError(err)
		case d.Usage != nil:
			u := *d.Usage
			a.usage = &u
		case d.Embedding != nil:
			a.vectors[d.Index] = append([]float32(nil), d.Embedding...)
		default:
			a.texts[d.Index] += string(d.Text)
			if d.Finish != inference.FinishNone {
				a.finish[d.Index] += d.Finish // twice would show
			}
		}
	}
	return a
}

func TestGenerateJoinsTheStream(t *testing.T) {
	s, engine := serve(t, inference.Config{}, inferencetest.Say("Hel", "lo", ""), withTemplate)
	a := collect(t.Context(), s, chatRequest(1))
	if a.err != nil || a.texts[0] != "Hello" || a.finish[0] != inference.FinishStop {
		t.Fatalf("got %+v", a)
	}
	if *a.usage != (inference.Usage{PromptTokens: 7, CompletionTokens: 3}) {
		t.Errorf("usage %+v", *a.usage)
	}
	if prompt := inferencetest.Input(engine.Requests()[0], "text_input"); prompt != "[user]hi[assistant]" {
		t.Errorf("prompt %q", prompt)
	}
}

// TestGenerateKeepsCodePointsWhole splits a text at every pair of bytes.
func TestGenerateKeepsCodePointsWhole(t *testing.T) {
	const text = "aé€😀\x00z"
	for i := range len(text) + 1 {
		for j := i; j <= len(text); j++ {
			s, _ := serve(t, inference.Config{}, inferencetest.Say(text[:i], text[i:j], text[j:]), withTemplate)
			var got strings.Builder
			for d, err := range s.Generate(t.Context(), chatRequest(1)) {
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
	s, _ := serve(t, inference.Config{}, inferencetest.Say("ok\xe2\x82"), withTemplate)
	if a := collect(t.Context(), s, chatRequest(1)); a.texts[0] != "ok\xe2\x82" {
		t.Fatalf("got %q", a.texts[0])
	}
}

// TestNoTokenWaitsForTheNext: a Delta says that more is to come because another
// response is here; when that shows nothing, the consumer is told to flush.
// TestStopTextStopsTheModel: a backend that lets a stop text through is left there.
func TestStopTextStopsTheModel(t *testing.T) {
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
			s, engine := serve(t, inference.Config{}, script, withTemplate)
			req := chatRequest(1)
			req.Sampling.Stop = []string{"STOP"}
			tt.steer(&req.Sampling)
			a := collect(t.Context(), s, req)
			if a.err != nil || a.texts[0] != tt.want || a.finish[0] != inference.FinishStop || engine.Active() != 0 {
				t.Errorf("got %+v, %d streams are left", a, engine.Active())
			}
			if want := (inference.Usage{PromptTokens: 7, CompletionTokens: 3}); *a.usage != want {
				t.Errorf("usage %+v", *a.usage)
			}
		})
	}
}

func TestNoTokenWaitsForTheNext(t *testing.T) {
	for _, n := range []int{1, 2} {
		flushed := make(chan struct{})
		script := func(ctx context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
			first := inferencetest.Token("A", "")
			first.More = true
			send(first)
			send(inferencetest.Token("\xe2", "")) // a third of a character
			select {
			case <-flushed:
			case <-ctx.Done():
				return ctx.Err()
			}
			send(inferencetest.Token("\x82\xac", "stop"))
			return nil
		}
		s, _ := serve(t, inference.Config{}, script, withTemplate)
		text, waiting := "", true
		for d, err := range s.Generate(t.Context(), chatRequest(n)) {
			if err != nil {
				t.Fatal(err)
			}
			text += string(d.Text)
			if waiting && !d.More && strings.Count(text, "A") == n {
				waiting = false
				close(flushed) // or the test times out
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
		s, _ := serve(t, inference.Config{}, silent, withTemplate)
		req := chatRequest(1)
		req.Sampling.MaxTokens = &limit
		if a := collect(t.Context(), s, req); a.finish[0] != want || a.texts[0] != "xxx" {
			t.Errorf("limit %d: finish %q text %q", limit, a.finish[0], a.texts[0])
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
	s, engine := serve(t, inference.Config{}, script, withTemplate)
	const n = 100 // more than run at once
	req := chatRequest(n)
	req.Sampling.Seed = new(int64(5))
	a := collect(t.Context(), s, req)
	if a.err != nil || len(a.texts) != n {
		t.Fatalf("%d choices, error %v", len(a.texts), a.err)
	}
	seen := map[string]bool{}
	for i, text := range a.texts {
		own := text[:strings.Index(text, ">")+1]
		if text != strings.Repeat(own, 20) || seen[own] || a.finish[i] != inference.FinishStop {
			t.Errorf("choice %d: %q finish %q: texts are mixed", i, text, a.finish[i])
		}
		seen[own] = true
	}
	if *a.usage != (inference.Usage{PromptTokens: 7, CompletionTokens: n * 21}) {
		t.Errorf("usage %+v", *a.usage)
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
	s, engine := serve(t, inference.Config{}, script, withTemplate)
	a := collect(t.Context(), s, chatRequest(8))
	if a.err != broken || a.usage != nil {
		t.Fatalf("error %v usage %v", a.err, a.usage)
	}
	if engine.Active() != 0 {
		t.Errorf("%d jobs still run", engine.Active())
	}
}

func TestPanicInAJobIsThatRequestsError(t *testing.T) {
	script := func(context.Context, *kserve.ModelInferRequest, func(*inference.Response) bool) error {
		panic("odd model")
	}
	s, _ := serve(t, inference.Config{}, script, withTemplate)
	a := collect(t.Context(), s, chatRequest(2))
	if a.err == nil || a.err.Code != inference.CodeInternal || strings.Contains(a.err.Message, "odd") {
		t.Fatalf("error %v", a.err)
	}
}

func TestLeavingStopsTheModel(t *testing.T) {
	for _, n := range []int{1, 4} {
		endless := func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
			for send(inferencetest.Token("x", "")) {
			}
			return nil
		}
		s, engine := serve(t, inference.Config{}, endless, withTemplate)
		for range s.Generate(t.Context(), chatRequest(n)) {
			break
		}
		if engine.Active() != 0 {
			t.Errorf("n=%d: %d jobs still run after the client left", n, engine.Active())
		}
	}
}

// waiting is a model that never answers.
func waiting(ctx context.Context, _ *kserve.ModelInferRequest, _ func(*inference.Response) bool) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestEndsInBoundedTime(t *testing.T) {
	tests := []struct {
		name string
		n    int
		end  func(s *inference.Service, cancel context.CancelFunc)
		want inference.Code
	}{
		{"the deadline passes", 1, func(*inference.Service, context.CancelFunc) {}, inference.CodeDeadlineExceeded},
		{"the deadline passes in a fan-out", 3, func(*inference.Service, context.CancelFunc) {}, inference.CodeDeadlineExceeded},
		{"the client leaves", 1, func(_ *inference.Service, cancel context.CancelFunc) { cancel() }, inference.CodeCanceled},
		{"the client leaves a fan-out", 3, func(_ *inference.Service, cancel context.CancelFunc) { cancel() }, inference.CodeCanceled},
		{"the server stops", 1, stopNow, inference.CodeUnavailable},
		{"the server stops during a fan-out", 3, stopNow, inference.CodeUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, engine := serve(t, inference.Config{Bounds: inference.Bounds{RequestTimeout: time.Minute}}, waiting, withTemplate)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan answer)
				go func() { done <- collect(ctx, s, chatRequest(tt.n)) }()
				synctest.Wait()
				tt.end(s, cancel)
				a := <-done
				if a.err == nil || a.err.Code != tt.want || a.usage != nil {
					t.Errorf("error %v, want code %v", a.err, tt.want)
				}
				if engine.Active() != 0 {
					t.Error("the model still runs")
				}
			})
		})
	}
}

func stopNow(s *inference.Service, _ context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s.Admission().Drain(ctx)
}

func TestDrainLetsRequestsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
			time.Sleep(5 * time.Second) //nolint:forbidigo // synctest's clock
			send(inferencetest.Token("done", "stop"))
			return nil
		}
		s, _ := serve(t, inference.Config{}, slow, withTemplate)
		first := make(chan answer)
		go func() { first <- collect(t.Context(), s, chatRequest(1)) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		drained := make(chan struct{})
		go func() { s.Admission().Drain(ctx); close(drained) }()
		synctest.Wait()
		if a := collect(t.Context(), s, chatRequest(1)); a.err == nil || a.err.Reason != inference.ReasonShuttingDown {
			t.Errorf("a new request got %+v", a)
		}
		if a := <-first; a.err != nil || a.texts[0] != "done" {
			t.Errorf("the request in flight got %+v", a)
		}
		<-drained
		s.Admission().Drain(ctx) // once more is harmless
	})
}

func TestAdmissionRefusesTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := serve(t, inference.Config{Bounds: inference.Bounds{Server: inference.Limits{InFlight: 2, Queued: inference.NoQueue}}}, waiting, withTemplate)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		done := make(chan answer)
		for range 2 {
			go func() { done <- collect(ctx, s, chatRequest(1)) }()
		}
		synctest.Wait()
		a := collect(ctx, s, chatRequest(1))
		if a.err == nil || a.err.Code != inference.CodeOverloaded || a.err.RetryAfter == 0 {
			t.Errorf("the third got %v", a.err)
		}
		cancel()
		<-done
		<-done
		if a := collect(ctx, s, chatRequest(1)); a.err.Code == inference.CodeOverloaded {
			t.Error("places are not given back")
		}
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
			s, _ := serve(t, inference.Config{}, inferencetest.Embed(tt.vector...), nil)
			req := &inference.Request{
				Model: "m", Task: inference.TaskEmbed, Dimensions: tt.dimensions,
				Inputs: []inference.Input{{Text: "a"}, {TokenIDs: []int{1, 2}}},
			}
			a := collect(t.Context(), s, req)
			if tt.param != "" {
				if a.err == nil || a.err.Param != tt.param {
					t.Fatalf("got %v", a.err)
				}
				return
			}
			for i := range req.Inputs {
				if fmt.Sprint(a.vectors[i]) != fmt.Sprint(tt.want) {
					t.Errorf("vector %d is %v, want %v", i, a.vectors[i], tt.want)
				}
			}
			if *a.usage != (inference.Usage{PromptTokens: 6}) {
				t.Errorf("usage %+v", *a.usage)
			}
		})
	}
}

func TestMaxTokens(t *testing.T) {
	context100 := map[string]string{"trident.chat_template": inferencetest.ChatTemplate, "trident.context_length": "100"}
	tests := []struct {
		name   string
		cfg    inference.Config
		params map[string]string
		asked  *int
		want   string
		reason string
		param  string
	}{
		{"as asked", inference.Config{}, context100, new(5), `"max_tokens":5`, "", ""},
		{"the room in the context", inference.Config{}, context100, nil, `"max_tokens":100`, "", ""},
		{"the flag", inference.Config{DefaultMaxTokens: 9}, context100, nil, `"max_tokens":9`, "", ""},
		{"the model's own", inference.Config{DefaultMaxTokens: 9}, map[string]string{"trident.chat_template": inferencetest.ChatTemplate, "trident.default_max_tokens": "8"}, nil, `"max_tokens":8`, "", ""},
		{"unknown context", inference.Config{}, withTemplate, nil, `"max_tokens":16`, "", ""},
		{"more than the context", inference.Config{}, context100, new(101), "", inference.ReasonContextLength, "messages"},
		{"none at all", inference.Config{}, context100, new(0), "", inference.ReasonInvalidValue, "max_tokens"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, engine := serve(t, tt.cfg, inferencetest.Say("x"), tt.params)
			req := chatRequest(1)
			req.Sampling.MaxTokens = tt.asked
			a := collect(t.Context(), s, req)
			if tt.reason != "" {
				if a.err == nil || a.err.Reason != tt.reason || a.err.Param != tt.param {
					t.Fatalf("got %+v", a.err)
				}
				return
			}
			if sent := inferencetest.Input(engine.Requests()[0], "sampling_parameters"); !strings.Contains(sent, tt.want) {
				t.Errorf("sent %s, want %s", sent, tt.want)
			}
		})
	}
}

func TestNoTemplate(t *testing.T) {
	s, _ := serve(t, inference.Config{}, inferencetest.Say("x"), nil)
	a := collect(t.Context(), s, chatRequest(1))
	if a.err == nil || a.err.Param != "messages" || !strings.Contains(a.err.Message, "trident.chat_template") {
		t.Fatalf("got %v", a.err)
	}
}

func TestForward(t *testing.T) {
	s, _ := serve(t, inference.Config{}, inferencetest.Say("a", "b"), nil)
	var n int
	for resp, err := range s.Forward(t.Context(), inference.InferRequestOf(&kserve.ModelInferRequest{ModelName: "m"})) {
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
	for _, err := range s.Forward(t.Context(), inference.InferRequestOf(&kserve.ModelInferRequest{ModelName: "nope"})) {
		if inference.AsError(err).Code != inference.CodeNotFound {
			t.Errorf("unknown model: %v", err)
		}
	}
}
