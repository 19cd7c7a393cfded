package metrics

import (
	"context"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
)

// TestNewModel checks that a model of tensors has its name in the metrics as soon as it answers, before the catalog
// knows it, and that a name that no model has isn't a label.
func TestNewModel(t *testing.T) {
	page, service, e := newPage(t, Default(), inferencetest.StreamText("a"), tritons)
	e.AddOther("new", &kserve.ModelConfig{}, func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		send(&inference.Response{Final: true, Outputs: []inference.Output{inferencetest.Bytes("output", "a")}})
		return nil
	})
	ctx := inference.WithOrigin(t.Context(), &inference.Origin{Surface: inference.SurfaceKServe})
	for _, name := range []string{"new", "new", "nobody's"} {
		err := inferencetest.Infer(ctx, service, inference.InferRequestOf(&kserve.ModelInferRequest{ModelName: name}), func(*inference.Response) error { return nil })
		if (err == nil) != (name == "new") {
			t.Errorf("%s: %v", name, err)
		}
		err = inferencetest.Last(inferencetest.Forward(ctx, service, inference.InferRequestOf(&kserve.ModelInferRequest{ModelName: name})))
		if (err == nil) != (name == "new") {
			t.Errorf("%s, stream: %v", name, err)
		}
	}
	shown := scrape(t, page, "")
	for _, line := range []string{
		`trident_requests_total{code="ok",model="new",operation="infer",surface="kserve"} 4`,
		`trident_requests_total{code="ok",model="(unknown)",operation="infer",surface="kserve"} 0`,
	} {
		if !strings.Contains(shown, line+"\n") {
			t.Errorf("the page lacks %s", line)
		}
	}
	if strings.Contains(shown, "nobody's") {
		t.Error("the page has the name of a request")
	}
}
