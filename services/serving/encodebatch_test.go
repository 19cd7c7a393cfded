package serving_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/batching"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/test/pause"
)

// TestEncodeBatches checks that the inputs of waiting requests go to the model together, that one request
// at a time runs on one instance, and that a model with a dynamic batcher gets each request apart.
func TestEncodeBatches(t *testing.T) {
	for _, dynamic := range []bool{false, true} {
		config := inferencetest.EncoderConfig("m", 64, "last_hidden_state", -1, 2)
		if dynamic {
			config.SchedulingChoice = &kserve.ModelConfig_DynamicBatching{DynamicBatching: &kserve.ModelDynamicBatching{}}
		}
		free, started := make(chan struct{}), make(chan struct{}, 100)
		engine := inferencetest.New()
		for key, value := range encoderParameters(t) {
			config.Parameters[key] = &kserve.ModelParameter{StringValue: value}
		}
		answer := inferencetest.Encoder(config.GetOutput()[0], perToken)
		engine.AddOther("m", config, func(ctx context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
			started <- struct{}{}
			<-free
			return answer(ctx, req, send)
		})
		s := inferencetest.Service(t, serving.Default(), engine)
		var all sync.WaitGroup
		send := func(list ...string) {
			all.Go(func() {
				a, err := inferencetest.Encode(t.Context(), s, &inference.EncodeRequest{Model: "m", Task: inference.TaskEmbed, Inputs: texts(list...), Normalize: new(false)})
				if err != nil || len(a.Results) != len(list) {
					t.Errorf("got %+v, %v", a, err)
				}
			})
		}
		send("ab")
		<-started
		if !dynamic {
			for range 20 {
				send("a", "b")
			}
			waitFor(t, func() bool { return waitingItems(s) == 40 })
		} else {
			send("a", "b")
			<-started
		}
		close(free)
		all.Wait()
		var sizes []int
		for _, req := range engine.Requests() {
			sizes = append(sizes, int(req.GetInputs()[0].GetShape()[0]))
		}
		if want := map[bool][]int{false: {1, 40}, true: {1, 2}}[dynamic]; !slices.Equal(sizes, want) {
			t.Errorf("dynamic %v: batches of %v", dynamic, sizes)
		}
	}
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	if !pause.Until(10*time.Second, holds) {
		t.Fatal("the condition doesn't hold after 10 s")
	}
}

// TestEncodeSizes checks that the batches of a request have the preferred numbers of texts and the lengths of the settings,
// also if Triton batches the requests.
func TestEncodeSizes(t *testing.T) {
	for _, dynamic := range []bool{false, true} {
		config := inferencetest.EncoderConfig("m", 64, "last_hidden_state", -1, 2)
		settings := []string{"pad_to_lengths", "4,16", "context_length", "16"}
		if dynamic {
			config.SchedulingChoice = &kserve.ModelConfig_DynamicBatching{DynamicBatching: &kserve.ModelDynamicBatching{PreferredBatchSize: []int32{2, 3}}}
		} else {
			settings = append(settings, "preferred_batch_sizes", "2,3")
		}
		s, engine := serveEncoder(t, config, perToken, settings...)
		short, long := slices.Repeat([]string{"ab"}, 5), slices.Repeat([]string{"abababab"}, 2)
		req := &inference.EncodeRequest{Model: "m", Task: inference.TaskEmbed, Inputs: texts(append(short, long...)...), Normalize: new(false)}
		if a, err := inferencetest.Encode(t.Context(), s, req); err != nil || len(a.Results) != 7 {
			t.Fatalf("got %+v, %v", a, err)
		}
		var shapes []string
		for _, sent := range engine.Requests() {
			shapes = append(shapes, fmt.Sprint(sent.GetInputs()[0].GetShape()))
		}
		slices.Sort(shapes)
		if got := strings.Join(shapes, " "); got != "[1 4] [3 16] [3 4]" { // a small batch may have padding
			t.Errorf("dynamic %v: batches of %s", dynamic, got)
		}
		if !dynamic {
			s.EncoderFigures(func(_ string, f batching.Figures) {
				if f.Length != 5*2+2*5 || f.Padded != 3*16+3*4+4 {
					t.Errorf("figures %+v", f)
				}
			})
		}
	}
}

// TestEncodeCanceled checks that the end of the only client of a batch cancels it in the model.
func TestEncodeCanceled(t *testing.T) {
	config := inferencetest.EncoderConfig("m", 64, "last_hidden_state", -1, 2)
	for key, value := range encoderParameters(t) {
		config.Parameters[key] = &kserve.ModelParameter{StringValue: value}
	}
	started, ended := make(chan struct{}), make(chan struct{})
	engine := inferencetest.New()
	engine.AddOther("m", config, func(ctx context.Context, _ *kserve.ModelInferRequest, _ func(*inference.Response) bool) error {
		close(started)
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	})
	s := inferencetest.Service(t, serving.Default(), engine)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	_, err := inferencetest.Encode(ctx, s, &inference.EncodeRequest{Model: "m", Task: inference.TaskEmbed, Inputs: texts("a", "b")})
	if e := inference.AsError(err); err == nil || e.Code != inference.CodeCanceled {
		t.Errorf("got %v", err)
	}
	select {
	case <-ended:
	default:
		t.Error("Encode returned before the batch ended")
	}
	if n := waitingItems(s); n != 0 {
		t.Errorf("%d inputs wait", n)
	}
}

// TestEncodeSpans checks that a batch is a span of its request, with its size, around the span of the engine.
func TestEncodeSpans(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	ctx, request := trace.NewTracerProvider(trace.WithSpanProcessor(recorder)).Tracer("test").Start(t.Context(), "request")
	s, _ := serveEncoder(t, inferencetest.EncoderConfig("m", 8, "last_hidden_state", -1, 2), perToken)
	if _, err := inferencetest.Encode(ctx, s, &inference.EncodeRequest{Model: "m", Task: inference.TaskEmbed, Inputs: texts("ab", "b")}); err != nil {
		t.Fatal(err)
	}
	request.End()
	parents, spans := map[string]string{}, map[string]trace.ReadOnlySpan{}
	names := map[string]string{request.SpanContext().SpanID().String(): "request"}
	for _, span := range recorder.Ended() {
		names[span.SpanContext().SpanID().String()], spans[span.Name()] = span.Name(), span
	}
	for name, span := range spans {
		parents[name] = names[span.Parent().SpanID().String()]
	}
	if parents["engine"] != "batch" || parents["batch"] == "" || parents["batch"] == "engine" {
		t.Fatalf("parents %v", parents)
	}
	if got := fmt.Sprint(spans["batch"].Attributes()); !strings.Contains(got, "trident.batch.inputs") || !strings.Contains(got, "trident.batch.tokens") {
		t.Errorf("attributes %s", got)
	}
}

// TestEncodeIsolates checks that a model's error about one client's text doesn't fail another client's in
// the same batch.
func TestEncodeIsolates(t *testing.T) {
	config := inferencetest.EncoderConfig("m", 64, "last_hidden_state", -1, 2)
	for key, value := range encoderParameters(t) {
		config.Parameters[key] = &kserve.ModelParameter{StringValue: value}
	}
	free := make(chan struct{})
	started := make(chan struct{}, 10)
	engine := inferencetest.New()
	answer := inferencetest.Encoder(config.GetOutput()[0], perToken)
	engine.AddOther("m", config, func(ctx context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		started <- struct{}{}
		<-free
		for _, ids := range inferencetest.Sequences(req) {
			if slices.Contains(ids, 0) {
				return &inference.Error{Code: inference.CodeInvalid, Message: "no a"}
			}
		}
		return answer(ctx, req, send)
	})
	s := inferencetest.Service(t, serving.Default(), engine)
	var all sync.WaitGroup
	send := func(text, want string) {
		all.Go(func() {
			_, err := inferencetest.Encode(t.Context(), s, &inference.EncodeRequest{Model: "m", Task: inference.TaskEmbed, Inputs: texts(text)})
			if got := fmt.Sprint(err); got != want {
				t.Errorf("%s: got %s, want %s", text, got, want)
			}
		})
	}
	send("ab", "<nil>")
	<-started
	send("a", "no a")
	send("b", "<nil>")
	waitFor(t, func() bool { return waitingItems(s) == 2 })
	close(free)
	all.Wait()
	if n := len(engine.Requests()); n != 4 {
		t.Errorf("%d requests to the model, want 4: the first, the batch, and each of its clients", n)
	}
}

// waitingItems returns the number of inputs that wait in the queues of all encoders.
func waitingItems(s *serving.Service) int {
	n := 0
	s.EncoderFigures(func(_ string, f batching.Figures) { n += f.Waiting })
	return n
}

// BenchmarkEncode measures Trident's work for a text of 100 tokens and 384 dimensions: the tensors of its
// tokens, the queue, the pooling and the normalization, for a model that takes no time. Subtract
// BenchmarkEncode/tokenize, which is the tokenization alone.
func BenchmarkEncode(b *testing.B) {
	const tokens, columns, inputs = 100, 384, 32
	raw := make([]byte, inputs*tokens*columns*4)
	for i := range raw {
		raw[i] = byte(i%23) + 1
	}
	config := inferencetest.EncoderConfig("m", inputs, "last_hidden_state", -1, columns)
	for key, value := range encoderParameters(b, "context_length", "512") {
		config.Parameters[key] = &kserve.ModelParameter{StringValue: value}
	}
	engine := inferencetest.New()
	engine.AddOther("m", config, func(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		shape := []int64{req.GetInputs()[0].GetShape()[0], tokens, columns}
		send(&inference.Response{Final: true, Outputs: []inference.Output{{Name: "last_hidden_state", Type: "FP32", Shape: shape, Raw: raw[:shape[0]*tokens*columns*4]}}})
		return nil
	})
	s := inferencetest.Service(b, serving.Default(), engine)
	if err := s.Catalog().Refresh(b.Context()); err != nil {
		b.Fatal(err)
	}
	req := &inference.EncodeRequest{Model: "m", Task: inference.TaskEmbed, Inputs: texts(slices.Repeat([]string{strings.Repeat("ab", tokens-1)}, inputs)...)}
	model := s.Resolve("m")
	tokenizer := model.Card.Tokenizer.(inference.SequenceEncoder)
	b.Run("whole", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			if n%inputs != 0 { // a request has several texts
				continue
			}
			if a, err := inferencetest.Encode(b.Context(), s, req); err != nil || a.Usage.PromptTokens != inputs*tokens {
				b.Fatal(err)
			}
		}
	})
	b.Run("tokenize", func(b *testing.B) {
		for b.Loop() {
			if _, err := tokenizer.Sequence(b.Context(), inference.Texts{First: req.Inputs[0].Text}, inference.SequenceOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
