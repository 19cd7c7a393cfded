// Package auth decides who may call what: by the clients' API keys, and by the headers
// that restricted groups of APIs need.
package auth

import (
	"context"
	"log/slog"
	"slices"

	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
)

// Config says who may call. The zero value lets everyone call everything.
type Config struct {
	// APIKeys of clients that may use all models, and APIKeysFile, which has more of them:
	// a key a line, or a list in YAML. Keys are those of the file of settings. Without any
	// no key is needed.
	APIKeys     []Secret
	APIKeysFile string
	Keys        KeySection
	// Restricted groups of APIs need a header, too. GRPCRestricted are groups of KServe's
	// methods by gRPC and Connect, and HTTPRestricted by REST.
	Restricted                     []OpenAIRestriction
	GRPCRestricted, HTTPRestricted []KServeRestriction
}

// Validate names the flag that can't be used.
func (c Config) Validate() error {
	if slices.Contains(c.APIKeys, "") {
		return configfield.Errorf("auth.APIKeys", "the key is empty: give one, or leave the setting out for a server that asks for no key")
	}
	if _, err := newRestrictions(c.Restricted); err != nil {
		return err
	}
	_, err := newKServeRestrictions(c)
	return err
}

// Gate lets in who may call: clients with a key, where there are keys, and for groups of
// APIs that are restricted those with the group's header. It is asked on every port,
// before anything of a request is read but its header. Nil is open to all. It may be used
// concurrently.
type Gate struct {
	keys         *keys
	failures     *failures
	restrictions restrictions
	kserve       kserveRestrictions
}

// New reads the keys. Without any and without restrictions the gate is open to all.
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

// Prepare reads the file of keys again, and takes the section as it is now. The keys stay
// as they are until apply is called; the error says why they can't be used, and names no
// key. A gate with keys isn't opened to all by this, one without may be closed.
func (g *Gate) Prepare(section KeySection) (apply func(), err error) { return g.keys.prepare(section) }

// Failures returns the number of failed authentications that got 429, because their address
// had too many.
func (g *Gate) Failures() uint64 {
	if g == nil {
		return 0
	}
	return g.failures.count()
}

// Keyed reports whether clients need a key now. New settings may bring the first ones.
func (g *Gate) Keyed() bool { return g != nil && g.keys.wanted() }

// Admit returns the context of a request with its client, or why the client may not call
// the route. The values are those of the request's header, or of a call's metadata, by
// lower-case name.
func (g *Gate) Admit(ctx context.Context, route *Record, values func(name string) []string) (context.Context, error) {
	if g == nil {
		return ctx, nil
	}
	if route.Access != Open && g.keys.wanted() {
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
			if !g.keys.wanted() {
				return nil, nil //nolint:nilnil // nobody in particular
			}
			return g.keys.client(values)
		})
	}
	if err := g.restrictions.check(route.Group, values); err != nil {
		return ctx, err
	}
	return ctx, g.kserve.check(route, values)
}
