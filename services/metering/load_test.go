package metering_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/metering"
	"github.com/trident-inference/trident/services/serving"
)

// paced streams 11 tokens: the first after 400 ms, each further one after 20 ms.
func paced(ctx context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
	for i := range 11 {
		wait, finish := 20*time.Millisecond, ""
		if i == 0 {
			wait = 400 * time.Millisecond
		}
		if i == 10 {
			finish = "length"
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
		if !send(inferencetest.Token("x", finish)) {
			return nil
		}
	}
	return nil
}

// near reports whether two times are equal within the error of a quantile.
func near(got, want time.Duration) bool { return got >= want*15/16 && got <= want*17/16 }

func TestLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := inferencetest.Serve(t, serving.Config{}, paced, inferencetest.WithTemplate())
		synctest.Wait()
		ended := make(chan *inferencetest.Answer)
		go func() { ended <- inferencetest.Collect(t.Context(), s, inferencetest.ChatRequest(2)) }()
		<-time.After(200 * time.Millisecond)
		if total, models := s.Meters().Load(t.Context()); total.InFlight != 1 || total.Queued != 1 || len(models) != 1 || models[0].Model != "m" || models[0].Queued != 1 {
			t.Errorf("before the first token: %+v, %+v", total, models)
		}
		<-time.After(310 * time.Millisecond)
		if total, _ := s.Meters().Load(t.Context()); total.InFlight != 1 || total.Queued != 0 || total.CompletionTokens != 12 {
			t.Errorf("in the stream: %+v", total)
		}
		if a := <-ended; a.Err != nil || a.Usage.CompletionTokens != 22 {
			t.Fatalf("%+v", a)
		}
		_ = inferencetest.Collect(t.Context(), s, &inference.Request{Model: "none", Task: inference.TaskGenerate})
		<-time.After(390 * time.Millisecond)
		total, models := s.Meters().Load(t.Context())
		for name, load := range map[string]metering.Load{"total": total, "m": models[0].Load} {
			if load.InFlight != 0 || load.Queued != 0 || load.CompletionTokens != 22 || load.PromptTokens != 7 {
				t.Errorf("%s: %+v", name, load)
			}
			if q := load.FirstToken; q.Count != 1 || !near(q.P50, 400*time.Millisecond) || !near(q.P99, 400*time.Millisecond) {
				t.Errorf("%s: first tokens %+v", name, q)
			}
			if q := load.InterToken; q.Count != 20 || !near(q.P50, 20*time.Millisecond) || !near(q.P99, 20*time.Millisecond) {
				t.Errorf("%s: between tokens %+v", name, q)
			}
			if load.TokensPerSecond != 22 { // 600 ms have passed since the first token; the period is at least a second
				t.Errorf("%s: %v tokens/s", name, load.TokensPerSecond)
			}
		}
		if total.Requests != 2 || total.Failures != 1 || models[0].Requests != 1 || models[0].Failures != 0 || len(models) != 1 {
			t.Errorf("%+v, %+v", total, models)
		}
		<-time.After(time.Minute)
		if total, _ := s.Meters().Load(t.Context()); total.TokensPerSecond != 0 || total.FirstToken.Count != 0 || total.InterToken.Count != 0 || total.CompletionTokens != 22 {
			t.Errorf("a minute later: %+v", total)
		}
	})
}

// TestLoadOfLeaving checks that a client's disconnect counts as a failure, and that no request
// stays in flight.
func TestLoadOfLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := inferencetest.Serve(t, serving.Config{}, paced, inferencetest.WithTemplate())
		synctest.Wait()
		ctx, leave := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer leave()
		_ = inferencetest.Collect(ctx, s, inferencetest.ChatRequest(1))
		if total, models := s.Meters().Load(t.Context()); total.InFlight != 0 || total.Queued != 0 || total.Failures != 1 || models[0].Failures != 1 || models[0].Queued != 0 {
			t.Errorf("%+v, %+v", total, models)
		}
	})
}

// TestLoadWithoutStream checks that Load has no times to first token or between tokens for
// non-streaming responses.
func TestLoadWithoutStream(t *testing.T) {
	s, _ := inferencetest.Serve(t, serving.Config{}, inferencetest.StreamText("a", "b"), inferencetest.WithTemplate())
	req := inferencetest.ChatRequest(1)
	req.Stream = false
	if a := inferencetest.Collect(t.Context(), s, req); a.Err != nil {
		t.Fatal(a.Err)
	}
	if total, _ := s.Meters().Load(t.Context()); total.CompletionTokens != 2 || total.FirstToken.Count != 0 || total.InterToken.Count != 0 {
		t.Errorf("%+v", total)
	}
}

// TestLoadOfClients checks that a client sees only the load of its models.
func TestLoadOfClients(t *testing.T) {
	s := inferencetest.Service(t, serving.Config{}, inferencetest.EngineWithManyNames())
	for _, model := range []string{"plain", "other"} {
		if a := inferencetest.Collect(t.Context(), s, inferencetest.PlainRequest(model)); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	_, all := s.Meters().Load(t.Context())
	_, own := s.Meters().Load(inference.WithClient(t.Context(), &inference.Client{Models: []string{"other"}}))
	if len(all) != 2 || len(own) != 1 || own[0].Model != "other" {
		t.Errorf("all are %v, its own %v", all, own)
	}
}
