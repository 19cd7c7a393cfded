package serving

import (
	"context"
	"fmt"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
)

// checkParts returns an error for the first content part that the model or this server can't read.
func (s *Service) checkParts(card *catalog.Card, req *inference.Request) error {
	if err := card.CheckParts(req); err != nil {
		return err
	}
	if refs := req.ImageRefs(); len(refs) > 0 {
		return s.images.Check(refs)
	}
	return nil
}

// readImages returns the images of a request whose parts have been checked. It returns nil if the
// request has no images.
func (s *Service) readImages(ctx context.Context, req *inference.Request) (*inference.Images, error) {
	refs := req.ImageRefs()
	if len(refs) == 0 {
		return nil, nil //nolint:nilnil // the request has no images
	}
	list, err := s.images.Read(ctx, refs)
	if err != nil {
		return nil, fmt.Errorf("read the images of the request: %w", err)
	}
	return &inference.Images{List: list}, nil
}

// checkImage refuses an image that the model can't take, and an input without the image that it needs.
func (e *encoding) checkImage(i int) error {
	in := &e.req.Inputs[i]
	switch {
	case in.Image != nil && (!e.form.Images || e.req.Task != inference.TaskEmbed):
		return inference.Unsupported(in.Image.Param, "the model `%s` takes no images: send %s as text", e.req.Model, e.req.InputParam(i))
	case e.form.ImagesOnly && (in.Image == nil || in.Text != ""):
		return inference.Unsupported(e.req.InputParam(i), "the model `%s` takes only images: send %s as an image without a text", e.req.Model, e.req.InputParam(i))
	}
	return nil
}

// readImages reads the images of the units, which are those of the request's inputs, once they have been checked
// and their tokens are reserved.
func (e *encoding) readImages(ctx context.Context) error {
	refs := e.req.ImageRefs()
	if len(refs) == 0 {
		return nil
	}
	list, err := e.service.images.Read(ctx, refs)
	if err != nil {
		return fmt.Errorf("read the images of the request: %w", err)
	}
	for i := range e.units {
		if e.units[i].input.Image != nil {
			e.units[i].item.Image, list = &list[0], list[1:]
		}
	}
	return nil
}

// textless reports whether a unit is an image without a text.
func (u *encodeUnit) textless() bool { return u.item.Image != nil && u.input.Text == "" }

// The length of an image in a batch, in tokens. The second constant bounds the bytes of a batch: a batch of the
// default size has at most 16 MiB of images, or one image.
const (
	imageTokens        = 256
	imageBytesPerToken = 1024
)

// imageLength returns the number of tokens as which the image of a unit counts in a batch, or 0 without an image.
func (u *encodeUnit) imageLength() int {
	if u.item.Image == nil {
		return 0
	}
	return max(imageTokens, len(u.item.Image.Base64)/imageBytesPerToken)
}
