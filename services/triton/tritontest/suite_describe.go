//nolint:thelper // these are the tests themselves, not their helpers
package tritontest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

func testModels(t *testing.T, s Subject) {
	engine := open(t, s, longLimits())
	if err := engine.Ready(t.Context()); err != nil {
		t.Errorf("ready: %v", err)
	}
	models, err := engine.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range models {
		names = append(names, m.Name)
		if m.State != inference.ModelReady || m.Version != "1" || m.Config.GetName() != m.Name {
			t.Errorf("%s: state %s, version %q, config of %q", m.Name, m.State, m.Version, m.Config.GetName())
		}
	}
	if want := []string{"echo", "stream"}; !slices.Equal(names, want) {
		t.Fatalf("got %v, want %v", names, want)
	}
	if echo, stream := models[0].Config, models[1].Config; echo.GetModelTransactionPolicy().GetDecoupled() ||
		!stream.GetModelTransactionPolicy().GetDecoupled() {
		t.Error("only stream is decoupled")
	}
	if in := models[1].Config.GetInput(); len(in) != 5 || in[0].GetName() != "COUNT" ||
		in[0].GetDataType() != kserve.DataType_TYPE_INT32 || !in[0].GetOptional() {
		t.Errorf("stream's inputs are %v", in)
	}
}

func testDescribe(t *testing.T, s Subject) {
	engine := open(t, s, longLimits())
	d, ok := engine.(inference.Describer)
	if !ok {
		t.Fatal("the engine describes nothing")
	}
	ctx := t.Context()
	if live, err := d.ServerLive(ctx, &kserve.ServerLiveRequest{}); err != nil || !live.GetLive() {
		t.Errorf("live: %v, %v", live, err)
	}
	if server, err := d.ServerMetadata(ctx, &kserve.ServerMetadataRequest{}); err != nil || server.GetName() == "" || server.GetVersion() == "" {
		t.Errorf("server: %v, %v", server, err)
	}
	for name, want := range map[string]bool{"echo": true, "nobody": false} {
		if ready, err := d.ModelReady(ctx, &kserve.ModelReadyRequest{Name: name}); err != nil || ready.GetReady() != want {
			t.Errorf("%s is ready: %v, %v", name, ready, err)
		}
	}
	metadata, err := d.ModelMetadata(ctx, &kserve.ModelMetadataRequest{Name: "echo", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if in := metadata.GetInputs(); len(in) != 3 || in[1].GetName() != "DATA" || in[1].GetDatatype() != "FP32" ||
		!slices.Equal(in[1].GetShape(), []int64{-1, 4}) {
		t.Errorf("echo's inputs are %v", in)
	}
	_, err = d.ModelMetadata(ctx, &kserve.ModelMetadataRequest{Name: "nobody"})
	wantError(t, err, inference.CodeNotFound, inference.ReasonModelNotFound)
	_, err = d.ModelConfig(ctx, &kserve.ModelConfigRequest{Name: "echo", Version: "9"})
	wantError(t, err, inference.CodeNotFound, inference.ReasonModelNotFound)
}

func testStatistics(t *testing.T, s Subject) {
	engine := open(t, s, longLimits())
	statistician, ok := engine.(inference.StatisticsReporter)
	if !ok {
		t.Fatal("the engine has no statistics")
	}
	count := func() uint64 {
		t.Helper()
		answer, err := statistician.ModelStatistics(t.Context(), &kserve.ModelStatisticsRequest{Name: "echo"})
		if err != nil || len(answer.GetModelStats()) != 1 {
			t.Fatalf("got %v, %v", answer, err)
		}
		return answer.GetModelStats()[0].GetInferenceCount()
	}
	before := count()
	for range 3 {
		mustCollect(t, engine, request(t, "echo", texts("TEXT", "x")))
	}
	// tritonserver responds before it updates its statistics.
	var got uint64
	want := 3 * uint64(max(s.Paths, 1))
	eventually(t, 5*time.Second, func() bool {
		got = count() - before
		return got >= want
	}, func() string { return fmt.Sprintf("three inferences counted as %d", got) })
	if got != want {
		t.Errorf("three inferences counted as %d", got)
	}
	_, err := statistician.ModelStatistics(t.Context(), &kserve.ModelStatisticsRequest{Name: "nobody"})
	wantError(t, err, inference.CodeNotFound, inference.ReasonModelNotFound)
}

func testRepository(t *testing.T, s Subject) {
	repository, ok := open(t, s, longLimits()).(inference.Repository)
	if !ok {
		t.Fatal("the engine has no repository")
	}
	index, err := repository.RepositoryIndex(t.Context(), &kserve.RepositoryIndexRequest{Ready: true})
	if err != nil {
		t.Fatal(err)
	}
	if rows := index.GetModels(); len(rows) != 2 || rows[0].GetState() != string(inference.ModelReady) {
		t.Errorf("the index is %v", rows)
	}
	for _, model := range []string{"echo", "nobody"} {
		_, err := repository.RepositoryModelUnload(t.Context(), &kserve.RepositoryModelUnloadRequest{ModelName: model})
		wantNoControl(t, err)
		_, err = repository.RepositoryModelLoad(t.Context(), &kserve.RepositoryModelLoadRequest{ModelName: model})
		wantNoControl(t, err)
	}
}

// wantNoControl checks that every engine returns Triton's message for loads and
// unloads outside the explicit control mode. Clients of Triton's own protocol get
// only that message. Other clients get the remedy too.
func wantNoControl(t *testing.T, err error) {
	t.Helper()
	wantError(t, err, inference.CodeUnsupported, inference.ReasonNotImplemented)
	const message = "explicit model load / unload is not allowed if polling is enabled"
	if e := asError(t, err); e.Text != message || !strings.HasPrefix(e.Message, message+": ") || !strings.HasSuffix(e.Message, "=explicit") {
		t.Errorf("the message is %q, Triton's is %q", e.Message, e.Text)
	}
}
