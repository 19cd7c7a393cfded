package auth

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// asked returns the status that a request to a path gets, and the refusal's message.
func asked(gate *Gate, method, target string, lines ...string) (int, string) {
	r := httptest.NewRequest(method, target, http.NoBody)
	for i := 0; i < len(lines); i += 2 {
		r.Header.Add(lines[i], lines[i+1])
	}
	if _, err := gate.Admit(r.Context(), method, r.URL, r.Header.Values); err != nil {
		return http.StatusUnauthorized, err.Error()
	}
	return http.StatusOK, ""
}

// restrictedPaths are what each group closes, in every spelling that leads there; none
// is of what any of the headers opens.
var restrictedPaths = map[string][]string{
	groupInference: {
		"/v1/chat/completions", "/chat/completions", "/openai/v1/chat/completions", "/v1/completions", "/completions", "/v1/responses", "/responses",
		"/v1/responses/resp_1", "/v1/responses/resp_1/input_items", "/v1/responses/input_tokens", "/v1/tokenize", "/tokenize", "/v1/detokenize", "/detokenize",
		"//v1/chat/completions", "/v1//chat/completions", "/v1/chat/completions/", "/v1/%63hat/completions", "/v1/models/../chat/completions",
		"/health/../v1/completions", "/./completions", "/v1%2Fchat%2Fcompletions", "/v1/x/%2e%2e/completions",
		"/trident.v1.ChatService/Chat", "/trident.v1.ChatService/ChatStream", "/trident.v1.CompletionService/Complete", "/trident.v1.InferService/Infer",
		"/inference.GRPCInferenceService/ModelInfer", "/inference.GRPCInferenceService/ModelStreamInfer", "/inference.GRPCInferenceService/%4DodelInfer",
		"/v2/models/m/infer", "/v2/models/m/versions/1/infer", "/v2/models/m/generate", "/v2/models/m/generate_stream", "/v2/models/ready/%69nfer", "/v2/models/a%2Fready/infer",
	},
	groupEmbedding: {"/v1/embeddings", "/embeddings", "/openai/v1/embeddings", "/trident.v1.EmbeddingService/Embed"},
	groupRepository: {
		"/v1/models", "/models", "/v1/models/m", "/models/org/m", "/v1/models/m/load", "/v1/models/m/unload", "/openai/v1/models", "/v1/models/a%2Fb", "/v1/models/chat/completions",
		"/trident.v1.ModelService/List", "/trident.v1.ModelService/Load", "/inference.GRPCInferenceService/ModelConfig", "/inference.GRPCInferenceService/RepositoryIndex",
		"/inference.GRPCInferenceService/RepositoryModelLoad", "/inference.GRPCInferenceService/ModelStatistics", "/inference.GRPCInferenceService/ServerMetadata",
		"/v2", "/v2/", "/v2/models/m", "/v2/models/m/config", "/v2/models/m/stats", "/v2/models/stats", "/v2/models/m%2Fready", "/v2/models/ready", "/v2/repository/index", "/v2/repository/models/m/load",
	},
	groupMetrics: {"/metrics", "//metrics", "/metrics/", "/trident.v1.ServerService/Watch"},
	groupHealth: {
		"/health/live", "/health/ready", "/v2/health/live", "/v2/models/m/ready", "/v2/models/m/versions/1/ready", "/grpc.health.v1.Health/Check",
		"/inference.GRPCInferenceService/ServerLive", "/inference.GRPCInferenceService/ModelReady",
	},
	groupOther: {
		"/v2/logging", "/v2/trace/setting", "/v2/models/m/trace/setting", "/v2/systemsharedmemory/status", "/v2/cudasharedmemory/region/r/register",
		"/inference.GRPCInferenceService/LogSettings", "/inference.GRPCInferenceService/TraceSetting", "/inference.GRPCInferenceService/SystemSharedMemoryRegister",
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/nothing", "/invocations", "/trident.v2.NewService/Method", "/v1", "/v1/new",
	},
}

// TestRestrictedPaths closes each group alone, and holds every path to its own header.
func TestRestrictedPaths(t *testing.T) {
	for _, closed := range restrictable() {
		gate, _ := newGate(t, Config{Restricted: []Restriction{{Groups: []string{closed}, Header: "Admin-Key", Value: "right"}}})
		for group, paths := range restrictedPaths {
			open := group != closed && group != groupOther && (group != groupEmbedding || closed != groupInference)
			for _, path := range paths {
				for _, header := range []string{"", "wrong", "right"} {
					var lines []string
					if header != "" {
						lines = []string{"admin-key", header}
					}
					want := http.StatusUnauthorized
					if open || header == "right" {
						want = http.StatusOK
					}
					// What could be read in two ways may be closed by either.
					ambiguous := want == http.StatusOK && header != "right" && oddlySpelt(path)
					if status, body := asked(gate, http.MethodPost, path, lines...); status != want && !ambiguous {
						t.Errorf("%s closed: %s with %q: %d %s", closed, path, header, status, body)
					}
				}
			}
		}
		for _, free := range []string{"/", "/assets/a.js", "/client.tgz", "/openapi.json", "/v2/openapi.json"} {
			if status, body := asked(gate, http.MethodGet, free); status != http.StatusOK {
				t.Errorf("%s closed: %s: %d %s", closed, free, status, body)
			}
		}
	}
}

// TestRestrictions have headers of their own, and Triton's answer.
func TestRestrictions(t *testing.T) {
	gate, log := newGate(t, Config{APIKeys: []Secret{"k"}, Restricted: []Restriction{
		{Groups: []string{"inference", "health"}, Header: "infer-key", Value: "one"},
		{Groups: []string{"model-repository"}, Header: "admin-key", Value: "two"},
	}})
	for _, test := range []struct {
		path   string
		header []string
		status int
		want   string
	}{
		{"/v1/completions", []string{"x-api-key", "k", "infer-key", "one"}, 200, ""},
		{"/v1/completions", []string{"x-api-key", "k"}, 401, "This API is restricted, expecting header 'infer-key' with valid value"},
		{"/v1/completions", []string{"infer-key", "one"}, 401, "an API key is needed"},
		{"/v1/completions", []string{"x-api-key", "k", "admin-key", "two", "infer-key", "two"}, 401, "infer-key"},
		{"/v1/completions", []string{"x-api-key", "k", "infer-key", "one", "infer-key", "one"}, 401, "infer-key"},
		{"/v1/models", []string{"x-api-key", "k", "infer-key", "one"}, 401, "admin-key"},
		{"/v2/logging", []string{"x-api-key", "k", "admin-key", "two"}, 200, ""},
		{"/v2/logging", []string{"x-api-key", "k", "infer-key", "one"}, 200, ""},
		{"/v2/logging", []string{"x-api-key", "k", "infer-key", "two"}, 401, "This API is restricted, expecting a header of the restricted APIs with valid value"},
		{"/health/live", nil, 401, "infer-key"},
		{"/health/live", []string{"infer-key", "one"}, 200, ""},
		{"/metrics", []string{"x-api-key", "k"}, 200, ""},
		{"/trident.v1.ModelService/List", []string{"x-api-key", "k", "content-type", "application/json"}, 401, "admin-key"},
	} {
		method := http.MethodPost
		if test.path == "/health/live" {
			method = http.MethodGet
		}
		status, body := asked(gate, method, test.path, test.header...)
		if status != test.status || status != 200 && !strings.Contains(body, test.want) {
			t.Errorf("%s %v: %d %s", test.path, test.header, status, body)
		}
	}
	if strings.Contains(log.String(), "one") {
		t.Error(log)
	}
}

func oddlySpelt(path string) bool {
	return strings.Contains(path, "%") || strings.Contains(path, "//") || strings.Contains(path, "/.")
}

func TestBadRestrictions(t *testing.T) {
	for _, test := range []struct{ groups, header, value, want string }{
		{"inference,nonsense", "a", "SECRET", `"nonsense" is none of the groups inference, embedding, model-repository, metrics, health`},
		{"", "a", "SECRET", `"" is none of the groups`},
		{"inference", "", "SECRET", "header"},
		{"inference", "a b", "SECRET", "header"},
		{"inference", "a:", "SECRET", "header"},
		{"inference", "a", "", "value"},
	} {
		if _, err := ParseRestriction(test.groups, test.header, test.value); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%+v: %v", test, err)
		}
	}
	cfg := Config{Restricted: []Restriction{{[]string{"health", "metrics"}, "a", "b"}, {[]string{"metrics"}, "c", "d"}}}
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "--openai-restricted-api: metrics is restricted twice") {
		t.Error(err)
	}
}

// FuzzRestrictedPaths: where a mux that reads paths as the frontends' do leads to a
// handler of a closed group, the group's header was needed.
func FuzzRestrictedPaths(f *testing.F) {
	var reached string
	mux := http.NewServeMux()
	for group, paths := range restrictedPaths {
		for _, path := range paths {
			f.Add(path)
			if oddlySpelt(path) || strings.HasSuffix(path, "/") {
				continue
			}
			mux.HandleFunc(path, func(http.ResponseWriter, *http.Request) { reached = group })
		}
	}
	gates := map[string]*Gate{}
	for _, group := range restrictable() {
		gates[group], _ = newGate(f, Config{Restricted: []Restriction{{Groups: []string{group}, Header: "a", Value: "b"}}})
	}
	f.Fuzz(func(t *testing.T, target string) {
		u, err := url.Parse(target)
		if err != nil || u.Host != "" || !strings.HasPrefix(u.Path, "/") {
			return
		}
		for group, gate := range gates {
			reached = "nothing"
			r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
			r.URL = u
			if _, err := gate.Admit(r.Context(), r.Method, r.URL, r.Header.Values); err == nil {
				mux.ServeHTTP(httptest.NewRecorder(), r)
			}
			if reached == group || reached == groupOther {
				t.Errorf("%q leads to %s though it is closed", target, reached)
			}
		}
	})
}
