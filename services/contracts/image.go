package contracts

import (
	"encoding/binary"
	"regexp"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Names of the input tensors for images, by backend.
const (
	inImage         = "image"           // input of vLLM's backend for images in base64
	inImageURL      = "image_url"       // input of TensorRT-LLM's LLM API for image URLs
	inImageURLInput = "image_url_input" // input of TensorRT-LLM's bls and multimodal ensemble for image URLs
)

// imageForms are the prefixes of an image's base64 in each input. Models get no URLs: the core has
// already fetched all images.
var imageForms = []struct { //nolint:gochecknoglobals // a constant table
	input  string
	prefix func(mediaType string) string
}{
	{inImage, func(string) string { return "" }},
	{inImageURL, func(mediaType string) string { return "data:" + mediaType + ";base64," }},
	// TensorRT-LLM's preprocessing treats a data: URI of any other type as a URL. The
	// preprocessing detects the actual type from the bytes.
	{inImageURLInput, func(string) string { return "data:image/jpeg;base64," }},
}

// imagesOf returns the number of images that the model's image input can have.
func imagesOf(config *kserve.ModelConfig) inference.ImageInput {
	inputs := declared(config)
	for _, form := range imageForms {
		in := inputs[form.input]
		if in.GetDataType() != kserve.DataType_TYPE_STRING {
			continue
		}
		if _, several := listShape(in, nil, 2); several {
			return inference.ImageInput{Most: inference.AnyImages}
		}
		if _, one := listShape(in, nil, 1); one {
			return inference.ImageInput{Most: 1}
		}
	}
	return inference.ImageInput{}
}

// images sends the request's images, whose number is within the limit of imagesOf.
func (t *tensors) images(images *inference.Images) {
	if images == nil {
		return
	}
	for _, form := range imageForms {
		if t.inputs[form.input].GetDataType() != kserve.DataType_TYPE_STRING {
			continue
		}
		raw := images.Tensor(func(list []inference.Image) []byte { return imageTexts(list, form.prefix) })
		if t.list(form.input, "BYTES", raw, len(images.List)) {
			return
		}
	}
}

// imageFormOf returns the prefix of an image's base64 in an input of this name, or nil if the input isn't one for images.
func imageFormOf(input string) func(mediaType string) string {
	for _, form := range imageForms {
		if form.input == input {
			return form.prefix
		}
	}
	return nil
}

func imageTexts(list []inference.Image, prefix func(mediaType string) string) []byte {
	size := 0
	for _, image := range list {
		size += 4 + len(prefix(image.Type)) + len(image.Base64)
	}
	raw := make([]byte, 0, size)
	for _, image := range list {
		before := prefix(image.Type)
		raw = binary.LittleEndian.AppendUint32(raw, uint32(len(before)+len(image.Base64)))
		raw = append(append(raw, before...), image.Base64...)
	}
	return raw
}

// Error messages about images, of vLLM, of TensorRT-LLM and of Python's image library.
var (
	tooManyImages = regexp.MustCompile(`At most (\d+) image\(s\) may be provided`)
	noImages      = regexp.MustCompile(`is not a multimodal model|does not support multimodal`)
	badImage      = regexp.MustCompile(`cannot identify image file|image file is truncated|[Tt]runcated (File Read|image)|broken (PNG file|data stream)|unrecognized data stream contents|[Dd]ecompress(ion|ed) .*(bomb|too large)|codec .* not available`)
	badPlaces     = regexp.MustCompile(`Failed to apply prompt \w+ for mm_items|Expected there to be \d+ prompt \w+ corresponding to`)
)

// badImageText is the message of errors about an image that the model can't read.
const badImageText = "the model can't read an image of this request: the image is corrupt or too large"

// explainImages explains errors caused by a request's images. It returns nil for other errors.
func explainImages(req *inference.Request, err *inference.Error) *inference.Error {
	if len(req.ImageRefs()) == 0 {
		return nil
	}
	param := req.ImagesParam()
	most := "" // the message has no limit
	if m := tooManyImages.FindStringSubmatch(err.Message); len(m) == 2 {
		most = m[1]
	}
	switch {
	case most == "0" || noImages.MatchString(err.Message):
		return because(err, inference.Unsupported(param, "this model takes no images"))
	case most != "":
		return because(err, inference.Unsupported("messages", "this model takes no more than %s images in a request", most))
	case badImage.MatchString(err.Message):
		return because(err, inference.Invalid(param, badImageText))
	case badPlaces.MatchString(err.Message):
		return because(err, inference.Invalid("messages", "the number of image placeholders in the prompt differs from the number of images in the request: "+
			"the chat template may show only the images of user messages, or a text in the request may contain the model's image placeholder"))
	}
	return nil
}
