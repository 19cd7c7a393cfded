package inference

import (
	"fmt"
	"math"
	"sync"
)

// Image is a picture of a request, read and checked.
type Image struct {
	// Type is its media type as its first bytes tell it, such as image/png.
	Type string
	// Base64 are its bytes in the standard alphabet, with padding.
	Base64 string
}

// ImageRef is where a picture of a request is.
type ImageRef struct {
	// URL is a data: URI or an address.
	URL string
	// Param is the field that holds it, for errors.
	Param string
}

// AnyImages is the [ImageInput.Most] of models without a limit of their own.
const AnyImages = math.MaxInt

// ImageInput is how a model takes pictures.
type ImageInput struct {
	// Most that one request may have; 0 of a model that declares no input for them.
	Most int
	// Placed is true of models that put them into the prompt themselves.
	Placed bool
	// Silent is true of models that drop them without a word unless they are set up
	// for them: such a model gets none unless its settings say that it sees.
	Silent bool
}

// Images are the pictures of a request, in the order of its messages. The jobs of
// the request share them.
type Images struct {
	List []Image

	once sync.Once
	raw  []byte
}

// Tensor gives what build makes of the pictures at the first call: all jobs of a
// request send the same bytes, which must not be changed.
func (i *Images) Tensor(build func([]Image) []byte) []byte {
	i.once.Do(func() { i.raw = build(i.List) })
	return i.raw
}

// PartParam returns the path of a message's part in a request.
func PartParam(message, part int) string {
	return fmt.Sprintf("messages[%d].content[%d]", message, part)
}

// imageParam is the path of a picture's URL.
func imageParam(message, part int) string { return PartParam(message, part) + ".image_url.url" }

// ImageRefs lists the pictures of the messages.
func (r *Request) ImageRefs() []ImageRef {
	var refs []ImageRef
	for i := range r.Messages {
		for j := range r.Messages[i].Parts {
			if p := &r.Messages[i].Parts[j]; p.Kind == PartImage {
				refs = append(refs, ImageRef{URL: p.URL, Param: imageParam(i, j)})
			}
		}
	}
	return refs
}

// ImagesParam is the field to blame for the pictures: that of the only one, or all
// messages.
func (r *Request) ImagesParam() string {
	if refs := r.ImageRefs(); len(refs) == 1 {
		return refs[0].Param
	}
	return "messages"
}
