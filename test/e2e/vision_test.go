package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/gif"
	"image/png"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// seeingRecord guards the record of the last inputs of seeing's models.
var seeingRecord sync.Mutex

// visionTrident is a trident that fetches images, in front of models that read images and of a vLLM model
// that doesn't.
var visionTrident = shared(func(t *testing.T) (contract, error) {
	t.Helper()
	c := contract{record: filepath.Join(scratch(t), "vision-record")}
	repository, err := os.MkdirTemp(scratch(t), "vision-*") //nolint:usetesting // it outlives the test that needs it first
	if err != nil {
		return c, err
	}
	source := filepath.Join(root(t), "test", "models-contract")
	if err := blindModel(source, repository); err != nil {
		return c, err
	}
	models := []string{"--model-control-mode=explicit", "--load-model=vllm", "--load-model=bls", "--load-model=llmapi", "--load-model=blind", "--load-model=joint"}
	c.engine, err = sharedEngine(tritonserver.Options{Repositories: []string{source, repository}, Args: models, Env: []string{"CONTRACT_RECORD=" + c.record}})
	if err != nil {
		return c, err
	}
	if c.trident, err = c.engine.launch(t, root(t), "--allow-image-urls"); err != nil {
		return c, err
	}
	undos.add(tridentsEnd, c.stop)
	for _, model := range []string{"vllm", "bls", "llmapi", "blind", "joint"} {
		if !poll(startLimit, func() bool { return c.get(t, "/v1/models/"+model).status == http.StatusOK }) {
			t.Fatalf("%s isn't served:\n%s", model, c.log)
		}
	}
	return c, nil
})

// blindModel creates the model of vLLM's contract without image input. Its template supports images
// nevertheless.
func blindModel(source, repository string) error {
	if err := os.Mkdir(filepath.Join(repository, "blind"), 0o755); err != nil {
		return err
	}
	config, err := os.ReadFile(filepath.Join(source, "vllm", "config.pbtxt"))
	if err != nil {
		return err
	}
	text := strings.Replace(string(config), `name: "vllm"`, `name: "blind"`, 1)
	text = strings.Replace(text, `{ key: "vision", value: { string_value: "true" } },`, "", 1)
	if err := os.WriteFile(filepath.Join(repository, "blind", "config.pbtxt"), []byte(text), 0o600); err != nil {
		return err
	}
	return os.Symlink(filepath.Join(source, "vllm", "1"), filepath.Join(repository, "blind", "1"))
}

// testImages returns a PNG and a GIF of one pixel.
func testImages(t *testing.T) (onePNG, oneGIF string) {
	t.Helper()
	var first, second bytes.Buffer
	pixel := image.NewGray(image.Rect(0, 0, 1, 1))
	if err := png.Encode(&first, pixel); err != nil {
		t.Fatal(err)
	}
	if err := gif.Encode(&second, pixel, nil); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(first.Bytes()), base64.StdEncoding.EncodeToString(second.Bytes())
}

// imageRequest returns a chat, or a response, with a text and images.
func imageRequest(path, model, prompt string, urls ...string) object {
	text, imageType, list := "text", "image_url", "messages"
	if path == "/v1/responses" {
		text, imageType, list = "input_text", "input_image", "input"
	}
	parts := []object{{"type": text, "text": prompt}}
	for _, url := range urls {
		var at any = object{"url": url}
		if path == "/v1/responses" {
			at = url
		}
		parts = append(parts, object{"type": imageType, "image_url": at})
	}
	return object{"model": model, list: []object{{"role": "user", "content": parts}}}
}

// seen returns the images of a model's last request.
func (c contract) seen(t *testing.T, input string) string {
	t.Helper()
	lines, err := os.ReadFile(c.record)
	if err != nil {
		t.Fatal(err)
	}
	last := lines[bytes.LastIndexByte(bytes.TrimSpace(lines), '\n')+1:]
	line := decode[struct{ Inputs map[string]any }](t, answer{body: last})
	switch in := line.Inputs[input].(type) {
	case []any: // the model of vLLM's contract has this format
		return joined(in)
	case map[string]any:
		values, _ := in["values"].([]any)
		return joined(values)
	}
	return ""
}

func joined(values []any) string {
	var list []string
	for _, v := range values {
		s, _ := v.(string)
		list = append(list, s)
	}
	return strings.Join(list, "|")
}

func TestVision(t *testing.T) {
	t.Parallel()
	lockForTest(t, &seeingRecord)
	onePNG, oneGIF := testImages(t)
	first, second := "data:image/png;base64,"+onePNG, "data:image/jpeg;base64,"+oneGIF // the types in the URLs differ from the images' real types
	for _, test := range []struct {
		name, model, input string
		urls               []string
		want               string
	}{
		{"vllm", "vllm", "image", []string{first, second}, onePNG + "|" + oneGIF},
		{"llmapi", "llmapi", "image_url", []string{first, second}, "data:image/png;base64," + onePNG + "|data:image/gif;base64," + oneGIF},
		{"bls", "bls", "image_url_input", []string{first}, "data:image/jpeg;base64," + onePNG},
	} {
		for _, path := range []string{"/v1/chat/completions", "/v1/responses"} {
			for _, stream := range []bool{false, true} {
				t.Run(test.name+path, func(t *testing.T) {
					c := visionTrident(t)
					body := imageRequest(path, test.model, " one two", test.urls...)
					body["stream"] = stream
					a := c.post(t, path, body).want(t, http.StatusOK)
					if !strings.Contains(string(a.body), "two") {
						t.Errorf("got %s", a.body)
					}
					if got := c.seen(t, test.input); got != test.want {
						t.Errorf("the model got %s, want %s", got, test.want)
					}
				})
			}
		}
	}
	t.Run("an image's tokens are the prompt's", func(t *testing.T) {
		c := visionTrident(t)
		count := func(urls ...string) int {
			return decode[completion](t, c.post(t, "/v1/chat/completions", imageRequest("", "vllm", "x", urls...)).want(t, http.StatusOK)).Usage.Prompt
		}
		if none, two := count(), count(first, second); two != none+2*(len("<|image|>")+16) {
			t.Errorf("%d tokens without images, %d with two", none, two)
		}
	})
}

func TestVisionRefuses(t *testing.T) {
	t.Parallel()
	lockForTest(t, &seeingRecord)
	onePNG, _ := testImages(t)
	good := "data:image/png;base64," + onePNG
	raw, err := base64.StdEncoding.DecodeString(onePNG)
	if err != nil {
		t.Fatal(err)
	}
	cut := "data:image/png;base64," + base64.StdEncoding.EncodeToString(raw[:30])
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("trident sent a request to a private address") }))
	defer private.Close()
	const field = "[0].content[1].image_url"
	for _, test := range []struct {
		name, model, prompt string
		urls                []string
		param, code         string
		message             string
	}{
		{"a model without eyes", "blind", "x", []string{good}, field, "unsupported_parameter", "takes no images"},
		{"more than the engine takes", "vllm", "x", []string{good, good, good, good}, "", "unsupported_parameter", "no more than 3 images"},
		{"more than the input takes", "bls", "x", []string{good, good}, "[0].content[2]", "unsupported_parameter", "at most 1 images"},
		{"an image that is cut", "vllm", "x", []string{cut}, field, "invalid_value", "can't read an image"},
		{"one that bls can't read", "bls", "x", []string{cut}, field, "invalid_value", "can't read an image"},
		{"one that llmapi can't read", "llmapi", "x", []string{cut}, field, "invalid_value", "can't read an image"},
		{"a place without an image", "vllm", "x<|image|>", []string{good}, "", "invalid_value", "number of image placeholders in the prompt differs"},
		{"no image", "vllm", "x", []string{"data:image/png;base64,aGVsbG8K"}, field, "invalid_value", "is not a PNG"},
		{"an address of this machine", "vllm", "x", []string{private.URL + "/" + marker}, field, "invalid_value", "non-public IP address"},
		{"an address of this machine by its name", "llmapi", "x", []string{strings.Replace(private.URL, "127.0.0.1", "localhost", 1)}, field, "invalid_value", "non-public IP address"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := visionTrident(t)
			for path, prefix := range map[string]string{"/v1/chat/completions": "messages", "/v1/responses": "input"} {
				mark, id := c.log.len(), fmt.Sprint("vision-", rand.Uint64())
				e := c.post(t, path, imageRequest(path, test.model, test.prompt, test.urls...), "X-Request-Id", id).want(t, http.StatusBadRequest).failure(t)
				param := prefix + test.param
				if prefix == "messages" && test.param == field {
					param += ".url"
				}
				if text(e.Param) != param || text(e.Code) != test.code || !strings.Contains(text(e.Message), test.message) {
					t.Errorf("%s: param %s, code %s: %s", path, text(e.Param), text(e.Code), text(e.Message))
				}
				for _, secret := range []string{marker, "127.0.0.1", "BytesIO", "Traceback"} {
					if strings.Contains(text(e.Message), secret) {
						t.Errorf("the message contains %q: %s", secret, text(e.Message))
					}
				}
				checkOneLine(t, c.trident, mark, id, http.StatusBadRequest)
			}
		})
	}
}
