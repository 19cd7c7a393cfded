package encoders

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"google.golang.org/protobuf/encoding/prototext"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/tier"
)

func TestTexts(t *testing.T) {
	texts := Texts(1, 500, 1, 600)
	if !slices.Equal(texts, Texts(1, 500, 1, 600)) || slices.Equal(texts, Texts(2, 500, 1, 600)) {
		t.Error("the texts don't depend on the seed alone")
	}
	var sizes []int
	for _, text := range texts {
		sizes = append(sizes, len(strings.Fields(text)))
	}
	if sizes[0] != 1 || slices.Max(sizes) > 600 || slices.Max(sizes) < 500 {
		t.Errorf("the first text has %d words, the longest %d", sizes[0], slices.Max(sizes))
	}
	slices.Sort(sizes)
	// The median of a log-uniform distribution is the geometric mean of its bounds.
	if median := sizes[len(sizes)/2]; median < 15 || median > 40 {
		t.Errorf("half of the texts have at most %d words", median)
	}
	for _, script := range []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Han, unicode.Arabic, unicode.Devanagari, unicode.Hangul} {
		if !strings.ContainsFunc(strings.Join(texts, " "), func(r rune) bool { return unicode.Is(script, r) }) {
			t.Errorf("no text has a letter of the script %v", script)
		}
	}
}

// repository writes a repository of these models, which must be installed.
func repository(t *testing.T, models []Model) string {
	t.Helper()
	dir := t.TempDir()
	if err := Repository(t.Context(), dir, models...); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRepository(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the models of make setup-test")
	}
	models, err := Named("embedding", "topics", "multilingual")
	if err != nil {
		t.Fatal(err)
	}
	models = tier.Size(models, Models())
	dir := repository(t, models)
	for _, m := range models {
		text, err := os.ReadFile(filepath.Join(dir, m.Name, "config.pbtxt"))
		if err != nil {
			t.Fatal(err)
		}
		var config kserve.ModelConfig
		if err := prototext.Unmarshal(text, &config); err != nil {
			t.Fatalf("%s: %v", m.Name, err)
		}
		folder := config.GetParameters()["weights"].GetStringValue()
		for _, name := range []string{"config.json", "model.safetensors", "tokenizer.json"} {
			if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
				t.Error(err)
			}
		}
		inputs := 2
		if m.Types {
			inputs = 3
		}
		if config.GetName() != m.Name || int(config.GetMaxBatchSize()) != m.Batch || len(config.GetInput()) != inputs || len(config.GetOutput()) != 1 {
			t.Errorf("got %v", &config)
		}
	}
	if _, err := Named("reranker", "unknown"); err == nil || err.Error() != "there is no encoder model unknown" {
		t.Errorf("got %v", err)
	}
}

// TestModels checks on a real Triton that a row of a batch gets the same result as alone, whatever
// its padding has.
func TestModels(t *testing.T) {
	tier.OnlySlow(t)
	dir := repository(t, Models())
	server, err := tritonserver.Launch(t.Context(), tritonserver.Options{Repositories: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	const padding = 9
	short, long := []int{101, 7592, 102}, []int{101, 2088, 1998, 7592, 4937, 3007, 102}
	for _, m := range Models() {
		t.Run(m.Name, func(t *testing.T) {
			alone, row := infer(t, server, m, short), infer(t, server, m, append(slices.Clone(short), padding, padding, padding, padding), long)
			row = row[:len(alone)] // the first row's tokens without the padding, or its logits
			var most, least float64
			for i := range alone {
				if math.Abs(alone[i]-row[i]) > 1e-4 {
					t.Fatalf("value %d is %v alone, and %v in a batch", i, alone[i], row[i])
				}
				most, least = max(most, alone[i]), min(least, alone[i])
			}
			if most-least < 0.1 && m.Labels != 1 {
				t.Errorf("all values are alike: %v to %v", least, most)
			}
		})
	}
}

// infer returns the output for rows of token ids of the same length. The padding of a row is not
// attended to.
func infer(t *testing.T, server *tritonserver.Server, m Model, rows ...[]int) []float64 {
	t.Helper()
	var ids, mask, types []int
	for i, row := range rows {
		ids = append(ids, row...)
		types = append(types, make([]int, len(row))...)
		for j := range row {
			attended := 1
			if i == 0 && len(rows) > 1 && j > 2 {
				attended = 0
			}
			mask = append(mask, attended)
		}
	}
	type tensor struct {
		Name     string `json:"name"`
		Datatype string `json:"datatype"`
		Shape    [2]int `json:"shape"`
		Data     []int  `json:"data"`
	}
	shape := [2]int{len(rows), len(rows[0])}
	inputs := []tensor{{"input_ids", "INT64", shape, ids}, {"attention_mask", "INT64", shape, mask}}
	if m.Types {
		inputs = append(inputs, tensor{"token_type_ids", "INT64", shape, types})
	}
	body, err := json.Marshal(map[string]any{"inputs": inputs})
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(fmt.Sprintf("http://%s/v2/models/%s/infer", server.HTTP(), m.Name), "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	var got struct {
		Outputs []struct{ Data []float64 }
	}
	if err != nil || json.Unmarshal(text, &got) != nil || len(got.Outputs) != 1 {
		t.Fatalf("%s, %v", text, err)
	}
	return got.Outputs[0].Data
}
