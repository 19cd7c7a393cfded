package e2e

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"net/http"
	"strings"
	"testing"
)

// colouredImage returns a PNG image of one colour with a black corner, as a data: URI.
func colouredImage(t *testing.T, of color.Color) string {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 20, 10))
	draw.Draw(img, img.Bounds(), image.NewUniform(of), image.Point{}, draw.Src)
	draw.Draw(img, image.Rect(0, 0, 3, 3), image.Black, image.Point{}, draw.Src)
	var file bytes.Buffer
	if err := png.Encode(&file, img); err != nil {
		t.Fatal(err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(file.Bytes())
}

// TestEmbeddedImages embeds texts and images by a model that reads their pixels. Each text is nearest to the image that it
// describes, in each form of the request.
func TestEmbeddedImages(t *testing.T) {
	t.Parallel()
	c := visionTrident(t)
	texts := []string{"a red door", "the blue sea", "a yellow and red flag"}
	var images []string
	for _, of := range []color.Color{color.RGBA{R: 220, A: 255}, color.RGBA{B: 200, A: 255}, color.RGBA{R: 250, G: 130, A: 255}} {
		images = append(images, colouredImage(t, of))
	}
	member := func(key, value string) object { return object{key: value} }
	var mixed []object
	for i := range texts {
		mixed = append(mixed, member("text", texts[i]), member("image", images[i]))
	}
	vectors := c.vectors(t, object{"input": mixed})
	described, seen := [][]float32{vectors[0], vectors[2], vectors[4]}, [][]float32{vectors[1], vectors[3], vectors[5]}
	for i, text := range described {
		for j, picture := range seen {
			if near := dot(text, picture); (near > 0.99) != (i == j) {
				t.Errorf("the cosine of %q and image %d is %v", texts[i], j, near)
			}
		}
	}
	bare := make([]string, len(images))
	for i := range images {
		bare[i] = strings.TrimPrefix(images[i], "data:image/png;base64,")
	}
	for i, v := range c.vectors(t, object{"input": bare, "modality": "image"}) {
		if dot(v, seen[i]) < 0.99999 {
			t.Errorf("image %d has another vector as base64", i)
		}
	}
	both := c.vectors(t, object{"messages": []object{{"role": "user", "content": []object{
		{"type": "text", "text": "the blue sea"}, {"type": "image_url", "image_url": object{"url": images[0]}},
	}}}})
	if red, blue := dot(both[0], seen[0]), dot(both[0], seen[1]); len(both) != 1 || red < 0.6 || blue < 0.6 {
		t.Errorf("the vector of a text and an image isn't between theirs: %v, %v", red, blue)
	}
	data, err := base64.StdEncoding.DecodeString(bare[0])
	if err != nil {
		t.Fatal(err)
	}
	cut := "data:image/png;base64," + base64.StdEncoding.EncodeToString(data[:60])
	for name, body := range map[string]object{
		"the model can't read an image": {"model": "joint", "input": []object{{"image": cut}}},
		"takes no images":               {"model": "vllm", "input": []object{{"image": images[0]}}},
	} {
		e := c.post(t, "/v1/embeddings", body).want(t, http.StatusBadRequest).failure(t)
		if text(e.Param) != "input[0].image" || !strings.Contains(text(e.Message), name) {
			t.Errorf("%s: param %s: %s", name, text(e.Param), text(e.Message))
		}
	}
}

// vectors returns the vectors of a request to the model joint.
func (c contract) vectors(t *testing.T, body object) [][]float32 {
	t.Helper()
	body["model"] = "joint"
	got := decode[embeddings](t, c.post(t, "/v1/embeddings", body).want(t, http.StatusOK))
	vectors := make([][]float32, len(got.Data))
	for i, d := range got.Data {
		vectors[i] = vector(t, d.Embedding, false)
	}
	return vectors
}
