package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/fx"
	"go.uber.org/goleak"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/triton"
	"github.com/trident-inference/trident/services/triton/extension"
	"github.com/trident-inference/trident/services/triton/local"
)

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// parse reads a command line as main does.
func parse(args ...string) (config, error) {
	var cli commandLine
	parser, err := newParser(&cli)
	if err != nil {
		return config{}, err
	}
	if _, err := parser.Parse(args); err != nil {
		return config{}, err
	}
	return cli.config()
}

func TestDefaults(t *testing.T) {
	got, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	want := config{Triton: triton.Default(), Inference: serving.Default(), OpenAI: openai.Default(), Server: server.Default()}
	want.Triton.Endpoint = "localhost:8001"
	want.Inference.Names, want.OpenAI.Names = got.Inference.Names, got.OpenAI.Names // TestFlagNames has them
	want.OpenAI.Version = version
	if got.Triton != want.Triton || !reflect.DeepEqual(got.Inference, want.Inference) || got.OpenAI != want.OpenAI || got.Server.Port != 9000 || got.Server.Host != "0.0.0.0" ||
		got.Server.MaxBody != want.Server.MaxBody || got.Server.WriteTimeout != want.Server.WriteTimeout || got.Server.ShutdownTimeout != want.Server.ShutdownTimeout {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestFlagsAndEnvironment(t *testing.T) {
	t.Setenv("TRIDENT_OPENAI_PORT", "1234")
	t.Setenv("TRIDENT_STRICT", "true")
	t.Setenv("TRIDENT_CORS_ORIGIN", "https://a.example,https://b.example")
	got, err := parse("--openai-port=5678", "--triton-endpoint", "https://triton:9", "--inactivity-timeout=5s", "--backend=tensorrtllm",
		"--tls-cert=a", "--ssl-keyfile=b", "--tls-client-ca=c", "--triton-tls-ca=d", "--triton-tls-cert=e", "--triton-tls-key=f")
	if err != nil {
		t.Fatal(err)
	}
	if got.Server.Port != 5678 {
		t.Errorf("port %d: a flag beats the environment", got.Server.Port)
	}
	if !got.OpenAI.Strict || strings.Join(got.Server.CORSOrigins, " ") != "https://a.example https://b.example" {
		t.Errorf("the environment was not read: %+v", got)
	}
	if got.Triton.Endpoint != "https://triton:9" || got.Triton.Inactivity != 5*time.Second || got.Backend.First != "tensorrtllm" {
		t.Errorf("the flags were not read: %+v, %+v", got.Triton, got.Backend)
	}
	if want := (server.TLS{CertFile: "a", KeyFile: "b", ClientCAFile: "c"}); got.Server.TLS != want || got.Triton.CAFile != "d" || got.Triton.CertFile != "e" || got.Triton.KeyFile != "f" {
		t.Errorf("the files of TLS are %+v, %+v", got.Server.TLS, got.Triton)
	}
}

func TestBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--nonsense":                         "--nonsense",
		"--openai-port=x":                    "--openai-port",
		"--openai-port=70000":                "--openai-port",
		"--triton-endpoint=ftp://x":          "--triton-endpoint",
		"--triton-endpoint=a,b,a":            "--triton-endpoint: a and a are the same endpoint: give each endpoint once",
		"--triton-endpoint=https://a,b":      "--triton-endpoint: https://a and b differ in TLS",
		"--alias-split=chat:a=95,b":          "--alias-split: \"b\" must be MODEL=WEIGHT with a whole weight from 0 to 1000000",
		"--alias-split=chat:chat=1,b=1":      "--alias-split: the alias chat is also one of its models",
		"--triton-endpoint=a=0,b":            "--triton-endpoint: \"a=0\" must have a weight from 0.001 to 1000 after the =, such as a=2",
		"--triton-endpoint=dns://a:8001":     "--triton-endpoint: \"dns://a:8001\" must be dns://[SERVER]/NAME:PORT",
		"--triton-endpoint=b,localhost:9000": "--openai-port: 9000 is the port of --triton-endpoint localhost:9000: choose another port",
		"--triton-endpoint=a;b":              "--triton-endpoint: \"a;b\" isn't one address: separate several by commas",
		"--balance=fastest":                  "--balance: \"fastest\" is unknown: choose one of cost, tokens, round-robin",
		"--triton-metrics-port=70000":        "--triton-metrics-port: 70000 is not a port",
		"--request-timeout=-1s":              "--request-timeout",
		"--max-in-flight=-1":                 "--max-in-flight",
		"--log-level=loud":                   "--log-level",
		"--tls-key=key":                      "--tls-cert",
		"--triton-tls-ca=ca":                 "--triton-endpoint=https://",
		"--log-format=xml":                   "--log-format",
		"--write-timeout=0s":                 "--write-timeout",
		"--default-max-tokens=-1":            "--default-max-tokens",
		"--cors-origin=example.com":          "--cors-origin",
		"--http-max-input-size=0":            "--http-max-input-size",
		"--sse-header-timeout=0s":            "--sse-header-timeout",
		"--limits-store=http://host":         "--limits-store: must be a URL such as",
		"--limits-store=redis://host:port":   "--limits-store: isn't the URL of a store",
		"--responses-store-size=-1":          "--responses-store-size",
		"--responses-store-bytes=0":          "--responses-store-bytes",
		"--responses-store-ttl=0s":           "--responses-store-ttl",
		"frobnicate":                         "frobnicate",
		"--triton-endpoint=host:port":        "--triton-endpoint",
		"--model-control-mode=poll":          "--model-control-mode",
		"--backend=nim":                      "--backend",
		"--profile-address=6060":             "--profile-address",
		"--backend-config=python":            "--backend-config: must be BACKEND,KEY=VALUE",
		"--cache-config=size=1":              "--cache-config: must be CACHE,KEY=VALUE",
		"--rate-limit=on":                    "--rate-limit",
		"--rate-limit-resource=a":            "--rate-limit-resource: must be NAME:COUNT",
		"--metrics-config=a,b=c":             "--metrics-config: must be KEY=VALUE",

		"--cuda-memory-pool-byte-size=0":     "--cuda-memory-pool-byte-size: must be DEVICE:SIZE",
		"--pinned-memory-pool-byte-size=x":   "--pinned-memory-pool-byte-size",
		"--exit-timeout-secs=1.5":            "--exit-timeout-secs",
		"--tritonserver-log-verbose-level=x": "--tritonserver-log-verbose-level",
	} {
		if _, err := parse(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", args, err)
		}
	}
}

func TestEngines(t *testing.T) {
	tests := []struct {
		name         string
		args         []string
		repositories []string
		endpoint     string
		endpoints    []string // of the engine over several
	}{
		{"none", nil, nil, "localhost:8001", nil},
		{"remote", []string{"--triton-endpoint=a:1"}, nil, "a:1", nil},
		{"in process", []string{"--model-repository=a", "--model-store=b"}, []string{"a", "b"}, "", nil},
		{"both", []string{"--model-repository=a", "--triton-endpoint=a:1"}, []string{"a"}, "a:1", nil},
		{"several", []string{"--triton-endpoint=a:1,b", "--triton-endpoint=c"}, nil, "", []string{"a:1", "b", "c"}},
		{"weights", []string{"--triton-endpoint", "a:1=2,b=0.5"}, nil, "", []string{"a:1=2", "b=0.5"}},
		{"one with a weight", []string{"--triton-endpoint=a:1=1"}, nil, "", []string{"a:1=1"}},
		{"a name", []string{"--triton-endpoint=dns:///a"}, nil, "", []string{"dns:///a"}},
		{"both and several", []string{"--model-repository=a", "--triton-endpoint=a,b"}, []string{"a"}, "", []string{"a", "b"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := parse(test.args...)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Local.Repositories, test.repositories) || got.Triton.Endpoint != test.endpoint || !slices.Equal(got.Fleet.Endpoints, test.endpoints) {
				t.Errorf("got repositories %q and endpoints %q, %q", got.Local.Repositories, got.Triton.Endpoint, got.Fleet.Endpoints)
			}
		})
	}
	got, err := parse("--model-repository=a", "--model-control-mode=explicit", "--load-model=x", "--load-model=y", "--exit-on-error=false",
		"--triton-library=l", "--backend-directory=b", "--inactivity-timeout=5s", "--sse-header-timeout=6s", "--model-load-timeout=7s")
	want := local.Default()
	want.Repositories, want.ControlMode, want.LoadModels, want.ExitOnError = []string{"a"}, local.ControlExplicit, []string{"x", "y"}, false
	want.Library, want.BackendDirectory, want.Inactivity, want.KeepAlive = "l", "b", 5*time.Second, 6*time.Second
	want.LoadTimeout, want.Names = 7*time.Second, got.Local.Names
	if err != nil || !reflect.DeepEqual(got.Local, want) {
		t.Errorf("got %+v, %v\nwant %+v", got.Local, err, want)
	}
	if _, err := parse("--model-repository=a", "--load-model=x"); err == nil || !strings.Contains(err.Error(), "--load-model: needs --model-control-mode=explicit") {
		t.Errorf("--load-model without the mode: %v", err)
	}
	for _, empty := range [][]string{{"--load-model", ""}, {"--load-model="}, {"--load-model=x", "--load-model="}, {"--load-model=x,,y"}} {
		if _, err := parse(append([]string{"--model-repository=a", "--model-control-mode=explicit"}, empty...)...); err == nil || !strings.Contains(err.Error(), "--load-model: must not be empty") {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

// TestEngineOrder checks that in-process Triton is always the first engine, so that it serves
// models that both engines have.
func TestEngineOrder(t *testing.T) {
	if !local.BuiltIn {
		t.Skip("one engine only")
	}
	cfg, err := parse("--model-repository=a", "--triton-endpoint=a:1")
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		var list []inference.Engine
		app := fx.New(engines(cfg), fx.Supply(cfg.Local, cfg.Triton), fx.Supply(slog.New(slog.DiscardHandler), context.CancelCauseFunc(func(error) {})), fx.Populate(&list), fx.NopLogger)
		if err := app.Err(); err != nil {
			t.Fatal(err)
		}
		if _, ok := list[0].(*local.Engine); !ok || len(list) != 2 {
			t.Fatalf("the engines are %T", list)
		}
	}
}

// TestTritonFlags checks the options of in-process Triton that result from the flags which Trident
// shares with tritonserver.
func TestTritonFlags(t *testing.T) {
	t.Setenv("TRIDENT_METRICS_CONFIG", "summary_latencies=true\ncounter_latencies=false")
	got, err := parse("--model-repository=a", "--disable-auto-complete-config", "--model-load-thread-count=7", "--exit-timeout-secs=8",
		"--backend-config=python,shm-region-prefix-name=p", "--backend-config=default-max-batch-size=5,6", "--cache-config", "local,size=9", "--cache-directory=c",
		"--rate-limit=execution_count", "--rate-limit-resource=r:1", "--rate-limit-resource=s:2:3",
		"--pinned-memory-pool-byte-size=10", "--cuda-memory-pool-byte-size=0:11", "--cuda-memory-pool-byte-size=1:12",
		"--allow-gpu-metrics=false", "--no-allow-cpu-metrics", "--metrics-interval-ms=13", "--tritonserver-log-verbose-level=14",
		"--trace-config=triton,file=f", "--trace-config=level=TENSORS", "--trace-config=rate=15")
	if err != nil {
		t.Fatal(err)
	}
	want := local.Default()
	want.Repositories, want.ExitTimeout, want.Names = []string{"a"}, 8*time.Second, got.Local.Names
	want.Options = local.Options{
		Backends:           []local.BackendSetting{{Backend: "python", Key: "shm-region-prefix-name", Value: "p"}, {Key: "default-max-batch-size", Value: "5,6"}},
		Caches:             []local.CacheSetting{{Cache: "local", Key: "size", Value: "9"}},
		CacheDirectory:     "c",
		RateLimit:          local.RateLimitExecutionCount,
		RateLimitResources: []local.RateLimitResource{{Name: "r", Count: 1, Device: local.EveryDevice}, {Name: "s", Count: 2, Device: 3}},
		PinnedMemoryPool:   10,
		CUDAMemoryPools:    []local.MemoryPool{{Device: 0, Bytes: 11}, {Device: 1, Bytes: 12}},
		StrictModelConfig:  true,
		ModelLoadThreads:   7,
		LogVerbose:         14,
		MetricsInterval:    13 * time.Millisecond,
		Metrics:            []local.MetricsSetting{{Key: "summary_latencies", Value: "true"}, {Key: "counter_latencies", Value: "false"}},
	}
	want.Trace = extension.TraceConfig{File: "f", Level: extension.TraceTensors, Rate: 15, Count: -1}
	if !reflect.DeepEqual(got.Local, want) {
		t.Errorf("got  %+v\nwant %+v", got.Local, want)
	}
	if least := got.Server.ShutdownTimeout + 3*8*time.Second; got.stopTimeout() < least {
		t.Errorf("the stop gets %s, but may take %s", got.stopTimeout(), least)
	}
}

// TestTritonFlagsAlone checks that each flag of in-process Triton is rejected by name if no model
// repository is set.
func TestTritonFlagsAlone(t *testing.T) {
	for _, flag := range []string{
		"--triton-library=a", "--model-control-mode=explicit", "--load-model=a", "--exit-on-error=false", "--model-load-timeout=1s", "--disable-auto-complete-config",
		"--model-load-thread-count=1", "--exit-timeout-secs=1", "--backend-directory=a", "--backend-config=a,b=c", "--cache-directory=a",
		"--cache-config=a,b=c", "--rate-limit=execution_count", "--rate-limit-resource=a:1", "--pinned-memory-pool-byte-size=1",
		"--cuda-memory-pool-byte-size=0:1", "--allow-gpu-metrics=false", "--allow-cpu-metrics=false", "--metrics-interval-ms=1",
		"--metrics-config=a=b", "--trace-config=rate=1", "--tritonserver-log-verbose-level=1",
	} {
		name, _, _ := strings.Cut(flag, "=")
		if _, err := parse(flag); err == nil || err.Error() != name+": applies only to in-process Triton, which needs --model-repository" {
			t.Errorf("%s: got %v", flag, err)
		}
	}
	if n := len(flagsOfGroup(t, "In-process Triton")); n != 22 {
		t.Errorf("the group has %d flags, but 22 are tried here: a new one needs a line, and one in errNeedRepository", n)
	}
	if _, err := parse("--load-model=a", "--exit-timeout-secs=1"); err == nil || !strings.HasPrefix(err.Error(), "--load-model, --exit-timeout-secs: applies only to") {
		t.Errorf("two flags: %v", err)
	}
}

func flagsOfGroup(t *testing.T, group string) (names []string) {
	t.Helper()
	parser, err := newParser(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range parser.Model.Flags {
		if flag.Group != nil && flag.Group.Title == group {
			names = append(names, flag.Name)
		}
	}
	return names
}

// TestApplication starts and stops the whole graph without a Triton. The process
// is live and reports that it isn't ready.
func TestApplication(t *testing.T) {
	cfg, err := parse("--host=127.0.0.1", "--openai-port=0", "--triton-endpoint=127.0.0.1:1", "--shutdown-timeout=1s")
	if err != nil {
		t.Fatal(err)
	}
	log := &listening{Handler: slog.DiscardHandler, address: make(chan string, 1)}
	app := application(&flags{}, cfg, slog.New(log), func(error) {})
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	base := "http://" + <-log.address
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/health/live":  {http.StatusOK, ""},
		"/health/ready": {http.StatusServiceUnavailable, "engine_unavailable"},
		"/v1/models":    {http.StatusOK, `"data":[]`},
		"/nothing":      {http.StatusNotFound, "unknown_url"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != want.status || !strings.Contains(string(body), want.body) {
			t.Errorf("%s: %d %s %v", path, resp.StatusCode, body, err)
		}
	}
	if err := app.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// listening waits for the log line with the address.
type listening struct {
	slog.Handler

	address chan string
}

func (l *listening) Enabled(context.Context, slog.Level) bool { return true }

func (l *listening) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "listening" {
		r.Attrs(func(a slog.Attr) bool {
			l.address <- a.Value.String()
			return false
		})
	}
	return l.Handler.Handle(ctx, r)
}
