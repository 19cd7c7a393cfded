package contracts

import (
	"slices"
	"strings"

	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
)

// Module provides the backends, in the order in which they are matched with a model.
var Module = fx.Module("backend", fx.Provide(All))

// Config is the configuration of the backends.
type Config struct {
	// First is the name of the backend that is matched first. It gets the models that declare the
	// tensors of several contracts. If it is empty, the default order applies.
	First string
	// Names has the operators' names of the fields. If it is nil, the fields have their own names.
	Names *configfield.Names
}

// Validate returns an error that names the first invalid field.
func (c Config) Validate() error {
	var names []string
	for _, b := range All(Config{}) {
		names = append(names, b.Name())
	}
	if c.First != "" && !slices.Contains(names, c.First) {
		return configfield.Errorf("contracts.First", "%q is not one of %s", c.First, strings.Join(names, ", "))
	}
	return nil
}

// All returns the backends in order.
func All(cfg Config) []inference.Backend {
	all := []inference.Backend{VLLM{Names: cfg.Names}, LLMAPI{}, TensorRTLLM{}, Python{}, Encoder{}, TextEncoder{}, PairEncoder{}}
	slices.SortStableFunc(all, func(a, b inference.Backend) int {
		switch cfg.First {
		case a.Name():
			return -1
		case b.Name():
			return 1
		}
		return 0
	})
	return all
}
