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
