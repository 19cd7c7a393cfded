package contracts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// TestEncodersGenerateNothing checks that encoders refuse to generate, have nothing beside their inputs, and leave
// the errors of models as they are.
func TestEncodersGenerateNothing(t *testing.T) {
	config := encoderConfig(8, "input_ids INT64 -1", "attention_mask INT64 -1", ">", "logits FP32 1")
	for _, kind := range []inference.Backend{Encoder{}, TextEncoder{}, PairEncoder{}} {
		_, err := kind.Encode(&inference.Target{Name: "m", Config: config}, &inference.Request{Model: "m", Task: inference.TaskGenerate}, &inference.Job{Prompt: "p"})
		if e := inference.AsError(err); err == nil || e.Code != inference.CodeInvalid || e.Param != "model" || e.Message != "the model `m` doesn't support text generation" {
			t.Errorf("%s: got %v", kind.Name(), err)
		}
		if got, want := fmt.Sprintf("%+v", kind.Extras(config)), fmt.Sprintf("%+v", inference.Extras{}); got != want {
			t.Errorf("%s: got %s", kind.Name(), got)
		}
		var step inference.Step
		resp := &inference.Response{Outputs: []inference.Output{texts("text_output", "x")}}
		if err := kind.Decoder(&inference.Target{Name: "m"}, &inference.Request{}).Decode(resp, &step); err != nil || len(step.Text) > 0 || step.Finish != "" {
			t.Errorf("%s: the decoder read %q, %q, %v", kind.Name(), step.Text, step.Finish, err)
		}
		failed := &inference.Error{Code: inference.CodeInternal, Message: "out of memory"}
		if got := kind.Explain(&inference.Request{Model: "m"}, failed); got != failed {
			t.Errorf("%s: the error became %+v", kind.Name(), got)
		}
		if got := kind.(inference.Encoder).ExplainBatch(&inference.EncodeRequest{Model: "m"}, failed); got != failed {
			t.Errorf("%s: the error of a batch became %+v", kind.Name(), got)
		}
	}
}

// TestTextForms checks how models that take texts, or text generation servers that embed, take their inputs.
func TestTextForms(t *testing.T) {
	batching := func(config *kserve.ModelConfig) *kserve.ModelConfig {
		config.SchedulingChoice = &kserve.ModelConfig_DynamicBatching{DynamicBatching: &kserve.ModelDynamicBatching{}}
		return config
	}
	const text, first, second = "input_text STRING", "query STRING", "document STRING"
	for _, tt := range []struct {
		name   string
		kind   inference.Encoder
		config *kserve.ModelConfig
		want   inference.EncoderForm
	}{
		{"texts", TextEncoder{}, encoderConfig(8, text+" 1", ">", "out FP32 4"), inference.EncoderForm{MaxBatch: 8, Ambiguous: true, Activated: true}},
		{"texts with a batcher", TextEncoder{}, batching(encoderConfig(8, text+" 1", ">", "out FP32 4")), inference.EncoderForm{MaxBatch: 8, Ambiguous: true, Activated: true, SelfBatching: true}},
		{"any number of texts in the dims", TextEncoder{}, encoderConfig(0, text+" -1", ">", "out FP32 -1 4"), inference.EncoderForm{Ambiguous: true, Activated: true}},
		{"a number of texts in the dims", TextEncoder{}, encoderConfig(0, text+" 16 1", ">", "out FP32 16 4"), inference.EncoderForm{MaxBatch: 16, Ambiguous: true, Activated: true}},
		{"pairs", PairEncoder{}, encoderConfig(4, first+" 1", second+" 1", ">", "out FP32 1"), inference.EncoderForm{MaxBatch: 4, Activated: true}},
		{"pairs with a batcher", PairEncoder{}, batching(encoderConfig(4, first+" 1", second+" 1", ">", "out FP32 1")), inference.EncoderForm{MaxBatch: 4, Activated: true, SelfBatching: true}},
		{"any number of pairs in the dims", PairEncoder{}, encoderConfig(0, first+" -1", second+" -1", ">", "out FP32 -1"), inference.EncoderForm{Activated: true}},
		{"texts and images", TextEncoder{}, encoderConfig(8, text+" 1", "image? STRING 1", ">", "out FP32 4"), inference.EncoderForm{MaxBatch: 8, Ambiguous: true, Activated: true, Images: true}},
		{"images only", TextEncoder{}, encoderConfig(0, "image_url STRING 4 1", ">", "out FP32 4 4"), inference.EncoderForm{MaxBatch: 4, Ambiguous: true, Activated: true, Images: true, ImagesOnly: true}},
		{"vLLM", VLLM{}, vllmConfig(), inference.EncoderForm{MaxBatch: 1, SelfBatching: true, OwnSettings: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.kind.EncoderForm(tt.config); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// TestTextTensors checks the texts and the shape that models of texts get, and that a single text has an empty
// second one for a model of pairs.
func TestTextTensors(t *testing.T) {
	item := func(text string) *inference.EncodeItem {
		return &inference.EncodeItem{Input: &inference.EncodeInput{Input: inference.Input{Text: text}}}
	}
	for _, tt := range []struct {
		name   string
		kind   inference.Encoder
		config *kserve.ModelConfig
		want   string
	}{
		{"a batch", TextEncoder{}, encoderConfig(8, "TEXT STRING 1", ">", "out FP32 4"), `TEXT BYTES[2 1] "" "é"`},
		{"a batch of lists", TextEncoder{}, encoderConfig(8, "TEXT STRING 1 1", ">", "out FP32 4"), `TEXT BYTES[2 1 1] "" "é"`},
		{"the batch in the dims", TextEncoder{}, encoderConfig(0, "TEXT STRING -1", "lang? STRING -1", ">", "out FP32 -1 4"), `TEXT BYTES[2] "" "é"`},
		{"a number of texts in the dims", TextEncoder{}, encoderConfig(0, "TEXT STRING 3 1", ">", "out FP32 3 4"), `TEXT BYTES[3 1] "" "é" ""`},
		{"pairs", PairEncoder{}, encoderConfig(8, "a STRING 1", "b STRING 1", ">", "out FP32 2"), `a BYTES[2 1] "" "é" b BYTES[2 1] "" ""`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := tt.kind.EncodeBatch(&inference.Target{Name: "m", Config: tt.config}, &inference.EncodeBatch{ID: "id-1", Items: []*inference.EncodeItem{item(""), item("é")}})
			if err != nil {
				t.Fatal(err)
			}
			if text := stringsOf(t, req); text != tt.want || req.GetId() != "id-1" || req.GetModelName() != "m" || len(req.GetOutputs()) != 1 || req.GetOutputs()[0].GetName() != "out" {
				t.Errorf("got %s of %v", text, req)
			}
		})
	}
}

// TestImageTensors checks the strings that models of images get: base64 or data: URIs, and empty strings for what an
// input lacks.
func TestImageTensors(t *testing.T) {
	const textInput, out = "text STRING 1", "out FP32 4"
	text := inference.EncodeItem{Input: &inference.EncodeInput{Input: inference.Input{Text: "é"}}}
	image := inference.EncodeItem{Input: &inference.EncodeInput{}, Image: &inference.Image{Type: "image/gif", Base64: "R0lG"}}
	both := inference.EncodeItem{Input: text.Input, Image: image.Image}
	for _, tt := range []struct {
		name   string
		config *kserve.ModelConfig
		items  []inference.EncodeItem
		want   string
	}{
		{"base64", encoderConfig(8, textInput, "image STRING 1", ">", out), []inference.EncodeItem{text, image, both}, `text BYTES[3 1] "é" "" "é" image BYTES[3 1] "" "R0lG" "R0lG"`},
		{"data: URIs", encoderConfig(8, "image_url STRING 1 1", ">", out), []inference.EncodeItem{image}, `image_url BYTES[1 1 1] "data:image/gif;base64,R0lG"`},
		{"data: URIs of JPEG", encoderConfig(0, "image_url_input STRING -1", ">", "out FP32 -1 4"), []inference.EncodeItem{image}, `image_url_input BYTES[1] "data:image/jpeg;base64,R0lG"`},
		{"an optional input with an image", encoderConfig(8, textInput, "image? STRING 1", ">", out), []inference.EncodeItem{text, both}, `text BYTES[2 1] "é" "é" image BYTES[2 1] "" "R0lG"`},
		{"an optional input without images", encoderConfig(8, textInput, "image? STRING 1", ">", out), []inference.EncodeItem{text}, `text BYTES[1 1] "é"`},
		{"a required input without images", encoderConfig(8, textInput, "image STRING 1", ">", out), []inference.EncodeItem{text}, `text BYTES[1 1] "é" image BYTES[1 1] ""`},
		{"an optional second input for images", encoderConfig(8, "image STRING 1", "image_url? STRING 1", ">", out), []inference.EncodeItem{image}, `image BYTES[1 1] "R0lG"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tasks := (TextEncoder{}).Tasks(tt.config); tasks&inference.TaskEmbed == 0 {
				t.Fatalf("the model has the tasks %v", tasks.Names())
			}
			batch := &inference.EncodeBatch{ID: "id-1"}
			for i := range tt.items {
				batch.Items = append(batch.Items, &tt.items[i])
			}
			req, err := TextEncoder{}.EncodeBatch(&inference.Target{Name: "m", Config: tt.config}, batch)
			if got := stringsOf(t, req); err != nil || got != tt.want {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	for name, config := range map[string]*kserve.ModelConfig{
		"pixels":              encoderConfig(8, textInput, "image FP32 3 224 224", ">", out),
		"several images":      encoderConfig(8, textInput, "image STRING -1 2 1", ">", out),
		"two required inputs": encoderConfig(8, "image STRING 1", "image_url STRING 1", ">", out),
		"a text of a pair":    encoderConfig(8, "query STRING 1", "document STRING 1", "image? STRING 1", ">", out),
	} {
		if tasks := (TextEncoder{}).Tasks(config); tasks != 0 {
			t.Errorf("%s: the model has the tasks %v", name, tasks.Names())
		}
	}
	if tasks := (PairEncoder{}).Tasks(encoderConfig(8, textInput, "image STRING 1", ">", "out FP32 1")); tasks&inference.TaskScore == 0 {
		t.Errorf("a pair with a text called image has the tasks %v", tasks.Names())
	}
}

// stringsOf shows the inputs of a request with their strings.
func stringsOf(t *testing.T, req *kserve.ModelInferRequest) string {
	t.Helper()
	var got []string
	for i, in := range req.GetInputs() {
		got = append(got, fmt.Sprint(in.GetName(), " ", in.GetDatatype(), in.GetShape()))
		for raw := req.GetRawInputContents()[i]; len(raw) > 0; {
			element, rest, err := nextBytes(raw)
			if err != nil {
				t.Fatal(err)
			}
			got, raw = append(got, fmt.Sprintf("%q", element)), rest
		}
	}
	return strings.Join(got, " ")
}

// TestTextEncoderDecode checks the results of models that take texts, in all shapes that they return, and the errors of
// answers that can't be read.
func TestTextEncoderDecode(t *testing.T) {
	text := encoderConfig(8, "TEXT STRING 1", ">", "out FP32 2")
	pair := encoderConfig(0, "query STRING -1", "document STRING -1", ">", "out FP32 -1")
	four := encoderConfig(0, "query STRING 4", "document STRING 4", ">", "out FP32 4")
	const prefix = "model m: output out: "
	for _, tt := range []struct {
		name   string
		kind   inference.Encoder
		config *kserve.ModelConfig
		task   inference.Task
		items  int
		out    inference.Output
		want   string
		err    string
	}{
		{"vectors", TextEncoder{}, text, inference.TaskEmbed, 2, floatOutput("out", []int64{2, 2}, 1, 2, 3, 4), "[1 2] [3 4]", ""},
		{"the only vector without a batch", TextEncoder{}, text, inference.TaskEmbed, 1, floatOutput("out", []int64{2}, 1, 2), "[1 2]", ""},
		{"halves", TextEncoder{}, text, inference.TaskEmbed, 1, inference.Output{Name: "out", Type: "FP16", Shape: []int64{1, 2}, Raw: []byte("\x00\x3c\x00\xc0")}, "[1 -2]", ""},
		{"classes", TextEncoder{}, text, inference.TaskClassify, 1, floatOutput("out", []int64{1, 2}, 0.25, 0.75), "[0.25 0.75]", ""},
		{"scores", PairEncoder{}, pair, inference.TaskScore, 2, floatOutput("out", []int64{2}, 0.5, -3), "0.5 -3", ""},
		{"the only score", PairEncoder{}, pair, inference.TaskScore, 1, floatOutput("out", []int64{1}, 0.5), "0.5", ""},
		{"one pair of a fixed number", PairEncoder{}, four, inference.TaskScore, 1, floatOutput("out", []int64{4}, 0.5, 7, 8, 9), "0.5", ""},
		{"classes of pairs", PairEncoder{}, pair, inference.TaskClassify, 2, floatOutput("out", []int64{2, 1}, 0.5, 1), "[0.5] [1]", ""},
		{"two values for a score", PairEncoder{}, pair, inference.TaskScore, 1, floatOutput("out", []int64{2}, 1, 2), "", prefix + "the model returns 2 values for a pair, but a score is one value"},
		{"a score too few", PairEncoder{}, pair, inference.TaskScore, 2, floatOutput("out", []int64{1}, 1), "", prefix + "the output has 1 rows, but the batch has more"},
		{"a vector too few", TextEncoder{}, text, inference.TaskEmbed, 2, floatOutput("out", []int64{1, 2}, 1, 2), "", prefix + "the output has 1 rows, but the batch has more"},
		{"no output", TextEncoder{}, text, inference.TaskEmbed, 1, floatOutput("other", []int64{1, 2}, 1, 2), "", "model m: the response lacks the output out"},
		{"a text", TextEncoder{}, text, inference.TaskEmbed, 1, texts("out", "1"), "", prefix + "the output tensor has datatype BYTES instead of FP32, FP16 or BF16"},
		{"a tensor that is cut", PairEncoder{}, pair, inference.TaskScore, 2, inference.Output{Name: "out", Type: "FP32", Shape: []int64{2}, Raw: make([]byte, 7)}, "", prefix + "7 bytes of FP32 have the shape [2]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			batch := &inference.EncodeBatch{}
			for range tt.items {
				batch.Items = append(batch.Items, &inference.EncodeItem{Task: tt.task, Input: &inference.EncodeInput{}, Result: &inference.Encoded{}})
			}
			err := tt.kind.DecodeBatch(&inference.Target{Name: "m", Config: tt.config}, batch, &inference.Response{Outputs: []inference.Output{tt.out}})
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Errorf("got  %v\nwant %s", err, tt.err)
				}
				return
			}
			var got []string
			for _, item := range batch.Items {
				switch tt.task {
				case inference.TaskEmbed:
					got = append(got, fmt.Sprint(item.Result.Vector))
				case inference.TaskClassify:
					got = append(got, fmt.Sprint(item.Result.Classes))
				default:
					got = append(got, fmt.Sprint(item.Result.Score))
				}
			}
			if list := strings.Join(got, " "); err != nil || list != tt.want {
				t.Errorf("got %s, %v, want %s", list, err, tt.want)
			}
		})
	}
}
