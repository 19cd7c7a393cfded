//go:build !cgo || !linux

package local

import (
	"context"
	"log/slog"

	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
)

// BuiltIn says whether this binary has the engine.
const BuiltIn = false

// Engine isn't there in this build.
type Engine struct{ inference.Engine }

// New says that this build has no such engine.
func New(Config, *slog.Logger) (*Engine, error) {
	return nil, configfield.Textf("built without the in-process engine: use a build for Linux with CGO_ENABLED=1, "+
		"or a running tritonserver with %s", configfield.Field("triton.Endpoint"))
}

// Start is never reached.
func (*Engine) Start(context.Context) error { return nil }

// AwaitModels is never reached.
func (*Engine) AwaitModels(context.Context) error { return nil }

// Stop is never reached.
func (*Engine) Stop(context.Context) error { return nil }

// Kill is never reached.
func (*Engine) Kill() {}
