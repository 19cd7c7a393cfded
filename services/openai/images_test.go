package openai

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/images"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/openai/internal/wire"
	"github.com/trident-inference/trident/services/openai/openaitest"
	"github.com/trident-inference/trident/services/serving"
)

// imageServer serves images on this machine, and a handler that may fetch them.
type imageServer struct {
	*httptest.Server

	engine  *inferencetest.Engine
	url     string // the URL of the images' server
	fetched atomic.Int32
	left    chan struct{} // receives when a client of a hanging image disconnects
}

const (
	smallPNG = "\x89PNG\r\n\x1a\nsmall"
	smallGIF = "GIF89a..."
)

const responsesPath = "/v1/responses"

func inBase64(image string) string { return base64.StdEncoding.EncodeToString([]byte(image)) }

func newImageServer(t *testing.T, cfg serving.Config) *imageServer {
	t.Helper()
	g := &imageServer{engine: inferencetest.New(), left: make(chan struct{})}
	imageHost := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.fetched.Add(1)
		switch r.URL.Path {
		case "/a.gif":
			_, _ = io.WriteString(w, smallGIF)
		case "/never":
			<-r.Context().Done()
			g.left <- struct{}{}
		default:
			_, _ = io.WriteString(w, "secret")
		}
	}))
	t.Cleanup(imageHost.Close)
	g.url = imageHost.URL
	const template = `{% for m in messages %}[{{ m.role }}]{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{% if p.type == 'image' %}<image>{% else %}{{ p.text }}{% endif %}{% endfor %}{% endif %}{% endfor %}`
	settings := map[string]string{"trident.chat_template": template, "trident.context_length": "100", "trident.tokenizer": byteTokenizer}
	g.engine.AddModel("chat", inferencetest.StreamText("Hello"), settings)
	g.engine.AddModel("one", inferencetest.StreamText("Hello"), settings)
	g.engine.Configure("one", func(c *kserve.ModelConfig) { c.Input[len(c.GetInput())-1].Dims = []int64{1} })
	g.engine.AddModel("blind", inferencetest.StreamText("Hello"), map[string]string{"trident.chat_template": template, "trident.vision": "false", "trident.tokenizer": byteTokenizer})
	addImageEncoders(g.engine)
	rules := images.Default()
	rules.AllowURLs, rules.Permit = true, netip.Addr.IsLoopback
	g.Server = httptest.NewServer(newHandler(Default(), inferencetest.ServiceWithImages(t, cfg, rules, g.engine), newValidator(t)))
	t.Cleanup(g.Close)
	return g
}

// ask sends a request and returns the response and the inputs that the engine received.
func (g *imageServer) ask(t *testing.T, path, body string) (status int, answer string, sent []string) {
	t.Helper()
	before := len(g.engine.Requests())
	resp, answer := openaitest.Do(t, http.MethodPost, g.URL+path, body)
	for _, req := range g.engine.Requests()[before:] {
		inputs, _, _ := strings.Cut(inputsOf(req), " sampling_parameters")
		sent = append(sent, inputs)
	}
	return resp.StatusCode, answer, sent
}

func TestImages(t *testing.T) {
	g := newImageServer(t, serving.Config{})
	png, gif := "data:image/png;base64,"+inBase64(smallPNG), g.url+"/a.gif"
	const prompt = "text_input=[user]a<image>b<image> image="
	both := inBase64(smallPNG) + "," + inBase64(smallGIF)
	chat := fmt.Sprintf(`{"model":"chat","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":%q}},`+
		`{"type":"text","text":"b"},{"type":"image_url","image_url":{"url":%q,"detail":"high"}}]}]`, png, gif)
	items := fmt.Sprintf(`{"model":"chat","input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":%q},`+
		`{"type":"input_text","text":"b"},{"type":"input_image","image_url":%q,"detail":"original"}]}]`, png, gif)
	for _, tt := range []struct {
		name, path, body string
		jobs             int
	}{
		{"a chat", chatPath, chat + "}", 1},
		{"a stream", chatPath, chat + `,"stream":true}`, 1},
		{"choices", chatPath, chat + `,"n":3}`, 3},
		{"items", responsesPath, items + "}", 1},
		{"items in a stream", responsesPath, items + `,"stream":true}`, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fetched := g.fetched.Load()
			status, answer, sent := g.ask(t, tt.path, tt.body)
			if status != http.StatusOK || !strings.Contains(answer, "Hello") || len(sent) != tt.jobs || g.fetched.Load() != fetched+1 {
				t.Errorf("%d %s: %d requests, %d fetches", status, answer, len(sent), g.fetched.Load()-fetched)
			}
			for _, inputs := range sent {
				if inputs != prompt+both {
					t.Errorf("sent %s", inputs)
				}
			}
		})
	}
}

// TestImagesAreKept tests that a request that continues a stored response sends the images of the
// earlier request to the model again. Images with a URL are fetched again.
func TestImagesAreKept(t *testing.T) {
	g := newImageServer(t, serving.Config{})
	_, first, _ := g.ask(t, responsesPath, fmt.Sprintf(`{"model":"chat","input":[{"role":"user","content":[{"type":"input_image","image_url":%q}]}]}`, g.url+"/a.gif"))
	var response struct{ ID string }
	if err := json.Unmarshal([]byte(first), &response); err != nil {
		t.Fatal(err)
	}
	_, _, sent := g.ask(t, responsesPath, fmt.Sprintf(`{"model":"chat","input":"and?","previous_response_id":%q}`, response.ID))
	if want := "text_input=[user]<image>[assistant]Hello[user]and? image=" + inBase64(smallGIF); len(sent) != 1 || sent[0] != want {
		t.Errorf("sent %s, want %s", sent, want)
	}
}

func TestImagesOfFunctions(t *testing.T) {
	g := newImageServer(t, serving.Config{})
	body := `{"model":"chat","input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":%q}]}]}`
	_, _, sent := g.ask(t, responsesPath, fmt.Sprintf(body, "data:image/png;base64,"+inBase64(smallPNG)))
	if len(sent) != 1 || !strings.HasSuffix(sent[0], "[tool]<image> image="+inBase64(smallPNG)) {
		t.Errorf("sent %s", sent)
	}
	status, answer, _ := g.ask(t, responsesPath, fmt.Sprintf(body, g.url+"/none"))
	if status != http.StatusBadRequest || !strings.Contains(answer, `"param":"input[1].output[0].image_url"`) {
		t.Errorf("%d %s", status, answer)
	}
}

func TestImagesThatAreRefused(t *testing.T) {
	g := newImageServer(t, serving.Config{})
	png := "data:image/png;base64," + inBase64(smallPNG)
	chat := func(model, more string, urls ...string) string {
		var parts []string
		for _, url := range urls {
			parts = append(parts, fmt.Sprintf(`{"type":"image_url","image_url":{"url":%q}}`, url))
		}
		return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"x"},{"role":"user","content":[%s]}]%s}`, model, strings.Join(parts, ","), more)
	}
	item := func(url string) string {
		return fmt.Sprintf(`{"model":"chat","input":[{"role":"user","content":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":%q}]}]}`, url)
	}
	for _, tt := range []struct {
		name, path, body     string
		param, code, message string
		fetched              int32
	}{
		{"what is fetched is no image", chatPath, chat("chat", "", png, g.url+"/none"), "messages[1].content[1].image_url.url", "invalid_value", "messages[1].content[1].image_url.url is not a PNG", 1},
		{"of an item", responsesPath, item(g.url + "/none"), "input[0].content[1].image_url", "invalid_value", "input[0].content[1].image_url is not a PNG", 1},
		{"a model that doesn't see", chatPath, chat("blind", "", g.url+"/a.gif"), "messages[1].content[0]", "unsupported_parameter", "takes no image_url content", 0},
		{"more than the model takes", chatPath, chat("one", "", g.url+"/a.gif", g.url+"/a.gif"), "messages[1].content[1]", "unsupported_parameter", "at most 1 images", 0},
		{"a request that can't be served", chatPath, chat("chat", `,"max_tokens":101`, g.url+"/a.gif"), "max_tokens", "context_length_exceeded", "100 tokens", 0},
		{"tokens of images", responsesPath + "/input_tokens", item(png), "input[0].content[1].image_url", "unsupported_parameter", "can't be counted", 0},
		{"a stream", chatPath, chat("chat", `,"stream":true`, g.url+"/none"), "messages[1].content[0].image_url.url", "invalid_value", "is not a PNG", 1},
		{"a bad one to tokenize", "/v1/tokenize", chat("blind", "", png), "messages[1].content[0]", "unsupported_parameter", "takes no image_url content", 0},
		{"an address of no kind", chatPath, chat("chat", "", "gopher://x"), "messages[1].content[0].image_url.url", "invalid_value", "http: or https:", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fetched := g.fetched.Load()
			status, answer, sent := g.ask(t, tt.path, tt.body)
			var got struct{ Error wire.Error }
			if err := json.Unmarshal([]byte(answer), &got); err != nil {
				t.Fatal(err)
			}
			e := got.Error
			if status != http.StatusBadRequest || decode.Value(e.Param) != tt.param || decode.Value(e.Code) != tt.code || !strings.Contains(e.Message, tt.message) || strings.Contains(answer, "secret") {
				t.Errorf("%d %s", status, answer)
			}
			if len(sent) > 0 || g.fetched.Load()-fetched != tt.fetched {
				t.Errorf("%d requests, %d fetches", len(sent), g.fetched.Load()-fetched)
			}
		})
	}
}

// TestImagesTakeTheRequestsTime tests that a fetch ends with its request, at the deadline
// or when the client disconnects.
func TestImagesTakeTheRequestsTime(t *testing.T) {
	body := func(g *imageServer) string {
		return fmt.Sprintf(`{"model":"chat","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":%q}}]}]}`, g.url+"/never")
	}
	t.Run("its time is over", func(t *testing.T) {
		// On a busy machine a short time is over before the fetch begins.
		for timeout := 50 * time.Millisecond; ; timeout *= 10 {
			g := newImageServer(t, serving.Config{Bounds: admission.Bounds{RequestTimeout: timeout}})
			status, answer, _ := g.ask(t, chatPath, body(g))
			if status != http.StatusGatewayTimeout || !strings.Contains(answer, `"code":"timeout"`) {
				t.Fatalf("%d %s", status, answer)
			}
			if g.fetched.Load() > 0 {
				<-g.left
				return
			}
			if timeout > time.Second {
				t.Fatal("the image was never fetched")
			}
		}
	})
	t.Run("the client leaves", func(t *testing.T) {
		g := newImageServer(t, serving.Config{})
		ctx, disconnect := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+chatPath, strings.NewReader(body(g)))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for g.fetched.Load() == 0 {
				runtime.Gosched()
			}
			disconnect()
		}()
		if resp, err := http.DefaultClient.Do(req); err == nil {
			t.Errorf("answered %d", resp.StatusCode)
			_ = resp.Body.Close()
		}
		<-g.left
	})
}

// TestImagesOfModelsThatIgnoreThem tests that a request with images is refused if its model would
// silently ignore images, unless the model is configured to read images.
func TestImagesOfModelsThatIgnoreThem(t *testing.T) {
	for _, contract := range []string{"llmapi", "bls"} {
		engine := inferencetest.New()
		addContract(t, engine, contract, streamAsEnsemble)
		engine.Configure("chat", func(c *kserve.ModelConfig) { delete(c.GetParameters(), "trident.vision") })
		server := fieldServer(t, Config{}, engine)
		resp, body := openaitest.Do(t, http.MethodPost, server.URL+chatPath, `{"model":"chat",`+oneImage+`}`)
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"param":"messages[0].content[0]"`) || !strings.Contains(body, "set its parameter trident.vision to true") || len(engine.Requests()) > 0 {
			t.Errorf("%s: %d %s", contract, resp.StatusCode, body)
		}
	}
}

// TestImagesTokenized tests that tokenize returns the tokens that the model receives, with a
// placeholder for each image.
func TestImagesTokenized(t *testing.T) {
	g := newImageServer(t, serving.Config{})
	_, answer, _ := g.ask(t, "/v1/tokenize", `{"model":"chat",`+oneImage+`}`)
	if want := fmt.Sprintf(`"count":%d`, len("[user]<image>")); !strings.Contains(answer, want) {
		t.Errorf("got %s, want %s", answer, want)
	}
}
