//go:build cgo

package local

import (
	"bytes"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
)

func TestSharedMemoryWarning(t *testing.T) {
	for _, test := range []struct {
		name, path string
		least      uint64
		want       []string // expected strings in the log
	}{
		{"enough", "/", 1, nil},
		{"small", "/", math.MaxUint64, []string{"level=WARN", "--shm-size=1g", "path=/ ", " MiB"}},
		{"missing", "/nowhere/at/all", 1, []string{"level=WARN", "can't be read", "/nowhere/at/all"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			warnSharedMemory(test.path, test.least, slog.New(slog.NewTextHandler(&log, nil)))
			if test.want == nil && log.Len() > 0 {
				t.Errorf("logged %s", &log)
			}
			for _, want := range test.want {
				if !strings.Contains(log.String(), want) {
					t.Errorf("logged %s, want %s", &log, want)
				}
			}
		})
	}
}

func TestPrefix(t *testing.T) {
	for _, test := range []struct {
		name     string
		settings []BackendSetting
		want     string
	}{
		{"none", nil, "unique"},
		{"the backend's", []BackendSetting{{"python", prefixSetting, "mine_"}}, "mine_unique"},
		{"all backends'", []BackendSetting{{"", prefixSetting, "ours_"}}, "ours_unique"},
		{"both", []BackendSetting{{"python", prefixSetting, "mine_"}, {"", prefixSetting, "ours_"}}, "mine_unique"},
		{"the last counts", []BackendSetting{{"python", prefixSetting, "a_"}, {"python", prefixSetting, "b_"}}, "b_unique"},
		{"others' settings", []BackendSetting{{"onnxruntime", prefixSetting, "a_"}, {"python", "shm-default-byte-size", "1"}}, "unique"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := (Options{Backends: test.settings}).prefixOf("unique"); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestBackendPrefix checks that the names of the Python backend's shared memory start with the
// configured prefix, and that Engine.Stop leaves no shared memory.
func TestBackendPrefix(t *testing.T) {
	config := suiteConfig(t)
	config.Options.Backends = []BackendSetting{{pythonBackend, prefixSetting, "trident_test_"}}
	engine := start(t, config)
	prefix := engine.core.prefix
	pattern := "/dev/shm/trident_test_*"
	if found, err := filepath.Glob(pattern); err != nil || len(found) == 0 || !strings.HasPrefix(found[0], "/dev/shm/"+prefix) {
		t.Errorf("the shared memory is %q, %v; want names with %s", found, err, prefix)
	}
	if len(stubsOf(prefix)) != 2 {
		t.Errorf("two models have the processes %v", stubsOf(prefix))
	}
	stop(t, engine)
	if found, _ := filepath.Glob(pattern); len(found) > 0 || len(stubsOf(prefix)) > 0 {
		t.Errorf("left are %q and %v", found, stubsOf(prefix))
	}
}

// TestOptionsReachTriton starts servers with one model, which fails or loads
// depending on an option. Each server runs in a process of its own, because
// settings of backends stay until the process ends.
func TestOptionsReachTriton(t *testing.T) {
	const limited = "backend: \"python\"\ninstance_group [ { kind: KIND_CPU rate_limiter { resources [ { name: \"R\" count: 4 } ] } } ]\n"
	for _, test := range []struct {
		name, settings string
		change         func(*Options)
		want           string // start of the error; empty for success
	}{
		{"nothing", "", func(*Options) {}, ""},
		{"strict_configuration", "", func(o *Options) { o.StrictModelConfig = true }, "failed to load 'one'"},
		{"backend_setting", "", func(o *Options) { o.Backends = []BackendSetting{{"python", "shm-default-byte-size", "1"}} }, "byte"},
		{"enough_of_a_resource", limited, func(o *Options) {
			o.RateLimit, o.RateLimitResources = RateLimitExecutionCount, []RateLimitResource{{"R", 4, EveryDevice}}
		}, ""},
		{"too_little_of_a_resource", limited, func(o *Options) {
			o.RateLimit, o.RateLimitResources = RateLimitExecutionCount, []RateLimitResource{{"R", 2, EveryDevice}}
		}, "limited to 2"},
		{"memory_pools", "", func(o *Options) { o.PinnedMemoryPool, o.CUDAMemoryPools = 0, []MemoryPool{{0, 1 << 20}} }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if inOwnProcess(t) {
				return
			}
			config := Default()
			config.Repositories = []string{oneModel(t, test.settings)}
			test.change(&config.Options)
			engine := begin(t, config)
			defer stop(t, engine)
			err := engine.AwaitModels(t.Context())
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// oneModel returns a repository with a model that completes its own
// configuration.
func oneModel(t *testing.T, settings string) string {
	t.Helper()
	const code = `import triton_python_backend_utils as pb

class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        config.set_max_batch_size(0)
        config.add_input({"name": "IN", "data_type": "TYPE_INT32", "dims": [1]})
        config.add_output({"name": "OUT", "data_type": "TYPE_INT32", "dims": [1]})
        return config

    def execute(self, requests):
        return [pb.InferenceResponse([pb.Tensor("OUT", pb.get_input_tensor_by_name(r, "IN").as_numpy())]) for r in requests]
`
	repository := t.TempDir()
	if err := os.WriteFile(touch(t, repository, "one", "1", "model.py"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	if settings != "" {
		if err := os.WriteFile(filepath.Join(repository, "one", "config.pbtxt"), []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return repository
}

// seven returns a request to that model, which returns the number.
func seven() *kserve.ModelInferRequest {
	req := request(number("IN", 7))
	req.ModelName = "one"
	return req
}

// TestCache checks that the option of Triton's response cache takes effect: repeated requests are
// answered from the cache.
func TestCache(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	config := Default()
	config.Repositories = []string{oneModel(t, "backend: \"python\"\nresponse_cache { enable: true }\n")}
	config.Options.Caches = []CacheSetting{{"local", "size", "1048576"}}
	engine := start(t, config)
	defer stop(t, engine)
	for range 3 {
		for response, err := range engine.Stream(t.Context(), seven()) {
			if err != nil || !slices.Equal(response.Outputs[0].Raw, []byte{7, 0, 0, 0}) {
				t.Fatalf("got %v, %v", response, err)
			}
		}
	}
	answer, err := engine.ModelStatistics(t.Context(), &kserve.ModelStatisticsRequest{Name: "one"})
	if err != nil || answer.GetModelStats()[0].GetInferenceStats().GetCacheHit().GetCount() != 2 {
		t.Errorf("the statistics are %v, %v", answer, err)
	}
}

// TestMetrics checks that a setting of Triton's metrics takes effect in the metrics that the engine
// returns.
func TestMetrics(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	config := Default()
	config.Repositories = []string{oneModel(t, "")}
	config.Options.Metrics = []MetricsSetting{{"summary_latencies", "true"}}
	engine := start(t, config)
	defer stop(t, engine)
	if err := run(t, engine, seven()); err != nil {
		t.Fatal(err)
	}
	text, err := engine.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# TYPE nv_inference_request_success counter\n", `nv_inference_request_success{model="one",version="1"} 1` + "\n",
		"\nnv_inference_request_summary_us_count{", "\nnv_cpu_memory_total_bytes ",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the metrics lack %q:\n%s", want, text)
		}
	}
}

// TestShapedAsContainer checks that the engine finds the library, the backends and the caches in a
// folder with the layout of /opt/tritonserver. The folder has links to the installed files.
func TestShapedAsContainer(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	config := suiteConfig(t)
	config.Library = shaped(t, os.Symlink)
	engine := start(t, config)
	defer stop(t, engine)
	if i := engine.core.installation; i.library != filepath.Join(config.Library, "lib", "libtritonserver.so") ||
		!sameFile(i.backends, filepath.Join(config.Library, "backends")) || !sameFile(i.caches, filepath.Join(config.Library, "caches")) || i.python != nil {
		t.Errorf("it runs %+v", i)
	}
	if got := ready(t, engine); !slices.Equal(got, []string{"echo", "stream"}) {
		t.Errorf("%q are ready", got)
	}
}

// TestLibraryLacksAnOption checks a library that lacks the function of a flag: the flag is refused,
// and without the flag the engine starts. The test removes the function's name from a copy of the
// library.
func TestLibraryLacksAnOption(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	const name = "TRITONSERVER_ServerOptionsAddRateLimiterResource"
	config := Default()
	config.Repositories = []string{oneModel(t, "")}
	config.Library = shaped(t, func(from, to string) error {
		library, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return os.WriteFile(to, bytes.ReplaceAll(library, []byte(name), []byte(strings.Replace(name, "Add", "Odd", 1))), 0o600)
	})
	stop(t, start(t, config))
	config.Options.RateLimit, config.Options.RateLimitResources = RateLimitExecutionCount, []RateLimitResource{{"R", 1, EveryDevice}}
	engine, err := New(config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	err = engine.Start(t.Context())
	if want := "local.Options.RateLimitResources: this libtritonserver doesn't support the option (API 1.34): it has no function " + name; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// shaped returns a folder with the layout of /opt/tritonserver, with links to the
// files that pip installed. bring copies or links the library itself.
func shaped(t *testing.T, bring func(from, to string) error) string {
	t.Helper()
	found, err := find(t.Context(), Default())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(found.remove)
	if found.python == nil {
		t.Skip("the library wasn't installed by pip")
	}
	if err := found.setEnvironment(); err != nil { // in a container, libpython is in the system's library path
		t.Fatal(err)
	}
	dir := t.TempDir()
	mkdir(t, filepath.Join(dir, "lib"))
	if err := linkAll(filepath.Dir(found.library), filepath.Join(dir, "lib"), filepath.Base(found.library)); err != nil {
		t.Fatal(err)
	}
	if err := bring(found.library, filepath.Join(dir, "lib", "libtritonserver.so")); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{found.backends: "backends", found.caches: "caches"} {
		if err := os.Symlink(from, filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
