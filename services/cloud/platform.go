// Package cloud serves the platforms that host model containers: Amazon's SageMaker and
// Google's Vertex AI. As in tritonserver, each platform has its own port. The paths of the
// port lead to the handlers of the shared port. Checks and answers of requests belong to
// the frontends that the paths lead to.
package cloud

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/server"
)

// Config configures the platforms to serve. The zero value serves none.
type Config struct {
	SageMaker SageMaker
	VertexAI  VertexAI
}

// SageMaker configures the endpoint of SageMaker.
type SageMaker struct {
	// Port is the port of the endpoint. 0 opens no port.
	Port int
	// Model is the default model of requests; if empty, the only model is the default.
	Model string
	// Kind is the kind of requests: infer, generate or generate_stream of KServe v2. If
	// empty, each request's body determines its kind.
	Kind string
	// Ping is the probe of GET /ping: ready or live.
	Ping string
}

// VertexAI configures the endpoint of Vertex AI.
type VertexAI struct {
	Enabled bool
	Port    int
	// Predict and Health are the paths that the platform requests.
	Predict, Health string
	// Model is the default model of requests; if empty, the only model is the default.
	Model string
}

// The environment variables with which the platforms configure their containers.
const (
	EnvSageMakerModel = "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"
	EnvSageMakerKind  = "SAGEMAKER_TRITON_INFERENCE_TYPE"
	EnvSageMakerPing  = "SAGEMAKER_TRITON_PING_MODE"
	EnvVertexPredict  = "AIP_PREDICT_ROUTE"
	EnvVertexHealth   = "AIP_HEALTH_ROUTE"
)

// The names of the supported cloud platforms.
const (
	NameSageMaker = "SageMaker"
	NameVertexAI  = "Vertex AI"
)

// Default returns the configuration without flags and variables.
func Default() Config {
	return Config{SageMaker: SageMaker{Ping: pingReady}, VertexAI: VertexAI{Port: DefaultPort}}
}

// DefaultPort is the default port of both platforms.
const DefaultPort = 8080

const (
	pingReady = "ready"
	pingLive  = "live"
)

// Validate returns an error that names the invalid field.
func (c Config) Validate() error {
	s, v := c.SageMaker, c.VertexAI
	switch {
	case s.Port < 0 || s.Port > 65535:
		return configfield.Errorf("cloud.SageMaker.Port", "%d is not a port: give a number from 0 to 65535", s.Port)
	case !slices.Contains([]string{"", kindInfer, kindGenerate, kindGenerateStream}, s.Kind):
		return fmt.Errorf("%s: %q is not one of %s, %s, %s", EnvSageMakerKind, s.Kind, kindInfer, kindGenerate, kindGenerateStream)
	case s.Ping != pingReady && s.Ping != pingLive:
		return fmt.Errorf("%s: %q is neither %s nor %s", EnvSageMakerPing, s.Ping, pingReady, pingLive)
	case v.Port < 0 || v.Port > 65535:
		return configfield.Errorf("cloud.VertexAI.Port", "%d is not a port: give a number from 0 to 65535", v.Port)
	case !v.Enabled:
		return nil
	case !strings.HasPrefix(v.Predict, "/"):
		return configfield.Errorf("cloud.VertexAI.Enabled", "%s must be a path that starts with /, got %q", EnvVertexPredict, v.Predict)
	case !strings.HasPrefix(v.Health, "/"):
		return configfield.Errorf("cloud.VertexAI.Enabled", "%s must be a path that starts with /, got %q", EnvVertexHealth, v.Health)
	}
	return nil
}

// Listeners are the ports of the platforms, which are opened before anything else starts.
// A platform that isn't served has none.
type Listeners struct{ sageMaker, vertexAI *server.Listener }

// NewListeners returns the ports of the configuration; Start opens them.
func NewListeners(cfg Config, shared server.Config) *Listeners {
	l := &Listeners{}
	if cfg.SageMaker.Port != 0 {
		l.sageMaker = server.NewPort(shared.Host, cfg.SageMaker.Port, "cloud.SageMaker.Port", false)
	}
	if cfg.VertexAI.Enabled {
		l.vertexAI = server.NewPort(shared.Host, cfg.VertexAI.Port, "cloud.VertexAI.Port", false)
	}
	return l
}

// Start opens all ports or none. Connections wait until the endpoints serve.
func (l *Listeners) Start(ctx context.Context) error {
	for _, one := range l.all() {
		if err := one.Start(ctx); err != nil {
			return errors.Join(err, l.Stop(ctx))
		}
	}
	return nil
}

// Stop closes the ports unless stopped servers have closed them already.
func (l *Listeners) Stop(ctx context.Context) error {
	var err error
	for _, one := range l.all() {
		err = errors.Join(err, one.Stop(ctx))
	}
	return err
}

func (l *Listeners) all() []*server.Listener {
	return slices.DeleteFunc([]*server.Listener{l.sageMaker, l.vertexAI}, func(one *server.Listener) bool { return one == nil })
}

// Endpoints are the endpoints of the platforms. Their ports have no TLS, since the
// platforms terminate it.
type Endpoints struct {
	all []*endpoint
	log *slog.Logger
}

type endpoint struct {
	name     string
	listener *server.Listener
	http     *server.Server
}

// New returns the endpoints of the configuration over the routes of the shared port. They
// don't serve yet. The gate admits each request twice. The first time it is a probe or a
// request to a model, before its body is read; the second time it is the resulting request
// to the shared port.
func New(cfg Config, listeners *Listeners, common server.Common, routes []server.Route, models *catalog.Catalog) (*Endpoints, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	mux, err := server.NewMux(common.Gate, common.Core, routes)
	if err != nil {
		return nil, err
	}
	common.Certificates = nil
	e := &Endpoints{log: common.Log}
	add := func(name string, listener *server.Listener, h *handler) error {
		h.routes, h.catalog = mux, models
		served, err := server.New(common, listener, []server.Route{{Pattern: "/", Handler: h}})
		e.all = append(e.all, &endpoint{name, listener, served})
		return err
	}
	if s := cfg.SageMaker; s.Port != 0 {
		err = add(NameSageMaker, listeners.sageMaker, &handler{
			health: "/ping", probe: s.Ping, predict: "/invocations", kind: s.Kind, model: s.Model, setting: EnvSageMakerModel,
			binary: "application/vnd.sagemaker-triton.binary+json;json-header-size=",
		})
	}
	if v := cfg.VertexAI; v.Enabled {
		err = errors.Join(err, add(NameVertexAI, listeners.vertexAI, &handler{
			health: v.Health, probe: pingReady, predict: v.Predict, model: v.Model, setting: common.Config.Names.Of("cloud.VertexAI.Model"),
			redirect: "X-Vertex-Ai-Triton-Redirect",
			binary:   "application/vnd.vertex-ai-triton.binary+json;json-header-size=",
		}))
	}
	return e, err
}

// Handler returns a handler that answers requests as the platform's port does, without a
// connection. It returns nil if the platform isn't served.
func (e *Endpoints) Handler(platform string) http.Handler {
	for _, one := range e.all {
		if one.name == platform {
			return one.http
		}
	}
	return nil
}

// Start serves on the listeners, which must be open.
func (e *Endpoints) Start(context.Context) error {
	for _, one := range e.all {
		one.http.Serve()
	}
	return nil
}

// Report logs the addresses.
func (e *Endpoints) Report() {
	for _, one := range e.all {
		e.log.Info("listening for requests of a cloud platform", "platform", one.name, "address", one.listener.Addr().String())
	}
}

// Stop waits for requests in flight until the shutdown timeout and cancels the remaining
// requests.
func (e *Endpoints) Stop(ctx context.Context) error {
	var err error
	for _, one := range e.all {
		err = errors.Join(err, one.http.Stop(ctx))
	}
	return err
}
