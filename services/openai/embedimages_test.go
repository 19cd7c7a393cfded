package openai

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// embedLengths returns [length of the text, length of the image] of each row.
func embedLengths(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
	columns := map[string][]string{}
	for i, in := range req.GetInputs() {
		columns[in.GetName()] = strings.Split(elements(in, req.GetRawInputContents()[i]), ",")
	}
	rows := req.GetInputs()[0].GetShape()[0]
	var raw []byte
	for row := range rows {
		for _, name := range []string{"text", "image"} {
			length := 0
			if columns[name] != nil {
				length = len(columns[name][row])
			}
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(length)))
		}
	}
	send(&inference.Response{Final: true, Outputs: []inference.Output{{Name: "vector", Type: "FP32", Shape: []int64{rows, 2}, Raw: raw}}})
	return nil
}

// addImageEncoders adds the models joint, which embeds texts and images, visual, which embeds only images, and embedding,
// which embeds only texts.
func addImageEncoders(engine *inferencetest.Engine) {
	engine.AddModel("embedding", inferencetest.Embed(3, 4), map[string]string{"trident.task": "embed"})
	for name, inputs := range map[string][]string{"joint": {"text", "image"}, "visual": {"image"}} {
		config := &kserve.ModelConfig{Name: name, MaxBatchSize: 8, Output: []*kserve.ModelOutput{{Name: "vector", DataType: kserve.DataType_TYPE_FP32, Dims: []int64{2}}}}
		for _, in := range inputs {
			config.Input = append(config.Input, &kserve.ModelInput{Name: in, DataType: kserve.DataType_TYPE_STRING, Dims: []int64{1}, Optional: in == "image" && name == "joint"})
		}
		engine.AddOther(name, config, embedLengths)
	}
}

// TestEmbeddedImages checks the vectors of texts and images in the forms of several clients, and what is refused.
func TestEmbeddedImages(t *testing.T) {
	g := newImageServer(t, serving.Config{})
	bare := inBase64(smallPNG) // 20 characters
	png, gif := "data:image/png;base64,"+bare, g.url+"/a.gif"
	parts := func(parts ...string) string {
		return `"messages":[{"role":"user","content":[` + strings.Join(parts, ",") + `]}]`
	}
	image := func(url string) string { return fmt.Sprintf(`{"type":"image_url","image_url":{"url":%q}}`, url) }
	const text = `{"type":"text","text":"abc"}`
	for _, tt := range []struct {
		name, model, fields string
		status              int
		want                string
	}{
		{"objects", "joint", fmt.Sprintf(`"input":[{"text":"abc"},{"image":%q},{"image":%q},"ab"]`, png, bare), 200, `[3,0] [0,20] [0,20] [2,0]`},
		{"an object", "joint", fmt.Sprintf(`"input":{"image":%q}`, gif), 200, `[0,12]`},
		{"a modality", "visual", fmt.Sprintf(`"modality":"image","input":[%q,%q]`, png, gif), 200, `[0,20] [0,12]`},
		{"an image as the only string", "visual", fmt.Sprintf(`"modality":"image","input":%q`, bare), 200, `[0,20]`},
		{"a text beside images", "joint", fmt.Sprintf(`"modality":"image","input":[%q,{"text":"abc"},{"image":%q}]`, bare, png), 200, `[0,20] [3,0] [0,20]`},
		{"texts", "joint", `"modality":"text","input":["abc"]`, 200, `[3,0]`},
		{"a message", "joint", parts(text, image(png), `{"type":"text","text":"de"}`), 200, `[6,20]`},
		{"a message without a text", "visual", parts(image(gif)), 200, `[0,12]`},
		{"a message without an image", "joint", `"messages":[{"role":"user","content":"abcd"}]`, 200, `[4,0]`},
		{"a message beside an input of null", "joint", `"input":null,"messages":[{"role":"user","content":"abcd"}]`, 200, `[4,0]`},

		{"nothing", "joint", `"dimensions":1`, 400, `"param":"input","code":"invalid_value"`},
		{"null alone", "joint", `"input":null`, 400, "input is required"},
		{"both", "joint", `"input":"a",` + parts(text), 400, "messages replaces input: send one of them"},
		{"an empty message", "joint", parts(`{"type":"text","text":""}`), 400, "messages[0].content must not be empty"},
		{"two messages", "joint", `"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]`, 400, "messages must be a list of at most 1 item"},
		{"another role", "joint", `"messages":[{"role":"system","content":"a"}]`, 400, `"param":"messages[0].role"`},
		{"two images", "joint", parts(image(png), image(png)), 400, "messages[0].content[1].image_url.url is a second image: an input has at most one"},
		{"token ids as an image", "joint", `"modality":"image","input":[1]`, 400, "modality must be text, because input has token ids"},
		{"a message as an image", "joint", `"modality":"image",` + parts(text), 400, "modality must be text beside messages, whose parts are texts or images"},
		{"sounds", "joint", `"modality":"audio","input":"a"`, 400, `"param":"modality"`},
		{"no image", "joint", `"input":[{"text":"a"},{"image":"aGVsbG8K"}]`, 400, "input[1].image is not a PNG, JPEG, GIF, WebP or BMP image"},
		{"no base64", "visual", `"modality":"image","input":["cat!"]`, 400, "input[0] is not valid base64"},
		{"a page", "visual", fmt.Sprintf(`"modality":"image","input":[%q,%q]`, png, g.url+"/b"), 400, "input[1] is not a PNG, JPEG, GIF, WebP or BMP image"},
		{"a text for images only", "visual", `"input":["a","b"]`, 400, "the model `visual` takes only images: send input[0] as an image without a text"},
		{"both for images only", "visual", parts(text, image(png)), 400, "the model `visual` takes only images: send messages[0] as an image without a text"},
		{"an image for texts", "embedding", fmt.Sprintf(`"input":["a",{"image":%q}]`, png), 400, "the model `embedding` takes no images: send input[1] as text"},
		{"a message for texts", "embedding", parts(image(png)), 400, `"param":"messages[0].content[0].image_url.url","code":"unsupported_parameter"`},
		{"too many", "joint", `"input":[` + strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"image":%q},`, png), 17), ",") + `]`, 400, "a request may have at most 16 images, but this request has 17"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, answer, _ := g.ask(t, "/v1/embeddings", fmt.Sprintf(`{"model":%q,"normalize":false,%s}`, tt.model, tt.fields))
			got := answer
			if status == http.StatusOK {
				got = strings.Join(vectorsOf(answer), " ")
			}
			if status != tt.status || status == http.StatusOK && got != tt.want || !strings.Contains(got, tt.want) {
				t.Errorf("%d %s, want %d %s", status, got, tt.status, tt.want)
			}
		})
	}
}

// vectorsOf returns the JSON of the vectors of a response.
func vectorsOf(answer string) (vectors []string) {
	for _, piece := range strings.Split(answer, `"embedding":[`)[1:] {
		vector, _, _ := strings.Cut(piece, "]")
		vectors = append(vectors, "["+vector+"]")
	}
	return vectors
}

// TestEmbeddedImagesAreReserved checks that an image counts as many tokens of a client's minute before it is
// fetched: a client whose minute has too few left makes the server fetch nothing.
func TestEmbeddedImagesAreReserved(t *testing.T) {
	g := newImageServer(t, serving.Config{})
	ctx := inference.WithClient(t.Context(), &inference.Client{Name: "team", Limits: inference.Limits{TokensPerMinute: 300}})
	image := fmt.Sprintf(`{"model":"visual","modality":"image","input":%q}`, g.url+"/a.gif")
	for i, want := range []struct {
		status, fetched int
		answer          string
	}{{200, 1, `"embedding":[0,1]`}, {429, 1, "the limit is 300 tokens per minute, and this request needs 256"}} {
		got := httptest.NewRecorder()
		req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/embeddings", strings.NewReader(image))
		req.Header.Set("Content-Type", "application/json")
		g.Config.Handler.ServeHTTP(got, req)
		if got.Code != want.status || !strings.Contains(got.Body.String(), want.answer) || int(g.fetched.Load()) != want.fetched {
			t.Errorf("request %d: %d %s after %d fetches", i, got.Code, got.Body, g.fetched.Load())
		}
	}
}
