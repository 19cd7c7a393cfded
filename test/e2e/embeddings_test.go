package e2e

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"testing"
)

type embeddings struct {
	Model string
	Data  []struct {
		Index     int
		Embedding json.RawMessage
	}
	Usage usage
}

// embed returns the vectors of the inputs in order.
func (s *trident) embed(t *testing.T, input any, more object) ([][]float32, usage) {
	t.Helper()
	body := object{"model": "embedding", "input": input}
	maps.Copy(body, more)
	got := decode[embeddings](t, s.post(t, "/v1/embeddings", body).want(t, http.StatusOK))
	vectors := make([][]float32, len(got.Data))
	for i, d := range got.Data {
		if d.Index != i {
			t.Errorf("entry %d has index %d", i, d.Index)
		}
		vectors[i] = vector(t, d.Embedding, more["encoding_format"] == "base64")
	}
	return vectors, got.Usage
}

func vector(t *testing.T, raw json.RawMessage, encoded bool) []float32 {
	t.Helper()
	var v []float32
	if !encoded {
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(b)%4 != 0 {
		t.Fatalf("%d bytes: %v", len(b), err)
	}
	for ; len(b) > 0; b = b[4:] {
		v = append(v, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return v
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	s := serving(t)
	sentences := []string{
		"A cat sits on the mat.",
		"A kitten rests on the rug.",
		"The stock market fell sharply on Monday.",
		"Shares lost much of their value this week.",
	}
	vectors, total := s.embed(t, sentences, nil)
	if len(vectors) != len(sentences) || total.Prompt < 20 || total.Total != total.Prompt {
		t.Fatalf("%d vectors, usage %+v", len(vectors), total)
	}
	for i, v := range vectors {
		if len(v) != 384 || math.Abs(dot(v, v)-1) > 1e-5 {
			t.Errorf("vector %d has %d components and the squared length %v", i, len(v), dot(v, v))
		}
		single, _ := s.embed(t, sentences[i], nil)
		if d := dot(single[0], v); d < 0.99999 {
			t.Errorf("vector %d of the list is not that of its sentence (%v)", i, d)
		}
	}
	if near, far := dot(vectors[0], vectors[1]), dot(vectors[0], vectors[2]); near < far+0.3 {
		t.Errorf("the similarity of the cat sentences is %v, that of a cat and the stock market %v", near, far)
	}
	if near, far := dot(vectors[2], vectors[3]), dot(vectors[1], vectors[3]); near < far+0.3 {
		t.Errorf("the similarity of the market sentences is %v, that of a kitten and a market %v", near, far)
	}

	t.Run("base64", func(t *testing.T) {
		encoded, _ := s.embed(t, sentences, object{"encoding_format": "base64"})
		for i, v := range encoded {
			if len(v) != len(vectors[i]) || dot(v, vectors[i]) < 0.99999 {
				t.Errorf("vector %d differs from its float form", i)
			}
		}
	})
	t.Run("dimensions", func(t *testing.T) {
		short, _ := s.embed(t, sentences[0], object{"dimensions": 64})
		if v := short[0]; len(v) != 64 || math.Abs(dot(v, v)-1) > 1e-5 {
			t.Fatalf("%d components, squared length %v", len(v), dot(v, v))
		}
		scale := float64(vectors[0][0]) / float64(short[0][0])
		for i, x := range short[0] {
			if math.Abs(float64(x)*scale-float64(vectors[0][i])) > 1e-5 {
				t.Fatalf("component %d is not that of the whole vector, scaled", i)
			}
		}
	})
	t.Run("many", func(t *testing.T) {
		many := make([]string, 100)
		for i := range many {
			many[i] = sentences[i%len(sentences)]
		}
		got, _ := s.embed(t, many, nil)
		for i, v := range got {
			if dot(v, vectors[i%len(vectors)]) < 0.99999 {
				t.Errorf("vector %d is another sentence's", i)
			}
		}
	})
}
