//go:build !cgo || !linux

package local

import (
	"context"
	"log/slog"

	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
)

// BuiltIn reports whether this binary has the engine.
const BuiltIn = false

// Engine can't be created in this build.
type Engine struct{ inference.Engine }

// New returns an error: this build doesn't have the engine.
func New(Config, *slog.Logger) (*Engine, error) {
	return nil, configfield.Textf("this trident was built without the in-process engine: use a build for Linux with CGO_ENABLED=1, "+
		"or a running tritonserver with %s", configfield.Field("triton.Endpoint"))
}

// Start is never called.
func (*Engine) Start(context.Context) error { return nil }

// AwaitModels is never called.
func (*Engine) AwaitModels(context.Context) error { return nil }

// Stop is never called.
func (*Engine) Stop(context.Context) error { return nil }

// Kill is never called.
func (*Engine) Kill() {}
