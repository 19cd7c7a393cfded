package contracts

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

func TestImageInput(t *testing.T) {
	const anyNumber = inference.AnyImages
	tests := []struct {
		name           string
		backend        inference.Backend
		config         *kserve.ModelConfig
		most           int
		placed, silent bool
	}{
		{"vllm", VLLM{}, tensorsOf(0, true, []string{"text_input STRING 1", "image? STRING -1"}), anyNumber, false, false},
		{"vllm without", VLLM{}, vllmConfig(), 0, false, false},
		{"llmapi", LLMAPI{}, llmapiConfig(), anyNumber, true, true},
		{"llmapi without", LLMAPI{}, llmapiConfig("-image_url"), 0, true, true},
		{"bls: one image", TensorRTLLM{}, ensembleConfig("image_bytes_input? UINT8 -1 -1 -1 -1", "image_url_input? STRING 1"), 1, true, true},
		{"a multimodal ensemble", TensorRTLLM{}, ensembleConfig("image_bytes_input? UINT8 -1 -1 -1 -1", "image_url_input? STRING -1"), anyNumber, true, true},
		{"pixels only", TensorRTLLM{}, ensembleConfig("image_bytes_input? UINT8 -1 -1 -1 -1"), 0, true, true},
		{"an image that is no text", Python{}, tensorsOf(0, true, []string{"text_input STRING 1", "image? UINT8 -1"}), 0, true, false},
		{"a Python model", Python{}, tensorsOf(2, true, []string{"text_input STRING 1", "image_url? STRING -1"}), anyNumber, true, false},
		{"an input for exactly three", Python{}, tensorsOf(0, true, []string{"text_input STRING 1", "image? STRING 3"}), 0, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.backend.Extras(tt.config).Images
			if want := (inference.ImageInput{Most: tt.most, Placed: tt.placed, Silent: tt.silent}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestEncodeImages(t *testing.T) {
	list := []inference.Image{{Type: "image/png", Base64: "iVBORw0KGgo="}, {Type: "image/gif", Base64: "R0lG"}}
	tests := []struct {
		name    string
		backend inference.Backend
		config  *kserve.ModelConfig
		images  int // number of images
		input   string
		shape   []int64
		want    string
	}{
		{"vllm", VLLM{}, tensorsOf(0, true, []string{"text_input STRING 1", "image? STRING -1"}), 2, "image", []int64{2}, "iVBORw0KGgo=|R0lG"},
		{"llmapi", LLMAPI{}, llmapiConfig(), 2, "image_url", []int64{2}, "data:image/png;base64,iVBORw0KGgo=|data:image/gif;base64,R0lG"},
		{"bls", TensorRTLLM{}, ensembleConfig("image_bytes_input? UINT8 -1 -1 -1 -1", "image_url_input? STRING 1"), 1, "image_url_input", []int64{1, 1}, "data:image/jpeg;base64,iVBORw0KGgo="},
		{"a multimodal ensemble", TensorRTLLM{}, ensembleConfig("image_bytes_input? UINT8 -1 -1 -1 -1", "image_url_input? STRING -1"), 2, "image_url_input", []int64{1, 2}, "data:image/jpeg;base64,iVBORw0KGgo=|data:image/jpeg;base64,R0lG"},
		{"a Python model", Python{}, tensorsOf(0, true, []string{"text_input STRING 1", "image? STRING -1"}), 1, "image", []int64{1}, "iVBORw0KGgo="},
		{"none", VLLM{}, tensorsOf(0, true, []string{"text_input STRING 1", "image? STRING -1"}), 0, "image", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			job := &inference.Job{Prompt: "p", MaxTokens: 9}
			if tt.images > 0 {
				job.Images = &inference.Images{List: list[:tt.images]}
			}
			req := &inference.Request{Task: inference.TaskGenerate}
			shape, got, raw := imageTensor(t, tt.backend, tt.config, req, job, tt.input)
			if !slices.Equal(shape, tt.shape) || got != tt.want {
				t.Errorf("shape %v, got %s", shape, got)
			}
			if _, _, again := imageTensor(t, tt.backend, tt.config, req, job, tt.input); tt.images > 0 && &raw[0] != &again[0] {
				t.Error("two jobs of a request have the images twice")
			}
		})
	}
}

// imageTensor encodes a job and returns its images.
func imageTensor(t *testing.T, b inference.Backend, config *kserve.ModelConfig, req *inference.Request, job *inference.Job, input string) (shape []int64, texts string, raw []byte) {
	t.Helper()
	got, err := b.Encode(&inference.Target{Config: config}, req, job)
	if err != nil {
		t.Fatal(err)
	}
	for i, in := range got.GetInputs() {
		if in.GetName() == input {
			shape, raw = in.GetShape(), got.GetRawInputContents()[i]
		}
	}
	var list []string
	for rest := raw; len(rest) > 0; {
		n := 4 + binary.LittleEndian.Uint32(rest)
		list, rest = append(list, string(rest[4:n])), rest[n:]
	}
	return shape, strings.Join(list, "|"), raw
}

func TestExplainImages(t *testing.T) {
	part := inference.Part{Kind: inference.PartImage}
	one := &inference.Request{Messages: []inference.Message{{Text: "x"}, {Parts: []inference.Part{{Kind: inference.PartText}, part}}}}
	two := &inference.Request{Messages: []inference.Message{{Parts: []inference.Part{part, part}}}}
	const field = "messages[1].content[1].image_url.url"
	tests := []struct {
		text           string
		req            *inference.Request
		param, message string
	}{
		{"Error generating stream: At most 1 image(s) may be provided in one prompt.", two, "messages", "no more than 1 images"},
		{"At most 0 image(s) may be provided in one prompt. (parameter=image)", one, field, "takes no images"},
		{"Error generating stream: opt-125m is not a multimodal model", one, field, "takes no images"},
		{"Error generating stream: cannot identify image file <_io.BytesIO object at 0x7f0b2c1d2e30>", one, field, "can't read an image"},
		{"image file is truncated (12 bytes not processed)", two, "messages", "can't read an image"},
		{"Image size (200000000 pixels) exceeds limit of 178956970 pixels, could be decompression bomb DOS attack.", one, field, "too large"},
		{"Failed to apply prompt replacement for mm_items['image'][0]. The number of tokens in the prompt", one, "messages", "number of image placeholders in the prompt differs"},
		{"Expected there to be 2 prompt placeholders corresponding to 2 image items, but instead found 1 prompt placeholders!", two, "messages", "number of image placeholders in the prompt differs"},
		{"CUDA out of memory", one, "", "CUDA"},
		{"cannot identify image file", &inference.Request{Messages: []inference.Message{{Text: "x"}}}, "", "cannot identify"},
	}
	for _, b := range []inference.Backend{VLLM{}, LLMAPI{}, TensorRTLLM{}, Python{}} {
		for _, tt := range tests {
			t.Run(b.Name()+": "+tt.text, func(t *testing.T) {
				cause := errors.New("cause")
				got := b.Explain(tt.req, &inference.Error{Code: inference.CodeInternal, Message: tt.text, Err: cause})
				if got.Param != tt.param || !strings.Contains(got.Message, tt.message) || strings.Contains(got.Message, "0x7f") || !errors.Is(got, cause) {
					t.Errorf("param %s: %s", got.Param, got.Message)
				}
				if (got.Code == inference.CodeInvalid) != (tt.param != "") {
					t.Errorf("code %s", got.Code)
				}
			})
		}
	}
}
