package triton

import (
	"log/slog"
	"testing"

	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
)

func TestModule(t *testing.T) {
	config := Default()
	config.Endpoint = "localhost:1"
	var engine *Engine
	app := fxtest.New(t, Module, fx.Supply(config, slog.New(slog.DiscardHandler)), fx.Populate(&engine))
	app.RequireStart()
	if engine.conn.Load() == nil {
		t.Error("the engine hasn't been started")
	}
	app.RequireStop()
	if engine.conn.Load() != nil {
		t.Error("the engine hasn't been stopped")
	}
}
