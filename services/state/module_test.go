package state_test

import (
	"log/slog"
	"strings"
	"testing"

	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/trident-inference/trident/services/state"
	"github.com/trident-inference/trident/services/state/statetest"
)

// TestModule checks which stores are opened: none without a URL, one for equal URLs, and two for
// different ones.
func TestModule(t *testing.T) {
	server, other := statetest.Start(t), statetest.Start(t)
	for name, test := range map[string]struct {
		config            state.Config
		responses, limits bool
		shared            bool // one connection
	}{
		"none":      {},
		"responses": {config: state.Config{Responses: server.URL}, responses: true},
		"limits":    {config: state.Config{Limits: server.URL}, limits: true},
		"one":       {config: state.Config{Responses: server.URL, Limits: server.URL}, responses: true, limits: true, shared: true},
		"two":       {config: state.Config{Responses: server.URL, Limits: other.URL}, responses: true, limits: true},
	} {
		t.Run(name, func(t *testing.T) {
			var stores state.Stores
			var responses *state.Store
			var rates *state.Rates
			app := fxtest.New(t, fx.NopLogger, fx.Supply(test.config, slog.New(slog.DiscardHandler)), state.Module, fx.Populate(&stores, &responses, &rates))
			app.RequireStart()
			defer app.RequireStop()
			if (responses != nil) != test.responses || stores.Responses != responses || (stores.Limits != nil) != test.limits || (rates != nil) != test.limits {
				t.Errorf("opened %+v and the rates %t", stores, rates != nil)
			}
			if shared := stores.Limits != nil && stores.Limits == stores.Responses; shared != test.shared {
				t.Errorf("one connection: %t", shared)
			}
			if err := stores.Ready(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	if err := (state.Config{Limits: "http://a"}).Validate(); err == nil || !strings.HasPrefix(err.Error(), "state.Limits: ") {
		t.Error(err)
	}
	if err := (state.Config{Responses: server.URL, Limits: server.URL}).Validate(); err != nil {
		t.Error(err)
	}
}
