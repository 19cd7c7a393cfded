package main

import (
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

	"github.com/trident-inference/trident/services/anthropic"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/balance"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/cloud"
	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/contracts"
	"github.com/trident-inference/trident/services/encoders"
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
	"github.com/trident-inference/trident/services/state"
	"github.com/trident-inference/trident/services/tokenizer"
	"github.com/trident-inference/trident/services/tracing"
	"github.com/trident-inference/trident/services/tridentrpc"
	"github.com/trident-inference/trident/services/triton"
	"github.com/trident-inference/trident/services/triton/fleet"
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
		fx.Supply(cfg.Backend, cfg.Models, cfg.Overrides, cfg.Images, cfg.Catalog, cfg.Inference, cfg.OpenAI, anthropic.Config{Strict: cfg.OpenAI.Strict}, cfg.Encoders, cfg.KServe, cfg.Platform, cfg.Auth, cfg.Server, cfg.Metrics, cfg.Tracing, cfg.Memory),
		fx.Supply(log, abort, tridentrpc.Version(version), cfg.State),
		afterPorts(cfg.Local), afterPorts(cfg.Triton), afterPorts(cfg.Fleet),
		engines(cfg),      // tritonservers over gRPC, in-process Triton, or both
		contracts.Module,  // conversion of requests to tensors and back
		tokenizer.Module,  // conversion of texts to token ids
		images.Module,     // images of requests
		modelfiles.Module, // metadata from models' files and their publishers
		tracing.Module,    // spans, sent to a collector
		catalog.Module,    // metadata of the models
		serving.Module,    // the shared service
		state.Module,      // what several Tridents share
		memory.Module,     // the memory limit
		openai.Module,     // frontend: /v1/*
		anthropic.Module,  // frontend: /v1/messages
		encoders.Module,   // frontends: /v1/rerank, /v1/score, /tei/ and others
		tridentrpc.Module, // frontend: typed Connect services
		kserve.Module,     // frontend: KServe v2, with a listener for gRPC
		rest.Module,       // frontend: KServe v2 by REST
		cloud.Module,      // endpoints of SageMaker and Vertex AI
		metrics.Module,    // /metrics, with a listener
		auth.Module,       // keys, and the access that routes need
		server.Module,     // the listener
		fx.Invoke(useStores),
		reloading(f), // reload of settings at run time
		sealReport(),
		announcement(cfg), // the last one to start: addresses are logged when all others have
		fx.StopTimeout(cfg.stopTimeout()),
		fx.WithLogger(func(log *slog.Logger) fxevent.Logger {
			l := &fxevent.SlogLogger{Logger: log}
			l.UseLogLevel(slog.LevelDebug)
			l.UseErrorLevel(slog.LevelDebug) // fx logs failures at level debug, because run prints the cause once
			return l
		}),
	)
}

// useStores makes the service share its rates, and wait for the shared stores before it is ready.
func useStores(service *serving.Service, stores state.Stores, rates *state.Rates) {
	if rates != nil {
		service.Admission().Share(rates)
	}
	service.Need(stores.Ready)
}

// openPorts are the ports of the graph, which open at start, and the profiler.
type openPorts struct {
	fx.In

	Profiles  *server.Profiler
	Shared    *server.Listener
	KServe    *kserve.Listener
	Metrics   *metrics.Listener
	Platforms *cloud.Listeners
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
	if len(cfg.Fleet.Endpoints) > 0 {
		all = append(all, fleet.Module, fx.Provide(fx.Annotate(endpointReload, fx.ResultTags(`group:"reloads"`))))
	}
	return fx.Options(all...)
}

// engineParams has the engines of the graph.
type engineParams struct {
	fx.In

	Local  *local.Engine  `optional:"true"`
	Remote *triton.Engine `optional:"true"`
	Fleet  *fleet.Engine  `optional:"true"`
}

// inOrder lists the engines. If both serve a model, the in-process engine takes precedence.
func inOrder(e engineParams) []inference.Engine {
	var list []inference.Engine
	if e.Local != nil {
		list = append(list, e.Local)
	}
	if e.Remote != nil {
		list = append(list, e.Remote)
	}
	if e.Fleet != nil {
		list = append(list, e.Fleet)
	}
	return list
}

// config is the configuration of each module. An unused engine has no repositories or no
// endpoint. One fixed endpoint has an engine of its own, and others have the engine over several.
type config struct {
	Local     local.Config
	Triton    triton.Config
	Fleet     fleet.Config
	Backend   contracts.Config
	Models    modelfiles.Config
	Overrides []inference.Override
	Images    images.Config
	Catalog   catalog.Config
	Inference serving.Config
	OpenAI    openai.Config
	State     state.Config
	Encoders  encoders.Config
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

	ModelRepository      []string      `group:"Triton" aliases:"model-store" placeholder:"DIR" help:"Model repository that in-process Triton serves: a folder, or another location that Triton supports; repeatable."`
	TritonEndpoint       []string      `group:"Triton" placeholder:"HOST:PORT" help:"Address of the gRPC port of a running tritonserver, or of another Trident with --enable-kserve-frontends; repeatable. Several addresses can also be comma-separated. Requests are distributed over all servers. https://HOST:PORT uses TLS. dns://[SERVER]/NAME:PORT, or dns+https:// for TLS, stands for all addresses of a DNS name; Trident looks the name up every 5 seconds. A suffix =WEIGHT sets the capacity of a server in relation to the other servers: with a:8001=2,b:8001, the server a gets two thirds of the load. Default: ${triton_endpoint}, or no tritonserver if --model-repository is set."`
	TritonStreamClient   string        `group:"Triton" default:"direct" enum:"direct,grpc-go" help:"gRPC client for streams from --triton-endpoint: direct is Trident's own client, which needs less CPU time for each response; grpc-go is the library that Trident uses for all other calls."`
	TritonTLSCA          string        `group:"Triton" name:"triton-tls-ca" placeholder:"FILE" help:"CA bundle (PEM) that verifies the certificate of the tritonserver at --triton-endpoint. Default: the system's CA certificates."`
	TritonTLSCert        string        `group:"Triton" name:"triton-tls-cert" placeholder:"FILE" help:"Client certificate (PEM) for a tritonserver at --triton-endpoint that requires one. Needs --triton-tls-key."`
	TritonTLSKey         string        `group:"Triton" name:"triton-tls-key" placeholder:"FILE" help:"Private key (PEM) of the certificate of --triton-tls-cert."`
	FirstResponseTimeout time.Duration `group:"Triton" default:"${first_response_timeout}" help:"Maximum time that a request waits for the first response of its model; then the request fails. The time includes Triton's queue, the processing of the prompt and, for a non-streaming response, the whole generation."`
	InactivityTimeout    time.Duration `group:"Triton" default:"${inactivity_timeout}" help:"Maximum time between two responses of a model in a stream; then the stream fails. While a request waits for its first response, tritonserver gets a health check at this interval; a failed check fails the request."`
	Balance              string        `group:"Triton" default:"${balance}" placeholder:"NAME" help:"Rule by which Trident chooses one of the servers of --triton-endpoint that serve a model: ${balance_policies}. cost selects the server with the lowest estimated cost, tokens the server with the fewest tokens in unfinished requests, and round-robin the next server."`
	Backend              string        `group:"Triton" placeholder:"NAME" help:"Triton backend that Trident assumes first for a model whose tensors match several backends: vllm, llmapi, tensorrtllm or python. Default: the first match in this order."`

	tritonFlags `group:"In-process Triton"`
	kserveFlags `group:"KServe v2"`
	modelFlags  `group:"Models"`
	limitFlags  `group:"Limits"`
	memoryFlags `group:"Limits"`

	observeFlags `group:"Observability"`
	accessFlags  `group:"Access"`

	platformFlags `group:"Hosting platforms"`

	Host                     string        `group:"Listener" default:"${host}" help:"Address on which the ports listen; 0.0.0.0 means all addresses of the machine. Set 127.0.0.1 to serve only this machine."`
	OpenAIPort               int           `group:"Listener" name:"openai-port" default:"${openai_port}" help:"TCP port of the OpenAI API, the Connect services and the playground; 0 takes a free port."`
	TLSCert                  string        `group:"Listener" name:"tls-cert" aliases:"ssl-certfile" placeholder:"FILE" help:"Certificate (PEM) that enables TLS on all ports except those of hosting platforms and of --profile-address. A changed file is read again without a restart."`
	TLSKey                   string        `group:"Listener" name:"tls-key" aliases:"ssl-keyfile" placeholder:"FILE" help:"Private key (PEM) of the certificate of --tls-cert. Default: the key in the file of --tls-cert."`
	TLSClientCA              string        `group:"Listener" name:"tls-client-ca" placeholder:"FILE" help:"CA bundle (PEM) for mutual TLS: clients must send a certificate that these CA certificates verify. Needs --tls-cert."`
	HTTPMaxInputSize         size          `group:"Listener" name:"http-max-input-size" default:"${http_max_input_size}" help:"Maximum size of a request body, in bytes or with a unit such as 64MiB; a request with a larger body is refused."`
	AllowedHost              []string      `group:"Listener" name:"allowed-host" placeholder:"NAME" help:"Value of the Host header that a port on a loopback address accepts if clients need neither an API key nor a certificate; repeatable. IP addresses, localhost and this machine's name are always accepted. Set this flag for a proxy that forwards its own host name."`
	CORSOrigin               []string      `group:"Listener" name:"cors-origin" placeholder:"ORIGIN" help:"Web origin whose pages may call this server from a browser (CORS), such as https://example.com, or * for all origins; repeatable. Pages of this host are always allowed."`
	Playground               bool          `group:"Listener" default:"${playground}" negatable:"" help:"Serve the playground, a web page to try the models, at / on --openai-port."`
	MaxConnections           int           `group:"Listener" default:"${max_connections}" help:"Maximum number of open connections of each port; 0 means no limit. A connection beyond the limit is closed at once."`
	MaxConnectionsPerAddress int           `group:"Listener" default:"${max_connections_per_address}" help:"Maximum number of open connections of each port from one address, or from one IPv6 network (/64); 0 means no limit. Connections from loopback addresses aren't limited. Increase the limit if a proxy on another machine forwards all clients."`
	WriteTimeout             time.Duration `group:"Listener" default:"${write_timeout}" help:"Time without progress after which a response is aborted because its client doesn't read it."`
	DrainDelay               time.Duration `group:"Listener" default:"${drain_delay}" help:"Time after SIGTERM in which readiness checks already fail but requests are still served, so that a load balancer sends new requests to other servers before the shutdown starts. Set at least the interval of the balancer's checks times the number of failed checks after which it removes a server. 0 starts the shutdown at once. SIGINT always starts it at once."`
	ShutdownTimeout          time.Duration `group:"Listener" default:"${shutdown_timeout}" help:"Grace period of a shutdown by SIGINT or SIGTERM: requests in flight may finish in this time; then they are cancelled. 0 cancels requests at once. A second signal, at least 200 ms after the first, ends the process at once."`

	DefaultMaxTokens int           `group:"Requests" default:"${default_max_tokens}" help:"Maximum number of output tokens of requests that don't set a maximum; 0 means the rest of the model's context length."`
	SSEHeaderTimeout time.Duration `group:"Requests" name:"sse-header-timeout" default:"${sse_header_timeout}" help:"Idle time of a stream, before or after the model's first output, after which a keep-alive comment is sent; further comments follow at this interval. A comment before the first output also sends the response headers. The value must be above 0. Set it below the idle timeout of proxies in front of this server."`
	Strict           bool          `group:"Requests" help:"Refuse a request with status 400 if one of its fields, tools or items has no effect, because Trident doesn't know it or because the model or its engine doesn't apply it. Without this flag, fields, tools and items without an effect are ignored, and the response header X-Trident-Ignored-Fields lists them."`

	AllowImageURLs     bool          `group:"Requests" name:"allow-image-urls" help:"Fetch images of requests from http and https URLs with public addresses. Without this flag, images must be data: URIs."`
	ImageMaxCount      int           `group:"Requests" default:"${image_max_count}" help:"Maximum number of images in a request; 0 refuses requests with images."`
	ImageMaxBytes      size          `group:"Requests" default:"${image_max_bytes}" help:"Maximum size of one image, in bytes or with a unit such as 20MiB."`
	ImageMaxTotalBytes size          `group:"Requests" default:"${image_max_total_bytes}" help:"Maximum size of all images of a request together, in bytes or with a unit such as 64MiB."`
	ImageFetchTimeout  time.Duration `group:"Requests" default:"${image_fetch_timeout}" help:"Time limit for fetching one image by --allow-image-urls, including redirects."`

	ResponsesStoreSize  int           `group:"Requests" default:"${responses_store_size}" help:"Maximum number of responses of the Responses API that are stored in memory, so that later requests can continue from them by previous_response_id; 0 stores no responses. The oldest responses are removed first."`
	ResponsesStore      string        `group:"Requests" placeholder:"URL" help:"Valkey or Redis server, such as rediss://USER:PASSWORD@HOST:6379/0, that stores the responses of the Responses API for several Tridents. --responses-store-ttl applies to these responses; --responses-store-size and --responses-store-bytes don't, so limit the memory of the server itself. Default: each Trident stores responses in its own memory."`
	ResponsesStoreBytes size          `group:"Requests" default:"${responses_store_bytes}" help:"Approximate maximum memory of the responses that Trident stores in its own memory (--responses-store-size), in bytes or with a unit such as 256MiB."`
	ResponsesStoreTTL   time.Duration `group:"Requests" name:"responses-store-ttl" default:"${responses_store_ttl}" help:"Time after which a stored response of the Responses API is deleted; see --responses-store-size and --responses-store."`
	SealKeyFile         string        `group:"Requests" name:"seal-key-file" placeholder:"FILE" help:"File with the keys that encrypt the reasoning in responses of the Responses API and of Anthropic's Messages API. Clients send the encrypted reasoning back in later requests. The file has one key per line: 32 random bytes in base64. Trident encrypts with the first key and decrypts with all keys, so that keys can be replaced. Replicas need the same keys. SIGHUP reads the file again. Default: a random key, so that encrypted reasoning is ignored after a restart and by other replicas."`

	LoRASeparator string          `group:"Models" name:"lora-separator" placeholder:"TEXT" help:"Separator that enables LoRA adapters under their own names: with _lora_, the adapter doll of the model chat is served as chat_lora_doll. Without this flag, adapters aren't served."`
	AliasSplit    []catalog.Split `group:"Models" sep:"\n" type:"lines" placeholder:"ALIAS:MODEL=WEIGHT[,MODEL=WEIGHT...]" help:"Additional name whose requests are distributed over models by weights; repeatable. With chat:chat-v1=95,chat-v2=5, 5 of 100 requests for chat go to chat-v2. A model that isn't ready gets no requests."`
	OwnedBy       string          `group:"Models" name:"owned-by" placeholder:"NAME" help:"Value of owned_by of all models in /v1/models. Default: triton."`
	TEIModel      string          `group:"Models" name:"tei-model" placeholder:"NAME" help:"Model that serves the paths of text-embeddings-inference (TEI) that name no model: /embed, /embed_all, /embed_sparse, /predict, /similarity and /info. It also serves requests to /rerank that have texts and name no model. Other models have these paths under /tei/NAME/. Default: these paths return an error."`

	LogLevel  logLevel `group:"Logging" default:"info" aliases:"uvicorn-log-level" help:"Minimum level of log messages: debug, info, warn or error."`
	LogFormat string   `group:"Logging" default:"text" enum:"text,json" help:"Format of the log on standard error: text (key=value) or json (one object per line)."`

	ProfileAddress string `group:"Logging" placeholder:"HOST:PORT" help:"Address on which Go's profiles of this process (net/http/pprof) are served. The port has no authentication: use a loopback address. Default: no profiles."`
}

// tritonEndpoint is tritonserver's default address.
const tritonEndpoint = "localhost:8001"

// defaults sets the flags' defaults to those of the modules, so that each is written once.
func defaults() kong.Option {
	t, i, p, o, s := triton.Default(), serving.Default(), images.Default(), openai.Default(), server.Default()
	return tritonDefaults().CloneWith(kserveDefaults()).CloneWith(platformDefaults()).CloneWith(limitDefaults()).CloneWith(observeDefaults()).CloneWith(kong.Vars{
		"triton_endpoint":             tritonEndpoint,
		"balance":                     string(balance.Policies()[0]),
		"balance_policies":            balance.PolicyNames(),
		"first_response_timeout":      durationText(t.FirstResponse),
		"inactivity_timeout":          durationText(t.Inactivity),
		"sse_header_timeout":          durationText(t.KeepAlive),
		"default_max_tokens":          strconv.Itoa(i.DefaultMaxTokens),
		"max_tool_call_parse_bytes":   configfield.SizeText(int64(i.MaxCallBytes)),
		"image_max_count":             strconv.Itoa(p.MaxCount),
		"image_max_bytes":             configfield.SizeText(p.MaxBytes),
		"image_max_total_bytes":       configfield.SizeText(p.MaxTotalBytes),
		"image_fetch_timeout":         durationText(p.FetchTimeout),
		"responses_store_size":        strconv.Itoa(o.ResponsesStoreSize),
		"responses_store_bytes":       configfield.SizeText(o.ResponsesStoreBytes),
		"responses_store_ttl":         durationText(o.ResponsesStoreTTL),
		"write_timeout":               durationText(s.WriteTimeout),
		"max_connections":             strconv.Itoa(s.MaxConnections),
		"max_connections_per_address": strconv.Itoa(s.MaxConnectionsPerAddress),
		"host":                        s.Host,
		"openai_port":                 strconv.Itoa(s.Port),
		"playground":                  strconv.FormatBool(s.Playground),
		"http_max_input_size":         configfield.SizeText(s.MaxBody),
		"drain_delay":                 durationText(s.DrainDelay),
		"shutdown_timeout":            durationText(s.ShutdownTimeout),
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
	if len(cfg.Fleet.Endpoints) > 0 {
		here := thisMachine() // once, because lookups of names ask for each address
		cfg.Fleet.Own = func(host, port string) bool { return cfg.ownPort(here, host, port) != "" }
	}
	if err != nil {
		return config{}, f.addOrigins(flagged(err))
	}
	return cfg, nil
}

// configOf builds the configurations from the flags, the settings of models in flags and
// their files, and the environment. It changes neither the flags nor the settings. It
// returns an error if flags contradict each other; [config.validate] makes all other checks.
func (f *flags) configOf(overrides []inference.Override, getenv func(string) string) (config, error) {
	repositories := f.repositories(getenv)
	bounds, boundsErr := f.bounds()
	inProcess, remote, several, enginesErr := f.engines(repositories)
	memory := f.memoryFlags.config(len(repositories) > 0)
	names := flagNames()
	inProcess.Names, memory.Names, several.Names = names, names, names
	shared := server.Config{
		Host: f.Host, Port: f.OpenAIPort, MaxBody: int64(f.HTTPMaxInputSize),
		DrainDelay: f.DrainDelay, ShutdownTimeout: f.ShutdownTimeout, WriteTimeout: f.WriteTimeout, CORSOrigins: f.CORSOrigin, AllowedHosts: f.AllowedHost,
		MaxConnections: f.MaxConnections, MaxConnectionsPerAddress: f.MaxConnectionsPerAddress,
		TLS:            server.TLS{CertFile: f.TLSCert, KeyFile: f.TLSKey, ClientCAFile: f.TLSClientCA},
		ProfileAddress: f.ProfileAddress, Playground: f.Playground, Names: names,
	}
	return config{
		Local: inProcess, Triton: remote, Fleet: several,
		Backend:   contracts.Config{First: f.Backend, Names: names},
		Models:    modelfiles.Config{Repositories: slices.Concat(repositories, f.TritonModelRepository), Hub: modelfiles.HubFromEnvironment(getenv)},
		Overrides: slices.Concat(f.file.modelSettings(), overrides), // the file overrides the flags
		Images: images.Config{
			AllowURLs: f.AllowImageURLs, MaxCount: f.ImageMaxCount, MaxBytes: int64(f.ImageMaxBytes), MaxTotalBytes: int64(f.ImageMaxTotalBytes),
			FetchTimeout: f.ImageFetchTimeout, Names: names,
		},
		Catalog:   catalog.Config{LoRASeparator: f.LoRASeparator, Splits: f.AliasSplit, Names: names},
		Inference: serving.Config{DefaultMaxTokens: f.DefaultMaxTokens, MaxCallBytes: int(f.MaxToolCallParseBytes), EncoderBatchDelay: f.EncoderBatchDelay, EncoderQueueTokens: f.EncoderQueueTokens, RequiredModels: f.RequiredModel, Bounds: bounds, Names: names},
		OpenAI: openai.Config{
			Strict: f.Strict, OwnedBy: f.OwnedBy, Version: version,
			ResponsesStore: f.ResponsesStore, ResponsesStoreSize: f.ResponsesStoreSize, ResponsesStoreBytes: int64(f.ResponsesStoreBytes), ResponsesStoreTTL: f.ResponsesStoreTTL,
			SealKeyFile: f.SealKeyFile, Names: names,
		},
		State:    state.Config{Responses: f.ResponsesStore, Limits: f.LimitsStore},
		Encoders: encoders.Config{Strict: f.Strict, Version: version, TEIModel: f.TEIModel, Names: names},
		KServe:   f.kserveFlags.config(shared, memory.Bodies()),
		Platform: f.platformFlags.config(getenv),
		Auth: auth.Config{
			APIKeys: f.APIKey, APIKeysFile: f.APIKeysFile, Keys: f.file.clientKeys(),
			Restricted: f.OpenAIRestrictedAPI, GRPCRestricted: f.GRPCRestricted, HTTPRestricted: f.HTTPRestricted,
		},
		Server:  shared,
		Metrics: f.metrics(shared, remote.Endpoint),
		Tracing: f.tracing(getenv),
		Memory:  memory,
		Table:   f.table(),
	}, errors.Join(boundsErr, enginesErr)
}

// validate checks the configurations of the modules that every start has.
func (c config) validate() error {
	return errors.Join(c.Backend.Validate(), c.Catalog.Validate(), c.Images.Validate(), c.Inference.Validate(), c.OpenAI.Validate(), c.State.Validate(), c.KServe.Validate(), c.Platform.Validate(), c.Auth.Validate(),
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
	if storage := f.storage(getenv); storage != "" && len(f.ModelRepository) == 0 && len(f.TritonEndpoint) == 0 {
		return []string{storage}
	}
	return f.ModelRepository
}

// engines configures the engines that the flags select. Without such flags the engine is the
// tritonserver on this machine.
func (f *flags) engines(repositories []string) (inProcess local.Config, remote triton.Config, several fleet.Config, err error) {
	if len(repositories) == 0 {
		if err := f.errNeedRepository(); err != nil {
			return inProcess, remote, several, err
		}
		remote, several, err = f.remote()
		return inProcess, remote, several, err
	}
	inProcess, err = f.tritonFlags.config()
	inProcess.Repositories = repositories
	inProcess.FirstResponse, inProcess.Inactivity, inProcess.KeepAlive = f.FirstResponseTimeout, f.InactivityTimeout, f.SSEHeaderTimeout
	inProcess.LogInfo = slog.Level(f.LogLevel) <= slog.LevelDebug
	if err == nil {
		err = inProcess.Validate()
	}
	if err == nil && len(f.TritonEndpoint) > 0 {
		remote, several, err = f.remote()
	}
	return inProcess, remote, several, err
}

// endpoints returns the addresses of the tritonservers, by default that on this machine.
func (f *flags) endpoints() []string {
	if len(f.TritonEndpoint) == 0 {
		return []string{tritonEndpoint}
	}
	return f.TritonEndpoint
}

// remote configures the engine of one fixed endpoint, or else the engine over several. The other
// one has no endpoint.
func (f *flags) remote() (triton.Config, fleet.Config, error) {
	t := triton.Default()
	t.FirstResponse, t.Inactivity, t.KeepAlive = f.FirstResponseTimeout, f.InactivityTimeout, f.SSEHeaderTimeout
	t.StreamClient = f.TritonStreamClient
	t.CAFile, t.CertFile, t.KeyFile = f.TritonTLSCA, f.TritonTLSCert, f.TritonTLSKey
	several := fleet.Config{Endpoints: f.endpoints(), Connection: t, Policy: balance.Policy(f.Balance), MetricsPort: f.TritonMetricsPort}
	err := several.Validate()
	if fleet.Single(several.Endpoints) {
		t.Endpoint, several = several.Endpoints[0], fleet.Config{}
	}
	return t, several, err
}

func (f *flags) logger() *slog.Logger {
	f.level.Set(slog.Level(f.LogLevel))
	opts := &slog.HandlerOptions{Level: &f.level, ReplaceAttr: flaggedAttr}
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, opts))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, opts))
}
