package auth

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// refusal returns the error message for a request with the given header lines to a
// route. The message is empty if the request is admitted.
func refusal(tb testing.TB, gate *Gate, route *Record, lines ...string) string {
	tb.Helper()
	header := http.Header{}
	for i := 0; i < len(lines); i += 2 {
		header.Add(lines[i], lines[i+1])
	}
	if _, err := gate.Admit(tb.Context(), route, header.Values); err != nil {
		return inference.AsError(err).Message
	}
	return ""
}

// TestRestrictedRoutes closes each group alone and checks that each route needs the
// header of its own group.
func TestRestrictedRoutes(t *testing.T) {
	routes := slices.Concat(Records(), []*Record{Unmatched(Pages), Unmatched(OpenAI), Unmatched(REST), Unmatched(Procedure)})
	for _, closed := range restrictable() {
		gate, _ := newGate(t, Config{Restricted: []OpenAIRestriction{{Groups: []Group{closed}, Header: "Admin-Key", Value: "right"}}})
		refused := 0
		for _, route := range routes {
			open := route.Group != closed && route.Group != Other && (route.Group != Embedding || closed != Inference)
			for _, header := range []string{"", "wrong", "right"} {
				var lines []string
				if header != "" {
					lines = []string{"admin-key", header}
				}
				message := refusal(t, gate, route, lines...)
				if want := open || header == "right"; (message == "") != want {
					t.Errorf("%s closed: %s with %q: %s", closed, route.Name, header, message)
				}
				if message != "" {
					refused++
				}
			}
		}
		if refused == 0 {
			t.Errorf("%s closes nothing", closed)
		}
	}
}

// TestRestrictions checks that the gate requires the header of each restricted group of APIs, and
// refuses with the messages of Triton's own frontend.
func TestRestrictions(t *testing.T) {
	gate, log := newGate(t, Config{APIKeys: []Secret{"k"}, Restricted: []OpenAIRestriction{
		{Groups: []Group{Inference, Health}, Header: "infer-key", Value: "one"},
		{Groups: []Group{Repository}, Header: "admin-key", Value: "two"},
	}})
	const restricted = "This API is restricted, expecting header 'infer-key' with valid value"
	for _, test := range []struct {
		route  string
		header []string
		want   string
	}{
		{"POST /v1/completions", []string{"x-api-key", "k", "infer-key", "one"}, ""},
		{"POST /v1/completions", []string{"x-api-key", "k"}, restricted},
		{"POST /v1/completions", []string{"infer-key", "one"}, "an API key is needed"},
		{"POST /v1/completions", []string{"x-api-key", "k", "admin-key", "two", "infer-key", "two"}, restricted},
		{"POST /v1/completions", []string{"x-api-key", "k", "infer-key", "one", "infer-key", "one"}, restricted},
		{"GET /v1/models", []string{"x-api-key", "k", "infer-key", "one"}, "'admin-key'"},
		{"GET /v2/logging", []string{"x-api-key", "k", "admin-key", "two"}, ""},
		{"GET /v2/logging", []string{"x-api-key", "k", "infer-key", "one"}, ""},
		{"GET /v2/logging", []string{"x-api-key", "k", "infer-key", "two"}, "This API is restricted, expecting a header of the restricted APIs with valid value"},
		{"GET /health/live", nil, restricted},
		{"GET /health/live", []string{"infer-key", "one"}, ""},
		{"GET /metrics", []string{"x-api-key", "k"}, ""},
		{"/trident.v1.ModelService/List", []string{"x-api-key", "k"}, "'admin-key'"},
	} {
		message := refusal(t, gate, Find(test.route), test.header...)
		if (message == "") != (test.want == "") || !strings.Contains(message, test.want) {
			t.Errorf("%s %v: %s", test.route, test.header, message)
		}
	}
	if strings.Contains(log.String(), "one") {
		t.Error(log)
	}
}

func TestBadRestrictions(t *testing.T) {
	for _, test := range []struct{ groups, header, value, want string }{
		{"inference,nonsense", "a", "SECRET", `"nonsense" is not one of the groups inference, embedding, model-repository, metrics, health`},
		{"", "a", "SECRET", `"" is not one of the groups`},
		{"inference", "", "SECRET", "header"},
		{"inference", "a b", "SECRET", "header"},
		{"inference", "a:", "SECRET", "header"},
		{"inference", "a", "", "value"},
	} {
		if _, err := ParseOpenAIRestriction(test.groups, test.header, test.value); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%+v: %v", test, err)
		}
	}
	cfg := Config{Restricted: []OpenAIRestriction{{[]Group{Health, Metrics}, "a", "b"}, {[]Group{Metrics}, "c", "d"}}}
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "auth.Restricted: the group metrics is restricted twice") {
		t.Error(err)
	}
}

// TestOpenRoutes checks that the gate admits requests without an API key only on routes that are
// recorded as open.
func TestOpenRoutes(t *testing.T) {
	gate, _ := newGate(t, Config{APIKeys: []Secret{"k"}})
	var open []string
	for _, route := range slices.Concat(Records(), []*Record{Unmatched(Pages), Unmatched(OpenAI), Unmatched(REST), Unmatched(Procedure)}) {
		if refusal(t, gate, route, "api-key", "k") != "" {
			t.Errorf("%s: the key is refused", route.Name)
		}
		switch message := refusal(t, gate, route); message {
		case "":
			open = append(open, route.Pattern)
		case "an API key is needed: send it as Authorization: Bearer KEY":
		default:
			t.Errorf("%s: %s", route.Name, message)
		}
	}
	want := []string{
		"/grpc.health.v1.Health/Check", "/inference.GRPCInferenceService/ServerLive", "/inference.GRPCInferenceService/ServerReady",
		"GET /assets/", "GET /client.tgz", "GET /health/live", "GET /health/ready", "GET /health/startup", "GET /openapi.json",
		"GET /v1/messages/openapi.json", "GET /v1/rerank/openapi.json", "GET /v2/health/live", "GET /v2/health/ready", "GET /v2/openapi.json", "GET /{$}", "HEAD /{$}",
	}
	if !slices.Equal(open, want) {
		t.Errorf("open are %q", open)
	}
}

// TestOperatorRoutes tests the routes that need a key for all models: statistics of
// the whole server, its settings and its shared memory.
func TestOperatorRoutes(t *testing.T) {
	var section KeySection
	for _, entry := range []KeyEntry{{Name: "all", Key: oneOrMore{"one"}}, {Name: "some", Key: oneOrMore{"two"}, Models: []string{"x"}}, {Name: "none", Key: oneOrMore{"three"}, Models: []string{}}} {
		if err := section.Add(entry); err != nil {
			t.Fatal(err)
		}
	}
	gate, _ := newGate(t, Config{Keys: section})
	operators := 0
	for _, route := range Records() {
		want := ""
		if route.Access == Operator {
			operators++
			want = "this API key is limited to its own models: it can't read or change anything that concerns the whole server"
		}
		if message := refusal(t, gate, route, "api-key", "one"); message != "" {
			t.Errorf("%s for all models: %s", route.Name, message)
		}
		for _, key := range []string{"two", "three"} {
			if message := refusal(t, gate, route, "api-key", key); message != want {
				t.Errorf("%s for some models: %s", route.Name, message)
			}
		}
	}
	if operators < 20 {
		t.Errorf("%d routes", operators)
	}
}
