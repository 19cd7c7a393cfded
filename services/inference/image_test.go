package inference_test

import (
	"slices"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// TestImageRefs checks the order of a request's images and the fields that errors about them name: those of
// a chat, unless the client's request has others.
func TestImageRefs(t *testing.T) {
	image := func(url, param string) inference.Part {
		return inference.Part{Kind: inference.PartImage, URL: url, Param: param}
	}
	text := inference.Part{Kind: inference.PartText, Text: "a"}
	tests := []struct {
		name, param string
		messages    []inference.Message
		want        []inference.ImageRef
	}{
		{"no images", "messages", []inference.Message{{Text: "a"}, {Parts: []inference.Part{text}}}, nil},
		{
			"an image of a chat", "messages[1].content[1].image_url.url",
			[]inference.Message{{Text: "a"}, {Parts: []inference.Part{text, image("u", "")}}},
			[]inference.ImageRef{{URL: "u", Param: "messages[1].content[1].image_url.url"}},
		},
		{
			"an image of another API", "input[0].content[2]",
			[]inference.Message{{Parts: []inference.Part{image("u", "input[0].content[2]")}}},
			[]inference.ImageRef{{URL: "u", Param: "input[0].content[2]"}},
		},
		{
			"several", "messages",
			[]inference.Message{{Parts: []inference.Part{image("u", ""), image("v", "x")}}},
			[]inference.ImageRef{{URL: "u", Param: "messages[0].content[0].image_url.url"}, {URL: "v", Param: "x"}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			req := &inference.Request{Messages: test.messages}
			if got := req.ImageRefs(); !slices.Equal(got, test.want) {
				t.Errorf("got %+v", got)
			}
			if got := req.ImagesParam(); got != test.param {
				t.Errorf("errors name %q, want %q", got, test.param)
			}
		})
	}
	part := image("", "")
	if got := part.Path(2, 3); got != "messages[2].content[3]" {
		t.Errorf("the path of a part is %q", got)
	}
	part.Param = "input[1]"
	if got := part.Path(2, 3); got != "input[1]" {
		t.Errorf("the path of a part with its own is %q", got)
	}
}

// TestImageTensor checks that all jobs of a request share the tensor that the first one built.
func TestImageTensor(t *testing.T) {
	images := &inference.Images{List: []inference.Image{{Base64: "a"}, {Base64: "b"}}}
	built := 0
	for range 2 {
		raw := images.Tensor(func(list []inference.Image) []byte {
			built++
			return []byte(list[0].Base64 + list[1].Base64)
		})
		if string(raw) != "ab" {
			t.Errorf("got %q", raw)
		}
	}
	if built != 1 {
		t.Errorf("built %d times", built)
	}
}
