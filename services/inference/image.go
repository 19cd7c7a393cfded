package inference

import (
	"cmp"
	"fmt"
	"math"
	"sync"
)

// Image is an image of a request that has been read and checked.
type Image struct {
	// Type is the media type that the first bytes identify, such as image/png.
	Type string
	// Base64 is the content in the standard base64 alphabet, with padding.
	Base64 string
}

// ImageRef is a reference to an image of a request.
type ImageRef struct {
	// URL is a data: URI or the URL of the image.
	URL string
	// Param is the path of the field that has the URL, for errors.
	Param string
}

// AnyImages is the [ImageInput.Most] of models without their own limit.
const AnyImages = math.MaxInt

// ImageInput is the way in which a model takes images.
type ImageInput struct {
	// Most is the maximum number of images in a request. It is 0 if the model declares no input
	// for images.
	Most int
	// Placed is true for models that insert images into the prompt themselves.
	Placed bool
	// Silent is true for models that ignore images without an error unless they are configured
	// for images. Trident sends images to such a model only if its settings enable them.
	Silent bool
}

// Images are the images of a request, in the order of its messages. All jobs of the request share
// them.
type Images struct {
	List []Image

	once sync.Once
	raw  []byte

	digest  sync.Once
	digests [][]byte
}

// Tensor returns the result of build for the images. The first call builds it. All jobs of a
// request send the same bytes, which must not be changed.
func (i *Images) Tensor(build func([]Image) []byte) []byte {
	i.once.Do(func() { i.raw = build(i.List) })
	return i.raw
}

// PartParam returns the path of a message's content part in a request.
func PartParam(message, part int) string {
	return fmt.Sprintf("messages[%d].content[%d]", message, part)
}

// Path returns the path of the part in the client's request. The arguments are its position in a chat.
func (p *Part) Path(message, part int) string { return cmp.Or(p.Param, PartParam(message, part)) }

// imageParam returns the path of an image's URL in a request.
func imageParam(message, part int) string { return PartParam(message, part) + ".image_url.url" }

// ImageRefs lists the images of the messages.
func (r *Request) ImageRefs() []ImageRef {
	var refs []ImageRef
	for i := range r.Messages {
		for j := range r.Messages[i].Parts {
			if p := &r.Messages[i].Parts[j]; p.Kind == PartImage {
				refs = append(refs, ImageRef{URL: p.URL, Param: cmp.Or(p.Param, imageParam(i, j))})
			}
		}
	}
	return refs
}

// ImagesParam returns the field that errors about images name: that of the only image, or
// messages if there are several.
func (r *Request) ImagesParam() string {
	if refs := r.ImageRefs(); len(refs) == 1 {
		return refs[0].Param
	}
	return "messages"
}
