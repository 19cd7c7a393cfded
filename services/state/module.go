package state

import (
	"log/slog"

	"go.uber.org/fx"
)

// Address is the URL of the store, or empty for a Trident that shares nothing.
type Address string

// Module opens the store of the address, if there is one.
var Module = fx.Module("state", fx.Provide(open))

func open(address Address, log *slog.Logger, lifecycle fx.Lifecycle) (*Store, error) {
	if address == "" {
		return nil, nil //nolint:nilnil // nothing is shared
	}
	s, err := Open(string(address), log)
	if err != nil {
		return nil, err
	}
	lifecycle.Append(fx.StartStopHook(s.Start, s.Stop))
	return s, nil
}
