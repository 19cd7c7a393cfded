// Package auth decides who may call what: by the clients' API keys, and by the headers
// that restricted groups of APIs need.
package auth

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

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
	// Restricted groups of APIs need a header, too.
	Restricted []Restriction
}

// Validate names the flag that can't be used.
func (c Config) Validate() error {
	_, err := newRestrictions(c.Restricted)
	return err
}

// Gate lets in who may call: clients with a key, where there are keys, and for groups of
// APIs that are restricted those with the group's header. It is asked on every port,
// before anything of a request is read but its header. Nil is open to all. It may be used
// concurrently.
type Gate struct {
	keys         *keys
	restrictions restrictions
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
	return &Gate{keys: keys, restrictions: restrictions}, nil
}

// Prepare reads the file of keys again, and takes the section as it is now. The keys stay
// as they are until apply is called; the error says why they can't be used, and names no
// key. A gate with keys isn't opened to all by this, one without may be closed.
func (g *Gate) Prepare(section KeySection) (apply func(), err error) { return g.keys.prepare(section) }

// AdmitCall is for calls of gRPC that don't come by HTTP's handlers: it gives the context
// with the client of a call, or [inference.CodeUnauthenticated]. The values are those of
// the call's metadata by lower-case name.
func (g *Gate) AdmitCall(ctx context.Context, procedure string, values func(name string) []string) (context.Context, error) {
	if g == nil || len(g.restrictions) == 0 && !g.keys.wanted() && procedure != streamPath { // needs no URL
		return ctx, nil
	}
	return g.Admit(ctx, http.MethodPost, &url.URL{Path: procedure}, values)
}

// Admit returns the context with the client of a request.
func (g *Gate) Admit(ctx context.Context, method string, u *url.URL, values func(name string) []string) (context.Context, error) {
	if g.keys.wanted() && !needsNoKey(method, u) {
		client, err := g.keys.client(values)
		if err != nil {
			return ctx, err
		}
		ctx = inference.WithClient(ctx, client)
		if u.Path == metricsPath {
			if err := inference.MayAll(ctx); err != nil {
				return ctx, err
			}
		}
	}
	if u.Path == streamPath {
		ctx = inference.WithRenewal(ctx, func() (*inference.Client, error) {
			if !g.keys.wanted() {
				return nil, nil //nolint:nilnil // nobody in particular
			}
			return g.keys.client(values)
		})
	}
	return ctx, g.restrictions.check(u, values)
}

const metricsPath = "/metrics"

// streamPath is the one call by which a client sends request after request.
const streamPath = "/inference.GRPCInferenceService/ModelStreamInfer"

// openPaths need no key: probes, and what is the same for all and says nothing of this
// server.
var openPaths = []string{ //nolint:gochecknoglobals // a constant list
	"/health/live", "/health/ready", "/health/startup", "/v2/health/live", "/v2/health/ready", "/ping",
	"/", "/client.tgz", "/openapi.json", "/v2/openapi.json",
}

// openCalls are the probes by gRPC and Connect.
var openCalls = []string{ //nolint:gochecknoglobals // a constant list
	"/grpc.health.v1.Health/Check", "/inference.GRPCInferenceService/ServerLive", "/inference.GRPCInferenceService/ServerReady",
}

// assetsPath is where the playground's files are.
const assetsPath = "/assets/"

// needsNoKey tells what is open, in its one spelling: others lead to a redirect at most.
func needsNoKey(method string, u *url.URL) bool {
	if u.RawPath != "" && u.RawPath != u.Path {
		return false
	}
	switch method {
	case http.MethodGet, http.MethodHead:
		return slices.Contains(openPaths, u.Path) || slices.Contains(openCalls, u.Path) ||
			strings.HasPrefix(u.Path, assetsPath) && path.Clean(u.Path) == u.Path
	case http.MethodPost:
		return slices.Contains(openCalls, u.Path)
	}
	return false
}
