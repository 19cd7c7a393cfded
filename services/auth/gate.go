// Package auth decides which client may call which route. It checks clients' API keys and
// the headers that restricted groups of APIs require. Rates and queues belong to package
// admission, and listeners and TLS to package server.
package auth

import (
	"context"
	"log/slog"
	"slices"

	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
)

// Config configures the access to the APIs. The zero value allows every call.
type Config struct {
	// APIKeys are the keys of clients that may use all models. APIKeysFile has more keys:
	// one key per line, or a list in YAML. Keys has the keys of the settings file. If all
	// three are empty, no key is required.
	APIKeys     []Secret
	APIKeysFile string
	Keys        KeySection
	// Restricted groups of APIs require a header in addition to the key. GRPCRestricted are
	// groups of KServe's methods over gRPC and Connect, HTTPRestricted are groups of its
	// REST operations.
	Restricted                     []OpenAIRestriction
	GRPCRestricted, HTTPRestricted []KServeRestriction
}

// Validate returns an error that names the invalid field.
func (c Config) Validate() error {
	if slices.Contains(c.APIKeys, "") {
		return configfield.Errorf("auth.APIKeys", "the API key is empty: give a key, or omit the setting to run the server without API keys")
	}
	if _, err := newRestrictions(c.Restricted); err != nil {
		return err
	}
	_, err := newKServeRestrictions(c)
	return err
}

// Gate admits or refuses requests by API key and by the headers of restricted groups.
// Without keys, no key is required. Every port asks the gate when it has read only the
// header of a request. A nil Gate admits all requests. A Gate may be used concurrently.
type Gate struct {
	keys         *keys
	failures     *failures
	restrictions restrictions
	kserve       kserveRestrictions
}

// New reads the keys. Without keys and restrictions the gate admits all requests.
func New(cfg Config, log *slog.Logger) (*Gate, error) {
	keys, err := newKeys(cfg.APIKeys, cfg.APIKeysFile, cfg.Keys, log)
	if err != nil {
		return nil, err
	}
	restrictions, err := newRestrictions(cfg.Restricted)
	if err != nil {
		return nil, err
	}
	kserve, err := newKServeRestrictions(cfg)
	if err != nil {
		return nil, err
	}
	return &Gate{keys: keys, failures: newFailures(log), restrictions: restrictions, kserve: kserve}, nil
}

// Prepare reads the key file again and takes the keys of the settings from section. The new
// keys take effect when apply is called. The error states why the keys can't be used and
// contains no key. A gate that has keys can't lose all of them here; a gate without keys
// may get some.
func (g *Gate) Prepare(section KeySection) (apply func(), err error) { return g.keys.prepare(section) }

// Failures returns the number of failed authentications that got 429 because their address
// had too many.
func (g *Gate) Failures() uint64 {
	if g == nil {
		return 0
	}
	return g.failures.count()
}

// Keyed reports whether clients currently need a key. A reload of the settings may add the
// first keys.
func (g *Gate) Keyed() bool { return g != nil && g.keys.required() }

// Admit returns the context of a request with its client, or the error if the client may
// not call the route. values returns the values of the request's header or of a call's
// metadata by lower-case name.
func (g *Gate) Admit(ctx context.Context, route *Record, values func(name string) []string) (context.Context, error) {
	if g == nil {
		return ctx, nil
	}
	if route.Access != Open && g.keys.required() {
		client, err := g.keys.client(values)
		if err != nil {
			return ctx, g.failures.bound(inference.AddressIn(ctx), err)
		}
		ctx = inference.WithClient(ctx, client)
		if route.Access == Operator {
			if err := inference.MayAll(ctx); err != nil {
				return ctx, err
			}
		}
	}
	if route.Renews {
		ctx = inference.WithRenewal(ctx, func() (*inference.Client, error) {
			if !g.keys.required() {
				return nil, nil //nolint:nilnil // no client: no key is required
			}
			return g.keys.client(values)
		})
	}
	if err := g.restrictions.check(route.Group, values); err != nil {
		return ctx, err
	}
	return ctx, g.kserve.check(route, values)
}
