package admission_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/test/cputime"
)

// atOnce is an engine that answers at once and at no cost.
type atOnce struct{ *inferencetest.Engine }

var final = &inference.Response{Final: true}

// Forward implements [inference.Forwarder].
func (atOnce) Forward(ctx context.Context, _ *inference.InferRequest) iter.Seq2[*inference.Response, error] {
	return func(yield func(*inference.Response, error) bool) {
		if ctx.Done() == nil {
			return
		}
		yield(final, nil)
	}
}

// BenchmarkAdmission measures the cost of the service itself for a request without a wait:
// admission, deadline, meters. The requests come from clients that can disconnect, as in a
// frontend. Compare with benchstat. The metric cpu-ns/op is also valid on a busy machine.
func BenchmarkAdmission(b *testing.B) {
	engine := inferencetest.New()
	engine.AddModel("m", inferencetest.StreamText(""), nil)
	s := inferencetest.Service(b, benchConfig(), atOnce{engine})
	req := inference.InferRequestOf(&kserve.ModelInferRequest{ModelName: "m"})
	run := func(ctx context.Context) {
		for _, err := range s.Forward(ctx, s.ResolveOwn("m"), req) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("alone", func(b *testing.B) {
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		b.ReportAllocs()
		defer cpuTime(b)()
		for b.Loop() {
			run(ctx)
		}
	})
	b.Run("a client each", func(b *testing.B) {
		b.ReportAllocs()
		defer cpuTime(b)()
		for b.Loop() {
			ctx, cancel := context.WithCancel(b.Context())
			run(ctx)
			cancel()
		}
	})
	b.Run("side by side", func(b *testing.B) {
		b.ReportAllocs()
		defer cpuTime(b)()
		b.RunParallel(func(pb *testing.PB) {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			for pb.Next() {
				run(ctx)
			}
		})
	})
}

// cpuTime returns a function that reports the CPU time of the process since the call of cpuTime.
func cpuTime(b *testing.B) func() {
	b.Helper()
	before := cputime.Process(b)
	return func() { b.ReportMetric(float64(cputime.Process(b)-before)/float64(b.N), "cpu-ns/op") }
}

func benchConfig() serving.Config {
	return serving.Config{Bounds: admission.Bounds{Server: inference.Limits{InFlight: 1024}, RequestTimeout: 30 * time.Minute}}
}
