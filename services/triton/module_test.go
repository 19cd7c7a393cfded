package triton

import (
	"testing"

	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/trident-inference/trident/services/inference"
)

func TestModule(t *testing.T) {
	config := Default()
	config.Endpoint = "localhost:1"
	var engines []inference.Engine
	app := fxtest.New(t, Module, fx.Supply(config),
		fx.Invoke(fx.Annotate(func(all []inference.Engine) { engines = all }, fx.ParamTags(`group:"engines"`))),
	)
	if len(engines) != 1 {
		t.Fatalf("the group has %d engines", len(engines))
	}
	engine, ok := engines[0].(*Engine)
	if !ok {
		t.Fatalf("the engine is a %T", engines[0])
	}
	app.RequireStart()
	if engine.conn.Load() == nil {
		t.Error("the engine hasn't been started")
	}
	app.RequireStop()
	if engine.conn.Load() != nil {
		t.Error("the engine hasn't been stopped")
	}
}
