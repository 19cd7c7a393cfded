package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/cloud"
	"github.com/trident-inference/trident/services/contracts"
	"github.com/trident-inference/trident/services/images"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/kserve/rest"
	"github.com/trident-inference/trident/services/memory"
	"github.com/trident-inference/trident/services/metrics"
	"github.com/trident-inference/trident/services/modelfiles"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/tokenizer"
	"github.com/trident-inference/trident/services/tracing"
	"github.com/trident-inference/trident/services/tridentrpc"
	"github.com/trident-inference/trident/services/triton"
	"github.com/trident-inference/trident/services/triton/local"
)

// application is the architecture on one screen. Each module is a package under services,
// listed from Triton outwards. A module whose work has failed permanently calls abort to end
// the application. Tests pass more options.
func application(f *flags, cfg config, log *slog.Logger, abort context.CancelCauseFunc, more ...fx.Option) *fx.App {
	return fx.New(graph(f, cfg, log, abort), fx.Options(more...))
}

// graph returns the modules with their configurations. Reloaded settings are compared with
// the flags.
func graph(f *flags, cfg config, log *slog.Logger, abort context.CancelCauseFunc) fx.Option {
	return fx.Options(
		fx.Supply(cfg.Backend, cfg.Models, cfg.Overrides, cfg.Images, cfg.Catalog, cfg.Inference, cfg.OpenAI, cfg.KServe, cfg.Platform, cfg.Auth, cfg.Server, cfg.Metrics, cfg.Tracing, cfg.Memory),
		fx.Supply(log, abort, tridentrpc.Version(version)),
		afterPorts(cfg.Local), afterPorts(cfg.Triton),
		engines(cfg),      // tritonserver over gRPC, in-process Triton, or both
		contracts.Module,  // conversion of requests to tensors and back
		tokenizer.Module,  // conversion of texts to token ids
		images.Module,     // images of requests
		modelfiles.Module, // metadata from models' files and their publishers
		tracing.Module,    // spans, sent to a collector
		catalog.Module,    // metadata of the models
		serving.Module,    // the shared service
		memory.Module,     // the memory limit
		openai.Module,     // frontend: /v1/*
		tridentrpc.Module, // frontend: typed Connect services
		kserve.Module,     // frontend: KServe v2, with a listener for gRPC
		rest.Module,       // frontend: KServe v2 by REST
		cloud.Module,      // endpoints of SageMaker and Vertex AI
		metrics.Module,    // /metrics, with a listener
		auth.Module,       // keys, and the access that routes need
		server.Module,     // the listener
		announcement(cfg),
		reloading(f), // reload of settings at run time
		fx.StopTimeout(cfg.stopTimeout()),
		fx.WithLogger(func(log *slog.Logger) fxevent.Logger {
			l := &fxevent.SlogLogger{Logger: log}
			l.UseLogLevel(slog.LevelDebug)
			l.UseErrorLevel(slog.LevelDebug) // run prints the cause of a failure once
			return l
		}),
	)
}

// openPorts are the ports of the graph, which open at start, and the profiler.
type openPorts struct {
	fx.In

	Profiles *server.Profiler
	Shared   *server.Listener
	KServe   *kserve.Listener
	Metrics  *metrics.Listener
}

// afterPorts supplies the configuration of components that start after the ports are open:
// the engines, and everything that depends on models. A port in use is then the only error
// of a failed start.
func afterPorts[T any](cfg T) fx.Option { return fx.Provide(func(openPorts) T { return cfg }) }

// engines returns the modules of the engines that the flags select, without their
// configurations.
func engines(cfg config) fx.Option {
	all := []fx.Option{fx.Provide(inOrder)}
	if len(cfg.Local.Repositories) > 0 {
		all = append(all, local.Module)
	}
	if cfg.Triton.Endpoint != "" {
		all = append(all, triton.Module)
	}
	return fx.Options(all...)
}

// asked has the engines of the graph.
type asked struct {
	fx.In

	Local  *local.Engine  `optional:"true"`
	Remote *triton.Engine `optional:"true"`
}

// inOrder lists the engines. If both serve a model, the in-process engine takes precedence.
func inOrder(e asked) []inference.Engine {
	var list []inference.Engine
	if e.Local != nil {
		list = append(list, e.Local)
	}
	if e.Remote != nil {
		list = append(list, e.Remote)
	}
	return list
}

// config is the configuration of each module. An unused engine has no repositories or no
// endpoint.
type config struct {
	Local     local.Config
	Triton    triton.Config
	Backend   contracts.Config
	Models    modelfiles.Config
	Overrides []inference.Override
	Images    images.Config
	Catalog   catalog.Config
	Inference serving.Config
	OpenAI    openai.Config
	KServe    kserve.Config
	Platform  cloud.Config
	Auth      auth.Config
	Server    server.Config
	Metrics   metrics.Config
	Tracing   tracing.Config
	Memory    memory.Config
	// Table is the output for the table of models at start. If nil, the models are log
	// lines.
	Table io.Writer
}

// stopTimeout returns the time limit for the whole stop: the requests' grace period, the
// time that in-process Triton needs, and some slack.
func (c config) stopTimeout() time.Duration {
	timeout := c.Server.ShutdownTimeout + stopSlack
	if len(c.Local.Repositories) > 0 {
		timeout += c.Local.StopLimit()
	}
	return timeout
}

// flags are the flags of the command line. Each has a TRIDENT_* environment variable. Names
// and defaults are those of Triton's own OpenAI frontend where it has the flag.
type flags struct {
	configFlags `group:"Settings"`

	ModelRepository      []string      `group:"Triton" aliases:"model-store" placeholder:"DIR" help:"Model repository to serve by Triton in this process; repeatable."`
	TritonEndpoint       string        `group:"Triton" placeholder:"HOST:PORT" help:"gRPC address of a running tritonserver, https://HOST:PORT with TLS; ${triton_endpoint} without --model-repository."`
	TritonTLSCA          string        `group:"Triton" name:"triton-tls-ca" placeholder:"FILE" help:"Authorities (PEM) of its certificate, instead of the system's."`
	TritonTLSCert        string        `group:"Triton" name:"triton-tls-cert" placeholder:"FILE" help:"Certificate (PEM) to show to a tritonserver that wants one."`
	TritonTLSKey         string        `group:"Triton" name:"triton-tls-key" placeholder:"FILE" help:"Its key."`
	FirstResponseTimeout time.Duration `group:"Triton" default:"${first_response_timeout}" help:"End a request whose model has sent nothing at all for this long: Triton's queue, the prompt and all of an answer that isn't streamed count."`
	InactivityTimeout    time.Duration `group:"Triton" default:"${inactivity_timeout}" help:"End a stream whose model falls silent for this long after a response, and any request whose tritonserver gives no sign of life."`
	Backend              string        `group:"Triton" placeholder:"NAME" help:"Contract of models that declare the tensors of several: vllm, tensorrtllm, llmapi or python; vllm comes first by default."`

	tritonFlags `group:"Triton in this process"`
	kserveFlags `group:"KServe v2"`
	modelFlags  `group:"Models"`
	limitFlags  `group:"Limits"`
	memoryFlags `group:"Limits"`

	observeFlags `group:"Observability"`
	accessFlags  `group:"Access"`

	platformFlags `group:"Hosting platforms"`

	Host                     string        `group:"Listener" default:"${host}" help:"Address to listen on."`
	OpenAIPort               int           `group:"Listener" name:"openai-port" default:"${openai_port}" help:"Port of the OpenAI API; 0 takes a free one."`
	TLSCert                  string        `group:"Listener" name:"tls-cert" aliases:"ssl-certfile" placeholder:"FILE" help:"Serve all ports with TLS by this certificate (PEM). A file that changes is read again."`
	TLSKey                   string        `group:"Listener" name:"tls-key" aliases:"ssl-keyfile" placeholder:"FILE" help:"Its key, if that isn't in the same file."`
	TLSClientCA              string        `group:"Listener" name:"tls-client-ca" placeholder:"FILE" help:"Serve only clients with a certificate of these authorities (PEM)."`
	HTTPMaxInputSize         int64         `group:"Listener" name:"http-max-input-size" default:"${http_max_input_size}" help:"Largest request body in bytes."`
	AllowedHost              []string      `group:"Listener" name:"allowed-host" placeholder:"NAME" help:"Name in Host by which a server on a loopback address may be asked without a key, besides addresses, localhost and this machine's name; repeatable. For a proxy that passes its own name on."`
	CORSOrigin               []string      `group:"Listener" name:"cors-origin" placeholder:"ORIGIN" help:"Web origin that may call from a browser, or *; repeatable. Pages of this host always may."`
	Playground               bool          `group:"Listener" default:"${playground}" negatable:"" help:"Serve the playground, a page for browsers, at /."`
	MaxConnections           int           `group:"Listener" default:"${max_connections}" help:"Maximum number of open connections of each port; 0 is no limit. A connection beyond it is closed at once."`
	MaxConnectionsPerAddress int           `group:"Listener" default:"${max_connections_per_address}" help:"Maximum number of open connections to each port from one address, or from one IPv6 network (/64); 0 is no limit. Connections from loopback addresses have no such limit. A proxy on another machine is one address."`
	WriteTimeout             time.Duration `group:"Listener" default:"${write_timeout}" help:"End an answer whose client takes nothing for this long."`
	ShutdownTimeout          time.Duration `group:"Listener" default:"${shutdown_timeout}" help:"Time that requests in flight get to end after SIGINT or SIGTERM; then they are canceled. 0 cancels them at once. A second signal, 200 ms later or more, ends the process at once, at any time."`

	DefaultMaxTokens int           `group:"Requests" default:"${default_max_tokens}" help:"Length limit of answers whose request sets none; 0 is the room left in the model's context."`
	SSEHeaderTimeout time.Duration `group:"Requests" name:"sse-header-timeout" default:"${sse_header_timeout}" help:"Silence of the model after which a stream's headers, and then comment lines, are sent."`
	Strict           bool          `group:"Requests" help:"Refuse request fields that neither OpenAI's API nor the engine knows."`

	AllowImageURLs     bool          `group:"Requests" name:"allow-image-urls" help:"Fetch images of requests from http and https addresses, public ones only; without it, images come as data: URIs."`
	ImageMaxCount      int           `group:"Requests" default:"${image_max_count}" help:"Images that a request may have, 0 for none."`
	ImageMaxBytes      int64         `group:"Requests" default:"${image_max_bytes}" help:"Largest image in bytes."`
	ImageMaxTotalBytes int64         `group:"Requests" default:"${image_max_total_bytes}" help:"Most bytes of all images of a request."`
	ImageFetchTimeout  time.Duration `group:"Requests" default:"${image_fetch_timeout}" help:"Time that the fetch of one image may take."`

	ResponsesStoreSize  int           `group:"Requests" default:"${responses_store_size}" help:"Responses kept in memory for requests that go on from them, 0 for none; the oldest go first."`
	ResponsesStoreBytes int64         `group:"Requests" default:"${responses_store_bytes}" help:"Memory in bytes that they may take, about."`
	ResponsesStoreTTL   time.Duration `group:"Requests" name:"responses-store-ttl" default:"${responses_store_ttl}" help:"Time that they are kept."`

	LoRASeparator string `group:"Models" name:"lora-separator" placeholder:"TEXT" help:"Serve models' LoRA adapters under the model's name, this text and the adapter's name; without it, not at all."`
	OwnedBy       string `group:"Models" name:"owned-by" placeholder:"NAME" help:"Whose the models are, in lists of them; triton unless set."`

	LogLevel  logLevel `group:"Logging" default:"info" aliases:"uvicorn-log-level" help:"debug, info, warn or error."`
	LogFormat string   `group:"Logging" default:"text" enum:"text,json" help:"text or json."`

	ProfileAddress string `group:"Logging" placeholder:"HOST:PORT" help:"Serve Go's profiles of this process here (net/http/pprof); for operators only."`
}

// tritonEndpoint is tritonserver's default address.
const tritonEndpoint = "localhost:8001"

// defaults sets the flags' defaults to those of the modules, so that each is written once.
func defaults() kong.Option {
	t, i, p, o, s := triton.Default(), serving.Default(), images.Default(), openai.Default(), server.Default()
	return tritonDefaults().CloneWith(kserveDefaults()).CloneWith(platformDefaults()).CloneWith(limitDefaults()).CloneWith(observeDefaults()).CloneWith(kong.Vars{
		"triton_endpoint":             tritonEndpoint,
		"first_response_timeout":      t.FirstResponse.String(),
		"inactivity_timeout":          t.Inactivity.String(),
		"sse_header_timeout":          t.KeepAlive.String(),
		"default_max_tokens":          strconv.Itoa(i.DefaultMaxTokens),
		"max_tool_call_parse_bytes":   strconv.Itoa(i.MaxCallBytes),
		"image_max_count":             strconv.Itoa(p.MaxCount),
		"image_max_bytes":             strconv.FormatInt(p.MaxBytes, 10),
		"image_max_total_bytes":       strconv.FormatInt(p.MaxTotalBytes, 10),
		"image_fetch_timeout":         p.FetchTimeout.String(),
		"responses_store_size":        strconv.Itoa(o.ResponsesStoreSize),
		"responses_store_bytes":       strconv.FormatInt(o.ResponsesStoreBytes, 10),
		"responses_store_ttl":         o.ResponsesStoreTTL.String(),
		"write_timeout":               s.WriteTimeout.String(),
		"max_connections":             strconv.Itoa(s.MaxConnections),
		"max_connections_per_address": strconv.Itoa(s.MaxConnectionsPerAddress),
		"host":                        s.Host,
		"openai_port":                 strconv.Itoa(s.Port),
		"playground":                  strconv.FormatBool(s.Playground),
		"http_max_input_size":         strconv.FormatInt(s.MaxBody, 10),
		"shutdown_timeout":            s.ShutdownTimeout.String(),
	})
}

// config reads the files that the flags name. It builds and validates the modules'
// configurations.
func (f *flags) config() (config, error) {
	overrides, overrideErr := f.overrides()
	cfg, err := f.configOf(overrides, os.Getenv)
	if err = errors.Join(overrideErr, err, cfg.validate(), f.errNoKeysFile()); err == nil {
		err = f.errOwnPort(cfg)
	}
	if err != nil {
		return config{}, f.whence(flagged(err))
	}
	return cfg, nil
}

// configOf builds the configurations from the flags, the settings of models in flags and
// their files, and the environment. It changes none of these. It returns an error if flags
// contradict each other; [config.validate] checks the rest.
func (f *flags) configOf(overrides []inference.Override, getenv func(string) string) (config, error) {
	repositories := f.repositories(getenv)
	bounds, boundsErr := f.bounds()
	inProcess, remote, enginesErr := f.engines(repositories)
	memory := f.memoryFlags.config(len(repositories) > 0)
	names := flagNames()
	inProcess.Names, memory.Names = names, names
	shared := server.Config{
		Host: f.Host, Port: f.OpenAIPort, MaxBody: f.HTTPMaxInputSize,
		ShutdownTimeout: f.ShutdownTimeout, WriteTimeout: f.WriteTimeout, CORSOrigins: f.CORSOrigin, AllowedHosts: f.AllowedHost,
		MaxConnections: f.MaxConnections, MaxConnectionsPerAddress: f.MaxConnectionsPerAddress,
		TLS:            server.TLS{CertFile: f.TLSCert, KeyFile: f.TLSKey, ClientCAFile: f.TLSClientCA},
		ProfileAddress: f.ProfileAddress, Playground: f.Playground, Names: names,
	}
	return config{
		Local: inProcess, Triton: remote,
		Backend:   contracts.Config{First: f.Backend, Names: names},
		Models:    modelfiles.Config{Repositories: slices.Concat(repositories, f.TritonModelRepository), Hub: modelfiles.HubFromEnvironment(getenv)},
		Overrides: slices.Concat(f.file.modelSettings(), overrides), // the file overrides the flags
		Images: images.Config{
			AllowURLs: f.AllowImageURLs, MaxCount: f.ImageMaxCount, MaxBytes: f.ImageMaxBytes, MaxTotalBytes: f.ImageMaxTotalBytes,
			FetchTimeout: f.ImageFetchTimeout, Names: names,
		},
		Catalog:   catalog.Config{LoRASeparator: f.LoRASeparator, Names: names},
		Inference: serving.Config{DefaultMaxTokens: f.DefaultMaxTokens, MaxCallBytes: f.MaxToolCallParseBytes, RequiredModels: f.RequiredModel, Bounds: bounds, Names: names},
		OpenAI: openai.Config{
			Strict: f.Strict, OwnedBy: f.OwnedBy,
			ResponsesStoreSize: f.ResponsesStoreSize, ResponsesStoreBytes: f.ResponsesStoreBytes, ResponsesStoreTTL: f.ResponsesStoreTTL,
			Names: names,
		},
		KServe:   f.kserveFlags.config(shared, memory.Bodies()),
		Platform: f.platformFlags.config(getenv),
		Auth: auth.Config{
			APIKeys: f.APIKey, APIKeysFile: f.APIKeysFile, Keys: f.file.clientKeys(),
			Restricted: f.OpenAIRestrictedAPI, GRPCRestricted: f.GRPCRestricted, HTTPRestricted: f.HTTPRestricted,
		},
		Server:  shared,
		Metrics: f.metrics(shared, f.EnableKServeFrontends),
		Tracing: f.tracing(getenv),
		Memory:  memory,
		Table:   f.table(),
	}, errors.Join(boundsErr, enginesErr)
}

// validate checks the configurations of the modules that every start has.
func (c config) validate() error {
	return errors.Join(c.Backend.Validate(), c.Images.Validate(), c.Inference.Validate(), c.OpenAI.Validate(), c.KServe.Validate(), c.Platform.Validate(), c.Auth.Validate(),
		c.Server.Validate(), c.Metrics.Validate(), c.Tracing.Validate(), c.Memory.Validate())
}

// table returns the output for the table of models at start, or nil for log lines.
func (f *flags) table() io.Writer {
	if f.LogFormat == "text" {
		return os.Stderr
	}
	return nil
}

// repositories returns the repositories for in-process Triton. If no flag selects an engine,
// the repository is the one that Vertex AI names.
func (f *flags) repositories(getenv func(string) string) []string {
	if storage := f.storage(getenv); storage != "" && len(f.ModelRepository) == 0 && f.TritonEndpoint == "" {
		return []string{storage}
	}
	return f.ModelRepository
}

// engines configures the engines that the flags select. Without such flags it is the
// tritonserver on this machine.
func (f *flags) engines(repositories []string) (inProcess local.Config, remote triton.Config, err error) {
	if len(repositories) == 0 {
		if err := f.errNeedRepository(); err != nil {
			return inProcess, remote, err
		}
		remote = f.remote(cmp.Or(f.TritonEndpoint, tritonEndpoint))
		return inProcess, remote, remote.Validate()
	}
	inProcess, err = f.tritonFlags.config()
	inProcess.Repositories = repositories
	inProcess.FirstResponse, inProcess.Inactivity, inProcess.KeepAlive = f.FirstResponseTimeout, f.InactivityTimeout, f.SSEHeaderTimeout
	inProcess.LogInfo = slog.Level(f.LogLevel) <= slog.LevelDebug
	if err == nil {
		err = inProcess.Validate()
	}
	if err != nil || f.TritonEndpoint == "" {
		return inProcess, remote, err
	}
	remote = f.remote(f.TritonEndpoint)
	return inProcess, remote, remote.Validate()
}

func (f *flags) remote(endpoint string) triton.Config {
	t := triton.Default()
	t.Endpoint = endpoint
	t.FirstResponse, t.Inactivity, t.KeepAlive = f.FirstResponseTimeout, f.InactivityTimeout, f.SSEHeaderTimeout
	t.CAFile, t.CertFile, t.KeyFile = f.TritonTLSCA, f.TritonTLSCert, f.TritonTLSKey
	return t
}

func (f *flags) logger() *slog.Logger {
	f.level.Set(slog.Level(f.LogLevel))
	opts := &slog.HandlerOptions{Level: &f.level, ReplaceAttr: flaggedAttr}
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, opts))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, opts))
}
