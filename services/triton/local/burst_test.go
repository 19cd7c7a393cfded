//go:build cgo && linux

package local

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/test/backends/burst"
)

func burstConfig(tb testing.TB, models ...burst.Model) Config {
	tb.Helper()
	needsTriton(tb)
	config := Default()
	config.Repositories = []string{tb.TempDir()}
	if err := burst.Repository(tb.Context(), config.Repositories[0], models...); err != nil {
		tb.Fatal(err)
	}
	return config
}

// generation returns a request to a model of package burst.
func generation(model string, tokens int) *kserve.ModelInferRequest {
	sampling := fmt.Sprintf(`{"max_tokens":%d}`, tokens)
	req := request(
		input{"text_input", "BYTES", element("a prompt")},
		input{"stream", "BOOL", []byte{1}},
		input{"sampling_parameters", "BYTES", element(sampling)},
		input{"return_finish_reason", "BOOL", []byte{1}},
		input{"return_num_output_tokens", "BOOL", []byte{1}},
	)
	req.ModelName = model
	return req
}

func element(text string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// generate returns the text of a stream and the stream's error.
func generate(t *testing.T, engine *Engine, req *kserve.ModelInferRequest) (text string, err error) {
	t.Helper()
	var all strings.Builder
	for response, err := range engine.Stream(t.Context(), req) {
		if err != nil {
			return all.String(), err
		}
		for _, out := range response.Outputs {
			if out.Name == "text_output" {
				all.Write(out.Raw[4:])
			}
		}
	}
	return all.String(), nil
}

// TestFlat checks that the process doesn't grow over 200,000 responses of a stream, and that the shim
// frees all its objects.
func TestFlat(t *testing.T) {
	engine := start(t, burstConfig(t, burst.Model{Name: "burst"}))
	defer stop(t, engine)
	// Rounds are short, because waiting responses are part of the process's
	// size.
	const rounds, streams, tokens, warm = 200, 10, 100, 40
	var grown int64
	for round := range rounds {
		if round == warm {
			grown = -resident(t)
		}
		generateAll(t, engine, "burst", streams, tokens)
	}
	if grown += resident(t); grown > 8<<20 {
		t.Errorf("%d responses grew the process by %d MiB", (rounds-warm)*streams*tokens, grown>>20)
	}
	awaitLive(t, engine)
}

// generateAll runs streams concurrently. Each stream must yield the whole text
// in order.
func generateAll(t *testing.T, engine *Engine, model string, streams, tokens int) {
	t.Helper()
	want := burst.Text(tokens)
	var group errgroup.Group
	for range streams {
		group.Go(func() error {
			text, err := generate(t, engine, generation(model, tokens))
			if err == nil && text != want {
				err = fmt.Errorf("got %d bytes instead of %d: %.200q", len(text), len(want), text)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestMislabelledOutput checks that a request fails if the model reports that its outputs are in
// GPU memory, which the local engine can't read. Other models still serve.
func TestMislabelledOutput(t *testing.T) {
	engine := start(t, burstConfig(t, burst.Model{Name: "burst"}, burst.Model{Name: "wrong", Outputs: burst.Mislabelled}))
	defer stop(t, engine)
	text, err := generate(t, engine, generation("wrong", 100))
	if e := inference.AsError(err); text != "" || e.Code != inference.CodeInternal || !strings.Contains(e.Message, "an output is in GPU memory") {
		t.Errorf("got %q, %v", text, err)
	}
	generateAll(t, engine, "burst", 1, 10)
	awaitLive(t, engine)
}
