package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"connectrpc.com/connect"

	"github.com/trident-inference/trident/services/inference"
)

// Gate lets in who may call: clients with a key, where there are keys, and for groups of
// APIs that are restricted those with the group's header. It is asked on every port,
// before anything of a request is read but its header. Nil is open to all. It may be used
// concurrently.
type Gate struct {
	keys         *keys
	restrictions restrictions
	errors       *connect.ErrorWriter
}

// NewGate reads the keys. Without any and without restrictions it is open to all.
func NewGate(cfg Config, log *slog.Logger) (*Gate, error) {
	keys, err := newKeys(cfg.APIKeys, cfg.APIKeysFile, cfg.Keys, log)
	if err != nil {
		return nil, err
	}
	restrictions, err := newRestrictions(cfg.Restricted)
	if err != nil {
		return nil, err
	}
	return &Gate{keys: keys, restrictions: restrictions, errors: connect.NewErrorWriter()}, nil
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
	return g.admit(ctx, http.MethodPost, &url.URL{Path: procedure}, values)
}

func (g *Gate) admit(ctx context.Context, method string, u *url.URL, values func(name string) []string) (context.Context, error) {
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

// handler admits requests to the next one.
func (g *Gate) handler(next http.Handler) http.Handler {
	if g == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, err := g.admit(r.Context(), r.Method, r.URL, r.Header.Values)
		if err != nil {
			g.deny(w, r, err)
			return
		}
		if client := inference.ClientOf(ctx); client != nil {
			RecordOf(ctx).Client = client.Name
		}
		if ctx != r.Context() {
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}

// denied are the codes by which a request is turned away.
type denied struct {
	status int
	code   connect.Code
}

// deny answers in the form of the surface that was asked.
func (g *Gate) deny(w http.ResponseWriter, r *http.Request, err error) {
	RecordOf(r.Context()).Error = err
	e := inference.AsError(err)
	d := denied{http.StatusUnauthorized, connect.CodeUnauthenticated}
	if e.Code == inference.CodeForbidden {
		d = denied{http.StatusForbidden, connect.CodePermissionDenied}
	}
	kind := "invalid_request_error"
	switch e.Reason {
	case inference.ReasonInvalidKey:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case inference.ReasonInvalidAuth:
		kind = "authentication_error"
	}
	switch {
	case isCall(r.URL.Path) && g.errors.IsSupported(r):
		_ = g.errors.Write(w, r, connect.NewError(d.code, errors.New(e.Message))) // a client that has left needs none
	case r.URL.Path == "/v2" || strings.HasPrefix(r.URL.Path, "/v2/"):
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(d.status)
		_, _ = w.Write([]byte(`{"error":"` + e.Message + `"}`)) //nolint:gosec // a text of ours
	default:
		refuse(w, d.status, e.Message, kind, `"`+e.Reason+`"`)
	}
}

// isCall tells the paths of procedures: /package.Service/Method.
func isCall(path string) bool {
	service, method, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return ok && method != "" && strings.Contains(service, ".")
}

// Secret is a text that is never printed.
type Secret string

// Equal compares in a time that depends on neither text's content.
func (s Secret) Equal(text string) bool {
	x, y := sha256.Sum256([]byte(s)), sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// Format hides it, whatever the verb.
func (Secret) Format(to fmt.State, _ rune) { _, _ = io.WriteString(to, "(hidden)") }

// LogValue hides it.
func (Secret) LogValue() slog.Value { return slog.StringValue("(hidden)") }

// MarshalText hides it.
func (Secret) MarshalText() ([]byte, error) { return []byte("(hidden)"), nil }
