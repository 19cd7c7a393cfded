package server

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server/servertest"
	"github.com/trident-inference/trident/test/logbuffer"
)

// newGate returns a gate for tests, and its log.
func newGate(tb testing.TB, cfg auth.Config) (*auth.Gate, *logbuffer.Buffer) {
	tb.Helper()
	log := &logbuffer.Buffer{}
	gate, err := auth.New(cfg, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		tb.Fatal(err)
	}
	return gate, log
}

// recordedRoute returns the route of a record.
func recordedRoute(record *auth.Record, h http.Handler) Route {
	route := Route{Pattern: record.Pattern, Handler: h, Record: record}
	if record.API == auth.Anthropic && strings.HasPrefix(record.Pattern, "GET ") { // OpenAI's API has the paths, too
		route.Header = "Anthropic-Version"
	}
	return route
}

// recordedMux returns a mux of all recorded routes that responds with the client's name, and
// with 404 on other paths.
func recordedMux(tb testing.TB, gate *auth.Gate) *Mux {
	tb.Helper()
	name := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if client := inference.ClientOf(r.Context()); client != nil {
			fmt.Fprint(w, client.Name)
		}
	})
	nothing := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	routes := []Route{{Pattern: "/", Handler: nothing, Record: auth.Unmatched(auth.OpenAI)}, {Pattern: "/v2/", Handler: nothing, Record: auth.Unmatched(auth.REST)}}
	for _, record := range auth.Records() {
		routes = append(routes, recordedRoute(record, name))
	}
	mux, err := NewMux(gate, noWork{}, routes)
	if err != nil {
		tb.Fatal(err)
	}
	return mux
}

// ask returns the status, body and header of the response to a request with the given header lines.
func ask(h http.Handler, method, target string, header ...string) (status int, body string, answer http.Header) {
	r := httptest.NewRequest(method, target, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String(), w.Header()
}

// TestHeaderRoutes checks that a route with a header gets the requests with the header, and no others.
func TestHeaderRoutes(t *testing.T) {
	say := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
	}
	models := auth.FindOf(auth.Anthropic, "GET /v1/models")
	mux, err := NewMux(nil, noWork{}, []Route{
		{Pattern: "/", Handler: say("other"), Record: auth.Unmatched(auth.OpenAI)},
		{Pattern: "GET /v1/models", Handler: say("plain")},
		{Pattern: "GET /v1/models", Handler: say("headed"), Record: models, Header: "Anthropic-Version"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		method, path, want string
		header             []string
	}{
		{"GET", "/v1/models", "plain", nil},
		{"GET", "/v1/models", "plain", []string{"Anthropic-Version", ""}},
		{"GET", "/v1/models", "headed", []string{"Anthropic-Version", "1"}},
		{"HEAD", "/v1/models", "headed", []string{"Anthropic-Version", "1"}},
		{"POST", "/v1/models", "other", []string{"Anthropic-Version", "1"}},
		{"GET", "/v1/other", "other", []string{"Anthropic-Version", "1"}},
	} {
		if _, body, _ := ask(mux, test.method, test.path, test.header...); body != test.want {
			t.Errorf("%s %s %v: %s", test.method, test.path, test.header, body)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/v1/models", http.NoBody)
	if plain := mux.Record(r); plain.API != auth.OpenAI {
		t.Errorf("the record is %+v", plain)
	}
	r.Header.Set("Anthropic-Version", "1")
	if headed := mux.Record(r); headed != models {
		t.Errorf("the record is %+v", headed)
	}
}

// TestOpenPaths checks that the route, and not the spelling of the path, decides whether a request
// needs an API key.
func TestOpenPaths(t *testing.T) {
	gate, _ := newGate(t, auth.Config{APIKeys: []auth.Secret{"k"}})
	h := recordedMux(t, gate)
	for _, target := range []string{
		"GET /health/live", "HEAD /health/ready", "GET /v2/health/live", "GET /v2/health/ready", "GET /", "HEAD /", "GET /v1/messages/openapi.json", "GET /v1/rerank/openapi.json", "GET /client.tgz", "GET /openapi.json",
		"GET /v2/openapi.json", "GET /assets/index-1.js", "GET /health/%6Cive", "POST /grpc.health.v1.Health/Check", "POST /inference.GRPCInferenceService/ServerReady",
	} {
		method, path, _ := strings.Cut(target, " ")
		if status, body, _ := ask(h, method, path); status != http.StatusOK {
			t.Errorf("%s: %d %s", target, status, body)
		}
	}
	for _, target := range []string{
		"GET /v1/models", "GET /metrics", "POST /health/live", "GET /health/live/", "GET /assets/../v1/models", "GET //v1/models", "GET /v1/%6Dodels",
		"POST /assets/x", "POST /", "DELETE /", "GET /v2", "GET /v2/", "GET /v2/models/m/ready",
		"POST /inference.GRPCInferenceService/ModelReady", "POST /trident.v1.ChatService/Chat", "POST /grpc.health.v1.Health/Watch",
		"POST /grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "GET /nothing",
	} {
		method, path, _ := strings.Cut(target, " ")
		if status, body, _ := ask(h, method, path); status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", target, status, body)
		}
	}
}

// TestDenials checks that a request without a valid API key receives an error in the form of the
// route's API, and that no error contains the key.
func TestDenials(t *testing.T) {
	gate, _ := newGate(t, auth.Config{APIKeys: []auth.Secret{"k"}})
	h := recordedMux(t, gate)
	for _, test := range []struct {
		path, content string
		status        int
		want          string // part of the body, or value of the header Grpc-Status
	}{
		{"/v1/chat/completions", "application/json", 401, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`},
		{"/v2/models/m/infer", "application/json", 401, `{"error":"Incorrect API key provided"}`},
		{"/v2", "", 401, `{"error":"Incorrect API key provided"}`},
		{"/trident.v1.ChatService/Chat", "application/json", 401, `{"code":"unauthenticated","message":"Incorrect API key provided"}`},
		{"/trident.v1.ChatService/Chat", "application/proto", 401, `{"code":"unauthenticated","message":"Incorrect API key provided"}`},
		{"/trident.v1.ChatService/ChatStream", "application/connect+proto", 200, `"code":"unauthenticated"`},
		{"/trident.v1.ChatService/Chat", "application/grpc-web+proto", 200, "16"},
		{"/trident.v1.ChatService/Chat", "text/plain", 401, `"code":"invalid_api_key"`},
	} {
		status, body, header := ask(h, http.MethodPost, test.path, "Content-Type", test.content, "Authorization", "Bearer sk-guess")
		if status != test.status || !strings.Contains(strings.ToLower(body)+header.Get("Grpc-Status"), strings.ToLower(test.want)) || header.Get("Www-Authenticate") != "Bearer" {
			t.Errorf("%s %s: %d %s %v", test.path, test.content, status, body, header)
		}
		if strings.Contains(body+fmt.Sprint(header), "sk-guess") {
			t.Errorf("%s: the answer has the key: %s", test.path, body)
		}
	}
	status, _, header := ask(h, http.MethodPost, "/trident.v1.ChatService/Chat", "Content-Type", "application/grpc")
	if status != 200 || header.Get("Grpc-Status") != "16" && header.Get(http.TrailerPrefix+"Grpc-Status") != "16" {
		t.Errorf("gRPC: %d %v", status, header)
	}
}

// TestRestrictedDenial checks the error of a request without the header of its group.
func TestRestrictedDenial(t *testing.T) {
	gate, _ := newGate(t, auth.Config{Restricted: []auth.OpenAIRestriction{{Groups: []auth.Group{auth.Inference}, Header: "Admin-Key", Value: "right"}}})
	h := recordedMux(t, gate)
	const want = `{"error":{"message":"This API is restricted, expecting header 'Admin-Key' with valid value","type":"authentication_error","param":null,"code":"invalid_auth"}}`
	if status, body, _ := ask(h, http.MethodPost, "/v1/chat/completions"); status != http.StatusUnauthorized || body != want {
		t.Errorf("%d %s", status, body)
	}
	if status, body, _ := ask(h, http.MethodPost, "/v1/chat/completions", "Admin-Key", "right"); status != http.StatusOK {
		t.Errorf("with the header: %d %s", status, body)
	}
}

// TestUnrecordedRoutes checks that the server doesn't start if a route has no access record, which
// states whether it needs an API key.
func TestUnrecordedRoutes(t *testing.T) {
	if _, err := NewMux(nil, noWork{}, []Route{{Pattern: "GET /v1/new", Handler: http.NotFoundHandler()}}); err == nil || !strings.Contains(err.Error(), "the route GET /v1/new has no record") {
		t.Error(err)
	}
	operations := NewOperations(auth.OpenAI)
	operations.HandleFunc("GET /v1/models", func(http.ResponseWriter, *http.Request) {})
	if err := operations.Err(); err != nil {
		t.Error(err)
	}
	operations.HandleFunc("POST /v1/new", func(http.ResponseWriter, *http.Request) {})
	if err := operations.Err(); err == nil || !strings.Contains(err.Error(), "POST /v1/new has no record") {
		t.Error(err)
	}
	if _, err := Procedures("/trident.v1.NoService/", http.NotFoundHandler(), nil); err == nil {
		t.Error("a service that isn't described has routes")
	}
}

// TestOpenServerWarns tests the warning of a server that other machines can reach and that needs no
// authentication. The warning names the flags that enable authentication.
func TestOpenServerWarns(t *testing.T) {
	keyed, _ := newGate(t, auth.Config{APIKeys: []auth.Secret{"k"}})
	open, _ := newGate(t, auth.Config{})
	for _, test := range []struct {
		host         string
		gate         *auth.Gate
		certificates *Certificates
		warns        bool
	}{
		{"0.0.0.0", open, nil, true},
		{"0.0.0.0", open, &Certificates{files: TLS{CertFile: "a"}}, true},
		{"0.0.0.0", keyed, nil, false},
		{"0.0.0.0", open, &Certificates{files: TLS{CertFile: "a", ClientCAFile: "b"}}, false},
		{"127.0.0.1", open, nil, false},
	} {
		cfg := Default()
		cfg.Host, cfg.Port = test.host, 0
		listener := NewListener(cfg)
		if err := listener.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		log := &logbuffer.Buffer{}
		s, err := New(Common{Config: cfg, Certificates: test.certificates, Gate: test.gate, Core: noWork{}, Abort: func(error) {}, Log: slog.New(slog.NewTextHandler(log, nil))}, listener, catchAllRoutes(http.NotFoundHandler()))
		if err != nil {
			t.Fatal(err)
		}
		s.warnIfOpen()
		if err := listener.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if got := strings.Contains(log.String(), "level=WARN") && strings.Contains(log.String(), "closed_by=\"auth.APIKeysFile, auth.APIKeys, server.TLS.ClientCAFile or server.Host=127.0.0.1\""); got != test.warns {
			t.Errorf("%+v: %s", test, log)
		}
	}
}

// TestPreflightsNeedNoKey checks that CORS preflight requests need no API key, since browsers send
// none.
func TestPreflightsNeedNoKey(t *testing.T) {
	gate, _ := newGate(t, auth.Config{APIKeys: []auth.Secret{"k"}})
	h := crossOrigin(Config{CORSOrigins: []string{"https://a.example"}}, recordedMux(t, gate))
	status, body, header := ask(h, http.MethodOptions, "/v1/chat/completions", "Origin", "https://a.example",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization")
	if status != http.StatusNoContent || header.Get("Access-Control-Allow-Headers") != "authorization" {
		t.Errorf("%d %s %v", status, body, header)
	}
	if status, _, header := ask(h, http.MethodPost, "/v1/chat/completions", "Origin", "https://a.example"); status != 401 || header.Get("Access-Control-Allow-Origin") != "https://a.example" {
		t.Errorf("%d %v: a page must be able to read why", status, header)
	}
}

// BenchmarkGate measures the cost of checking the API key of a request. The cost should be zero
// without keys and independent of the number of keys. Compare ns/op of "keys" with "none".
func BenchmarkGate(b *testing.B) {
	var many bytes.Buffer
	for i := range 10_000 {
		fmt.Fprintf(&many, "sk-trident-%026d\n", i)
	}
	file := servertest.Write(b, b.TempDir(), "keys", many.Bytes())
	for name, cfg := range map[string]auth.Config{
		"none":       {},
		"one key":    {APIKeys: []auth.Secret{"sk-trident-00000000000000000000000042"}},
		"10000 keys": {APIKeysFile: file},
		"restricted": {Restricted: []auth.OpenAIRestriction{{Groups: []auth.Group{auth.Inference}, Header: "x-api-key", Value: "sk-trident-00000000000000000000000042"}}},
	} {
		b.Run(name, func(b *testing.B) {
			gate, _ := newGate(b, cfg)
			h, err := NewMux(gate, noWork{}, []Route{{Pattern: "POST /v1/chat/completions", Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}})
			if err != nil {
				b.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", http.NoBody)
			r.Header.Set("Authorization", "Bearer sk-trident-00000000000000000000000042")
			r.Header.Set("X-Api-Key", "sk-trident-00000000000000000000000042")
			w := httptest.NewRecorder()
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(w, r)
			}
			if w.Code != http.StatusOK {
				body, _ := io.ReadAll(w.Body)
				b.Fatal(w.Code, string(body))
			}
		})
	}
}
