package requests

import (
	"context"
	"errors"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/strictjson"
)

// errNamed ends the search for the model of a request.
var errNamed = errors.New("the model was found")

// MayUse returns an error if the client's key doesn't allow the model of a request, whose body is a JSON
// object with the member model. MayUse reads no further than the model and checks nothing else, so that
// frontends can call it before the costly decoding of the body. Frontends refuse bodies without a model
// and invalid JSON themselves. The error is an [*inference.Error].
func MayUse(ctx context.Context, raw []byte) error {
	if client := inference.ClientOf(ctx); client == nil || client.Models == nil {
		return nil
	}
	var refused error
	_ = strictjson.Read(raw, func(r *strictjson.Reader) error { // the frontend reports other errors
		return r.Object(func(key string) error {
			value, err := r.Value(key == "model")
			if key != "model" || err != nil {
				return err
			}
			if model, ok := value.(string); ok && model != "" {
				refused = inference.MayUse(ctx, model)
			}
			return errNamed
		})
	})
	return refused
}
