package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/triton/local"
)

// tritonservers are the flags of tritonserver 2.73, in its order.
const tritonservers = "id exit-timeout-secs log-verbose log-info log-warning log-error log-format log-file model-store model-repository exit-on-error " +
	"disable-auto-complete-config strict-readiness model-control-mode repository-poll-secs load-model model-config-name model-load-thread-count model-load-retry-count " +
	"model-namespacing enable-peer-access allow-http http-address http-port reuse-http-port http-header-forward-pattern http-thread-count http-max-input-size http-restricted-api " +
	"allow-grpc grpc-address grpc-port reuse-grpc-port grpc-header-forward-pattern grpc-infer-thread-count grpc-infer-allocation-pool-size grpc-max-response-pool-size " +
	"grpc-use-ssl grpc-use-ssl-mutual grpc-server-cert grpc-server-key grpc-root-cert grpc-infer-response-compression-level grpc-keepalive-time grpc-keepalive-timeout " +
	"grpc-keepalive-permit-without-calls grpc-http2-max-pings-without-data grpc-http2-min-recv-ping-interval-without-data grpc-http2-max-ping-strikes grpc-max-connection-age " +
	"grpc-max-connection-age-grace grpc-restricted-protocol allow-sagemaker sagemaker-port sagemaker-safe-port-range sagemaker-thread-count allow-vertex-ai vertex-ai-port " +
	"vertex-ai-thread-count vertex-ai-default-model allow-metrics allow-gpu-metrics allow-cpu-metrics metrics-address metrics-port metrics-interval-ms metrics-config trace-config " +
	"cache-config cache-directory rate-limit rate-limit-resource pinned-memory-pool-byte-size cuda-memory-pool-byte-size cuda-virtual-address-size " +
	"min-supported-compute-capability buffer-manager-thread-count host-policy model-load-gpu-limit allow-client-shm backend-directory backend-config repoagent-directory " +
	"strict-model-config response-cache-byte-size trace-file trace-level trace-rate trace-count trace-log-frequency"

// TestTritonserverIsComplete checks that each flag of tritonserver is taken or refused by name, and that the
// help by its name lists it.
func TestTritonserverIsComplete(t *testing.T) {
	help := programHelp(asTritonserver)
	known := knownFlags(t)
	var names []string
	for _, f := range tritonserverFlags() {
		names = append(names, f.name)
		if !strings.Contains(help, "\n  --"+f.name+" ") {
			t.Errorf("the help has no --%s", f.name)
		}
		same := f.as == "" && f.to == nil && !f.later && f.unused == "" && f.remedy == ""
		if same && !known[f.name] || f.as != "" && !known[f.as] {
			t.Errorf("--%s: trident has no such flag", f.name)
		}
	}
	want := strings.Fields(tritonservers)
	slices.Sort(want)
	slices.Sort(names)
	if !slices.Equal(names, want) {
		t.Errorf("got  %q\nwant %q", names, want)
	}
}

// TestTranslated checks the arguments that command lines of the other programs become.
func TestTranslated(t *testing.T) {
	t.Setenv("TRIDENT_MODEL_REPOSITORY", "/models")
	for _, test := range []struct{ program, line, want, notices string }{
		{"trident", "--http-port=1", "--http-port=1", ""},
		{asTritonserver, "--model-repository=m", "--model-repository=m --enable-kserve-frontends", ""},
		{asTritonserver, "--model-store m --http-port 1 --grpc-port=2 --metrics-port=3", "--model-store=m --kserve-http-port=1 --kserve-grpc-port=2 --metrics-port=3 --enable-kserve-frontends", ""},
		{asTritonserver, "--model-control-mode=EXPLICIT --load-model=a --load-model b", "--model-control-mode=explicit --load-model=a --load-model=b --enable-kserve-frontends", ""},
		{asTritonserver, "--exit-on-error=0 --allow-gpu-metrics=OFF --allow-cpu-metrics True", "--exit-on-error=false --allow-gpu-metrics=false --allow-cpu-metrics=true --enable-kserve-frontends", ""},
		{asTritonserver, "--allow-http=false --allow-grpc=false", "", ""},
		{asTritonserver, "--http-address=::1 --grpc-address=::1", "--enable-kserve-frontends --host=::1", ""},
		{asTritonserver, "--log-info=false --log-warning=false --log-verbose=true --log-format=ISO8601", "--tritonserver-log-verbose-level=1 --enable-kserve-frontends --log-level=error", ""},
		{asTritonserver, "--log-info=0", "--enable-kserve-frontends --log-level=warn", ""},
		{asTritonserver, "--strict-model-config=true --allow-client-shm=true --response-cache-byte-size=9", "--disable-auto-complete-config --allow-shared-memory --cache-config=local,size=9 --enable-kserve-frontends", ""},
		{asTritonserver, "--trace-file=f --trace-level=MAX --trace-rate=2 --trace-count=3 --trace-log-frequency=4", "--trace-config=triton,file=f --trace-config=level=TIMESTAMPS --trace-config=rate=2 --trace-config=count=3 --trace-config=triton,log-frequency=4 --enable-kserve-frontends", ""},
		{asTritonserver, "--http-thread-count=8 --grpc-use-ssl=false --grpc-server-cert=c --id=triton", "--enable-kserve-frontends", "--http-thread-count --grpc-server-cert"},
		{asTritonserver, "--model-repo=m --disable-auto", "--model-repository=m --disable-auto-complete-config --enable-kserve-frontends", ""},
		{asTritonserver, "--host=h --api-keys-file f", "--host=h --api-keys-file f --enable-kserve-frontends", ""},
		{asTritonserver, "config print", "config print", ""},
		{asTritonserver, "--help", "help tritonserver", ""},
		{asTritonserver, "--help=all", "--help=all", ""},
		{asTritonopenaiserver, "--model-repository m --tokenizer=t --enable-kserve-frontends", "--model-repository m --tokenizer=t --enable-kserve-frontends", ""},
		{asTritonopenaiserver, "--model-repository=m --openai-restricted-api inference key value", "--model-repository=m --openai-restricted-api inference key value", ""},
		{asTritonopenaiserver, "--tokenizer_dir /t --engine_dir /e", "--tokenizer_dir /t --engine_dir /e --triton-endpoint=localhost:8001 --openai-port=11434", ""},
		{asTritonopenaiserver, "--port=1 --triton_http_host=h --triton_http_proto=https --verbose True", "--port=1 --log-level=debug --triton-endpoint=https://h:8001", ""},
		{asTritonopenaiserver, "--triton-endpoint=h:1 --triton_http_port=8000", "--triton-endpoint=h:1 --openai-port=11434", ""},
	} {
		args, notices, err := translated(test.program, strings.Fields(test.line))
		var flags []string
		for _, n := range notices {
			flags = append(flags, n.flag)
			if n.reason == "" {
				t.Errorf("%s: no reason", n.flag)
			}
		}
		if got := strings.Join(args, " "); err != nil || got != test.want || strings.Join(flags, " ") != test.notices {
			t.Errorf("%s %s:\ngot  %s, %q, %v\nwant %s, %s", test.program, test.line, got, flags, err, test.want, test.notices)
		}
	}
	for line, want := range map[string]string{
		"--id=a --log-file=f":                 "--id: Trident doesn't have this flag of tritonserver: " + behindRemedy + "; --log-file: Trident doesn't have this flag of tritonserver: the log goes to standard error: redirect it by 2>>FILE",
		"--grpc-use-ssl=true":                 "--grpc-use-ssl: Trident doesn't have this flag of tritonserver: TLS applies to all ports of Trident: set --tls-cert",
		"--allow-grpc=false":                  "--allow-http, --allow-grpc: Trident opens both ports of KServe v2 or none",
		"--http-address=127.0.0.1":            "--http-address, --grpc-address: all ports of Trident listen on one address",
		"--log-warning=false":                 "--log-warning: the levels of Trident's log include the higher ones: set --log-info=false too",
		"--exit-on-error=perhaps":             `--exit-on-error: must be true or false, not "perhaps"`,
		"--http-port":                         "--http-port: the value is missing",
		"--disable-auto-complete-config=true": "--disable-auto-complete-config: takes no value",
		"--grpc-keepalive-time=5":             "--grpc-keepalive-time: Trident doesn't have this flag of tritonserver: leave it out",
		"--strict-readiness=false":            "name the models that readiness needs by --required-model",
	} {
		if _, _, err := translated(asTritonserver, strings.Fields(line)); err == nil || !strings.HasPrefix(err.Error(), want) && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
	if _, _, err := translated(asTritonopenaiserver, []string{"--triton_http_port=9"}); err == nil || !strings.Contains(err.Error(), "set --triton-endpoint=HOST:PORT to its gRPC port") {
		t.Errorf("another port: %v", err)
	}
}

// TestCalledAs checks the name and the arguments of command lines. The entry point of images is Trident, whose first
// argument may be the name of another program.
func TestCalledAs(t *testing.T) {
	for line, want := range map[string]string{
		"/usr/local/bin/trident":                         "trident",
		"/usr/local/bin/trident --model-repository=m":    "trident --model-repository=m",
		"/usr/bin/tritonserver --model-repository=m":     "tritonserver --model-repository=m",
		"trident tritonserver --model-repository=m":      "tritonserver --model-repository=m",
		"trident tritonserver":                           "tritonserver",
		"/trident tritonopenaiserver --tokenizer_dir t":  "tritonopenaiserver --tokenizer_dir t",
		"trident /opt/tritonserver/bin/tritonserver --v": "tritonserver --v",
		"trident models/tritonserver":                    "trident models/tritonserver",
		"trident health tritonserver":                    "trident health tritonserver",
		"tritonserver tritonopenaiserver":                "tritonserver tritonopenaiserver",
	} {
		program, args := calledAs(strings.Fields(line))
		if got := strings.Join(append([]string{program}, args...), " "); got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
}

// TestForeignStart checks the configuration of command lines from the other programs' documentation: their ports
// and their settings.
func TestForeignStart(t *testing.T) {
	t.Setenv("TRIDENT_MODEL_REPOSITORY", "/models")
	start := func(program string, args ...string) config {
		t.Helper()
		args, _, err := translated(program, args)
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := parse(args...)
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	cfg := start(asTritonserver, "--model-repository=m", "--model-control-mode=explicit", "--load-model=a", "--http-restricted-api=health:k=v", "--exit-timeout-secs=7")
	if !cfg.KServe.Enabled || cfg.KServe.HTTPPort != 8000 || cfg.KServe.GRPCPort != 8001 || !cfg.Metrics.Own || cfg.Metrics.Port != 8002 ||
		cfg.Local.ControlMode != local.ControlExplicit || len(cfg.Auth.HTTPRestricted) != 1 || cfg.Local.ExitTimeout.Seconds() != 7 || !slices.Equal(cfg.Local.Repositories, []string{"m"}) {
		t.Errorf("tritonserver: %+v", cfg)
	}
	cfg = start(asTritonopenaiserver, "--model-repository", "m", "--tokenizer", "t", "--backend", "vllm", "--enable-kserve-frontends", "--kserve-http-port=1")
	if cfg.Server.Port != 9000 || !cfg.KServe.Enabled || cfg.KServe.HTTPPort != 1 || cfg.Backend.First != "vllm" {
		t.Errorf("the OpenAI frontend: %+v", cfg)
	}
	cfg = start(asTritonopenaiserver, "--tokenizer_dir", "t")
	if cfg.Server.Port != 11434 || cfg.Triton.Endpoint != "localhost:8001" || len(cfg.Local.Repositories) != 0 {
		t.Errorf("the proxy: %+v", cfg)
	}
}
