package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/dig"
	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/contracts"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/test/logbuffer"
)

type noTemplate struct{}

func (noTemplate) Render(context.Context, *inference.Request) (string, error) { return "", nil }

func TestTables(t *testing.T) {
	tests := []struct {
		name  string
		cards []*catalog.Card
		want  string
	}{
		{"none", nil, `
no models
`},
		{"none is loaded", []*catalog.Card{{Target: inference.Target{Name: "a"}}, {Target: inference.Target{Name: "b"}}}, `
models of the repository that are not loaded: 2
`},
		{"all kinds", []*catalog.Card{
			{
				Target: inference.Target{Name: "chat"}, Version: "3", State: inference.ModelReady, Backend: contracts.VLLM{}, Template: noTemplate{}, ToolParser: "hermes", ReasoningParser: "qwen3", ContextLength: 2048,
				Settings: []inference.Setting{{Name: "chat_template", Origin: "config.pbtxt: trident.chat_template"}},
			},
			{Target: inference.Target{Name: "embedding-of-texts"}, Version: "1", State: inference.ModelReady, Backend: contracts.VLLM{}},
			{Target: inference.Target{Name: "plain"}, Version: "1", State: inference.ModelReady},
			{Target: inference.Target{Name: "slow"}, Version: "1", State: inference.ModelLoading},
			{Target: inference.Target{Name: "broken"}, State: inference.ModelUnavailable, Reason: "Internal: no\tGPU\nTraceback"},
			{Target: inference.Target{Name: "idle"}},
		}, `
MODEL               VERSION  STATUS                         KIND          TEMPLATE                             PARSERS        TOKENIZER     CONTEXT
chat                3        READY                          vllm          config.pbtxt: trident.chat_template  hermes, qwen3  the engine's  2048
embedding-of-texts  1        READY                          vllm          none                                 -              the engine's  unknown
plain               1        READY                          tensors only  none                                 -              the engine's  unknown
slow                1        LOADING                        -             -                                    -              -             -
broken              -        UNAVAILABLE: Internal: no GPU  -             -                                    -              -             -
models of the repository that are not loaded: 1
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := modelTable(tt.cards); got != tt.want+"\n" {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
	long := modelTable([]*catalog.Card{{Target: inference.Target{Name: "broken"}, State: inference.ModelUnavailable, Reason: strings.Repeat("ä", 500)}})
	if !strings.Contains(long, "ä…") || len(long) > 400 {
		t.Errorf("a long reason: %s", long)
	}
	want := `playground               http://localhost:9000/
OpenAI API               http://localhost:9000/v1
Connect, gRPC, gRPC-Web  http://localhost:9000
health                   http://localhost:9000/health/ready
KServe v2 by REST        http://localhost:8000/v2
KServe v2 by gRPC        127.0.0.1:8001

`
	if got := addressTable("http://localhost:9000", nativePorts(true), true); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	secure := addressTable("https://localhost:9000", nativePorts(true), false)
	if strings.Contains(secure, "playground") || !strings.Contains(secure, "https://localhost:9000/v1\n") || !strings.Contains(secure, "KServe v2 by gRPC with TLS  127.0.0.1:8001\n") {
		t.Errorf("got\n%s", secure)
	}
	if got := addressTable("http://localhost:9000", nativePorts(false), true); !strings.HasSuffix(got, "KServe v2 by REST        http://localhost:9000/v2\n\n") {
		t.Errorf("got\n%s", got)
	}
}

// nativePorts stands in for the KServe ports, which are open if the value is true.
type nativePorts bool

func (p nativePorts) Addr() net.Addr {
	if !p {
		return nil
	}
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:8001"))
}

func (p nativePorts) URL() string {
	if !p {
		return ""
	}
	return "http://localhost:8000"
}

// TestFailedStart starts the whole program with each of its ports in use, one after the other. The error
// names the port, and nothing is logged: neither the address of another port nor what would be left to do.
func TestFailedStart(t *testing.T) {
	t.Setenv("AIP_PREDICT_ROUTE", "/predict") // required for Vertex AI
	t.Setenv("AIP_HEALTH_ROUTE", "/health")
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	busy := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	for flag, address := range map[string]string{
		"--openai-port": busy, "--kserve-http-port": busy, "--kserve-grpc-port": busy, "--metrics-port": busy,
		"--sagemaker-port": busy, "--vertex-ai-port": busy, "--profile-address": "127.0.0.1:" + busy,
	} {
		t.Run(flag, func(t *testing.T) {
			cfg, err := parse("--host=127.0.0.1", "--openai-port=0", "--triton-endpoint=127.0.0.1:1", "--enable-kserve-frontends", "--kserve-http-port=0", "--kserve-grpc-port=0",
				"--metrics-port=0", "--allow-vertex-ai", "--vertex-ai-port=0", "--profile-address=127.0.0.1:0", flag+"="+address)
			if err != nil {
				t.Fatal(err)
			}
			out := &logbuffer.Buffer{}
			cfg.Table = out
			log := slog.New(slog.NewTextHandler(out, nil))
			var native *kserve.Server
			app := application(&flags{}, cfg, log, func(err error) { t.Error(err) }, fx.Populate(&native))
			defer native.Stop(t.Context()) // it never started; its workers end
			if err := app.Start(t.Context()); err == nil {
				t.Error("the program starts", app.Stop(t.Context()))
			} else if cause := message(dig.RootCause(err)); !strings.HasPrefix(cause, "trident: ") || !strings.Contains(cause, busy) || !strings.Contains(cause, flag) || strings.Contains(cause, "\n") {
				t.Errorf("the cause is %q", cause)
			}
			if out.String() != "" {
				t.Errorf("logged:\n%s", out)
			}
		})
	}
}

// starter is an in-process Triton whose models are loaded once the channel is closed.
type starter struct {
	loaded chan struct{}
	err    error
}

func (s starter) AwaitModels(ctx context.Context) error {
	select {
	case <-s.loaded:
		return s.err
	default:
	}
	select {
	case <-s.loaded:
		return s.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// port stands in for a server that logs its address.
type port struct{ out *logbuffer.Buffer }

func (p port) Report() { _, _ = p.out.Write([]byte("listening\n")) }

// TestAnnouncer checks that the addresses are logged once, when all components have started and
// in-process Triton has loaded its models, and that the tables of models follow them.
func TestAnnouncer(t *testing.T) {
	failed := errors.New("no such backend")
	const table = "\nno models\n\n"
	for _, test := range []struct {
		name   string
		engine inference.Starter
		exits  bool
		early  string // what is logged and printed while the models load
		want   string
	}{
		{"no engine in the process", nil, true, "listening\n" + table + "addresses\n", ""},
		{"models that load", starter{make(chan struct{}), nil}, true, "loading\n", "listening\n" + table + "addresses\n" + table},
		{"a model that fails", starter{make(chan struct{}), failed}, true, "loading\n", ""},
		{"a model that fails and doesn't end the start", starter{make(chan struct{}), failed}, false, "loading\n", "listening\n" + table + "addresses\n" + table},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := &logbuffer.Buffer{}
			log := slog.New(slog.NewTextHandler(out, nil))
			a := &announcer{engine: test.engine, exits: test.exits, ports: []reporter{port{out}}, addresses: func() string { return "addresses\n" }, out: out, log: log}
			a.models(nil)
			if out.String() != "" {
				t.Errorf("before the start: %s", out)
			}
			a.begin()
			early := out.String()
			if strings.HasPrefix(early, "time=") && strings.Contains(early, "in-process Triton is loading its models") {
				early = "loading\n"
			}
			if early != test.early {
				t.Errorf("got\n%s\nwant\n%s", out, test.early)
			}
			mark := len(out.String())
			if s, ok := test.engine.(starter); ok {
				close(s.loaded)
				a.waiting.Wait()
				a.models(nil)
			}
			a.end()
			if got := out.String()[mark:]; got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
	waiting := &announcer{engine: starter{make(chan struct{}), nil}, log: slog.New(slog.DiscardHandler)}
	waiting.begin()
	waiting.end() // a stop while the models load doesn't hang
	if waiting.reported {
		t.Error("a start that was stopped has reported its addresses")
	}
}
