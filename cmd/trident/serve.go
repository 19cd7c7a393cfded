package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/trident-inference/trident/services/backend"
	"github.com/trident-inference/trident/services/chat"
	"github.com/trident-inference/trident/services/connect"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/triton"
)

// application is the architecture on one screen: each module is a package under
// services, listed from Triton outwards.
func application(cfg config, log *slog.Logger) (*fx.App, *server.Server) {
	var srv *server.Server
	app := fx.New(
		fx.Supply(cfg.Triton, cfg.Inference, cfg.OpenAI, cfg.Server),
		fx.Supply(log),
		triton.Module,    // engine: tritonserver over gRPC
		backend.Module,   // requests to tensors and back
		chat.Module,      // messages to prompts
		inference.Module, // the shared service
		openai.Module,    // frontend: /v1/*
		connect.Module,   // frontend: typed Connect services
		server.Module,    // the listener
		fx.Populate(&srv),
		fx.StopTimeout(cfg.Server.ShutdownTimeout+stopSlack),
		fx.WithLogger(func(log *slog.Logger) fxevent.Logger {
			l := &fxevent.SlogLogger{Logger: log}
			l.UseLogLevel(slog.LevelDebug)
			l.UseErrorLevel(slog.LevelDebug) // run prints the cause of a failure, once
			return l
		}),
	)
	return app, srv
}

// config is what each module gets.
type config struct {
	Triton    triton.Config
	Inference inference.Config
	OpenAI    openai.Config
	Server    server.Config
}

// flags of the command line; each has a TRIDENT_* environment twin. Names and
// defaults are those of Triton's own OpenAI frontend where it has them.
type flags struct {
	TritonEndpoint    string        `group:"Triton" default:"${triton_endpoint}" placeholder:"HOST:PORT" help:"gRPC address of a running tritonserver."`
	InactivityTimeout time.Duration `group:"Triton" default:"${inactivity_timeout}" help:"End a request whose model stays silent this long."`

	Host             string        `group:"Listener" default:"${host}" help:"Address to listen on."`
	OpenAIPort       int           `group:"Listener" name:"openai-port" default:"${openai_port}" help:"Port of the OpenAI API; 0 takes a free one."`
	HTTPMaxInputSize int64         `group:"Listener" name:"http-max-input-size" default:"${http_max_input_size}" help:"Largest request body in bytes."`
	CORSOrigin       []string      `group:"Listener" name:"cors-origin" placeholder:"ORIGIN" help:"Web origin that may call from a browser, or *; repeatable. Pages of this host always may."`
	WriteTimeout     time.Duration `group:"Listener" default:"${write_timeout}" help:"End an answer whose client takes nothing for this long."`
	ShutdownTimeout  time.Duration `group:"Listener" default:"${shutdown_timeout}" help:"Time that requests in flight get to end after a stop signal."`

	DefaultMaxTokens int           `group:"Requests" default:"${default_max_tokens}" help:"Length limit of answers whose request sets none; 0 is the room left in the model's context."`
	MaxInFlight      int           `group:"Requests" default:"${max_in_flight}" help:"Requests served at once, 0 for no bound; more get 429."`
	RequestTimeout   time.Duration `group:"Requests" default:"${request_timeout}" help:"End a request after this long, 0 for never."`
	SSEHeaderTimeout time.Duration `group:"Requests" name:"sse-header-timeout" default:"${sse_header_timeout}" help:"Silence of the model after which a stream's headers, and then comment lines, are sent."`
	Strict           bool          `group:"Requests" help:"Refuse request fields that neither OpenAI's API nor the engine knows."`

	LogLevel  slog.Level `group:"Logging" default:"info" help:"debug, info, warn or error."`
	LogFormat string     `group:"Logging" default:"text" enum:"text,json" help:"text or json."`
}

// defaults gives the flags the defaults of the modules, so that each is written
// down once.
func defaults() kong.Option {
	t, i, s := triton.Default(), inference.Default(), server.Default()
	return kong.Vars{
		"triton_endpoint":     "localhost:8001", // where tritonserver listens by default
		"inactivity_timeout":  t.Inactivity.String(),
		"sse_header_timeout":  t.KeepAlive.String(),
		"default_max_tokens":  strconv.Itoa(i.DefaultMaxTokens),
		"max_in_flight":       strconv.Itoa(i.MaxInFlight),
		"request_timeout":     i.RequestTimeout.String(),
		"write_timeout":       s.WriteTimeout.String(),
		"host":                s.Host,
		"openai_port":         strconv.Itoa(s.Port),
		"http_max_input_size": strconv.FormatInt(s.MaxBody, 10),
		"shutdown_timeout":    s.ShutdownTimeout.String(),
	}
}

// config makes the modules' configurations of the flags and checks them.
func (f *flags) config() (config, error) {
	cfg := config{
		Triton:    triton.Default(),
		Inference: inference.Config{MaxInFlight: f.MaxInFlight, RequestTimeout: f.RequestTimeout, DefaultMaxTokens: f.DefaultMaxTokens},
		OpenAI:    openai.Config{Strict: f.Strict},
		Server: server.Config{
			Host: f.Host, Port: f.OpenAIPort, MaxBody: f.HTTPMaxInputSize,
			ShutdownTimeout: f.ShutdownTimeout, WriteTimeout: f.WriteTimeout, CORSOrigins: f.CORSOrigin,
		},
	}
	cfg.Triton.Endpoint, cfg.Triton.Inactivity, cfg.Triton.KeepAlive = f.TritonEndpoint, f.InactivityTimeout, f.SSEHeaderTimeout
	err := errors.Join(cfg.Triton.Validate(), cfg.Inference.Validate(), cfg.Server.Validate())
	if err != nil {
		return config{}, fmt.Errorf("%w", err)
	}
	return cfg, nil
}

func (f *flags) logger() *slog.Logger {
	opts := &slog.HandlerOptions{Level: f.LogLevel}
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, opts))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, opts))
}
