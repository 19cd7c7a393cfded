package serving_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// recordingEngine is an engine that records its requests, decoded from the wire.
type recordingEngine struct {
	*inferencetest.Engine

	got *kserve.ModelInferRequest
}

// Forward implements [inference.Forwarder].
func (k *recordingEngine) Forward(_ context.Context, m *inference.InferRequest) iter.Seq2[*inference.Response, error] {
	return func(yield func(*inference.Response, error) bool) {
		k.got = &kserve.ModelInferRequest{}
		if err := proto.Unmarshal(m.Encoded().Materialize(), k.got); err != nil {
			yield(nil, err)
			return
		}
		yield(&inference.Response{Final: true}, nil)
	}
}

// TestTimeoutForTriton checks that a model whose queue applies timeouts receives the remaining time,
// unless the client has set a timeout.
func TestTimeoutForTriton(t *testing.T) {
	override := &kserve.ModelQueuePolicy{AllowTimeoutOverride: true}
	batching := func(b *kserve.ModelDynamicBatching) func(*kserve.ModelConfig) {
		return func(c *kserve.ModelConfig) {
			c.SchedulingChoice = &kserve.ModelConfig_DynamicBatching{DynamicBatching: b}
		}
	}
	given := map[string]*kserve.InferParameter{"timeout": {ParameterChoice: &kserve.InferParameter_Int64Param{Int64Param: 7}}}
	for _, tt := range []struct {
		name   string
		config func(*kserve.ModelConfig)
		given  map[string]*kserve.InferParameter
		limit  time.Duration
		want   int64
	}{
		{"heeded", batching(&kserve.ModelDynamicBatching{DefaultQueuePolicy: override}), nil, 0, 60_000_000},
		{"heeded at a level", batching(&kserve.ModelDynamicBatching{PriorityQueuePolicy: map[uint64]*kserve.ModelQueuePolicy{2: override}}), nil, 0, 60_000_000},
		{"the client's deadline", batching(&kserve.ModelDynamicBatching{DefaultQueuePolicy: override}), nil, time.Second, 1_000_000},
		{"the client's own", batching(&kserve.ModelDynamicBatching{DefaultQueuePolicy: override}), given, 0, 7},
		{"not heeded", batching(&kserve.ModelDynamicBatching{}), nil, 0, 0},
		{"no batching", func(*kserve.ModelConfig) {}, nil, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				engine := &recordingEngine{Engine: inferencetest.New()}
				engine.AddModel("m", inferencetest.StreamText("x"), nil)
				engine.Configure("m", tt.config)
				s := inferencetest.Service(t, serving.Config{Bounds: admission.Bounds{RequestTimeout: time.Minute}}, engine)
				synctest.Wait()
				ctx := t.Context()
				if tt.limit > 0 {
					limited, cancel := context.WithTimeout(ctx, tt.limit)
					defer cancel()
					ctx = limited
				}
				want := &kserve.ModelInferRequest{ModelName: "m", Parameters: tt.given, RawInputContents: [][]byte{{1, 2}}}
				m := inferencetest.EncodedRequest(t, want)
				for _, err := range inferencetest.Forward(ctx, s, m) {
					if err != nil {
						t.Fatal(err)
					}
				}
				if got := engine.got.GetParameters()["timeout"].GetInt64Param(); got != tt.want || len(engine.got.GetRawInputContents()) != 1 {
					t.Errorf("the engine got %v", engine.got)
				}
				req := &inference.Request{Model: "m", Task: inference.TaskGenerate, Prompts: []inference.Input{{Text: "x"}}}
				if a := inferencetest.Collect(ctx, s, req); a.Err != nil {
					t.Fatal(a.Err)
				}
				sent := engine.Requests()[0].GetParameters()["timeout"].GetInt64Param()
				if tt.given == nil && sent != tt.want {
					t.Errorf("a text's request has the timeout %d", sent)
				}
			})
		})
	}
}
