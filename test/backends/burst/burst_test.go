package burst_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/contracts"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/tokenizer"
	"github.com/trident-inference/trident/services/triton"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/backends/burst"
	"github.com/trident-inference/trident/test/pause"
	"github.com/trident-inference/trident/test/tier"
)

// gpu is the model that needs a GPU.
const gpu = "burst_gpu"

// prompt is the prompt of every request.
const prompt = " A prompt \n of words. "

// id is the id of every request.
const id = "chatcmpl-7"

// served returns the models of the bench, and one with Counts.
func served() []burst.Model {
	return append(burst.Models(), burst.Model{Name: "burst_counts", Counts: true, Pace: time.Millisecond})
}

// TestModels checks the responses, the refusals and the cancellation of the test models, with
// requests in the form that Trident sends.
func TestModels(t *testing.T) {
	engine, cards := start(t)
	for _, m := range served() {
		t.Run(m.Name, func(t *testing.T) {
			t.Run("answers", func(t *testing.T) { answers(t, cards[m.Name], m) })
			t.Run("refuses", func(t *testing.T) { refuses(t, cards[m.Name]) })
			if m.Pace > 0 || m.Python { // without a pace, tritonserver 2.51 crashes after one of about thirty cancellations
				t.Run("cancelled", func(t *testing.T) {
					if m.Python { // the python model has no pace either
						tier.OnlySlow(t)
					}
					cancelEndless(t, engine, cards[m.Name])
				})
			}
		})
	}
	t.Run("no GPU", func(t *testing.T) { refusesGPU(t, engine) })
}

// TestTokenizer checks that the tokenizer of a model counts the words of a prompt as the model does, see
// answers.
func TestTokenizer(t *testing.T) {
	dir := t.TempDir()
	if err := burst.Repository(t.Context(), dir, burst.Model{Name: "words", Tokenizer: true}); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(dir, "words", "config.pbtxt"))
	if folder := filepath.Join(dir, "words", "tokenizer"); err != nil || !strings.Contains(string(config), `key: "trident.tokenizer", value: { string_value: "`+folder+`"`) {
		t.Errorf("%v\n%s", err, config)
	}
	words, err := tokenizer.NewFolders().Load(filepath.Join(dir, "words", "tokenizer"))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := words.Count(t.Context(), prompt, true, nil); err != nil || n != 4 {
		t.Errorf("the prompt has %d words: %v", n, err)
	}
}

func answers(t *testing.T, card *catalog.Card, m burst.Model) {
	t.Helper()
	for _, row := range []struct {
		name   string
		stream bool
		tokens int
	}{{"stream", true, 7}, {"one token", true, 1}, {"longer than the list", true, 40}, {"whole", false, 7}} {
		t.Run(row.name, func(t *testing.T) {
			began := time.Now()
			got := ask(t, card, row.stream, row.tokens)
			if least := time.Duration(row.tokens-1) * m.Pace; time.Since(began) < least {
				t.Errorf("the requests took %s, less than %s", time.Since(began), least)
			}
			want := answer{text: burst.Text(row.tokens), reasons: strings.Repeat("None ", row.tokens-1) + "length ", prompt: 4, output: row.tokens}
			if m.Counts {
				want.text = burst.Counted(prompt, id, row.tokens)
			}
			if !row.stream {
				want.reasons = "length "
			}
			if got != want {
				t.Errorf("\n got %+v\nwant %+v", got, want)
			}
		})
	}
}

func refuses(t *testing.T, card *catalog.Card) {
	t.Helper()
	for _, row := range []struct{ name, sampling, want string }{
		{"no tokens", `{"stop": ["max_tokens", "\"{["], "max_tokens": 0}`, "sampling parameter 'max_tokens=0' must be a whole number from 1"},
		{"half a token", `{"n": {"max_tokens": 1}, "max_tokens":1.5}`, "sampling parameter 'max_tokens=1.5' must be a whole number from 1"},
		{"no JSON", `{"max_tokens" 1}`, "a parameter isn't valid JSON"},
		{"half a JSON", `{"seed":1`, "a parameter isn't valid JSON"},
		{"no object", `17`, "a parameter isn't valid JSON"},
	} {
		t.Run(row.name, func(t *testing.T) {
			req := encode(t, card, true, 1)
			for i, in := range req.GetInputs() {
				if in.GetName() == "sampling_parameters" {
					req.RawInputContents[i] = append(binary.LittleEndian.AppendUint32(nil, uint32(len(row.sampling))), row.sampling...)
				}
			}
			for response, err := range card.Engine.Stream(t.Context(), req) {
				if err == nil || !strings.Contains(inference.AsError(err).Message, row.want) {
					t.Errorf("got %v, %v", response, err)
				}
			}
		})
	}
}

// cancelEndless cancels a stream that would take years. Afterwards the model can be unloaded, for which
// Triton waits until no request is in flight.
func cancelEndless(t *testing.T, engine *triton.Engine, card *catalog.Card) {
	t.Helper()
	for _, err := range engine.Stream(t.Context(), encode(t, card, true, 1<<40)) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if _, err := engine.RepositoryModelUnload(t.Context(), &kserve.RepositoryModelUnloadRequest{ModelName: card.Name}); err != nil {
		t.Fatal(err)
	}
	var state string
	if !pause.Until(10*time.Second, func() bool { state = stateOf(t, engine, card.Name); return state == "UNAVAILABLE" }) {
		t.Fatalf("the model is %s", state)
	}
}

func stateOf(t *testing.T, engine *triton.Engine, model string) string {
	t.Helper()
	index, err := engine.RepositoryIndex(t.Context(), &kserve.RepositoryIndexRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range index.GetModels() {
		if m.GetName() == model {
			return m.GetState()
		}
	}
	return "unknown"
}

// TestEcho checks that the test model with Echo returns the bytes of its input unchanged.
func TestEcho(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real Triton")
	}
	repository := t.TempDir()
	if err := burst.Repository(t.Context(), repository, burst.Model{Name: "echo", Echo: true}); err != nil {
		t.Fatal(err)
	}
	engine := tritontest.Connect(t, tritontest.StartServer(t, tritonserver.Options{Repositories: []string{repository}}))
	for _, size := range []int{1, 1 << 10, 3 << 20} {
		sent := bytes.Repeat([]byte{0, 1, 2, 3, 250, 255, 7}, size/7+1)[:size]
		req := &kserve.ModelInferRequest{
			ModelName:        "echo",
			Inputs:           []*kserve.ModelInferRequest_InferInputTensor{{Name: "input", Datatype: "UINT8", Shape: []int64{int64(size)}}},
			RawInputContents: [][]byte{sent},
		}
		var got []byte
		for response, err := range engine.Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			for _, out := range response.Outputs {
				if out.Name == "output" && slices.Equal(out.Shape, []int64{int64(size)}) {
					got = append(got, out.Raw...)
				}
			}
		}
		if !bytes.Equal(got, sent) {
			t.Errorf("the response has %[2]d bytes, not %[1]d", size, len(got))
		}
	}
}

// TestEnsemble checks the responses of a model with the contract of TensorRT-LLM's ensemble: its outputs
// are those that a request names, or all without names.
func TestEnsemble(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real Triton")
	}
	repository := t.TempDir()
	if err := burst.Repository(t.Context(), repository, burst.Model{Name: "ensemble", Ensemble: true}); err != nil {
		t.Fatal(err)
	}
	engine := tritontest.Connect(t, tritontest.StartServer(t, tritonserver.Options{Repositories: []string{repository}}))
	target := cardsOf(t, engine)["ensemble"].Target
	encoded := func() *kserve.ModelInferRequest {
		req, err := contracts.TensorRTLLM{}.Encode(&target, &inference.Request{Task: inference.TaskGenerate, Stream: true}, &inference.Job{Prompt: prompt, MaxTokens: 3})
		if err != nil {
			t.Fatal(err)
		}
		return req
	}
	named := func(names ...string) *kserve.ModelInferRequest {
		req := encoded()
		req.Outputs = nil
		for _, name := range names {
			req.Outputs = append(req.Outputs, &kserve.ModelInferRequest_InferRequestedOutputTensor{Name: name})
		}
		return req
	}
	const each = "text_output num_input_tokens 4 num_output_tokens 1 "
	for _, row := range []struct {
		name string
		req  *kserve.ModelInferRequest
		want string // outputs of each response, with the numbers
	}{
		{"as Trident requests it", encoded(), each},
		{"all outputs", named(), each + "sequence_index 0 batch_index 0 "},
		{"an index", named("text_output", "batch_index"), "text_output batch_index 0 "},
	} {
		t.Run(row.name, func(t *testing.T) {
			if !strings.HasPrefix(row.want, each) { // the flags select the counts
				for i, in := range row.req.GetInputs() {
					if strings.HasPrefix(in.GetName(), "return_num_") {
						row.req.RawInputContents[i] = []byte{0}
					}
				}
			}
			var text strings.Builder
			responses := 0
			for response, err := range engine.Stream(t.Context(), row.req) {
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				for _, out := range response.Outputs {
					got += out.Name + " "
					if !slices.Equal(out.Shape, []int64{1, 1}) {
						t.Errorf("%s has the shape %v", out.Name, out.Shape)
					}
					if out.Name == "text_output" {
						text.Write(out.Raw[4:])
					} else if out.Type == "INT32" {
						got += strconv.Itoa(int(binary.LittleEndian.Uint32(out.Raw))) + " "
					}
				}
				responses++
				if got != row.want {
					t.Errorf("the outputs are %q, not %q", got, row.want)
				}
			}
			if responses != 3 || text.String() != burst.Text(3) {
				t.Errorf("%d responses with the text %q", responses, text.String())
			}
		})
	}
}

func refusesGPU(t *testing.T, engine *triton.Engine) {
	t.Helper()
	if devices, err := filepath.Glob("/dev/nvidia[0-9]*"); err != nil || len(devices) > 0 {
		t.Skip("this machine has a GPU: make test-gpu tests the model")
	}
	_, err := engine.RepositoryModelLoad(t.Context(), &kserve.RepositoryModelLoadRequest{ModelName: gpu})
	if err == nil || !strings.Contains(inference.AsError(err).Message, "GPU") {
		t.Errorf("loading the model returned %v", err)
	} else {
		t.Log(inference.AsError(err).Message)
	}
}

func start(t *testing.T) (*triton.Engine, map[string]*catalog.Card) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real Triton")
	}
	repository := t.TempDir()
	models := append(served(), burst.Model{Name: gpu, Outputs: burst.GPU})
	if err := burst.Repository(t.Context(), repository, models...); err != nil {
		t.Fatal(err)
	}
	args := []string{"--model-control-mode=explicit"}
	for _, m := range served() {
		args = append(args, "--load-model="+m.Name)
	}
	server := tritontest.StartServer(t, tritonserver.Options{Repositories: []string{repository}, Args: args})
	engine := tritontest.Connect(t, server)
	return engine, cardsOf(t, engine)
}

func cardsOf(t *testing.T, engine inference.Engine) map[string]*catalog.Card {
	t.Helper()
	models, err := engine.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cards := map[string]*catalog.Card{}
	for _, m := range models {
		cards[m.Name] = &catalog.Card{Target: inference.Target{Name: m.Name, Config: m.Config}, Engine: engine}
	}
	return cards
}

// answer is the response to a request. The reasons are those of all its messages.
type answer struct {
	text, reasons  string
	prompt, output int
}

func ask(t *testing.T, card *catalog.Card, stream bool, tokens int) answer {
	t.Helper()
	req := &inference.Request{Task: inference.TaskGenerate, Stream: stream}
	decoder := contracts.VLLM{}.Decoder(&card.Target, req)
	var got answer
	for response, err := range card.Engine.Stream(t.Context(), encode(t, card, stream, tokens)) {
		if err != nil {
			t.Fatal(err)
		}
		for _, out := range response.Outputs {
			if out.Name == "finish_reason" {
				got.reasons += string(out.Raw[4:]) + " "
			}
		}
		var step inference.Step
		if err := decoder.Decode(response, &step); err != nil {
			t.Fatal(err)
		}
		got.text += string(step.Text)
		got.prompt, got.output = step.PromptTokens, got.output+step.OutputTokens
		if response.Final && step.Finish != inference.FinishLength {
			t.Errorf("the last response is %+v", step)
		}
	}
	return got
}

func encode(t *testing.T, card *catalog.Card, stream bool, tokens int) *kserve.ModelInferRequest {
	t.Helper()
	req := &inference.Request{Task: inference.TaskGenerate, Stream: stream}
	tensors, err := contracts.VLLM{}.Encode(&card.Target, req, &inference.Job{Prompt: prompt, MaxTokens: tokens})
	if err != nil {
		t.Fatal(err)
	}
	tensors.Id = id
	return tensors
}
